#include <augur/io/text/byte_level_bpe.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/vocabularies.hpp"
#include "sanitized.hpp"

BOOST_AUTO_TEST_SUITE(io_byte_level_bpe)

using namespace augur;
using namespace augur::io;
using augur::testing::byte_level_words;
using augur::testing::token_of;

namespace {

/// The texts of the tokens with | between them; bytes without a token as ?.
std::string encode(const vocabulary& words, std::string_view text) {
    std::vector<token> ids;
    std::string unknown;
    byte_level_bpe(words).encode(text, ids, [&](std::string_view byte) {
        BOOST_TEST(byte.size() == 1u);
        unknown += "?";
    });
    std::string out = unknown;
    for (const auto id : ids) out.append("|").append(words.texts[static_cast<std::size_t>(id)]);
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(merges_go_by_their_order) {
    const auto words = byte_level_words();
    BOOST_TEST(encode(words, "") == "");
    BOOST_TEST(encode(words, "hello") == "|hello");
    BOOST_TEST(encode(words, "hello world") == "|hello|Ġwo|r|l|d");
    BOOST_TEST(encode(words, "hell") == "|hell");
    BOOST_TEST(encode(words, "ehll") == "|e|h|ll");
    BOOST_TEST(encode(words, "lll") == "|ll|l");
    BOOST_TEST(encode(words, " é") == "|Ġ|Ã|©");
}

BOOST_AUTO_TEST_CASE(words_are_cut_before_they_are_merged) {
    const auto words = byte_level_words({"h e", "e Ġ", "e !"});
    BOOST_TEST(encode(words, "e !") == "|e|Ġ|!");
    BOOST_TEST(encode(words, "e!") == "|e|!");
}

BOOST_AUTO_TEST_CASE(a_word_that_is_a_token_can_ignore_the_merges) {
    auto words = byte_level_words({"b c"});
    augur::testing::add_token(words, "Ġabc");
    words.pre_tokenizer = "llama-bpe";
    BOOST_TEST(encode(words, " abc") == "|Ġ|a|bc");
    words.ignore_merges = true;
    BOOST_TEST(encode(words, " abc") == "|Ġabc");
    BOOST_TEST(encode(words, " abcd") == "|Ġ|a|bc|d");
}

BOOST_AUTO_TEST_CASE(bytes_without_a_token_are_reported_and_their_neighbours_merge) {
    auto words = byte_level_words({"a b"});
    words.texts[static_cast<unsigned char>('x')] = "<no x>";
    BOOST_TEST(encode(words, "axb") == "?|ab");
    BOOST_TEST(encode(words, "xxaxxbx") == "?????|ab");
    BOOST_TEST(encode(words, "abxab") == "?|ab|ab");
    BOOST_TEST(encode(words, "xx") == "??");
    words.texts[static_cast<unsigned char>('!')] = "<no !>";
    BOOST_TEST(encode(words, "a!b") == "?|a|b");  // a word of its own, which is cut before
}

BOOST_AUTO_TEST_CASE(control_tokens_are_never_made_from_text) {
    auto words = byte_level_words({"a b"});
    words.kinds[static_cast<std::size_t>(token_of(words, "a"))] = token_kind::control;
    BOOST_TEST(encode(words, "ab") == "?|b");
    words = byte_level_words();
    words.ignore_merges = true;
    augur::testing::add_token(words, "stop", token_kind::control);
    BOOST_TEST(encode(words, "stop") == "|s|t|o|p");
}

BOOST_AUTO_TEST_CASE(a_token_stands_for_the_bytes_it_spells) {
    BOOST_TEST(byte_level_bpe::bytes_of("Ġhe") == " he");
    BOOST_TEST(byte_level_bpe::bytes_of("日本") == "日本");
    BOOST_TEST(byte_level_bpe::bytes_of("") == "");
}

BOOST_AUTO_TEST_CASE(one_word_of_a_megabyte) {
    const auto words = byte_level_words({"a a", "aa aa", "aaaa aaaa"});
    std::vector<token> ids;
    constexpr std::size_t length = augur::testing::unless_sanitized(125'000, 10'000);
    byte_level_bpe(words).encode(std::string(8 * length, 'a'), ids, [](std::string_view) {});
    BOOST_TEST(ids.size() == length);
    BOOST_TEST((ids == std::vector<token>(length, token_of(words, "aaaaaaaa"))));
}

BOOST_AUTO_TEST_SUITE_END()
