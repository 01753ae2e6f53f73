#pragma once
// The weights of a decoder's layer on the CPU.

#include <array>
#include <cstddef>
#include <vector>

#include "augur/backend/host/packed_matrix.hpp"

namespace augur::llama {

/// Matrices are outputs by inputs. Vectors that the model has not are empty.
struct layer_weights {
    std::vector<float> attention_norm, feed_forward_norm;
    backend::host::packed_matrix query, key, value, attention_output;
    backend::host::packed_matrix gate, up, down;
    std::vector<float> after_attention_norm{}, after_feed_forward_norm{}, query_norm{}, key_norm{};
    std::vector<float> query_bias{}, key_bias{}, value_bias{}, attention_output_bias{};
    std::vector<float> gate_bias{}, up_bias{}, down_bias{};

    std::array<const backend::host::packed_matrix*, 7> matrices() const {
        return {&query, &key, &value, &attention_output, &gate, &up, &down};
    }
    std::size_t vector_numbers() const {
        std::size_t total = 0;
        for (const auto* each :
             {&attention_norm, &feed_forward_norm, &after_attention_norm, &after_feed_forward_norm, &query_norm,
              &key_norm, &query_bias, &key_bias, &value_bias, &attention_output_bias, &gate_bias, &up_bias, &down_bias})
            total += each->size();
        return total;
    }
    std::size_t memory_bytes() const {
        std::size_t total = vector_numbers() * sizeof(float);
        for (const auto* matrix : matrices()) total += matrix->memory_bytes();
        return total;
    }
    std::size_t parameter_count() const {
        std::size_t total = vector_numbers();
        for (const auto* matrix : matrices()) total += matrix->rows() * matrix->depth();
        return total;
    }
};

}  // namespace augur::llama
