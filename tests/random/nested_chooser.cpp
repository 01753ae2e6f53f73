#include "augur/random/nested_chooser.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

BOOST_AUTO_TEST_SUITE(random_nested_chooser)

using namespace augur;

BOOST_AUTO_TEST_CASE(every_level_has_numbers_of_its_own_and_shares_the_races) {
    random::philox_chooser outer(5);
    nested_chooser<random::philox_chooser> inner(outer);
    nested_chooser<nested_chooser<random::philox_chooser>> innermost(inner);
    const auto row = distribution::weighted({3, 2, 4, 1, 5});
    std::size_t outer_agrees = 0, inner_agrees = 0;
    for (std::size_t position = 0; position < 200; ++position) {
        BOOST_TEST(inner.exponential_race(row, position) == outer.exponential_race(row, position));
        BOOST_TEST(innermost.exponential_race(row, position) == outer.exponential_race(row, position));
        const draw_key key{position, purpose::draft, 3};
        const bool flipped = inner.flip(0.5, key);
        outer_agrees += outer.flip(0.5, key) == flipped ? 1 : 0;
        inner_agrees += innermost.flip(0.5, key) == flipped ? 1 : 0;
        BOOST_TEST(inner.choose(row, key) == inner.choose(row, key));
    }
    for (const std::size_t agrees : {outer_agrees, inner_agrees}) {  // half of 200, seven deviations either way
        BOOST_TEST(agrees > 50u);
        BOOST_TEST(agrees < 150u);
    }
}

BOOST_AUTO_TEST_CASE(places_in_a_tree_are_passed_on) {
    const random::philox_chooser outer(5);
    random::philox_chooser copy = outer;
    nested_chooser<random::philox_chooser> inner(copy);
    const auto row = distribution::weighted(std::vector<float>(1000, 1.0f));
    for (std::size_t node = 0; node < 3; ++node) {
        for (std::size_t sibling = 0; sibling < 3; ++sibling) {
            const draw_key asked{4, purpose::draft, 3, node, sibling};
            const draw_key named{4, static_cast<purpose>(5), 3, node, sibling};
            BOOST_TEST(inner.choose(row, asked) == outer.choose(row, named));
        }
    }
}

BOOST_AUTO_TEST_CASE(rounds_of_many_levels_do_not_wrap) {
    // Five models: a round of the innermost stage is one of 64 in one of 64 in one of 64 of the target's.
    const std::size_t far = std::size_t{1} << 32;
    const auto words = [](std::size_t round, purpose why) { return random::counter_of({7, why, round}, 0); };
    BOOST_TEST((words(3, purpose::draft) != words(3 + far, purpose::draft)));
    BOOST_TEST((words(3, purpose::draft) != words(3 + 2 * far, purpose::draft)));
    BOOST_TEST((words(far, purpose::exponential_race) != words(0, purpose::draft)));
    BOOST_TEST((words(3, purpose::draft) == random::philox_counter{0, 1, 7, 3}));  // as before where they are few
}

BOOST_AUTO_TEST_SUITE_END()
