#include "augur/round/allotment.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(round_allotment)

using namespace augur;

BOOST_AUTO_TEST_CASE(as_many_are_granted_as_are_asked_for_and_there_are) {
    proposal<point_mass> chain;
    for (const token t : {3, 1, 2}) chain.push(t);
    const observation seen{};
    rounds::allotment stop(chain, seen, false);
    BOOST_TEST(stop.size() == 3u);
    stop.grant(1);
    BOOST_TEST(stop.await_resume() == 1u);
    stop.grant(9);
    BOOST_TEST(stop.await_resume() == 3u);
    BOOST_TEST(&stop.seen() == &seen);
}

BOOST_AUTO_TEST_CASE(it_is_told_from_other_work) {
    const proposal<point_mass> chain;
    const observation seen{};
    rounds::allotment stop(chain, seen, false);
    BOOST_TEST(rounds::allotment::of(&stop) == &stop);
    BOOST_TEST(rounds::allotment::of(nullptr) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
