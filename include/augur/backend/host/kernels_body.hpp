// The kernels, written once over sixteen lanes. kernels.hpp includes this file once per instruction set, with
//   AUGUR_HOST_SET     the namespace to define,
//   AUGUR_HOST_LANES   its lanes,
//   AUGUR_HOST_TARGET  the attribute that lets a function use them (it is why these are not templates over the lanes:
//                      an attribute cannot depend on a parameter, and lambdas do not inherit it).
// There is deliberately no include guard. Where a product is added to something, `fma` is spelled out, and no sum takes
// the plain result of `multiply`: compilers may fuse those or not, and the bits must not depend on it.

#if defined(AUGUR_HOST_SET)

namespace augur::backend::host::AUGUR_HOST_SET {

using lanes = AUGUR_HOST_LANES;
using vector = lanes::vector;
using words = lanes::words;

// ---- formats: how sixteen weights of one k become floats --------------------------------------------------------------
// header: what a block's weights share. load: a group of `group` consecutive k. next: the group's next k.

struct f32_format {
    static constexpr std::size_t depth = 1, group = 1, bytes = 64, header_bytes = 0, group_bytes = 64;
    struct header {};
    using group_type = vector;
    AUGUR_HOST_TARGET static inline header open(const std::byte*) { return {}; }
    AUGUR_HOST_TARGET static inline group_type load(const std::byte* from) {
        return lanes::load(reinterpret_cast<const float*>(from));
    }
    AUGUR_HOST_TARGET static inline vector next(group_type& value, const header&, std::size_t) { return value; }
};

struct f16_format {
    static constexpr std::size_t depth = 1, group = 1, bytes = 32, header_bytes = 0, group_bytes = 32;
    struct header {};
    using group_type = vector;
    AUGUR_HOST_TARGET static inline header open(const std::byte*) { return {}; }
    AUGUR_HOST_TARGET static inline group_type load(const std::byte* from) { return lanes::load_halves(from); }
    AUGUR_HOST_TARGET static inline vector next(group_type& value, const header&, std::size_t) { return value; }
};

struct bf16_format {
    static constexpr std::size_t depth = 2, group = 2, bytes = 64, header_bytes = 0, group_bytes = 64;
    struct header {};
    using group_type = words;
    AUGUR_HOST_TARGET static inline header open(const std::byte*) { return {}; }
    AUGUR_HOST_TARGET static inline group_type load(const std::byte* from) { return lanes::load_words(from); }
    AUGUR_HOST_TARGET static inline vector next(group_type& value, const header&, std::size_t j) {
        return j == 0 ? lanes::low_bfloat16(value) : lanes::high_bfloat16(value);
    }
};

struct q8_0_format {
    static constexpr std::size_t depth = 32, group = 1, bytes = 544, header_bytes = 32, group_bytes = 16;
    struct header {
        vector scale;
    };
    using group_type = vector;
    AUGUR_HOST_TARGET static inline header open(const std::byte* from) { return {lanes::load_halves(from)}; }
    AUGUR_HOST_TARGET static inline group_type load(const std::byte* from) { return lanes::load_bytes(from); }
    AUGUR_HOST_TARGET static inline vector next(group_type& value, const header& shared, std::size_t) {
        return lanes::multiply(shared.scale, value);
    }
};

struct q4_0_format {
    static constexpr std::size_t depth = 32, group = 8, bytes = 288, header_bytes = 32, group_bytes = 64;
    struct header {
        vector scale;
    };
    using group_type = words;
    AUGUR_HOST_TARGET static inline header open(const std::byte* from) { return {lanes::load_halves(from)}; }
    AUGUR_HOST_TARGET static inline group_type load(const std::byte* from) { return lanes::load_words(from); }
    AUGUR_HOST_TARGET static inline vector next(group_type& value, const header& shared, std::size_t) {
        return lanes::multiply(shared.scale, lanes::take_nibble<8>(value));
    }
};

/// scale * quant is exact (11 + 4 bits), so one fma rounds as dequantisation does.
struct q4_1_format {
    static constexpr std::size_t depth = 32, group = 8, bytes = 320, header_bytes = 64, group_bytes = 64;
    struct header {
        vector scale, minimum;
    };
    using group_type = words;
    AUGUR_HOST_TARGET static inline header open(const std::byte* from) {
        return {lanes::load_halves(from), lanes::load_halves(from + 32)};
    }
    AUGUR_HOST_TARGET static inline group_type load(const std::byte* from) { return lanes::load_words(from); }
    AUGUR_HOST_TARGET static inline vector next(group_type& value, const header& shared, std::size_t) {
        return lanes::fma(shared.scale, lanes::take_nibble<0>(value), shared.minimum);
    }
};

// ---- the skinny product -----------------------------------------------------------------------------------------------

/// One register tile's operands: `panels` points at the first of P panels, `panel_bytes` apart, at k = 0.
struct tile_task {
    const std::byte* panels;
    std::size_t panel_bytes;
    std::size_t depth;
    const float* x;
    std::size_t x_stride;
    float* y;
    std::size_t y_stride;
    std::size_t last_lanes;  ///< how many rows the last panel really has
    bool accumulate;
};

/// P panels (16 P rows) by C columns, all of K, in registers.
template <class Format, int P, int C>
AUGUR_HOST_TARGET void multiply_tile(const tile_task& task) {
    vector sums[P][C];
    for (int p = 0; p < P; ++p) {
        for (int c = 0; c < C; ++c) {
            const float* from =
                task.y + static_cast<std::size_t>(c) * task.y_stride + static_cast<std::size_t>(p) * panel_rows;
            sums[p][c] = !task.accumulate ? lanes::zero() : lanes::load(from, p + 1 < P ? panel_rows : task.last_lanes);
        }
    }
    const std::byte* block = task.panels;
    const float* x = task.x;
    for (std::size_t k = 0; k < task.depth; k += Format::depth, block += Format::bytes) {
        typename Format::header headers[P];
        for (int p = 0; p < P; ++p) headers[p] = Format::open(block + static_cast<std::size_t>(p) * task.panel_bytes);
        for (std::size_t g = 0; g < Format::depth / Format::group; ++g) {
            const std::byte* from = block + Format::header_bytes + g * Format::group_bytes;
            typename Format::group_type groups[P];
            for (int p = 0; p < P; ++p) groups[p] = Format::load(from + static_cast<std::size_t>(p) * task.panel_bytes);
#pragma GCC unroll 8
            for (std::size_t j = 0; j < Format::group; ++j) {
                if (Format::depth == 2 && k + j == task.depth) break;
                vector weights[P];
                for (int p = 0; p < P; ++p) weights[p] = Format::next(groups[p], headers[p], j);
                for (int c = 0; c < C; ++c) {
                    const vector factor = lanes::broadcast(x[static_cast<std::size_t>(c) * task.x_stride]);
                    for (int p = 0; p < P; ++p) sums[p][c] = lanes::fma(weights[p], factor, sums[p][c]);
                }
                ++x;
            }
        }
    }
    for (int c = 0; c < C; ++c) {
        float* to = task.y + static_cast<std::size_t>(c) * task.y_stride;
        for (int p = 0; p + 1 < P; ++p) lanes::store(to + static_cast<std::size_t>(p) * panel_rows, sums[p][c]);
        lanes::store(to + (P - 1) * panel_rows, sums[P - 1][c], task.last_lanes);
    }
}

/// How many rows panel `panel` of a matrix of `rows` rows really has.
AUGUR_HOST_TARGET inline std::size_t lanes_of(std::size_t panel, std::size_t rows) {
    const std::size_t left = rows - panel * panel_rows;
    return left < panel_rows ? left : panel_rows;
}

/// The task's panels, P at a time, then what is left by halves; C columns, weights unpacked in registers.
template <class Format, int P, int C>
AUGUR_HOST_TARGET void stream_panels(const product_task& task, std::size_t panel) {
    constexpr auto step = static_cast<std::size_t>(P);
    for (; panel + step <= task.last_panel; panel += step) {
        multiply_tile<Format, P, C>({task.panels + panel * task.panel_bytes, task.panel_bytes, task.depth, task.x,
                                     task.x_stride, task.y + panel * panel_rows, task.y_stride,
                                     lanes_of(panel + step - 1, task.rows), task.accumulate});
    }
    if constexpr (P > 1) stream_panels<Format, P / 2, C>(task, panel);
}

template <class Format, int C>
AUGUR_HOST_TARGET void stream_columns(const product_task& task) {
    if (task.columns == static_cast<std::size_t>(C)) {
        stream_panels<Format, C <= 2 ? lanes::wide_panels : lanes::tile_panels, C>(task, task.first_panel);
    } else if constexpr (C > 1) {
        stream_columns<Format, C - 1>(task);
    }
}

template <int P, int C>
AUGUR_HOST_TARGET void multiply_columns(tile_task task, std::size_t columns) {
    if (columns == static_cast<std::size_t>(C)) {
        multiply_tile<f32_format, P, C>(task);
    } else if constexpr (C > 1) {
        multiply_columns<P, C - 1>(task, columns);
    }
}

template <class Format>
AUGUR_HOST_TARGET void unpack(const std::byte* block, std::size_t depth, float* out) {
    for (std::size_t k = 0; k < depth; k += Format::depth, block += Format::bytes) {
        const auto shared = Format::open(block);
        for (std::size_t g = 0; g < Format::depth / Format::group; ++g) {
            auto values = Format::load(block + Format::header_bytes + g * Format::group_bytes);
#pragma GCC unroll 8
            for (std::size_t j = 0; j < Format::group; ++j, out += panel_rows) {
                lanes::store(out, Format::next(values, shared, j));
            }
        }
    }
}

/// Many columns: P panels by `slice` k are unpacked once into the first-level cache, and all columns run over them.
template <class Format, int P>
AUGUR_HOST_TARGET void slice_panels(const product_task& task, std::size_t panel) {
    constexpr std::size_t slice = 128;
    constexpr auto step = static_cast<std::size_t>(P);
    constexpr auto most = static_cast<std::size_t>(lanes::most_columns);
    alignas(64) float unpacked[step * slice * panel_rows];
    const std::size_t tiles = (task.columns + most - 1) / most;
    for (; panel + step <= task.last_panel; panel += step) {
        for (std::size_t k = 0; k < task.depth; k += slice) {
            const std::size_t depth = task.depth - k < slice ? task.depth - k : slice;
            const std::byte* from = task.panels + panel * task.panel_bytes + k / Format::depth * Format::bytes;
            for (std::size_t p = 0; p < step; ++p) {
                unpack<Format>(from + p * task.panel_bytes, depth, unpacked + p * slice * panel_rows);
            }
            for (std::size_t tile = 0; tile < tiles; ++tile) {
                const std::size_t first = task.columns * tile / tiles, last = task.columns * (tile + 1) / tiles;
                multiply_columns<P, lanes::most_columns>(
                    {reinterpret_cast<const std::byte*>(unpacked), slice * panel_rows * sizeof(float), depth,
                     task.x + first * task.x_stride + k, task.x_stride,
                     task.y + first * task.y_stride + panel * panel_rows, task.y_stride,
                     lanes_of(panel + step - 1, task.rows), task.accumulate || k > 0},
                    last - first);
            }
        }
    }
    if constexpr (P > 1) slice_panels<Format, P / 2>(task, panel);
}

template <class Format>
AUGUR_HOST_TARGET void multiply(const product_task& task) {
    if (task.columns <= static_cast<std::size_t>(lanes::streamed_columns)) {
        stream_columns<Format, lanes::streamed_columns>(task);
    } else {
        slice_panels<Format, lanes::tile_panels>(task, task.first_panel);
    }
}

AUGUR_HOST_TARGET inline void product(const product_task& task) {
    switch (task.format) {
        case storage::f32:
            return multiply<f32_format>(task);
        case storage::f16:
            return multiply<f16_format>(task);
        case storage::bf16:
            return multiply<bf16_format>(task);
        case storage::q8_0:
            return multiply<q8_0_format>(task);
        case storage::q4_0:
            return multiply<q4_0_format>(task);
        case storage::q4_1:
            return multiply<q4_1_format>(task);
    }
}

// ---- what lies between products ---------------------------------------------------------------------------------------

/// The lanes' sum, by a fixed tree.
AUGUR_HOST_TARGET inline float sum_of_lanes(vector value) {
    float lane[16];
    lanes::store(lane, value);
    for (int width = 8; width > 0; width /= 2) {
        for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
    }
    return lane[0];
}

/// e^x, relative error below 2e-7; e^-87 below and e^88 above those; NaN stays NaN. Cody-Waite, then the polynomial of
/// Cephes' expf.
AUGUR_HOST_TARGET inline vector exponential(vector argument) {
    const vector x = lanes::smaller(lanes::broadcast(88.0f), lanes::larger(lanes::broadcast(-87.0f), argument));
    const vector magic = lanes::broadcast(12582912.0f);  // 1.5 * 2^23: adding it rounds to the nearest integer
    const vector shifted = lanes::fma(x, lanes::broadcast(1.44269504f), magic);
    const vector n = lanes::subtract(shifted, magic);
    vector r = lanes::fma(n, lanes::broadcast(-0.693359375f), x);
    r = lanes::fma(n, lanes::broadcast(2.12194440e-4f), r);
    vector y = lanes::broadcast(1.9875691500e-4f);
    y = lanes::fma(y, r, lanes::broadcast(1.3981999507e-3f));
    y = lanes::fma(y, r, lanes::broadcast(8.3334519073e-3f));
    y = lanes::fma(y, r, lanes::broadcast(4.1665795894e-2f));
    y = lanes::fma(y, r, lanes::broadcast(1.6666665459e-1f));
    y = lanes::fma(y, r, lanes::broadcast(5.0000001201e-1f));
    y = lanes::add(lanes::fma(y, lanes::multiply(r, r), r), lanes::broadcast(1.0f));
    return lanes::multiply(y, lanes::power_of_two(shifted));
}

/// Softmax in place. Lane sums run over the scores sixteen by sixteen, so the bits depend on these scores alone.
AUGUR_HOST_TARGET inline void softmax(float* scores, std::size_t size) {
    float largest = scores[0];
    for (std::size_t i = 1; i < size; ++i) largest = scores[i] > largest ? scores[i] : largest;
    const vector shift = lanes::broadcast(largest);
    vector sums = lanes::zero();
    for (std::size_t i = 0; i < size; i += panel_rows) {
        const std::size_t count = size - i < panel_rows ? size - i : panel_rows;
        const vector value = lanes::first(exponential(lanes::subtract(lanes::load(scores + i, count), shift)), count);
        lanes::store(scores + i, value, count);
        sums = lanes::add(sums, value);
    }
    const vector scale = lanes::broadcast(1.0f / sum_of_lanes(sums));
    for (std::size_t i = 0; i < size; i += panel_rows) {
        const std::size_t count = size - i < panel_rows ? size - i : panel_rows;
        lanes::store(scores + i, lanes::multiply(lanes::load(scores + i, count), scale), count);
    }
}

AUGUR_HOST_TARGET inline void attention(const attention_task& task) {
    const std::size_t stride = (task.positions + panel_rows - 1) / panel_rows * panel_rows;
    product_task product_of{};
    product_of.columns = task.heads;
    for (std::size_t start = 0, block = 0; start < task.positions; start += task.block_positions, ++block) {
        const std::size_t count =
            task.positions - start < task.block_positions ? task.positions - start : task.block_positions;
        product_of.panels = reinterpret_cast<const std::byte*>(task.blocks[block] + task.key_offset);
        product_of.panel_bytes = task.head_size * panel_rows * sizeof(float);
        product_of.last_panel = (count + panel_rows - 1) / panel_rows;
        product_of.rows = count;
        product_of.depth = task.head_size;
        product_of.x = task.query;
        product_of.x_stride = task.head_size;
        product_of.y = task.weights + start;
        product_of.y_stride = stride;
        multiply<f32_format>(product_of);
    }
    for (std::size_t head = 0; head < task.heads; ++head) softmax(task.weights + head * stride, task.positions);
    for (std::size_t start = 0, block = 0; start < task.positions; start += task.block_positions, ++block) {
        const std::size_t count =
            task.positions - start < task.block_positions ? task.positions - start : task.block_positions;
        product_of.panels = reinterpret_cast<const std::byte*>(task.blocks[block] + task.value_offset);
        product_of.panel_bytes = task.block_positions * panel_rows * sizeof(float);
        product_of.last_panel = (task.head_size + panel_rows - 1) / panel_rows;
        product_of.rows = task.head_size;
        product_of.depth = count;
        product_of.x = task.weights + start;
        product_of.x_stride = stride;
        product_of.y = task.out;
        product_of.y_stride = task.head_size;
        product_of.accumulate = start > 0;
        multiply<f32_format>(product_of);
    }
}

AUGUR_HOST_TARGET inline void rms_norm(const float* x, const float* weight, float* out, std::size_t size,
                                       float epsilon) {
    vector squares = lanes::zero();
    for (std::size_t i = 0; i < size; i += panel_rows) {
        const vector value = lanes::load(x + i, size - i < panel_rows ? size - i : panel_rows);
        squares = lanes::fma(value, value, squares);
    }
    const float mean = sum_of_lanes(squares) / static_cast<float>(size);
    const vector scale = lanes::broadcast(1.0f / std::sqrt(mean + epsilon));
    for (std::size_t i = 0; i < size; i += panel_rows) {
        const std::size_t count = size - i < panel_rows ? size - i : panel_rows;
        const vector value = lanes::multiply(lanes::load(x + i, count), scale);
        lanes::store(out + i, lanes::multiply(value, lanes::load(weight + i, count)), count);
    }
}

AUGUR_HOST_TARGET inline void silu_product(float* gate, const float* up, std::size_t size) {
    for (std::size_t i = 0; i < size; i += panel_rows) {
        const std::size_t count = size - i < panel_rows ? size - i : panel_rows;
        const vector x = lanes::load(gate + i, count);
        const vector rest = lanes::add(lanes::broadcast(1.0f), exponential(lanes::subtract(lanes::zero(), x)));
        lanes::store(gate + i, lanes::multiply(lanes::divide(x, rest), lanes::load(up + i, count)), count);
    }
}

AUGUR_HOST_TARGET inline void rotate(float* x, const float* cosines, const float* sines, std::size_t pairs) {
    for (std::size_t i = 0; i < pairs; ++i) {
        const float even = x[2 * i], odd = x[2 * i + 1];
        x[2 * i] = std::fma(even, cosines[i], -(odd * sines[i]));
        x[2 * i + 1] = std::fma(even, sines[i], odd * cosines[i]);
    }
}

inline constexpr kernels table{&product, &attention, &rms_norm, &silu_product, &rotate};

}  // namespace augur::backend::host::AUGUR_HOST_SET

#undef AUGUR_HOST_SET
#undef AUGUR_HOST_LANES
#undef AUGUR_HOST_TARGET

#endif
