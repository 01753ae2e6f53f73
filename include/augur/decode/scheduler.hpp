#pragma once
// The scheduler: serves many requests with one scheme; admits, prefills and decodes them side by side.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/decode/batch.hpp"
#include "augur/decode/generate.hpp"
#include "augur/decode/request.hpp"
#include "augur/decode/request_desk.hpp"
#include "augur/decode/row_market.hpp"
#include "augur/decode/scheduler_options.hpp"
#include "augur/decode/served_request.hpp"
#include "augur/decode/session.hpp"
#include "augur/model/cache_bytes.hpp"
#include "augur/model/limits.hpp"

namespace augur::decode {

/// Serves requests with one scheme. One thread calls step() in a loop; any thread may submit(), cancel() and read
/// counters() meanwhile.
/// A step: ends what was cancelled or is late; admits waiting requests, by priority, as long as their caches have room;
/// computes up to prefill_tokens of the prompts of those that were admitted; and lets every running request do one
/// round, so that each gets a token at least. Passes of one model are run together (BatchModel). The rows beside each
/// request's own go to the drafted tokens that are expected to bring most (row_market).
/// Each text is the one that generate gives for its prompt, settings and seed, bit for bit, where the models promise
/// bitwise rows and the criterion's noise belongs to the position (exact, coupled); else it has the same distribution.
/// Fairness: every running request takes part in every round; nobody is overtaken for ever by those of higher priority
/// (head_start), by those that need less memory (who is first in line waits for room, and others behind it), or by
/// shorter prompts (served_request::prefill_rank).
/// Scheme and options' functions must outlive it. Requests that are left when it is destroyed end without on_end.
template <class Scheme, class Demanded = lossless>
class scheduler {
    static_assert(detail::keeps_the_guarantee<Scheme, Demanded>::value);
    using record = served_request<Scheme>;
    using session_type = typename record::session_type;

 public:
    /// Refuses limits that are out of range, and a budget of bytes where nobody counts them.
    explicit scheduler(const Scheme& scheme, scheduler_options options = {})
        : scheme_(&scheme),
          options_((options.check(), std::move(options))),
          desk_(options_),
          batch_(scheme),
          market_(options_.rows, model::limits_of(scheme.target()).most_tokens_of_a_pass) {
        active_.reserve(options_.most_running);
        bids_.reserve(options_.most_running);
        members_.reserve(options_.most_running);
        if (options_.cache_bytes == no_limit || options_.cache_bytes_of || counts_bytes) return;
        augur::detail::fail("scheduler: cache_bytes is ", options_.cache_bytes,
                            ", but the target or the drafter does not count its cache (cache_bytes(tokens)): give "
                            "cache_bytes_of, or a budget of cached_tokens");
    }
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    /// Puts a request in line, or says why not. Throws augur::error for a prompt or settings that cannot be decoded
    /// with, as generate does. Cost: those checks; no cache is made.
    submission submit(request asked) {
        check(asked);
        const cache_ledger::amount needs = needed(asked);
        return desk_.take(std::move(asked), needs, now());
    }
    /// Ends a request, waiting or not: before the next pass of a model. False if there is none of that number.
    bool cancel(request_id id) { return desk_.cancel(id); }
    /// From here on requests are refused; those that are there are served.
    void drain() { desk_.drain(); }

    /// As described. False when no request is left. What on_end throws is heard when the step is done; what models,
    /// on_token and others throw ends their request (`failed`). Refuses to begin inside another step.
    bool step() {
        const stepping here(*this);
        first_thrown_ = {};
        end_marked();
        admit();
        prefill();
        run_round();
        end_finished();
        const std::size_t left = desk_.count([&](scheduler_counters& all) {
            ++all.steps;
            all.prefilled_tokens += std::exchange(prefilled_, 0);
            all.running = batch_.size();
            all.prefilling = active_.size() - batch_.size();
        });
        first_thrown_.rethrow();
        return left > 0;
    }
    /// Sleeps until there is a request, or for so long (a std::chrono::duration). True where there is one.
    template <class Duration>
    bool wait_for(const Duration& most) {
        return desk_.wait_for(most);
    }

    scheduler_counters counters() const { return desk_.counters(); }
    /// Estimated seconds of a pass of the target over so many rows; 0 until one was measured. Not while another thread
    /// is in step().
    double pass_seconds(std::size_t rows) const { return market_.pass_seconds(rows); }

 private:
    static constexpr bool counts_bytes =
        CountsCacheBytes<typename Scheme::target_type> && CountsCacheBytes<typename Scheme::drafter_type>;

    struct stepping {
        scheduler* of;
        explicit stepping(scheduler& s) : of(&s) {
            if (of->in_step_) augur::detail::fail("a step of a scheduler was begun inside another one");
            of->in_step_ = true;
        }
        stepping(const stepping&) = delete;
        stepping& operator=(const stepping&) = delete;
        ~stepping() { of->in_step_ = false; }
    };

    /// What the batch asks and tells in a round.
    struct round_market {
        scheduler* of;
        deadline_clock::time_point begun, allotted;

        /// Where memory fails the batch grants what was not.
        void allot(std::span<const row_bid<session_type>> bids) noexcept {
            commit::first_thrown().attempt([&] {
                of->bids_.clear();
                for (const auto& each : bids) of->bids_.push_back({&of->find(*each.s).market, each.proposed});
                allotted = of->now();
                of->market_.allot(of->bids_, of->seconds(begun, allotted));
            });
        }
        void failed(session_type& s, const std::exception_ptr& why) noexcept { of->find(s).fail(why); }
    };

    deadline_clock::time_point now() const { return options_.now ? options_.now() : deadline_clock::now(); }
    double seconds(deadline_clock::time_point from, deadline_clock::time_point to) const {
        return options_.timed ? std::chrono::duration<double>(to - from).count() : 1e-3;
    }
    /// An active one.
    record& find(const session_type& of) {
        const auto is_of = [&](const record* each) { return each->session.get() == &of; };
        return **std::find_if(active_.begin(), active_.end(), is_of);
    }

    void check(const request& asked) const {
        const auto& target = scheme_->target();
        checked_prompt(asked.prompt, target.vocabulary_size(), target.context_length());
        const transform::pipeline transform(asked.sampling, target.vocabulary_size());
        const commit::stop_watcher stops(asked.stop, target.vocabulary_size(), target.context_length());
        accept::check(scheme_->criterion(), transform.chosen());
        draft::check(scheme_->drafter(), transform.chosen());
        if (std::abs(asked.priority) <= request::most_priority) return;
        augur::detail::fail("a request has priority ", asked.priority, "; it must be within ", request::most_priority,
                            " of 0");
    }

    /// Of its caches, when it ends.
    cache_ledger::amount needed(const request& asked) const {
        const std::size_t prompt = asked.prompt.size(), context = scheme_->target().context_length();
        const std::size_t tokens = prompt + std::min(asked.stop.max_tokens, context - prompt);
        if (options_.cache_bytes_of) return {tokens, options_.cache_bytes_of(tokens)};
        if constexpr (counts_bytes) {
            return {tokens, scheme_->target().cache_bytes(tokens) + scheme_->drafter().cache_bytes(tokens)};
        } else {
            return {tokens, 0};
        }
    }

    /// What was cancelled, and what is late, waiting or not.
    void end_marked() {
        for (const auto& each : desk_.take_marked(now())) conclude(*each);
        for (std::size_t i = active_.size(); i-- > 0;) {
            if (active_[i]->marked) end(active_[i]);
        }
    }

    /// Whoever is first in line, as long as there is room.
    void admit() {
        while (active_.size() < options_.most_running) {
            record* const next = desk_.admit();
            if (next == nullptr) return;
            active_.push_back(next);
            if (!next->attempt([&] { next->begin(*scheme_, options_.timed, now()); })) end(next);
        }
    }

    /// The prompts with the least left first, but who has waited goes ahead.
    void prefill() {
        prefilling_.clear();
        for (record* each : active_) {
            if (!each->in_batch && each->is_running()) prefilling_.push_back(each);
        }
        const auto rank = [&](const record* of) {
            return std::pair(of->prefill_rank(options_.prefill_tokens), of->id);
        };
        std::sort(prefilling_.begin(), prefilling_.end(),
                  [&](const record* a, const record* b) { return rank(a) < rank(b); });
        std::size_t room = options_.prefill_tokens;
        for (record* each : prefilling_) {
            const std::size_t part = std::min(room, each->left);
            if (part < each->left) ++each->passed_over;
            if (part == 0 && each->left > 0) continue;
            const bool sound = each->attempt([&] {
                each->left = prefill_part(*scheme_, *each->session, part);
                if (each->left > 0) return;
                batch_.add_with(each->chosen, *each->session);
                each->in_batch = true;
            });
            room -= part;
            prefilled_ += part;
            if (!sound) end(each);
        }
    }

    /// One round of every running request.
    void run_round() {
        if (batch_.size() == 0) return;
        members_.clear();
        for (record* each : active_) {
            if (each->in_batch) members_.push_back(&each->market);
        }
        market_.plan(members_);
        for (record* each : active_) {
            each->chosen.most_drafted = std::min(each->market.most_drafted, each->asked.most_drafted);
        }
        const auto begun = now();
        round_market market{this, begun, begun};
        for (bool begins = true; begins || batch_.open_rounds() > 0; begins = false) {
            batch_.advance(market, begins);
            end_marked();
        }
        market_.settle(learn_rounds(), seconds(market.allotted, now()));
        note_rounds(active_);
    }
    /// Shows the market what became of its rows; returns how many tokens were committed.
    std::size_t learn_rounds() {
        std::size_t tokens = 0;
        for (record* each : active_) {
            if (!each->in_batch || each->session->counts.rounds() == each->rounds) continue;
            const auto& last = each->session->last;
            const auto& proposed = last.proposed;
            using distribution_type = typename std::remove_cvref_t<decltype(proposed)>::draft_distribution_type;
            std::span<const float> confidences;
            if constexpr (DeterministicDistribution<distribution_type>) confidences = proposed.confidences();
            market_.learn(each->market, proposed.size(), proposed.parents(), confidences, last.decided);
            tokens += last.committed.size();
        }
        return tokens;
    }
    void note_rounds(std::span<record* const> of) {
        const deadline_clock::time_point at = now();
        desk_.count([&](scheduler_counters& all) {
            for (record* each : of) each->note_round(at, all);
        });
    }

    void end_finished() {
        for (std::size_t i = active_.size(); i-- > 0;) {
            record& of = *active_[i];
            if (!of.marked && of.is_running()) continue;
            const bool stopped = !of.marked && of.session->finished == finish_reason::cancelled;
            of.mark(stopped ? request_end::cancelled : request_end::finished);
            end(&of);
        }
    }

    /// An active request.
    void end(record* of) {
        active_.erase(std::find(active_.begin(), active_.end(), of));
        if (of->in_batch) batch_.remove(*of->session);
        note_rounds({&of, 1});
        conclude(*desk_.release(of->id));
    }

    /// Tells it what it has come to.
    void conclude(record& of) {
        const served result = of.result(now());
        desk_.count([&](scheduler_counters& all) {
            all.finished += result.how == request_end::finished ? 1 : 0;
            all.cancelled += result.how == request_end::cancelled ? 1 : 0;
            all.expired += result.how == request_end::expired ? 1 : 0;
            all.failed += result.how == request_end::failed ? 1 : 0;
        });
        if (of.asked.on_end) first_thrown_.attempt([&] { of.asked.on_end(result); });
    }

    const Scheme* scheme_;
    scheduler_options options_;
    request_desk<record> desk_;
    batch<Scheme> batch_;
    row_market market_;
    std::vector<record*> active_;          ///< admitted, in that order
    std::vector<market_member*> members_;  // storage
    std::vector<market_bid> bids_;         // storage
    std::vector<record*> prefilling_;      // storage
    commit::first_thrown first_thrown_;
    std::size_t prefilled_ = 0;  ///< tokens, in this step
    bool in_step_ = false;
};

template <class Scheme>
scheduler(const Scheme&) -> scheduler<Scheme>;
template <class Scheme>
scheduler(const Scheme&, scheduler_options) -> scheduler<Scheme>;

}  // namespace augur::decode
