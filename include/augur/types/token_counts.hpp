#pragma once
// Counts of each token.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// How often a token occurs: in the whole prefix, and in its generated part alone.
struct token_count {
    std::size_t anywhere = 0;
    std::size_t generated = 0;
};

/// Distinct tokens with their counts, in one piece of memory; and a hash table of their places. In the order in which
/// they came, until one that is not the last is erased. Adding, finding and erasing take expected constant time, and
/// allocate nothing once there was room for as many. Memory: 24 bytes a distinct token and 8 to 16 for its place.
class token_counts {
 public:
    using value_type = std::pair<token, token_count>;

    std::size_t size() const { return counts_.size(); }
    auto begin() const { return counts_.begin(); }
    auto end() const { return counts_.end(); }
    auto find(token t) const {
        const std::uint32_t place = slots_.empty() ? 0 : slots_[slot_of(t)];
        return place == 0 ? end() : begin() + static_cast<std::ptrdiff_t>(place - 1);
    }
    const token_count& at(token t) const {
        const auto found = find(t);
        if (found == end()) detail::fail("token ", t, " does not occur");
        return found->second;
    }
    bool contains(token t) const { return find(t) != end(); }

    void reserve(std::size_t distinct) {
        counts_.reserve(distinct);
        if (slots_.size() < 2 * distinct) rehash(2 * distinct);
    }
    /// A token that did not occur counts 0. If memory fails, nothing has changed.
    token_count& operator[](token t) {
        if (slots_.size() < 2 * (counts_.size() + 1)) rehash(4 * (counts_.size() + 1));
        std::uint32_t& place = slots_[slot_of(t)];
        if (place == 0) {
            counts_.push_back({t, {}});
            place = static_cast<std::uint32_t>(counts_.size());
        }
        return counts_[place - 1].second;
    }
    /// Of a token that occurs.
    void erase(token t) {
        const std::size_t gone = slot_of(t);
        const std::uint32_t place = slots_[gone];
        if (place != counts_.size()) {
            slots_[slot_of(counts_.back().first)] = place;
            counts_[place - 1] = counts_.back();
        }
        empty(gone);
        counts_.pop_back();
    }
    void forget_generated() {
        for (auto& [id, count] : counts_) count.generated = 0;
    }

 private:
    std::size_t home(token t) const {
        const std::uint64_t hash = static_cast<std::uint32_t>(t) * std::uint64_t{0x9e3779b97f4a7c15};
        return static_cast<std::size_t>(hash >> 32) & (slots_.size() - 1);
    }

    /// Where the token's place is, or the empty slot where it would be.
    std::size_t slot_of(token t) const {
        std::size_t slot = home(t);
        while (slots_[slot] != 0 && counts_[slots_[slot] - 1].first != t) slot = (slot + 1) & (slots_.size() - 1);
        return slot;
    }

    /// Moves up what would no longer be found behind an empty slot.
    void empty(std::size_t slot) {
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t next = (slot + 1) & mask; slots_[next] != 0; next = (next + 1) & mask) {
            const std::size_t from_home = (next - home(counts_[slots_[next] - 1].first)) & mask;
            if (from_home < ((next - slot) & mask)) continue;
            slots_[slot] = slots_[next];
            slot = next;
        }
        slots_[slot] = 0;
    }

    void rehash(std::size_t least) {
        std::vector<std::uint32_t> larger(std::bit_ceil(std::max<std::size_t>(least, 16)));
        slots_.swap(larger);
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            slots_[slot_of(counts_[i].first)] = static_cast<std::uint32_t>(i + 1);
        }
    }

    std::vector<value_type> counts_;
    std::vector<std::uint32_t> slots_;  // place + 1 in counts_, 0: empty; a power of two, at most half of them used
};

}  // namespace augur
