#pragma once
// Estimates the time of a pass by its number of rows, from measured passes.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace augur::policy {

/// An exponentially weighted moving average.
struct faded_average {
    double mean = 0;
    double weight = 0;  ///< figures in it, faded ones less than one each

    bool operator==(const faded_average&) const = default;
    /// The same, with a weight of at most this.
    faded_average at_most(double most) const { return {mean, std::min(weight, most)}; }

    /// A figure of more than twice the usual one was disturbed, and counts as twice; but where what is known is
    /// `earlier` than this text, it is believed. Returns what it counts as beside the usual.
    double add(double figure, double usual, bool earlier = false) {
        const double counts = usual > 0 ? std::min(figure, 2 * usual) : figure;
        weight += 1;
        mean += ((earlier ? figure : counts) - mean) / weight;
        return counts;
    }
};

/// Estimated seconds of a pass over 1 to `most_rows` rows. For each number of rows an average that fades: whatever was
/// not measured lately falls back to the line between its measured neighbours, so that one slow pass is forgotten.
/// Beyond what was measured a further row costs half of what the rows before did, or a twentieth of the first, so that
/// it is tried. A pass over more rows takes no less than one over fewer. What was measured elsewhere (a curve, an
/// earlier text) says how passes compare; the first ones here say how fast they are. Cost: O(most_rows^2) per
/// measurement.
class pass_seconds {
 public:
    /// Passes that figures from before count as, at most.
    static constexpr double believed = 4;

    /// `curve`: seconds by rows, from one row on, that were measured before; may be empty.
    pass_seconds(std::size_t most_rows, double memory, std::span<const double> curve = {})
        : memory_(memory), figures_(most_rows + 1), estimates_(most_rows + 1), earlier_(most_rows + 1) {
        for (std::size_t i = 0; i < std::min(curve.size(), most_rows); ++i) figures_[i + 1] = {curve[i], believed};
        if (!curve.empty()) earlier_.assign(most_rows + 1, true);
        if (known()) estimate();
    }

    /// By rows, from one row on.
    std::span<const faded_average> figures() const { return std::span(figures_).subspan(1); }
    /// In place of what is known; those over more rows than here are left out.
    void recall(std::span<const faded_average> before) {
        for (std::size_t i = 0; i + 1 < figures_.size(); ++i) {
            figures_[i + 1] = i < before.size() ? before[i].at_most(believed) : faded_average{};
            earlier_[i + 1] = true;
        }
        if (known()) estimate();
    }

    /// Whether a pass over one row was measured.
    bool known() const { return figures_[1].mean > 0; }
    /// 0 until known.
    double operator()(std::size_t rows) const { return estimates_[rows]; }
    /// The most rows with a measurement that still counts.
    std::size_t most_measured() const {
        std::size_t rows = figures_.size() - 1;
        while (rows > 1 && !counts(rows)) --rows;
        return rows;
    }

    /// Returns what the seconds counted as. What they were more, where all that is known of so many rows was measured
    /// elsewhere, is owed by a draft that `pays`, until a plain pass tells what a pass is worth here.
    double learn(std::size_t rows, double seconds, bool pays = true) {
        for (std::size_t i = 1; i < figures_.size(); ++i) figures_[i].weight *= memory_;
        figures_[1].weight =
            std::max(figures_[1].weight, known() ? least_weight : 0);  // the measure of all others stays
        const double usual = estimates_[rows];
        is_drafted_ = rows > 1;
        newly_owed_ = 0;
        if (rows == 1) {
            if (seconds > 0) due_ += owed_ / seconds;  // else no clock can have measured it
            owed_ = 0;
            compare_drafts(seconds);
            is_elsewhere_ = false;
        }
        if (earlier_[rows]) carry_over(rows, seconds, usual);
        const double counted = figures_[rows].add(seconds, usual, earlier_[rows]);
        if (rows > 1 && earlier_[rows]) {
            if (pays) owe(newly_owed_ = seconds - counted);
            is_elsewhere_ = is_elsewhere_ || (earlier_[1] && std::abs(seconds - usual) > same * usual);
        }
        earlier_[rows] = false;
        if (rows == 1 && seconds > 0 && ++plain_ <= 2) figures_[1].mean = std::min(figures_[1].mean, seconds);
        if (known()) estimate();
        return counted;
    }

    /// Of what the last pass took, what is owed.
    double newly_owed() const { return newly_owed_; }
    /// Seconds more, of drafts.
    void owe(double seconds) { owed_ += seconds; }

    /// Whether a pass took far longer than was said elsewhere, or no plain one has told yet why one took another time
    /// than was said, or the only one may have been slow and makes drafts look cheap: the next should be plain.
    bool owes() const {
        const bool may_be_slow = plain_ == 1 && is_drafted_ && spent_.lost(estimates_[1] / 2) >= 1;
        return owed_ > 0 || is_elsewhere_ || may_be_slow;
    }
    /// What was owed when a plain pass was timed, in such passes; once.
    double take_due() { return std::exchange(due_, 0); }

    /// A round of a draft, which was charged `seconds`: a plain pass that comes soon says what they were worth.
    void spend(std::size_t tokens, double seconds) {
        spent_.seconds += seconds;
        spent_.tokens += static_cast<double>(tokens);
        ++spent_.rounds;
    }
    /// Plain passes that such rounds were charged too much, for the machine was slow; below 0: too little. Once.
    double take_refund() { return std::exchange(refund_, 0); }

 private:
    static constexpr double least_weight = 0.25;
    static constexpr std::size_t most_compared = 8;  ///< rounds since the last plain pass
    static constexpr double same = 0.1;              ///< of a time, that another may differ by

    /// Of rounds with drafts.
    struct spending {
        double seconds = 0, tokens = 0;
        std::size_t rounds = 0;

        double lost(double plain_seconds) const { return std::max(0.0, seconds / plain_seconds - tokens); }
    };

    /// A plain pass that took longer than usual: so did, it is likely, the drafts just before it. No more than twice,
    /// for a pass may have been disturbed by itself, and never more than was lost. One that took less shows what drafts
    /// really lost: nothing makes a pass quicker than it is.
    void compare_drafts(double seconds) {
        const double usual = estimates_[1], now = std::min(seconds, 2 * usual);
        if (usual > 0 && now > 0 && (now < usual || spent_.rounds <= most_compared))
            refund_ += spent_.lost(usual) - spent_.lost(now);
        spent_ = {};
    }

    /// The first pass here over so many rows took longer or shorter than was said elsewhere: so will those over others.
    /// A plain one says it alone; of the others each as much as those before it together, on average. None says more
    /// than a factor of 2, but a plain one that is quicker.
    void carry_over(std::size_t rows, double seconds, double elsewhere) {
        if (!(elsewhere > 0)) return;
        const double least = rows == 1 && seconds > 0 ? 0 : 0.5;
        const double ratio = std::clamp(seconds / elsewhere, least, 2.0);
        const double by = rows == 1 ? ratio : std::pow(ratio, 1 / static_cast<double>(++carried_));
        for (std::size_t i = 1; i < figures_.size(); ++i) {
            if (earlier_[i]) figures_[i].mean *= by;
        }
    }

    bool counts(std::size_t rows) const { return figures_[rows].weight >= least_weight; }

    void estimate() {
        double one = figures_[1].mean;
        for (std::size_t rows = 2; rows < figures_.size(); ++rows) {
            if (counts(rows)) one = std::min(one, figures_[rows].mean);
        }
        estimates_[1] = one;
        for (std::size_t rows = 2; rows < figures_.size(); ++rows) {
            const faded_average& own = figures_[rows];
            const double mixed = (own.mean * own.weight + line(rows)) / (own.weight + 1);
            estimates_[rows] = std::max(mixed, estimates_[rows - 1]);
        }
    }

    double at(std::size_t rows) const { return rows == 1 ? estimates_[1] : figures_[rows].mean; }

    /// Where the others say that it lies.
    double line(std::size_t rows) const {
        std::size_t below = rows - 1;
        while (below > 1 && !counts(below)) --below;
        std::size_t above = rows + 1;
        while (above < figures_.size() && !counts(above)) ++above;
        double step = estimates_[1] / 10;
        if (above < figures_.size()) {
            step = (at(above) - at(below)) / static_cast<double>(above - below);
        } else if (below > 1) {
            step = std::max(step, (at(below) - at(1)) / static_cast<double>(below - 1)) / 2;
        }
        return at(below) + step * static_cast<double>(rows - below);
    }

    double memory_;
    std::vector<faded_average> figures_;  ///< by rows
    std::vector<double> estimates_;
    std::vector<bool> earlier_;  ///< whether what is known of so many rows was measured elsewhere
    std::size_t plain_ = 0;      ///< plain passes timed here; a first or second that is quicker is believed
    bool is_drafted_ = false;    ///< the last pass was over more than a row
    std::size_t carried_ = 0;    ///< passes that said how fast they are here
    bool is_elsewhere_ = false;  ///< what was measured elsewhere, as it seems: passes take another time here
    double owed_ = 0;            ///< seconds
    double newly_owed_ = 0;      ///< by the last pass
    double due_ = 0;             ///< plain passes
    spending spent_;             ///< since the last plain pass
    double refund_ = 0;          ///< plain passes
};

}  // namespace augur::policy
