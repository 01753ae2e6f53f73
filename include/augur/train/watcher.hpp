#pragma once
// Collects training examples from a session's rounds for a trainer.

#include <type_traits>
#include <utility>

#include "augur/draft/exit_head.hpp"
#include "augur/draft/exit_rows.hpp"
#include "augur/draft/own_sequence.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// The head that a trainer trains; void where it does not name one.
template <class Trainer>
struct head_of : std::type_identity<void> {};
template <class Trainer>
requires requires(const Trainer& online) {
    online.drafts();
}
struct head_of<Trainer> : std::remove_cvref<decltype(std::declval<const Trainer&>().drafts())> {};

/// Shows a trainer every round of the session that it is attached to, in which draft::self_speculation or draft::eagle
/// drafts: `decode::generate(scheme, prompt, options, train::watcher(online))`. Of a head that attends to its own
/// sequence the trainer, which names it (`drafts()`), is shown that, too.
template <class Trainer>
class watcher {
    using head_type = typename head_of<Trainer>::type;
    static constexpr bool attends = draft::AttendingHead<head_type>;

 public:
    explicit watcher(Trainer& online) : online_(&online) {}

    /// Before the first round (decode::attach). The session must not move while it is watched.
    void attach(const auto& session) {
        states_ = &session.drafter_state.exit_states;
        if constexpr (attends) own_ = &session.drafter_state.own;
    }

    void watch(const auto& view) {
        if (states_ == nullptr) {
            augur::detail::fail("train::watcher was shown a round of ", view.decided.drafted,
                                " drafted tokens before it was attached to a session; call attach(session) first, as "
                                "decode::generate does");
        }
        const auto states = states_->of(view.length_before);
        if constexpr (attends) {
            online_->show(view, states, own_->text(online_->drafts()));
        } else if constexpr (!std::is_void_v<head_type>) {
            online_->show(view, states, draft::shown_sequence{});
        } else {
            online_->show(view, states);
        }
    }

 private:
    Trainer* online_;
    const draft::exit_rows* states_ = nullptr;
    const typename draft::own_sequence_of<head_type>::type* own_ = nullptr;
};

}  // namespace augur::train
