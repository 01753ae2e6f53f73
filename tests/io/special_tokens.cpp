#include <augur/io/special_tokens.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>

#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_special_tokens)

using namespace augur;
using namespace augur::io;

namespace {

/// The pieces with | between them, special tokens as #id.
std::string cut(const vocabulary& words, std::string_view text, bool with_control) {
    std::string out;
    special_tokens(words).split(
        text, with_control, [&](std::string_view ordinary) { out.append("|").append(ordinary); },
        [&](token id) { out += "|#" + std::to_string(id); });
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(control_tokens_only_on_request_and_user_defined_ones_always) {
    vocabulary words;
    augur::testing::add_token(words, "x");
    augur::testing::add_token(words, "<s>", token_kind::control);
    augur::testing::add_token(words, "<unk>", token_kind::unknown);
    augur::testing::add_token(words, "<tool>", token_kind::user_defined);
    BOOST_TEST(cut(words, "", true) == "");
    BOOST_TEST(cut(words, "x<s>y<tool>", true) == "|x|#1|y|#3");
    BOOST_TEST(cut(words, "x<s>y<tool>", false) == "|x<s>y|#3");
    BOOST_TEST(cut(words, "<unk>", true) == "|#2");
    BOOST_TEST(cut(words, "<s><s>", true) == "|#1|#1");
    BOOST_TEST(cut(words, "<<s", true) == "|<<s");
}

BOOST_AUTO_TEST_CASE(the_longest_at_a_byte_wins_even_if_the_shorter_is_an_ending) {
    vocabulary words;
    augur::testing::add_token(words, "<a>", token_kind::user_defined);
    augur::testing::add_token(words, "<a><b>", token_kind::user_defined);
    augur::testing::add_token(words, "<a><c>", token_kind::control);
    BOOST_TEST(cut(words, "<a><b><a><a>", true) == "|#1|#0|#0");
    BOOST_TEST(cut(words, "<a><c>", true) == "|#2");
    BOOST_TEST(cut(words, "<a><c>", false) == "|#0|<c>");
    BOOST_TEST(cut(words, "<a><", true) == "|#0|<");
}

BOOST_AUTO_TEST_CASE(empty_texts_are_never_found) {
    vocabulary words;
    augur::testing::add_token(words, "", token_kind::control);
    BOOST_TEST(cut(words, "ab", true) == "|ab");
}

BOOST_AUTO_TEST_CASE(many_tokens_and_a_long_text) {
    vocabulary words;
    for (int i = 0; i < 20'000; ++i)
        augur::testing::add_token(words, "<" + std::to_string(i) + ">", token_kind::user_defined);
    std::string text;
    std::string expected;
    for (int i = 0; i < 20'000; i += 7) {
        text += "ab<" + std::to_string(i) + ">";
        expected += "|ab|#" + std::to_string(i);
    }
    BOOST_TEST((cut(words, text, false) == expected));
}

BOOST_AUTO_TEST_SUITE_END()
