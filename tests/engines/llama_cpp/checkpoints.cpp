#include <augur/engines/llama_cpp/checkpoints.hpp>
#include <augur/model/concepts.hpp>
#include <augur/testing/model_laws.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "engines/tiny_engines.hpp"

using namespace augur;
using namespace augur::testing;
namespace llama_cpp = augur::engines::llama_cpp;

BOOST_AUTO_TEST_SUITE(engines_checkpoints)

namespace {

const std::vector<std::string> families{"mamba", "lfm2", "llama"};

std::vector<token> text_of(std::size_t length) {
    std::vector<token> text(length);
    std::iota(text.begin(), text.end(), 3);
    return text;
}

}  // namespace

static_assert(BatchModel<llama_cpp::checkpoints> && ScoresLastRows<llama_cpp::checkpoints>);
static_assert(!TreeModel<llama_cpp::checkpoints> && !has_bitwise_rows<llama_cpp::checkpoints>);

BOOST_DATA_TEST_CASE(keeps_the_laws, families, family) {
    for (const std::size_t states : {std::size_t{1}, std::size_t{8}}) {
        auto options = exact(16);
        options.states = states;
        const auto laws = model_laws(llama_cpp::checkpoints(tiny_weights(family), options), {.cases = 40}, rounding);
        BOOST_TEST(laws.kept(), states << " states: " << laws);
    }
}

BOOST_AUTO_TEST_CASE(a_round_is_one_call_of_llama_cpp) {
    const llama_cpp::checkpoints engine(tiny_weights("mamba"), exact());
    auto sequence = engine.make_sequence();
    engine.extend(sequence, text_of(5), 1);
    std::size_t calls = engine.calls();
    for (std::size_t round = 0; round < 4; ++round) {
        engine.extend(sequence, text_of(4));
        engine.truncate(sequence, engine.length(sequence) - 2);
        BOOST_TEST(engine.calls() == ++calls);
    }
    BOOST_TEST(engine.length(sequence) == 13u);
    engine.extend(sequence, text_of(1));  // what is owed since the prompt: 8 tokens
    BOOST_TEST(engine.calls() == ++calls);
    engine.truncate(sequence, 14);
    engine.extend(sequence, text_of(2));
    engine.truncate(sequence, 15);  // the state after 14 tokens was kept
    engine.extend(sequence, text_of(1));
    BOOST_TEST(engine.calls() == calls + 2);
}

BOOST_AUTO_TEST_CASE(who_owes_much_pays_by_a_call_of_its_own) {
    const llama_cpp::checkpoints engine(tiny_weights("mamba"), exact());
    auto sequence = engine.make_sequence();
    engine.extend(sequence, text_of(20), 1);
    engine.truncate(sequence, 12);
    const std::size_t calls = engine.calls();
    engine.extend(sequence, text_of(3));
    BOOST_TEST(engine.calls() == calls + 2);
    engine.truncate(sequence, 13);  // the state after 12 tokens was kept then
    engine.extend(sequence, text_of(3));
    BOOST_TEST(engine.calls() == calls + 3);
}

BOOST_AUTO_TEST_SUITE_END()
