#include "augur/testing/asked_name.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>
#include <string>

using namespace augur;
using testing::asked_name;

BOOST_AUTO_TEST_SUITE(testing_asked_name)

constexpr draw_key name{7, purpose::accept, 3};

template <class T>
std::string printed(const T& value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

BOOST_AUTO_TEST_CASE(names_and_questions_print) {
    BOOST_TEST(printed(testing::described_key{name}) == "position 7, node 0, sibling 0, purpose accept, round 3");
    const draw_key nested{1, static_cast<purpose>(static_cast<std::uint32_t>(purpose::correction) + 8), 64};
    BOOST_TEST(printed(testing::described_key{nested}) ==
               "position 1, node 0, sibling 0, purpose correction of level 2, round 64");
    BOOST_TEST(printed(asked_name::choice(name, 5)) == "choose among 5 weights");
    BOOST_TEST(printed(asked_name::coin(name, 0.25)) == "flip(0.25)");
    BOOST_TEST(printed(asked_name::exponential_race(2, 5)) == "race among 5 weights");
}

BOOST_AUTO_TEST_CASE(equal_names_are_one_number_whatever_the_question) {
    const auto coin = asked_name::coin(name, 0.5);
    const auto choice = asked_name::choice(name, 3);
    BOOST_TEST(coin.shares_number_with(coin));
    BOOST_TEST(coin.shares_number_with(choice));
    BOOST_TEST(!coin.shares_number_with(asked_name::coin({7, purpose::accept, 4}, 0.5)));
    BOOST_TEST(!coin.shares_number_with(asked_name::coin({8, purpose::accept, 3}, 0.5)));
    BOOST_TEST(!coin.shares_number_with(asked_name::coin({7, purpose::draft, 3}, 0.5)));
}

BOOST_AUTO_TEST_CASE(names_that_the_generator_cannot_distinguish_are_one) {
    const draw_key far{name.position + (std::size_t{1} << 32), name.why, name.round};
    BOOST_TEST(asked_name::coin(name, 0.5).shares_number_with(asked_name::coin(far, 0.5)));
}

BOOST_AUTO_TEST_CASE(only_races_share_a_number_on_purpose) {
    const auto race = asked_name::exponential_race(7, 3);
    BOOST_TEST(!race.shares_number_with(asked_name::exponential_race(7, 3)));
    BOOST_TEST(race.shares_number_with(asked_name::choice({7, purpose::exponential_race, 0}, 3)));
    BOOST_TEST(asked_name::choice({7, purpose::exponential_race, 0}, 3).shares_number_with(race));
    BOOST_TEST(!race.shares_number_with(asked_name::choice({8, purpose::exponential_race, 0}, 3)));
}

BOOST_AUTO_TEST_SUITE_END()
