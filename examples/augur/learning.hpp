#pragma once
// Whoever learns from what it drafts: an exit of the model (DVI), draft heads, an EAGLE layer's output.

#include <augur/draft/exit_head.hpp>
#include <augur/draft/exit_rows.hpp>
#include <augur/draft/own_sequence.hpp>
#include <augur/llama/draft_heads.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/train/attending_head.hpp>
#include <augur/train/checkpoint.hpp>
#include <augur/train/draft_heads.hpp>
#include <augur/train/heads_watcher.hpp>
#include <augur/train/layer_head.hpp>
#include <augur/train/packed_weight_matrix.hpp>
#include <augur/train/state_file.hpp>
#include <augur/train/state_head.hpp>
#include <augur/train/trained_layer.hpp>
#include <augur/train/trainer.hpp>
#include <augur/train/watcher.hpp>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace augur::program {

/// Passes that a text may lose on drafts of what has yet to learn.
inline constexpr double untrained_credit = 1;

/// What of the share of time that learning may take goes into updates and what they learn from, and what drafts may
/// lose that are tried. The rest is what updates cost the passes after them, whose weights they take out of the caches,
/// and to spare.
inline constexpr double training_part = 0.5, tried_part = 0.1;

struct learning_options {
    std::size_t exit_layer = 0;   ///< layers that draft; 0: the adapter's, or without one three quarters
    std::vector<token> tokens{};  ///< that an exit's head or new heads have rows for; none: all
    train::head_options head{};
    std::size_t attention_rank = 0;  ///< of the last drafting layer's queries, keys and values; with head.layer_rank
    train::trainer_options trainer{};
    std::string scheme = "dvi";  ///< or medusa, hydra, eagle, ngram, suffix
    std::string heads{};         ///< a file of medusa, hydra or eagle to start from
    std::size_t head_count = 4;  ///< without one
};

/// Schemes that learn by counting: nothing is trained, and nothing kept between runs.
inline bool only_counts(const std::string& scheme) {
    return scheme == "ngram" || scheme == "suffix";
}

/// Files in the making, removed where a signal ends the program.
class removed_on_signals final : public train::unfinished_files {
 public:
    int create(const std::filesystem::path& part) override;
    void ends(const std::filesystem::path& part) override;
};

/// Weights that learn, and their trainer.
template <train::Trainable Head>
class learned {
 public:
    using head_type = Head;
    using trainer_type = train::trainer<Head>;

    /// Goes on from an adapter, which has to be of these options. Throws, with both values, where it is of another
    /// model, layer or kind, or damaged.
    void restore(const std::string& adapter) {
        trainer_.restore(train::checkpoint_file::load<float, typename Head::options_type>(adapter, identity_), adapter);
    }
    /// Written beside and renamed when it is whole.
    void save(const std::string& adapter) {
        removed_on_signals seen;
        train::checkpoint_file::save(trainer_.state(), adapter, identity_, &seen);
    }

    const Head& head() const { return head_; }
    const Head& drafts() const { return head_; }
    trainer_type& online() { return trainer_; }
    const train::state_identity& identity() const { return identity_; }

 protected:
    learned(train::state_identity identity, Head head, const train::trainer_options& chosen)
        : identity_(std::move(identity)), head_(std::move(head)), trainer_(head_, chosen) {}

 private:
    train::state_identity identity_;
    Head head_;
    trainer_type trainer_;
};

/// A head on the model's states after some layers, which starts as the model's own. The model must outlive it.
class learned_exit : public learned<train::state_head<train::packed_weight_matrix>> {
 public:
    /// With the model's own epsilon. Throws where the layer is none of the model's that leaves others.
    learned_exit(const llama::host_model& target, const learning_options& chosen);
};

/// The same with the last of the layers that draft, whose projections learn, too, by `head.layer_rank`.
class learned_exit_layer : public learned<train::layer_head<train::packed_weight_matrix>> {
 public:
    learned_exit_layer(const llama::host_model& target, const learning_options& chosen);
};

/// The same with the queries, keys and values of that layer, by `attention_rank`: it is computed on a path of the
/// draft's own. Its adapter says as the layer how many draft, with this one.
class learned_attending : public learned<train::attending_head<train::packed_weight_matrix>> {
 public:
    /// Throws where the layer is the first, before which there is none to draft with.
    learned_attending(const llama::host_model& target, const learning_options& chosen);
};

/// Tokens that can be drafted: those of a draft checkpoint in the file `which`; of the draft bundle's draft checkpoints
/// where it is empty; none, which is all, where it is "all".
std::vector<token> drafted_tokens(const llama::host_model& target, const std::string& which);

/// Of an exit or heads that learn from nothing, with these tokens, and the rank of an exit's update.
learning_options new_options(const llama::host_model& target, const std::string& tokens = "");

/// What an exit's adapter holds. Throws, with both values, where it is of another model or layer, or damaged.
train::checkpoint<float> exit_adapter(const std::string& adapter, const llama::host_model& target);

/// Settings of the head that an exit's adapter holds (exit_adapter), its tokens and its layer, or of the heads that one
/// of theirs does. With a rank of the layer it is a learned_exit_layer's, and with one of the attention a
/// learned_attending's.
learning_options options_of_adapter(const std::string& adapter, const llama::host_model& target);

/// Medusa's or Hydra's heads for a model, which must outlive them.
class learned_heads : public learned<train::draft_heads<train::packed_weight_matrix>> {
 public:
    /// As they are in a file; or new ones, that say what the model's own head says of the tokens chosen. Throws where
    /// they are no such heads, or a head has several blocks or an output of its own, which are not trained.
    learned_heads(const llama::host_model& target, const learning_options& chosen,
                  const llama::load_options& options = {});
};

struct loaded_eagle {
    llama::eagle_model layer;
};

/// An EAGLE layer's file, with an output head that learns and starts as the file's. The model must outlive it.
class learned_eagle : private loaded_eagle, public learned<train::state_head<train::packed_weight_matrix>> {
 public:
    /// Throws where no file is named or it is of another model, and for a head of options that a layer's has not.
    learned_eagle(const llama::host_model& target, const learning_options& chosen,
                  const llama::load_options& options = {});

    /// Refers to this.
    train::trained_layer<llama::eagle_model, head_type> drafts() const { return {layer, head()}; }
};

/// The layer of `path` with what an adapter says in place of its output head. Throws where the adapter is of another
/// layer or kind.
llama::eagle_model eagle_of_adapter(const std::string& adapter, const std::string& path,
                                    const llama::eagle_model& layer, const llama::load_options& options);

/// Heads as an adapter has them, to draft with. Throws where it is of another model, or is not of `kind`.
llama::draft_heads heads_of_adapter(const std::string& adapter, const std::string& kind,
                                    const llama::host_model& target, const llama::load_options& options);

/// Shows the trainer of what learns the rounds of the session that it is attached to.
template <class Learned>
auto watcher_of(Learned& trained) {
    if constexpr (std::is_same_v<Learned, learned_heads>) {
        return train::heads_watcher(trained.online(), trained.head().head_count());
    } else {
        return train::watcher(trained.online());
    }
}

}  // namespace augur::program
