// What the blocks of docs/prove_your_criterion.md need around them: a test of somebody's own, with Boost.Test.
#define BOOST_TEST_MODULE prove_your_criterion
#include <augur/augur.hpp>
#include <boost/test/unit_test.hpp>

// block 1

BOOST_AUTO_TEST_CASE(by_name) {
    // block 2
    BOOST_TEST(right.kept(), right);
}

// block 3
