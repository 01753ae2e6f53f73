#pragma once
// Greedily merges neighbouring symbols: the core of every byte pair encoding.

#include <algorithm>
#include <augur/types/token.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace augur::io {

/// The merge of two neighbours, and its priority: larger priorities go first, then what is further left.
struct merge_offer {
    double priority;
    token result;
};

/// A piece of a word: text [begin, begin + length). `length` is 0 once it has been merged into its left neighbour.
struct symbol {
    std::uint32_t begin;
    std::uint32_t length;
    token id;  ///< no_token when the text is no token
    std::uint32_t previous = 0;
    std::uint32_t next = 0;
};

/// Merges the symbols of a word, which is shorter than 4 GiB, until no offer is left. Keep one for many words: it
/// reuses its memory. Cost: n symbols make at most 3n offers, each O(log n) in the queue.
class symbol_merger {
 public:
    void clear() { symbols_.clear(); }

    /// Appends a symbol right of the others.
    void add(std::size_t begin, std::size_t length, token id) {
        symbols_.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(length), id});
    }

    /// offer(left, right) returns what the two symbols become, or nothing; on_symbol is called for what is left over,
    /// in order.
    template <class Offer, class OnSymbol>
    void merge(Offer&& offer, OnSymbol&& on_symbol) {
        link();
        for (std::uint32_t i = 0; i + 1 < symbols_.size(); ++i) consider(i, offer);
        std::make_heap(queue_.begin(), queue_.end());
        while (!queue_.empty()) {
            std::pop_heap(queue_.begin(), queue_.end());
            const auto best = queue_.back();
            queue_.pop_back();
            auto& left = symbols_[best.left];
            const auto& right = symbols_[best.right];
            // Symbols only grow, so an offer is stale exactly when one of the two is gone or the sum has changed.
            if (left.length == 0 || right.length == 0 || left.length + right.length != best.length) continue;
            absorb(best.left, best.right, best.result);
            if (left.previous != none && consider(left.previous, offer)) std::push_heap(queue_.begin(), queue_.end());
            if (consider(best.left, offer)) std::push_heap(queue_.begin(), queue_.end());
        }
        for (const auto& symbol : symbols_) {
            if (symbol.length != 0) on_symbol(symbol);
        }
    }

 private:
    static constexpr std::uint32_t none = 0xFFFFFFFF;

    struct candidate {
        double priority;
        std::uint32_t left;
        std::uint32_t right;
        std::uint32_t length;
        token result;

        bool operator<(const candidate& other) const {
            return priority != other.priority ? priority < other.priority : left > other.left;
        }
    };

    void link() {
        for (std::uint32_t i = 0; i < symbols_.size(); ++i) {
            symbols_[i].previous = i == 0 ? none : i - 1;
            symbols_[i].next = i + 1 < symbols_.size() ? i + 1 : none;
        }
    }

    /// Appends what a symbol and its right neighbour become, if anything, to the end of the queue.
    template <class Offer>
    bool consider(std::uint32_t left, Offer& offer) {
        const auto right = symbols_[left].next;
        if (right == none) return false;
        const std::optional<merge_offer> offered = offer(symbols_[left], symbols_[right]);
        if (!offered) return false;
        queue_.push_back(
            {offered->priority, left, right, symbols_[left].length + symbols_[right].length, offered->result});
        return true;
    }

    void absorb(std::uint32_t left, std::uint32_t right, token result) {
        symbols_[left].length += symbols_[right].length;
        symbols_[left].id = result;
        symbols_[left].next = symbols_[right].next;
        symbols_[right].length = 0;
        if (symbols_[left].next != none) symbols_[symbols_[left].next].previous = left;
    }

    std::vector<symbol> symbols_;
    std::vector<candidate> queue_;  // a heap
};

}  // namespace augur::io
