#pragma once
// The tensor-core fragments of attention's warps: keys times queries, and values times weights.

#include <cstdint>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/team.hpp"

namespace augur::llama::device {

namespace kernels = augur::backend::device;

/// What rounding to an Element leaves.
template <class Element>
AUGUR_KERNEL Element rest_of(float number) {
    return Element::of(number - Element::of(number).value());
}

/// Eight of a head's components from `first` on; what is beyond its size is zero. `Packed`: the size is in eights.
template <bool Packed, class Element>
AUGUR_KERNEL kernels::weight_fragment eight(const Element* from, unsigned first, unsigned size) {
    kernels::weight_fragment read{};
    if constexpr (Packed) {  // asked for in any case: no thread goes another way than the others
        const auto there =
            kernels::load_near(reinterpret_cast<const kernels::weight_fragment*>(from + (first < size ? first : 0)));
        if (first < size) read = there;
    } else {
        for (unsigned k = 0; k < 8; ++k) {
            if (first + k < size) {
                read.words[k / 2] |= static_cast<std::uint32_t>(from[first + k].bits) << k % 2 * 16;
            }
        }
    }
    return read;
}

/// Four of a head's queries from `first` on, as words; what is beyond its size is zero.
template <bool Packed>
AUGUR_KERNEL kernels::weight_fragment four_of(const float* from, unsigned first, unsigned size) {
    kernels::weight_fragment read{};
    if constexpr (Packed) {
        if (first < size) read = *reinterpret_cast<const kernels::weight_fragment*>(from + first);
    } else {
        for (unsigned k = 0; k < 4; ++k) {
            if (first + k < size) read.words[k] = kernels::bits_of(from[first + k]);
        }
    }
    return read;
}
/// Each of four numbers as two Elements.
template <class Element>
AUGUR_KERNEL void put_split(const kernels::weight_fragment& four, Element* high, Element* low) {
    const auto at = [&](unsigned i) { return kernels::float_of(four.words[i]); };
    const auto top = [&](unsigned i) { return Element::of(at(i)); };
    const auto rest = [&](unsigned i) { return rest_of<Element>(at(i)); };
    *reinterpret_cast<kernels::input_fragment*>(high) = {
        {kernels::pair_of(top(0), top(1)), kernels::pair_of(top(2), top(3))}};
    *reinterpret_cast<kernels::input_fragment*>(low) = {
        {kernels::pair_of(rest(0), rest(1)), kernels::pair_of(rest(2), rest(3))}};
}

/// Of two words, as one.
AUGUR_KERNEL inline std::uint32_t lower_halves(std::uint32_t a, std::uint32_t b) {
    return (a & 0xffffu) | b << 16;
}
AUGUR_KERNEL inline std::uint32_t upper_halves(std::uint32_t a, std::uint32_t b) {
    return a >> 16 | (b & 0xffff0000u);
}

/// Scores of 32 positions in columns of so many floats, from sums of twice 16 positions by `Tiles` times 8 columns.
template <unsigned Tiles, class Warp, class Sums>
AUGUR_KERNEL void store_scores(const Warp& warp, float* scores, unsigned stride, const Sums& sums) {
    warp.each_apart([&](unsigned lane) {
        AUGUR_UNROLL
        for (unsigned tile = 0; tile < Tiles; ++tile) {
            AUGUR_UNROLL
            for (unsigned i = 0; i < 8; ++i) {
                const unsigned column = 8 * tile + 2 * (lane % 4) + i % 2;
                scores[column * stride + lane / 4 + i / 2 * 8] = sums[i / 4][tile][lane].values[i % 4];
            }
        }
    });
}

/// Adds 32 components of twice 16 keys, fragments 0 to 3 of `keys`, times eight columns of queries.
template <class Warp, class Element, class Keys, class Sums>
AUGUR_KERNEL void multiply_keys(const Warp& warp, const Element* queries, unsigned stride, const Keys* keys,
                                unsigned begin, Sums& first, Sums& second) {
    typename Warp::template own<kernels::input_fragment> inputs[2];
    warp.each_apart([&](unsigned lane) {
        const auto from =
            *reinterpret_cast<const kernels::weight_fragment*>(queries + lane / 4 * stride + lane % 4 * 8);
        inputs[0][lane] = {{from.words[0], from.words[1]}};
        inputs[1][lane] = {{from.words[2], from.words[3]}};
    });
    AUGUR_UNROLL
    for (unsigned m = 0; m < 2; ++m) {
        AUGUR_UNROLL
        for (unsigned half = 0; half < 2; ++half) {
            typename Warp::template own<kernels::weight_fragment> read;
            warp.each_apart([&](unsigned lane) {
                const auto &upper = keys[2 * m][begin + lane].words, &lower = keys[2 * m + 1][begin + lane].words;
                read[lane] = {{upper[2 * half], lower[2 * half], upper[2 * half + 1], lower[2 * half + 1]}};
            });
            warp.template multiply_add<Element>(m == 0 ? first : second, read, inputs[half]);
        }
    }
}

/// Where a component of 128 is among a warp's sums of values: so that lanes write them to different banks.
AUGUR_KERNEL inline unsigned place_of(unsigned component) {
    return (component / 64 * 8 + component % 8) * 8 + component / 8 % 8;
}

/// to[column][place_of(component)] = the weights of 32 positions, in columns of `from` floats, times the values there,
/// of the `left` components that are left of the head.
template <class Element, class Warp, class Values>
AUGUR_KERNEL void multiply_values(const Warp& warp, const float* weights, unsigned from, unsigned left,
                                  const Values& values, unsigned begin, float* to, unsigned stride) {
    typename Warp::template own<kernels::sum_fragment> sums[8];
    AUGUR_UNROLL
    for (unsigned step = 0; step < 2; ++step) {
        typename Warp::template own<kernels::input_fragment> high, low;
        warp.each_apart([&](unsigned lane) {
            const auto& four =
                reinterpret_cast<const kernels::weight_fragment*>(weights + lane / 4 * from + 16 * step + lane % 4 * 4)
                    ->words;
            high[lane] = {{lower_halves(four[0], four[1]), lower_halves(four[2], four[3])}};
            low[lane] = {{upper_halves(four[0], four[1]), upper_halves(four[2], four[3])}};
        });
        AUGUR_UNROLL
        for (unsigned j = 0; j < 8; ++j) {
            if (j / 4 * 64 >= left) continue;
            typename Warp::template own<kernels::weight_fragment> turned;
            warp.each_apart([&](unsigned lane) {
                const auto word = [&](unsigned i) {
                    return values[j / 4 * 8 + step * 4 + i][begin + lane].words[j % 4];
                };
                turned[lane] = {{lower_halves(word(0), word(1)), upper_halves(word(0), word(1)),
                                 lower_halves(word(2), word(3)), upper_halves(word(2), word(3))}};
            });
            warp.template multiply_add<Element>(sums[j], turned, high);
            warp.template multiply_add<Element>(sums[j], turned, low);
        }
    }
    warp.each_apart([&](unsigned lane) {
        AUGUR_UNROLL
        for (unsigned j = 0; j < 8; ++j) {
            AUGUR_UNROLL
            for (unsigned i = 0; i < 4; ++i) {
                const unsigned place = (j / 4 * 8 + j % 4 * 2 + i / 2) * 8 + lane / 4;
                to[(2 * (lane % 4) + i % 2) * stride + place] = sums[j][lane].values[i];
            }
        }
    });
}

}  // namespace augur::llama::device
