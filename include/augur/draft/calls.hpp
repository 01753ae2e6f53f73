#pragma once
// Calls the members of a drafter, the optional ones where it has them.

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <span>
#include <type_traits>

#include "augur/draft/concept.hpp"
#include "augur/draft/context.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/statistics.hpp"

namespace augur::draft {

/// Brings a drafter to the prompt, if it wants to be.
template <Drafter D>
void prepare(const D& drafter, typename D::state_type& state, const prefix& prompt) {
    static_assert(augur::detail::optional_members_of_drafter<D>::fit);
    if constexpr (Prepares<D>) drafter.prepare(state, prompt);
}

/// Lets a drafter refuse settings.
template <Drafter D>
void check(const D& drafter, const transform::settings& chosen) {
    static_assert(augur::detail::optional_members_of_drafter<D>::fit);
    if constexpr (ChecksSettings<D>) drafter.check(chosen);
}

/// co_await proposing(...): replaces what the proposal holds by a new one.
template <Drafter D>
auto proposing(const D& drafter, typename D::state_type& state, auto& context,
               proposal<typename D::draft_distribution_type>& out) {
    out.clear();
    if constexpr (std::is_void_v<decltype(drafter.propose(state, context, out))>) {
        drafter.propose(state, context, out);
        return std::suspend_never();
    } else {
        return drafter.propose(state, context, out);
    }
}

/// The same at once.
template <Drafter D>
void propose(const D& drafter, typename D::state_type& state, auto& context,
             proposal<typename D::draft_distribution_type>& out) {
    if constexpr (std::same_as<decltype(proposing(drafter, state, context, out)), flow::task>) {
        flow::runner(proposing(drafter, state, context, out)).finish();
    } else {
        proposing(drafter, state, context, out);
    }
}

/// A new proposal.
template <Drafter D>
proposal<typename D::draft_distribution_type> propose(const D& drafter, typename D::state_type& state, auto& context) {
    proposal<typename D::draft_distribution_type> proposed;
    propose(drafter, state, context, proposed);
    return proposed;
}

/// Tells a drafter that its round does not take place, if it wants to know.
template <Drafter D>
void abandon(const D& drafter, typename D::state_type& state) {
    static_assert(augur::detail::optional_members_of_drafter<D>::fit);
    if constexpr (Abandons<D>) drafter.abandon(state);
}

/// The stages inside a drafter.
template <Drafter D>
inline constexpr std::size_t stages_in = [] {
    if constexpr (ReportsStages<D>) {
        return std::size_t{D::stages};
    } else {
        return std::size_t{0};
    }
}();

/// Their counts so far, innermost first: as many as stages_in says.
template <Drafter D>
void report(const D& drafter, const typename D::state_type& state, std::span<stage_statistics> counts) {
    static_assert(augur::detail::optional_members_of_drafter<D>::fit);
    if constexpr (ReportsStages<D>) drafter.report(state, counts);
}

/// Tells a drafter what is committed, with the target's states if it follows them: for drafters made of drafters.
template <Drafter D>
void on_commit(const D& drafter, typename D::state_type& state, const prefix& committed, const auto& states) {
    if constexpr (ReadsStates<D>) {
        drafter.on_commit(state, committed, states);
    } else {
        drafter.on_commit(state, committed);
    }
}

/// The target that a drafter's context is given: none unless it drafts in it.
template <class D, class Target>
auto* lent(Target& target) {
    if constexpr (drafts_in_target<D>) {
        return &target;
    } else {
        return static_cast<no_target*>(nullptr);
    }
}

/// Refuses a target that a drafter cannot draft in.
template <class D, class M>
void check_target(const D& drafter, const M& target) {
    static_assert(
        !drafts_in_target<D> || SplitModel<M>,
        "augur: this drafter drafts in the target's own sequence, but this target cannot run its first layers "
        "alone; it has to be a SplitModel (pass_features::layers)");
    static_assert(!drafts_in_target<D> || !SplitModel<M> || DraftsInTarget<D, M>,
                  "augur: this drafter drafts in the target's own sequence, so that it needs void check_target(const "
                  "auto& target) const");
    if constexpr (DraftsInTarget<D, M>) drafter.check_target(target);
}

}  // namespace augur::draft
