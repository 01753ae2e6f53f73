#pragma once
// Greedy multi-path block verification: of several independent drafts the one that the target likes best, judged as a
// block.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/accept/block.hpp"
#include "augur/accept/concept.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/drawing.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

namespace augur::accept {

/// The law of a token that was picked from among several draws of one row; normalised.
struct picked_row {
    std::vector<double> chances;

    double operator[](std::size_t i) const { return chances[i]; }
    double total() const { return 1; }
    double probability(token t) const { return chances[static_cast<std::size_t>(t)]; }
};

/// A token, by target / draft; of equal ones the lower id is greater.
struct ranked_token {
    double ratio;
    token id;
    friend bool operator<(const ranked_token& a, const ranked_token& b) {
        return a.ratio != b.ratio ? a.ratio < b.ratio : a.id > b.id;
    }
};

/// What greatest_path keeps from round to round.
struct greatest_path_storage {
    /// A token on the path: the draft draws lower ones with probability `below`, and it with probability `here`.
    struct step {
        double below;
        double here;
    };
    std::vector<std::size_t> depths{};  ///< of nodes whose path is the path so far, or a part of it; else 0
    std::vector<token> tokens{};        ///< of the path; and so on
    std::vector<picked_row> rows{};     ///< at least as many
    std::vector<step> steps{};
    std::vector<const distribution*> targets{};
    std::vector<std::size_t> nodes{};
    std::vector<ranked_token> order{};   ///< of a row
    std::vector<double> coefficients{};  ///< of polynomials, one after the other
};

/// The greatest path of a tree in lexicographic order, by target / draft of each token, with the law that its tokens
/// have. It is a chain for `block`; where it ends the target's rows end, or the tree does.
template <class Targets, ChainProposal Proposal>
class greatest_path {
 public:
    using claim_type = picked_row;

    greatest_path(const Targets& targets, const Proposal& proposed, greatest_path_storage& kept)
        : proposed_(proposed), kept_(kept) {
        kept.depths.assign(proposed.size(), 0);
        kept.tokens.clear();
        kept.steps.clear();
        kept.targets.clear();
        std::size_t last = proposed.size();  // of the nodes that have the path's tokens the first
        for (const distribution* target = &targets[0]; !target->empty(); target = &targets[last + 1]) {
            kept.targets.push_back(target);
            const std::size_t node = pick(*target);
            if (node == proposed.size()) break;
            last = node;
        }
        kept.nodes.resize(size());
        for (std::size_t i = size(); i > 0; --i) {
            kept.nodes[i - 1] = last;
            if (i > 1) last = static_cast<std::size_t>(parent_of(last));
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
    using step = greatest_path_storage::step;

    std::int32_t parent_of(std::size_t node) const { return parents::of(parents_of(proposed_), node); }
    /// Whether the path to a node's parent has the tokens of the path so far.
    bool competes(std::size_t node) const {
        const std::int32_t parent = parent_of(node);
        return parent == after_prefix ? size() == 0
                                      : size() > 0 && kept_.depths[static_cast<std::size_t>(parent)] == size();
    }
    /// The first from `from` on that competes for the next token of the path.
    std::size_t next_competitor(std::size_t from) const {
        while (from < proposed_.size() && !competes(from)) ++from;
        return from;
    }

    /// Adds the greatest token that may follow, and returns its first node; proposed.size() where nothing follows.
    std::size_t pick(const distribution& target) {
        const std::size_t first = next_competitor(0);
        if (first == proposed_.size()) return first;
        const distribution& row = *proposed_[first].row;
        const auto rank = [&](token t) { return ranked_token{target.probability(t) / row.probability(t), t}; };
        ranked_token best = rank(proposed_.tokens()[first]);
        for (std::size_t node = first; node < proposed_.size(); node = next_competitor(node + 1)) {
            require_sibling_of_one_row(node);
            best = std::max(best, rank(proposed_.tokens()[node]));
        }
        if (kept_.rows.size() == size()) kept_.rows.emplace_back();
        std::vector<double>& chances = kept_.rows[size()].chances;
        chances.assign(row.size(), 0.0);
        kept_.steps.push_back(weigh(row, rank, best.id, chances));
        std::size_t found = proposed_.size();
        for (std::size_t node = proposed_.size(); node > first; --node) {
            if (!competes(node - 1) || proposed_.tokens()[node - 1] != best.id) continue;
            found = node - 1;
            kept_.depths[found] = size() + 1;
        }
        kept_.tokens.push_back(best.id);
        return found;
    }

    /// The law of the greatest token, given the path so far; what is below `picked`.
    step weigh(const distribution& row, const auto& rank, token picked, std::vector<double>& chances) const {
        auto& order = kept_.order;
        order.clear();
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (row[i] > 0) order.push_back(rank(static_cast<token>(i)));
        }
        std::sort(order.begin(), order.end());
        kept_.coefficients.clear();
        none_above_among(after_prefix, 0);
        step found{0, 0};
        double below = 0, sum = 0;
        for (const ranked_token& each : order) {
            const double here = row.probability(each.id), up_to = below + here;
            if (each.id == picked) found = {below, here};
            sum += chances[static_cast<std::size_t>(each.id)] = here * slope(kept_.coefficients, below, up_to);
            below = up_to;
        }
        for (double& chance : chances) chance /= sum;
        return found;
    }

    /// That no path beneath `parent` is greater than the path so far with one more token: a polynomial in the
    /// probability that one draw of that token is not greater. Adds its coefficients, from the constant on.
    void none_above_among(std::int32_t parent, std::size_t depth) const {
        auto& all = kept_.coefficients;
        const std::size_t product = all.size();
        all.push_back(1);
        const auto parents = parents_of(proposed_);
        for (auto child = parents::next_child(parents, proposed_.size(), parent, 0); child < proposed_.size();
             child = parents::next_child(parents, proposed_.size(), parent, child + 1)) {
            const std::size_t factor = all.size();
            if (depth < size()) {
                none_above_among(static_cast<std::int32_t>(child), depth + 1);
                for (std::size_t i = factor; i < all.size(); ++i) all[i] *= kept_.steps[depth].here;
                all[factor] += kept_.steps[depth].below;
            } else {
                all.insert(all.end(), {0.0, 1.0});
            }
            multiply(product, factor);
        }
    }

    /// The last two polynomials become their product.
    void multiply(std::size_t a, std::size_t b) const {
        auto& all = kept_.coefficients;
        const std::size_t end = all.size(), made = end - a - 1;
        all.resize(end + made, 0.0);
        for (std::size_t i = a; i < b; ++i) {
            for (std::size_t k = b; k < end; ++k) all[end + (i - a) + (k - b)] += all[i] * all[k];
        }
        std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(end), made, all.begin() + static_cast<std::ptrdiff_t>(a));
        all.resize(a + made);
    }

    /// (polynomial(b) - polynomial(a)) / (b - a), without a difference.
    static double slope(const std::vector<double>& polynomial, double a, double b) {
        double value = polynomial.back(), found = 0;
        for (std::size_t i = polynomial.size() - 1; i > 0; --i) {
            found = found * b + value;
            value = value * a + polynomial[i - 1];
        }
        return found;
    }

    void require_sibling_of_one_row(std::size_t node) const {
        const std::size_t eldest = parents::next_child(parents_of(proposed_), proposed_.size(), parent_of(node), 0);
        const distribution &a = *proposed_[eldest].row, &b = *proposed_[node].row;
        if (&a == &b || (a.is_point() && b.is_point() && a.mode() == b.mode())) return;
        if (!a.is_point() && !b.is_point() &&
            std::equal(a.weights().begin(), a.weights().end(), b.weights().begin(), b.weights().end()))
            return;
        detail::fail(
            "accept::multipath_block needs siblings that are drawn with replacement, from one row, but that of node ",
            node, " is not that of its sibling ", eldest, "; draw by draft::sampled_with_replacement");
    }

    const Proposal& proposed_;
    greatest_path_storage& kept_;
};

/// Picks the path of the tree that is greatest by target / draft, token by token, knows the law that it has as the
/// greatest of so many independent ones, and judges it by `block` as if that had been its draft. Effect: none, the
/// joint distribution of the text is the target's exactly, for siblings that are drawn with replacement: the K
/// independent paths of the paper, or any tree of such siblings whose shape does not depend on the tokens drawn (which
/// the drafter sees to, as model_tree does). Siblings of several rows are refused when they are met, but for
/// temperature 0, where it is `exact` on any tree. On a chain it is `block`.
/// Randomness: at most one coin per token of the path, one draw per round. Cost: the rows of one path are transformed;
/// for each of its tokens a row of doubles, a sort of the draft's row and a product over the tree's nodes. Allocates
/// nothing once its storage has grown. Drawn tokens only. Source: Thomas and Pal 2026, "Greedy multi-path block
/// verification for faster decoding in speculative sampling" (arXiv 2602.16961); trees that branch after the prefix are
/// ours.
struct multipath_block {
    using guarantee = guarantee::same_distribution;
    using drawing = draft::sampled_with_replacement;
    using storage_type = greatest_path_storage;

    template <class Targets, ChainProposalOf<distribution> Proposal>
    token judge_tree(const Targets& targets, const Proposal& proposed, const auto& draws,
                     std::vector<std::size_t>& path, storage_type& storage) const {
        if (token after = no_token; follow_points(targets, proposed, path, after)) return after;
        path.clear();
        const greatest_path<Targets, Proposal> greatest(targets, proposed, storage);
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

    token draw(const auto& target, auto& draws) const { return rejection_sampling{}.draw(target, draws); }

    /// The row that the accepted token was drawn from (cascade/stage.hpp): always the target's, given those before it.
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
