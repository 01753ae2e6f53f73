#pragma once
// The arguments of the host kernels: plain data, the same for every instruction set.

#include <cstddef>
#include <string_view>

#include "augur/backend/host/storage.hpp"

namespace augur::backend::host {

/// y[c][r] (+)= sum over k of weight[r][k] * x[c][k], for the 16-row panels [first_panel, last_panel) of a matrix with
/// `rows` rows and every column c. The order of a sum is the format's and the instruction set's: it depends neither on
/// `columns` nor on the other rows and columns, so the bits of y[c][r] do not either.
struct product_task {
    storage format = storage::f32;
    const std::byte* panels = nullptr;
    std::size_t panel_bytes = 0;  ///< from one panel to the next
    std::size_t word_offset = 0;  ///< from a panel's start to its words
    std::size_t first_panel = 0, last_panel = 0;
    std::size_t rows = 0;
    std::size_t depth = 0;         ///< how many k
    const std::byte* x = nullptr;  ///< columns as `prepare` writes them for input_of(format); plain floats for f32
    std::size_t x_stride = 0;      ///< bytes from one column to the next
    std::size_t columns = 0;
    float* y = nullptr;
    std::size_t y_stride = 0;
    bool accumulate = false;  ///< f32 only
};

/// How keys and values are kept: as floats; or as Q8_0 has them, a signed byte each and of every 32 components of a
/// position a scale in binary16, which then must divide the head size.
enum class cache_format { f32, q8_0 };
inline constexpr cache_format all_cache_formats[] = {cache_format::f32, cache_format::q8_0};
inline constexpr std::size_t scaled_together = 32;

constexpr std::string_view name_of(cache_format format) {
    return format == cache_format::f32 ? "f32" : "q8_0";
}

/// Attention of `heads` query heads that share one key-value head, for `rows` positions in a row. The cache is a list
/// of blocks of `block_positions` positions; keys lie in panels of 16 positions by head_size, values in panels of 16
/// components by block_positions, scales by block_positions for each 32 components. Sums run over the positions in
/// order, so `rows` does not matter to the result.
struct attention_task {
    static constexpr std::size_t most_block_positions = 256;

    cache_format format = cache_format::f32;
    const std::byte* const* blocks = nullptr;
    std::size_t key_offset = 0, value_offset = 0;  ///< bytes from a block's start to this layer and head
    std::size_t key_scales = 0, value_scales = 0;  ///< the same, where there are scales
    std::size_t block_positions = 0;               ///< a multiple of 16, at most most_block_positions
    std::size_t positions = 0;                     ///< how many the first row sees, at least 1; each row one more
    std::size_t head_size = 0;
    std::size_t heads = 0;
    std::size_t rows = 1;
    const float* query = nullptr;  ///< rows x heads x head_size, already scaled
    float* weights = nullptr;      ///< scratch: rows x heads x stride
    std::size_t stride = 0;        ///< at least the positions of the last row, rounded up to 16
    float* out = nullptr;          ///< rows x heads x head_size
    bool continues = false;        ///< `out` holds what earlier positions, in other blocks, came to
};

/// The kernels of one instruction set.
struct kernels {
    void (*product)(const product_task&);
    /// Rounds the inputs [first, last) of a column x to bf16 or q8, as this set's products read it: input_bytes(format,
    /// depth) bytes at `out`, aligned to 64. `first` is a multiple of 32, and so is `last`, or it is the end of the
    /// column. Inputs that are not finite make every product with their block NaN.
    void (*prepare)(input_format format, const float* x, std::size_t first, std::size_t last, std::byte* out);
    void (*attention)(const attention_task&);
    /// What attention is made of, for rows that share some positions and not others (a tree's). A column is a head of a
    /// row. Scores of all columns for positions [0, last).
    void (*attention_scores)(const attention_task&, std::size_t last);
    /// Softmax of a column's weights, in place.
    void (*softmax)(float* weights, std::size_t positions);
    /// Adds the values of positions [first, last) to `columns` columns from `from` on; from position 0 it overwrites,
    /// unless the task continues.
    void (*attention_values)(const attention_task&, std::size_t first, std::size_t last, std::size_t from,
                             std::size_t columns);
    /// out[i] = x[i] / sqrt(mean of squares + epsilon) * weight[i]
    void (*rms_norm)(const float* x, const float* weight, float* out, std::size_t size, float epsilon);
    /// out[i] = (x[i] - mean) / sqrt(variance + epsilon) * weight[i] + bias[i]
    void (*layer_norm)(const float* x, const float* weight, const float* bias, float* out, std::size_t size,
                       float epsilon);
    /// gate[i] = gate[i] / (1 + exp(-gate[i])) * up[i]
    void (*silu_product)(float* gate, const float* up, std::size_t size);
    /// The same of GELU: gate[i] = gate[i] * Phi(gate[i]) * up[i], by its formula with tanh, and by the error function.
    void (*gelu_tanh_product)(float* gate, const float* up, std::size_t size);
    void (*gelu_product)(float* gate, const float* up, std::size_t size);
    /// gate[i] = g / (1 + exp(-slope * g)) * (u + 1), with g = min(gate[i], limit) and u = up[i] within -limit..limit.
    void (*clamped_product)(float* gate, const float* up, std::size_t size, float slope, float limit);
    /// x[i] = cap * tanh(x[i] / cap)
    void (*soft_cap)(float* x, std::size_t size, float cap);
    /// Turns the pair (x[2i], x[2i+1]) by the angle with the given cosine and sine.
    void (*rotate)(float* x, const float* cosines, const float* sines, std::size_t pairs);
};

}  // namespace augur::backend::host
