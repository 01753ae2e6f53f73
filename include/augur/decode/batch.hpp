#pragma once
// Decodes several sequences at once and batches their model passes.

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/flow/work.hpp"
#include "augur/round/allotment.hpp"

namespace augur::decode {

/// A round of a batch that has its proposal and waits for rows.
template <class Session>
struct row_bid {
    Session* s;
    rounds::allotment* proposed;
};

/// Who decides what a batch's rounds verify, and hears of those that failed: a batch alone grants every round all that
/// it drafted. Neither function may throw.
struct grant_everything {
    template <class Session>
    void allot(std::span<const row_bid<Session>> bids) noexcept {
        for (const row_bid<Session>& each : bids) each.proposed->grant(each.proposed->size());
    }
    /// The session has left; `why` is the current exception.
    void failed(auto& /*s*/, const std::exception_ptr& why) noexcept {
        if (!first) first = why;
    }

    std::exception_ptr first{};
};

/// Rounds of sessions of one scheme, side by side. Each is what it would be alone, whatever else is in the batch, where
/// its models promise bitwise rows. Their proposals are verified together: those that have drafted wait for the others,
/// so that the target runs once for all. Sessions join and leave between turns; one that leaves may be destroyed at
/// once. In a turn (by on_token, watchers, policies) sessions may join, which take part from the next one on, and
/// others leave. Scheme, options and sessions must outlive it, or be removed. Each session has watchers of its own, of
/// the types `Watchers`, which are attached to it and shown its rounds, as those of a step are. Cost of a turn: for
/// each model one run of the passes that wait for it; the rounds' own work, one after the other.
template <class Scheme, Chooser C = random::philox_chooser, class... Watchers>
class batch {
 public:
    using session_type = session<Scheme, C>;

    explicit batch(const Scheme& scheme, step_options chosen = {}) : scheme_(&scheme), chosen_(std::move(chosen)) {
        chosen_.shares_passes = true;
    }
    batch(const batch&) = delete;
    batch& operator=(const batch&) = delete;

    /// Its next round begins with the next turn. Refuses a session that is in it already; one that has ended takes no
    /// part. Watchers must outlive the session's stay.
    void add(session_type& s, Watchers&... watchers) { add_with(chosen_, s, watchers...); }
    /// The same with options of its own, which must outlive its stay, say `shares_passes`, and are read when a round
    /// begins.
    void add_with(const step_options& own, session_type& s, Watchers&... watchers) {
        if (find(s) != nullptr) {
            augur::detail::fail("a session was added to a batch of ", size(), " that it is in already");
        }
        if (!own.shares_passes) {
            augur::detail::fail("a session was added to a batch of ", size(), " with shares_passes = false");
        }
        attach(s, watchers...);
        members_.push_back(std::make_unique<member>(&s, &own, watchers...));
    }
    /// Its open round does not take place; the session is as after its last one. False if it is not in the batch.
    /// Refused where its round is at work: in on_token, where `false` ends its text, in its watchers and policy, in its
    /// model's run, and while rows are allotted.
    bool remove(const session_type& s) {
        member* const found = find(s);
        if (found == nullptr) return false;
        if (models_run_ || found == at_work_) {
            augur::detail::fail("a session cannot be removed from a batch of ", size(), " inside ",
                                models_run_ ? "a run of its models" : "its own round", ": remove it between two turns");
        }
        leave(*found);
        if (!in_turn_) sweep();
        return true;
    }
    bool contains(const session_type& s) const {
        return std::any_of(members_.begin(), members_.end(), [&](const auto& each) { return each->s == &s; });
    }
    std::size_t size() const {
        return static_cast<std::size_t>(
            std::count_if(members_.begin(), members_.end(), [](const auto& each) { return each->s != nullptr; }));
    }

    /// Rounds that have begun and are not done.
    std::size_t open_rounds() const {
        return static_cast<std::size_t>(std::count_if(
            members_.begin(), members_.end(), [](const auto& each) { return each->s != nullptr && each->round; }));
    }

    /// A turn: begins rounds where none is open, does what all of them wait for, and lets them go on. False when every
    /// session has ended. What is thrown in a session's round is thrown when all others have gone on; that session is
    /// then not in the batch. Refuses to begin inside another turn.
    bool advance() {
        grant_everything all;
        const bool running = advance(all);
        if (all.first) std::rethrow_exception(all.first);
        return running;
    }
    /// The same; `market` decides what is verified (grant_everything): once every open round has its proposal, it is
    /// shown all of them, and told of every session that left because something was thrown in its round. With `begins`
    /// false no round begins: those that are open go on.
    template <class Market>
    bool advance(Market& market, bool begins = true) {
        if (in_turn_) augur::detail::fail("a turn of a batch of ", size(), " was begun inside another one");
        const turn now(*this);
        const std::size_t taking_part = members_.size();
        wanted_.reserve(taking_part);
        bids_.reserve(taking_part);
        if (begins) begin_rounds(taking_part, market);
        allot(taking_part, market);
        run_models(taking_part);
        go_on(taking_part, market);
        allot(taking_part, market);
        bool running = false;
        for (const auto& each : members_) {
            running = running || (each->s != nullptr && each->s->finished == finish_reason::running);
        }
        return running;
    }

 private:
    struct member {
        member(session_type* of, const step_options* with, Watchers&... by) : s(of), chosen(with), watchers(by...) {}

        session_type* s;  ///< null once it has left
        const step_options* chosen;
        std::tuple<Watchers&...> watchers;
        std::optional<open_round<Scheme, C, Watchers...>> round{};
    };

    /// Within it nobody is erased.
    struct turn {
        batch* of;
        explicit turn(batch& b) : of(&b) { of->in_turn_ = true; }
        turn(const turn&) = delete;
        turn& operator=(const turn&) = delete;
        ~turn() {
            of->in_turn_ = false;
            of->sweep();
        }
    };

    member* find(const session_type& s) {
        const auto at = std::find_if(members_.begin(), members_.end(), [&](const auto& each) { return each->s == &s; });
        return at == members_.end() ? nullptr : at->get();
    }
    static void leave(member& gone) {
        gone.round.reset();
        gone.s = nullptr;
    }
    void sweep() {
        std::erase_if(members_, [](const auto& each) { return each->s == nullptr; });
    }

    /// Those in which `act` throws leave.
    template <class Market, class Act>
    void for_each(std::size_t taking_part, Market& market, const Act& act) {
        for (std::size_t i = 0; i < taking_part; ++i) {
            member& each = *members_[i];
            if (each.s == nullptr) continue;
            at_work_ = &each;
            std::exception_ptr thrown;
            try {
                act(each);
            } catch (...) {
                thrown = std::current_exception();
            }
            if (thrown) {
                session_type& gone = *each.s;
                leave(each);
                market.failed(gone, thrown);
            }
            at_work_ = nullptr;
        }
    }

    template <class Market>
    void begin_rounds(std::size_t taking_part, Market& market) {
        for_each(taking_part, market, [&](member& each) {
            if (each.round || each.s->finished != finish_reason::running) return;
            std::apply([&](Watchers&... watchers) { each.round.emplace(*scheme_, *each.s, *each.chosen, watchers...); },
                       each.watchers);
        });
    }

    /// Those whose work is done.
    template <class Market>
    void go_on(std::size_t taking_part, Market& market) {
        for_each(taking_part, market, [&](member& each) {
            if (!each.round) return;
            if (!each.round->done() && !each.round->wanted()->done()) return;  // it waits for the others' proposals
            if (!each.round->done()) each.round->resume();
            if (each.round->done()) each.round.reset();
        });
    }

    /// Once no open round waits for anything else.
    template <class Market>
    void allot(std::size_t taking_part, Market& market) {
        bids_.clear();
        for (std::size_t i = 0; i < taking_part; ++i) {
            const member& each = *members_[i];
            if (!each.round || each.round->done()) continue;
            rounds::allotment* const proposed = rounds::allotment::of(each.round->wanted());
            if (proposed == nullptr) return;
            bids_.push_back({each.s, proposed});
        }
        if (bids_.empty()) return;
        models_run_ = true;
        market.allot(std::span<const row_bid<session_type>>(bids_));
        models_run_ = false;
        for (const auto& each : bids_) {
            if (!each.proposed->done()) each.proposed->grant(each.proposed->size());
        }
        go_on(taking_part, market);
    }

    void run_models(std::size_t taking_part) noexcept {
        wanted_.clear();
        for (std::size_t i = 0; i < taking_part; ++i) {
            const member& each = *members_[i];
            if (!each.round || each.round->done()) continue;
            if (rounds::allotment::of(each.round->wanted()) == nullptr) wanted_.push_back(each.round->wanted());
        }
        models_run_ = true;
        flow::run_all(wanted_);
        models_run_ = false;
    }

    const Scheme* scheme_;
    step_options chosen_;
    std::vector<std::unique_ptr<member>> members_;  // a round stays where it is
    std::vector<flow::work*> wanted_;
    std::vector<row_bid<session_type>> bids_;
    member* at_work_ = nullptr;  // its round has been resumed
    bool models_run_ = false;
    bool in_turn_ = false;
};

}  // namespace augur::decode
