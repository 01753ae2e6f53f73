#include "augur/draft/exit_rows.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

BOOST_AUTO_TEST_SUITE(draft_exit_rows)
using namespace augur;

BOOST_AUTO_TEST_CASE(states_of_a_round_are_kept_in_order_and_those_before_it_dropped) {
    draft::exit_rows rows;
    const std::vector<float> a{1, 2}, b{3, 4};
    rows.begin(5);
    BOOST_TEST(rows.of(5).empty());
    rows.push(a);
    const auto copy = rows.push(b);
    BOOST_TEST(std::vector<float>(copy.begin(), copy.end()) == b, boost::test_tools::per_element());
    const auto both = rows.of(5);
    BOOST_TEST(std::vector<float>(both.begin(), both.end()) == std::vector<float>({1, 2, 3, 4}),
               boost::test_tools::per_element());
    for (const std::size_t other : {0U, 4U, 6U}) BOOST_TEST(rows.of(other).empty());
    rows.begin(6);
    BOOST_TEST(rows.of(5).empty());
    BOOST_TEST(rows.of(6).empty());
}

BOOST_AUTO_TEST_SUITE_END()
