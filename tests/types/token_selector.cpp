#include "augur/types/token_selector.hpp"

#include <augur/testing/enumerate.hpp>
#include <boost/test/unit_test.hpp>

using namespace augur;

BOOST_AUTO_TEST_SUITE(types_token_selector)

static_assert(std::is_same_v<draft::argmax::draft_distribution_type, point_mass>);
static_assert(std::is_same_v<draft::argmax_with_row::draft_distribution_type, mode_of_row>);
static_assert(std::is_same_v<draft::sampled::draft_distribution_type, distribution>);
static_assert(std::is_same_v<draft::shared_noise::draft_distribution_type, point_mass>);

BOOST_AUTO_TEST_CASE(argmax_takes_the_first_largest) {
    random::philox_chooser chooser(0);
    position_draws draws(chooser, 0, 0);
    BOOST_TEST(draft::argmax{}.pick(distribution::weighted({1, 3, 3}), draws) == 1);
    BOOST_TEST(draft::argmax_with_row{}.pick(distribution::weighted({1, 3, 3}), draws) == 1);
}

BOOST_AUTO_TEST_CASE(sampled_has_the_law_of_the_row) {
    const auto row = distribution::weighted({1, 0, 3});
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        position_draws draws(chooser, 0, 0);
        return std::vector<token>{draft::sampled{}.pick(row, draws)};
    });
    BOOST_TEST(law.probability.size() == 2u);
    BOOST_TEST(law.probability.at({0}) == 0.25);
    BOOST_TEST(law.probability.at({2}) == 0.75);
}

BOOST_AUTO_TEST_CASE(shared_noise_depends_on_the_position_and_nothing_else) {
    const auto row = distribution::weighted({1, 2, 3, 4, 5, 6, 7, 8});
    random::philox_chooser chooser(3);
    for (std::size_t position = 0; position < 50; ++position) {
        position_draws early(chooser, position, 0);
        position_draws late(chooser, position, 17);
        BOOST_TEST(draft::shared_noise{}.pick(row, early) == draft::shared_noise{}.pick(row, late));
        BOOST_TEST(draft::shared_noise{}.pick(row, early) ==
                   static_cast<token>(chooser.exponential_race(row, position)));
    }
}

BOOST_AUTO_TEST_SUITE_END()
