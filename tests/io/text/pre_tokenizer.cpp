#include <augur/io/text/pre_tokenizer.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <string_view>

#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_pre_tokenizer)

using namespace augur::io;

namespace {

/// The words, with | between them.
std::string cut(std::string_view rules, std::string_view text) {
    std::string out;
    for (const auto word : pre_tokenizer(find_split_rules(rules)).split(text)) {
        if (!out.empty()) out += '|';
        out += word;
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(gpt2) {
    BOOST_TEST(cut("gpt-2", "") == "");
    BOOST_TEST(cut("gpt-2", "Hello, y'all!  I'd 123x") == "Hello|,| y|'|all|!| | I|'d| 123|x");
    BOOST_TEST(cut("gpt-2", "a \n b") == "a| \n| b");
    BOOST_TEST(cut("gpt-2", "I'S") == "I|'|S");
    BOOST_TEST(cut("gpt-2", "e\u0301") == "e|\u0301");
}

BOOST_AUTO_TEST_CASE(smollm_separates_digits) {
    BOOST_TEST(cut("smollm", "in 2024!") == "in| |2|0|2|4|!");
    BOOST_TEST(cut("smollm", "x²  3") == "x|²|  |3");
}

BOOST_AUTO_TEST_CASE(llama_and_qwen) {
    BOOST_TEST(cut("llama-bpe", "in 12345 (a)\n\n  b") == "in| |123|45| (|a|)\n\n| | b");
    BOOST_TEST(cut("llama-bpe", "I'LL y'All") == "I|'LL| y|'All");
    BOOST_TEST(cut("qwen2", "in 123") == "in| |1|2|3");
    BOOST_TEST(cut("qwen2", "#tag\r\n") == "#tag|\r\n");
}

BOOST_AUTO_TEST_CASE(gpt4o_and_tekken_part_words_by_case) {
    BOOST_TEST(cut("gpt-4o", "camelCaseXMLHttp I'M 1234") == "camel|Case|XMLHttp| I'M| |123|4");
    BOOST_TEST(cut("tekken", "camelCase I'M 12 a/\n/") == "camel|Case| I|'M| |1|2| a|/\n/");
    BOOST_TEST(cut("gpt-4o", "\u0416\u0436\u01c5\u02b0a") == "\u0416\u0436|\u01c5\u02b0a");
    BOOST_TEST(cut("gpt-4o", "e\u0301\u0939\u093f") == "e\u0301\u0939\u093f");
}

BOOST_AUTO_TEST_CASE(qwen35_keeps_marks_in_words) {
    BOOST_TEST(cut("qwen35", "e\u0301x 12") == "e\u0301x| |1|2");
    BOOST_TEST(cut("qwen2", "e\u0301x") == "e|\u0301x");
}

BOOST_AUTO_TEST_CASE(white_space_is_unicodes) {
    BOOST_TEST(cut("gpt-2", "a\u3000\u2003b") == "a|\u3000|\u2003|b");
    BOOST_TEST(cut("gpt-2", "a\u0085b") == "a|\u0085|b");
    // U+180E and U+001C are no white space: they are cut like punctuation.
    BOOST_TEST(cut("gpt-2", "a \u180E \x1C") == "a| \u180E| \x1C");
}

BOOST_AUTO_TEST_CASE(words_put_together_are_the_text) {
    for (const auto& rules : known_split_rules) {
        const pre_tokenizer splitter(rules);
        for (unsigned seed = 0; seed < 100; ++seed) {
            BOOST_TEST_CONTEXT(rules.names[0] << ", seed " << seed) {
                std::mt19937 random(seed);
                const auto text = augur::testing::random_text(random, 200);
                std::string joined;
                for (const auto word : splitter.split(text)) {
                    BOOST_TEST(!word.empty());
                    joined += word;
                }
                BOOST_TEST(joined == text);
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
