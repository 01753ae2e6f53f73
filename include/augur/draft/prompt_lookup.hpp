#pragma once
// Prompt lookup: drafts the continuations of the last n-gram's earlier occurrences.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/draft/grow_tree.hpp"
#include "augur/draft/ngram_index.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

namespace augur::draft {

/// How large a tree of continuations grows whose shape no plan names.
struct trie_limits {
    std::size_t nodes = 8;
    std::size_t depth = 8;

    void check(const char* who) const {
        if (nodes > 0 && depth > 0) return;
        augur::detail::fail(who, ": nodes is ", nodes, " and depth ", depth, "; each has to be at least 1");
    }
    friend bool operator==(const trie_limits&, const trie_limits&) = default;
};

/// No tree but where a plan names one.
struct as_planned {
    friend bool operator==(const as_planned&, const as_planned&) = default;
};

/// Looks for the longest n-gram, between min_n and max_n tokens, that ends the prefix and occurred in it before (prompt
/// or output). What is read past the end of the prefix is the proposal itself, so that a loop is continued. Its draft
/// distribution is a point mass.
/// Where the plan names no tree: the latest of the occurrences vote on each token of a chain, those that went on
/// differently drop out, and ties are the latest's. Where it names one, which bounds nodes and depth, not the shape,
/// their continuations are one tree, in which each votes for the nodes on its path: the node with the most votes is
/// added first; of equals the shallower, then the latest's. Where all are drafted and nodes are left, those of the next
/// shorter n-gram follow. With `trie_limits` as Shape every draft is such a tree, within these where the plan names
/// none.
/// Effect on the distribution: none. Randomness: none. Cost: expected O(max_n + tokens drafted) for a chain, whatever
/// the prefix's length; for a tree a search for each length that is looked at, and per node a look at all pairs of
/// votes; no model.
/// Source: Saxena 2023, "Prompt lookup decoding"; Yang et al. 2023, "Inference with reference"; trees: He et al. 2024,
/// REST, section 3.2.
template <class Shape = as_planned>
class prompt_lookup {
    static constexpr bool always_trees = std::same_as<Shape, trie_limits>;
    static_assert(always_trees || std::same_as<Shape, as_planned>);

 public:
    /// One of the occurrences, and how far it is followed in a tree.
    struct voter {
        std::size_t place = 0;             ///< where it went on
        std::int32_t node = after_prefix;  ///< of the proposal, where its path is now
        std::size_t depth = 0;             ///< of this node
        token next = no_token;             ///< what it says then
    };
    struct state_type {
        ngram_index index;
        std::vector<std::size_t> places{};  ///< where the occurrences that still vote went on
        std::vector<voter> voters{};        ///< of a tree
    };
    using draft_distribution_type = point_mass;
    static constexpr bool shows_matches = true;
    static constexpr bool fills_trees = true;
    static constexpr bool branches = always_trees;
    static constexpr std::size_t votes = 16;
    static constexpr std::size_t longest = longest_ngram;  ///< of max_n

    explicit prompt_lookup(std::size_t min_n = 1, std::size_t max_n = 8, Shape shape = {})
        : min_n_(min_n), max_n_(max_n), shape_(shape) {
        check_ngram_lengths("prompt_lookup", min_n, max_n);
        if constexpr (always_trees) shape.check("prompt_lookup");
    }

    std::size_t min_n() const { return min_n_; }
    std::size_t max_n() const { return max_n_; }
    const Shape& shape() const { return shape_; }

    /// Of keys and values: none.
    std::size_t cache_bytes(std::size_t) const { return 0; }
    state_type make_state() const { return {ngram_index(min_n_, max_n_)}; }

    void prepare(state_type& state, const prefix& prompt) const {
        state.index.reserve(prompt.capacity());
        state.places.reserve(votes);
        state.index.follow(prompt.tokens());
    }

    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (!context.wants_more(0)) return;
        state.index.follow(context.prefix().tokens());
        const std::size_t length = state.index.find(votes, state.places);
        if (length == 0) return;
        context.matched(length);
        if constexpr (always_trees || plans_trees<decltype(context)>) {
            const trie_limits budget = budget_of(context);
            if (budget.nodes > 0) return fill(state, proposed, length, budget);
        }
        while (context.wants_more(proposed.size())) proposed.push(elected(state, proposed.tokens()));
    }

    void on_commit(state_type&, const prefix&) const {}  // propose follows the prefix itself

    friend bool operator==(const prompt_lookup&, const prompt_lookup&) = default;
    friend std::ostream& operator<<(std::ostream& out, const prompt_lookup& d) {
        out << "prompt_lookup{.min_n=" << d.min_n_ << ", .max_n=" << d.max_n_;
        if constexpr (always_trees) out << ", .nodes=" << d.shape_.nodes << ", .depth=" << d.shape_.depth;
        return out << '}';
    }

 private:
    /// The token that followed most often; only the places where it did vote on.
    static token elected(state_type& state, std::span<const token> drafted) {
        const std::span<const token> known = state.index.tokens();
        const auto follower = [&](std::size_t place) {
            const std::size_t at = place + drafted.size();
            return at < known.size() ? known[at] : drafted[at - known.size()];
        };
        token best = no_token;
        std::ptrdiff_t most = 0;
        for (std::size_t place : state.places) {
            const auto agrees = [&](std::size_t other) { return follower(other) == follower(place); };
            const std::ptrdiff_t count = std::count_if(state.places.begin(), state.places.end(), agrees);
            if (count <= most) continue;
            best = follower(place);
            most = count;
        }
        std::erase_if(state.places, [&](std::size_t place) { return follower(place) != best; });
        return best;
    }

    /// Of a tree; no nodes: it is to be a chain.
    trie_limits budget_of(auto& context) const {
        const std::size_t planned = context.plan().size(), depth = context.wanted();
        if (planned > 0) return {.nodes = planned, .depth = depth};
        if constexpr (always_trees) return {.nodes = shape_.nodes, .depth = std::min(shape_.depth, depth)};
        return {.nodes = 0, .depth = depth};
    }

    /// A tree of the continuations after the last `length` tokens, which the places are of, then of fewer tokens.
    void fill(state_type& state, proposal<point_mass>& proposed, std::size_t length, const trie_limits& budget) const {
        state.voters.reserve(votes);
        add_paths(state, proposed, budget);
        while (--length >= min_n_ && proposed.size() < budget.nodes) {
            state.index.find(length, votes, state.places);
            add_paths(state, proposed, budget);
        }
    }

    /// Follows the occurrences at `places` through the tree, and adds what is not there.
    static void add_paths(state_type& state, proposal<point_mass>& proposed, const trie_limits& budget) {
        auto& voters = state.voters;
        voters.clear();
        for (const std::size_t place : state.places) {
            voters.push_back({.place = place, .next = state.index.tokens()[place]});
        }
        while (true) {
            std::erase_if(voters, [&](const voter& each) { return each.depth >= budget.depth; });
            if (voters.empty()) return;
            const voter best = elected_path(voters);
            const std::int32_t node = trie_node(proposed, best.node, best.next, budget.nodes);
            if (node == no_node) return;
            for (voter& each : voters) {
                if (each.node != best.node || each.next != best.next) continue;
                each.node = node;
                ++each.depth;
                each.next = after_path(state, proposed, each);
            }
        }
    }

    /// The first of those that agree with the most; of equal numbers the shallower's.
    static const voter& elected_path(const std::vector<voter>& voters) {
        const voter* best = nullptr;
        std::ptrdiff_t top = 0;
        for (const voter& each : voters) {
            const auto agrees = [&](const voter& other) { return other.node == each.node && other.next == each.next; };
            if (best != nullptr && agrees(*best)) continue;  // counted
            const std::ptrdiff_t count = std::count_if(voters.begin(), voters.end(), agrees);
            if (count < top || (count == top && each.depth >= best->depth)) continue;
            best = &each;
            top = count;
            if (2 * top > std::ssize(voters)) break;  // the others are fewer
        }
        return *best;
    }

    /// The token after the path of an occurrence: in the text, or beyond its end on the path itself.
    static token after_path(const state_type& state, const proposal<point_mass>& proposed, const voter& of) {
        const std::span<const token> known = state.index.tokens();
        const std::size_t at = of.place + of.depth;
        if (at < known.size()) return known[at];
        auto node = static_cast<std::size_t>(of.node);
        for (std::size_t up = of.depth - 1; up > at - known.size(); --up) {
            node = static_cast<std::size_t>(proposed.parent(node));
        }
        return proposed.tokens()[node];
    }

    std::size_t min_n_;
    std::size_t max_n_;
    [[no_unique_address]] Shape shape_;
};

prompt_lookup(std::size_t, std::size_t, trie_limits)->prompt_lookup<trie_limits>;

}  // namespace augur::draft
