#include <augur/io/text/read_vocabulary.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "io/gguf_writer.hpp"

BOOST_AUTO_TEST_SUITE(io_read_vocabulary)

using namespace augur;
using namespace augur::io;
using augur::testing::gguf_writer;
using augur::testing::says;

namespace {

using strings = std::vector<std::string>;
using numbers = std::vector<std::int32_t>;

gguf_writer byte_level() {
    gguf_writer file;
    file.set("tokenizer.ggml.model", std::string("gpt2"));
    file.set("tokenizer.ggml.tokens", strings{"a", "b", "ab", "<s>"});
    return file;
}

gguf_writer sentencepiece() {
    gguf_writer file;
    file.set("tokenizer.ggml.model", std::string("llama"));
    file.set("tokenizer.ggml.tokens", strings{"<unk>", "<s>", "</s>", "<0x0A>", "a"});
    file.set("tokenizer.ggml.token_type", numbers{2, 3, 3, 6, 1});
    return file;
}

vocabulary read(const gguf_writer& file) {
    const auto bytes = file.bytes();
    return read_vocabulary(gguf_view(bytes));
}

}  // namespace

BOOST_AUTO_TEST_CASE(byte_level_with_everything) {
    auto file = byte_level();
    file.set("tokenizer.ggml.pre", std::string("llama3"));
    file.set("tokenizer.ggml.token_type", numbers{1, 1, 1, 3});
    file.set("tokenizer.ggml.merges", strings{"a b"});
    file.set("tokenizer.ggml.bos_token_id", std::uint32_t{3});
    file.set("tokenizer.ggml.eos_token_id", std::uint32_t{2});
    file.set("tokenizer.ggml.eot_token_id", std::uint32_t{1});
    file.set("tokenizer.ggml.unknown_token_id", std::uint32_t{0});
    file.set("tokenizer.ggml.add_eos_token", true);
    file.set("tokenizer.chat_template", std::string("{{ x }}"));
    const auto words = read(file);
    BOOST_TEST((words.kind == tokenizer_kind::byte_level_bpe));
    BOOST_TEST(words.pre_tokenizer == "llama-bpe");
    BOOST_TEST(words.ignore_merges);
    BOOST_TEST(words.texts[2] == "ab");
    BOOST_TEST((words.kinds[3] == token_kind::control));
    BOOST_TEST(words.merges.size() == 1u);
    BOOST_TEST(words.bos == 3);
    BOOST_TEST(words.eos == 2);
    BOOST_TEST(words.eot == 1);
    BOOST_TEST(words.unknown == 0);
    BOOST_TEST(words.add_bos);
    BOOST_TEST(words.add_eos);
    BOOST_TEST((words.prefix == space_prefix::never));
    BOOST_TEST(words.chat_template == "{{ x }}");
}

BOOST_AUTO_TEST_CASE(byte_level_with_no_more_than_needed) {
    auto file = byte_level();
    file.set("tokenizer.ggml.merges", strings{});
    const auto words = read(file);
    BOOST_TEST(words.pre_tokenizer == "gpt-2");
    BOOST_TEST(words.bos == no_token);
    BOOST_TEST(!words.add_bos);
    BOOST_TEST((words.kinds == std::vector<token_kind>(4, token_kind::normal)));
    BOOST_TEST(words.chat_template.empty());
}

BOOST_AUTO_TEST_CASE(letters_need_no_merges) {
    gguf_writer letters;
    letters.set("tokenizer.ggml.model", std::string("gpt2"));
    letters.set("tokenizer.ggml.tokens", strings{"a", "\xC4\xA0", "<end>"});
    gguf_writer words = letters;
    letters.set("tokenizer.ggml.token_type", numbers{1, 1, 3});
    BOOST_TEST(read(letters).merges.empty());
    words.set("tokenizer.ggml.token_type", numbers{1, 1, 1});
    BOOST_CHECK_EXCEPTION(read(words), augur::error, says({"tokenizer.ggml.merges"}));
}

BOOST_AUTO_TEST_CASE(sentencepiece_and_its_defaults) {
    auto file = sentencepiece();
    file.set("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, -1.5f});
    file.set("tokenizer.ggml.bos_token_id", std::uint32_t{1});
    const auto words = read(file);
    BOOST_TEST((words.kind == tokenizer_kind::sentencepiece_bpe));
    BOOST_TEST(words.scores[4] == -1.5f);
    BOOST_TEST(words.add_bos);
    BOOST_TEST(!words.add_eos);
    BOOST_TEST((words.prefix == space_prefix::always));
    file.set("tokenizer.ggml.add_space_prefix", false).set("tokenizer.ggml.add_bos_token", false);
    BOOST_TEST((read(file).prefix == space_prefix::never));
    BOOST_TEST(!read(file).add_bos);
}

BOOST_AUTO_TEST_CASE(gemma4_merges_pieces_by_a_list) {
    gguf_writer file;
    file.set("tokenizer.ggml.model", std::string("gemma4"));
    file.set("tokenizer.ggml.tokens", strings{"<unk>", "<bos>", "<0x0A>", "a", "▁", "▁a", "▁▁", "<0x62>", "\n\n"});
    file.set("tokenizer.ggml.token_type", numbers{2, 3, 6, 1, 1, 1, 1, 6, 4});
    file.set("tokenizer.ggml.scores", std::vector<float>(9));  // as writers leave them: of no use
    file.set("tokenizer.ggml.merges", strings{"▁ ▁", "▁ a"});
    file.set("tokenizer.ggml.bos_token_id", std::uint32_t{1});
    const tokenizer tokens(read(file));
    BOOST_TEST((tokens.encode("a  a b\n\n\n") == std::vector<token>{1, 3, 6, 3, 4, 7, 8, 2}));
    auto bare = file;
    bare.set("tokenizer.ggml.add_space_prefix", false);
    BOOST_TEST((tokenizer(read(bare)).encode("a") == std::vector<token>{1, 3}));
    file.set("tokenizer.ggml.add_space_prefix", true);
    BOOST_CHECK_EXCEPTION(read(file), augur::error, says({"add_space_prefix", "'gemma4'"}));
}

BOOST_AUTO_TEST_CASE(runs_of_spaces_are_put_together_first) {
    gguf_writer file;
    file.set("tokenizer.ggml.model", std::string("llama")).set("tokenizer.ggml.add_bos_token", false);
    file.set("tokenizer.ggml.tokens", strings{"▁", "a", "▁a", "  ", "   "});
    file.set("tokenizer.ggml.scores", std::vector<float>{-3, -2, -1, -1000, -1000});
    file.set("tokenizer.ggml.token_type", numbers{1, 1, 1, 4, 4}).set("tokenizer.ggml.add_space_prefix", false);
    const tokenizer tokens(read(file));
    BOOST_TEST((tokens.encode("  a a    a") == std::vector<token>{3, 1, 2, 4, 2}));
    BOOST_TEST((tokens.encode("▁ a") == std::vector<token>{3, 1}));  // no matter how a space is written
    BOOST_TEST(tokens.decode(tokens.encode("a   a")) == "a   a");
    gguf_writer gap;
    gap.set("tokenizer.ggml.model", std::string("llama")).set("tokenizer.ggml.add_bos_token", false);
    gap.set("tokenizer.ggml.tokens", strings{"▁", "a", "   "}).set("tokenizer.ggml.scores", std::vector<float>(3));
    gap.set("tokenizer.ggml.token_type", numbers{1, 1, 4}).set("tokenizer.ggml.add_space_prefix", false);
    BOOST_TEST((tokenizer(read(gap)).encode("a   a") == std::vector<token>{1, 2, 1}));  // as it is: none of two
}

BOOST_AUTO_TEST_CASE(phi3_strips_white_space_behind_its_control_tokens) {
    auto file = sentencepiece();
    file.set("tokenizer.ggml.scores", std::vector<float>(5)).set("tokenizer.ggml.bos_token_id", std::uint32_t{1});
    BOOST_TEST(read(file).strips_right.empty());
    file.set("general.architecture", std::string("phi3"));
    BOOST_TEST((read(file).strips_right == std::vector<token>{2}));  // not behind <s>
}

BOOST_AUTO_TEST_CASE(what_is_missing_or_unsupported_is_named) {
    BOOST_CHECK_EXCEPTION(read(gguf_writer()), augur::error, says({"tokenizer.ggml.model"}));
    BOOST_CHECK_EXCEPTION(read(byte_level()), augur::error, says({"tokenizer.ggml.merges"}));
    BOOST_CHECK_EXCEPTION(read(sentencepiece()), augur::error, says({"tokenizer.ggml.scores"}));
    gguf_writer untyped;
    untyped.set("tokenizer.ggml.model", std::string("llama")).set("tokenizer.ggml.tokens", strings{"a"});
    BOOST_CHECK_EXCEPTION(read(untyped), augur::error, says({"tokenizer.ggml.token_type"}));
    gguf_writer bert;
    bert.set("tokenizer.ggml.model", std::string("bert")).set("tokenizer.ggml.tokens", strings{"a"});
    BOOST_CHECK_EXCEPTION(read(bert), augur::error, says({"'bert'", "gpt2", "llama", "gemma4"}));
    auto other = byte_level();
    other.set("tokenizer.ggml.pre", std::string("viking")).set("tokenizer.ggml.merges", strings{});
    BOOST_CHECK_EXCEPTION(read(other), augur::error, says({"'viking'", "smollm", "qwen2"}));
}

BOOST_AUTO_TEST_CASE(counts_and_ids_that_disagree_are_refused) {
    auto types = byte_level();
    types.set("tokenizer.ggml.merges", strings{}).set("tokenizer.ggml.token_type", numbers{1, 1});
    BOOST_CHECK_EXCEPTION(read(types), augur::error, says({"4 tokens", "2 token types"}));
    for (const std::int32_t number : {-1, 0, 7, 9}) {
        auto type = byte_level();
        type.set("tokenizer.ggml.merges", strings{}).set("tokenizer.ggml.token_type", numbers{1, number, 1, 1});
        BOOST_CHECK_EXCEPTION(read(type), augur::error, says({"token 1 is " + std::to_string(number), "1 to 6"}));
    }
    auto scores = sentencepiece();
    scores.set("tokenizer.ggml.scores", std::vector<float>{0}).set("tokenizer.ggml.bos_token_id", std::uint32_t{1});
    BOOST_CHECK_EXCEPTION(read(scores), augur::error, says({"5 tokens", "1 scores"}));
    auto merges = byte_level();
    merges.set("tokenizer.ggml.merges", strings{"a b", "ba"});
    BOOST_CHECK_EXCEPTION(read(merges), augur::error, says({"merge 1", "'ba'"}));
    gguf_writer twice;
    twice.set("tokenizer.ggml.model", std::string("gpt2")).set("tokenizer.ggml.tokens", strings{"a", "a"});
    twice.set("tokenizer.ggml.merges", strings{});
    BOOST_CHECK_EXCEPTION(read(twice), augur::error, says({"tokens 0 and 1", "'a'"}));
}

BOOST_AUTO_TEST_CASE(ids_outside_the_vocabulary_that_nothing_needs_are_notes) {
    auto file = byte_level();
    file.set("tokenizer.ggml.merges", strings{}).set("tokenizer.ggml.bos_token_id", std::uint32_t{4});
    file.set("tokenizer.ggml.eos_token_id", std::uint32_t{0xFFFFFFFF});
    file.set("tokenizer.ggml.eot_token_id", std::int32_t{-1}).set("tokenizer.ggml.eom_token_id", std::uint32_t{3});
    file.set("tokenizer.ggml.unknown_token_id", std::uint32_t{0xFFFFFFFF});
    file.set("tokenizer.ggml.pre", std::string("default"));
    const auto words = read(file);
    for (const token none : {words.bos, words.eos, words.eot, words.unknown}) BOOST_TEST(none == no_token);
    BOOST_TEST((words.ends == std::vector<token>{3}));
    BOOST_TEST((
        words.notes ==
        strings{"tokenizer.ggml.bos_token_id is 4, outside the vocabulary of 4: there is no such token",
                "tokenizer.ggml.eos_token_id is 4294967295, outside the vocabulary of 4: there is no such token",
                "tokenizer.ggml.eot_token_id is -1, outside the vocabulary of 4: there is no such token",
                "tokenizer.ggml.unknown_token_id is 4294967295, outside the vocabulary of 4: there is no such token"}));
    auto with_bos = file, with_eos = file;
    with_bos.set("tokenizer.ggml.add_bos_token", true);
    BOOST_CHECK_EXCEPTION(read(with_bos), augur::error, says({"bos_token_id is 4", "vocabulary of 4", "needs it"}));
    with_eos.set("tokenizer.ggml.add_eos_token", true);
    BOOST_CHECK_EXCEPTION(read(with_eos), augur::error, says({"eos_token_id is 4294967295", "eos behind texts"}));
    file.set("tokenizer.ggml.eos_token_id", std::string("</s>"));
    BOOST_CHECK_THROW(read(file), augur::error);
}

BOOST_AUTO_TEST_CASE(a_byte_level_vocabulary_that_names_no_pre_tokenizer_is_split_by_the_default_and_a_note_says_so) {
    auto file = byte_level();
    const auto words = read(file.set("tokenizer.ggml.merges", strings{"a b"}));
    BOOST_TEST_REQUIRE(words.notes.size() == 1u);
    BOOST_TEST(words.notes[0] ==
               "tokenizer.ggml.pre is not there: texts are split as by 'default', which may not be how the model's "
               "were");
    const auto named = read(file.set("tokenizer.ggml.pre", std::string("default")));
    BOOST_TEST(named.notes.empty());
    BOOST_TEST(named.pre_tokenizer == words.pre_tokenizer);
}

/// As llama.cpp does; Hugging Face's tokenizers do not load such a list.
BOOST_AUTO_TEST_CASE(merges_of_texts_that_are_no_tokens) {
    gguf_writer file;
    file.set("tokenizer.ggml.model", std::string("gpt2"));
    file.set("tokenizer.ggml.tokens", strings{"a", "b", "c", "d", "bc", "abc", "dd"});
    file.set("tokenizer.ggml.pre", std::string("default"));
    file.set("tokenizer.ggml.merges", strings{"zq qz", "a b", "b c", "ab c", "d d", "dd d"});
    const auto words = read(file);
    BOOST_TEST(words.merges.size() == 6u);
    BOOST_TEST(words.passing == 5u);  // zq, qz, zqqz, ab, ddd
    BOOST_TEST_REQUIRE(words.notes.size() == 1u);
    BOOST_TEST(words.notes[0] ==
               "merge 0 of 'zq' and 'qz' is of texts that are no tokens (5 such texts in all merges): "
               "what they make is left as single bytes");
    const tokenizer tokens(words);
    BOOST_TEST((tokens.encode("abc") == std::vector<token>{5}));             // over ab, which is no token
    BOOST_TEST((tokens.encode("abdbc") == std::vector<token>{0, 1, 3, 4}));  // ab comes first, and is left as bytes
    BOOST_TEST((tokens.encode("ddd") == std::vector<token>{3, 3, 3}));
    BOOST_TEST((tokens.encode("dd") == std::vector<token>{6}));
    BOOST_TEST(tokens.vocabulary_size() == 7u);
    auto pieces = augur::io::vocabulary(words);
    pieces.kind = tokenizer_kind::sentencepiece_bpe;
    BOOST_CHECK_EXCEPTION(check(pieces), augur::error, says({"5 texts that are no tokens"}));
}

BOOST_AUTO_TEST_SUITE_END()
