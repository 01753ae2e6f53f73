#include "augur/io/text/special_tokens.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "io/files.hpp"
#include "io/vocabularies.hpp"
#include "sanitized.hpp"

BOOST_AUTO_TEST_SUITE(io_special_tokens)

using namespace augur;
using namespace augur::io;
using augur::testing::says;

namespace {

/// The pieces with | between them, special tokens as #id.
std::string cut(const vocabulary& words, std::string_view text, bool with_control) {
    std::string out;
    special_tokens(words).split(
        text, with_control, [&](std::string_view ordinary) { out.append("|").append(ordinary); },
        [&](token id) { out += "|#" + std::to_string(id); });
    return out;
}

/// The same, by trying every token at every byte: those that are not found last, then the others in what is left.
std::string cut_by_definition(const vocabulary& words, std::string_view text, bool with_control, bool last = false) {
    std::string out, left;
    const auto end_left = [&] {
        if (!left.empty()) out += last ? "|" + left : cut_by_definition(words, left, with_control, true);
        left.clear();
    };
    while (!text.empty()) {
        std::size_t longest = 0, id = 0;
        for (std::size_t i = 0; i < words.texts.size(); ++i) {
            const bool wanted = with_control || words.kinds[i] == token_kind::user_defined;
            const auto found = std::count(words.found_last.begin(), words.found_last.end(), static_cast<token>(i));
            if (!wanted || (found != 0) != last || !text.starts_with(words.texts[i]) ||
                words.texts[i].size() <= longest)
                continue;
            longest = words.texts[i].size();
            id = i;
        }
        if (longest == 0) {
            left += text[0];
        } else {
            end_left();
            out += "|#" + std::to_string(id);
        }
        text.remove_prefix(std::max<std::size_t>(longest, 1));
    }
    end_left();
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

/// Whatever comes first in the text, and whatever is longer.
BOOST_AUTO_TEST_CASE(tokens_that_are_found_last_take_what_the_others_leave) {
    vocabulary words;
    words.found_last = {augur::testing::add_token(words, "ab", token_kind::user_defined)};
    augur::testing::add_token(words, "bc", token_kind::user_defined);
    augur::testing::add_token(words, "b<c>", token_kind::control);
    BOOST_TEST(cut(words, "abc", false) == "|a|#1");
    BOOST_TEST(cut(words, "ababcab", false) == "|#0|a|#1|#0");
    BOOST_TEST(cut(words, "ab<c>", false) == "|#0|<c>");
    BOOST_TEST(cut(words, "ab<c>", true) == "|a|#2");
    words.found_last.push_back(1);
    BOOST_TEST(cut(words, "abc", false) == "|#0|c");
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

BOOST_AUTO_TEST_CASE(what_is_found_is_what_its_definition_finds) {
    std::mt19937 random(7);
    const auto some = [&](std::size_t most) {
        std::string text;
        for (auto length = 1 + random() % most; length > 0; --length) text += static_cast<char>('a' + random() % 2);
        return text;
    };
    for (int round = 0; round < 300; ++round) {
        std::set<std::string> texts;
        for (int i = 0; i < 6; ++i) texts.insert(some(5));
        vocabulary words;
        for (const auto& text : texts) {
            augur::testing::add_token(words, text, random() % 2 ? token_kind::control : token_kind::user_defined);
            if (random() % 3 == 0) words.found_last.push_back(static_cast<token>(words.texts.size() - 1));
        }
        const std::string text = some(40);
        for (const bool with_control : {false, true}) {
            BOOST_TEST(cut(words, text, with_control) == cut_by_definition(words, text, with_control));
        }
    }
}

/// Walking the longest token at every byte would take 10^10 steps.
BOOST_AUTO_TEST_CASE(a_token_that_nearly_begins_everywhere_takes_no_time) {
    vocabulary words;
    constexpr std::size_t length = augur::testing::unless_sanitized(100'000, 20'000);
    augur::testing::add_token(words, std::string(length, 'a') + "b", token_kind::control);
    augur::testing::add_token(words, "c" + std::string(length, 'a'), token_kind::control);
    const std::string text(2 * length, 'a');
    BOOST_TEST((cut(words, text, true) == "|" + text));
    BOOST_TEST((cut(words, text + "b", true) == "|" + text.substr(length) + "|#0"));
    BOOST_TEST((cut(words, "c" + text, true) == "|#1|" + text.substr(length)));
}

BOOST_AUTO_TEST_CASE(all_special_tokens_together_are_bounded) {
    vocabulary words;
    for (int i = 0; i < 5; ++i) {
        augur::testing::add_token(words, std::string(1'000'000, 'a') + std::to_string(i), token_kind::control);
    }
    BOOST_CHECK_EXCEPTION(special_tokens{words}, augur::error,
                          says({"special tokens up to 4 have 5000005 bytes", "4194304"}));
}

BOOST_AUTO_TEST_SUITE_END()
