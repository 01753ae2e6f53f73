#pragma once
// The hidden states that draft rows were computed from, for training.

#include <cstddef>
#include <span>
#include <vector>

#include "augur/types/scores.hpp"

namespace augur::draft {

/// Hidden states of one round, one after the other.
class exit_rows {
 public:
    /// Of the round that drafts after so many tokens; what was kept of another is dropped.
    void begin(std::size_t length_before) {
        numbers_.clear();
        length_before_ = length_before;
    }
    /// Returns the copy, which lasts until the next.
    std::span<const float> push(logit_row state) {
        numbers_.insert(numbers_.end(), state.begin(), state.end());
        return std::span<const float>(numbers_).last(state.size());
    }

    /// One state for each drafted token, in order, and perhaps one after them: of a row that ended the draft, and of a
    /// head that learns always. None where the drafter was not asked in the round that began after so many tokens.
    std::span<const float> of(std::size_t length_before) const {
        return length_before == length_before_ ? std::span<const float>(numbers_) : std::span<const float>();
    }

 private:
    std::vector<float> numbers_;
    std::size_t length_before_ = 0;
};

}  // namespace augur::draft
