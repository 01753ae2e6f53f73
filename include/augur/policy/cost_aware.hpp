#pragma once
// The length that pays: expected accepted length over measured time, with plain decoding among the choices.

#include <algorithm>
#include <array>
#include <cstddef>
#include <ostream>
#include <vector>

#include "augur/policy/concept.hpp"
#include "augur/types/error.hpp"

namespace augur::policy {

struct cost_aware_options {
    std::size_t max_length = 10;
    double memory = 0.95;          ///< weight of the past when a figure is updated, in (0, 1)
    std::size_t probe_after = 16;  ///< rounds without a draft before one token is tried again, at least 1
};

/// Learns two things while decoding: how long a verify pass over n rows takes, and how often a token at position i of a
/// draft stands, apart for drafts that rest on short and on long matches. Each round it drafts the number of tokens with
/// the most expected tokens per second; 0 when none beats plain decoding. Where it has stopped drafting it tries one token
/// now and then, more rarely each time that fails, so that a text that becomes predictable is drafted for again.
/// Effect on the distribution: none. Lengths depend on the clock, so the rounds of two runs may differ; under exact and
/// coupled the text does not. Cost: O(max_length) per round, no randomness.
/// Source: Leviathan et al. 2023, section 3.5 (the expected improvement), with measured instead of assumed figures.
class cost_aware {
 public:
    static constexpr signals needs = signals::match_length;
    static constexpr bool asked_once = true;

    explicit cost_aware(cost_aware_options options = {}) : options_(options) {
        if (options_.max_length == 0) detail::fail("cost_aware: max_length is 0; then it could never draft");
        if (!(options_.memory > 0 && options_.memory < 1)) {
            detail::fail("cost_aware: memory is ", options_.memory, "; it must be between 0 and 1");
        }
        if (options_.probe_after == 0) detail::fail("cost_aware: probe_after is 0; it must be at least 1");
        seconds_.resize(options_.max_length + 2);
        for (source& each : sources_) {
            each.positions.resize(options_.max_length);
            each.probe_after = options_.probe_after;
        }
    }

    std::size_t length(const observation& seen) const {
        if (!(seconds_[1] > 0)) return 0;  // plain decoding is measured first
        const source& of = sources_[source_of(seen.match_length)];
        std::size_t best = 0;
        double best_rate = 1 / seconds_[1];
        double stands = 1;
        double expected = 1;
        for (std::size_t length = 1; length <= options_.max_length; ++length) {
            stands *= acceptance(seen.match_length, length - 1);
            expected += stands;
            const double rate = expected / (verify_seconds(length + 1) + draft_seconds_ * static_cast<double>(length));
            if (rate > best_rate) {
                best = length;
                best_rate = rate;
            }
        }
        return best == 0 && of.skipped >= of.probe_after ? 1 : best;
    }

    void learn(const outcome& happened) {
        const std::size_t rows = std::min(happened.drafted + 1, seconds_.size() - 1);
        remember(seconds_[rows], happened.verify_seconds);
        source& of = sources_[source_of(happened.decided_on.match_length)];
        if (happened.drafted == 0) {
            if (happened.decided_on.match_length > 0) ++of.skipped;
            return;
        }
        draft_seconds_ +=
            (1 - options_.memory) * (happened.draft_seconds / static_cast<double>(happened.drafted) - draft_seconds_);
        const bool probe = of.skipped >= of.probe_after;
        of.skipped = 0;
        if (happened.accepted > 0) of.probe_after = options_.probe_after;
        if (probe && happened.accepted == 0) of.probe_after = std::min(of.probe_after * 2, 8 * options_.probe_after);
        for (std::size_t i = 0; i < options_.max_length; ++i) {
            counted& at = of.positions[i];
            at.judged *= options_.memory;  // what was not tried is forgotten, too, so that it is tried again
            at.accepted *= options_.memory;
            if (i >= happened.drafted || i > happened.accepted) continue;
            at.judged += 1;
            at.accepted += i < happened.accepted ? 1 : 0;
        }
    }

    /// Estimated probability that the token at `position` of a draft stands, given that those before it do.
    double acceptance(std::size_t match_length, std::size_t position) const {
        const source& of = sources_[source_of(match_length)];
        double rate =
            static_cast<double>(match_length + 1) / static_cast<double>(match_length + 3);  // until told otherwise
        for (std::size_t i = 0; i <= position; ++i) {
            rate = (of.positions[i].accepted + rate) / (of.positions[i].judged + 1);
        }
        return rate;
    }

    /// Estimated seconds of a verify pass over so many rows: measured, or on a line through what was; where nothing larger
    /// was measured, a tenth of a single row's time per further row, so that it is tried.
    double verify_seconds(std::size_t rows) const {
        if (seconds_[rows] > 0) return seconds_[rows];
        std::size_t below = rows;
        while (!(seconds_[below] > 0)) --below;  // one row is measured
        std::size_t above = rows;
        while (above < seconds_.size() && !(seconds_[above] > 0)) ++above;
        const double step = above < seconds_.size()
                                ? (seconds_[above] - seconds_[below]) / static_cast<double>(above - below)
                                : seconds_[1] / 10;
        return seconds_[below] + step * static_cast<double>(rows - below);
    }

    friend std::ostream& operator<<(std::ostream& out, const cost_aware& p) {
        return out << "cost_aware{.max_length=" << p.options_.max_length << ", .memory=" << p.options_.memory
                   << ", .probe_after=" << p.options_.probe_after << '}';
    }

 private:
    struct counted {
        double accepted = 0;
        double judged = 0;
    };
    /// Drafts of one quality.
    struct source {
        std::vector<counted> positions;
        std::size_t skipped = 0;
        std::size_t probe_after = 0;
    };

    /// Match lengths that are told apart: none known, 1, 2, 3, 4, 5-6, 7 and more.
    static std::size_t source_of(std::size_t match_length) {
        if (match_length <= 4) return match_length;
        return match_length <= 6 ? 5 : 6;
    }

    /// A pass that took more than twice the usual time was disturbed: it counts as twice.
    void remember(double& figure, double measured) const {
        if (!(figure > 0)) {
            figure = measured;
        } else {
            figure += (1 - options_.memory) * (std::min(measured, 2 * figure) - figure);
        }
    }

    cost_aware_options options_;
    std::vector<double> seconds_;  ///< by rows
    double draft_seconds_ = 0;     ///< per drafted token
    std::array<source, 7> sources_;
};

static_assert(SpeculationPolicy<cost_aware> && LearnsFromOutcomes<cost_aware>);

}  // namespace augur::policy
