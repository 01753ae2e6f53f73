#pragma once
// Typical acceptance (Medusa): accepts drafted tokens that are likely enough for the entropy of the target. Lossy.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/accept/concept.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token_selector.hpp"
#include "augur/types/topology.hpp"

namespace augur::accept {

/// The token that follows the accepted ones: the target's most probable one, as in Medusa and Hydra; or drawn from
/// those that the rule would accept there, as in Medusa's slower mode.
enum class typical_next { most_probable, drawn };

struct typical_options {
    double epsilon = 0.09;  ///< the most that is asked of a token's probability
    double delta = 0.3;     ///< the part of exp(-entropy) that is asked; alpha in Medusa's code
    typical_next next = typical_next::most_probable;
};

/// What tokens add to a row's entropy in nats, as published: -p log(p + 1e-5). The sum is lower than the entropy, by up
/// to 1e-5 nats for each possible token.
template <class Row>
struct entropy_terms {
    const Row& target;

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE double operator[](std::size_t i) const {
        const double p = target[i] / target.total();
        return p > 0 ? -p * std::log(p + 1e-5) : 0;
    }
};

/// In the order that the row has (detail/chunks.hpp). Rows that lie elsewhere have an overload beside them.
template <class Row>
double sum_of(const entropy_terms<Row>& terms) {
    return augur::detail::sum_in_chunks(terms, terms.target.size());
}

/// The target's weights of tokens that have at least this probability. Rows that lie elsewhere have a specialisation
/// beside them.
template <class Row = distribution>
class likely_tokens {
 public:
    likely_tokens(const Row& of, double least) : target_(of), least_(least) {
        total_ = augur::detail::sum_in_chunks(*this, size());
    }

    std::size_t size() const { return target_.size(); }
    double operator[](std::size_t i) const { return target_[i] / target_.total() >= least_ ? target_[i] : 0; }
    double total() const { return total_; }

 private:
    const Row& target_;
    double least_;
    double total_ = 0;
};

/// What `typical` knows of the path to a node.
struct typical_path {
    static constexpr std::uint32_t rejected = ~std::uint32_t{0};

    double log_probability = 0;
    std::uint32_t length = rejected;  ///< nodes; or one of them is rejected

    AUGUR_HOST_DEVICE bool accepted() const { return length != rejected; }
    /// A longer one is, and of equally long ones the more probable.
    AUGUR_HOST_DEVICE bool better_than(const typical_path& other) const {
        return length > other.length || (length == other.length && log_probability > other.log_probability);
    }
};

/// Paths by row: that to node i is number 1 + i, the empty one number 0.
class typical_paths {
 public:
    /// So many, all rejected.
    void reset(std::size_t rows) { paths_.assign(rows, {}); }
    void put(std::size_t row, const typical_path& path) { paths_[row] = path; }
    const typical_path& operator[](std::size_t row) const { return paths_[row]; }

 private:
    std::vector<typical_path> paths_;
};

/// Accepts a drafted token whose target probability is above min(epsilon, delta * exp(-entropy_nats)), whatever the
/// draft; of a tree the longest path of such tokens, of several the most probable, and of these the first, eldest child
/// by eldest child. Effect: not lossless, though it has been called so. Every token has the probability
/// `promised().bound(entropy_nats)` at least, and no more is promised; texts are more probable than the target's own.
/// At temperature 0 it is greedy decoding. Randomness: none, or one draw per round. Cost: the rows after accepted nodes
/// are transformed, two passes over each. Source: `evaluate_posterior` of Medusa (Cai et al. 2024, section 2.3.1) and
/// Hydra (Ankner et al. 2024).
class typical {
 public:
    using guarantee = guarantee::minimum_probability;
    using token_selector = draft::argmax;
    static constexpr bool certain = true;

    /// Refuses numbers outside of [0, 1].
    explicit typical(const typical_options& chosen = {})
        : promised_{checked("epsilon", chosen.epsilon), checked("delta", chosen.delta)}, next_(chosen.next) {}

    /// The guarantee, with its bound.
    guarantee promised() const { return promised_; }

    using storage_type = typical_paths;
    using path_type = typical_path;
    struct any_node {
        AUGUR_HOST_DEVICE constexpr bool operator()(std::size_t) const { return true; }
    };

    /// The path ends at a node for which `may_end(node)` holds: any, if that is not given.
    template <ChainProposal Proposal, class MayEnd = any_node>
    token judge_tree(const auto& targets, const Proposal& proposed, const auto& draws, std::vector<std::size_t>& path,
                     storage_type& storage, const MayEnd& may_end = {}) const {
        const auto above = [&](std::size_t row) { return threshold(targets[row]); };
        const std::int32_t last = end_of_path(targets, above, proposed, storage, may_end);
        for (std::int32_t node = last; node != after_prefix;
             node = parents::of(parents_of(proposed), static_cast<std::size_t>(node))) {
            path.push_back(static_cast<std::size_t>(node));
        }
        std::reverse(path.begin(), path.end());
        const auto& target = targets[static_cast<std::size_t>(last + 1)];
        if (target.empty()) return no_token;
        auto after = draws(last, 0);
        return draw(target, after);
    }
    /// The same with storage of its own.
    template <ChainProposal Proposal>
    token judge_tree(const auto& targets, const Proposal& proposed, const auto& draws,
                     std::vector<std::size_t>& path) const {
        storage_type storage;
        return judge_tree(targets, proposed, draws, path, storage);
    }

    /// The last node of the accepted path. `above(row)` is the threshold of a row that can be drawn from; `paths` is
    /// storage (typical_paths). On the host and in kernels.
    AUGUR_WHERE_ARGUMENTS_CAN
    template <ChainProposal Proposal, class MayEnd = any_node>
    AUGUR_HOST_DEVICE std::int32_t end_of_path(const auto& targets, const auto& above, const Proposal& proposed,
                                               auto& paths, const MayEnd& may_end = {}) const {
        const auto parents = parents_of(proposed);
        const std::size_t nodes = proposed.size();
        paths.reset(nodes + 1);
        paths.put(0, typical_path{.length = 0});
        std::int32_t best = after_prefix;
        for (std::size_t row = 0; row < nodes; ++row) {  // parents before children
            const std::int32_t parent = static_cast<std::int32_t>(row) - 1;
            const typical_path here = paths[row];
            std::size_t child = parents::next_child(parents, nodes, parent, row);
            if (!here.accepted() || child == nodes) continue;
            const auto& target = targets[row];
            if (target.empty()) continue;
            const double least = above(row);
            for (; child < nodes; child = parents::next_child(parents, nodes, parent, child + 1)) {
                const token drafted = proposed.tokens()[child];
                const double p = target.probability(drafted);
                if (target.is_point() ? drafted != target.mode() : !(p > least)) continue;
                const typical_path longer{here.log_probability + std::log(p), here.length + 1};
                paths.put(child + 1, longer);
                if (!may_end(child)) continue;
                const auto node = static_cast<std::int32_t>(child);
                const typical_path so_far = paths[static_cast<std::size_t>(best + 1)];
                if (longer.better_than(so_far) || (!so_far.better_than(longer) && comes_first(parents, node, best))) {
                    best = node;
                }
            }
        }
        return best;
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Row>
    AUGUR_HOST_DEVICE token draw(const Row& target, auto& draws) const {
        if (next_ == typical_next::most_probable || target.is_point()) return target.mode();
        return static_cast<token>(draws.choose(likely_tokens<Row>(target, least(target)), purpose::correction));
    }

    /// What a token's probability has to be above, after this row. Of the published entropy, so that it is above the
    /// promised bound.
    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Row>
    AUGUR_HOST_DEVICE double threshold(const Row& target) const {
        return promised_.bound(sum_of(entropy_terms<Row>{target}));
    }

 private:
    /// Of those that may be drawn: the most probable one always.
    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Row>
    AUGUR_HOST_DEVICE double least(const Row& target) const {
        return std::min(threshold(target), target.probability(target.mode()));
    }

    /// Of two nodes of one depth, whether eldest child by eldest child arrives at `a` first.
    AUGUR_HOST_DEVICE static bool comes_first(std::span<const std::int32_t> parents, std::int32_t a, std::int32_t b) {
        while (true) {
            const std::int32_t above_a = parents::of(parents, static_cast<std::size_t>(a));
            const std::int32_t above_b = parents::of(parents, static_cast<std::size_t>(b));
            if (above_a == above_b) return a < b;
            a = above_a;
            b = above_b;
        }
    }

    static double checked(const char* what, double value) {
        if (!(value >= 0 && value <= 1)) {
            detail::fail("accept::typical: ", what, " must be between 0 and 1, but it is ", value);
        }
        return value;
    }

    guarantee promised_;
    typical_next next_;
};

}  // namespace augur::accept
