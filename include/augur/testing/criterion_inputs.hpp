#pragma once
// Random inputs of criteria: small ones as a rule, now and then a wide vocabulary or a long draft.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "augur/decode/generate.hpp"
#include "augur/policy/concept.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// Weights in {0, ..., 4}, now and then 50 or 1000, at least one above 0: zeros and ties are common, and so are tokens
/// that are nearly sure.
inline std::vector<double> uneven_weights(choices& from, std::size_t vocabulary) {
    std::vector<double> row(vocabulary);
    double total = 0;
    for (double& weight : row) {
        const std::size_t n = from.below(22);
        weight = n < 20 ? static_cast<double>(n % 5) : (n == 20 ? 50 : 1000);
        total += weight;
    }
    if (!(total > 0)) row[0] = 1;
    return row;
}

/// Tokens of a vocabulary, and how many are drafted.
struct draft_size {
    std::size_t vocabulary;
    std::size_t length;

    bool wide() const { return vocabulary > 4; }
    bool is_long() const { return length > 3; }
};

/// Drafts so many tokens each round, a long draft once only: branches multiply with every round.
struct sized_policy {
    draft_size size;
    std::size_t prompt;  ///< its tokens

    std::size_t length(const observation& seen) const {
        return size.is_long() && seen.prefix_length > prompt ? 0 : size.length;
    }
};

/// One case in sixteen drafts one token of 5, 9 or 17, and one 4 to 6 tokens of two.
inline draft_size some_size(choices& from, const draft_size& least, const draft_size& most) {
    const std::size_t kind = from.below(16);
    if (kind == 14) return {from.one_of<std::size_t>({5, 9, 17}), 1};
    if (kind == 15) return {2, from.between(4, 6)};
    return {from.between(least.vocabulary, most.vocabulary), from.between(least.length, most.length)};
}

/// A decoding by a draft model over tables. Where the vocabulary is wide, only the row after token 1 is: after any
/// other follows token 0.
struct drafted_decoding {
    using table = std::vector<std::vector<double>>;

    draft_size size;
    table target;
    table draft;
    std::vector<token> prompt{1};
    decode::options chosen{};

    /// `most`: tokens of a text at most, unless a longer draft needs more.
    drafted_decoding(choices& from, std::size_t most) : size(some_size(from, {2, 1}, {3, 3})) {
        const bool small = !size.wide() && !size.is_long();
        chosen.stop.max_tokens = small ? from.between(1, most) : size.length + 1;
        target = some_table(from);
        draft = some_table(from);
        if (small || from.below(2) == 1) chosen.sampling = random_settings(from, size.vocabulary);
        if (!size.wide()) prompt = {static_cast<token>(from.below(size.vocabulary))};
        from.note([&] { return described(); });
    }

    std::string described() const {
        const std::string drafting =
            augur::detail::message(", prompt ", describe(prompt), ", drafting ", size.length, " of ",
                                   chosen.stop.max_tokens, ", ", describe_settings(chosen.sampling));
        if (!size.wide()) return "target " + describe_table(target) + ", draft " + describe_table(draft) + drafting;
        return "after token 1 target " + describe(target[1]) + ", draft " + describe(draft[1]) +
               ", after any other token 0" + drafting;
    }

 private:
    table some_table(choices& from) const {
        table rows(size.vocabulary);
        for (auto& row : rows) {
            row.assign(size.vocabulary, 0);
            row[0] = 1;
            if (!size.wide() || &row == &rows[1]) row = uneven_weights(from, size.vocabulary);
        }
        return rows;
    }
};

/// A draft, and the rows to judge it by.
struct judged_block {
    std::vector<std::vector<double>> targets;
    std::vector<std::vector<double>> drafts;
    std::vector<token> points;       ///< the tokens, where they are point masses
    std::size_t invalid = SIZE_MAX;  ///< the first row that cannot be drawn from

    judged_block(choices& from, bool spoiled) {
        const auto [vocabulary, drafted] = some_size(from, {2, 0}, {4, 2});
        for (std::size_t i = 0; i <= drafted; ++i) targets.push_back(uneven_weights(from, vocabulary));
        for (std::size_t i = 0; i < drafted; ++i) drafts.push_back(uneven_weights(from, vocabulary));
        points = from.tokens(drafted, drafted, vocabulary);
        if (spoiled) {
            invalid = from.below(targets.size());
            targets[invalid].assign(vocabulary, 0.0);
        }
        from.note([&] { return described(false) + ", or certain tokens " + describe(points); });
    }

    std::size_t length() const { return drafts.size(); }

    /// Whether the target can give the token after the first `row` drafted ones; of the greedy text, whether it does.
    bool possible(std::size_t row, token t, bool greedy) const {
        const auto& weights = targets[row];
        if (t < 0 || static_cast<std::size_t>(t) >= weights.size()) return false;
        const auto index = static_cast<std::size_t>(t);
        const auto first_largest = std::max_element(weights.begin(), weights.end()) - weights.begin();
        return greedy ? static_cast<std::size_t>(first_largest) == index : weights[index] > 0;
    }

    std::string described(bool by_points) const {
        return "target " + describe_table(targets) + ", draft " +
               (by_points ? describe(points) : describe_table(drafts));
    }
};

}  // namespace augur::testing
