#include "augur/types/statistics.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <random>

using namespace augur;

BOOST_AUTO_TEST_SUITE(types_statistics)

BOOST_AUTO_TEST_CASE(sums_over_positions_are_the_totals) {
    std::mt19937 random(1);
    stage_statistics stage;
    std::size_t drafted = 0;
    std::size_t accepted = 0;
    for (std::size_t round = 1; round <= 200; ++round) {
        const std::size_t here = random() % 7;
        const std::size_t stood = random() % (here + 1);
        stage.add(here, stood);
        drafted += here;
        accepted += stood;
        BOOST_TEST(stage.rounds == round);
        BOOST_TEST(stage.drafted == drafted);
        BOOST_TEST(stage.accepted == accepted);
        std::size_t by_position[2] = {};
        for (std::size_t i = 0; i < stage.positions.size(); ++i) {
            by_position[0] += stage.positions[i].drafted;
            by_position[1] += stage.positions[i].accepted;
            BOOST_TEST(stage.positions[i].accepted <= stage.positions[i].drafted);
            if (i > 0) BOOST_TEST(stage.positions[i].drafted <= stage.positions[i - 1].drafted);
            if (i > 0) BOOST_TEST(stage.positions[i].accepted <= stage.positions[i - 1].accepted);
        }
        BOOST_TEST(by_position[0] == drafted);
        BOOST_TEST(by_position[1] == accepted);
    }
    BOOST_TEST(stage.positions.size() == 6u);
    BOOST_TEST(stage.acceptance() == static_cast<double>(accepted) / static_cast<double>(drafted));
}

BOOST_AUTO_TEST_CASE(positions_tell_where_rejection_begins) {
    stage_statistics stage;
    stage.add(3, 1);
    stage.add(2, 2);
    BOOST_TEST_REQUIRE(stage.positions.size() == 3u);
    const std::size_t drafted[] = {2, 2, 1};
    const std::size_t accepted[] = {2, 1, 0};
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(stage.positions[i].drafted == drafted[i]);
        BOOST_TEST(stage.positions[i].accepted == accepted[i]);
    }
    BOOST_TEST(stage.acceptance() == 0.6);
}

BOOST_AUTO_TEST_CASE(committed_tokens_are_the_sum_of_their_origins) {
    statistics counts;
    counts.origins[static_cast<std::size_t>(origin::accepted)] = 5;
    counts.origins[static_cast<std::size_t>(origin::correction)] = 2;
    counts.origins[static_cast<std::size_t>(origin::bonus)] = 3;
    counts.origins[static_cast<std::size_t>(origin::plain)] = 1;
    counts.stages.back().rounds = 4;
    BOOST_TEST(counts.count(origin::bonus) == 3u);
    BOOST_TEST(counts.committed() == 11u);
    BOOST_TEST(counts.accepted_length() == 2.75);
}

BOOST_AUTO_TEST_CASE(the_target_is_the_last_stage) {
    statistics counts;
    counts.stages.resize(2);
    counts.stages[0].add(4, 1);
    counts.stages[1].add(2, 2);
    counts.stages[1].add(2, 1);
    BOOST_TEST(counts.rounds() == 2u);
    BOOST_TEST(counts.acceptance() == 0.75);
}

BOOST_AUTO_TEST_CASE(nothing_done_is_no_division_by_zero) {
    const statistics counts;
    BOOST_TEST(counts.committed() == 0u);
    BOOST_TEST(counts.rounds() == 0u);
    BOOST_TEST(counts.acceptance() == 0);
    BOOST_TEST(counts.accepted_length() == 0);
    BOOST_TEST(counts.seconds.total() == 0);
}

BOOST_AUTO_TEST_CASE(seconds_add_up_by_activity) {
    time_spent spent{1, 2, 4, 8, 16};
    spent += time_spent{32, 64, 128, 256, 512};
    BOOST_TEST(spent.prefill == 33);
    BOOST_TEST(spent.draft == 66);
    BOOST_TEST(spent.verify == 132);
    BOOST_TEST(spent.accept == 264);
    BOOST_TEST(spent.other == 528);
    BOOST_TEST(spent.total() == 1023);
    BOOST_TEST(spent.decoding() == 990);
}

BOOST_AUTO_TEST_SUITE_END()
