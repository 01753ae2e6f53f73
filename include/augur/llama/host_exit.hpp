#pragma once
// Exit heads on the CPU, for self-speculation. See docs/llama/draft_checkpoints.md.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/llama/draft_checkpoint.hpp"
#include "augur/llama/early_exit.hpp"
#include "augur/llama/host_model.hpp"
#include "augur/llama/score_rule.hpp"
#include "augur/llama/selection.hpp"
#include "augur/llama/workers.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// Where a model of so many layers is split unless somebody says otherwise: 24 of 32, scaled.
inline std::size_t default_split(std::size_t layers) {
    return std::clamp<std::size_t>(layers * 24 / 32, 1, std::max<std::size_t>(layers, 2) - 1);
}

/// logits = output * norm(h), of the state h after some of a target's layers. Models draft::ExitHead: its rows are
/// those of a Llama of these layers with this norm and output, bit for bit, with any number of threads. Const and safe
/// to share: callers take turns.
class host_exit {
 public:
    /// An exit of the draft checkpoint `exit` of a draft bundle: the one after `layer` layers, 0 for the one nearest to
    /// default_split. Throws augur::error, naming the file and the values, where it was made for another target or has
    /// no such exit. Of the options, weights, threads, pool and instruction_set count.
    static host_exit load(const std::filesystem::path& path, const host_model& target, std::size_t layer = 0,
                          const load_options& options = {}) {
        const draft_checkpoint file(path, "exit", target);
        layer = exit_depth(file, target, layer == 0 ? nearest(exit_depths(file, target), target) : layer);
        const weight_reader reader(file.tensors(), target.configuration(), gguf_names(), options.weights);
        auto norm = reader.vector("augur.exit." + std::to_string(layer) + ".norm.weight", target.hidden_size());
        auto output = exit_matrix(file, target, layer, options.weights);
        check_all_read(file, target);
        return host_exit(layer, std::move(norm), std::move(output), file.head_tokens(), target, options);
    }

    /// The target's own norm and output, which must outlive it, after `layer` layers: default_split if 0.
    static host_exit untrained(const host_model& target, std::size_t layer = 0, const load_options& options = {}) {
        const weights& own = target.parameters();
        host_exit out(layer == 0 ? default_split(target.layer_count()) : layer, own.final_norm, {}, own.head_tokens,
                      target, options);
        out.parts_->bias = own.final_norm_bias;
        return out;
    }

    /// From parts: the output has the rows of `head_tokens`, ascending, or of all if none are named; with no rows it is
    /// the target's own, which must outlive it. Throws where sizes differ from the target's.
    host_exit(std::size_t layer, std::vector<float> norm, backend::host::packed_matrix output,
              std::vector<token> head_tokens, const host_model& target, const load_options& options)
        : parts_(std::make_unique<parts>(layer, std::move(norm), std::move(output), std::move(head_tokens), target,
                                         options)) {}

    std::size_t layer() const { return parts_->layer; }
    std::size_t vocabulary_size() const { return parts_->vocabulary; }
    const std::string& vocabulary_fingerprint() const { return parts_->fingerprint; }
    std::size_t hidden_size() const { return parts_->norm.size(); }
    std::span<const token> possible() const { return parts_->head_tokens; }
    const std::shared_ptr<backend::host::thread_pool>& pool() const { return parts_->pool(); }
    /// But for what the target lends.
    std::size_t memory_bytes() const {
        return parts_->own.memory_bytes() + (parts_->norm.size() + parts_->bias.size()) * sizeof(float);
    }

    /// See draft::ExitHead. Throws unless both have their sizes.
    void row(std::span<const float> hidden, std::span<float> out) const {
        if (hidden.size() != hidden_size() || out.size() != vocabulary_size()) {
            augur::detail::fail("an exit head makes ", vocabulary_size(), " logits of a state of ", hidden_size(),
                                " numbers, not ", out.size(), " of ", hidden.size());
        }
        const std::lock_guard lock(*parts_->pool());
        parts_->run(hidden.data(), out);
    }

 private:
    static std::size_t nearest(const std::vector<std::size_t>& depths, const host_model& target) {
        const std::size_t split = default_split(target.layer_count());
        const auto distance = [&](std::size_t depth) { return std::max(depth, split) - std::min(depth, split); };
        return *std::min_element(depths.begin(), depths.end(),
                                 [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
    }

    /// On the heap, for its addresses must not change when the head is moved.
    struct parts : workers {
        parts(std::size_t after, std::vector<float> weight, matrix rows, std::vector<token> ids,
              const host_model& target, const load_options& options)
            : workers(backend::host::kernels_of(options.instruction_set), pool_of(with_pool_of(target, options))),
              layer(after),
              norm(std::move(weight)),
              own(std::move(rows)),
              head_tokens(std::move(ids)),
              output(own.rows() != 0 ? &own : &target.parameters().output()),
              vocabulary(target.vocabulary_size()),
              epsilon(target.configuration().norm_epsilon),
              rule(target.configuration()),
              fingerprint(target.vocabulary_fingerprint()),
              normed(target.hidden_size() * sizeof(float)),
              copy(backend::host::input_bytes(input_of(output->format()), (norm.size() + 31) / 32 * 32)) {
            const std::size_t kept = head_tokens.empty() ? vocabulary : head_tokens.size();
            if (norm.size() == target.hidden_size() && output->depth() == norm.size() && output->rows() == kept) return;
            augur::detail::fail("an exit head with a norm of ", norm.size(), " numbers and an output of ",
                                output->rows(), " rows of ", output->depth(), ", for ", kept, " tokens and states of ",
                                target.hidden_size(), " numbers");
        }

        void run(const float* hidden, std::span<float> out) {
            auto* const state = reinterpret_cast<float*>(normed.data());
            if (bias.empty()) {
                kernels_.rms_norm(hidden, norm.data(), state, norm.size(), epsilon);
            } else {
                kernels_.layer_norm(hidden, norm.data(), bias.data(), state, norm.size(), epsilon);
            }
            const auto format = input_of(output->format());
            const auto* prepared = normed.data();
            if (format != backend::host::input_format::f32) {
                kernels_.prepare(format, state, 0, norm.size(), copy.data());
                prepared = copy.data();
            }
            multiply_shared(*output, backend::host::product_of(*output, prepared, 1, out.data()));
            rule.apply(kernels_, out.data(), output->rows());
            if (!head_tokens.empty()) spread_logits(head_tokens, out);
        }

        std::size_t layer;
        std::vector<float> norm, bias{};  ///< with a bias it is a layer norm
        matrix own;
        std::vector<token> head_tokens;
        const matrix* output;
        std::size_t vocabulary;
        float epsilon;
        logit_rule rule;
        std::string fingerprint;
        backend::host::aligned_buffer normed, copy;
    };

    std::unique_ptr<parts> parts_;
};

}  // namespace augur::llama
