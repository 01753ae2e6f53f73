#pragma once
// The row market: decides how far the requests of a batch draft, and which of their drafted tokens are verified.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/decode/draft_history.hpp"
#include "augur/decode/pass_curve.hpp"
#include "augur/model/pass.hpp"
#include "augur/round/allotment.hpp"
#include "augur/types/error.hpp"

namespace augur::decode {

struct row_market_options {
    bool competes = true;          ///< false: every proposal is verified whole, however large the batch is
    std::size_t most_rows = 512;   ///< of a pass, that are distinguished
    double budget = 0.01;          ///< share of the time that may be lost on finding out
    double credit = 1.5;           ///< plain passes that may be lost before anything is gained
    double margin = 0.01;          ///< of throughput, that drafts have to gain to be worth a pass's rows
    std::size_t plain_after = 32;  ///< steps after which a plain one is measured again
    std::size_t probe_after = 16;  ///< steps after which what does not pay is tried again

    /// Throws, with the value, where one is out of range.
    void check() const {
        using augur::detail::fail;
        if (most_rows < 1 || most_rows > 1 << 16)
            fail("row_market: most_rows is ", most_rows, "; it must be 1 to 65536");
        if (!(budget >= 0 && budget < 1)) fail("row_market: budget is ", budget, "; it must be at least 0 and below 1");
        if (!(credit >= 0 && credit <= 8)) fail("row_market: credit is ", credit, "; it must be 0 to 8");
        if (!(margin >= 0 && margin < 1)) fail("row_market: margin is ", margin, "; it must be at least 0 and below 1");
        if (plain_after < 2) fail("row_market: plain_after is ", plain_after, "; it must be at least 2");
        if (probe_after < 1) fail("row_market: probe_after is 0; it must be at least 1");
    }
};

/// What a market knows of one request.
struct market_member {
    bool drafts = true;                   ///< false: whatever it may, it proposes nothing
    std::size_t most_drafted = no_limit;  ///< tokens, in the step that begins
    draft_history history{};
    std::size_t kind = 0;  ///< of the proposal that was granted last
};

/// A proposal at a market.
struct market_bid {
    market_member* of;
    rounds::allotment* proposed;
};

/// Every running request has its plain row in each pass. The other rows go to the drafted tokens that are expected to
/// bring most: how many of them is decided by what the whole pass would yield a second, (tokens expected) / (drafting,
/// and T(rows) as measured), plain decoding being a choice. So speculation fades out as a batch grows. What drafts may
/// lose against plain passes is bounded, as it is for policy::cost_aware: a ledger has `credit` plain passes at first,
/// and a share of the time; what drafts gain or lose is added, at most eight passes are saved, and no draft is made or
/// granted that is not covered if none of it is accepted. Uses earlier rounds, first rows, matches and times alone
/// (rounds::allotment), so that it does not change the distribution. Cost: O(drafted tokens * their logarithm) a step.
class row_market {
 public:
    explicit row_market(row_market_options options = {}, std::size_t most_tokens_of_a_pass = no_limit)
        : options_((options.check(), options)),
          most_tokens_(most_tokens_of_a_pass),
          passes_(options_.most_rows),
          plain_passes_(options_.most_rows),
          allowance_(options_.credit) {}

    /// Before a step: says how far each member may draft.
    void plan(std::span<market_member* const> running) {
        rows_ = running.size();
        probes_ = false;
        const bool drafts = options_.competes;
        for (market_member* each : running) each->most_drafted = drafts ? 0 : no_limit;
        if (!drafts || measures_plain()) return;
        if (!draft_known_) {  // what drafting costs is asked of one after another, until one has a proposal
            if (!running.empty()) probe(*running[steps_ % running.size()]);
            return;
        }
        if (draft_seconds_ * static_cast<double>(draft_history::depths) < options_.margin * plain(rows_)) {
            for (market_member* each : running) each->most_drafted = no_limit;  // the market is where it is decided
            return;
        }
        bids_.clear();
        for (std::size_t i = 0; i < running.size(); ++i) {
            if (!running[i]->drafts) continue;
            histories_.values(running[i]->history, draft_history::depths, values_);
            for (const double value : values_) bids_.push_back({value, i});
        }
        const std::size_t count = best(draft_seconds_, 0);
        for (std::size_t i = 0; i < count; ++i) ++running[bids_[i].second]->most_drafted;
        if (count == 0 && steps_ - tried_at_ >= options_.probe_after) probe_likeliest(running);
    }

    /// When all have proposed, `drafting` seconds after the step began.
    void allot(std::span<const market_bid> all, double drafting) {
        drafting_ = drafting;
        proposed_ = 0;
        bids_.clear();
        granted_.assign(all.size(), 0);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const rounds::allotment& of = *all[i].proposed;
            all[i].of->kind = draft_kind::of(of.seen());
            proposed_ += of.size();
            histories_.values(all[i].of->history, of, values_);
            for (const double value : values_) bids_.push_back({value, i});
        }
        rows_ = all.size();
        std::size_t count = options_.competes ? best(0, drafting) : bids_.size();
        if (probes_) count = std::max(count, std::min<std::size_t>(1, bids_.size()));
        for (std::size_t i = 0; i < count; ++i) ++granted_[bids_[i].second];
        for (std::size_t i = 0; i < all.size(); ++i) all[i].proposed->grant(granted_[i]);
        drafted_rows_ = count;
    }

    /// What became of a granted proposal.
    void learn(market_member& of, std::size_t nodes, std::span<const std::int32_t> parents,
               std::span<const float> confidences, const verdict& decided) {
        histories_.learn(of.history, of.kind, nodes, parents, confidences, decided);
    }

    /// After a step, in which so many tokens were committed, `passing` seconds after rows were allotted.
    void settle(std::size_t tokens, double passing) {
        ++steps_;
        histories_.fade();
        if (rows_ == 0 || !(passing > 0)) return;
        passes_.learn(rows_ + drafted_rows_, passing);
        if (proposed_ > 0) {
            const double each = drafting_ / static_cast<double>(proposed_);
            draft_seconds_ =
                draft_known_ ? draft_seconds_ + (std::min(each, 2 * draft_seconds_ + 1e-9) - draft_seconds_) / 8 : each;
            draft_known_ = true;
            tried_at_ = steps_;
        }
        if (drafted_rows_ == 0) {
            plain_passes_.learn(rows_, passing);
            plain_at_ = steps_;
        }
        const double plain_seconds = plain(rows_);
        if (!(plain_seconds > 0)) return;
        const double spent = (passing + drafting_) / plain_seconds;
        const double yield = static_cast<double>(tokens) / static_cast<double>(rows_);
        allowance_ += options_.budget * spent;
        if (drafted_rows_ > 0) {
            allowance_ += yield - spent;
        } else {
            allowance_ -= drafting_ / plain_seconds;
        }
        allowance_ = std::clamp(allowance_, -most_saved, most_saved);
    }

    /// Estimated seconds of a pass over so many rows; 0 until one was measured.
    double pass_seconds(std::size_t rows) const { return passes_(rows); }
    /// Plain passes that may still be lost.
    double allowance() const { return allowance_; }

 private:
    static constexpr double most_saved = 8;

    double plain(std::size_t rows) const { return plain_passes_.known() ? plain_passes_(rows) : passes_(rows); }
    /// More than a plain pass, of so many drafted rows.
    double extra(std::size_t drafted) const { return passes_(rows_ + drafted) - passes_(rows_); }
    bool measures_plain() const { return !plain_passes_.known() || steps_ - plain_at_ >= options_.plain_after; }

    /// How many of bids_, which are sorted here, are the most productive; 0 where plain decoding is.
    std::size_t best(double seconds_each, double seconds_spent) {
        if (measures_plain() || bids_.empty()) return 0;
        std::stable_sort(bids_.begin(), bids_.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        const double plain_seconds = plain(rows_);
        const std::size_t room = most_tokens_ == no_limit || most_tokens_ < rows_ ? bids_.size() : most_tokens_ - rows_;
        const std::size_t tried = std::max(2 * passes_.most_measured(), rows_ + 1) - rows_;
        const std::size_t most = std::min({bids_.size(), room, tried});
        double tokens = static_cast<double>(rows_);
        double largest = tokens / (plain_seconds + seconds_spent) * (1 + options_.margin);
        std::size_t count = 0;
        for (std::size_t i = 0; i < most; ++i) {
            const double drafting = seconds_each * static_cast<double>(i + 1);
            const double at_risk = passes_.at_most(rows_ + i + 1) - passes_(rows_) + drafting;
            if (at_risk > allowance_ * plain_seconds) break;
            tokens += bids_[i].first;
            const double rate = tokens / (plain_seconds + extra(i + 1) + drafting + seconds_spent);
            if (rate <= largest) continue;
            largest = rate;
            count = i + 1;
        }
        return count;
    }

    /// One token, where that can be lost.
    void probe(market_member& by) {
        if (allowance_ < 1) return;
        by.most_drafted = 1;
        probes_ = true;
        tried_at_ = steps_;
    }
    /// Of the request whose drafts are accepted most often.
    void probe_likeliest(std::span<market_member* const> running) {
        market_member* likely = nullptr;
        double largest = -1;
        for (market_member* each : running) {
            if (!each->drafts) continue;
            histories_.values(each->history, 1, values_);
            if (values_.front() <= largest) continue;
            largest = values_.front();
            likely = each;
        }
        if (likely != nullptr) probe(*likely);
    }

    row_market_options options_;
    std::size_t most_tokens_;
    pass_curve passes_, plain_passes_;
    draft_histories histories_;
    double allowance_;
    double draft_seconds_ = 0;  ///< a drafted token
    bool draft_known_ = false, probes_ = false;
    std::size_t steps_ = 0, plain_at_ = 0, tried_at_ = 0;
    std::size_t rows_ = 0, drafted_rows_ = 0, proposed_ = 0;  ///< of this step
    double drafting_ = 0;
    std::vector<std::pair<double, std::size_t>> bids_;  ///< values, and whose
    std::vector<double> values_;                        // storage
    std::vector<std::size_t> granted_;
};

}  // namespace augur::decode
