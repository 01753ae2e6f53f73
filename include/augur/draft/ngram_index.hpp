#pragma once
// Indexes where n-grams occur in a sequence.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/text_follower.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// Each token of a text takes memory and time for all lengths.
inline constexpr std::size_t longest_ngram = 64;

/// Refuses lengths of n-grams that `who` cannot look for.
inline void check_ngram_lengths(const char* who, std::size_t min_n, std::size_t max_n) {
    if (min_n == 0) detail::fail(who, ": min_n is 0; an n-gram has at least one token");
    if (min_n > max_n) detail::fail(who, ": min_n ", min_n, " exceeds max_n ", max_n);
    if (max_n > longest_ngram) detail::fail(who, ": max_n ", max_n, " exceeds ", longest_ngram);
}

/// All n-grams, of min_n to max_n tokens, that something followed in a text. It follows the text forwards and
/// backwards, and what the text was before leaves no trace.
/// Cost: O(max_n) per token that is new or gone; a search is expected to take the length found and the places returned,
/// however long the text is. Another text is compared with the one before in linear time. Memory: a token and, for each
/// length, 8 to 12 bytes per token, twice that while vectors grow; where memory fails, the index is of a shorter text.
class ngram_index {
 public:
    /// 1 <= min_n <= max_n.
    ngram_index(std::size_t min_n, std::size_t max_n)
        : min_n_(min_n), max_n_(max_n), lengths_(max_n - min_n + 1), heads_(2, none) {}

    std::span<const token> tokens() const { return tokens_; }

    /// Storage for so many tokens; following a text of up to them allocates nothing.
    void reserve(std::size_t tokens) {
        tokens_.reserve(tokens);
        previous_.reserve(tokens * lengths_);
        if (heads_.size() < tokens * lengths_) link_all(larger_heads(tokens * lengths_));
    }

    /// Becomes the index of this text, by what differs from the one before. Refuses one of 2^32 entries.
    void follow(const prefix_tokens& text) {
        if (text.size() >= none / lengths_) {
            detail::fail("ngram_index: a text of ", text.size(), " tokens, each with n-grams of ", lengths_,
                         " lengths, has more than ", none, " of them");
        }
        const std::size_t shared = follower_.shared(tokens_, text);
        while (tokens_.size() > shared) pop();
        follower_.cut(shared);
        for (token t : text.subspan(shared)) push(t);
    }

    /// The length of the longest n-gram that ends the text and occurred before; 0 if none did. `places` becomes where
    /// that went on, the latest first, at most `most` of them.
    std::size_t find(std::size_t most, std::vector<std::size_t>& places) const {
        std::size_t found = 0;
        place_type latest = none;
        std::uint64_t hash = 0;
        for (std::size_t n = 1; n <= std::min(max_n_, tokens_.size()); ++n) {
            hash = extended(hash, tokens_[tokens_.size() - n]);
            if (n < min_n_) continue;
            const place_type entry = matching(heads_[slot(hash)], n);
            if (entry == none) break;  // then nothing longer occurred
            found = n;
            latest = entry;
        }
        collect(latest, found, most, places);
        return found;
    }

    /// The same of the n-gram of this length, from min_n up to what find returns.
    void find(std::size_t n, std::size_t most, std::vector<std::size_t>& places) const {
        std::uint64_t hash = 0;
        for (std::size_t i = 1; i <= n; ++i) hash = extended(hash, tokens_[tokens_.size() - i]);
        collect(matching(heads_[slot(hash)], n), n, most, places);
    }

 private:
    using place_type = std::uint32_t;
    static constexpr place_type none = std::numeric_limits<place_type>::max();

    // The entry of the n-gram before place p is p * lengths_ + n - min_n_. Entries whose hashes share a slot are
    // chained from the latest, so that the last one can be taken off again.

    /// What can fail comes before what changes.
    void push(token t) {
        const std::size_t entries = (tokens_.size() + 1) * lengths_;
        previous_.resize(entries, none);
        std::vector<place_type> larger;
        if (entries > heads_.size()) larger = larger_heads(entries);
        tokens_.push_back(t);
        if (larger.empty()) {
            link(tokens_.size() - 1);
        } else {
            link_all(std::move(larger));
        }
    }

    std::vector<place_type> larger_heads(std::size_t entries) const {
        return std::vector<place_type>(std::bit_ceil(entries), none);
    }
    void link_all(std::vector<place_type> heads) {
        heads_ = std::move(heads);
        for (std::size_t place = 0; place < tokens_.size(); ++place) link(place);
    }

    void link(std::size_t place) {
        std::uint64_t hash = 0;
        for (std::size_t n = 1; n <= std::min(max_n_, place); ++n) {
            hash = extended(hash, tokens_[place - n]);
            if (n < min_n_) continue;
            const auto entry = static_cast<place_type>(place * lengths_ + n - min_n_);
            previous_[entry] = heads_[slot(hash)];
            heads_[slot(hash)] = entry;
        }
    }

    void pop() {
        const std::size_t place = tokens_.size() - 1;
        std::uint64_t hash = 0;
        for (std::size_t n = 1; n <= std::min(max_n_, place); ++n) {
            hash = extended(hash, tokens_[place - n]);
            place_type& head = heads_[slot(hash)];
            while (head != none && head >= place * lengths_) head = previous_[head];
        }
        tokens_.pop_back();
    }

    /// Where the n-gram went on, from this entry back.
    void collect(place_type entry, std::size_t n, std::size_t most, std::vector<std::size_t>& places) const {
        places.clear();
        for (; entry != none && places.size() < most; entry = matching(previous_[entry], n)) {
            places.push_back(entry / lengths_);
        }
    }

    /// The entry itself, or the latest in its chain, that is the n-gram at the end of the text.
    place_type matching(place_type entry, std::size_t n) const {
        while (entry != none && !ends_text(entry, n)) entry = previous_[entry];
        return entry;
    }

    bool ends_text(place_type entry, std::size_t n) const {
        if (entry % lengths_ != n - min_n_) return false;
        const std::size_t place = entry / lengths_;
        const std::span<const token> text(tokens_);
        return std::equal(text.end() - static_cast<std::ptrdiff_t>(n), text.end(),
                          text.begin() + static_cast<std::ptrdiff_t>(place - n));
    }

    static std::uint64_t extended(std::uint64_t hash, token t) {
        return (hash + static_cast<std::uint64_t>(t) + 1) * 0x9e3779b97f4a7c15;
    }
    std::size_t slot(std::uint64_t hash) const { return static_cast<std::size_t>(hash >> 32) & (heads_.size() - 1); }

    std::size_t min_n_;
    std::size_t max_n_;
    std::size_t lengths_;
    std::vector<token> tokens_;
    text_follower follower_;
    std::vector<place_type> previous_;  ///< by entry
    std::vector<place_type> heads_;     ///< by slot: the latest entry, a power of two of them
};

}  // namespace augur::draft
