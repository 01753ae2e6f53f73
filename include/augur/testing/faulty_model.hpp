#pragma once
// A model wrapper that returns one chosen wrong answer.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/testing/models.hpp"
#include "augur/types/error.hpp"

namespace augur::testing {

/// How a model fails. The first five spoil the row that follows a number of tokens, on every sequence, so that the
/// model stays a function of its tokens; the others spoil one call of extend, counted over all sequences.
enum class fault {
    not_a_number,         ///< one logit is NaN
    infinity,             ///< one logit is +infinity
    all_minus_infinity,   ///< no token is possible
    ties,                 ///< all logits are equal
    zero_probabilities,   ///< only the first largest logit is finite
    missing_row,          ///< the call returns one row too few
    extra_row,            ///< the call returns one row too many
    throws,               ///< the call throws and changes nothing
    throws_after_growing  ///< the call throws when the sequence has grown already
};

constexpr std::string_view name_of(fault what) {
    constexpr std::string_view names[] = {"not_a_number",        "infinity",    "all_minus_infinity", "ties",
                                          "zero_probabilities",  "missing_row", "extra_row",          "throws",
                                          "throws_after_growing"};
    return names[static_cast<std::size_t>(what)];
}

/// `model` with one fault. `at`: for faults of rows the number of tokens before the row; for faults of calls the call's
/// number, first 0. Copies share the count of calls. Models Model and ScoresLastRows.
class faulty_model {
 public:
    using sequence_type = mock_sequence;
    static constexpr bool bitwise_rows = has_bitwise_rows<function_model>;

    faulty_model(function_model model, fault what, std::size_t at)
        : model_(std::move(model)), what_(what), at_(at), calls_(std::make_shared<std::size_t>(0)) {}

    std::size_t calls() const { return *calls_; }

    std::size_t vocabulary_size() const { return model_.vocabulary_size(); }
    std::size_t context_length() const { return model_.context_length(); }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& sequence) const { return model_.length(sequence); }
    void truncate(sequence_type& sequence, std::size_t length) const { model_.truncate(sequence, length); }

    scores extend(sequence_type& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens, tokens.size());
    }
    scores extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        const bool here = (*calls_)++ == at_;
        if (here && what_ == fault::throws) augur::detail::fail("faulty_model: call ", at_, " throws");
        const scores rows = model_.extend(sequence, tokens, last);
        if (here && what_ == fault::throws_after_growing) {
            augur::detail::fail("faulty_model: call ", at_, " throws with ", sequence.tokens.size(), " tokens");
        }
        const std::size_t first = sequence.tokens.size() - last + 1;
        if (at_ >= first && at_ < first + last) {
            spoil(std::span(sequence.rows).subspan((at_ - first) * vocabulary_size(), vocabulary_size()));
        }
        if (here && what_ == fault::missing_row && last > 0) {
            return {sequence.rows.data(), last - 1, vocabulary_size()};
        }
        if (here && what_ == fault::extra_row) {
            sequence.rows.resize((last + 1) * vocabulary_size());
            return {sequence.rows.data(), last + 1, vocabulary_size()};
        }
        return rows;
    }

 private:
    void spoil(std::span<float> row) const {
        constexpr float infinite = std::numeric_limits<float>::infinity();
        if (what_ == fault::not_a_number) row[row.size() / 2] = std::numeric_limits<float>::quiet_NaN();
        if (what_ == fault::infinity) row[row.size() / 2] = infinite;
        if (what_ == fault::all_minus_infinity) std::fill(row.begin(), row.end(), -infinite);
        if (what_ == fault::ties) std::fill(row.begin(), row.end(), 0.0f);
        if (what_ == fault::zero_probabilities) {
            const auto largest = std::max_element(row.begin(), row.end());
            std::fill(row.begin(), largest, -infinite);
            std::fill(largest + 1, row.end(), -infinite);
        }
    }

    function_model model_;
    fault what_;
    std::size_t at_;
    std::shared_ptr<std::size_t> calls_;
};

}  // namespace augur::testing
