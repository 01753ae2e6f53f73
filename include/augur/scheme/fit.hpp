#pragma once
// Whether a drafter, a policy and a criterion fit together: one sentence where they do not.

#include "augur/accept/concept.hpp"
#include "augur/draft/concept.hpp"
#include "augur/policy/concept.hpp"
#include "augur/types/error.hpp"
#include "augur/types/plan.hpp"

namespace augur::detail {

template <class D, class Policy, class Criterion>
struct fit_together {
    static_assert(optional_members_of_drafter<D>::fit && optional_members_of_policy<Policy>::fit &&
                  optional_members_of_criterion<Criterion>::fit);
    static_assert(
        shows_rows<D> || !includes(required_signals<Policy>, signals::draft_entropy | signals::draft_confidence),
        "augur::speculate: this policy looks at the draft's rows, but this drafter has none; use a draft model, or "
        "a policy on the target's entropy (policy::target_entropy_bins)");
    static_assert(
        shows_matches<D> || !includes(required_signals<Policy>, signals::match_length),
        "augur::speculate: this policy looks at how long the draft's matches are, but this drafter matches nothing; "
        "use draft::prompt_lookup, or another policy");
    static_assert(
        !drafts_trees<D, Policy> || !ReturnsVerdict<Criterion, typename D::draft_distribution_type> ||
            JudgesTrees<Criterion, typename D::draft_distribution_type>,
        "augur::speculate: this drafter branches under this policy (its proposals are trees), but this criterion "
        "judges whole chains (judge_block); use one that judges token by token, as accept::rejection_sampling, or "
        "whole trees, as accept::traversal; or a policy of lengths");
    static_assert(shape_of<Policy> != draft_shape::tree || drafts_trees<D, Policy>,
                  "augur::speculate: this policy plans trees, but this drafter proposes chains alone; use a drafter "
                  "that fills trees (draft::draft_model, draft::eagle, draft::heads, draft::prompt_lookup), or a "
                  "policy of lengths");
    static_assert(shape_of<Policy> != draft_shape::grown_tree || grows<D>,
                  "augur::speculate: this policy plans trees that grow by value, but this drafter grows none; use "
                  "draft::draft_model or draft::eagle by draft::argmax, or another policy");
    static constexpr bool done = true;
};

/// Refuses a target whose hidden states are of another size than the drafter reads, if it says which.
template <class D, class Target>
void check_hidden_size(const D& drafter, const Target& target) {
    if constexpr (ReadsStates<D> && requires { drafter.hidden_size(); }) {
        if (drafter.hidden_size() != target.hidden_size()) {
            fail("the drafter reads hidden states of ", drafter.hidden_size(), " numbers, but the target's have ",
                 target.hidden_size());
        }
    }
}

}  // namespace augur::detail
