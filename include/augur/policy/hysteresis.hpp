#pragma once
// Switches between two draft lengths by a signal, with hysteresis.

#include <cmath>
#include <cstddef>
#include <limits>
#include <ostream>

#include "augur/detail/host_device.hpp"
#include "augur/policy/concept.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"

namespace augur::policy {

/// Where a signal of which more means "on" switches: on at `on` and above it, off below `off`. Between them nothing
/// changes. One threshold by default: then every signal is on one side. A signal that is NaN is not known, and switches
/// nothing. Law: off <= on; check it once, by `ordered`.
struct band {
    double on = 0;
    double off = on;

    /// The state that follows `is_on`.
    AUGUR_HOST_DEVICE constexpr bool next(bool is_on, double signal) const {
        if (signal >= on) return true;
        if (signal < off) return false;
        return is_on;
    }
    constexpr bool ordered() const { return off <= on; }
    /// For minus the signal: of a signal of which less means "on", `mirrored().next(is_on, -signal)` is on at `on` and
    /// below it, and off above `off`.
    AUGUR_HOST_DEVICE constexpr band mirrored() const { return {-on, -off}; }

    friend constexpr bool operator==(const band&, const band&) = default;
    friend std::ostream& operator<<(std::ostream& out, const band& b) {
        return out << "{.on=" << b.on << ", .off=" << b.off << '}';
    }
};

/// What switches. Of an entropy less means "longer", of the others more.
enum class switched_by {
    draft_entropy,   ///< nats of the draft's row for the first token of the round; costs one draft pass to look at
    target_entropy,  ///< nats of the target's row that the last committed token was drawn from; free
    path_value,      ///< product of the draft's largest probabilities over the rows of the short length (at least one)
    acceptance,      ///< exponential average over the tokens that were judged: 1 accepted, 0 rejected; free
};

/// A signal's name, the range of its thresholds and its direction.
struct switching_signal {
    const char* name;
    signals required;
    double most;  ///< that a threshold can be; the least is 0
    bool low_is_long;
};
constexpr switching_signal signal_of(switched_by what) {
    constexpr double finite = std::numeric_limits<double>::max();
    switch (what) {
        case switched_by::draft_entropy:
            return {"draft_entropy", signals::draft_entropy, finite, true};
        case switched_by::target_entropy:
            return {"target_entropy", signals::target_entropy, finite, true};
        case switched_by::path_value:
            return {"path_value", signals::draft_confidence, 1, false};
        case switched_by::acceptance:
            break;
    }
    return {"acceptance", signals::none, 1, false};
}

struct hysteresis_options {
    std::size_t long_length = 4;    ///< tokens, more than short_length
    std::size_t short_length = 1;   ///< tokens; 0 is plain decoding
    std::size_t dwell = 1;          ///< rounds that a length stays at least once it was switched to, at least 1
    bool starts_long = false;       ///< before the signal has said anything
    double acceptance_alpha = 0.1;  ///< acceptance: weight of the newest token in the average, in (0, 1]
    double acceptance_init = 0.5;   ///< acceptance: where the average starts, in [0, 1]
};

/// What was done in a run.
struct hysteresis_counts {
    std::size_t long_rounds = 0;
    std::size_t short_rounds = 0;
    std::size_t to_long = 0;   ///< switches
    std::size_t to_short = 0;  ///< switches

    friend constexpr bool operator==(const hysteresis_counts&, const hysteresis_counts&) = default;
    friend std::ostream& operator<<(std::ostream& out, const hysteresis_counts& c) {
        return out << "{.long_rounds=" << c.long_rounds << ", .short_rounds=" << c.short_rounds
                   << ", .to_long=" << c.to_long << ", .to_short=" << c.to_short << '}';
    }
};

/// Drafts the long length or the short one. A round takes the length of the one before it, unless its signal lies
/// outside the band: at the long side's threshold or beyond it the long one, beyond the other threshold the short one.
/// So a signal that moves inside the band never switches. Decided once a round, and kept when the round is over. Read
/// counts() after the run. No effect on the distribution, no randomness; beside the signal a few operations a round.
/// Lives on a device as on the host. Source: EntMTP's hysteretic rule (on above, off below), for lengths in the place
/// of trees.
template <switched_by By>
class hysteresis {
    static constexpr switching_signal traits = signal_of(By);

 public:
    static constexpr signals_read reads{.required = traits.required};

    /// The long length is switched on at `thresholds.on`, and off at `thresholds.off`: of an entropy the greater one.
    explicit hysteresis(band thresholds, hysteresis_options options = {})
        : thresholds_(thresholds),
          options_(options),
          lasted_(options.dwell),
          average_(options.acceptance_init),
          long_(options.starts_long) {
        check();
    }

    /// A length. A path value is asked for with each row of the short length, the others once.
    AUGUR_HOST_DEVICE constexpr draft_plan plan(const observation& seen) const {
        return {.length = is_long_after(seen) ? options_.long_length : options_.short_length,
                .look = By == switched_by::path_value ? seen.drafted + 2 : 0};
    }

    AUGUR_HOST_DEVICE constexpr void learn(const outcome& happened) noexcept {
        const bool now = is_long_after(happened.decided_on);
        if (now != long_) {
            ++(now ? counts_.to_long : counts_.to_short);
            lasted_ = 0;
        }
        if (lasted_ < options_.dwell) ++lasted_;
        long_ = now;
        ++(now ? counts_.long_rounds : counts_.short_rounds);
        if constexpr (By == switched_by::acceptance) judge(happened);
    }

    const band& thresholds() const { return thresholds_; }
    const hysteresis_options& options() const { return options_; }
    const hysteresis_counts& counts() const { return counts_; }
    /// Whether the last round had the long length; at first, whether it starts so.
    bool is_long() const { return long_; }
    /// The average of acceptance, where that switches.
    double acceptance() const requires(By == switched_by::acceptance) { return average_; }

    friend std::ostream& operator<<(std::ostream& out, const hysteresis& p) {
        const hysteresis_options& chosen = p.options_;
        out << "hysteresis{.by=" << traits.name << ", .on=" << p.thresholds_.on << ", .off=" << p.thresholds_.off
            << ", .long_length=" << chosen.long_length << ", .short_length=" << chosen.short_length
            << ", .dwell=" << chosen.dwell;
        if (By == switched_by::acceptance) {
            out << ", .acceptance_alpha=" << chosen.acceptance_alpha << ", .acceptance_init=" << chosen.acceptance_init;
        }
        return out << '}';
    }

 private:
    AUGUR_HOST_DEVICE constexpr bool is_long_after(const observation& seen) const {
        if (lasted_ < options_.dwell) return long_;
        if constexpr (By == switched_by::path_value) {
            const std::size_t deciding = options_.short_length > 0 ? options_.short_length - 1 : 0;
            if (seen.drafted < deciding) return long_;  // more than were drafted, whichever it is
            if (seen.drafted > deciding) return true;   // the draft went on, so that row had decided for it
            return thresholds_.next(long_, seen.path_value);
        } else if constexpr (By == switched_by::draft_entropy) {
            return thresholds_.mirrored().next(long_, -seen.first_draft_entropy_nats);
        } else if constexpr (By == switched_by::target_entropy) {
            return thresholds_.mirrored().next(long_, -seen.target_entropy_nats);
        } else {
            return thresholds_.next(long_, average_);
        }
    }

    /// Token by token, so that the length of a draft is not in the average. What follows a rejected token was not
    /// judged.
    AUGUR_HOST_DEVICE constexpr void judge(const outcome& happened) {
        for (std::size_t i = 0; i < happened.accepted; ++i) average_ += options_.acceptance_alpha * (1 - average_);
        if (happened.accepted < happened.drafted) average_ -= options_.acceptance_alpha * average_;
    }

    void check() const {
        using augur::detail::fail;
        const auto [on, off] = thresholds_;
        for (const double each : {on, off}) {
            if (each >= 0 && each <= traits.most) continue;
            fail("hysteresis: a threshold of ", traits.name, " is ", each, "; it must be ",
                 traits.low_is_long ? "0 or more, and finite" : "in [0, 1]");
        }
        if (!(traits.low_is_long ? thresholds_.mirrored() : thresholds_).ordered()) {
            fail("hysteresis: ", traits.name, " switches the long length on at ", on, " and off at ", off,
                 "; off must not be ", traits.low_is_long ? "below" : "above", " on");
        }
        if (options_.long_length <= options_.short_length) {
            fail("hysteresis: the long length is ", options_.long_length, " and the short one ", options_.short_length,
                 "; the long one must be longer");
        }
        if (options_.dwell == 0) fail("hysteresis: the dwell is 0 rounds; it must be at least 1");
        if constexpr (By == switched_by::acceptance) check_average();
    }

    void check_average() const {
        using augur::detail::fail;
        if (options_.short_length == 0) {
            fail(
                "hysteresis: the short length is 0, and by acceptance the long one could never come back from it; it "
                "must be at least 1");
        }
        const double alpha = options_.acceptance_alpha, init = options_.acceptance_init;
        if (!(alpha > 0 && alpha <= 1)) fail("hysteresis: acceptance_alpha is ", alpha, "; it must be in (0, 1]");
        if (!(init >= 0 && init <= 1)) fail("hysteresis: acceptance_init is ", init, "; it must be in [0, 1]");
    }

    band thresholds_;
    hysteresis_options options_;
    hysteresis_counts counts_;
    std::size_t lasted_;  ///< rounds since the last switch, up to the dwell
    double average_;
    bool long_;
};

}  // namespace augur::policy
