#include "augur/scheme/fit.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

#include "accept/bush.hpp"

BOOST_AUTO_TEST_SUITE(scheme_fit)

using namespace augur;

namespace {

template <class D, class Policy, class Criterion>
inline constexpr bool fit = detail::fit_together<D, Policy, Criterion>::done;

using drawing = draft::draft_model<const testing::function_model&, draft::sampled>;
using tree = testing::bush<draft::sampled>;

}  // namespace

/// What fits compiles; what does not is refused in one sentence: compile_fail.policy_of_trees_with_a_drafter_of_chains,
/// policy_of_grown_trees_with_a_drafter_of_chains, policy_needs_rows_that_lookup_has_not,
/// policy_needs_matches_that_a_model_has_not, speculate_trees_for_whole_chains, and link_ for stages.
static_assert(fit<drawing, policy::fixed_length, accept::rejection_sampling>);
static_assert(fit<drawing, policy::entropy_bins, accept::block>);
static_assert(fit<draft::prompt_lookup<>, policy::fixed_length, accept::rejection_sampling>);
static_assert(fit<tree, policy::fixed_length, accept::rejection_sampling>);
static_assert(fit<tree, policy::fixed_length, accept::traversal>);

/// A stage asks the same of its parts as the last link.
BOOST_AUTO_TEST_CASE(a_policy_may_plan_less_than_a_drafter_can) {
    BOOST_TEST((shape_of<policy::fixed_length> == draft_shape::chain && branches<tree>));
    BOOST_TEST(!branches<drawing>);
}

BOOST_AUTO_TEST_SUITE_END()
