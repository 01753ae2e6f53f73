#pragma once
// A model wrapper that counts calls and rows.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "augur/model/concepts.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/same_vocabulary.hpp"

namespace augur::testing {

/// What a model was asked for since it was made, over all sequences.
struct call_counts {
    std::size_t calls = 0;        ///< to extend
    std::size_t tokens = 0;       ///< that they appended
    std::size_t rows = 0;         ///< that they returned
    std::size_t truncations = 0;  ///< calls to truncate

    friend bool operator==(const call_counts&, const call_counts&) = default;
};

/// Any model, counted. Copies share the counts. Models Model, and ScoresLastRows where M does.
template <Model M>
class counting_model {
 public:
    using sequence_type = sequence_t<M>;
    static constexpr bool bitwise_rows = has_bitwise_rows<M>;

    explicit counting_model(M model) : model_(std::move(model)), counts_(std::make_shared<call_counts>()) {}

    const call_counts& counts() const { return *counts_; }
    void reset() const { *counts_ = {}; }

    std::size_t vocabulary_size() const { return model_.vocabulary_size(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model_); }
    std::size_t context_length() const { return model_.context_length(); }
    pass_limits limits() const { return model::limits_of(model_); }
    sequence_type make_sequence() const { return model_.make_sequence(); }
    std::size_t length(const sequence_type& sequence) const { return model_.length(sequence); }

    auto extend(sequence_type& sequence, std::span<const token> tokens) const {
        return counted(tokens.size(), model_.extend(sequence, tokens));
    }
    auto extend(sequence_type& sequence, std::span<const token> tokens,
                std::size_t last) const requires ScoresLastRows<M> {
        return counted(tokens.size(), model_.extend(sequence, tokens, last));
    }
    void truncate(sequence_type& sequence, std::size_t length) const {
        ++counts_->truncations;
        model_.truncate(sequence, length);
    }

 private:
    template <LogitRows Rows>
    Rows counted(std::size_t tokens, Rows rows) const {
        ++counts_->calls;
        counts_->tokens += tokens;
        counts_->rows += rows.size();
        return rows;
    }

    M model_;
    std::shared_ptr<call_counts> counts_;
};

}  // namespace augur::testing
