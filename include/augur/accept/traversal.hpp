#pragma once
// Traversal verification: judges a draft tree from its leaves to its root; keeps longer paths than level by level.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "augur/accept/concept.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token_selector.hpp"
#include "augur/types/topology.hpp"

namespace augur::accept {

/// A node of the path that is judged now. `Left`: what rejected children have left of the target's row after it.
template <class Left>
struct traversal_level {
    std::int32_t node = after_prefix;
    std::uint32_t sibling = 0;  ///< which child of its parent it is
    std::uint32_t child_sibling = 0;
    std::size_t child = 0;  ///< that is judged next; the tree's size where there is none
    double worth = 1;
    Left left{};
};

/// The judgement of one tree, on the host and in kernels. `rows`: `begin(row, above)`, what is left of the target's row
/// before any rejection, `above` being what is left at the parent; `can_follow(left)`, `probability(left, token)`, and
/// `after(left, drafted, worth, depth)`, whose total() is 0 where nothing is left, in which case the former stays
/// valid. `levels`: `put(depth, level)` and `[depth]`. `draws(parent, sibling)`: the randomness of a node's place.
template <class Rows, class Levels, class Tree, class Draws>
class traversal_walk {
 public:
    using left_type = typename Rows::left_type;
    using level = traversal_level<left_type>;

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE traversal_walk(const Rows& rows, Levels& levels, const Tree& proposed,
                                     std::span<const std::int32_t> parents, const Draws& draws)
        : rows_(rows), levels_(levels), proposed_(proposed), parents_(parents), draws_(draws) {}

    /// Of the accepted path: levels 1 to this one are its nodes.
    AUGUR_HOST_DEVICE std::size_t depth() const { return depth_; }

    /// Returns what is left where the accepted path ends.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE left_type run() {
        enter({}, {});
        while (true) {
            const level at = levels_[depth_];
            if (at.child < proposed_.size()) {
                if (enter_child(at)) continue;
            } else if (stands(at)) {
                return at.left;
            } else {
                --depth_;
            }
            if (!reject_child()) return levels_[depth_].left;
        }
    }

 private:
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE void enter(level at, const left_type& above) {
        const auto row = static_cast<std::size_t>(at.node + 1);
        at.left = rows_.begin(row, above);
        // What is drafted after a row that nothing can be drawn from cannot be judged.
        at.child = rows_.can_follow(at.left) ? parents::next_child(parents_, proposed_.size(), at.node, row)
                                             : proposed_.size();
        levels_.put(depth_, at);
    }

    /// False where the child is worth nothing.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE bool enter_child(const level& at) {
        const auto drafted = proposed_[at.child];
        const double left = rows_.probability(at.left, drafted.id);
        if (!(left > 0)) return false;
        const double ratio = left / drafted.probability(drafted.id);
        ++depth_;
        enter({.node = static_cast<std::int32_t>(at.child),
               .sibling = at.child_sibling,
               .worth = std::min(1.0, at.worth * ratio)},
              at.left);
        return true;
    }

    /// What the rejected child leaves, worth and row, is what the next is judged by. Where that is nothing the node is
    /// rejected, too; false where it is accepted, for only rounding can reject what was worth everything.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE bool reject_child() {
        for (;; --depth_) {
            level at = levels_[depth_];
            const left_type rest = rows_.after(at.left, proposed_[at.child], at.worth, depth_);
            const double total = rest.total();
            if (total > 0) {
                at.worth = total / (total + (1 - at.worth));
                at.left = rest;
                ++at.child_sibling;
                at.child = parents::next_child(parents_, proposed_.size(), at.node, at.child + 1);
                levels_.put(depth_, at);
                return true;
            }
            if (at.worth == 1) return false;
        }
    }

    /// The coin of its worth; the prefix needs none.
    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE bool stands(const level& at) const {
        if (at.node == after_prefix) return true;
        auto coin = draws_(parents::of(parents_, static_cast<std::size_t>(at.node)), at.sibling);
        return coin.flip(at.worth, purpose::accept);
    }

    const Rows& rows_;
    Levels& levels_;
    const Tree& proposed_;
    std::span<const std::int32_t> parents_;
    const Draws& draws_;
    std::size_t depth_ = 0;
};

/// What `traversal` keeps from round to round on the host.
struct traversal_storage {
    /// Of a row of the target's: the last of so many residuals, where a child was rejected, or the row itself.
    struct left {
        const distribution* target = nullptr;
        std::size_t residuals = 0;  ///< that the path has, up to here
        bool is_whole = true;
        double sum = 0;

        double total() const { return sum; }
    };
    template <class DraftDistribution>
    using residuals_of = std::vector<residual_weights<DraftDistribution>>;
    template <class DraftDistribution>
    static constexpr bool keeps =
        std::is_same_v<DraftDistribution, point_mass> || std::is_same_v<DraftDistribution, distribution>;
    struct levels_by_depth {
        std::vector<traversal_level<left>> all{};

        void put(std::size_t depth, const traversal_level<left>& level) { all[depth] = level; }
        const traversal_level<left>& operator[](std::size_t depth) const { return all[depth]; }
    };

    std::vector<residual_storage> workspaces{};  ///< by depth
    std::tuple<residuals_of<point_mass>, residuals_of<distribution>> residuals{};
    levels_by_depth levels{};
};

/// A node is worth min(1, worth of its parent * target(x) / draft(x)), and a path through it is accepted with that
/// probability. The deepest are judged first: a leaf by a coin of its worth; what a rejected child leaves of its
/// parent, worth and target's row, is what the next sibling is judged by, and after the last of them the parent itself.
/// Effect: none, the joint distribution of the text is the target's exactly, for trees whose siblings are drawn with or
/// without replacement, and for fixed ones. On a chain it is `block`, bit for bit; on siblings without children it is
/// rejection_sampling. Randomness: at most one coin per drafted token, one draw per round. Cost: rows of nodes whose
/// worth is above 0 are transformed, down to where one is accepted; O(vocabulary) per rejected token. Keeps a double
/// per token of the vocabulary for each depth where two siblings were rejected. Point masses and distributions. Source:
/// Weng et al. 2025, "Traversal verification for speculative tree decoding" (arXiv 2505.12398).
struct traversal {
    using guarantee = guarantee::same_distribution;
    using token_selector = draft::sampled;
    using storage_type = traversal_storage;

    template <class Targets, ChainProposal Proposal, class Draws>
    token judge_tree(const Targets& targets, const Proposal& proposed, const Draws& draws,
                     std::vector<std::size_t>& path, storage_type& storage) const {
        using rows_type = rows_on_host<Targets, typename Proposal::draft_distribution_type>;
        storage.levels.all.resize(proposed.size() + 1);
        rows_type rows(targets, proposed.size(), storage);
        traversal_walk walk(rows, storage.levels, proposed, parents_of(proposed), draws);
        const auto left = walk.run();
        for (std::size_t depth = 1; depth <= walk.depth(); ++depth) {
            path.push_back(static_cast<std::size_t>(storage.levels[depth].node));
        }
        if (!rows.can_follow(left)) return no_token;
        auto after = draws(storage.levels[walk.depth()].node, 0);
        return rows.drawn(left, after);
    }
    /// The same with storage of its own.
    template <class Targets, ChainProposal Proposal, class Draws>
    token judge_tree(const Targets& targets, const Proposal& proposed, const Draws& draws,
                     std::vector<std::size_t>& path) const {
        storage_type storage;
        return judge_tree(targets, proposed, draws, path, storage);
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return rejection_sampling{}.draw(target, draws);
    }

    /// The row that the accepted token was drawn from (scheme/stage.hpp): always the target's, given those before it.
    template <class DraftDistribution>
    const distribution& drawn_from(const distribution& target, const drafted_token<DraftDistribution>&,
                                   distribution&) const {
        return target;
    }

 private:
    /// The target's rows, and residuals of them, one above the other: those of a path, its beginning first.
    template <class Targets, class DraftDistribution>
    class rows_on_host {
     public:
        using left_type = traversal_storage::left;

        rows_on_host(const Targets& targets, std::size_t nodes, traversal_storage& storage)
            : targets_(targets), workspaces_(storage.workspaces), residuals_(kept_in(storage)) {
            if (workspaces_.size() < nodes) workspaces_.resize(nodes);
            residuals_.clear();
            residuals_.reserve(nodes);  // so that none moves, for the next refers to it
        }

        left_type begin(std::size_t row, const left_type& above) const {
            const distribution& target = targets_[row];
            return {&target, above.residuals, true, target.total()};
        }
        bool can_follow(const left_type& left) const { return !left.target->empty(); }
        double probability(const left_type& left, token id) const {
            return left.is_whole ? left.target->probability(id) : last_of(left).probability(id);
        }
        left_type after(const left_type& left, const drafted_token<DraftDistribution>& rejected, double worth,
                        std::size_t depth) const {
            while (residuals_.size() > left.residuals) residuals_.pop_back();
            if (left.is_whole) {
                residuals_.emplace_back(*left.target, rejected, worth);
            } else {
                residuals_.emplace_back(last_of(left), rejected, worth, &workspaces_[depth]);
            }
            return {left.target, left.residuals + 1, false, residuals_.back().total()};
        }
        token drawn(const left_type& left, auto& draws) const {
            return left.is_whole ? traversal{}.draw(*left.target, draws) : traversal{}.draw(last_of(left), draws);
        }

     private:
        using residuals_type = traversal_storage::residuals_of<DraftDistribution>;

        /// Those of a draft distribution of somebody else's last for a round.
        residuals_type& kept_in(traversal_storage& storage) {
            if constexpr (traversal_storage::keeps<DraftDistribution>) {
                return std::get<residuals_type>(storage.residuals);
            } else {
                return own_;
            }
        }
        const residual_weights<DraftDistribution>& last_of(const left_type& left) const {
            return residuals_[left.residuals - 1];
        }

        const Targets& targets_;
        std::vector<residual_storage>& workspaces_;
        residuals_type own_{};
        residuals_type& residuals_;
    };
};

}  // namespace augur::accept
