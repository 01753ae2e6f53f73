#pragma once
// Two speeds compared by runs that take turns, until their ratio is known.

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace augur::program {

/// When the ratio counts as known, and when it is given up.
struct comparison_limits {
    double margin = 0.05;         ///< of the ratio, to either side
    std::size_t pairs = 30;       ///< at most; its interval is known for 2 to 30
    double seconds = 30;          ///< after which no further pair begins; 0: one pair
    std::size_t least_pairs = 3;  ///< before anything counts as known
};

/// Pairs of runs, one right after the other, so that a disturbance meets both. Rates in tokens per second.
class paired_speeds {
 public:
    explicit paired_speeds(comparison_limits limits = {}) : limits_(limits) {}

    void add(double scheme, double plain, double seconds);

    std::size_t pairs() const { return scheme_.size(); }
    /// Geometric means of the runs; 0 where there are none.
    double scheme() const;
    double plain() const;
    /// Of the two means, which is the geometric mean of the pairs' ratios.
    double ratio() const;

    struct interval {
        double low, high;
    };
    /// With 95 % confidence (Student's t on the logarithms of the pairs' ratios); none from fewer than 2 pairs.
    std::optional<interval> confidence() const;
    /// Whether the interval lies within the margin around the ratio.
    bool known() const;
    bool wants_more() const;

    nlohmann::ordered_json as_json() const;
    /// "1.62 times plain decoding's (1.58 to 1.66 with 95 % confidence, 6 pairs of runs)", or that it is not known.
    std::string text() const;

 private:
    comparison_limits limits_;
    std::vector<double> scheme_, plain_;
    double seconds_ = 0;
};

}  // namespace augur::program
