#pragma once
// Random weights in the shape of known models, made on the device, for benchmarks without a file.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/quantised_tiles.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/io/files/quantize.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/device/weights.hpp"
#include "augur/random/philox.hpp"
#include "augur/types/error.hpp"

namespace augur::benchmarks {

namespace kernels = backend::device;
using llama::device::device_format, llama::device::layer_on_device, llama::device::weights_on_device;

/// The shape of SmolLM2's "135m", of Llama 3.2's "1b" and "3b", or of Llama 3.1's "8b" and "70b", with a context of
/// 8192 tokens and without the stretching of long wavelengths; `layers` of it, 0 for all. Refused: other names, more
/// layers.
inline llama::config known_shape(std::string_view name, std::size_t layers = 0) {
    struct shape {
        std::string_view name;
        std::size_t layers, width, heads, key_value_heads, head_size, feed_forward, vocabulary;
        double rotary_base;
        bool tied;
    };
    static constexpr shape known[] = {{"135m", 30, 576, 9, 3, 64, 1536, 49152, 100000, true},
                                      {"1b", 16, 2048, 32, 8, 64, 8192, 128256, 500000, true},
                                      {"3b", 28, 3072, 24, 8, 128, 8192, 128256, 500000, true},
                                      {"8b", 32, 4096, 32, 8, 128, 14336, 128256, 500000, false},
                                      {"70b", 80, 8192, 64, 8, 128, 28672, 128256, 500000, false}};
    const auto* const found =
        std::find_if(std::begin(known), std::end(known), [&](const shape& each) { return each.name == name; });
    if (found == std::end(known))
        augur::detail::fail("there is no shape ", name, "; there are 135m, 1b, 3b, 8b and 70b");
    if (layers > found->layers) {
        augur::detail::fail("the shape ", name, " has ", found->layers, " layers, not ", layers);
    }
    llama::config c;
    c.layers = layers == 0 ? found->layers : layers;
    c.width = found->width;
    c.heads = found->heads;
    c.key_value_heads = found->key_value_heads;
    c.head_size = c.rotary_size = found->head_size;
    c.feed_forward = found->feed_forward;
    c.vocabulary = found->vocabulary;
    c.context = 8192;
    c.rotary_base = found->rotary_base;
    c.tied_head = found->tied;
    return c;
}

/// Which matrix a number belongs to, as kernels read them (weights.hpp).
enum class matrix_name : std::uint32_t { embedding, head, query_key_value, attention_output, gate_up, down };

/// A matrix of independent numbers, uniform around 0: each is a function of the seed, the matrix, its layer, row and k,
/// by integers, one multiplication and one rounding, so that it has the same bits on every system.
struct random_matrix {
    random::philox_key key;
    matrix_name name;
    std::uint32_t layer;
    std::size_t rows, depth;
    float unit;  ///< the numbers are odd multiples of it, below 2^23 units

    /// Of the standard deviation gain / sqrt(inputs).
    random_matrix(std::uint64_t seed, matrix_name which, std::size_t of_layer, std::size_t outputs, std::size_t inputs,
                  float gain = 1)
        : key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
          name(which),
          layer(static_cast<std::uint32_t>(of_layer)),
          rows(outputs),
          depth(inputs),
          unit(static_cast<float>(std::sqrt(3.0 / static_cast<double>(inputs)) * 0x1p-23) * gain) {}

    /// The numbers at k, k + 1, k + 2, k + 3 of a row, for k a multiple of four; 0 outside of the matrix.
    AUGUR_HOST_DEVICE std::array<float, 4> four(std::size_t row, std::size_t k) const {
        std::array<float, 4> out{};
        const auto words = random::philox4x32({static_cast<std::uint32_t>(k / 4), static_cast<std::uint32_t>(row),
                                               static_cast<std::uint32_t>(name), layer},
                                              key);
        for (std::size_t i = 0; i < 4; ++i) {
            if (row >= rows || k + i >= depth) continue;
            out[i] = static_cast<float>(static_cast<std::int32_t>(words[i] >> 8 | 1u) - (1 << 23)) * unit;
        }
        return out;
    }
};

/// Fills a matrix row after row with what a Source (random_matrix, widened_matrix) has. A block for each row.
template <class Element, class Source = random_matrix>
struct fill_rows {
    static constexpr unsigned threads = 256;

    Source from;
    Element* to;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t row = team.block();
        team.each([&](unsigned thread) {
            for (std::size_t k = 4 * thread; k < from.depth; k += 4 * threads) {
                const auto numbers = from.four(row, k);
                for (std::size_t i = 0; i < 4 && k + i < from.depth; ++i) {
                    to[row * from.depth + k + i] = Element::of(numbers[i]);
                }
            }
        });
    }
};

/// Fills a matrix in tiles, with zeros where they are larger than it. A block for each panel.
template <class Element, class Source = random_matrix>
struct fill_tiles {
    static constexpr unsigned threads = 256;

    Source from;
    kernels::weight_fragment* to;
    std::size_t blocks;  ///< of a panel

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        using layout = kernels::tile_layout;
        kernels::weight_fragment* const panel = to + team.block() * blocks * layout::fragments;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < blocks * layout::elements / 4; i += threads) {
                const std::size_t row = i % layout::rows, k = i / layout::rows * 4;
                const auto numbers = from.four(team.block() * layout::rows + row, k);
                kernels::weight_fragment* const tile = panel + k / layout::depth * layout::fragments;
                for (std::size_t pair = 0; pair < 4; pair += 2) {
                    const std::size_t place = layout::place(row, k % layout::depth + pair);
                    tile[place / 8].words[place % 8 / 2] =
                        kernels::pair_of(Element::of(numbers[pair]), Element::of(numbers[pair + 1]));
                }
            }
        });
    }
};

/// Fills a matrix of integers with what io::quantize makes of the same numbers as Elements; rows beyond it have scales
/// of zero. A block for each panel; a thread has rows g and g + 8 of a tile, whose integers and scales share words.
template <class Element, unsigned Bits, class Source = random_matrix>
struct fill_quantised_tiles {
    using layout = kernels::quantised_layout<Bits>;
    static constexpr unsigned threads = 256;

    Source from;
    kernels::lane_integers<Bits>* integers;
    kernels::tile_scales* scales;
    std::size_t blocks;  ///< of a panel

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        constexpr std::size_t rows = kernels::tile_layout::rows, half = rows / 2;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < blocks * half; i += threads) {
                const std::size_t tile = team.block() * blocks + i / half, group = i % half;
                kernels::lane_integers<Bits> lanes[4];
                std::uint32_t both = 0;
                for (std::size_t row = group; row < rows && team.block() * rows + row < from.rows; row += half) {
                    std::uint8_t block[layout::block_bytes];
                    quantise(team.block() * rows + row, i / half * kernels::tile_layout::depth, block);
                    layout::put(lanes, both, row, reinterpret_cast<const std::byte*>(block));
                }
                for (std::size_t lane = 0; lane < 4; ++lane) {
                    integers[tile * kernels::warp_size + 4 * group + lane] = lanes[lane];
                }
                scales[tile].words[group] = both;
            }
        });
    }

 private:
    /// The block that begins at this k, as files hold it.
    AUGUR_KERNEL void quantise(std::size_t row, std::size_t first, std::uint8_t* block) const {
        float numbers[kernels::tile_layout::depth];
        for (std::size_t k = 0; k < kernels::tile_layout::depth; k += 4) {
            const auto next = from.four(row, first + k);
            for (std::size_t i = 0; i < 4; ++i) numbers[k + i] = Element::of(next[i]).value();
        }
        io::quantize_block<layout::type>(numbers, block);
    }
};

/// The kernel that fills a matrix with these numbers.
template <class Source, class Element, kernels::System S>
fill_tiles<Element, Source> filler(const Source& from, const kernels::tiled_matrix<Element, S>& to) {
    return {from, to.data(), to.view().blocks};
}
template <class Source, class Element, unsigned Bits, kernels::System S>
fill_quantised_tiles<Element, Bits, Source> filler(const Source& from,
                                                   const kernels::quantised_matrix<Element, Bits, S>& to) {
    return {from, to.integers(), to.scales(), to.view().blocks};
}

/// What random weights are made from. With `depth_scale` 0 the model's text is that of its first `first_deep` layers;
/// with 1 it is an ordinary random model, whose text these do not foretell.
struct synthetic {
    llama::config shape;
    std::uint64_t seed = 0;
    std::size_t first_deep = 0;  ///< the layer from which on `depth_scale` counts
    float depth_scale = 1;       ///< of what a deep layer adds to the state; at least 0
};

inline void validate(const synthetic& of) {
    llama::validate(of.shape, "a synthetic Llama");
    if (of.first_deep > of.shape.layers) {
        augur::detail::fail("deep layers begin after ", of.first_deep, " layers, but the shape has ", of.shape.layers);
    }
    if (!(of.depth_scale >= 0 && std::isfinite(of.depth_scale))) {
        augur::detail::fail("the depth scale is ", of.depth_scale, "; it must be finite and at least 0");
    }
}

/// Weights filled where they lie: only norms, of 1, and frequencies are uploaded. Standard deviations are
/// 1 / sqrt(row's length); a quarter of it for the output of attention, so that the mean of a context does not outweigh
/// its last token; for the outputs of attention and feed-forward in deep layers times `depth_scale`. Equal arguments
/// give equal bits on every system. A draft that shares them is a device_model of their first layers.
/// In q8_0 and q4_0 the integers and scales are those that io::quantize makes of the weights that `elements` gives.
/// Cost: a launch for each matrix.
/// Source: LeCun et al., Efficient BackProp (1998), section 4.6.
template <class Element, device_format F = device_format::elements, kernels::System S>
std::shared_ptr<const weights_on_device<Element, S, F>> make_weights(const S& on, const synthetic& of) {
    validate(of);
    const llama::config& c = of.shape;
    const auto make = [&]<class Matrix>(Matrix& matrix, matrix_name name, std::size_t layer, std::size_t rows,
                                        std::size_t depth, float gain) {
        matrix = Matrix(on, rows, depth);
        on.launch(matrix.view().panels, filler(random_matrix(of.seed, name, layer, rows, depth, gain), matrix));
    };
    const std::vector<float> ones(c.width, 1.0f);
    const auto norm = [&] { return kernels::buffer<float, S>(on, std::span<const float>(ones)); };
    const std::size_t half = kernels::tile_layout::rows / 2, queries = c.heads * c.head_size;
    std::vector<layer_on_device<Element, S, F>> layers(c.layers);
    for (std::size_t i = 0; i < c.layers; ++i) {
        const float gain = i < of.first_deep ? 1 : of.depth_scale;
        layers[i].attention_norm = norm();
        layers[i].feed_forward_norm = norm();
        make(layers[i].query_key_value, matrix_name::query_key_value, i, queries + 2 * c.key_value_heads * c.head_size,
             c.width, 1);
        make(layers[i].attention_output, matrix_name::attention_output, i, c.width, queries, gain / 4);
        make(layers[i].gate_up, matrix_name::gate_up, i, (c.feed_forward + half - 1) / half * 2 * half, c.width, 1);
        make(layers[i].down, matrix_name::down, i, c.width, c.feed_forward, gain);
    }
    kernels::buffer<Element, S> embedding(on, c.vocabulary * c.width);
    const random_matrix rows(of.seed, matrix_name::embedding, 0, c.vocabulary, c.width);
    on.launch(c.vocabulary, fill_rows<Element>{rows, embedding.data()});
    typename weights_on_device<Element, S, F>::head_type head;
    make(head, c.tied_head ? matrix_name::embedding : matrix_name::head, 0, c.vocabulary, c.width, 1);
    return std::make_shared<const weights_on_device<Element, S, F>>(on, c, std::move(embedding), std::move(head),
                                                                    std::move(layers), norm());
}

}  // namespace augur::benchmarks
