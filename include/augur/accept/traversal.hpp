#pragma once
// Traversal verification: a draft tree judged from its leaves to its root, which keeps longer paths than level by
// level.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "augur/accept/concept.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/types/drawing.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

namespace augur::accept {

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
    using drawing = draft::sampled;
    using storage_type = std::vector<residual_storage>;  ///< by depth

    template <class Targets, ChainProposal Proposal, class Draws>
    token judge_tree(const Targets& targets, const Proposal& proposed, const Draws& draws,
                     std::vector<std::size_t>& path, storage_type& storage) const {
        if (storage.size() < proposed.size()) storage.resize(proposed.size());
        walker<Targets, Proposal, Draws> round{targets, proposed, draws, path, storage};
        round.settle({after_prefix, 0}, 1);
        return round.next;
    }
    /// The same with storage of its own.
    template <class Targets, ChainProposal Proposal, class Draws>
    token judge_tree(const Targets& targets, const Proposal& proposed, const Draws& draws,
                     std::vector<std::size_t>& path) const {
        storage_type storage;
        return judge_tree(targets, proposed, draws, path, storage);
    }

    token draw(const auto& target, auto& draws) const { return rejection_sampling{}.draw(target, draws); }

    /// The row that the accepted token was drawn from (cascade/stage.hpp): always the target's, given those before it.
    template <class Claim>
    const distribution& drawn_from(const distribution& target, const drafted_token<Claim>&, distribution&) const {
        return target;
    }

 private:
    /// A node and which child of its parent it is; the prefix is after_prefix.
    struct place {
        std::int32_t node;
        std::size_t sibling;
    };

    template <class Targets, class Proposal, class Draws>
    struct walker {
        const Targets& targets;
        const Proposal& proposed;
        const Draws& draws;
        std::vector<std::size_t>& path;
        storage_type& storage;
        token next = no_token;

        using residual = residual_weights<typename Proposal::claim_type>;

        /// Whether the path to `here`, or one beneath, is accepted: with the probability `worth`.
        bool settle(const place& here, double worth) {
            const auto& target = targets[row_after(here)];
            if (target.empty()) return stands(here, worth);  // what is drafted after it cannot be judged
            return settle(here, worth, target, child_of(here, 0), 0);
        }

        /// The same where `left` is what rejected siblings of `child`, number `sibling` among them, have left of the
        /// target.
        template <class Left>
        bool settle(const place& here, double worth, const Left& left, std::size_t child, std::size_t sibling) {
            if (child == proposed.size()) return stands(here, worth) && follow(here, left);
            const auto drafted = proposed[child];
            if (left.probability(drafted.id) > 0) {
                const double ratio = left.probability(drafted.id) / drafted.probability(drafted.id);
                path.push_back(child);
                if (settle({static_cast<std::int32_t>(child), sibling}, std::min(1.0, worth * ratio))) return true;
                path.pop_back();
            }
            const residual rest(left, drafted, worth, &storage[path.size()]);
            if (rest.total() > 0) {
                const double still_worth = rest.total() / (rest.total() + (1 - worth));
                return settle(here, still_worth, rest, child_of(here, child + 1), sibling + 1);
            }
            return worth == 1 && follow(here, left);  // only rounding can reject what was worth everything
        }

        bool stands(const place& here, double worth) const {
            if (here.node == after_prefix) return true;
            auto coin = draws(parents::of(parents_of(proposed), static_cast<std::size_t>(here.node)), here.sibling);
            return coin.flip(worth, purpose::accept);
        }

        bool follow(const place& here, const auto& left) {
            auto after = draws(here.node, 0);
            next = traversal{}.draw(left, after);
            return true;
        }

        static std::size_t row_after(const place& here) { return static_cast<std::size_t>(here.node + 1); }
        std::size_t child_of(const place& here, std::size_t from) const {
            return parents::next_child(parents_of(proposed), proposed.size(), here.node,
                                       std::max(from, row_after(here)));
        }
    };
};

}  // namespace augur::accept
