#pragma once
// A fused model's sequence, kept in step with the target's hidden states.

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur::model {

/// Input i is token i + 1 of the text with the target's state of position i: true inputs. What follows them was
/// speculative, and is forgotten with the next root.
template <FusedModel M>
class fused_sequence {
 public:
    using rows_type = std::remove_cvref_t<decltype(std::declval<const M&>().extend(
        std::declval<sequence_t<M>&>(), std::span<const token>(), std::span<const float>(), std::size_t()))>;

    explicit fused_sequence(const M& model) : model_(&model), sequence_(model.make_sequence()) {
        waiting_.reserve(most_waiting * target_hidden_size_of(model));
    }

    /// Positions whose states have been seen.
    std::size_t known() const { return known_; }
    sequence_t<M>& sequence() { return sequence_; }
    const sequence_t<M>& sequence() const { return sequence_; }
    /// Of the last run: the state that its last row was made of.
    std::span<const float> last_state() const {
        const auto states = model_->hidden(std::as_const(sequence_));
        return states[states.size() - 1];
    }

    /// Keeps the target's states. They are run with the next root, all at once; before that by catch_up, and where many
    /// have come together.
    void follow(const prefix& committed, const auto& states) {
        const std::size_t width = target_hidden_size_of(*model_);
        for (std::size_t i = 0; i < states.size(); ++i) {
            if (states.first() + i != known_ || known_ == model_->context_length()) continue;
            if (held_ == known_) waiting_.clear();
            if (waiting_.size() == most_waiting * width) {
                run(committed, 0);
                waiting_.clear();
            }
            waiting_.insert(waiting_.end(), states[i].begin(), states[i].end());
            ++known_;
        }
    }
    void catch_up(const prefix& committed) {
        if (held_ < known_) run(committed, 0);
    }

    /// The row after the last true input, of which there is one at least, even if it was made before.
    rows_type root(const prefix& committed) {
        held_ = std::min(held_, known_ - 1);
        return run(committed, 1);
    }
    /// After root: forgets the speculative inputs but the first `kept`, appends these, and returns the last row.
    rows_type extend(std::size_t kept, std::span<const token> tokens, std::span<const float> states) {
        if (model_->length(sequence_) != held_ + kept) model_->truncate(sequence_, held_ + kept);
        return model_->extend(sequence_, tokens, states, 1);
    }

 private:
    static constexpr std::size_t most_waiting = 128;

    /// Makes the sequence hold every true input, and nothing else; returns the last `rows` rows.
    rows_type run(const prefix& committed, std::size_t rows) {
        model_->truncate(sequence_, held_);
        const std::size_t missing = known_ - held_;
        auto result = model_->extend(sequence_, committed.tokens().subspan(held_ + 1, missing),
                                     std::span(waiting_).last(missing * target_hidden_size_of(*model_)), rows);
        held_ = known_;
        return result;
    }

    const M* model_;
    sequence_t<M> sequence_;
    std::size_t held_ = 0;  // true inputs at the start of the sequence
    std::size_t known_ = 0;
    std::vector<float> waiting_;  // the last of the states that are known, at least those that are not held
};

}  // namespace augur::model
