#pragma once
// A quantised weight matrix (integers, one scale per 32 of a row), tiled in the order in which warps read it.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/io/files/quantize.hpp"
#include "augur/io/files/tensor.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// A lane's sixteen integers of a tile, and the scales of its rows, those of g and g + 8 in word g (binary16).
template <unsigned Bits>
struct alignas(2 * Bits) lane_integers {
    std::uint32_t words[Bits / 2]{};
};
struct alignas(16) tile_scales {
    std::uint32_t words[8]{};
};

/// Tiles of 16 rows by 32 k, whose lanes have the rows and k that they have in tile_layout: 512 bytes of 8 bits (q8_0:
/// q * scale, q with a sign) or 256 of 4 bits (q4_0: (q - 8) * scale); one load for each lane. Numbers that a fragment
/// has in one word lie at the same bits of a word's halves: words[0] of the first fragment lowest, then words[1], and
/// so on.
template <unsigned Bits>
struct quantised_layout {
    static_assert(Bits == 8 || Bits == 4, "there are integers of 8 and of 4 bits");
    static constexpr unsigned in_word = 16 / Bits;  ///< words of a fragment that one word makes
    static constexpr io::tensor_type type = Bits == 8 ? io::tensor_type::q8_0 : io::tensor_type::q4_0;
    static constexpr std::size_t block_bytes = 2 + tile_layout::depth * Bits / 8;  ///< in a file

    /// Which bits of which lane's word hold the integer of this row and k.
    struct place_type {
        std::size_t lane, word, shift;
    };
    static AUGUR_HOST_DEVICE constexpr place_type place(std::size_t row, std::size_t k) {
        const std::size_t at = k % 8 / 4 * 4 + k % 4 / 2 * 2 + row / 8;  // of the words of a lane's fragments
        return {row % 8 * 4 + k / 8, at / in_word, at % in_word * Bits + k % 2 * 16};
    }

    /// A block of a file (scale, then 32 bytes or 16, with k in the lower half of byte k or upper half of byte k - 16)
    /// becomes part of the four lanes that have its row, and of the word with its row's scale, where there were zeros.
    static AUGUR_HOST_DEVICE void put(lane_integers<Bits>* lanes, std::uint32_t& scales, std::size_t row,
                                      const std::byte* block) {
        std::uint16_t scale;
        std::memcpy(&scale, block, sizeof scale);
        scales |= static_cast<std::uint32_t>(scale) << row / 8 * 16;
        for (std::size_t k = 0; k < tile_layout::depth; ++k) {
            const auto byte = std::to_integer<std::uint32_t>(block[2 + (Bits == 8 ? k : k % 16)]);
            const std::uint32_t integer = Bits == 8 ? byte : byte >> k / 16 * 4 & 15u;
            const place_type at = place(row, k);
            lanes[at.lane % 4].words[at.word] |= integer << at.shift;
        }
    }
};

/// a - b, of both numbers in a word; for differences that are exact.
template <class Element>
AUGUR_KERNEL std::uint32_t subtract_pairs(std::uint32_t a, std::uint32_t b) {
#if defined(__CUDA_ARCH__)
    using pair = std::conditional_t<std::is_same_v<Element, bfloat16>, __nv_bfloat162, __half2>;
    const pair difference = __hsub2(reinterpret_cast<const pair&>(a), reinterpret_cast<const pair&>(b));
    return reinterpret_cast<const std::uint32_t&>(difference);
#else
    const auto one = [&](unsigned shift) {
        return Element::of(Element::from_bits(static_cast<std::uint16_t>(a >> shift)).value() -
                           Element::from_bits(static_cast<std::uint16_t>(b >> shift)).value());
    };
    return pair_of(one(0), one(16));
#endif
}

/// Two integers, in the lowest bits of a word's halves, as Elements: exactly. A power of two that has as many bits
/// after its point as Elements have becomes one more with every step of its bits, up to twice itself: what is added by
/// `or` is subtracted back.
template <class Element, unsigned Bits>
AUGUR_KERNEL std::uint32_t integer_pair(std::uint32_t word) {
    constexpr std::uint32_t power = std::is_same_v<Element, bfloat16> ? 0x43004300u : 0x64006400u;  // 128, 1024
    if constexpr (Bits == 8) return subtract_pairs<Element>(power | (word & 0x7f007fu), power | (word & 0x800080u));
    return subtract_pairs<Element>(power | (word & 0xf000fu), power | 0x80008u);
}

/// What kernels see of a matrix. The product multiplies integers, in fresh sums for every block, and adds scale * sum.
template <class Element, unsigned Bits>
struct quantised_view : matrix_shape {
    using element = Element;
    struct part {
        lane_integers<Bits> integers;
        std::uint32_t scales = 0;  ///< of the lane's rows
    };
    static constexpr unsigned ahead = 32 / Bits;

    const lane_integers<Bits>* integers = nullptr;
    const tile_scales* scales = nullptr;

    AUGUR_KERNEL part load(std::size_t tile, unsigned lane) const {
        return {load_once(integers + tile * warp_size + lane), load_once(scales[tile].words + lane / 4)};
    }

    static AUGUR_KERNEL weight_fragment fragment(const part& of, unsigned half) {
        constexpr unsigned in_word = quantised_layout<Bits>::in_word;
        weight_fragment out;
        AUGUR_UNROLL
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned at = 4 * half + i;
            out.words[i] = integer_pair<Element, Bits>(of.integers.words[at / in_word] >> at % in_word * Bits);
        }
        return out;
    }
    /// See tiled_view: integers times their scale, rounded.
    static AUGUR_KERNEL std::uint32_t numbers(const part& of, std::uint32_t word, unsigned lower) {
        const float scale = binary16::from_bits(static_cast<std::uint16_t>(of.scales >> 16 * lower)).value();
        return pair_of(Element::of(Element::from_bits(static_cast<std::uint16_t>(word)).value() * scale),
                       Element::of(Element::from_bits(static_cast<std::uint16_t>(word >> 16)).value() * scale));
    }

    /// sums += scales * ((first, second) * (low, high))
    template <class Warp, class Parts, class Weights, class Inputs, class Sums>
    static AUGUR_KERNEL void multiply_add(const Warp& warp, const Parts& from, const Weights& first,
                                          const Weights& second, const Inputs& low, const Inputs& high, Sums& sums) {
        Sums fresh;
        warp.template multiply_add<Element>(fresh, first, low);
        warp.template multiply_add<Element>(fresh, second, high);
        warp.each_apart([&](unsigned lane) {
            AUGUR_UNROLL
            for (unsigned i = 0; i < 4; ++i) {
                const auto bits = static_cast<std::uint16_t>(from[lane].scales >> i / 2 * 16);
                float& sum = sums[lane].values[i];
                sum = std::fma(binary16::from_bits(bits).value(), fresh[lane].values[i], sum);
            }
        });
    }
};

/// `rows` outputs by `depth` inputs in a system's memory, multiplied with inputs that are Elements. Rows that fill up
/// the last panel have scales of zero.
template <class Element, unsigned Bits, System S>
class quantised_matrix {
 public:
    using view_type = quantised_view<Element, Bits>;
    using layout = quantised_layout<Bits>;

    quantised_matrix() = default;

    /// Undefined at first: for a kernel to fill.
    quantised_matrix(const S& on, std::size_t rows, std::size_t depth) {
        static_cast<matrix_shape&>(view_) = matrix_shape::of(rows, depth);
        integers_ = buffer<lane_integers<Bits>, S>(on, view_.tiles() * warp_size);
        scales_ = buffer<tile_scales, S>(on, view_.tiles());
        view_.integers = integers_.data();
        view_.scales = scales_.data();
    }

    /// `read(row, bytes)` writes the row's blocks as files hold them (layout::type); these integers and scales are
    /// kept.
    template <std::invocable<std::size_t, std::span<std::byte>> Read>
    quantised_matrix(const S& on, std::size_t rows, std::size_t depth, const Read& read)
        : quantised_matrix(on, rows, depth) {
        if (depth % tile_layout::depth != 0) {
            augur::detail::fail(io::name_of(layout::type), " has blocks of ", tile_layout::depth, ", which ", depth,
                                " is no multiple of");
        }
        fill(on, read);
    }

    /// `read(row, floats)` writes the row's `depth` numbers. They are rounded as by io::quantize, a last block filled
    /// up with zeros.
    template <std::invocable<std::size_t, std::span<float>> Read>
    quantised_matrix(const S& on, std::size_t rows, std::size_t depth, const Read& read)
        : quantised_matrix(on, rows, depth) {
        std::vector<float> row(view_.padded_depth());
        fill(on, [&](std::size_t i, std::span<std::byte> out) {
            read(i, std::span<float>(row).first(depth));
            io::quantize(layout::type, row, out);
        });
    }

    const view_type& view() const { return view_; }
    /// Where the view's integers and scales lie.
    lane_integers<Bits>* integers() const { return integers_.data(); }
    tile_scales* scales() const { return scales_.data(); }
    std::size_t memory_bytes() const { return integers_.memory_bytes() + scales_.memory_bytes(); }

 private:
    template <class Read>
    void fill(const S& on, const Read& read) {
        std::vector<std::byte> row(view_.blocks * layout::block_bytes);
        std::vector<lane_integers<Bits>> integers(view_.blocks * warp_size);
        std::vector<tile_scales> scales(view_.blocks);
        for (std::size_t panel = 0; panel < view_.panels; ++panel) {
            std::fill(integers.begin(), integers.end(), lane_integers<Bits>{});
            std::fill(scales.begin(), scales.end(), tile_scales{});
            const std::size_t first = panel * tile_layout::rows;
            for (std::size_t i = 0; i < std::min(tile_layout::rows, view_.rows - first); ++i) {
                read(first + i, std::span<std::byte>(row));
                for (std::size_t block = 0; block < view_.blocks; ++block) {
                    layout::put(integers.data() + block * warp_size + i % 8 * 4, scales[block].words[i % 8], i,
                                row.data() + block * layout::block_bytes);
                }
            }
            on.upload(integers_.data() + panel * integers.size(), integers.data(),
                      integers.size() * sizeof(lane_integers<Bits>));
            on.upload(scales_.data() + panel * scales.size(), scales.data(), scales.size() * sizeof(tile_scales));
        }
        on.wait();
    }

    view_type view_;
    buffer<lane_integers<Bits>, S> integers_;
    buffer<tile_scales, S> scales_;
};

/// A row as blocks of q8_0 or q4_0, for a matrix of the row's depth filled up to whole blocks: its own integers and
/// scales where the format has them (q8_0 has q4_0's), else rounded as by io::quantize.
inline void read_blocks(const host::packed_matrix& from, std::size_t row, io::tensor_type type,
                        std::span<std::byte> out) {
    const bool is_q8_0 = from.format() == host::storage::q8_0, is_q4_0 = from.format() == host::storage::q4_0;
    if (type == io::tensor_type::q8_0 ? is_q8_0 : is_q4_0) return from.row_blocks(row, out);
    if (is_q4_0) {
        std::vector<std::byte> narrow(from.depth() / 32 * io::block_bytes(io::tensor_type::q4_0));
        from.row_blocks(row, narrow);
        return io::widen_q4_0(narrow, out);
    }
    std::vector<float> numbers(tile_layout::padded(from.depth()));
    from.unpack_row(row, std::span<float>(numbers).first(from.depth()));
    io::quantize(type, numbers, out);
}

}  // namespace augur::backend::device
