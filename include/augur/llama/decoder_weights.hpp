#pragma once
// A decoder's weights on the CPU, packed for the kernels.

#include <cstddef>
#include <memory>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"
#include "augur/llama/layer_weights.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// How a model's inputs are made where they are more than embeddings: weight (width x 2 width) times the token's
/// embedding followed by a hidden state, each through an RMS norm if it has one, plus a bias. Or, in a configuration
/// with a wide first layer, both go as they are into that layer's queries, keys and values, and the hidden state into
/// the residual. Or the hidden state alone is the input.
struct fusion_weights {
    backend::host::packed_matrix weight;
    std::vector<float> embedding_norm, hidden_norm;  ///< empty: none
    std::vector<float> bias{};                       ///< empty: none
    bool state_first = false;                        ///< the weight reads the hidden state, then the embedding
    bool is_wide = false;                            ///< no weight: the first layer reads both
    bool normed_residual = false;                    ///< of a wide layer: the state goes into it after its norm
    bool only_state = false;                         ///< no weight: the hidden state in the embedding's place
    bool shows_unnormed = false;                     ///< the model's own states are those before the final norm
};

/// Models of one draft bundle share embeddings and layers.
struct weights {
    std::shared_ptr<const backend::host::packed_matrix> embedding;
    bool embedding_is_lent = false;     ///< by another model, which counts it
    backend::host::packed_matrix head;  ///< none where it is the whole embedding
    std::vector<token> head_tokens;     ///< ascending: whose rows the head has; empty means all
    std::vector<std::shared_ptr<const layer_weights>> layers;
    bool layers_are_lent = false;  ///< as the embedding
    std::vector<float> final_norm;
    std::vector<float> final_norm_bias{};  ///< of a layer norm; empty: it is an RMS norm
    fusion_weights fusion;                 ///< no weight where inputs are embeddings

    bool fuses() const { return fusion.weight.rows() != 0 || fusion.is_wide || fusion.only_state; }
    /// The head, or the embedding that stands for it.
    const backend::host::packed_matrix& output() const { return head.rows() != 0 ? head : *embedding; }
    /// But for what is lent.
    std::size_t memory_bytes() const {
        std::size_t total = head.memory_bytes() + fusion.weight.memory_bytes();
        if (!embedding_is_lent) total += embedding->memory_bytes();
        for (const auto* norm :
             {&final_norm, &final_norm_bias, &fusion.embedding_norm, &fusion.hidden_norm, &fusion.bias}) {
            total += norm->size() * sizeof(float);
        }
        for (const auto& layer : layers) total += layers_are_lent ? 0 : layer->memory_bytes();
        return total;
    }
    /// Numbers that a forward pass draws on, what is lent included, each once: a head that is the embedding is not
    /// another.
    std::size_t parameter_count() const {
        std::size_t total = final_norm.size() + final_norm_bias.size() + fusion.embedding_norm.size() +
                            fusion.hidden_norm.size() + fusion.bias.size();
        for (const auto* matrix : {embedding.get(), &head, &fusion.weight}) total += matrix->rows() * matrix->depth();
        for (const auto& layer : layers) total += layer->parameter_count();
        return total;
    }
};

}  // namespace augur::llama
