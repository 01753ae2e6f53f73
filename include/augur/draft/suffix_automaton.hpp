#pragma once
// A suffix automaton of several texts that grow by a token at a time: every part of them, and how often it occurred.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// The smallest automaton that knows every part of the texts that it read. A state stands for the parts that occurred
/// at the same places; the parts of a state are suffixes of its longest one. Texts grow independently of each other,
/// each at its cursor, and none is taken out again.
/// Counts are exact for parts of up to `longest` tokens, and too low for longer ones.
/// Cost: a token is expected to take constant time, at most O(longest) for the counts, and the copy of a state's edges
/// where one is split. Memory: at most two states of 16 bytes and three edges of 16 to 32 bytes a token. Where memory
/// fails, read() throws std::bad_alloc, having read nothing.
/// Source: Blumer et al. 1985, "The smallest automaton recognizing the subwords of a text"; several texts: Blumer et
/// al. 1987.
class suffix_automaton {
 public:
    using state = std::uint32_t;
    static constexpr state root = 0;  ///< the empty part
    static constexpr state none = std::numeric_limits<state>::max();
    /// So many tokens have fewer states and edges than their numbers can say.
    static constexpr std::size_t most_tokens = std::size_t{1} << 30;

    /// Where a text ends; a new one begins at the default.
    struct cursor {
        state whole = root;  ///< of the whole text
        state part = root;   ///< of its last `length` tokens
        std::uint32_t length = 0;
    };

    explicit suffix_automaton(std::uint32_t longest) : longest_(longest), states_(1) {}

    std::size_t tokens() const { return tokens_; }
    std::size_t states() const { return states_.size(); }
    std::size_t memory_bytes() const {
        return states_.capacity() * sizeof(node) + edges_.capacity() * sizeof(edge) + slots_.capacity() * sizeof(place);
    }

    /// Appends a token to the text of this cursor.
    void read(cursor& at, token t) {
        reserve(at.whole, t);
        ++tokens_;
        at.whole = appended(at.whole, t);
        // The cursor's part may have become one of a state that was split off since.
        at.part = after(with_length(at.part, at.length), t);
        at.length = std::min(at.length + 1, longest_);
        at.part = with_length(at.part, at.length);
        for (state each = at.part; each != root; each = states_[each].link) ++states_[each].count;
    }

    /// The parts of this state with this token behind them; none where that did not occur.
    state after(state from, token t) const {
        const place found = edge_of(from, t);
        return found == none ? none : edges_[found].to;
    }
    /// The state of the longest shorter suffix that occurred elsewhere, too. Of the root: none.
    state shorter(state from) const { return states_[from].link; }
    /// Tokens of its longest part.
    std::uint32_t length(state of) const { return states_[of].length; }
    /// How often its parts occurred.
    std::uint32_t count(state of) const { return states_[of].count; }
    /// Whether anything followed.
    bool goes_on(state from) const { return states_[from].edges != none; }

    /// Calls see(token, how often it followed) for each token that followed, the one that did so first the last.
    template <class See>
    void each_after(state from, const See& see) const {
        for (place each = states_[from].edges; each != none; each = edges_[each].next) {
            see(edges_[each].by, states_[edges_[each].to].count);
        }
    }

 private:
    using place = std::uint32_t;  ///< of an edge
    struct node {
        std::uint32_t length = 0;
        state link = none;
        place edges = none;  ///< the latest of them
        std::uint32_t count = 0;
    };
    struct edge {
        state from = root;
        token by = no_token;
        state to = root;
        place next = none;  ///< of the same state
    };

    /// The suffix of `length` tokens of a state's parts: of that state, or of one that was split from it.
    state with_length(state of, std::uint32_t length) const {
        while (of != root && states_[states_[of].link].length >= length) of = states_[of].link;
        return of;
    }

    std::size_t slot_of(state from, token t) const {
        const std::uint64_t key = (std::uint64_t{from} << 32) | static_cast<std::uint32_t>(t);
        return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15) >> 32) & (slots_.size() - 1);
    }
    place edge_of(state from, token t) const {
        if (slots_.empty()) return none;
        for (std::size_t slot = slot_of(from, t);; slot = (slot + 1) & (slots_.size() - 1)) {
            const place found = slots_[slot];
            if (found == none || (edges_[found].from == from && edges_[found].by == t)) return found;
        }
    }

    /// Room for what appending the token adds, so that nothing is half done.
    void reserve(state whole, token t) {
        if (tokens_ >= most_tokens) {
            augur::detail::fail("suffix_automaton: it has ", tokens_, " tokens; it takes no more");
        }
        std::size_t edges = 0;
        state from = whole;
        for (; from != none && after(from, t) == none; from = states_[from].link) ++edges;
        if (from != none) each_after(after(from, t), [&](token, std::uint32_t) { ++edges; });
        grow(states_, states_.size() + 2);
        grow(edges_, edges_.size() + edges);
        if (2 * (edges_.size() + edges) > slots_.size()) rehash(4 * (edges_.size() + edges));
    }
    template <class T>
    static void grow(std::vector<T>& into, std::size_t size) {
        if (size > into.capacity()) into.reserve(std::max(size, 2 * into.capacity()));
    }
    void rehash(std::size_t least) {
        std::vector<place> slots(std::bit_ceil(std::max<std::size_t>(least, 16)), none);
        slots_.swap(slots);
        for (place each = 0; each < edges_.size(); ++each) put(each);
    }
    void put(place each) {
        std::size_t slot = slot_of(edges_[each].from, edges_[each].by);
        while (slots_[slot] != none) slot = (slot + 1) & (slots_.size() - 1);
        slots_[slot] = each;
    }

    state add_state(node of) {
        states_.push_back(of);
        return static_cast<state>(states_.size() - 1);
    }
    void add_edge(state from, token t, state to) {
        edges_.push_back({from, t, to, states_[from].edges});
        states_[from].edges = static_cast<place>(edges_.size() - 1);
        put(states_[from].edges);
    }

    /// The state of a text with this token behind it.
    state appended(state whole, token t) {
        if (const state known = after(whole, t); known != none) return exactly(whole, t, known);
        const state made = add_state({.length = states_[whole].length + 1});
        state from = whole;
        for (; from != none && after(from, t) == none; from = states_[from].link) add_edge(from, t, made);
        states_[made].link = from == none ? root : exactly(from, t, after(from, t));
        return made;
    }

    /// The state whose longest part is that of `from` and the token: `to`, or what is split off from it.
    state exactly(state from, token t, state to) {
        if (states_[to].length == states_[from].length + 1) return to;
        const state split = add_state({states_[from].length + 1, states_[to].link, none, states_[to].count});
        copy_edges(states_[to].edges, split);
        states_[to].link = split;
        for (; from != none; from = states_[from].link) {
            const place each = edge_of(from, t);
            if (each == none || edges_[each].to != to) break;
            edges_[each].to = split;
        }
        return split;
    }
    /// In their order.
    void copy_edges(place first, state into) {
        place last = none;
        for (place each = first; each != none; each = edges_[each].next) {
            const auto made = static_cast<place>(edges_.size());
            edges_.push_back({into, edges_[each].by, edges_[each].to, none});
            put(made);
            (last == none ? states_[into].edges : edges_[last].next) = made;
            last = made;
        }
    }

    std::uint32_t longest_;
    std::size_t tokens_ = 0;
    std::vector<node> states_;
    std::vector<edge> edges_;
    std::vector<place> slots_;  ///< where edges are, by state and token
};

}  // namespace augur::draft
