#include "augur/draft/suffix_memory.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <sstream>
#include <string>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_suffix_memory)

using ids = std::vector<token>;
using draft::suffix_automaton;
using draft::suffix_memory;

BOOST_AUTO_TEST_CASE(a_memory_knows_between_half_and_all_of_the_latest_tokens) {
    suffix_memory memory(10'000, 100, 8);
    suffix_memory::cursor text;
    ids all;
    for (token t = 0; t < 1000; ++t) all.push_back(t);
    memory.read(text, all);
    BOOST_TEST(memory.tokens() == 100U);
    const auto known = [&](token t) {
        return std::ranges::any_of(memory.ages(), [&](const suffix_automaton& each) {
            return each.after(suffix_automaton::root, t) != suffix_automaton::none;
        });
    };
    for (token t = 0; t < 1000; ++t) BOOST_TEST(known(t) == (t >= 900));
    memory.read(text, ids{5});
    BOOST_TEST(memory.tokens() == 51U);
    BOOST_TEST(known(949) == false);
    BOOST_TEST(known(950));
    BOOST_TEST(known(5));
    const std::size_t taken = memory.memory_bytes();
    memory.read(ids(10'000, 7));
    BOOST_TEST(memory.memory_bytes() <= 2 * taken);
}

/// What a watcher has read is not read again, and a memory that was searched in between changes nothing.
BOOST_AUTO_TEST_CASE(a_text_in_parts_is_read_as_the_whole) {
    const ids text{1, 2, 3, 1, 2, 4, 1, 2};
    suffix_memory whole(5), parts(5);
    whole.read(text);
    draft::suffix_watcher learns(parts);
    for (const std::size_t n : {1U, 1U, 4U, 8U, 8U}) learns.read(std::span(text).first(n));
    BOOST_TEST(parts.tokens() == text.size());
    const auto count_of_both = [](const suffix_memory& of) {
        const suffix_automaton& young = of.ages()[0];
        return young.count(young.after(young.after(suffix_automaton::root, 1), 2));
    };
    BOOST_TEST(count_of_both(whole) == 3U);
    BOOST_TEST(count_of_both(parts) == 3U);
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_its_values) {
    const auto says = [](const char* what) { return [what](const error& e) { return e.what() == std::string(what); }; };
    BOOST_CHECK_EXCEPTION(suffix_memory(10, 100, 0), error,
                          says("suffix_memory: longest is 0; it must be between 1 and 1024"));
    BOOST_CHECK_EXCEPTION(suffix_memory(10, 1), error,
                          says("suffix_memory: most_tokens is 1; it must be between 2 and 2147483648"));
    suffix_memory memory(10, 100, 4);
    BOOST_CHECK_EXCEPTION(memory.read(ids{1, 10}), error,
                          says("suffix_memory: a text holds token 10, but the vocabulary has 10"));
    BOOST_CHECK_EXCEPTION(memory.read(ids{1, -1}), error,
                          says("suffix_memory: a text holds token -1, but the vocabulary has 10"));
    BOOST_TEST(memory.tokens() == 0U);
    std::ostringstream out;
    out << memory;
    BOOST_TEST(out.str() == "suffix_memory{.most_tokens=100, .longest=4}");
}

BOOST_AUTO_TEST_SUITE_END()
