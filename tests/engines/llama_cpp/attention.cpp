#include <augur/engines/llama_cpp/attention.hpp>
#include <augur/model/concepts.hpp>
#include <augur/testing/model_laws.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "engines/tiny_engines.hpp"

using namespace augur;
using namespace augur::testing;
namespace llama_cpp = augur::engines::llama_cpp;

BOOST_AUTO_TEST_SUITE(engines_attention)

namespace {

const std::vector<std::string> families{"llama", "qwen3", "gemma3"};

}  // namespace

static_assert(BatchModel<llama_cpp::streams> && ScoresLastRows<llama_cpp::streams>);
static_assert(!TreeModel<llama_cpp::streams> && !has_bitwise_rows<llama_cpp::streams>);
static_assert(TreeModel<llama_cpp::trees> && BatchModel<llama_cpp::trees>);

BOOST_DATA_TEST_CASE(streams_keep_the_laws, families, family) {
    const auto laws = model_laws(llama_cpp::streams(tiny_weights(family), exact(16)), {.cases = 60}, rounding);
    BOOST_TEST(laws.kept(), laws);
}

BOOST_DATA_TEST_CASE(trees_keep_the_laws, families, family) {
    auto options = exact(6);
    options.leaves = 32;
    const auto laws = model_laws(llama_cpp::trees(tiny_weights(family), options), {.cases = 60}, rounding);
    BOOST_TEST(laws.kept(), laws);
}

BOOST_AUTO_TEST_SUITE_END()
