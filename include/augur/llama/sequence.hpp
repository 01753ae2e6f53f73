#pragma once
// The state of one sequence of a Llama: the key-value cache of every layer, and the rows of its last pass.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/llama/key_value_cache.hpp"

namespace augur::llama {

/// A sequence of one host_model: owned by the caller, moved but not copied, changed only by the model.
class sequence {
 public:
    explicit sequence(cache_layout layout) : cache_(layout) {}

    std::size_t length() const { return length_; }
    /// Of the cache, and of what the last runs left.
    std::size_t memory_bytes() const {
        const std::size_t floats =
            logits_.capacity() + hidden_.capacity() + waiting_.capacity() + layer_input_.capacity() + kept_.capacity();
        return cache_.memory_bytes() + floats * sizeof(float);
    }

 private:
    friend class host_model;
    friend class host_passes;

    key_value_cache cache_;
    std::size_t length_ = 0;
    std::size_t rows_ = 0, shown_ = 0;  ///< of the last run: rows of logits, and of hidden states
    backend::host::float_buffer logits_, hidden_;
    std::vector<float> waiting_;               ///< states of the last positions, which lack layers
    std::size_t split_ = 0;                    ///< layers that these have been through
    backend::host::float_buffer layer_input_;  ///< of the last of them, and the last of these layers
    std::vector<std::int32_t> tree_;           ///< parents in the tree of the last run
    std::size_t tree_at_ = 0;                  ///< the length then
    backend::host::float_buffer kept_;         ///< keys and values of its nodes: nodes x layers x (keys, then values)
    std::vector<const float*> places_;         ///< where the rows of a run lie that began with this sequence
};

}  // namespace augur::llama
