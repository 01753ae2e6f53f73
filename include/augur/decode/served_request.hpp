#pragma once
// A request while a scheduler serves it.

#include <chrono>
#include <cstddef>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "augur/decode/generate.hpp"
#include "augur/decode/request.hpp"
#include "augur/decode/row_market.hpp"
#include "augur/decode/scheduler_options.hpp"
#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/decode/waiting_line.hpp"
#include "augur/random/chooser.hpp"

namespace augur::decode {

/// What a scheduler keeps of one request. It does not move, for its session's rounds refer to `chosen`.
template <class Scheme>
struct served_request {
    using session_type = decode::session<Scheme, random::philox_chooser>;
    using time_point = deadline_clock::time_point;

    served_request(request_id number, request what, cache_ledger::amount of_caches, time_point at)
        : id(number), asked(std::move(what)), needs(of_caches), submitted(at) {}
    served_request(const served_request&) = delete;
    served_request& operator=(const served_request&) = delete;

    /// It is admitted.
    void begin(const Scheme& scheme, bool timed, time_point at) {
        admitted = at;
        chosen.on_token = [this](const commit::committed_token& t) {
            has_token = true;
            return !asked.on_token || asked.on_token(t);
        };
        chosen.log_probabilities = asked.log_probabilities;
        chosen.timed = timed;
        chosen.shares_passes = true;
        market.drafts = asked.most_drafted > 0;
        session = std::make_unique<session_type>(scheme, asked.prompt, asked.sampling, asked.stop,
                                                 random::philox_chooser(asked.seed), prefilling::in_parts);
        left = asked.prompt.size() - 1;
    }

    /// Whose prompt is computed first: the smallest. Each step in which it is passed over is worth an eighth of a
    /// step's tokens, so that after 8 left / prefill_tokens steps no newcomer goes ahead.
    double prefill_rank(std::size_t prefill_tokens) const {
        return static_cast<double>(left) - static_cast<double>(passed_over) * static_cast<double>(prefill_tokens) / 8;
    }

    /// False where it throws, which ends the request.
    template <class Act>
    bool attempt(const Act& act) noexcept {
        try {
            act();
            return true;
        } catch (...) {
            fail(std::current_exception());
            return false;
        }
    }
    void fail(const std::exception_ptr& why) {
        failure = why;
        mark(request_end::failed);
    }
    /// Whether nothing has ended its text, waiting or not.
    bool is_running() const { return session == nullptr || session->finished == finish_reason::running; }
    /// It is to end, for the first reason that is given.
    void mark(request_end why) {
        if (!marked) how = why;
        marked = true;
    }

    /// After a round, whether it took place or not.
    void note_round(time_point at, scheduler_counters& all) {
        if (session == nullptr || session->counts.rounds() == rounds) return;
        const stage_statistics& of_target = session->counts.stages.back();
        all.rounds += of_target.rounds - std::exchange(rounds, of_target.rounds);
        all.drafted_tokens += of_target.drafted - std::exchange(drafted, of_target.drafted);
        all.accepted_tokens += of_target.accepted - std::exchange(accepted, of_target.accepted);
        all.generated_tokens += session->last.committed.size();
        detail::add_log_probabilities(told, session->last);
        if (has_token && !first_token) first_token = at;
    }

    /// What it has come to; its session and its caches end.
    served result(time_point at) {
        told.id = id;
        told.seed = asked.seed;
        told.how = how;
        told.failure = failure;
        told.prompt_tokens = asked.prompt.size();
        const auto since = [&](std::optional<time_point> then) {
            if (!then) return std::numeric_limits<double>::infinity();
            return std::chrono::duration<double>(*then - submitted).count();
        };
        told.admitted_seconds = since(admitted);
        told.first_token_seconds = since(first_token);
        told.seconds = since(at);
        if (session != nullptr) {
            told.detail = std::move(session->fault);
            detail::finish(told, *session);
            session.reset();
        }
        if (told.finish == finish_reason::running) told.finish = finish_reason::cancelled;
        return std::move(told);
    }

    request_id id;
    request asked;
    cache_ledger::amount needs;
    time_point submitted;
    std::optional<time_point> admitted{}, first_token{};
    step_options chosen{};
    market_member market{};
    std::unique_ptr<session_type> session{};            ///< once it is admitted
    std::size_t left = 0;                               ///< of its prompt, to be computed
    std::size_t passed_over = 0;                        ///< steps that computed others' prompts only
    std::size_t rounds = 0, drafted = 0, accepted = 0;  ///< that were noted
    bool is_cancelled = false;                          ///< by somebody, and not ended yet
    bool is_admitted = false;                           ///< and no longer in line
    bool in_batch = false;
    bool has_token = false;
    bool marked = false;  ///< to be ended
    request_end how = request_end::finished;
    std::exception_ptr failure{};

 private:
    served told{};
};

}  // namespace augur::decode
