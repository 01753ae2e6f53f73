#pragma once
// A model's sequence together with the tokens it holds, so that it can be asked about any prefix.

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "augur/model/concepts.hpp"

namespace augur::model {

/// The tokens [0, size) of a sequence are known, so rewinding is never a matter of counting: whatever was speculated
/// before, the cache is truncated to what it shares with the tokens asked about, and extended by the rest.
template <Model M>
class cached_sequence {
 public:
    explicit cached_sequence(const M& model) : model_(&model), sequence_(model.make_sequence()) {}

    const M& model() const { return *model_; }
    const sequence_t<M>& sequence() const { return sequence_; }
    std::span<const token> tokens() const { return tokens_; }

    /// Makes the cache hold exactly `tokens` and returns rows that end with those of the last `rows` tokens
    /// (1 <= rows <= tokens.size()); at least `rows` rows. Cost: one pass over what the cache lacks, at least `rows`.
    /// If the model throws, the cache stays usable.
    auto score(std::span<const token> tokens, std::size_t rows) {
        rewind(tokens.first(tokens.size() - rows));
        const auto missing = tokens.subspan(tokens_.size());
        auto made = extend(missing, rows);
        tokens_.insert(tokens_.end(), missing.begin(), missing.end());
        return made;
    }

    /// Makes the cache hold exactly `tokens`, without asking for rows.
    void fill(std::span<const token> tokens) {
        rewind(tokens);
        const auto missing = tokens.subspan(tokens_.size());
        if (missing.empty()) return;
        extend(missing, 0);
        tokens_.insert(tokens_.end(), missing.begin(), missing.end());
    }

    /// Storage for so many tokens beside the model's own.
    void reserve(std::size_t tokens) { tokens_.reserve(tokens); }

    /// Forgets whatever is not a prefix of `tokens`.
    void rewind(std::span<const token> tokens) {
        const auto differs = std::mismatch(tokens_.begin(), tokens_.end(), tokens.begin(), tokens.end()).first;
        tokens_.erase(differs, tokens_.end());
        if (model_->length(sequence_) != tokens_.size()) model_->truncate(sequence_, tokens_.size());
    }

 private:
    auto extend(std::span<const token> missing, std::size_t rows) {
        if constexpr (ScoresLastRows<M>) {
            return model_->extend(sequence_, missing, rows);
        } else {
            return model_->extend(sequence_, missing);
        }
    }

    const M* model_;
    sequence_t<M> sequence_;
    std::vector<token> tokens_;
};

}  // namespace augur::model
