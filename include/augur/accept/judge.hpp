#pragma once
// Walks a chain: applies a criterion to drafted tokens until one is rejected, then takes the token that follows.

#include <concepts>
#include <cstddef>
#include <utility>
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

/// Token by token.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C>
verdict judge_each(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
                   prefix& before, C& chooser, std::size_t round) {
    supposition supposed(before);
    verdict decided{.drafted = proposed.size()};
    typename Transform::distribution_type target;
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
        supposed.push(drafted.id);
    }
    return decided;
}

/// The whole block at once, for criteria that weigh it so: every row is transformed first.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C>
verdict judge_whole(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
                    prefix& before, C& chooser, std::size_t round) {
    using distribution = typename Transform::distribution_type;
    const std::size_t first = before.size();
    supposition supposed(before);
    std::vector<distribution> targets;
    for (std::size_t i = 0; i <= proposed.size(); ++i) {
        distribution target = transform(rows[i], before);
        if (target.empty()) break;
        targets.push_back(std::move(target));
        if (i < proposed.size()) supposed.push(proposed.tokens()[i]);
    }
    const auto draws = [&](std::size_t i) { return position_draws(chooser, first + i, round); };
    return criterion.judge_block(targets, proposed, draws);
}

/// `rows[i]` is the target's row after the prefix and the first i drafted tokens; there are proposed.size() + 1. Each row
/// is transformed with exactly the tokens before it as history, those accepted in this walk included.
/// The prefix is unchanged on return. Throws nothing of its own: a row from which nothing can be drawn ends the walk.
/// Cost: one transform and one judgement per token up to the first rejection; of all rows for criteria of whole blocks.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C>
requires AcceptanceCriterionFor<Criterion, typename Proposal::claim_type> verdict
judge(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
      prefix& before, C& chooser, std::size_t round) {
    if constexpr (ReturnsVerdict<Criterion, typename Proposal::claim_type>) {
        return judge_whole(criterion, proposed, rows, transform, before, chooser, round);
    } else {
        return judge_each(criterion, proposed, rows, transform, before, chooser, round);
    }
}

}  // namespace augur::accept
