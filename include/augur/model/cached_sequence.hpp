#pragma once
// A model's sequence together with the tokens it holds, so that it can be asked about any prefix.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/model/hidden_states.hpp"

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
        return score_by(tokens, rows,
                        [&](sequence_t<M>&, std::span<const token> missing) { return extend(missing, rows); });
    }

    /// The same by `extend(sequence, missing)`, which appends what is missing; returns what that returns.
    template <class Extend>
    auto score_by(std::span<const token> tokens, std::size_t rows, const Extend& extend) {
        rewind(tokens.first(tokens.size() - rows));
        const auto missing = tokens.subspan(tokens_.size());
        auto made = extend(sequence_, missing);
        hold(missing);
        return made;
    }

    /// Makes the cache hold exactly `tokens`, without asking for rows.
    void fill(std::span<const token> tokens) {
        rewind(tokens);
        const auto missing = tokens.subspan(tokens_.size());
        if (missing.empty()) return;
        extend(missing, 0);
        hold(missing);
    }

    /// The same, and `see(states)` for each part of what was missing, in order. No row of logits is made where the model
    /// can do without.
    template <class See>
    void fill(std::span<const token> tokens, const See& see) requires HiddenStateModel<M> {
        rewind(tokens);
        while (tokens_.size() < tokens.size()) {
            const auto part = tokens.subspan(tokens_.size(), std::min(tokens.size() - tokens_.size(), most_states));
            if constexpr (PrefillsStates<M>) {
                model_->extend_states(sequence_, part);
            } else {
                model_->extend(sequence_, part);
            }
            hold(part);
            see(states(tokens_.size()));
        }
    }

    /// The states that the last pass made, of those of its tokens that are still held and lie before `end`.
    auto states(std::size_t end) const requires HiddenStateModel<M> {
        auto rows = model_->hidden(sequence_);
        const std::size_t first = scored_ - rows.size();
        return hidden_states(first, std::move(rows), std::max(std::min(tokens_.size(), end), first) - first);
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
    /// Bounds the memory that a long prompt's states take.
    static constexpr std::size_t most_states = 512;

    void hold(std::span<const token> added) {
        tokens_.insert(tokens_.end(), added.begin(), added.end());
        scored_ = tokens_.size();
    }

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
    std::size_t scored_ = 0;  // tokens after the last pass
};

}  // namespace augur::model
