#pragma once
// Several texts at once, with what their models are asked for computed together.

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/flow/work.hpp"

namespace augur::decode {

/// Rounds of sessions of one scheme, side by side. Sessions join and leave between turns; each is what it would be
/// alone, whoever its batch mates are, where its models promise bitwise rows. Scheme, options and sessions must outlive
/// it, or be removed. Cost of a turn: for each model one run of the passes that wait for it; the rounds' own work, one
/// after the other.
template <class Scheme, Chooser C = random::philox_chooser>
class batch {
 public:
    using session_type = session<Scheme, C>;

    explicit batch(const Scheme& scheme, step_options chosen = {}) : scheme_(&scheme), chosen_(std::move(chosen)) {}
    batch(const batch&) = delete;
    batch& operator=(const batch&) = delete;

    /// Its next round begins with the next turn. Refuses a session that is in it already; one that has ended takes no
    /// part.
    void add(session_type& s) {
        for (const auto& each : members_) {
            if (each->s != &s) continue;
            augur::detail::fail("a session was added to a batch of ", size(), " that it is in already");
        }
        members_.push_back(std::make_unique<member>(&s));
    }
    /// Its open round does not take place; the session is as after its last one. False if it is not in the batch.
    bool remove(const session_type& s) {
        return std::erase_if(members_, [&](const auto& each) { return each->s == &s; }) > 0;
    }
    std::size_t size() const { return members_.size(); }

    /// Called after every round, with its session, whose `last` says what it did.
    void on_round(std::function<void(const session_type&)> told) { told_ = std::move(told); }

    /// A turn: begins rounds where none is open, does what all of them wait for, and lets them go on. False when every
    /// session has ended. What is thrown in a session's round is thrown when all others have gone on; that session is
    /// then not in the batch.
    bool advance() {
        first_thrown_ = nullptr;
        for_each([&](member& each) {
            if (!each.round && each.s->finished == finish_reason::running)
                each.round.emplace(*scheme_, *each.s, chosen_);
        });
        wanted_.clear();
        for (const auto& each : members_) {
            if (each->round && !each->round->done()) wanted_.push_back(each->round->wanted());
        }
        flow::run_all(wanted_);
        bool running = false;
        for_each([&](member& each) {
            if (!each.round) return;
            if (!each.round->done()) each.round->resume();
            if (each.round->done()) {
                each.round.reset();
                if (told_) told_(*each.s);
            }
        });
        for (const auto& each : members_) running = running || each->s->finished == finish_reason::running;
        if (first_thrown_) std::rethrow_exception(first_thrown_);
        return running;
    }

 private:
    struct member {
        explicit member(session_type* of) : s(of) {}

        session_type* s;
        std::optional<open_round<Scheme, C>> round{};
    };

    /// Those in which `act` throws leave.
    template <class Act>
    void for_each(const Act& act) {
        for (auto each = members_.begin(); each != members_.end();) {
            try {
                act(**each);
                ++each;
            } catch (...) {
                if (!first_thrown_) first_thrown_ = std::current_exception();
                each = members_.erase(each);
            }
        }
    }

    const Scheme* scheme_;
    step_options chosen_;
    std::vector<std::unique_ptr<member>> members_;  // a round stays where it is
    std::vector<flow::work*> wanted_;
    std::function<void(const session_type&)> told_;
    std::exception_ptr first_thrown_;
};

}  // namespace augur::decode
