#pragma once
// Decodes several sequences at once and batches their model passes.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/flow/work.hpp"

namespace augur::decode {

/// Rounds of sessions of one scheme, side by side. Each is what it would be alone, whatever else is in the batch, where
/// its models promise bitwise rows. Sessions join and leave between turns; one that leaves may be destroyed at once. In
/// a turn (by on_token, watchers, policies) sessions may join, which take part from the next one on, and others leave.
/// Scheme, options and sessions must outlive it, or be removed. Each session has watchers of its own, of the types
/// `Watchers`, which are attached to it and shown its rounds, as those of a step are. Cost of a turn: for each model
/// one run of the passes that wait for it; the rounds' own work, one after the other.
template <class Scheme, Chooser C = random::philox_chooser, class... Watchers>
class batch {
 public:
    using session_type = session<Scheme, C>;

    explicit batch(const Scheme& scheme, step_options chosen = {}) : scheme_(&scheme), chosen_(std::move(chosen)) {}
    batch(const batch&) = delete;
    batch& operator=(const batch&) = delete;

    /// Its next round begins with the next turn. Refuses a session that is in it already; one that has ended takes no
    /// part. Watchers must outlive the session's stay.
    void add(session_type& s, Watchers&... watchers) {
        if (find(s) != nullptr) {
            augur::detail::fail("a session was added to a batch of ", size(), " that it is in already");
        }
        attach(s, watchers...);
        members_.push_back(std::make_unique<member>(&s, watchers...));
    }
    /// Its open round does not take place; the session is as after its last one. False if it is not in the batch.
    /// Refused where its round is at work: in on_token, where `false` ends its text, in its watchers and policy, and in
    /// its model's run.
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

    /// A turn: begins rounds where none is open, does what all of them wait for, and lets them go on. False when every
    /// session has ended. What is thrown in a session's round is thrown when all others have gone on; that session is
    /// then not in the batch. Refuses to begin inside another turn.
    bool advance() {
        if (in_turn_) augur::detail::fail("a turn of a batch of ", size(), " was begun inside another one");
        const turn now(*this);
        first_thrown_ = {};
        const std::size_t taking_part = members_.size();
        wanted_.reserve(taking_part);
        for_each(taking_part, [&](member& each) {
            if (each.round || each.s->finished != finish_reason::running) return;
            std::apply([&](Watchers&... watchers) { each.round.emplace(*scheme_, *each.s, chosen_, watchers...); },
                       each.watchers);
        });
        run_models(taking_part);
        for_each(taking_part, [&](member& each) {
            if (!each.round) return;
            const bool sound = first_thrown_.attempt([&] {
                if (!each.round->done()) each.round->resume();
            });
            if (sound && !each.round->done()) return;
            each.round.reset();
            if (!sound) leave(each);
        });
        bool running = false;
        for (const auto& each : members_) {
            running = running || (each->s != nullptr && each->s->finished == finish_reason::running);
        }
        first_thrown_.rethrow();
        return running;
    }

 private:
    struct member {
        explicit member(session_type* of, Watchers&... by) : s(of), watchers(by...) {}

        session_type* s;  ///< null once it has left
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
    template <class Act>
    void for_each(std::size_t taking_part, const Act& act) {
        for (std::size_t i = 0; i < taking_part; ++i) {
            member& each = *members_[i];
            if (each.s == nullptr) continue;
            at_work_ = &each;
            const bool sound = first_thrown_.attempt([&] { act(each); });
            at_work_ = nullptr;
            if (!sound) leave(each);
        }
    }

    void run_models(std::size_t taking_part) noexcept {
        wanted_.clear();
        for (std::size_t i = 0; i < taking_part; ++i) {
            const member& each = *members_[i];
            if (each.round && !each.round->done()) wanted_.push_back(each.round->wanted());
        }
        models_run_ = true;
        flow::run_all(wanted_);
        models_run_ = false;
    }

    const Scheme* scheme_;
    step_options chosen_;
    std::vector<std::unique_ptr<member>> members_;  // a round stays where it is
    std::vector<flow::work*> wanted_;
    commit::first_thrown first_thrown_;
    member* at_work_ = nullptr;  // its round has been resumed
    bool models_run_ = false;
    bool in_turn_ = false;
};

}  // namespace augur::decode
