#include <augur/io/text/merge_table.hpp>
#include <boost/test/unit_test.hpp>
#include <vector>

BOOST_AUTO_TEST_SUITE(io_merge_table)

using namespace augur;
using namespace augur::io;

BOOST_AUTO_TEST_CASE(earlier_merges_are_more_urgent) {
    const merge_table table({{1, 2, 3}, {2, 1, 4}});
    const auto first = table.find(1, 2);
    const auto second = table.find(2, 1);
    BOOST_REQUIRE(first);
    BOOST_REQUIRE(second);
    BOOST_TEST(first->result == 3);
    BOOST_TEST(second->result == 4);
    BOOST_TEST(first->priority > second->priority);
}

BOOST_AUTO_TEST_CASE(what_is_not_listed_is_not_found) {
    const merge_table table({{1, 2, 3}});
    BOOST_TEST(!table.find(2, 2).has_value());
    BOOST_TEST(!table.find(no_token, 2).has_value());
    BOOST_TEST(!table.find(1, no_token).has_value());
    BOOST_TEST(!merge_table({}).find(0, 0).has_value());
}

BOOST_AUTO_TEST_CASE(a_pair_listed_twice_keeps_its_first_place) {
    const merge_table table({{1, 2, 3}, {5, 6, 7}, {1, 2, 9}});
    BOOST_TEST(table.find(1, 2)->result == 3);
    BOOST_TEST(table.find(1, 2)->priority > table.find(5, 6)->priority);
}

BOOST_AUTO_TEST_SUITE_END()
