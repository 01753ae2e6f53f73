#pragma once
// Walks a chain: applies a criterion to drafted tokens until one is rejected, then takes the token that follows.

#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include "augur/accept/concept.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/verdict.hpp"

namespace augur::accept {

/// Makes distributions of a model's rows, on the host (transform::pipeline with augur::scores) or on a device.
template <class T, class Rows>
concept TransformsRows = requires(const T& transform, const Rows& rows, const prefix& before,
                                  typename T::distribution_type& out) {
    transform.apply(rows[std::size_t{}], before, out);
    { out.empty() } -> std::convertible_to<bool>;
};

/// The target's distributions of one walk; their storage is kept from round to round.
template <class Transform>
using target_rows = std::vector<typename Transform::distribution_type>;

/// Token by token.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C>
verdict judge_each(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
                   prefix& before, C& chooser, std::size_t round, target_rows<Transform>& targets) {
    speculative_suffix speculative(before);
    verdict decided{.drafted = proposed.size()};
    if (targets.empty()) targets.emplace_back();
    auto& target = targets.front();
    for (std::size_t i = 0; i <= proposed.size(); ++i) {
        transform.apply(rows[i], before, target);
        if (target.empty()) return decided;
        position_draws draws(chooser, before.size(), round);
        if (i == proposed.size()) {
            decided.next = criterion.draw(target, draws);
            break;
        }
        const auto drafted = proposed[i];
        const decision ruled = criterion.judge(target, drafted, draws);
        if (!ruled.accepted) {
            decided.next = ruled.replacement;
            break;
        }
        ++decided.accepted;
        speculative.push(drafted.id);
    }
    return decided;
}

/// The whole block at once, for criteria that weigh it so: every row is transformed first.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C>
verdict judge_whole(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
                    prefix& before, C& chooser, std::size_t round, target_rows<Transform>& targets) {
    using distribution = typename Transform::distribution_type;
    const std::size_t first = before.size();
    speculative_suffix speculative(before);
    if (targets.size() <= proposed.size()) targets.resize(proposed.size() + 1);
    std::size_t possible = 0;
    while (possible <= proposed.size()) {
        transform.apply(rows[possible], before, targets[possible]);
        if (targets[possible].empty()) break;
        if (possible < proposed.size()) speculative.push(proposed.tokens()[possible]);
        ++possible;
    }
    const auto draws = [&](std::size_t i) { return position_draws(chooser, first + i, round); };
    return criterion.judge_block(std::span<const distribution>(targets).first(possible), proposed, draws);
}

/// `rows[i]` is the target's row after the prefix and the first i drafted tokens; there are proposed.size() + 1. Each row
/// is transformed with exactly the tokens before it as history, those accepted in this walk included. `targets` is storage.
/// The prefix is unchanged on return. Throws nothing of its own: a row from which nothing can be drawn ends the walk.
/// Cost: one transform and one judgement per token up to the first rejection; of all rows for criteria of whole blocks.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C>
requires AcceptanceCriterionFor<Criterion, typename Proposal::claim_type> verdict
judge(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
      prefix& before, C& chooser, std::size_t round, target_rows<Transform>& targets) {
    if constexpr (ReturnsVerdict<Criterion, typename Proposal::claim_type>) {
        return judge_whole(criterion, proposed, rows, transform, before, chooser, round, targets);
    } else {
        return judge_each(criterion, proposed, rows, transform, before, chooser, round, targets);
    }
}

/// The same with storage of its own.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C>
requires AcceptanceCriterionFor<Criterion, typename Proposal::claim_type> verdict
judge(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
      prefix& before, C& chooser, std::size_t round) {
    target_rows<Transform> targets;
    return judge(criterion, proposed, rows, transform, before, chooser, round, targets);
}

}  // namespace augur::accept
