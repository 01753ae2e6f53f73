#pragma once
// An exit of the model that learns from what it drafts (DVI).

#include <augur/draft/self_speculation.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/train/exit_head.hpp>
#include <augur/train/packed_base.hpp>
#include <augur/train/trainer.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace augur::program {

struct learning_options {
    std::size_t exit_layer = 0;  ///< layers that draft; 0: the adapter's, or without one three quarters
    train::head_options head{};
    train::trainer_options trainer{};
};

/// A head on the model's states after some layers, which starts as the model's own, and its trainer. The model must
/// outlive it.
class learned_exit {
 public:
    using head_type = train::exit_head<train::packed_base>;
    using trainer_type = train::trainer<train::packed_base>;

    /// A new one, with the model's own epsilon. Throws where the layer is none of the model's that leaves others.
    learned_exit(const llama::host_model& target, const learning_options& chosen);

    /// Goes on from an adapter, whose head has to be of these options. Throws, with both values, where it is of
    /// another model, layer or kind, or damaged.
    void restore(const std::string& adapter);

    /// Written beside and renamed when it is whole.
    void save(const std::string& adapter);

    const head_type& head() const { return head_; }
    trainer_type& online() { return *trainer_; }
    const train::state_identity& identity() const { return identity_; }

 private:
    train::state_identity identity_;
    head_type head_;
    std::optional<trainer_type> trainer_;
};

/// Settings of the head that an adapter holds, on its layer.
learning_options options_of_adapter(const std::string& adapter, const llama::host_model& target);

/// Shows a trainer the rounds of the session that it is attached to.
class learning_watcher {
 public:
    explicit learning_watcher(learned_exit::trainer_type& online) : online_(&online) {}

    void attach(const auto& session) { states_ = &session.drafter_state.exit_states; }
    void watch(const auto& view) { online_->show(view, states_->of(view.length_before)); }

 private:
    learned_exit::trainer_type* online_;
    const draft::exit_rows* states_ = nullptr;
};

}  // namespace augur::program
