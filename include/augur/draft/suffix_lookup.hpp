#pragma once
// Suffix decoding: drafts what most often followed the longest known suffix of the text, as a chain or a tree.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/draft/suffix_memory.hpp"
#include "augur/draft/tree_work.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// Looks in a memory of texts for the longest suffix of the text that something followed there. A token's value is how
/// often it followed, over how often anything did, times its parent's value; it follows the path as part of the text,
/// whose longest known suffix counts again. A chain takes the most frequent token each time, of equals the one that was
/// new last. Where the policy plans a tree, which bounds nodes and depth, not the
/// shape, the node with the largest value is added first; where all are drafted and nodes are left, those of the next
/// shorter suffix follow. Suffixes of fewer than `least` tokens are not looked at. The draft distribution is a point
/// mass. Where both of the memory's automata know the longest suffix, their counts are added.
/// Refers to the memory. A session's own text is known as far as a suffix_watcher had it read.
/// Effect on the distribution: none. Randomness: none. Cost: O(longest) for the suffix; per drafted token a look at the
/// different tokens that followed its path; no model.
/// Source: Oliaro et al. 2024, "SuffixDecoding" (arXiv 2411.04975), sections 3.1 and 3.2, with a suffix automaton in
/// place of its tree, and lengths by the policy in place of its bound.
class suffix_lookup {
 public:
    /// The longest suffix of a path that each automaton knows.
    struct place {
        std::array<suffix_automaton::state, 2> at{};
        std::array<std::uint32_t, 2> matched{};
    };
    struct follower {
        token next = no_token;
        std::uint32_t count = 0;
        std::size_t order = 0;  ///< of equals the first
    };
    /// A node that could be added.
    struct candidate {
        double value = 1;
        std::int32_t parent = after_prefix;
        token next = no_token;
        std::size_t depth = 1;
        place from{};           ///< its parent's
        std::size_t order = 0;  ///< of equals the first
    };
    struct state_type {
        std::vector<follower> followers{};
        std::vector<candidate> candidates{};
        std::size_t listed = 0;  ///< candidates of a proposal
    };
    using draft_distribution_type = point_mass;
    static constexpr bool shows_matches = true;
    static constexpr bool fills_trees = true;

    explicit suffix_lookup(const suffix_memory& memory, std::size_t least = 1) : memory_(&memory), least_(least) {
        if (least > 0 && least <= memory.longest()) return;
        augur::detail::fail("suffix_lookup: least is ", least, "; it must be between 1 and the memory's longest, ",
                            memory.longest());
    }

    const suffix_memory& memory() const { return *memory_; }
    std::size_t least() const { return least_; }
    std::size_t vocabulary_size() const { return memory_->vocabulary_size(); }

    /// Of keys and values: none.
    std::size_t cache_bytes(std::size_t) const { return 0; }
    state_type make_state() const { return {}; }

    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (!context.wants_more(0)) return;
        place at = found(context.prefix().tokens());
        const std::size_t matched = fall_back(at);
        if (matched == 0) return;
        context.matched(matched);
        if constexpr (plans_trees<decltype(context)>) {
            const std::size_t nodes = context.plan().size();
            if (nodes > 0) return fill(state, proposed, at, nodes, context.wanted());
        }
        while (context.wants_more(proposed.size()) && fall_back(at) > 0) {
            list_followers(state, at);
            const token next = std::min_element(state.followers.begin(), state.followers.end(), better)->next;
            proposed.push(next);
            at = followed(at, next);
        }
    }

    void on_commit(state_type&, const prefix&) const {}  // propose looks at the prefix itself

    friend std::ostream& operator<<(std::ostream& out, const suffix_lookup& d) {
        return out << "suffix_lookup{.memory=" << *d.memory_ << ", .least=" << d.least_ << '}';
    }

 private:
    static constexpr std::array<std::size_t, 2> both{0, 1};
    const suffix_automaton& age(std::size_t i) const { return memory_->ages()[i]; }

    /// The place of a text.
    place found(const prefix_tokens& text) const {
        place at;
        for (const token t : text.last(std::min(text.size(), memory_->longest()))) at = followed(at, t);
        return at;
    }

    /// With a token behind it.
    place followed(place at, token next) const {
        for (const std::size_t i : both) {
            auto& state = at.at[i];
            while (state != suffix_automaton::root && age(i).after(state, next) == suffix_automaton::none) {
                shorten(at, i);
            }
            const auto to = age(i).after(state, next);
            if (to == suffix_automaton::none) continue;
            state = to;
            at.matched[i] = std::min(at.matched[i] + 1, static_cast<std::uint32_t>(memory_->longest()));
            while (age(i).length(age(i).shorter(state)) >= at.matched[i]) state = age(i).shorter(state);
        }
        return at;
    }
    void shorten(place& at, std::size_t i) const {
        at.at[i] = age(i).shorter(at.at[i]);
        at.matched[i] = age(i).length(at.at[i]);
    }

    /// Shortens to suffixes that something followed; says the length of the longest one, 0 where it is below `least`.
    std::size_t fall_back(place& at) const {
        for (const std::size_t i : both) {
            while (at.at[i] != suffix_automaton::root && !age(i).goes_on(at.at[i])) shorten(at, i);
        }
        const std::size_t longest = std::max(at.matched[0], at.matched[1]);
        return longest < least_ ? 0 : longest;
    }

    /// What followed the longest suffix, and how often.
    void list_followers(state_type& state, const place& at) const {
        state.followers.clear();
        const auto list = [&](std::size_t i, const auto& count_of) {
            age(i).each_after(at.at[i], [&](token t, std::uint32_t n) {
                if (const std::uint32_t count = count_of(t, n); count > 0) {
                    state.followers.push_back({t, count, state.followers.size()});
                }
            });
        };
        const auto alone = [](token, std::uint32_t n) { return n; };
        if (at.matched[0] != at.matched[1]) return list(at.matched[0] > at.matched[1] ? 0 : 1, alone);
        const auto in = [&](std::size_t i, token t) {
            const auto to = age(i).after(at.at[i], t);
            return to == suffix_automaton::none ? 0 : age(i).count(to);
        };
        list(0, [&](token t, std::uint32_t n) { return n + in(1, t); });
        list(1, [&](token t, std::uint32_t n) { return in(0, t) > 0 ? 0 : n; });
    }
    static bool better(const follower& a, const follower& b) {
        return a.count != b.count ? a.count > b.count : a.order < b.order;
    }

    /// Trees of the longest suffix, then of shorter ones.
    void fill(state_type& state, proposal<point_mass>& proposed, place at, std::size_t nodes, std::size_t depth) const {
        while (proposed.size() < nodes && fall_back(at) > 0) {
            state.candidates.clear();
            state.listed = 0;
            add_candidates(state, {.depth = 0, .from = at}, after_prefix, nodes);
            while (!state.candidates.empty() && proposed.size() < nodes) {
                std::pop_heap(state.candidates.begin(), state.candidates.end(), less);
                candidate best = state.candidates.back();
                state.candidates.pop_back();
                const std::int32_t node = trie_node(proposed, best.parent, best.next, nodes);
                if (best.depth == depth) continue;
                best.from = followed(best.from, best.next);
                if (fall_back(best.from) > 0) add_candidates(state, best, node, nodes);
            }
            const std::size_t longer = std::max(at.matched[0], at.matched[1]);
            for (const std::size_t i : both) {
                if (at.matched[i] == longer) shorten(at, i);
            }
        }
    }

    static bool less(const candidate& a, const candidate& b) {
        if (a.value != b.value) return a.value < b.value;
        return a.depth != b.depth ? a.depth > b.depth : a.order > b.order;
    }

    /// Those behind a node; no more than could be drafted.
    void add_candidates(state_type& state, const candidate& parent, std::int32_t node, std::size_t most) const {
        list_followers(state, parent.from);
        double all = 0;
        for (const follower& each : state.followers) all += each.count;
        std::sort(state.followers.begin(), state.followers.end(), better);
        state.followers.resize(std::min(state.followers.size(), most));
        for (const follower& each : state.followers) {
            state.candidates.push_back({.value = parent.value * each.count / all,
                                        .parent = node,
                                        .next = each.next,
                                        .depth = parent.depth + 1,
                                        .from = parent.from,
                                        .order = state.listed++});
            std::push_heap(state.candidates.begin(), state.candidates.end(), less);
        }
    }

    const suffix_memory* memory_;
    std::size_t least_;
};

}  // namespace augur::draft
