#pragma once
// Criteria of links inside a cascade, and how a link judges with one: each token by the row that it is drawn from.

#include <concepts>
#include <type_traits>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/walk.hpp"
#include "augur/draft/concept.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// A criterion that knows the row that a token comes from once it is accepted, whichever token that is:
/// drawn_from(target, drafted, storage) const -> const distribution&, one of the three rows or made in the storage.
/// Where the tokens are picked from that row and not drawn, `using draft_distribution = mode_of_row` says so.
template <class C, class DraftDistribution>
concept KnowsWhatItDrewFrom = AcceptanceCriterionFor<C, DraftDistribution> &&
    requires(const C& criterion, const distribution& target, const drafted_token<DraftDistribution>& drafted,
             distribution& storage) {
    { criterion.drawn_from(target, drafted, storage) } -> std::same_as<const distribution&>;
};

/// A criterion that leaves nothing open once the noise is known: `static constexpr bool certain = true`. Inside a
/// cascade its tokens are proposed as point masses, which is right whatever the noise was used for before.
template <class C>
concept LeavesNothingOpen = requires {
    requires static_cast<bool>(C::certain);
};

/// A criterion for a link inside a cascade.
template <class C, class DraftDistribution>
concept StandsInside = AcceptanceCriterionFor<C, DraftDistribution> &&
    (KnowsWhatItDrewFrom<C, DraftDistribution> || LeavesNothingOpen<C>);

namespace scheme {

/// Which row goes with a token that a stage proposes.
enum class proposed_rows {
    what_it_drew,  ///< the row that it was drawn from: the drafter's where a rule accepted it, else the model's
    own_rows       ///< the model's, whatever the token was drawn from, as published; then nothing exact can rest on it
};

/// The row that the token comes from once it is accepted; the model's, where that is left open by nothing.
template <class Criterion, class DraftDistribution>
const distribution& row_of(const Criterion& criterion, const distribution& target,
                           const drafted_token<DraftDistribution>& drafted, distribution& storage) {
    if constexpr (LeavesNothingOpen<Criterion>) {
        return target;
    } else {
        return criterion.drawn_from(target, drafted, storage);
    }
}

/// A link's criterion, but that a row which is not the target's is drawn from as it is, by rejection sampling: what is
/// claimed is no rounding of what the criterion does.
template <class Criterion, class DraftDistribution>
struct judged_by_its_row {
    using guarantee = typename Criterion::guarantee;
    struct rejected {
        const distribution& target;
        const drafted_token<DraftDistribution>& drafted;
    };

    const Criterion& criterion;
    distribution& storage;
    const distribution*& from;  ///< the row of the token that was judged last

    bool accepts(const distribution& target, const drafted_token<DraftDistribution>& drafted, auto& draws) const {
        from = &row_of(criterion, target, drafted, storage);
        return from == &target ? criterion.accepts(target, drafted, draws)
                               : accept::rejection_sampling{}.accepts(*from, drafted, draws);
    }
    rejected after_rejection(const distribution& target, const drafted_token<DraftDistribution>& drafted) const {
        return {target, drafted};
    }
    token draw(const rejected& left, auto& draws) const {
        if (from != &left.target)
            return accept::rejection_sampling{}.draw(accept::residual(*from, left.drafted), draws);
        return criterion.draw(accept::left_after(criterion, left.target, left.drafted), draws);
    }
    token draw(const distribution& target, auto& draws) const { return criterion.draw(target, draws); }
};

/// The same of siblings: the row of the first of them is drawn from by rejection sampling, each sibling against what
/// those before it have left of that row.
template <class Criterion, class DraftDistribution>
struct siblings_judged_by_their_row {
    using guarantee = typename Criterion::guarantee;
    using storage_type = accept::residual_storage;

    const Criterion& criterion;
    distribution& storage;
    const distribution*& from;  ///< the row of the siblings that were judged last

    bool accepts(const distribution& target, const drafted_token<DraftDistribution>& drafted, auto& draws) const {
        from = &row_of(criterion, target, drafted, storage);
        return by_row.accepts(*from, drafted, draws);
    }
    bool accepts(const accept::residual_weights<DraftDistribution>& left,
                 const drafted_token<DraftDistribution>& drafted, auto& draws) const {
        return by_row.accepts(left, drafted, draws);
    }
    auto after_rejection(const distribution&, const drafted_token<DraftDistribution>& drafted,
                         storage_type& workspace) const {
        return by_row.after_rejection(*from, drafted, workspace);
    }
    auto after_rejection(const accept::residual_weights<DraftDistribution>& left,
                         const drafted_token<DraftDistribution>& drafted, storage_type& workspace) const {
        return by_row.after_rejection(left, drafted, workspace);
    }
    token draw(const auto& row, auto& draws) const { return by_row.draw(row, draws); }

    static constexpr accept::rejection_sampling by_row{};
};

/// How a link judges drafts, `Trees` or chains: by its criterion, or where tokens are drawn from rows that are stated
/// and it judges them one by one, by these rows.
template <class Criterion, class DraftDistribution, bool Trees>
struct judge_of : std::type_identity<Criterion> {};
template <class Criterion, class DraftDistribution, bool Trees>
requires(JudgesEach<Criterion, DraftDistribution> &&
         !DeterministicDistribution<typename augur::detail::draft_distribution_inside<Criterion>::type> &&
         !LeavesNothingOpen<Criterion>) struct judge_of<Criterion, DraftDistribution, Trees> {
    using type = std::conditional_t<Trees, siblings_judged_by_their_row<Criterion, DraftDistribution>,
                                    judged_by_its_row<Criterion, DraftDistribution>>;
};

}  // namespace scheme
}  // namespace augur
