#pragma once
// An EAGLE layer on a target's hidden states, on the CPU. See
// docs/draft/eagle.md.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/llama/draft_checkpoint.hpp"
#include "augur/llama/fused_layer.hpp"
#include "augur/llama/host_model.hpp"
#include "augur/llama/key_value_cache.hpp"
#include "augur/llama/prediction_chain.hpp"
#include "augur/llama/prediction_layers.hpp"
#include "augur/llama/published_eagle.hpp"
#include "augur/llama/state_reduction.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// A sequence of an eagle_model: of one layer, or of several.
class eagle_sequence {
    friend class eagle_model;

    explicit eagle_sequence(sequence one) : one_(std::move(one)) {}
    explicit eagle_sequence(chain_sequence several) : several_(std::move(several)) {}

    std::optional<sequence> one_{};
    std::optional<chain_sequence> several_{};
};

/// A Llama, of one layer as a rule, whose inputs are embeddings fused with hidden states. Models augur::FusedTreeModel
/// with bitwise rows. Const and safe to share, as host_model is. Positions count from 0: rotary positions matter by
/// their distance only.
class eagle_model {
 public:
    using sequence_type = eagle_sequence;

    /// Loads the draft checkpoint `eagle` of a draft bundle. It has the target's embedding, shared, and of the target's
    /// head the rows that the file names, copied. Or a folder of safetensors with an EAGLE-1, -2 or -3 layer as others
    /// publish it (published_eagle); the target then has to show the states that such a layer reads: taps_of. Throws
    /// augur::error, naming the file and the values, where it was made for another target. Of the options, head_tokens,
    /// layers and taps are the file's to say.
    static eagle_model load(const std::filesystem::path& path, const host_model& target,
                            const load_options& options = {}) {
        if (io::holds_safetensors(path)) return load_published(path, target, options);
        const draft_checkpoint file(path, "eagle", target);
        const config c = file.configuration();
        check_cache_format(options.cache, c.head_size, path.string());
        weights w = file.read(options.weights);
        const weight_reader reader(file.tensors(), c, gguf_names(), options.weights);
        w.fusion.weight = reader.matrix("augur.fusion.weight", c.width, 2 * c.width);
        const auto norm = [&](const char* name) {
            return file.tensors().find(name) ? reader.vector(name, c.width) : std::vector<float>();
        };
        w.fusion.embedding_norm = norm("augur.fusion.embedding_norm.weight");
        w.fusion.hidden_norm = norm("augur.fusion.hidden_norm.weight");
        file.tensors().check_all_read();
        return eagle_model(c, std::move(w), with_pool_of(target, options));
    }

    /// Loads the layers for multi-token prediction in the file or folder that the target was loaded from
    /// (prediction_layers). One drafts as an EAGLE layer does, of the target's last state and then of its own; several
    /// draft a token each (prediction_chain). Throws augur::error, naming the file and the values, where there is none
    /// or they were loaded from another file. Of the options, head_tokens, layers and taps are the file's to say.
    static eagle_model load_prediction(const std::filesystem::path& path, const host_model& target,
                                       const load_options& options = {}) {
        const prediction_layers file(path);
        load_options shared = with_pool_of(target, options);
        shared.taps.clear();
        std::vector<fused_layer> layers;
        for (std::size_t i = 0; i < file.count(); ++i) {
            prediction_layer of = file.read(i, target, options.weights);
            check_cache_format(options.cache, of.configuration.head_size, path.string());
            layers.emplace_back(std::move(of.configuration), std::move(of.parameters), shared);
        }
        if (layers.size() == 1) return eagle_model(std::move(layers.front()));
        return eagle_model(prediction_chain(std::move(layers)));
    }

    /// The load_options::taps of a target with so many layers for the layer in this file: none but for EAGLE-3.
    static std::vector<std::size_t> taps_of(const std::filesystem::path& path, std::size_t layers) {
        if (!io::holds_safetensors(path)) return {};
        return published_eagle(path).taps(layers);
    }

    /// From parts. The weights have a fusion. `reduction`: what the target's states go through first, if anything.
    eagle_model(config c, weights w, const load_options& options, std::unique_ptr<state_reduction> reduction = nullptr)
        : layer_(fused_layer(std::move(c), std::move(w), options)), reduction_(std::move(reduction)) {}

    /// Of several layers the first one's.
    const config& configuration() const { return model().configuration(); }
    const weights& parameters() const { return model().parameters(); }
    std::size_t threads() const { return model().threads(); }
    const std::shared_ptr<backend::host::thread_pool>& pool() const { return model().pool(); }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }
    const std::string& vocabulary_fingerprint() const { return model().vocabulary_fingerprint(); }
    std::size_t context_length() const { return model().context_length(); }
    std::size_t hidden_size() const { return chain_ ? chain_->hidden_size() : model().hidden_size(); }
    std::size_t target_hidden_size() const {
        return chain_ ? chain_->width() : reduction_ ? reduction_->inputs() : hidden_size();
    }
    std::size_t memory_bytes() const {
        if (chain_) return chain_->memory_bytes();
        return model().memory_bytes() + (reduction_ ? reduction_->memory_bytes() : 0);
    }

    eagle_sequence make_sequence() const {
        if (chain_) return eagle_sequence(chain_->make_sequence());
        return eagle_sequence(model().make_sequence());
    }
    std::size_t length(const eagle_sequence& s) const {
        return chain_ ? chain_->length(*s.several_) : model().length(*s.one_);
    }
    void truncate(eagle_sequence& s, std::size_t length) const {
        chain_ ? chain_->truncate(*s.several_, length) : model().truncate(*s.one_, length);
    }

    /// Appends the tokens with their states, its own or the target's; returns a row of logits for each of the last
    /// `last`. As host_model::extend.
    scores extend(eagle_sequence& s, std::span<const token> tokens, std::span<const float> states,
                  std::size_t last) const {
        if (chain_) return chain_->extend(*s.several_, tokens, states, last);
        std::vector<float> reduced;
        if (reduction_ && !tokens.empty() && states.size() == tokens.size() * target_hidden_size()) {
            reduced.resize(tokens.size() * hidden_size());
            reduction_->run(states.data(), tokens.size(), reduced.data());
            states = reduced;
        }
        return layer_->extend(*s.one_, tokens, states, last);
    }
    /// The same of a tree, whose inputs are not appended.
    scores extend_tree(eagle_sequence& s, std::span<const token> tokens, std::span<const float> states,
                       std::span<const std::int32_t> parents, std::size_t last) const {
        if (chain_) return chain_->extend_tree(*s.several_, tokens, states, parents, last);
        return layer_->extend_tree(*s.one_, tokens, states, parents, last);
    }
    /// Appends them and makes no rows, but of several layers: hidden(s) shows the state of each.
    void extend_states(eagle_sequence& s, std::span<const token> tokens, std::span<const float> states) const {
        if (chain_) {
            chain_->extend(*s.several_, tokens, states, tokens.size());
        } else {
            layer_->extend(*s.one_, tokens, states, 0, fused_layer::shown::all);
        }
    }
    scores hidden(const eagle_sequence& s) const {
        return chain_ ? chain_->hidden(*s.several_) : model().hidden(*s.one_);
    }

 private:
    explicit eagle_model(fused_layer layer) : layer_(std::move(layer)) {}
    explicit eagle_model(prediction_chain chain) : chain_(std::move(chain)) {}

    const host_model& model() const { return chain_ ? chain_->first().model() : layer_->model(); }

    static eagle_model load_published(const std::filesystem::path& path, const host_model& target,
                                      const load_options& options) {
        published_layer of = published_eagle(path).read(target, options.weights);
        check_cache_format(options.cache, of.configuration.head_size, path.string());
        load_options shared = with_pool_of(target, options);
        shared.taps.clear();
        std::unique_ptr<state_reduction> reduction;
        if (of.reduction.rows() != 0) {
            reduction = std::make_unique<state_reduction>(
                std::move(of.reduction), std::move(of.reduction_norms), of.configuration.norm_epsilon,
                backend::host::kernels_of(options.instruction_set), pool_of(shared));
        }
        return eagle_model(std::move(of.configuration), std::move(of.parameters), shared, std::move(reduction));
    }

    std::optional<fused_layer> layer_{};
    std::optional<prediction_chain> chain_{};  ///< in its place
    std::unique_ptr<state_reduction> reduction_{};
};

}  // namespace augur::llama
