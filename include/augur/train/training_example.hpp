#pragma once
// A training example: the verifier's row at one position, and what became of the draft.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// What the verifier said of a drafted token. It says nothing after the first rejection.
enum class accept_bit : std::uint16_t { unknown, rejected, accepted };

/// What became of drafted positions, as REINFORCE wants to know it.
struct reward_average {
    double acceptance = 0;  ///< a moving average over judged positions
    double baseline = 0;    ///< what it was before the last update: no reward is compared with one that it is in
    std::size_t drawn = 0;  ///< positions kept since the head changed
    bool above = false;     ///< acceptance has passed schedule::band, and not fallen below it again

    void see(accept_bit bit, double decay) {
        ++drawn;
        if (bit == accept_bit::unknown) return;
        acceptance += (1 - decay) * ((bit == accept_bit::accepted ? 1 : 0) - acceptance);
    }
    double begin_update() { return std::exchange(baseline, acceptance); }
};

/// A verifier's row, before any transform: natural logarithms of probabilities.
struct teacher_row {
    std::span<const token> tokens{};             ///< the most probable, the first first; empty: all, in order
    std::span<const float> log_probabilities{};  ///< of each of them
    float tail = 0;                              ///< probability of all others together

    token top() const {
        if (!tokens.empty()) return tokens[0];
        const auto largest = std::max_element(log_probabilities.begin(), log_probabilities.end());
        return static_cast<token>(largest - log_probabilities.begin());
    }
};

/// The standard deviation of the finite logits, 0 where there are none, in lanes that compilers vectorise.
inline float spread_of(std::span<const float> logits, float largest) {
    constexpr std::size_t width = 8;
    double counts[width] = {}, sums[width] = {}, squares[width] = {};
    const auto add = [&](std::size_t lane, float x) {
        const bool is_possible = x > -std::numeric_limits<float>::infinity();
        const double below = is_possible ? static_cast<double>(x - largest) : 0;
        counts[lane] += is_possible ? 1 : 0;
        sums[lane] += below;
        squares[lane] += below * below;
    };
    std::size_t i = 0;
    for (; i + width <= logits.size(); i += width) {
        for (std::size_t lane = 0; lane < width; ++lane) add(lane, logits[i + lane]);
    }
    for (; i < logits.size(); ++i) add(0, logits[i]);
    const double count = std::max(1.0, std::accumulate(counts, counts + width, 0.0));
    const double mean = std::accumulate(sums, sums + width, 0.0) / count;
    const double variance = std::accumulate(squares, squares + width, 0.0) / count - mean * mean;
    return static_cast<float>(std::sqrt(std::max(0.0, variance)));
}

/// The same for a head's classes. Outcomes are the classes listed, and the head's other classes as one. A token that
/// the head has no class for trains nothing: no parameter of the head could change its share of it, which is 0.
template <class Scalar>
struct training_example {
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    bool whole = true;                 ///< all classes are listed, in order
    std::vector<std::size_t> classes;  ///< else these
    std::vector<Scalar> probabilities;
    Scalar tail = 0;         ///< the teacher's, for the classes that are not listed
    std::size_t top = none;  ///< the verifier's most probable token, where the head has it
    std::size_t drafted = none;
    accept_bit bit = accept_bit::unknown;
};

/// From tokens to the classes of a head.
class class_index {
 public:
    /// `tokens`: of each class; empty: the classes are the vocabulary.
    class_index(std::span<const token> tokens, std::size_t vocabulary) : vocabulary_(vocabulary) {
        if (tokens.empty()) return;
        classes_.assign(vocabulary, training_example<float>::none);
        for (std::size_t i = 0; i < tokens.size(); ++i) classes_.at(static_cast<std::size_t>(tokens[i])) = i;
    }
    std::size_t operator()(token of) const {
        if (of < 0 || static_cast<std::size_t>(of) >= vocabulary_) return training_example<float>::none;
        return classes_.empty() ? static_cast<std::size_t>(of) : classes_[static_cast<std::size_t>(of)];
    }
    bool all() const { return classes_.empty(); }

 private:
    std::size_t vocabulary_;
    std::vector<std::size_t> classes_;
};

/// At temperature T outcomes weigh p^(1 / T), the tail being one of them: exact at 1, or where the row is whole.
template <class Scalar>
void fill_example(const teacher_row& row, const class_index& index, double temperature, training_example<Scalar>& out) {
    const bool whole = row.tokens.empty();
    out.whole = whole && index.all();
    out.classes.clear();
    out.probabilities.clear();
    const double log_tail = row.tail > 0 ? std::log(static_cast<double>(row.tail)) : -INFINITY;
    double largest = log_tail, total = 0;  // without the largest, a low temperature leaves nothing of any weight
    for (const float each : row.log_probabilities) largest = std::max(largest, static_cast<double>(each));
    const auto weight = [&](double logarithm) { return std::exp((logarithm - largest) / temperature); };
    for (std::size_t i = 0; i < row.log_probabilities.size(); ++i) {
        const double mass = weight(static_cast<double>(row.log_probabilities[i]));
        total += mass;
        const std::size_t of = index(whole ? static_cast<token>(i) : row.tokens[i]);
        if (of == training_example<Scalar>::none) continue;
        if (!out.whole) out.classes.push_back(of);
        out.probabilities.push_back(static_cast<Scalar>(mass));
    }
    const double rest = row.tail > 0 ? weight(log_tail) : 0;
    total += rest;
    for (Scalar& each : out.probabilities) each = static_cast<Scalar>(static_cast<double>(each) / total);
    out.tail = static_cast<Scalar>(rest / total);
    out.top = index(row.top());
}

}  // namespace augur::train
