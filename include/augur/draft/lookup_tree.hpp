#pragma once
// Drafts a tree of the continuations of earlier occurrences of the last tokens (prompt lookup).

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "augur/draft/concept.hpp"
#include "augur/draft/grow_tree.hpp"
#include "augur/draft/ngram_index.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

namespace augur::draft {

/// How large a tree of continuations grows where the policy decides a length.
struct trie_limits {
    std::size_t nodes = 8;
    std::size_t depth = 8;

    void check(const char* who) const {
        if (nodes > 0 && depth > 0) return;
        detail::fail(who, ": nodes is ", nodes, " and depth ", depth, "; each has to be at least 1");
    }
    /// Where the policy plans a tree, that one's; else no deeper than it wants.
    trie_limits within(auto& context) const {
        if (plans_trees(context)) {
            const std::size_t nodes_planned = context.plan().size();
            return {.nodes = std::max(nodes_planned, context.wanted()), .depth = context.wanted()};
        }
        return {nodes, std::min(depth, context.wanted())};
    }
    friend bool operator==(const trie_limits&, const trie_limits&) = default;
};

/// Looks for the longest n-gram, between min_n and max_n tokens, that ends the prefix and occurred in it before, as
/// prompt_lookup. The continuations of its latest occurrences are one tree, in which each occurrence votes for the
/// nodes on its path. The node with the most votes is added first; of equals the shallower, then the latest's. Where
/// all of them are drafted and nodes are left, those of the next shorter n-gram follow. What is read past the end of
/// the prefix is the path itself.
/// The policy's tree bounds nodes and depth, not the shape. Its draft distribution is a point mass.
/// Effect on the distribution: none. Randomness: none. Cost: a search for each length that is looked at, and per node a
/// look at all pairs of votes; no model.
class lookup_tree {
 public:
    static constexpr std::size_t votes = 16;

    /// One of the occurrences, and how far it is followed.
    struct voter {
        std::size_t place = 0;             ///< where it went on
        std::int32_t node = after_prefix;  ///< of the proposal, where its path is now
        std::size_t depth = 0;             ///< of this node
        token next = no_token;             ///< what it says then
    };
    struct state_type {
        ngram_index index;
        std::vector<std::size_t> places{};
        std::vector<voter> voters{};
    };
    using draft_distribution_type = point_mass;
    static constexpr bool shows_matches = true;
    static constexpr bool branches = true;

    explicit lookup_tree(std::size_t min_n = 1, std::size_t max_n = 8, trie_limits limits = {})
        : min_n_(min_n), max_n_(max_n), limits_(limits) {
        check_ngram_lengths("lookup_tree", min_n, max_n);
        limits.check("lookup_tree");
    }

    std::size_t min_n() const { return min_n_; }
    std::size_t max_n() const { return max_n_; }
    const trie_limits& limits() const { return limits_; }

    state_type make_state() const { return {ngram_index(min_n_, max_n_)}; }

    void prepare(state_type& state, const prefix& prompt) const {
        state.index.reserve(prompt.capacity());
        state.places.reserve(votes);
        state.voters.reserve(votes);
        state.index.follow(prompt.tokens());
    }

    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (!context.wants_more(0)) return;
        state.index.follow(context.prefix().tokens());
        std::size_t length = state.index.find(votes, state.places);
        if (length == 0) return;
        context.matched(length);
        const trie_limits budget = limits_.within(context);
        add(state, proposed, budget);
        while (--length >= min_n_ && proposed.size() < budget.nodes) {
            state.index.find(length, votes, state.places);
            add(state, proposed, budget);
        }
    }

    void on_commit(state_type&, const prefix&) const {}  // propose follows the prefix itself

    friend bool operator==(const lookup_tree&, const lookup_tree&) = default;
    friend std::ostream& operator<<(std::ostream& out, const lookup_tree& d) {
        return out << "lookup_tree{.min_n=" << d.min_n_ << ", .max_n=" << d.max_n_ << ", .nodes=" << d.limits_.nodes
                   << ", .depth=" << d.limits_.depth << '}';
    }

 private:
    /// Follows the occurrences at `places` through the tree, and adds what is not there.
    static void add(auto& state, proposal<point_mass>& proposed, const trie_limits& budget) {
        auto& voters = state.voters;
        voters.clear();
        for (const std::size_t place : state.places) {
            voters.push_back({.place = place, .next = state.index.tokens()[place]});
        }
        while (true) {
            std::erase_if(voters, [&](const voter& each) { return each.depth >= budget.depth; });
            if (voters.empty()) return;
            const voter best = elected(voters);
            const std::int32_t node = trie_node(proposed, best.node, best.next, budget.nodes);
            if (node == no_node) return;
            for (voter& each : voters) {
                if (each.node != best.node || each.next != best.next) continue;
                each.node = node;
                ++each.depth;
                each.next = follower(state, proposed, each);
            }
        }
    }

    /// The first of those that agree with the most; of equal numbers the shallower's.
    static const voter& elected(const auto& voters) {
        const voter* best = nullptr;
        std::ptrdiff_t most = 0;
        for (const voter& each : voters) {
            const auto agrees = [&](const voter& other) { return other.node == each.node && other.next == each.next; };
            const std::ptrdiff_t count = std::count_if(voters.begin(), voters.end(), agrees);
            if (count < most || (count == most && each.depth >= best->depth)) continue;
            best = &each;
            most = count;
        }
        return *best;
    }

    /// The token after the path of an occurrence: in the text, or beyond its end on the path itself.
    static token follower(const state_type& state, const proposal<point_mass>& proposed, const voter& of) {
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
    trie_limits limits_;
};

}  // namespace augur::draft
