#include <augur/io/text/vocabulary.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_vocabulary)

using namespace augur;
using namespace augur::io;
using augur::testing::says;

BOOST_AUTO_TEST_CASE(sound_vocabularies_pass) {
    BOOST_CHECK_NO_THROW(check(augur::testing::byte_level_words()));
    BOOST_CHECK_NO_THROW(check(augur::testing::sentencepiece_words()));
}

BOOST_AUTO_TEST_CASE(each_flaw_is_named_with_its_values) {
    struct flaw {
        std::function<void(vocabulary&)> make;
        std::vector<std::string> message;
    };
    const std::vector<flaw> flaws = {
        {[](vocabulary& words) { words = {}; }, {"no tokens"}},
        {[](vocabulary& words) { words.kinds.pop_back(); }, {"273 tokens", "272 token types"}},
        {[](vocabulary& words) { words.scores.resize(5); }, {"273 tokens", "5 scores"}},
        {[](vocabulary& words) { words.scores.clear(); }, {"needs scores or merges"}},
        {[](vocabulary& words) { words.scores[7] = std::numeric_limits<float>::quiet_NaN(); },
         {"token 7", "not a number"}},
        {[](vocabulary& words) { words.texts[3] = "<0xG0>"; }, {"token 3", "'<0xG0>'"}},
        {[](vocabulary& words) { words.texts[270] = "he"; }, {"259", "270", "'he'"}},
        {[](vocabulary& words) {
             words.merges.push_back({0, 1, 273});
         },
         {"merge 0", "273", "vocabulary of 273"}},
        {[](vocabulary& words) {
             words.merges.push_back({0, -1, 3});
         },
         {"merge 0", "-1"}},
        {[](vocabulary& words) {
             words.found_last = {3, 273};
         },
         {"token 273 is found last", "vocabulary of 273"}},
        {[](vocabulary& words) { words.found_last = {no_token}; }, {"token -1 is found last"}},
        {[](vocabulary& words) { words.bos = 273; }, {"bos", "273"}},
        {[](vocabulary& words) { words.eos = -7; }, {"eos", "-7"}},
        {[](vocabulary& words) { words.eot = 1000; }, {"eot", "1000"}},
        {[](vocabulary& words) { words.unknown = 273; }, {"unknown", "273"}},
        {[](vocabulary& words) { words.bos = no_token; }, {"add_bos", "no bos"}},
        {[](vocabulary& words) { words.add_eos = true, words.eos = no_token; }, {"add_eos", "no eos"}},
    };
    for (std::size_t i = 0; i < flaws.size(); ++i) {
        BOOST_TEST_CONTEXT("flaw " << i) {
            auto words = augur::testing::sentencepiece_words();
            flaws[i].make(words);
            BOOST_CHECK_EXCEPTION(check(words), augur::error, says(flaws[i].message));
        }
    }
}

BOOST_AUTO_TEST_CASE(byte_tokens) {
    BOOST_TEST((parse_byte_token("<0x0A>") == '\n'));
    BOOST_TEST((parse_byte_token("<0xFF>") == 255));
    for (const auto* text : {"", "<0x>", "<0x0a>", "<0x0A", "<0x0AA>", "<1x0A>", " <0x0A"}) {
        BOOST_TEST(!parse_byte_token(text).has_value(), text);
    }
}

BOOST_AUTO_TEST_CASE(texts_are_found_and_empty_ones_are_not) {
    const auto index = index_texts({"a", "", "b", ""});
    BOOST_TEST(find_text(index, "b") == 2);
    BOOST_TEST(find_text(index, "c") == no_token);
    BOOST_TEST(find_text(index, "") == no_token);
}

BOOST_AUTO_TEST_CASE(merges_are_found_by_their_texts) {
    const auto index = index_texts({"a", "b", "ab", " ", " a"});
    const auto merge = make_merge(index, 0, "a b");
    BOOST_TEST(merge.left == 0);
    BOOST_TEST(merge.right == 1);
    BOOST_TEST(merge.result == 2);
    BOOST_TEST(make_merge(index, 0, "  a").result == 4);
    BOOST_CHECK_EXCEPTION(make_merge(index, 5, "b a"), augur::error, says({"merge 5", "'ba'", "vocabulary of 5"}));
    BOOST_CHECK_EXCEPTION(make_merge(index, 6, "a c"), augur::error, says({"merge 6", "'c'"}));
    for (const auto* text : {"ab", "", " ", "a"}) {
        BOOST_CHECK_EXCEPTION(make_merge(index, 7, text), augur::error, says({"merge 7", "not two tokens"}));
    }
}

BOOST_AUTO_TEST_SUITE_END()
