#include "augur/types/statistics.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <random>

using namespace augur;

BOOST_AUTO_TEST_SUITE(types_statistics)

BOOST_AUTO_TEST_CASE(sums_over_positions_are_the_totals) {
    std::mt19937 random(1);
    stage_statistics made;
    std::size_t drafted = 0;
    std::size_t accepted = 0;
    for (std::size_t round = 1; round <= 200; ++round) {
        const std::size_t here = random() % 7;
        const std::size_t stood = random() % (here + 1);
        made.add(here, stood);
        drafted += here;
        accepted += stood;
        BOOST_TEST(made.rounds == round);
        BOOST_TEST(made.drafted == drafted);
        BOOST_TEST(made.accepted == accepted);
        std::size_t by_position[2] = {};
        for (std::size_t i = 0; i < made.positions.size(); ++i) {
            by_position[0] += made.positions[i].drafted;
            by_position[1] += made.positions[i].accepted;
            BOOST_TEST(made.positions[i].accepted <= made.positions[i].drafted);
            if (i > 0) BOOST_TEST(made.positions[i].drafted <= made.positions[i - 1].drafted);
            if (i > 0) BOOST_TEST(made.positions[i].accepted <= made.positions[i - 1].accepted);
        }
        BOOST_TEST(by_position[0] == drafted);
        BOOST_TEST(by_position[1] == accepted);
    }
    BOOST_TEST(made.positions.size() == 6u);
    BOOST_TEST(made.acceptance() == static_cast<double>(accepted) / static_cast<double>(drafted));
}

BOOST_AUTO_TEST_CASE(positions_tell_where_rejection_begins) {
    stage_statistics made;
    made.add(3, 1);
    made.add(2, 2);
    BOOST_TEST_REQUIRE(made.positions.size() == 3u);
    const std::size_t drafted[] = {2, 2, 1};
    const std::size_t accepted[] = {2, 1, 0};
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(made.positions[i].drafted == drafted[i]);
        BOOST_TEST(made.positions[i].accepted == accepted[i]);
    }
    BOOST_TEST(made.acceptance() == 0.6);
}

BOOST_AUTO_TEST_CASE(committed_tokens_are_the_sum_of_their_origins) {
    statistics made;
    made.origins[static_cast<std::size_t>(origin::accepted)] = 5;
    made.origins[static_cast<std::size_t>(origin::correction)] = 2;
    made.origins[static_cast<std::size_t>(origin::bonus)] = 3;
    made.origins[static_cast<std::size_t>(origin::plain)] = 1;
    made.stages.back().rounds = 4;
    BOOST_TEST(made.count(origin::bonus) == 3u);
    BOOST_TEST(made.committed() == 11u);
    BOOST_TEST(made.accepted_length() == 2.75);
}

BOOST_AUTO_TEST_CASE(the_target_is_the_last_stage) {
    statistics made;
    made.stages.resize(2);
    made.stages[0].add(4, 1);
    made.stages[1].add(2, 2);
    made.stages[1].add(2, 1);
    BOOST_TEST(made.rounds() == 2u);
    BOOST_TEST(made.acceptance() == 0.75);
}

BOOST_AUTO_TEST_CASE(nothing_done_is_no_division_by_zero) {
    const statistics made;
    BOOST_TEST(made.committed() == 0u);
    BOOST_TEST(made.rounds() == 0u);
    BOOST_TEST(made.acceptance() == 0);
    BOOST_TEST(made.accepted_length() == 0);
    BOOST_TEST(made.seconds.total() == 0);
}

BOOST_AUTO_TEST_CASE(seconds_add_up_by_activity) {
    time_spent made{1, 2, 4, 8, 16};
    made += time_spent{32, 64, 128, 256, 512};
    BOOST_TEST(made.prefill == 33);
    BOOST_TEST(made.draft == 66);
    BOOST_TEST(made.verify == 132);
    BOOST_TEST(made.accept == 264);
    BOOST_TEST(made.other == 528);
    BOOST_TEST(made.total() == 1023);
    BOOST_TEST(made.decoding() == 990);
}

BOOST_AUTO_TEST_SUITE_END()
