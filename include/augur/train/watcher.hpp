#pragma once
// Collects training examples from a session's rounds for a trainer.

#include <type_traits>

#include "augur/draft/exit_head.hpp"
#include "augur/draft/own_sequence.hpp"

namespace augur::train {

/// What the head of this drafter's state attends to; nothing where it does not.
draft::shown_sequence text_of(const auto& head, const auto& drafter_state) {
    if constexpr (draft::AttendingHead<std::remove_cvref_t<decltype(head)>>) {
        return drafter_state.own.text(head);
    } else {
        return {};
    }
}

/// Shows a trainer every round of one session, in which draft::self_speculation drafts:
/// `decode::step(scheme, s, {}, train::watcher(online, s.drafter_state))`. One that names the head that it trains,
/// drafts(), is shown the round's text, too.
template <class Trainer, class State>
class watcher {
 public:
    watcher(Trainer& online, const State& drafter) : online_(&online), drafter_(&drafter) {}

    void watch(const auto& view) {
        const auto states = drafter_->exit_states.of(view.length_before);
        if constexpr (requires { online_->drafts(); }) {
            online_->show(view, states, text_of(online_->drafts(), *drafter_));
        } else {
            online_->show(view, states);
        }
    }

 private:
    Trainer* online_;
    const State* drafter_;
};

}  // namespace augur::train
