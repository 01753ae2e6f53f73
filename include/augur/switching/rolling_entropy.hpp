#pragma once
// Chooses the model that decodes next by the rolling entropy of the last tokens.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"

namespace augur::switching {

struct rolling_entropy_options {
    std::vector<double> thresholds_bits = {0.25};  ///< rising, one between each model and the next
    std::size_t window = 5;                        ///< tokens, at least 1
    std::size_t dwell = 10;                        ///< tokens that a model writes before it can be replaced, at least 1
};

/// Takes the mean entropy of the rows that the last tokens came from, whichever model's they were. The model that
/// writes is the one whose place among the models is the number of thresholds that the mean exceeds: with one threshold
/// the larger of two above it, the smaller at or below it. It stays for `dwell` tokens at least.
/// Effect on the distribution: it chooses whose it is. Cost: O(window + thresholds) per token, no randomness.
/// Source: Simonds 2025, "Entropy Adaptive Decoding", equations 3 and 4, algorithm 1, lines 9, 10 and 15 to 24.
class rolling_entropy {
 public:
    explicit rolling_entropy(rolling_entropy_options options = {}) : options_(std::move(options)) {
        const auto& thresholds = options_.thresholds_bits;
        if (thresholds.empty()) detail::fail("rolling_entropy: there is no threshold; two models need one");
        for (std::size_t i = 0; i < thresholds.size(); ++i) {
            if (!(thresholds[i] >= 0)) {
                detail::fail("rolling_entropy: threshold ", i, " is ", thresholds[i], " bits; it must be 0 or more");
            }
            if (i > 0 && !(thresholds[i - 1] < thresholds[i])) {
                detail::fail("rolling_entropy: threshold ", i, " is ", thresholds[i],
                             " bits, not above the one before, ", thresholds[i - 1]);
            }
        }
        if (options_.window == 0) detail::fail("rolling_entropy: the window is 0 tokens; it must be at least 1");
        if (options_.dwell == 0) detail::fail("rolling_entropy: the dwell is 0 tokens; it must be at least 1");
    }

    /// How many models it chooses between.
    std::size_t models() const { return options_.thresholds_bits.size() + 1; }
    const rolling_entropy_options& options() const { return options_; }

    /// Takes note of the entropy of the row that one more token came from, written by model `current`, the cheapest
    /// being 0. Returns the model for the next token.
    std::size_t next_model(std::size_t current, double entropy_bits) {
        if (recent_.size() == options_.window) recent_.erase(recent_.begin());
        recent_.push_back(entropy_bits);
        ++written_;
        const std::size_t wanted = model_for(mean_bits());
        if (written_ < options_.dwell || wanted == current) return current;
        written_ = 0;
        return wanted;
    }

    /// Mean of the window; 0 before the first token.
    double mean_bits() const {
        double sum = 0;
        for (double each : recent_) sum += each;
        return recent_.empty() ? 0 : sum / static_cast<double>(recent_.size());
    }

    friend std::ostream& operator<<(std::ostream& out, const rolling_entropy& p) {
        out << "rolling_entropy{.thresholds_bits={";
        const char* separator = "";
        for (double each : p.options_.thresholds_bits) out << std::exchange(separator, ", ") << each;
        return out << "}, .window=" << p.options_.window << ", .dwell=" << p.options_.dwell << '}';
    }

 private:
    /// An entropy that is NaN is above every threshold, as long as it is in the window: the best model writes.
    std::size_t model_for(double mean) const {
        const auto& thresholds = options_.thresholds_bits;
        if (std::isnan(mean)) return thresholds.size();
        return static_cast<std::size_t>(std::lower_bound(thresholds.begin(), thresholds.end(), mean) -
                                        thresholds.begin());
    }

    rolling_entropy_options options_;
    std::vector<double> recent_;
    std::size_t written_ = 0;  // tokens, since the model was changed
};

}  // namespace augur::switching
