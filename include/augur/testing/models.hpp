#pragma once
// Mock models without weights, for testing schemes, criteria and policies.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "augur/model/check_passes.hpp"
#include "augur/model/concepts.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/error.hpp"

namespace augur::testing {

/// What a mock sequence is: its tokens, and the rows of the last extend.
struct mock_sequence {
    std::vector<token> tokens;
    std::vector<float> rows;
};

/// A model whose row is any function of the tokens before it. Bitwise by construction. Models Model and ScoresLastRows.
class function_model {
 public:
    /// Fills `row` (vocabulary_size logits) with what follows `before`, which holds at least one token.
    using row_function = std::function<void(std::span<const token> before, std::span<float> row)>;
    using sequence_type = mock_sequence;
    static constexpr bool bitwise_rows = true;

    function_model(std::size_t vocabulary_size, std::size_t context_length, row_function rows)
        : vocabulary_size_(vocabulary_size), context_length_(context_length), rows_(std::move(rows)) {}

    std::size_t vocabulary_size() const { return vocabulary_size_; }
    std::size_t context_length() const { return context_length_; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& sequence) const { return sequence.tokens.size(); }

    scores extend(sequence_type& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens, tokens.size());
    }
    scores extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        model::check_room(sequence.tokens.size(), tokens.size(), context_length_);
        const std::size_t length = sequence.tokens.size();
        sequence.rows.assign(last * vocabulary_size_, 0.0f);
        sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
        try {
            for (std::size_t row = 0; row < last; ++row) {
                const std::size_t before = length + tokens.size() - last + row + 1;
                fill_row(std::span(sequence.tokens).first(before),
                         std::span(sequence.rows).subspan(row * vocabulary_size_, vocabulary_size_));
            }
        } catch (...) {
            sequence.tokens.resize(length);
            throw;
        }
        return {sequence.rows.data(), last, vocabulary_size_};
    }

    void truncate(sequence_type& sequence, std::size_t length) const {
        model::check_cut(sequence.tokens.size(), length);
        sequence.tokens.resize(length);
    }

    /// The row that follows `before`, without a sequence. What the row function throws passes through.
    void fill_row(std::span<const token> before, std::span<float> row) const { rows_(before, row); }

 private:
    std::size_t vocabulary_size_;
    std::size_t context_length_;
    row_function rows_;
};

/// The natural logarithm as a logit; zero probability is -infinity.
inline float logit_of(double probability) {
    return probability > 0 ? static_cast<float>(std::log(probability)) : -std::numeric_limits<float>::infinity();
}

/// A model given by explicit conditionals: row_of[t] holds the probabilities of what follows token t, whatever came
/// before it. Rows need not be normalised.
inline function_model markov_model(std::vector<std::vector<double>> row_of, std::size_t context_length = 1024) {
    const std::size_t vocabulary_size = row_of.size();
    for (std::size_t t = 0; t < vocabulary_size; ++t) {
        if (row_of[t].size() != vocabulary_size) {
            augur::detail::fail("markov_model: row ", t, " has ", row_of[t].size(), " entries for a vocabulary of ",
                                vocabulary_size);
        }
    }
    return {vocabulary_size, context_length,
            [rows = std::move(row_of)](std::span<const token> before, std::span<float> row) {
                const auto& probabilities = rows[static_cast<std::size_t>(before.back())];
                for (std::size_t i = 0; i < row.size(); ++i) row[i] = logit_of(probabilities[i]);
            }};
}

/// A model given by explicit conditionals: row_after[tokens] holds the probabilities of what follows exactly these
/// tokens, prompt included. Rows need not be normalised. Asked about a prefix that is not in the table, it throws and
/// names it.
template <class Rows = std::map<std::vector<token>, std::vector<double>>>
function_model table_model(std::size_t vocabulary_size, Rows row_after, std::size_t context_length = 1024) {
    for (const auto& [before, row] : row_after) {
        if (row.size() != vocabulary_size) {
            augur::detail::fail("table_model: the row after ", describe(before), " has ", row.size(),
                                " entries for a vocabulary of ", vocabulary_size);
        }
    }
    return {vocabulary_size, context_length,
            [rows = std::move(row_after)](std::span<const token> before, std::span<float> row) {
                const auto found = rows.find({before.begin(), before.end()});
                if (found == rows.end()) augur::detail::fail("table_model: there is no row after ", describe(before));
                for (std::size_t i = 0; i < row.size(); ++i) row[i] = logit_of(found->second[i]);
            }};
}

/// A model that always wants one token: the one that follows in `script`, by position (prompt included); where the
/// script has ended, token 0. All other tokens have probability e^-gap of it.
inline function_model scripted_model(std::size_t vocabulary_size, std::vector<token> script, float gap = 20,
                                     std::size_t context_length = 1024) {
    return {vocabulary_size, context_length,
            [script = std::move(script), gap](std::span<const token> before, std::span<float> row) {
                std::fill(row.begin(), row.end(), -gap);
                const token next = before.size() < script.size() ? script[before.size()] : 0;
                row[static_cast<std::size_t>(next)] = 0;
            }};
}

/// A model whose row depends on everything before it, by a hash: no two prefixes share a row. `spread` scales the
/// logits, `seed` chooses the model. Models of different seeds are unrelated; blending is up to the caller's row
/// function.
inline function_model hashed_model(std::size_t vocabulary_size, std::uint64_t seed, float spread = 2,
                                   std::size_t context_length = 1024) {
    return {vocabulary_size, context_length, [seed, spread](std::span<const token> before, std::span<float> row) {
                std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
                const auto mix = [&state](std::uint64_t by) {
                    state = (state ^ by) * 0xBF58476D1CE4E5B9u;
                    state ^= state >> 29;
                };
                for (token t : before) mix(static_cast<std::uint64_t>(t) + 1);
                for (float& logit : row) {
                    mix(0x2545F491u);
                    logit = spread * (static_cast<float>(state >> 40) * 0x1.0p-23f - 1.0f);
                }
            }};
}

/// A model at a chosen distance from another: every row has exactly this total variation (up to float rounding) from
/// the model's, because part of the mass of all tokens is moved to the least probable one. As a sampling draft of that
/// model it is accepted with probability 1 - total_variation at every position (untransformed, by rejection sampling).
inline function_model noisy_model(const function_model& model, double total_variation) {
    const double most = 1 - 1 / static_cast<double>(model.vocabulary_size());
    if (!(total_variation >= 0 && total_variation <= most)) {
        augur::detail::fail("noisy_model: total variation is ", total_variation, "; with ", model.vocabulary_size(),
                            " tokens it must be in [0, ", most, ']');
    }
    return {model.vocabulary_size(), model.context_length(),
            [model, total_variation](std::span<const token> before, std::span<float> row) {
                model.fill_row(before, row);
                const double largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
                double sum = 0;
                for (float logit : row) sum += std::exp(static_cast<double>(logit) - largest);
                const auto least = std::min_element(row.begin(), row.end());
                const double moved = total_variation / (1 - std::exp(static_cast<double>(*least) - largest) / sum);
                const auto changed = [&](float& logit) {
                    const double probability = std::exp(static_cast<double>(logit) - largest) / sum;
                    return logit_of((1 - moved) * probability + (&logit == &*least ? moved : 0));
                };
                std::transform(row.begin(), row.end(), row.begin(), [&](float& logit) { return changed(logit); });
            }};
}

}  // namespace augur::testing
