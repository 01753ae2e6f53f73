#include "augur/policy/fixed_length.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <sstream>

namespace augur::policy {
static_assert(SpeculationPolicy<fixed_length>);
}  // namespace augur::policy

using namespace augur;

BOOST_AUTO_TEST_SUITE(policy_fixed_length)

static_assert(!LearnsFromOutcomes<policy::fixed_length>);
static_assert(required_signals<policy::fixed_length> == signals::none);
static_assert(policy::fixed_length{3}.length({}) == 3);

BOOST_AUTO_TEST_CASE(nothing_moves_it) {
    const policy::fixed_length policy{5};
    observation seen;
    seen.draft_entropy_nats = std::numeric_limits<double>::infinity();
    seen.drafted = 4;
    BOOST_TEST(policy.length(seen) == 5u);
}

BOOST_AUTO_TEST_CASE(prints_and_compares) {
    std::ostringstream out;
    out << policy::fixed_length{6};
    BOOST_TEST(out.str() == "fixed_length{.tokens=6}");
    BOOST_TEST((policy::fixed_length{6} == policy::fixed_length{6}));
    BOOST_TEST((policy::fixed_length{6} != policy::fixed_length{5}));
}

BOOST_AUTO_TEST_SUITE_END()
