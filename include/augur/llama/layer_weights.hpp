#pragma once
// The weights of a decoder's layer on the CPU.

#include <array>
#include <cstddef>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"

namespace augur::llama {

/// Of a mixture's feed-forwards one. Biases that the model has not are empty.
struct expert_weights {
    backend::host::packed_matrix gate, up, down;
    std::vector<float> gate_bias{}, up_bias{}, down_bias{};

    std::array<const backend::host::packed_matrix*, 3> matrices() const { return {&gate, &up, &down}; }
    std::size_t vector_numbers() const { return gate_bias.size() + up_bias.size() + down_bias.size(); }
};

/// Matrices are outputs by inputs. Vectors that the model has not are empty. A feed-forward without a gate has no
/// up. A layer with experts has a router and them; its gate, up and down are those of the expert
/// of all rows, if there is one.
struct layer_weights {
    std::vector<float> attention_norm, feed_forward_norm;
    backend::host::packed_matrix query, key, value, attention_output;
    backend::host::packed_matrix gate, up, down;
    std::vector<float> attention_norm_bias{}, feed_forward_norm_bias{};  ///< of layer norms; else they are RMS norms
    std::vector<float> after_attention_norm{}, after_feed_forward_norm{}, query_norm{}, key_norm{};
    std::vector<float> query_bias{}, key_bias{}, value_bias{}, attention_output_bias{};
    std::vector<float> gate_bias{}, up_bias{}, down_bias{};
    std::vector<float> sinks{};  ///< of each head
    backend::host::packed_matrix router{};
    std::vector<float> router_bias{};
    backend::host::packed_matrix shared_gate{};  ///< one row: the score of the expert of all rows
    std::vector<expert_weights> experts{};

    std::array<const backend::host::packed_matrix*, 7> matrices() const {
        return {&query, &key, &value, &attention_output, &gate, &up, &down};
    }
    std::size_t vector_numbers() const {
        std::size_t total = 0;
        for (const auto* each :
             {&attention_norm, &feed_forward_norm, &attention_norm_bias, &feed_forward_norm_bias, &after_attention_norm,
              &after_feed_forward_norm, &query_norm, &key_norm, &query_bias, &key_bias, &value_bias,
              &attention_output_bias, &gate_bias, &up_bias, &down_bias, &sinks, &router_bias})
            total += each->size();
        for (const expert_weights& each : experts) total += each.vector_numbers();
        return total;
    }
    std::size_t memory_bytes() const {
        std::size_t total = vector_numbers() * sizeof(float);
        visit_matrices([&](const backend::host::packed_matrix& each) { total += each.memory_bytes(); });
        return total;
    }
    std::size_t parameter_count() const {
        std::size_t total = vector_numbers();
        visit_matrices([&](const backend::host::packed_matrix& each) { total += each.rows() * each.depth(); });
        return total;
    }

 private:
    void visit_matrices(const auto& visit) const {
        for (const auto* matrix : matrices()) visit(*matrix);
        visit(router);
        visit(shared_gate);
        for (const expert_weights& each : experts) {
            for (const auto* matrix : each.matrices()) visit(*matrix);
        }
    }
};

}  // namespace augur::llama
