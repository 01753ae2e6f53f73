// A pass of the bundled Llama allocates nothing once its buffers have their sizes: not for rows, not for threads, not to rewind.

#include <allocations.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>

#include "llama/small_llama.hpp"

using namespace augur;
using namespace augur::testing;

BOOST_AUTO_TEST_SUITE(llama_allocation)

BOOST_AUTO_TEST_CASE(a_pass_allocates_nothing_after_the_first) {
    for (const auto type :
         {io::tensor_type::f32, io::tensor_type::bf16, io::tensor_type::q8_0, io::tensor_type::q4_0}) {
        for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
            const std::size_t at_first = allocations::made;
            const auto model = small_llama(type).load({.threads = threads});
            const auto tokens = some_tokens(40, model.vocabulary_size());
            auto sequence = model.make_sequence();
            model.extend(sequence, std::span(tokens).first(30), 8);
            const std::size_t before = allocations::made, bytes = sequence.memory_bytes();
            BOOST_TEST(before > at_first);
            for (std::size_t rows = 1; rows <= 8; ++rows) {
                model.extend(sequence, std::span(tokens).first(rows), rows);
                model.truncate(sequence, 30);
                model.extend_states(sequence, std::span(tokens).first(rows));
                model.truncate(sequence, 30);
            }
            BOOST_TEST(allocations::made - before == 0u, io::name_of(type) << ", " << threads << " threads");
            BOOST_TEST(sequence.memory_bytes() == bytes);  // its buffers are not from operator new
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
