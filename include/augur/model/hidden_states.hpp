#pragma once
// The target's hidden states after each token, for drafters that read them.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "augur/model/concepts.hpp"

namespace augur {

/// The target's hidden states at the positions [first(), first() + size()): row i was made from the token there and all
/// before it. Valid as long as the model's own.
template <LogitRows Rows = scores>
class hidden_states {
 public:
    /// `places`: the row of each position, where they do not follow one another.
    hidden_states(std::size_t first, Rows rows, std::size_t count, std::span<const std::size_t> places = {})
        : first_(first), rows_(std::move(rows)), count_(count), places_(places) {}

    std::size_t first() const { return first_; }
    std::size_t size() const { return count_; }
    /// Forgets those of positions from `end` on.
    void cut(std::size_t end) { count_ = std::min(count_, std::max(end, first_) - first_); }
    logit_row operator[](std::size_t i) const { return rows_[places_.empty() ? i : places_[i]]; }

 private:
    std::size_t first_;
    Rows rows_;
    std::size_t count_;
    std::span<const std::size_t> places_;
};

}  // namespace augur
