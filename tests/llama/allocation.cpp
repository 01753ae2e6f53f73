// A pass of the bundled Llama allocates nothing once its buffers have their sizes: not for rows, threads, trees, parts
// of layers or batches, not to rewind.

#include <allocations.hpp>
#include <array>
#include <augur/model/run.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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
            auto sequence = model.make_sequence(), other = model.make_sequence();
            const std::vector<std::int32_t> parents{-1, 0, 0, 1, -1, 4, 2, 2};
            std::vector<model::pass_rows<llama::host_model>> results(2);
            const auto all_kinds = [&](std::size_t rows) {
                const auto some = std::span<const token>(tokens).first(rows);
                const auto back = [&] { model.truncate(sequence, 30); };
                const auto run = [&](const pass<llama::sequence>& asked) {
                    model::run<llama::host_model>(model, std::span(&asked, 1), std::span(results).first(1));
                };
                model.extend(sequence, some, rows);
                back();
                run({.sequence = &sequence, .tokens = some, .rows = 0, .states = true});
                back();
                run({.sequence = &sequence, .tokens = some, .parents = std::span(parents).first(rows)});
                model.keep(sequence, std::array<std::size_t, 1>{0});
                back();
                run({.sequence = &sequence, .tokens = some, .to_layer = 1});
                run({.sequence = &sequence, .from_layer = 1});
                back();
                const std::array<pass<llama::sequence>, 2> both{
                    pass<llama::sequence>{.sequence = &sequence, .tokens = some},
                    pass<llama::sequence>{.sequence = &other, .tokens = some}};
                model::run<llama::host_model>(model, both, results);
                back();
                model.truncate(other, 0);
            };
            model.extend(sequence, std::span(tokens).first(30), 8);
            all_kinds(8);
            const std::size_t before = allocations::made, bytes = sequence.memory_bytes();
            BOOST_TEST(before > at_first);
            for (std::size_t rows = 1; rows <= 8; ++rows) all_kinds(rows);
            BOOST_TEST(allocations::made - before == 0u, io::name_of(type) << ", " << threads << " threads");
            BOOST_TEST(sequence.memory_bytes() == bytes);  // its buffers are not from operator new
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
