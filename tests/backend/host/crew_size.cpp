#include "augur/backend/host/crew_size.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cstddef>

BOOST_AUTO_TEST_SUITE(backend_crew_size)

using augur::backend::host::crew_size;
using std::chrono::microseconds;

/// Loops of 8 chunks one after another, on a clock of their own.
struct loops {
    crew_size crew;
    crew_size::time now{};

    /// So many loops, the calling thread working for a part of each; how many of them had `threads`.
    int run(int count, microseconds worked, microseconds took, std::size_t own, std::size_t threads) {
        int of_these = 0;
        for (int i = 0; i < count; ++i) {
            if (crew.at(now) == threads) ++of_these;
            crew.add(now, now + worked, now + took, own, 8);
            now += took;
        }
        return of_these;
    }
};

BOOST_AUTO_TEST_CASE(threads_that_share_the_work_stay) {
    loops two{crew_size(2)};
    BOOST_TEST(two.run(1000, microseconds(95), microseconds(100), 4, 2) == 1000);
    // The other thread brings a quarter more than nothing: 8 chunks in 100 microseconds, where one alone takes 125.
    BOOST_TEST(two.run(1000, microseconds(98), microseconds(100), 6, 2) == 1000);
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_waited_for_rests_and_is_tried_again) {
    loops two{crew_size(2)};
    // 7 of 8 chunks in 70 microseconds, then 100 more for the last: one thread alone takes 80.
    const auto slow = [&](int count) { return two.run(count, microseconds(70), microseconds(170), 7, 2); };
    BOOST_TEST(slow(117) == 117);  // 19.9 milliseconds: one window, and not yet the second
    BOOST_TEST(slow(2) == 1);      // now it is
    const auto alone = [&](int count) { return two.run(count, microseconds(80), microseconds(80), 8, 1); };
    BOOST_TEST(alone(248) == 248);  // 20 milliseconds of rest
    two.now += microseconds(500);
    BOOST_TEST(slow(60) == 59);  // tried for one window
    two.now += crew_size::first_rest;
    BOOST_TEST(alone(240) == 240);  // and at rest for 40
    two.now += crew_size::first_rest;
    BOOST_TEST(two.run(1000, microseconds(45), microseconds(50), 4, 2) == 1000);  // until it pays
    BOOST_TEST(slow(119) == 118);  // then two windows and 20 milliseconds, as at first
}

BOOST_AUTO_TEST_CASE(no_rest_is_longer_than_the_last) {
    loops two{crew_size(2)};
    crew_size::clock::duration longest{};
    for (int trial = 0; trial < 20; ++trial) {
        two.run(130, microseconds(70), microseconds(170), 7, 2);
        const auto from = two.now;
        while (two.crew.at(two.now) == 1) two.now += microseconds(100);
        longest = std::max(longest, two.now - from);
    }
    BOOST_TEST((longest <= crew_size::last_rest));
    BOOST_TEST((longest > crew_size::last_rest / 2));
}

BOOST_AUTO_TEST_CASE(of_many_threads_as_many_work_as_there_were_in_effect) {
    loops eight{crew_size(8)};
    // One alone takes 80 microseconds, all took 25: 3.2 threads in effect.
    BOOST_TEST(eight.run(900, microseconds(20), microseconds(25), 2, 8) == 800);
    BOOST_TEST(eight.crew.at(eight.now) == 4);
    loops most{crew_size(8)};
    BOOST_TEST(most.run(5000, microseconds(10), microseconds(12), 1, 8) == 5000);  // 6.7 in effect
}

BOOST_AUTO_TEST_CASE(loops_that_others_ran_say_nothing) {
    loops two{crew_size(2)};
    BOOST_TEST(two.run(10000, microseconds(0), microseconds(100), 0, 2) == 10000);
}

BOOST_AUTO_TEST_SUITE_END()
