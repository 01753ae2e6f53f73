#include "augur/policy/tree_static.hpp"

#include <augur/testing/policy_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <sstream>

using namespace augur;

static_assert(SpeculationPolicy<policy::tree_static> && shape_of<policy::tree_static> == draft_shape::tree);
static_assert(!LearnsFromOutcomes<policy::tree_static> && required_signals<policy::tree_static> == signals::none);

BOOST_AUTO_TEST_SUITE(policy_tree_static)

const topology tree{-1, -1, 0, 0, 1};

BOOST_AUTO_TEST_CASE(nothing_moves_it) {
    const policy::tree_static policy(tree);
    observation seen;
    BOOST_TEST((*policy.plan(seen).tree == tree));
    seen.draft_entropy_nats = std::numeric_limits<double>::infinity();
    seen.round = 7;
    BOOST_TEST((*policy.plan(seen).tree == tree));
    BOOST_TEST((*policy::tree_static().plan(seen).tree == topology()));
}

BOOST_AUTO_TEST_CASE(the_laws_of_policies_hold) {
    for (const topology& shape : {tree, topology(), topology::chain(3)}) {
        const auto r = testing::policy_laws(policy::tree_static(shape));
        BOOST_TEST(r.kept(), r);
    }
}

BOOST_AUTO_TEST_CASE(prints_and_compares) {
    std::ostringstream out;
    out << policy::tree_static(tree);
    BOOST_TEST(out.str() == "tree_static{5 nodes, depth 2}");
    BOOST_TEST((policy::tree_static(tree) == policy::tree_static(tree)));
    BOOST_TEST((policy::tree_static(tree) != policy::tree_static(topology{-1})));
}

BOOST_AUTO_TEST_SUITE_END()
