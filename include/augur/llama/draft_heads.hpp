#pragma once
// Medusa and Hydra heads on the CPU. See docs/draft/heads.md.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/io/files/quote.hpp"
#include "augur/io/files/safetensors.hpp"
#include "augur/llama/draft_checkpoint.hpp"
#include "augur/llama/eagle_model.hpp"
#include "augur/llama/host_model.hpp"
#include "augur/llama/published_heads.hpp"
#include "augur/llama/selection.hpp"
#include "augur/llama/workers.hpp"
#include "augur/model/fused_sequence.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// A layer on a target's hidden states, whose rows are its own states after the norm, not logits. Models
/// augur::FusedModel; of the tokens it takes the number alone.
class text_layer {
 public:
    using sequence_type = eagle_sequence;

    text_layer(config c, weights w, const load_options& options) : layer_(std::move(c), std::move(w), options) {}

    std::size_t vocabulary_size() const { return layer_.vocabulary_size(); }
    std::size_t context_length() const { return layer_.context_length(); }
    std::size_t hidden_size() const { return layer_.hidden_size(); }
    std::size_t memory_bytes() const { return layer_.memory_bytes(); }
    eagle_sequence make_sequence() const { return layer_.make_sequence(); }
    std::size_t length(const eagle_sequence& s) const { return layer_.length(s); }
    void truncate(eagle_sequence& s, std::size_t length) const { layer_.truncate(s, length); }
    scores extend(eagle_sequence& s, std::span<const token> tokens, std::span<const float> states, std::size_t) const {
        layer_.extend_states(s, tokens, states);
        return layer_.hidden(s);
    }
    scores hidden(const eagle_sequence& s) const { return layer_.hidden(s); }

 private:
    eagle_model layer_;
};

/// Models augur::DraftHeads and augur::ReadsText. Const and safe to share: workspaces of several threads take turns.
class draft_heads {
 public:
    /// Refers to the heads that made it.
    class workspace_type {
        friend class draft_heads;
        backend::host::float_buffer inputs, out, logits;
        std::optional<model::fused_sequence<text_layer>> text{};  ///< where they read it
    };

    /// Loads the draft checkpoint `medusa` or `hydra` of a draft bundle; embedding and head are the target's. Or such
    /// heads as published, with output matrices of their own: a .safetensors file, or a folder with
    /// medusa_lm_head.safetensors or hydra_lm_head.safetensors (read_published_heads). Of Hydra++ the text layer too.
    /// Throws augur::error, naming the file and the values, where it was made for another target (of which published
    /// heads tell no more than the sizes), its shapes contradict each other, or its layout is another. Of the options,
    /// weights, threads, pool and instruction_set count.
    static draft_heads load(const std::filesystem::path& path, const std::string& kind, const host_model& target,
                            const load_options& options = {}) {
        if (io::holds_safetensors(path)) return load_published(path, kind, target, options);
        const draft_checkpoint file(path, kind, target);
        config c = target.configuration();
        const weight_reader reader(file.tensors(), c, gguf_names(), options.weights);
        std::vector<head_weights> heads;
        while (true) {
            const std::string name = "augur.head." + std::to_string(heads.size()) + ".";
            if (!file.tensors().find(name + "weight")) break;
            const std::size_t inputs = kind == "hydra" ? heads.size() + 2 : 1;
            head_weights head;
            head.blocks.push_back(
                {reader.matrix(name + "weight", c.width, inputs * c.width), reader.vector(name + "bias", c.width)});
            heads.push_back(std::move(head));
        }
        if (heads.empty()) augur::detail::fail(path.string(), ": there is no tensor augur.head.0.weight");
        file.tensors().check_all_read();
        return draft_heads(std::move(heads), target, file.head_tokens(), file.target_head(options.weights), options);
    }

    /// From parts: `output`, for heads that have none of their own, has the rows of `head_tokens`, ascending, or of all
    /// if none are named.
    draft_heads(std::vector<head_weights> heads, const host_model& target, std::vector<token> head_tokens,
                backend::host::packed_matrix output, const load_options& options)
        : parts_(
              std::make_unique<parts>(std::move(heads), target, std::move(head_tokens), std::move(output), options)) {}

    /// Whether they read a layer over the text (Hydra++), or its last state as it is.
    bool reads_text() const { return parts_->text.has_value(); }
    void follow(workspace_type& workspace, const prefix& committed, const auto& states) const {
        workspace.text.value().follow(committed, states);
    }
    void catch_up(workspace_type& workspace, const prefix& committed) const {
        workspace.text.value().catch_up(committed);
    }
    /// Valid until the workspace is used again.
    std::span<const float> state(workspace_type& workspace, const prefix& committed) const {
        workspace.text.value().root(committed);
        return workspace.text->last_state();
    }

    std::size_t vocabulary_size() const { return parts_->embedding->rows(); }
    std::size_t hidden_size() const { return parts_->embedding->depth(); }
    std::size_t head_count() const { return parts_->heads.size(); }
    /// Hydra's do, Medusa's do not.
    bool see_tokens() const {
        return std::any_of(parts_->heads.begin(), parts_->heads.end(),
                           [&](const auto& head) { return head.blocks.front().weight.depth() > hidden_size(); });
    }
    const std::vector<head_weights>& weights() const { return parts_->heads; }
    /// Those that its output has rows of; empty: all, or each head has its own.
    std::span<const token> head_tokens() const { return parts_->head_tokens; }
    std::size_t memory_bytes() const {
        std::size_t total = parts_->output.memory_bytes() + (reads_text() ? parts_->text->memory_bytes() : 0);
        for (const auto& head : parts_->heads) total += head.memory_bytes();
        return total;
    }
    const std::shared_ptr<backend::host::thread_pool>& pool() const { return parts_->pool(); }
    workspace_type make_workspace() const {
        workspace_type made;
        if (reads_text()) made.text.emplace(*parts_->text);
        return made;
    }

    /// The logits of what follows `tokens`, by the head of this number. Throws unless there is such a head, the state
    /// has hidden_size() numbers, and the tokens are head + 1 of the vocabulary.
    logit_row row(workspace_type& workspace, std::span<const float> state, std::span<const token> tokens,
                  std::size_t head) const {
        check(state, tokens, head);
        float* logits = workspace.logits.require(vocabulary_size());
        const std::lock_guard lock(*parts_->pool());
        parts_->run(workspace, state, tokens, parts_->heads[head], logits);
        const bool listed = parts_->heads[head].output.rows() == 0;
        return {logits, vocabulary_size(), listed ? head_tokens() : std::span<const token>()};
    }

 private:
    static draft_heads load_published(const std::filesystem::path& path, const std::string& kind,
                                      const host_model& target, const load_options& options) {
        const io::safetensors_folder file(published_heads_file(path, kind));
        config c = target.configuration();
        published_heads read = read_published_heads(file, c, kind, options.weights);
        draft_heads out(std::move(read.heads), target, {}, {}, options);
        if (!read.text_layer) return out;
        check_cache_format(options.cache, c.head_size, path.string());
        c.layers = 1;
        read.text_layer->embedding = target.parameters().embedding;
        read.text_layer->embedding_is_lent = true;
        load_options shared = with_pool_of(target, options);
        shared.taps.clear();
        out.parts_->text.emplace(std::move(c), std::move(*read.text_layer), shared);
        return out;
    }

    /// On the heap, for its addresses must not change when the heads are moved.
    struct parts : workers {
        parts(std::vector<head_weights> all, const host_model& target, std::vector<token> ids, matrix rows,
              const load_options& options)
            : workers(backend::host::kernels_of(options.instruction_set), pool_of(with_pool_of(target, options))),
              heads(std::move(all)),
              embedding(target.parameters().embedding),
              head_tokens(std::move(ids)),
              output(std::move(rows)) {}

        void run(workspace_type& workspace, std::span<const float> state, std::span<const token> tokens,
                 const head_weights& head, float* logits) {
            const std::size_t width = state.size(), depth = head.blocks.front().weight.depth();
            float* inputs = workspace.inputs.require(depth);
            std::copy(state.begin(), state.end(), inputs);
            for (std::size_t i = 1; i * width < depth; ++i) {
                embedding->unpack_row(static_cast<std::size_t>(tokens[i - 1]), {inputs + i * width, width});
            }
            float* out = workspace.out.require(3 * width);
            for (const head_block& block : head.blocks) {
                multiply(block.weight, inputs, out);
                add(block.bias, out);
                std::fill_n(out + width, width, 1.0f);
                kernels_.silu_product(out, out + width, width);
                if (block.skip.rows() != 0) {
                    multiply(block.skip, inputs, out + 2 * width);
                    std::copy_n(out + 2 * width, width, inputs);
                    add(block.skip_bias, inputs);
                }
                for (std::size_t i = 0; i < width; ++i) inputs[i] += out[i];
            }
            if (head.output.rows() != 0) {
                multiply(head.output, inputs, logits);
                return add(head.output_bias, logits);
            }
            multiply(output, inputs, logits);
            if (!head_tokens.empty()) spread_logits(head_tokens, {logits, embedding->rows()});
        }

        static void add(const std::vector<float>& bias, float* to) {
            for (std::size_t i = 0; i < bias.size(); ++i) to[i] += bias[i];
        }

        /// out = weight * in.
        void multiply(const matrix& weight, const float* in, float* out) {
            const auto format = input_of(weight.format());
            const auto* prepared = reinterpret_cast<const std::byte*>(in);
            if (format != backend::host::input_format::f32) {
                const std::size_t size = backend::host::input_bytes(format, weight.depth());
                if (copy.size() < size) copy = backend::host::aligned_buffer(size);
                kernels_.prepare(format, in, 0, weight.depth(), copy.data());
                prepared = copy.data();
            }
            multiply_shared(weight, backend::host::product_of(weight, prepared, 1, out));
        }

        std::vector<head_weights> heads;
        std::shared_ptr<const matrix> embedding;
        std::vector<token> head_tokens;
        matrix output;
        backend::host::aligned_buffer copy;
        std::optional<text_layer> text{};
    };

    void check(std::span<const float> state, std::span<const token> tokens, std::size_t head) const {
        if (head >= head_count()) augur::detail::fail("head ", head, " of ", head_count());
        if (state.size() != hidden_size() || tokens.size() != head + 1) {
            augur::detail::fail("head ", head, " reads a state of ", hidden_size(), " numbers and ", head + 1,
                                " tokens, not ", state.size(), " and ", tokens.size());
        }
        for (const token id : tokens) {
            if (id < 0 || static_cast<std::size_t>(id) >= vocabulary_size()) {
                augur::detail::fail("the token ", id, " is outside the vocabulary of ", vocabulary_size());
            }
        }
    }

    std::unique_ptr<parts> parts_;
};

}  // namespace augur::llama
