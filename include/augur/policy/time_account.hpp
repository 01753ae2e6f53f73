#pragma once
// The time model of cost-aware policies: pass times, throughput, and the budget for drafts that do not pay.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/policy/learned_state.hpp"
#include "augur/policy/pass_seconds.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"

namespace augur::policy {

/// How a policy keeps its account.
struct account_terms {
    std::string_view policy;  ///< named in errors
    std::size_t most_rows;    ///< of a verify pass, that are distinguished
    double memory;            ///< weight of the past when a figure is updated, in (0, 1)
    double budget;            ///< share of the time that may be lost on finding out, in [0, 1)
    double credit;            ///< passes of plain decoding that may be lost before anything is gained; below 0: owed
    double most;              ///< of either
    std::size_t plain_after;  ///< rounds after which plain decoding is measured again
};

/// Seconds of drafting one of something, fading. What an earlier text measured holds until one was timed here.
struct drafting_time {
    timed figure;
    bool is_earlier = false;

    void recall(const timed& before) { *this = {before.at_most(pass_seconds::believed), true}; }
    /// Returns what they count as.
    double learn(double seconds, double memory) {
        figure.weight *= memory;
        return figure.add(seconds, figure.mean, std::exchange(is_earlier, false));
    }
};

/// Rounds of drafts, against plain decoding. What a round gains is saved, what it loses is spent, in passes of plain
/// decoding; a share of all time is saved, too. So what is lost in sum is bounded by the credit, a pass that may be
/// earned and that share, where
/// no draft is begun that is not `affordable`. Cost: that of pass_seconds.
class time_account {
 public:
    /// `verify_seconds`: of passes over 1, 2, ... rows, that were measured before. Throws, in the policy's name and
    /// with the value, where a term is out of its range, or a time is not positive and finite.
    time_account(const account_terms& terms, std::span<const double> verify_seconds)
        : memory_(terms.memory),
          budget_(terms.budget),
          most_(terms.most),
          plain_after_(terms.plain_after),
          passes_(terms.most_rows, checked(terms, verify_seconds).memory, verify_seconds),
          allowance_(terms.credit) {}

    const pass_seconds& passes() const { return passes_; }
    pass_seconds& passes() { return passes_; }

    /// Estimated seconds of a verify pass over so many rows; 0 until a plain one was measured.
    double verify_seconds(std::size_t rows) const { return passes_(rows); }
    /// What the next text can begin with.
    std::vector<timed> learned_passes() const {
        std::vector<timed> all;
        for (const timed& each : passes_.figures()) all.push_back(figures::kept(each));
        return all;
    }
    /// What an earlier text learned, if anything, in place of what was measured before.
    void recall_passes(std::span<const timed> before) {
        if (!before.empty()) passes_.recall(before);
    }

    /// Passes of plain decoding that may still be lost.
    double allowance() const { return allowance_; }
    bool affordable(double seconds) const { return seconds <= allowance_ * passes_(1); }
    /// Tokens that a second yields, of late.
    double pace() const { return std::max(1.0, tokens_ / spent_) / passes_(1); }

    std::size_t rounds() const { return rounds_; }
    /// Whether the next round is a plain one, whatever is seen: its time is to be measured.
    bool measures_plain() const { return !passes_.known() || passes_.owes() || rounds_ - plain_at_ >= plain_after_; }

    /// Books what a round gained or lost against plain decoding, where something was drafted, or might have been.
    /// `seconds`: what it counts as. What it took longer than that was a disturbance, and is nobody's loss, unless
    /// drafts take so long again and again.
    void settle(std::size_t tokens, double seconds, bool drafted, double taken = 0) {
        if (drafted) passes_.owe(recurring(taken - seconds - passes_.newly_owed()));
        if (!(passes_(1) > 0)) return;
        const double passes = seconds / passes_(1);
        tokens_ = memory_ * tokens_ + static_cast<double>(tokens);
        spent_ = memory_ * spent_ + passes;
        allowance_ += budget_ * passes + (drafted ? static_cast<double>(tokens) - passes : 0);
        if (drafted) passes_.spend(tokens, seconds);
        allowance_ += passes_.take_refund() - passes_.take_due();
        allowance_ = std::min(allowance_, most_);
    }

    /// A token that was not drafted would have been accepted: a tenth of a pass more may be lost, in all one.
    void earn() {
        const double more = std::min(0.1, earnable_);
        earnable_ -= more;
        allowance_ = std::min(allowance_ + more, most_);
    }

    /// Books what drafters took that came to nothing.
    void lose(double seconds) {
        if (passes_(1) > 0) allowance_ -= seconds / passes_(1);
    }

    void end_round(const outcome& happened) {
        if (happened.drafted == 0) plain_at_ = rounds_;
        ++rounds_;
    }

    /// A round in which somebody else drafted, who learns from it: what is learned here is what passes cost, and what
    /// time yields.
    void learn_pass(const outcome& happened) {
        const bool measured = happened.drafted < passes_.figures().size();
        const double verifying = happened.row_seconds();
        const double seconds = measured ? passes_.learn(happened.drafted + 1, verifying, false) : verifying;
        settle(happened.accepted + 1, seconds + happened.draft_seconds, false);
        end_round(happened);
    }

 private:
    static constexpr std::size_t alike = 32;  ///< drafts among which what happens twice is no accident

    /// Of what drafts took too long what is to be paid: nothing of the first time, which is paid with the second.
    double recurring(double seconds) {
        const bool again = since_slow_++ < alike;
        if (!(seconds > 0)) return 0;
        since_slow_ = 0;
        const double before = std::exchange(forgiven_, again ? 0 : seconds);
        return again ? before + seconds : 0;
    }

    static const account_terms& checked(const account_terms& terms, std::span<const double> verify_seconds) {
        if (!(terms.memory > 0 && terms.memory < 1)) {
            augur::detail::fail(terms.policy, ": memory is ", terms.memory, "; it must be between 0 and 1");
        }
        if (!(terms.budget >= 0 && terms.budget < 1)) {
            augur::detail::fail(terms.policy, ": budget is ", terms.budget, "; it must be at least 0 and less than 1");
        }
        if (!(std::isfinite(terms.credit) && terms.credit <= terms.most)) {
            augur::detail::fail(terms.policy, ": credit is ", terms.credit, "; it must be finite and at most ",
                                terms.most);
        }
        for (const double seconds : verify_seconds) {
            if (seconds > 0 && std::isfinite(seconds)) continue;
            augur::detail::fail(terms.policy, ": verify_seconds holds ", seconds, "; it must be positive and finite");
        }
        return terms;
    }

    double memory_, budget_, most_;
    std::size_t plain_after_;
    pass_seconds passes_;
    double allowance_;
    double earnable_ = 1;             ///< passes
    double tokens_ = 0;               ///< of late, fading
    double spent_ = 0;                ///< on them, in passes of plain decoding
    double forgiven_ = 0;             ///< seconds, once
    std::size_t since_slow_ = alike;  ///< drafts
    std::size_t rounds_ = 0;
    std::size_t plain_at_ = 0;  ///< the round that was last plain
};

}  // namespace augur::policy
