#pragma once
// Guesses what mostly followed in texts that were counted before, after longer and shorter contexts, as one tree.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <utility>
#include <vector>

#include "augur/draft/concept.hpp"
#include "augur/draft/grow_tree.hpp"
#include "augur/draft/lookup_tree.hpp"
#include "augur/draft/ngram_table.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

namespace augur::draft {

/// The children of a node are what a table knows to follow its path: after the longest context first, then after each
/// shorter one of at least `least` tokens, each token once. A node costs its rank among its siblings and what its
/// parent costs; the tree has the cheapest nodes, of equals the shallower, then the earlier: first choices first, which
/// are the chain of ngram_store. The policy's tree bounds nodes and depth, not the shape. Claims point masses.
/// Effect on the distribution: none. Randomness: none. Cost: O(longest^2) per node at most; no model.
class ngram_tree {
 public:
    /// A node that could be next.
    struct candidate {
        std::size_t cost = 0, depth = 0, made = 0;  ///< in this order the least is next
        std::int32_t parent = after_prefix;
        token id = no_token;

        friend bool operator<(const candidate& a, const candidate& b) {
            if (a.cost != b.cost) return a.cost < b.cost;
            return a.depth != b.depth ? a.depth < b.depth : a.made < b.made;
        }
    };
    struct state_type {
        std::vector<token> text{};  ///< the last tokens, those of a path included
        std::vector<candidate> candidates{};
        std::vector<token> siblings{};
    };
    using claim_type = point_mass;
    static constexpr bool shows_matches = true;
    static constexpr bool branches = true;

    explicit ngram_tree(ngram_table table, std::size_t least = 1, trie_limits limits = {})
        : table_(std::move(table)), least_(least), limits_(limits) {
        if (least == 0) detail::fail("ngram_tree: least is 0; a context has at least one token");
        if (least > table_.orders().longest) {
            detail::fail("ngram_tree: least is ", least, ", but the table's longest contexts have ",
                         table_.orders().longest, " tokens");
        }
        limits.check("ngram_tree");
    }

    const ngram_table& table() const { return table_; }
    std::size_t least() const { return least_; }
    const trie_limits& limits() const { return limits_; }
    std::size_t vocabulary_size() const { return table_.orders().vocabulary_size; }

    state_type make_state() const { return {}; }

    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (!context.wants_more(0)) return;
        const auto known = context.prefix().tokens();
        const auto seen = known.last(std::min(known.size(), table_.orders().longest));
        state.text.assign(seen.begin(), seen.end());
        const std::size_t length = table_.find(state.text, least_).matched;
        if (length == 0) return;
        context.matched(length);
        const trie_limits room = limits_.within(context);
        state.candidates.clear();
        if (room.depth > 0) add_children(state, {});
        for (std::size_t made = state.candidates.size(); proposed.size() < room.nodes && !state.candidates.empty();) {
            const auto next = std::min_element(state.candidates.begin(), state.candidates.end());
            candidate best = *next;
            state.candidates.erase(next);
            proposed.push(best.id, best.parent);
            if (best.depth == room.depth) continue;
            best.parent = static_cast<std::int32_t>(proposed.size()) - 1;
            best.made = made;
            append_path(state, proposed, best.parent);
            made += add_children(state, best);
            state.text.resize(seen.size());
        }
    }

    void on_commit(state_type&, const prefix&) const {}  // propose looks at the prefix itself

    friend std::ostream& operator<<(std::ostream& out, const ngram_tree& d) {
        return out << "ngram_tree{.table=" << d.table_ << ", .least=" << d.least_ << ", .nodes=" << d.limits_.nodes
                   << ", .depth=" << d.limits_.depth << '}';
    }

 private:
    /// Those of a node, at the end of whose path the text is: `beneath` says its number, depth and cost, and how many
    /// candidates there have been. Returns how many they are.
    std::size_t add_children(auto& state, const candidate& beneath) const {
        auto& siblings = state.siblings;
        siblings.clear();
        const std::size_t shortest = std::max(least_, table_.orders().shortest);
        for (std::size_t n = std::min(table_.orders().longest, state.text.size()); n >= shortest; --n) {
            const token next = table_.after(std::span(state.text).last(n));
            if (next == no_token || std::find(siblings.begin(), siblings.end(), next) != siblings.end()) continue;
            state.candidates.push_back({.cost = beneath.cost + siblings.size(),
                                        .depth = beneath.depth + 1,
                                        .made = beneath.made + siblings.size(),
                                        .parent = beneath.parent,
                                        .id = next});
            siblings.push_back(next);
        }
        return siblings.size();
    }

    static void append_path(auto& state, const proposal<point_mass>& proposed, std::int32_t node) {
        const auto known = static_cast<std::ptrdiff_t>(state.text.size());
        for (; node != after_prefix; node = proposed.parent(static_cast<std::size_t>(node))) {
            state.text.insert(state.text.begin() + known, proposed.tokens()[static_cast<std::size_t>(node)]);
        }
    }

    ngram_table table_;
    std::size_t least_;
    trie_limits limits_;
};

}  // namespace augur::draft
