#include <augur/io/text/split_rules.hpp>
#include <boost/test/unit_test.hpp>
#include <set>
#include <string_view>

#include "io/files.hpp"

BOOST_AUTO_TEST_SUITE(io_split_rules)

using namespace augur::io;

BOOST_AUTO_TEST_CASE(every_name_finds_its_own_rules_and_is_used_once) {
    std::set<std::string_view> names;
    for (const auto& rules : known_split_rules) {
        BOOST_TEST(!rules.names[0].empty());
        for (const auto name : rules.names) {
            if (name.empty()) continue;
            BOOST_TEST((&find_split_rules(name) == &rules), name);
            BOOST_TEST(names.insert(name).second, name);
        }
    }
}

BOOST_AUTO_TEST_CASE(names_that_mean_the_same) {
    BOOST_TEST(find_split_rules("llama3").names[0] == "llama-bpe");
    BOOST_TEST(find_split_rules("llama-v3").names[0] == "llama-bpe");
    BOOST_TEST(find_split_rules("default").names[0] == "gpt-2");
    BOOST_TEST(find_split_rules("llama-bpe").ignore_merges);
    BOOST_TEST(!find_split_rules("smollm").ignore_merges);
}

BOOST_AUTO_TEST_CASE(unknown_names_are_refused_with_the_known_ones) {
    BOOST_CHECK_EXCEPTION(
        find_split_rules("viking"), augur::error,
        augur::testing::says({"'viking'", "smollm", "llama-bpe", "gpt-2", "qwen2", "gpt-4o", "tekken"}));
    BOOST_CHECK_THROW(find_split_rules(""), augur::error);
}

BOOST_AUTO_TEST_SUITE_END()
