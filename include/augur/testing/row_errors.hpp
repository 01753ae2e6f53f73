#pragma once
// Errors of rows that should be equal, and whether they are those of rounding.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "augur/testing/compare_rows.hpp"
#include "augur/types/error.hpp"

namespace augur::testing {

/// How far rows are from those that are expected.
struct row_error {
    double largest = 0;  ///< of a logit, relative to 1 + the larger of the two (same_logit)
    double share = 0;    ///< of a row, root mean square, relative to the standard deviation of its logits

    void add(const row_error& other) {
        largest = std::max(largest, other.largest);
        share = std::max(share, other.share);
    }
};

/// Infinite where one has no number and the other has, or where all logits of a row are equal and the other's are not.
inline row_error error_of(std::span<const float> expected, std::span<const float> got) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double largest = 0, squares = 0, sum = 0, sum_of_squares = 0, count = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double a = static_cast<double>(expected[i]), b = static_cast<double>(got[i]);
        const bool same = std::bit_cast<std::uint32_t>(expected[i]) == std::bit_cast<std::uint32_t>(got[i]);
        if (same && !std::isfinite(a)) continue;
        if (!std::isfinite(a) || !std::isfinite(b)) return {infinity, infinity};
        largest = std::max(largest, std::abs(a - b) / (1 + std::fmax(std::abs(a), std::abs(b))));
        squares += (a - b) * (a - b);
        sum += a;
        sum_of_squares += a * a;
        ++count;
    }
    if (squares == 0) return {};
    const double variance = sum_of_squares / count - sum / count * (sum / count);
    return {largest, variance > 0 ? std::sqrt(squares / count / variance) : infinity};
}

/// Of rows that are as many and as long.
inline row_error error_of(const row_copies& expected, const row_copies& got) {
    row_error all;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        all.add(error_of(std::span<const float>(expected[i]), std::span<const float>(got[i])));
    }
    return all;
}

/// The errors that a suite finds on a model whose rows are not bitwise. Beyond `tolerance` a law is broken, or kept but
/// for rounding: where no row is further from the expected one than a tenth of the standard deviation of its logits.
/// Rows of another text are as far as that deviation itself. 0: nothing is rounding.
class row_errors {
 public:
    static constexpr double most_share = 0.1;

    explicit row_errors(double tolerance) : tolerance_(tolerance) {}

    /// For the next law.
    void begin() {
        of_law_ = {};
        first_.clear();
    }
    /// What is wrong; empty where nothing is, or where rounding is, which is noted. `where` describes the input.
    template <class Where>
    std::string wrong(const row_copies& expected, const row_copies& got, const Where& where) {
        const std::string found = difference(expected, got, tolerance_);
        if (tolerance_ == 0) return found.empty() ? found : where() + ": " + found;
        const bool alike = std::equal(expected.begin(), expected.end(), got.begin(), got.end(),
                                      [](const auto& a, const auto& b) { return a.size() == b.size(); });
        if (!alike) return where() + ": " + found;
        const row_error error = error_of(expected, got);
        if (error.share < most_share) all_.add(error);
        if (found.empty()) return found;
        if (!(error.share < most_share)) return where() + ": " + found;
        of_law_.add(error);
        if (first_.empty()) first_ = where() + ": " + found;
        return "";
    }

    /// Of the law since begin(): a description, or nothing where no error was beyond the tolerance.
    std::string rounding() const {
        if (first_.empty()) return first_;
        return augur::detail::message("the largest error is ", of_law_.largest, ", beyond ", tolerance_, ", and ",
                                      of_law_.share, " of its row's deviation; first: ", first_);
    }
    /// Of all laws, rounding only.
    double largest() const { return all_.largest; }

 private:
    double tolerance_;
    row_error of_law_{}, all_{};
    std::string first_{};
};

}  // namespace augur::testing
