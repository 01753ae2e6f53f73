#include "augur/testing/choices.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>

using namespace augur;
using testing::choices;

BOOST_AUTO_TEST_SUITE(testing_choices)

BOOST_AUTO_TEST_CASE(equal_seeds_make_equal_inputs_and_others_do_not) {
    BOOST_TEST((choices(1).tokens(20, 20, 100) == choices(1).tokens(20, 20, 100)));
    BOOST_TEST((choices(1).tokens(20, 20, 100) != choices(2).tokens(20, 20, 100)));
}

BOOST_AUTO_TEST_CASE(every_number_below_the_bound_occurs) {
    choices drawn(7);
    std::vector<int> seen(5);
    for (int i = 0; i < 200; ++i) ++seen.at(drawn.below(5));
    for (int count : seen) BOOST_TEST(count > 10);
    for (int i = 0; i < 50; ++i) {
        const auto n = drawn.between(3, 4);
        BOOST_TEST((n == 3 || n == 4));
    }
}

BOOST_AUTO_TEST_CASE(a_replay_makes_the_same_input) {
    choices drawn(3);
    const auto tokens = drawn.tokens(0, 9, 50);
    choices again(drawn.made());
    BOOST_TEST(again.tokens(0, 9, 50) == tokens);
}

BOOST_AUTO_TEST_CASE(a_replay_goes_on_with_zeros_and_stays_below_bounds) {
    choices replayed(std::vector<std::size_t>{9, 1});
    BOOST_TEST(replayed.below(4) == 3u);
    BOOST_TEST(replayed.one_of({'a', 'b', 'c'}) == 'b');
    BOOST_TEST(replayed.below(4) == 0u);
    BOOST_TEST((replayed.made() == std::vector<std::size_t>{3, 1, 0}));
}

BOOST_AUTO_TEST_CASE(shrinking_finds_the_smallest_failing_input) {
    const auto too_large = [](choices& from) {
        const auto tokens = from.tokens(0, 30, 1000);
        return std::any_of(tokens.begin(), tokens.end(), [](token t) { return t >= 137; });
    };
    choices drawn(5);
    BOOST_TEST(too_large(drawn));
    choices smallest(testing::shrink(drawn.made(), 2000, too_large));
    BOOST_TEST((smallest.tokens(0, 30, 1000) == std::vector<token>{137}));
}

BOOST_AUTO_TEST_CASE(shrinking_keeps_to_its_attempts) {
    std::size_t calls = 0;
    const auto counted = [&](choices&) {
        ++calls;
        return false;
    };
    BOOST_TEST((testing::shrink({5, 5, 5}, 4, counted) == std::vector<std::size_t>{5, 5, 5}));
    BOOST_TEST(calls == 4u);
    BOOST_TEST(testing::shrink({}, 10, [](choices&) { return true; }).empty());
}

BOOST_AUTO_TEST_SUITE_END()
