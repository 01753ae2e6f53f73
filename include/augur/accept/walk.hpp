#pragma once
// Walks a chain or tree of drafted tokens with a criterion: accepted tokens first, then the token that follows.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "augur/accept/concept.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/random/chooser.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"
#include "augur/types/verdict.hpp"

namespace augur::accept {

/// What a rejection leaves of the target, where the criterion says so; else the target.
AUGUR_WHERE_ARGUMENTS_CAN
template <class Criterion, class Target, class Drafted>
AUGUR_HOST_DEVICE decltype(auto) left_after(const Criterion& criterion, const Target& target, const Drafted& drafted) {
    if constexpr (requires { criterion.after_rejection(target, drafted); }) {
        return criterion.after_rejection(target, drafted);
    } else {
        return target;
    }
}

/// The same with what the criterion keeps, where it takes it.
template <class Criterion, class Target, class Drafted>
decltype(auto) left_after(const Criterion& criterion, const Target& target, const Drafted& drafted, auto& storage) {
    if constexpr (requires { criterion.after_rejection(target, drafted, storage.kept); }) {
        return criterion.after_rejection(target, drafted, storage.kept);
    } else {
        return left_after(criterion, target, drafted);
    }
}

/// Judges one drafted token, the last or only one of its position: no_token where it is accepted, else the token that
/// is drawn in its place. On the host and in kernels.
AUGUR_WHERE_ARGUMENTS_CAN
template <class Criterion, class Target, class Drafted, class Draws>
AUGUR_HOST_DEVICE token accept_or_draw(const Criterion& criterion, const Target& target, const Drafted& drafted,
                                       Draws& draws) {
    if (criterion.accepts(target, drafted, draws)) return no_token;
    return criterion.draw(left_after(criterion, target, drafted), draws);
}

/// The verdict on the siblings of one position: one of them is accepted, and `drawn` is no_token; or none is.
struct settlement {
    std::size_t accepted;
    token drawn;
};

/// Judges the siblings of one position in order, from `node` on, number `sibling` among them: each against what those
/// before it have left of the target. `storage` is a walk_storage.
template <class Criterion, class Target, ChainProposal Proposal, class Draws, class Storage>
settlement settle(const Criterion& criterion, const Target& target, const Proposal& proposed, std::size_t node,
                  Draws& draws, Storage& storage, std::size_t sibling = 0) {
    const auto drafted = proposed[node];
    if constexpr (!Branches<Proposal>) {
        return {node, accept_or_draw(criterion, target, drafted, draws)};
    } else {
        const auto parents = proposed.parents();
        const std::size_t next = parents::next_child(parents, proposed.size(), parents::of(parents, node), node + 1);
        if (sibling > 0) draws.at_sibling(sibling);
        if (criterion.accepts(target, drafted, draws)) return {node, no_token};
        const auto& left = left_after(criterion, target, drafted, storage);
        if (next == proposed.size()) return {node, criterion.draw(left, draws)};
        return settle(criterion, left, proposed, next, draws, storage, sibling + 1);
    }
}

/// Makes distributions of a model's rows, on the host (transform::pipeline with augur::scores) or on a device.
template <class T, class Rows>
concept TransformsRows = requires(const T& transform, const Rows& rows, const prefix& before,
                                  typename T::distribution_type& out) {
    transform.apply(rows[std::size_t{}], before, out);
    { out.empty() } -> std::convertible_to<bool>;
};

/// The target's distributions of one walk; their storage is kept from round to round.
template <class Transform>
struct target_rows {
    std::vector<typename Transform::distribution_type> rows{};
    std::vector<char> ready{};  ///< which of them, where they are made when they are asked for
};

/// Storage of one text's walks by a criterion: the target's rows, and what the criterion keeps.
template <class Transform, class Criterion>
struct walk_storage : target_rows<Transform> {};
template <class Transform, KeepsStorage Criterion>
struct walk_storage<Transform, Criterion> : target_rows<Transform> {
    typename Criterion::storage_type kept{};
};

/// The empty watcher of a walk. A watcher may end it before a row is looked at, and is told each token with the number
/// of the row and the target's distribution that it follows. This one sees nothing.
struct nobody {
    bool wants(std::size_t /*row*/) const { return true; }
    void took(std::size_t /*row*/, const auto& /*target*/, token /*taken*/) const {}
};

/// Position by position.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C, class For,
          class Watcher>
void walk_each(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
               prefix& before, C& chooser, std::size_t round, walk_storage<Transform, For>& targets, verdict& out,
               Watcher&& watcher) {
    speculative_suffix speculative(before);
    const auto parents = parents_of(proposed);
    if (targets.rows.empty()) targets.rows.emplace_back();
    auto& target = targets.rows.front();
    for (std::size_t row = 0; watcher.wants(row);) {
        const std::size_t child =
            parents::next_child(parents, proposed.size(), static_cast<std::int32_t>(row) - 1, row);
        out.at_leaf = !parents.empty() && child == proposed.size();
        transform.apply(rows[row], before, target);
        if (target.empty()) return;
        position_draws draws(chooser, before.size(), round, row - out.accepted);  // parents::aside of the row's node
        if (child == proposed.size()) {
            out.next = criterion.draw(target, draws);
            return watcher.took(row, target, out.next);
        }
        const settlement settled = settle(criterion, target, proposed, child, draws, targets);
        if (settled.drawn != no_token) {
            out.next = settled.drawn;
            return watcher.took(row, target, out.next);
        }
        const token taken = proposed.tokens()[settled.accepted];
        watcher.took(row, target, taken);
        ++out.accepted;
        if (!parents.empty()) out.path.push_back(settled.accepted);
        speculative.push(taken);
        row = settled.accepted + 1;
    }
}

/// Shows what became of a whole chain or tree, as far as the watcher wants: the walk ends there.
void show_walk(const ChainProposal auto& proposed, const auto& targets, verdict& out, auto&& watcher) {
    for (std::size_t i = 0, row = 0; i <= out.accepted; ++i) {
        const bool wanted = watcher.wants(row);
        if (!wanted) out.next = no_token;
        if (!wanted || (i == out.accepted && out.invalid_row())) {
            out.accepted = i;
            out.path.resize(std::min(i, out.path.size()));
            return;
        }
        const std::size_t node = i < out.accepted ? out.node(i) : proposed.size();
        watcher.took(row, targets[row], i < out.accepted ? proposed.tokens()[node] : out.next);
        row = node + 1;
    }
}

/// A chain at once, for criteria that weigh it so: every row is transformed first. Refuses a tree.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C, class Watcher>
void walk_whole(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
                prefix& before, C& chooser, std::size_t round, target_rows<Transform>& storage, verdict& out,
                Watcher&& watcher) {
    using distribution = typename Transform::distribution_type;
    require_chain(proposed);
    const std::size_t first = before.size();
    speculative_suffix speculative(before);
    auto& targets = storage.rows;
    if (targets.size() <= proposed.size()) targets.resize(proposed.size() + 1);
    std::size_t possible = 0;
    while (possible <= proposed.size()) {
        transform.apply(rows[possible], before, targets[possible]);
        if (targets[possible].empty()) break;
        if (possible < proposed.size()) speculative.push(proposed.tokens()[possible]);
        ++possible;
    }
    const auto draws = [&](std::size_t i) { return position_draws(chooser, first + i, round); };
    out = criterion.judge_block(std::span<const distribution>(targets).first(possible), proposed, draws);
    if constexpr (!std::same_as<std::remove_cvref_t<Watcher>, nobody>) show_walk(proposed, targets, out, watcher);
}

/// The target's distributions after the prefix and after each node, made when they are asked for.
template <ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform>
class rows_when_asked {
 public:
    using distribution = typename Transform::distribution_type;

    rows_when_asked(const Proposal& proposed, const Rows& rows, const Transform& transform, prefix& before,
                    target_rows<Transform>& storage)
        : proposed_(proposed), rows_(rows), transform_(transform), before_(before), storage_(storage) {
        if (storage.rows.size() <= proposed.size()) storage.rows.resize(proposed.size() + 1);
        storage.ready.assign(proposed.size() + 1, 0);
    }

    const distribution& operator[](std::size_t row) const {
        auto& target = storage_.rows[row];
        if (storage_.ready[row] == 0) {
            speculative_suffix path(before_);
            push_path(path, proposed_, static_cast<std::int32_t>(row) - 1);
            transform_.apply(rows_[row], before_, target);
            storage_.ready[row] = 1;
        }
        return target;
    }

 private:
    const Proposal& proposed_;
    const Rows& rows_;
    const Transform& transform_;
    prefix& before_;
    target_rows<Transform>& storage_;
};

/// A tree at once, or a chain.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C, class For,
          class Watcher>
void walk_tree(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
               prefix& before, C& chooser, std::size_t round, walk_storage<Transform, For>& storage, verdict& out,
               Watcher&& watcher) {
    const auto parents = parents_of(proposed);
    const rows_when_asked targets(proposed, rows, transform, before, storage);
    const auto draws = [&, first = before.size()](std::int32_t parent, std::size_t sibling) {
        position_draws named(chooser, first + parents::depth_of(parents, parent), round,
                             parents::aside(parents, parent));
        named.at_sibling(sibling);
        return named;
    };
    if constexpr (requires { criterion.judge_tree(targets, proposed, draws, out.path, storage.kept); }) {
        out.next = criterion.judge_tree(targets, proposed, draws, out.path, storage.kept);
    } else {
        out.next = criterion.judge_tree(targets, proposed, draws, out.path);
    }
    out.accepted = out.path.size();
    if (parents.empty()) {
        out.path.clear();
    } else {
        const std::int32_t last = out.path.empty() ? after_prefix : static_cast<std::int32_t>(out.path.back());
        out.at_leaf = parents::next_child(parents, proposed.size(), last, 0) == proposed.size();
    }
    if constexpr (!std::same_as<std::remove_cvref_t<Watcher>, nobody>) show_walk(proposed, targets, out, watcher);
}

/// Judges a proposal. `rows[0]` is the target's row after the prefix, `rows[1 + i]` the one after node i and the path
/// to it; there are proposed.size() + 1. Each row is transformed with exactly the tokens before it as history, those of
/// the path to it included. `targets` and `out` are storage: `For` this criterion, or for the one that it wraps. The
/// prefix is unchanged on return. Throws nothing of its own, but where a whole-chain criterion meets a tree: a row from
/// which nothing can be drawn ends the walk.
/// Cost: one transform per position up to the first without an accepted token, and the criterion's judgements there; of
/// all rows for criteria of whole chains, and for those of whole trees of the rows that they ask for. Allocates nothing
/// once its storage has grown.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C, class For,
          class Watcher = nobody>
requires AcceptanceCriterionFor<Criterion, typename Proposal::draft_distribution_type>
void walk(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform,
          prefix& before, C& chooser, std::size_t round, walk_storage<Transform, For>& targets, verdict& out,
          Watcher&& watcher = {}) {
    out.drafted = proposed.size();
    out.accepted = 0;
    out.next = no_token;
    out.path.clear();
    out.at_leaf = false;
    using draft_distribution = typename Proposal::draft_distribution_type;
    if constexpr (JudgesTrees<Criterion, draft_distribution>) {
        walk_tree(criterion, proposed, rows, transform, before, chooser, round, targets, out, watcher);
    } else if constexpr (ReturnsVerdict<Criterion, draft_distribution>) {
        walk_whole(criterion, proposed, rows, transform, before, chooser, round, targets, out, watcher);
    } else {
        walk_each(criterion, proposed, rows, transform, before, chooser, round, targets, out, watcher);
    }
}

/// The same with storage of its own.
template <class Criterion, ChainProposal Proposal, class Rows, TransformsRows<Rows> Transform, Chooser C>
requires AcceptanceCriterionFor<Criterion, typename Proposal::draft_distribution_type> verdict
walk(const Criterion& criterion, const Proposal& proposed, const Rows& rows, const Transform& transform, prefix& before,
     C& chooser, std::size_t round) {
    walk_storage<Transform, Criterion> targets;
    verdict out;
    walk(criterion, proposed, rows, transform, before, chooser, round, targets, out);
    return out;
}

}  // namespace augur::accept
