#include <augur/io/text/sentencepiece_bpe.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "io/vocabularies.hpp"
#include "sanitized.hpp"

BOOST_AUTO_TEST_SUITE(io_sentencepiece_bpe)

using namespace augur;
using namespace augur::io;
using augur::testing::sentencepiece_words;

namespace {

/// The texts of the tokens with | between them; code points that cannot be spelled as ?.
std::string encode(const vocabulary& words, std::string_view text, bool with_prefix = false) {
    std::vector<token> ids;
    std::string out;
    sentencepiece_bpe(words).encode(text, with_prefix, ids, [&](std::string_view) { out += "?"; });
    for (const auto id : ids) out.append("|").append(words.texts[static_cast<std::size_t>(id)]);
    return out;
}

vocabulary without_bytes(vocabulary words) {
    for (auto& kind : words.kinds) {
        if (kind == token_kind::byte) kind = token_kind::unused;
    }
    return words;
}

}  // namespace

BOOST_AUTO_TEST_CASE(better_scores_go_first) {
    const auto words = sentencepiece_words();
    BOOST_TEST(encode(words, "") == "");
    BOOST_TEST(encode(words, "hello") == "|hello");
    BOOST_TEST(encode(words, "hello", true) == "|▁hello");
    BOOST_TEST(encode(words, " w") == "|▁w");
    BOOST_TEST(encode(words, "lll") == "|ll|l");
    BOOST_TEST(encode(words, "", true) == "|▁");
}

BOOST_AUTO_TEST_CASE(a_prefix_that_joins_is_left_out_before_a_space) {
    auto words = sentencepiece_words();
    BOOST_TEST(encode(words, " hello", true) == "|▁|▁hello");
    words.prefix_joins = true;
    BOOST_TEST(encode(words, "hello", true) == "|▁hello");
    BOOST_TEST(encode(words, " hello", true) == "|▁hello");
    BOOST_TEST(encode(words, "▁hello", true) == "|▁hello");
    BOOST_TEST(encode(words, "  hello", true) == "|▁|▁hello");
    BOOST_TEST(encode(words, " hello") == "|▁hello");
    BOOST_TEST(encode(words, "", true) == "|▁");
}

BOOST_AUTO_TEST_CASE(neighbours_merge_by_their_text_even_if_one_is_no_token) {
    BOOST_TEST(encode(sentencepiece_words(), "日本") == "|日本");
    BOOST_TEST(encode(sentencepiece_words(), "本") == "|<0xE6>|<0x9C>|<0xAC>");
}

BOOST_AUTO_TEST_CASE(bytes_spell_what_has_no_token) {
    const auto words = sentencepiece_words();
    BOOST_TEST(encode(words, "a") == "|<0x61>");
    BOOST_TEST(encode(words, "h\nh") == "|h|<0x0A>|h");
    BOOST_TEST(encode(words, "😁") == "|<0xF0>|<0x9F>|<0x98>|<0x81>");
}

BOOST_AUTO_TEST_CASE(runs_of_what_cannot_be_spelled_become_one_unknown_token) {
    auto words = without_bytes(sentencepiece_words());
    BOOST_TEST(encode(words, "hab日cdh") == "|h|<unk>|日|<unk>|h");
    words.unknown = no_token;
    BOOST_TEST(encode(words, "hab日cdh") == "????|h|日|h");
}

BOOST_AUTO_TEST_CASE(bytes_end_a_run_of_unknowns) {
    auto words = without_bytes(sentencepiece_words());
    const auto byte_a = static_cast<std::size_t>(augur::testing::token_of(words, "<0x61>"));
    words.kinds[byte_a] = token_kind::byte;  // an a can be spelled, a b cannot
    BOOST_TEST(encode(words, "bab") == "|<unk>|<0x61>|<unk>");
    BOOST_TEST(encode(words, "bbaabb") == "|<unk>|<0x61>|<0x61>|<unk>");
    BOOST_TEST(encode(words, "abbhbba") == "|<0x61>|<unk>|h|<unk>|<0x61>");
    words.unknown = no_token;
    BOOST_TEST(encode(words, "bab") == "??|<0x61>");
}

BOOST_AUTO_TEST_CASE(control_and_byte_tokens_are_never_made_from_text) {
    const auto words =
        sentencepiece_words({"<", "s", ">", "s>", "<s", "/", "0x61", "<0x61", "0", "x", "6", "1", "0x", "61"});
    BOOST_TEST(encode(words, "<s>") == "|<|s>");
    BOOST_TEST(encode(words, "<0x61>") == "|<0x61|>");
}

BOOST_AUTO_TEST_CASE(tokens_that_are_said_to_be_unused_are_made_from_text_all_the_same) {
    auto words = sentencepiece_words();
    words.kinds[static_cast<std::size_t>(augur::testing::token_of(words, "hello"))] = token_kind::unused;
    BOOST_TEST(encode(words, "hello") == "|hello");
}

BOOST_AUTO_TEST_CASE(without_scores_the_list_of_merges_rules) {
    auto words = sentencepiece_words({"a", "b", "c", "ab", "bc", "abc"});
    words.scores.clear();
    const auto index = index_texts(words.texts);
    words.merges = {make_merge(index, 0, "b c"), make_merge(index, 1, "a b")};
    BOOST_TEST(encode(words, "abc") == "|a|bc");
    BOOST_TEST(encode(words, "ab日") == "|ab|<0xE6>|<0x97>|<0xA5>");
}

BOOST_AUTO_TEST_CASE(marks_become_spaces) {
    BOOST_TEST(sentencepiece_bpe::bytes_of("▁he▁") == " he ");
    BOOST_TEST(replace_all("aXbX", "X", "__") == "a__b__");
    BOOST_TEST(replace_all("", "X", "") == "");
}

BOOST_AUTO_TEST_CASE(a_megabyte_of_text) {
    std::vector<token> ids;
    const auto words = sentencepiece_words();
    constexpr std::size_t length = augur::testing::unless_sanitized(500'000, 50'000);
    sentencepiece_bpe(words).encode(std::string(2 * length, 'l'), false, ids, [](std::string_view) {});
    BOOST_TEST((ids == std::vector<token>(length, augur::testing::token_of(words, "ll"))));
}

BOOST_AUTO_TEST_SUITE_END()
