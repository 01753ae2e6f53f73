#pragma once
// A mock model with simulated pass times.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "augur/model/concepts.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/error.hpp"

namespace augur::testing {

/// Seconds that never passed.
struct virtual_clock {
    double seconds = 0;
};

/// What a pass costs: pass + rows * row, in seconds.
struct pass_cost {
    double pass = 0;
    double row = 0;
};

/// Any model, each pass of which moves a clock that others may share. Prompts are free where they are read without
/// rows.
template <Model M>
class costed_model {
 public:
    using sequence_type = sequence_t<M>;
    static constexpr bool bitwise_rows = has_bitwise_rows<M>;

    costed_model(M model, pass_cost cost, std::shared_ptr<virtual_clock> clock)
        : model_(std::move(model)), cost_(cost), clock_(std::move(clock)) {
        if (!(cost_.pass >= 0 && cost_.row >= 0)) {
            augur::detail::fail("a pass costs ", cost_.pass, " s and a row ", cost_.row, " s; neither may be negative");
        }
    }

    const virtual_clock& clock() const { return *clock_; }
    std::size_t vocabulary_size() const { return model_.vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model_); }
    std::size_t context_length() const { return model_.context_length(); }
    pass_limits limits() const { return model::limits_of(model_); }
    sequence_type make_sequence() const { return model_.make_sequence(); }
    std::size_t length(const sequence_type& sequence) const { return model_.length(sequence); }

    auto extend(sequence_type& sequence, std::span<const token> tokens) const {
        auto rows = model_.extend(sequence, tokens);
        pass(tokens.size());
        return rows;
    }
    auto extend(sequence_type& sequence, std::span<const token> tokens,
                std::size_t last) const requires ScoresLastRows<M> {
        auto rows = model_.extend(sequence, tokens, last);
        if (last > 0) pass(tokens.size());
        return rows;
    }
    void truncate(sequence_type& sequence, std::size_t length) const { model_.truncate(sequence, length); }

 private:
    void pass(std::size_t rows) const { clock_->seconds += cost_.pass + static_cast<double>(rows) * cost_.row; }

    M model_;
    pass_cost cost_;
    std::shared_ptr<virtual_clock> clock_;
};

}  // namespace augur::testing
