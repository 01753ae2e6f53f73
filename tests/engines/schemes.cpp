// Every kind of scheme on llama.cpp, alone and together with the bundled Llama: texts, and that speculation happened.

#include <augur/augur.hpp>
#include <augur/engines/llama_cpp.hpp>
#include <augur/llama/host_model.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "engines/tiny_engines.hpp"
#include "llama/dense_case.hpp"

using namespace augur;
using namespace augur::testing;
namespace llama_cpp = augur::engines::llama_cpp;

BOOST_AUTO_TEST_SUITE(engines_schemes)

namespace {

/// A file, and both readers of it.
struct two_engines {
    temporary_directory folder;
    std::filesystem::path path;

    explicit two_engines(unsigned seed = 1) {
        tiny_gguf file;
        file.seed = seed;
        path = file.write(folder / "tiny.gguf");
    }
    llama_cpp::weights theirs() const { return llama_cpp::weights::load(path, {.gpu_layers = 0}); }
    llama::host_model ours() const { return llama::host_model::load(path, {.threads = 1, .context_length = 128}); }
};

decode::options greedy() {
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 60;
    chosen.timed = false;
    return chosen;
}

const std::vector<token> prompt{5, 9, 5, 9, 7, 5};

template <class Scheme>
auto decoded(const Scheme& scheme) {
    return decode::generate<lossless_within_numerics>(scheme, prompt, greedy());
}

/// The same greedy text as plain, in fewer passes; at least `accepted` drafted tokens among them.
template <class Scheme, class Plain>
void check_speculates(const char* what, const Scheme& scheme, const Plain& plain, std::size_t accepted) {
    const auto got = decoded(scheme);
    BOOST_TEST_CONTEXT(what) {
        BOOST_TEST(got.tokens == plain.tokens, boost::test_tools::per_element());
        BOOST_TEST(got.counts.count(origin::accepted) >= accepted);
        BOOST_TEST(got.counts.rounds() + got.counts.count(origin::accepted) == plain.tokens.size());
    }
}

const policy::fixed_length four{4};
const policy::tree_static five_nodes(topology::of_paths({{0}, {1}, {0, 0}, {0, 1}, {0, 0, 0}}));

}  // namespace

BOOST_AUTO_TEST_CASE(both_engines_compute_the_same_of_one_file) {
    const two_engines file;
    const llama_cpp::streams theirs(file.theirs(), exact());
    const llama::host_model ours = file.ours();
    BOOST_TEST(theirs.vocabulary_size() == ours.vocabulary_size());
    auto a = theirs.make_sequence();
    auto b = ours.make_sequence();
    const std::vector<token> text{1, 80, 3, 3, 95, 17, 0, 42, 42};
    const auto got = theirs.extend(a, text);
    const auto expected = ours.extend(b, text);
    for (std::size_t row = 0; row < text.size(); ++row) {
        for (std::size_t i = 0; i < ours.vocabulary_size(); ++i) {
            BOOST_REQUIRE_SMALL(got[row][i] - expected[row][i], 1e-4f * (1 + std::abs(expected[row][i])));
        }
    }
}

/// Of every architecture, as its GGUF file says it; but for windows that llama.cpp leaves out, of a Llama, a Phi 3 and
/// a StarCoder 2. Its GELU is a table of F16.
BOOST_DATA_TEST_CASE(both_engines_compute_the_same_of_every_architecture, dense_cases(), name) {
    const dense_case of = read_dense_case(name);
    const bool is_left_out = of.family == "llama" || of.family == "phi3" || of.family == "starcoder2";
    const bool has_width_s_heads = of.family == "qwen2" || of.family == "olmo2";
    if (has_width_s_heads && name.ends_with("_odd")) return;  // it takes heads of width / heads components only
    if (name == "olmoe_even") return;                         // it takes as many heads of keys as of queries only
    if (name == "gpt_oss_blocks") return;                     // it rounds the bounds of YaRN, and other inputs to bytes
    if (!of.has_gguf || (is_left_out && of.keys.contains(of.family + ".attention.sliding_window"))) return;
    const temporary_directory folder;
    const auto path = of.write_gguf(folder / "model.gguf");
    const llama_cpp::streams theirs(llama_cpp::weights::load(path, {.gpu_layers = 0}), exact());
    const auto ours = llama::host_model::load(path, {.threads = 1, .context_length = 128});
    auto a = theirs.make_sequence();
    auto b = ours.make_sequence();
    const auto got = theirs.extend(a, of.ids);
    const auto expected = ours.extend(b, of.ids);
    const float near = of.family.starts_with("gemma") || of.family == "starcoder2" ? 1e-2f : 1e-4f;
    for (std::size_t row = 0; row < of.ids.size(); ++row) {
        for (std::size_t i = 0; i < ours.vocabulary_size(); ++i) {
            BOOST_REQUIRE_SMALL(got[row][i] - expected[row][i], near * (1 + std::abs(expected[row][i])));
        }
    }
}

BOOST_AUTO_TEST_CASE(greedy_texts_of_streams_equal_plain) {
    const two_engines file, other(2);
    const llama_cpp::streams target(file.theirs(), exact()), same(file.theirs(), exact()),
        small(other.theirs(), exact());
    const auto plain = decoded(augur::plain(target));
    BOOST_TEST(plain.tokens.size() == 60u);
    BOOST_TEST(plain.tokens == decoded(augur::plain(file.ours())).tokens, boost::test_tools::per_element());
    check_speculates("lookup", speculate(draft::prompt_lookup(), target, four, accept::exact{}), plain, 10);
    check_speculates("draft model", speculate(draft::draft_model(same), target, four, accept::exact{}), plain, 40);
    check_speculates("another draft model", speculate(draft::draft_model(small), target, four, accept::exact{}), plain,
                     0);
    using scheme::model_link;
    check_speculates("cascade",
                     cascaded(small, model_link{policy::fixed_length{2}, accept::exact{}}, same,
                              model_link{four, accept::exact{}}, target),
                     plain, 40);
    check_speculates("the bundled Llama drafts",
                     speculate(draft::draft_model(file.ours()), target, four, accept::exact{}), plain, 40);
    check_speculates("the bundled Llama is the target",
                     speculate(draft::draft_model(same), file.ours(), four, accept::exact{}), plain, 40);
    check_speculates("cost_aware", speculate(draft::prompt_lookup(), target, policy::cost_aware<>(), accept::exact{}),
                     plain, 0);
}

BOOST_AUTO_TEST_CASE(greedy_texts_of_trees_equal_plain) {
    const two_engines file;
    const llama_cpp::trees target(file.theirs(), exact());
    const llama_cpp::streams small(file.theirs(), exact());
    const auto plain = decoded(augur::plain(target));
    check_speculates("draft model", speculate(draft::draft_model(small), target, five_nodes, accept::exact{}), plain,
                     30);
    check_speculates("lookup", speculate(draft::prompt_lookup(), target, five_nodes, accept::exact{}), plain, 5);
    check_speculates("paths, on streams", speculate(draft::draft_model(target), small, five_nodes, accept::exact{}),
                     plain, 30);
}

BOOST_AUTO_TEST_CASE(greedy_texts_of_checkpoints_equal_plain_in_as_many_calls_as_rounds) {
    for (const char* family : {"mamba", "lfm2"}) {
        const auto weights = tiny_weights(family);
        const llama_cpp::checkpoints target(weights, exact()), small(weights, exact());
        const auto plain = decoded(augur::plain(target));
        std::size_t calls = target.calls();
        const auto got = decoded(speculate(draft::prompt_lookup(), target, four, accept::exact{}));
        BOOST_TEST(got.tokens == plain.tokens, boost::test_tools::per_element());
        BOOST_TEST(got.counts.count(origin::accepted) > 0u);
        calls = target.calls() - calls;
        BOOST_TEST(calls >= got.counts.rounds());
        BOOST_TEST(calls <= got.counts.rounds() + got.counts.rounds() / 4 + 1);  // and what was owed for long
        check_speculates(family, speculate(draft::draft_model(small), target, four, accept::exact{}), plain, 40);
    }
}

BOOST_AUTO_TEST_CASE(the_engine_is_chosen_by_the_file) {
    const llama_cpp::weights attends = tiny_weights("qwen3"), recurs = tiny_weights("mamba");
    const auto chains = llama_cpp::any_engine(attends, exact());
    const auto trees = llama_cpp::any_engine(attends, exact(), llama_cpp::shape::trees);
    const auto states = llama_cpp::any_engine(recurs, exact(), llama_cpp::shape::trees);
    for (const auto* engine : {&chains, &trees, &states}) {
        const auto plain = decoded(augur::plain(*engine));
        check_speculates("lookup", speculate(draft::prompt_lookup(), *engine, five_nodes, accept::exact{}), plain, 1);
    }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none_end_the_text_and_say_so) {
    tiny_gguf file;
    file.bad_token = 7;
    const auto got = decoded(augur::plain(llama_cpp::streams(tiny_weights(file), exact())));
    BOOST_TEST(got.tokens.empty());
    BOOST_TEST((got.finish == finish_reason::invalid_logits));
    BOOST_TEST(got.detail.find("nan") != std::string::npos, got.detail);
}

BOOST_AUTO_TEST_SUITE_END()
