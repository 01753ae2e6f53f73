#pragma once
// What the kernels are asked to do. Plain data, the same for every instruction set.

#include <cstddef>

#include "augur/backend/host/storage.hpp"

namespace augur::backend::host {

/// y[c][r] (+)= sum over k of weight[r][k] * x[c][k], for the 16-row panels [first_panel, last_panel) of a matrix with
/// `rows` rows and every column c. Each sum starts at zero (or at y, if `accumulate`) and takes k = 0, 1, 2, ... in turn,
/// one fused multiply-add each: the bits depend on neither `columns` nor the instruction set.
struct product_task {
    storage format = storage::f32;
    const std::byte* panels = nullptr;
    std::size_t panel_bytes = 0;  ///< from one panel to the next
    std::size_t first_panel = 0, last_panel = 0;
    std::size_t rows = 0;
    std::size_t depth = 0;  ///< how many k
    const float* x = nullptr;
    std::size_t x_stride = 0;  ///< floats from one column's k = 0 to the next column's
    std::size_t columns = 0;
    float* y = nullptr;
    std::size_t y_stride = 0;
    bool accumulate = false;
};

/// Attention of `heads` query heads that share one key-value head, for one position. The cache is a list of blocks of
/// `block_positions` positions; keys lie in panels of 16 positions by head_size, values in panels of 16 components by
/// block_positions. Sums run over the positions in order.
struct attention_task {
    const float* const* blocks = nullptr;
    std::size_t key_offset = 0, value_offset = 0;  ///< floats from a block's start to this layer and head
    std::size_t block_positions = 0;               ///< a multiple of 16
    std::size_t positions = 0;                     ///< how many this query sees, at least 1
    std::size_t head_size = 0;
    std::size_t heads = 0;
    const float* query = nullptr;  ///< heads x head_size, already scaled
    float* weights = nullptr;      ///< scratch: heads x (positions rounded up to 16)
    float* out = nullptr;          ///< heads x head_size
};

/// The kernels of one instruction set.
struct kernels {
    void (*product)(const product_task&);
    void (*attention)(const attention_task&);
    /// out[i] = x[i] / sqrt(mean of squares + epsilon) * weight[i]
    void (*rms_norm)(const float* x, const float* weight, float* out, std::size_t size, float epsilon);
    /// gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i]
    void (*silu_product)(float* gate, const float* up, std::size_t size);
    /// Turns the pair (x[2i], x[2i+1]) by the angle with the given cosine and sine.
    void (*rotate)(float* x, const float* cosines, const float* sines, std::size_t pairs);
};

}  // namespace augur::backend::host
