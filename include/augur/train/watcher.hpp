#pragma once
// Between a session's rounds and a trainer.

namespace augur::train {

/// Shows a trainer every round of one session, in which draft::self_speculation drafts:
/// `decode::step(scheme, s, {}, train::watcher(online, s.drafter_state))`.
template <class Trainer, class State>
class watcher {
 public:
    watcher(Trainer& online, const State& drafter) : online_(&online), drafter_(&drafter) {}

    void watch(const auto& view) { online_->show(view, drafter_->exit_states.of(view.length_before)); }

 private:
    Trainer* online_;
    const State* drafter_;
};

}  // namespace augur::train
