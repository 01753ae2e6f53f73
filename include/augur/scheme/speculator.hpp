#pragma once
// The speculator: composes drafter, target, policy and criterion to a decoding scheme.

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "augur/accept/concept.hpp"
#include "augur/accept/coupled.hpp"
#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/draft/calls.hpp"
#include "augur/draft/named.hpp"
#include "augur/draft/no_draft.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/scheme/fit.hpp"
#include "augur/scheme/stage.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token_selector.hpp"

namespace augur {

namespace detail {
template <class Criterion>
struct token_selector_for : std::type_identity<draft::argmax> {};
template <class Criterion>
requires requires {
    typename Criterion::token_selector;
}
struct token_selector_for<Criterion> : std::type_identity<typename Criterion::token_selector> {};

/// What a criterion promises, unless it would rest on rows that tokens were not drawn from (scheme/stage.hpp).
template <class D, class Criterion>
struct promise_on : std::type_identity<typename Criterion::guarantee> {};
template <class D, class Criterion>
requires requires {
    requires !D::proposes_what_it_drew;
}
struct promise_on<D, Criterion> : std::type_identity<guarantee::none> {};

/// The drafter for what a user names, drawing as the criterion asks where nobody else says how.
template <class Criterion, class Named>
auto drafter_for(Named&& named) {
    return draft::drafter_of<typename token_selector_for<Criterion>::type>(std::forward<Named>(named));
}
}  // namespace detail

/// One stage: `DrafterType` proposes, `Target` (by value, or `M&` by reference) verifies. Immutable; sessions hold all
/// state. A model that it keeps does not move when it does: while sessions live it may be moved or copied, as long as
/// what it was moved to lives.
template <Drafter DrafterType, class Target, SpeculationPolicy Policy, class Criterion>
class speculator {
 public:
    static_assert(detail::check_criterion<Criterion, typename DrafterType::draft_distribution_type>::done);
    using drafter_type = DrafterType;
    using target_type = typename detail::owned_or_borrowed<Target>::type;
    using policy_type = Policy;
    using criterion_type = Criterion;
    using guarantee = guarantee_on_rows_of<target_type, typename detail::promise_on<DrafterType, Criterion>::type>;

    static_assert(Model<target_type>);
    static_assert(detail::fit_together<DrafterType, Policy, Criterion>::done);
    static_assert(!ReadsStates<DrafterType> || HiddenStateModel<target_type>,
                  "augur::speculate: this drafter follows the target's hidden states, but this target does not show "
                  "them; it has to be a HiddenStateModel (hidden_size() and hidden(sequence))");

    /// Refuses a drafter of another vocabulary, or of hidden states of another size.
    speculator(DrafterType drafter, Target&& target, Policy policy, Criterion criterion)
        : drafter_(std::move(drafter)),
          target_(std::forward<Target>(target)),
          policy_(std::move(policy)),
          criterion_(std::move(criterion)) {
        detail::check_same_vocabulary("draft and target", "the draft", drafter_, "the target", this->target());
        draft::check_target(drafter_, this->target());
        detail::check_hidden_size(drafter_, this->target());
    }

    const DrafterType& drafter() const { return drafter_; }
    const target_type& target() const { return target_.get(); }
    const Policy& policy() const { return policy_; }
    const Criterion& criterion() const { return criterion_; }

    /// A drafter for a better model: what is accepted here is the draft there.
    auto as_stage() const& {
        return scheme::stage<DrafterType, const target_type&, Policy, Criterion>(drafter_, target(), policy_,
                                                                                 criterion_);
    }
    auto as_stage() && {
        return scheme::stage<DrafterType, Target, Policy, Criterion>(std::move(drafter_), std::move(target_),
                                                                     std::move(policy_), std::move(criterion_));
    }

 private:
    DrafterType drafter_;
    detail::owned_or_borrowed<Target> target_;
    Policy policy_;
    Criterion criterion_;
};

/// Composes a scheme. `drafter` is a Drafter; or any Model of the same vocabulary, or a FusedModel or DraftHeads of the
/// target, which then draft in the way that the criterion asks for; or a scheme (draft/named.hpp). Lvalues are referred
/// to, rvalues are kept.
template <class Named, class Target, SpeculationPolicy Policy, class Criterion>
requires Model<std::remove_cvref_t<Target>>
auto speculate(Named&& drafter, Target&& target, Policy policy, Criterion criterion) {
    auto drafts = detail::drafter_for<Criterion>(std::forward<Named>(drafter));
    return speculator<decltype(drafts), Target, Policy, Criterion>(std::move(drafts), std::forward<Target>(target),
                                                                   std::move(policy), std::move(criterion));
}

/// Plain decoding, one token a pass: greedy at temperature 0, otherwise sampling with noise keyed by (seed, position).
template <class Target>
requires Model<std::remove_cvref_t<Target>>
auto plain(Target&& target) {
    return speculate(draft::no_draft{}, std::forward<Target>(target), policy::fixed_length{0}, accept::coupled{});
}

}  // namespace augur
