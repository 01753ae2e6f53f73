#pragma once
// Whoever learns from what it drafts: an exit of the model (DVI), draft heads, n-grams.

#include <augur/draft/self_speculation.hpp>
#include <augur/llama/draft_heads.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/train/draft_heads.hpp>
#include <augur/train/exit_head.hpp>
#include <augur/train/heads_watcher.hpp>
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
    std::string scheme = "dvi";  ///< or medusa, hydra, ngram
    std::string heads{};         ///< a file of medusa or hydra to start from
    std::size_t head_count = 4;  ///< without one
};

/// A head on the model's states after some layers, which starts as the model's own, and its trainer. The model must
/// outlive it.
class learned_exit {
 public:
    using head_type = train::exit_head<train::packed_base>;
    using trainer_type = train::trainer<head_type>;

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

/// Medusa's or Hydra's heads for a model, and their trainer. The model must outlive them.
class learned_heads {
 public:
    using heads_type = train::draft_heads<train::packed_base>;
    using trainer_type = train::trainer<heads_type>;

    /// As they are in a file; or new ones, that say what the model's own head says. Throws where they are no such
    /// heads, or a head has several blocks or an output of its own, which are not taught.
    learned_heads(const llama::host_model& target, const learning_options& chosen,
                  const llama::load_options& options = {});

    /// As those of learned_exit.
    void restore(const std::string& adapter);
    void save(const std::string& adapter);

    const heads_type& heads() const { return heads_; }
    trainer_type& online() { return *trainer_; }
    const train::state_identity& identity() const { return identity_; }

 private:
    train::state_identity identity_;
    heads_type heads_;
    std::optional<trainer_type> trainer_;
};

/// Heads as an adapter has them, to draft with. Throws where it is of another model, or is not of `kind`.
llama::draft_heads heads_of_adapter(const std::string& adapter, const std::string& kind,
                                    const llama::host_model& target, const llama::load_options& options);

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

/// The same for heads.
class heads_learning_watcher {
 public:
    explicit heads_learning_watcher(learned_heads& taught) : taught_(&taught) {}

    void attach(const auto& session) {
        shows_.emplace(taught_->online(), taught_->heads().head_count(), session.drafter_state);
    }
    void watch(const auto& view) { shows_->watch(view); }

 private:
    learned_heads* taught_;
    std::optional<train::heads_watcher<learned_heads::trainer_type>> shows_;
};

}  // namespace augur::program
