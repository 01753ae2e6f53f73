#pragma once
// Greedy multi-path block verification: picks the best of several independent drafts and judges it as a block.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/accept/block.hpp"
#include "augur/accept/concept.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/tree/greatest_path.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token_selector.hpp"
#include "augur/types/topology.hpp"

namespace augur::accept {

/// The distribution of a token that was picked from among several draws of one row; normalised.
struct picked_row {
    std::vector<double> chances{};

    double operator[](std::size_t i) const { return chances[i]; }
    double total() const { return 1; }
    double probability(token t) const { return chances[static_cast<std::size_t>(t)]; }
};

/// What the draft gives to ranked tokens together.
AUGUR_WHERE_ARGUMENTS_CAN
template <class Row>
AUGUR_HOST_DEVICE double weight_of(const tree::ranked_token* begin, const tree::ranked_token* end, const Row& row) {
    double sum = 0;
    for (; begin != end; ++begin) sum += row.probability(begin->id);
    return sum;
}

/// The distribution of the greatest token, not normalised, of tokens that follow one another in their order; the draft
/// draws those before them with probability `before`, and them with what is returned. Says of the picked token what is
/// below it.
AUGUR_WHERE_ARGUMENTS_CAN
template <class Row>
AUGUR_HOST_DEVICE double weigh_ranked(const tree::ranked_token* begin, const tree::ranked_token* end, double before,
                                      const Row& row, const tree::none_above& above, tree::picked_token& picked,
                                      double* chances) {
    double sum = 0;
    for (; begin != end; ++begin) {
        const double here = row.probability(begin->id), below = before + sum;
        sum += here;
        chances[begin->id] = here * above.slope(below, before + sum);
        if (begin->id != picked.id) continue;
        picked.below = below;
        picked.here = here;
    }
    return sum;
}

/// Refuses a node that was not drawn from the row that its eldest sibling was drawn from. `row_of(node)`.
void require_one_row(std::span<const std::int32_t> parents, std::size_t nodes, std::size_t node, const auto& row_of) {
    const std::size_t eldest = parents::next_child(parents, nodes, parents::of(parents, node), 0);
    const distribution &a = row_of(eldest), &b = row_of(node);
    if (&a == &b || (a.is_point() && b.is_point() && a.mode() == b.mode())) return;
    if (!a.is_point() && !b.is_point() &&
        std::equal(a.weights().begin(), a.weights().end(), b.weights().begin(), b.weights().end()))
        return;
    detail::fail(
        "accept::multipath_block needs siblings that are drawn with replacement, from one row, but that of node ", node,
        " is not that of its sibling ", eldest, "; draw by draft::sampled_with_replacement");
}

/// What multipath_block keeps from round to round on the host.
struct greatest_path_storage {
    std::vector<std::uint32_t> depths{}, begins{};
    std::vector<tree::picked_token> picked{};
    std::vector<token> tokens{};     ///< of the path; and so on
    std::vector<picked_row> rows{};  ///< at least as many
    std::vector<const distribution*> targets{};
    std::vector<std::size_t> nodes{};
    std::vector<tree::ranked_token> order{};  ///< of a row
    std::vector<double> coefficients{};
};

/// The greatest path on the host, with the law that its tokens have: a chain for `block`. Where it ends the target's
/// rows end, or the tree does.
template <class Targets, ChainProposal Proposal>
class picked_path {
 public:
    using draft_distribution_type = picked_row;

    picked_path(const Targets& targets, const Proposal& proposed, greatest_path_storage& kept)
        : proposed_(proposed), kept_(kept) {
        make_room();
        tree::greatest_path<Proposal> path{proposed, parents_of(proposed), kept.depths.data(), kept.picked.data()};
        for (std::size_t row = 0; !targets[row].empty(); row = kept.picked[path.size - 1].node + 1) {
            kept.targets.push_back(&targets[row]);
            const std::size_t first = path.competitor(0);
            if (first == proposed.size()) break;
            pick(path, first, targets[row]);
            if (!(kept.picked[path.size++].ratio > 0)) break;  // what follows is not accepted
        }
        std::size_t node = size() == 0 ? 0 : kept.picked[size() - 1].node;
        kept.nodes.resize(size());
        for (std::size_t i = size(); i > 0; node = static_cast<std::size_t>(parents::of(path.parents, node))) {
            kept.nodes[--i] = node;
        }
    }

    std::size_t size() const { return kept_.tokens.size(); }
    std::span<const token> tokens() const { return kept_.tokens; }
    drafted_token<picked_row> operator[](std::size_t i) const { return {kept_.tokens[i], &kept_.rows[i]}; }

    struct rows_on_path {
        std::span<const distribution* const> rows;
        std::size_t size() const { return rows.size(); }
        const distribution& operator[](std::size_t i) const { return *rows[i]; }
    };
    rows_on_path targets() const { return {kept_.targets}; }
    std::span<const std::size_t> nodes() const { return kept_.nodes; }

 private:
    using path_type = tree::greatest_path<Proposal>;

    void make_room() {
        const std::size_t nodes = proposed_.size();
        kept_.depths.assign(nodes, 0);
        kept_.picked.resize(nodes);
        kept_.coefficients.resize(tree::doubles_for(nodes));
        kept_.begins.resize(tree::depths_for(nodes));
        kept_.tokens.clear();
        kept_.targets.clear();
    }

    void pick(const path_type& path, std::size_t first, const distribution& target) {
        for (std::size_t node = first; node < proposed_.size(); node = path.competitor(node + 1)) {
            require_one_row(path.parents, proposed_.size(), node,
                            [&](std::size_t i) -> const distribution& { return *proposed_[i].row; });
        }
        const distribution& row = *proposed_[first].row;
        const auto rank = [&](token t) {
            return tree::ranked_token{static_cast<float>(target.probability(t) / row.probability(t)), t};
        };
        path.pick(first, rank);
        if (kept_.rows.size() == path.size) kept_.rows.emplace_back();
        weigh(row, rank, path.next_above(kept_.coefficients.data(), kept_.begins.data()), kept_.picked[path.size],
              kept_.rows[path.size].chances);
        kept_.tokens.push_back(kept_.picked[path.size].id);
    }

    /// The distribution of the greatest token, given the path so far, by chunks of the order.
    void weigh(const distribution& row, const auto& rank, const tree::none_above& above, tree::picked_token& picked,
               std::vector<double>& chances) const {
        auto& order = kept_.order;
        order.clear();
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (row[i] > 0) order.push_back(rank(static_cast<token>(i)));
        }
        std::sort(order.begin(), order.end());
        chances.assign(row.size(), 0.0);
        double before = 0;
        for (std::size_t begin = 0; begin < order.size(); begin += detail::chunk_size) {
            const tree::ranked_token* const from = order.data() + begin;
            const tree::ranked_token* const to = order.data() + detail::end_of_chunk(begin, order.size());
            before += weigh_ranked(from, to, before, row, above, picked, chances.data());
        }
        const double sum = detail::sum_in_chunks(chances, chances.size());
        for (double& chance : chances) chance /= sum;
    }

    const Proposal& proposed_;
    greatest_path_storage& kept_;
};

/// Picks the path of the tree that is greatest by target / draft, token by token, knows the distribution that it has as
/// the greatest of so many independent ones, and judges it by `block` as if that had been its draft. Effect: none, the
/// joint distribution of the text is the target's exactly, for siblings that are drawn with replacement: the K
/// independent paths of the paper, or any tree of such siblings whose shape does not depend on the tokens drawn (which
/// the drafter sees to, as draft_model does). Siblings of several rows are refused when they are met, but for
/// temperature 0, where it is `exact` on any tree. On a chain it is `block`.
/// Randomness: at most one coin per token of the path, one draw per round. Cost: the rows of one path are transformed;
/// for each of its tokens a row of doubles, a sort of the draft's row and a product over the tree's nodes. Allocates
/// nothing once its storage has grown. Drawn tokens only. Source: Thomas and Pal 2026, "Greedy multi-path block
/// verification for faster decoding in speculative sampling" (arXiv 2602.16961); trees that branch after the prefix are
/// ours.
struct multipath_block {
    using guarantee = guarantee::same_distribution;
    using token_selector = draft::sampled_with_replacement;
    using storage_type = greatest_path_storage;

    template <class Targets, ChainProposalOf<distribution> Proposal>
    token judge_tree(const Targets& targets, const Proposal& proposed, const auto& draws,
                     std::vector<std::size_t>& path, storage_type& storage) const {
        if (token after = no_token; follow_points(targets, proposed, path, after)) return after;
        path.clear();
        const picked_path<Targets, Proposal> greatest(targets, proposed, storage);
        const auto nodes = greatest.nodes();
        const auto along = [&](std::size_t i) {
            return draws(i == 0 ? after_prefix : static_cast<std::int32_t>(nodes[i - 1]), 0);
        };
        const verdict decided = block{}.judge_block(greatest.targets(), greatest, along);
        path.assign(nodes.begin(), nodes.begin() + static_cast<std::ptrdiff_t>(decided.accepted));
        return decided.next;
    }
    /// The same with storage of its own.
    template <class Targets, ChainProposalOf<distribution> Proposal>
    token judge_tree(const Targets& targets, const Proposal& proposed, const auto& draws,
                     std::vector<std::size_t>& path) const {
        storage_type storage;
        return judge_tree(targets, proposed, draws, path, storage);
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return rejection_sampling{}.draw(target, draws);
    }

    /// The row that the accepted token was drawn from (scheme/stage.hpp): always the target's, given those before it.
    const distribution& drawn_from(const distribution& target, const drafted_token<distribution>&,
                                   distribution&) const {
        return target;
    }

 private:
    /// Along nodes whose tokens are certain, to the token that follows them; none follows a row that nothing can be
    /// drawn from. False where a row is neither that nor a point.
    static bool follow_points(const auto& targets, const auto& proposed, std::vector<std::size_t>& path, token& after) {
        for (std::size_t row = 0;; row = 1 + path.back()) {
            const distribution& target = targets[row];
            if (target.empty()) return true;
            if (!target.is_point()) return false;
            const auto parent = static_cast<std::int32_t>(row) - 1;
            const auto parents = parents_of(proposed);
            std::size_t child = parents::next_child(parents, proposed.size(), parent, row);
            while (child < proposed.size() && proposed.tokens()[child] != target.mode()) {
                child = parents::next_child(parents, proposed.size(), parent, child + 1);
            }
            if (child == proposed.size()) {
                after = target.mode();
                return true;
            }
            path.push_back(child);
        }
    }
};

}  // namespace augur::accept
