// Rows of an embedding that belong to no token: the models of one draft bundle are padded to different numbers of them.
#include "augur/llama/token_rows.hpp"

#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "llama/draft_bundle.hpp"

BOOST_AUTO_TEST_SUITE(llama_token_rows)

using namespace augur;
using namespace augur::testing;

namespace {

constexpr std::uint32_t tokens = 77;

/// A small Llama of 77 tokens with an embedding of `rows`, and perhaps a head of its own. Rows of no token are large,
/// so that they would be chosen.
small_llama padded(std::uint32_t rows, bool has_head = false) {
    small_llama file(io::tensor_type::f32, 64, 8, 2, 96, tokens);
    for (std::uint32_t id = 0; id < tokens; ++id) file.tokens.push_back("t" + std::to_string(id));
    file.shapes["token_embd.weight"] = {rows, 64};
    if (has_head) file.shapes["output.weight"] = {rows, 64};
    return file;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_vocabulary_ends_with_the_tokens) {
    for (const bool has_head : {false, true}) {
        const auto model = padded(96, has_head).load();
        BOOST_TEST(model.vocabulary_size() == tokens);
        BOOST_TEST(model.configuration().padded_vocabulary == 96u);
        BOOST_TEST(model.configuration().stored_rows() == 96u);
        BOOST_TEST(model.parameters().embedding->rows() == tokens);
        BOOST_TEST(model.parameters().output().rows() == tokens);
        BOOST_TEST_REQUIRE(model.configuration().notes.size() == 1u);
        BOOST_TEST(model.configuration().notes[0] == "the last 19 of 96 rows belong to no token, and are left out");
        auto sequence = model.make_sequence();
        BOOST_CHECK_EXCEPTION(model.extend(sequence, std::vector<token>{tokens}), error, says({"77", "vocabulary"}));
    }
    const auto whole = padded(tokens).load();
    BOOST_TEST(whole.configuration().padded_vocabulary == 0u);
    BOOST_TEST(whole.configuration().notes.empty());
}

BOOST_AUTO_TEST_CASE(rows_of_tokens_are_what_they_were) {
    small_llama file = padded(96, true);
    const auto cut = file.load();
    file.tokens.clear();  // then all rows may be tokens'
    const auto whole = file.load();
    BOOST_TEST(whole.vocabulary_size() == 96u);
    const auto text = some_tokens(6, tokens);
    const auto ours = logits_in_steps(cut, text, 6), theirs = logits_in_steps(whole, text, 6);
    for (std::size_t row = 0; row < 6; ++row) {
        for (std::size_t id = 0; id < tokens; ++id) BOOST_TEST(ours[row * tokens + id] == theirs[row * 96 + id]);
    }
    const auto some = padded(96, true).load({.head_tokens = {3, 76}});
    BOOST_TEST(some.parameters().head.rows() == 2u);
    BOOST_CHECK_EXCEPTION(padded(96).load({.head_tokens = {3, 77}}), error, says({"77"}));
}

BOOST_AUTO_TEST_CASE(models_of_one_vocabulary_draft_for_each_other) {
    const auto plain = padded(tokens).load(), wide = padded(96).load(), wider = padded(130, true).load();
    const decode::options greedy{.sampling = {.temperature = {0}}, .stop = {.max_tokens = 12}};
    const auto text = [&](const auto& draft, const auto& target) {
        const auto scheme = speculate(draft, target, policy::fixed_length{4}, accept::exact{});
        return decode::generate(scheme, std::vector<token>{1, 2, 3}, greedy).tokens;
    };
    for (const auto* target : {&plain, &wide, &wider}) {
        const auto alone = text(*target, *target);
        for (const token id : alone) BOOST_TEST((id >= 0 && id < static_cast<token>(tokens)));
        for (const auto* draft : {&plain, &wide, &wider}) BOOST_TEST(text(*draft, *target) == alone);
    }
}

BOOST_AUTO_TEST_CASE(a_stale_vocabulary_size_is_passed_over_where_the_tokens_say_more) {
    small_llama file = padded(tokens);
    for (const std::uint32_t stale : {1u, 76u, 78u, 4000000000u}) {
        file.sizes["llama.vocab_size"] = stale;
        const auto model = file.load();
        BOOST_TEST(model.vocabulary_size() == tokens);
        BOOST_TEST_REQUIRE(model.configuration().notes.size() == 1u);
        BOOST_TEST(model.configuration().notes[0].find("llama.vocab_size is " + std::to_string(stale)) == 0u);
    }
    for (const std::uint32_t right : {tokens, 96u}) {
        file = padded(96);
        file.sizes["llama.vocab_size"] = right;
        BOOST_TEST(file.load().configuration().notes.size() == 1u);  // of the rows alone
    }
    file.tokens.clear();
    file.sizes["llama.vocab_size"] = tokens;
    BOOST_CHECK_EXCEPTION(file.load(), error, says({"llama.vocab_size is 77", "96 rows"}));
}

BOOST_AUTO_TEST_CASE(members_of_a_padded_target_have_its_tokens) {
    const auto target = padded(96).load();
    const temporary_directory folder;
    small_llama draft = small_checkpoint("draft", target);
    for (const std::uint64_t rows : {std::uint64_t{tokens}, std::uint64_t{96}}) {
        draft.shapes["token_embd.weight"] = {rows, 64};
        draft.shapes["output.weight"] = {rows, 64};
        const auto loaded = llama::load_draft(draft.write(folder / "draft.gguf"), target);
        BOOST_TEST(loaded.vocabulary_size() == tokens);
        BOOST_TEST(loaded.parameters().output().rows() == tokens);
    }
    draft.shapes["token_embd.weight"] = draft.shapes["output.weight"] = {80, 64};
    BOOST_CHECK_EXCEPTION(llama::load_draft(draft.write(folder / "draft.gguf"), target), error, says({"80", "77"}));
}

BOOST_AUTO_TEST_SUITE_END()
