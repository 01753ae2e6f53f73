#pragma once
// The measured time of a target's passes over the rows of a whole batch.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "augur/policy/pass_seconds.hpp"

namespace augur::decode {

/// Seconds of passes over 1 to `most_rows` rows: an average for every number of rows that occurred, which fades, and
/// lines between them. Below and beyond what was measured a row costs half of what it does there, so that it is tried.
/// A pass over more rows takes no less than one over fewer. Cost: O(most_rows) a measurement.
class pass_curve {
 public:
    explicit pass_curve(std::size_t most_rows, double memory = 0.98)
        : memory_(memory), figures_(most_rows + 1), estimates_(most_rows + 1) {}

    bool known() const { return most_measured_ > 0; }
    /// The most rows with a measurement that still counts; 0 where there is none.
    std::size_t most_measured() const { return most_measured_; }
    /// Whether a pass over so many rows was measured of late.
    bool counts(std::size_t rows) const { return figures_[within(rows)].weight >= least_weight; }

    void learn(std::size_t rows, double seconds) {
        if (rows == 0 || rows >= figures_.size() || !(seconds > 0)) return;
        for (policy::faded_average& each : figures_) each.weight *= memory_;
        figures_[rows].add(seconds, counts(rows) ? figures_[rows].mean : 0);
        estimate();
    }

    /// 0 until known.
    double operator()(std::size_t rows) const {
        if (rows < estimates_.size()) return estimates_[rows];
        return estimates_.back() + slope() * static_cast<double>(rows + 1 - estimates_.size());
    }
    /// The same, but beyond what was measured a row costs as much as if passes did nothing together.
    double at_most(std::size_t rows) const {
        if (rows <= most_measured_ || most_measured_ == 0) return (*this)(rows);
        return figures_[most_measured_].mean * static_cast<double>(rows) / static_cast<double>(most_measured_);
    }

 private:
    static constexpr double least_weight = 0.25;

    std::size_t within(std::size_t rows) const { return std::min(rows, figures_.size() - 1); }

    /// Of the rows beyond.
    double slope() const {
        const double all =
            figures_[most_measured_].mean / static_cast<double>(std::max<std::size_t>(most_measured_, 1));
        if (most_measured_ == least_measured_) return all / 2;
        const double measured = (figures_[most_measured_].mean - figures_[least_measured_].mean) /
                                static_cast<double>(most_measured_ - least_measured_);
        return std::max(measured / 2, all / 10);
    }

    void estimate() {
        most_measured_ = least_measured_ = 0;
        for (std::size_t rows = 1; rows < figures_.size(); ++rows) {
            if (!counts(rows)) continue;
            if (most_measured_ == 0) {
                least_measured_ = rows;
                for (std::size_t below = 1; below < rows; ++below) {
                    estimates_[below] =
                        figures_[rows].mean * (1 + static_cast<double>(below) / static_cast<double>(rows)) / 2;
                }
            } else {
                const double from = estimates_[most_measured_];
                const double step =
                    (std::max(figures_[rows].mean, from) - from) / static_cast<double>(rows - most_measured_);
                for (std::size_t at = most_measured_ + 1; at < rows; ++at) {
                    estimates_[at] = from + step * static_cast<double>(at - most_measured_);
                }
            }
            estimates_[rows] = std::max(figures_[rows].mean, estimates_[rows - 1]);
            most_measured_ = rows;
        }
        if (most_measured_ == 0) return;
        for (std::size_t rows = most_measured_ + 1; rows < figures_.size(); ++rows)
            estimates_[rows] = estimates_[rows - 1] + slope();
    }

    double memory_;
    std::vector<policy::faded_average> figures_;  ///< by rows
    std::vector<double> estimates_;
    std::size_t least_measured_ = 0, most_measured_ = 0;
};

}  // namespace augur::decode
