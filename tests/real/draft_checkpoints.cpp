#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/heads.hpp>
#include <augur/draft/merged.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/cascade.hpp>
#include <boost/test/unit_test.hpp>
#include <filesystem>

#include "augur/llama/draft_checkpoint.hpp"
#include "augur/llama/draft_heads.hpp"
#include "augur/llama/eagle_model.hpp"
#include "augur/llama/early_exit.hpp"
#include "augur/llama/qualifier.hpp"
#include "llama/draft_bundle.hpp"

// Drafters made for SmolLM2-135M-Instruct, random ones and those of its draft bundle: the text stays plain decoding's.
BOOST_AUTO_TEST_SUITE(real_draft_checkpoints)

using namespace augur;
using namespace augur::testing;
namespace fs = std::filesystem;

namespace {

const llama::host_model& target() {
    static const auto loaded =
        llama::host_model::load(fs::path(AUGUR_MODEL_DIRECTORY) / "SmolLM2-135M-Instruct.Q4_1.gguf");
    return loaded;
}

const std::vector<token> prompt{504, 3575, 282, 4649, 314};

template <class Drafts, class Policy = policy::fixed_length>
void keeps_the_text(const Drafts& drafts, const std::string& what, const Policy& policy = {4}) {
    decode::options chosen;
    chosen.stop.max_tokens = 40;
    for (const float temperature : {0.0f, 0.8f}) {
        chosen.sampling.temperature.value = temperature;
        const auto expected = decode::generate(plain(target()), prompt, chosen).tokens;
        const auto decoded = decode::generate(speculate(drafts, target(), policy, accept::coupled{}), prompt, chosen);
        BOOST_TEST(decoded.tokens == expected, what);
        BOOST_TEST(decoded.counts.stages.back().drafted > 0u, what);
        BOOST_TEST_MESSAGE(what << " at temperature " << temperature << ": " << decoded.counts.accepted_length());
    }
}

void keeps_the_text(const fs::path& path) {
    const std::string kind = llama::checkpoint_kind(io::gguf_file(path));
    if (kind == "eagle") keeps_the_text(llama::eagle_model::load(path, target()), path.string());
    if (kind == "draft") keeps_the_text(llama::load_draft(path, target()), path.string());
    if (kind == "exit") keeps_the_text(llama::load_exit(path, target()), path.string());
    if (kind == "qualifier") keeps_the_text(llama::load_qualifier(path, target()), path.string());
    if (kind == "medusa" || kind == "hydra") {
        keeps_the_text(llama::draft_heads::load(path, kind, target()), path.string());
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_members_change_nothing) {
    const temporary_directory folder;
    small_llama eagle = small_eagle(target(), true, io::tensor_type::q8_0);
    eagle.lists["augur.head.tokens"] = some_tokens(1, 1000);
    keeps_the_text(eagle.write(folder / "eagle.gguf"));
    keeps_the_text(small_eagle(target(), false, io::tensor_type::f16).write(folder / "whole.gguf"));
    keeps_the_text(small_checkpoint("draft", target(), io::tensor_type::bf16).write(folder / "draft.gguf"));
    keeps_the_text(small_heads("hydra", target(), io::tensor_type::q8_0).write(folder / "hydra.gguf"));
    keeps_the_text(small_heads("medusa", target(), io::tensor_type::f32).write(folder / "medusa.gguf"));
}

const fs::path family = fs::path(AUGUR_TEST_DATA) / ".." / ".." / "examples" / "family" / "smollm2-135m";

BOOST_AUTO_TEST_CASE(its_family_changes_nothing) {
    std::size_t members = 0;
    for (const auto& file : fs::directory_iterator(family)) {
        if (file.path().extension() != ".gguf") continue;
        const io::gguf_file member(file.path());
        BOOST_TEST(member.get<std::string>("augur.target.fingerprint") == target().fingerprint());
        keeps_the_text(file.path());
        ++members;
    }
    BOOST_TEST(members > 6u);
}

BOOST_AUTO_TEST_CASE(trees_of_the_family_change_nothing) {
    const auto draft = llama::load_draft(family / "draft.gguf", target());
    const auto eagle = llama::eagle_model::load(family / "eagle.gguf", target());
    const auto hydra = llama::draft_heads::load(family / "hydra.gguf", "hydra", target());
    const draft::dynamic_tree grown{4, 3, 8};
    const policy::tree_static planned(
        topology::of_paths({{0}, {1}, {2}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}, {0, 0, 0, 0}}));
    keeps_the_text(draft::draft_model(draft), "a draft's tree", planned);
    keeps_the_text(draft::draft_model(draft, grown), "a draft's dynamic tree");
    keeps_the_text(draft::eagle(eagle, draft::dynamic_tree{}), "the layer's tree", planned);
    keeps_the_text(draft::eagle(eagle, grown), "the layer's dynamic tree");
    keeps_the_text(draft::prompt_lookup(1, 8, draft::trie_limits{}), "a tree of continuations");
    keeps_the_text(
        draft::merged(draft::prompt_lookup(2, 8, draft::trie_limits{4, 4}), draft::heads(hydra, draft::argmax{})),
        "continuations and heads", planned);
}

BOOST_AUTO_TEST_CASE(three_models_of_the_family_change_nothing) {
    using scheme::model_link;
    const auto draft = llama::load_draft(family / "draft.gguf", target());
    const auto exit = llama::load_exit(family / "exit.gguf", target(), 15);
    const auto qualifier = llama::load_qualifier(family / "qualifier.gguf", target());
    const model_link loose{policy::fixed_length{3}, accept::fuzzy<measure::total_variation>{0.4}};
    const model_link strict{policy::fixed_length{6}, accept::rejection_sampling{}};
    decode::options chosen;
    chosen.stop.max_tokens = 40;
    chosen.sampling.temperature.value = 0;
    const auto expected = decode::generate(plain(target()), prompt, chosen).tokens;
    for (const auto* middle : {&exit, &qualifier}) {
        const auto scheme = cascaded(draft, loose, *middle, strict, target());
        static_assert(Lossless<std::remove_cvref_t<decltype(scheme)>>);
        const auto decoded = decode::generate(scheme, prompt, chosen);
        BOOST_TEST(decoded.tokens == expected);
        BOOST_TEST(decoded.counts.accepted_length() > 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
