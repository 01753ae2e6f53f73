// What the blocks of docs/prove_your_criterion.md need around them: a test of somebody's own, with Boost.Test.
#define BOOST_TEST_MODULE prove_your_criterion
#include <augur/augur.hpp>
#include <augur/testing.hpp>
#include <boost/test/unit_test.hpp>

// block 1

BOOST_AUTO_TEST_CASE(by_name) {
    // block 2
    BOOST_TEST(right.kept(), right);
}

// block 3

using augur::distribution;

struct careful_inside : careful {
    // block 4
};

/// Draws with the noise of the position, as plain sampling does.
struct without_coins : augur::accept::coupled {
    // block 5
};

BOOST_AUTO_TEST_CASE(inside_a_cascade) {
    using augur::scheme::model_link;
    namespace testing = augur::testing;
    const auto small = testing::hashed_model(2, 1), middle = testing::hashed_model(2, 2),
               large = testing::hashed_model(2, 3);
    const augur::policy::fixed_length two{2};
    const model_link last{two, augur::accept::rejection_sampling{}};
    augur::decode::options chosen;
    chosen.stop.max_tokens = 2;
    const std::vector<augur::token> prompt{0, 1};
    const auto check = [&](const auto& scheme) { BOOST_TEST(testing::broken_promise(scheme, prompt, chosen) == ""); };
    check(augur::cascaded(small, model_link{two, careful_inside{}}, middle, last, large));
    check(augur::cascaded(small, model_link{two, without_coins{}}, middle, last, large));
}
