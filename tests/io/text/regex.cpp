#include <augur/io/text/regex.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "io/files.hpp"

BOOST_AUTO_TEST_SUITE(io_regex)

using augur::io::regex;

namespace {

std::vector<std::string> matches(const regex& pattern, std::string_view text) {
    std::vector<std::string> found;
    pattern.for_each_match(
        text, [&](std::size_t begin, std::size_t end) { found.emplace_back(text.substr(begin, end - begin)); });
    return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(finds_unicode_classes_from_left_to_right) {
    using strings = std::vector<std::string>;
    BOOST_TEST((matches(regex(R"(\p{L}+)"), "ab Çé, 日本 3") == strings{"ab", "Çé", "日本"}));
    BOOST_TEST((matches(regex(R"(\p{N})"), "12²٣") == strings{"1", "2", "²", "٣"}));
    BOOST_TEST((matches(regex(R"(x+(?!y))"), "xxy xxx") == strings{"x", "xxx"}));
    BOOST_TEST(matches(regex("a"), "").empty());
    BOOST_TEST(matches(regex("a"), "日本").empty());
}

BOOST_AUTO_TEST_CASE(empty_matches_are_passed_over) {
    using strings = std::vector<std::string>;
    BOOST_TEST((matches(regex("a*"), "日aa本") == strings{"aa"}));
    BOOST_TEST(matches(regex("(?=.)"), "日本").empty());
}

BOOST_AUTO_TEST_CASE(bad_patterns_are_named_with_the_position) {
    BOOST_CHECK_EXCEPTION(regex("ab(c"), augur::error, augur::testing::says({"'ab(c'", "offset 4"}));
}

BOOST_AUTO_TEST_CASE(long_runs_need_no_stack) {
    const std::string blanks(3'000'000, ' ');
    BOOST_TEST(matches(regex(R"(\s+(?!\S)|\s+)"), blanks + "x").size() == 2u);
    BOOST_TEST(matches(regex(R"((?:a|b)+)"), std::string(300'000, 'a')).size() == 1u);
}

BOOST_AUTO_TEST_CASE(copies_match_in_threads) {
    const regex pattern(R"(\p{L}+)");
    std::vector<std::size_t> counts(4);
    std::vector<std::thread> threads;
    for (auto& count : counts) {
        threads.emplace_back([&count, copy = pattern] {
            for (int i = 0; i < 200; ++i) count += matches(copy, "one two three").size();
        });
    }
    for (auto& thread : threads) thread.join();
    for (const auto count : counts) BOOST_TEST(count == 600u);
}

BOOST_AUTO_TEST_SUITE_END()
