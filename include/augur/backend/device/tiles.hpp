#pragma once
// A weight matrix of 16-bit floats, tiled in the order in which warps read it.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// Tiles of 16 rows by 32 k, those of the same rows after one another: 1024 bytes each, two fragments for every lane.
/// Lane 4g + q has rows g and g + 8, k from 8q to 8q + 7: four of them in either fragment. So a warp reads 512 bytes in
/// a row at a time, and a lane's inputs are the 16 bytes at 8q of a column as it is.
struct tile_layout {
    static constexpr std::size_t rows = 16, depth = 32, fragments = 2 * warp_size, elements = rows * depth;

    static constexpr std::size_t padded(std::size_t depth_of_matrix) {
        return (depth_of_matrix + depth - 1) / depth * depth;
    }
    /// Where in its tile the weight of this row and k lies, in Elements.
    static AUGUR_HOST_DEVICE constexpr std::size_t place(std::size_t row, std::size_t k) {
        const std::size_t lane = row % 8 * 4 + k / 8, half = k % 8 / 4, word = k % 4 / 2 * 2 + row / 8;
        return ((half * warp_size + lane) * 4 + word) * 2 + k % 2;
    }
};

/// 4, 8 or 16 bytes of weights. They are read once per pass: they need not stay near.
template <class T>
AUGUR_KERNEL T load_once(const T* from) {
#if defined(__CUDA_ARCH__)
    using words = std::conditional_t<sizeof(T) == 16, uint4, std::conditional_t<sizeof(T) == 8, uint2, unsigned>>;
    return std::bit_cast<T>(__ldcs(reinterpret_cast<const words*>(from)));
#else
    return *from;
#endif
}

/// Which matrix it is, as every view says.
struct matrix_shape {
    std::size_t rows = 0;    ///< outputs
    std::size_t panels = 0;  ///< of 16 rows
    std::size_t blocks = 0;  ///< of 32 k

    static matrix_shape of(std::size_t rows, std::size_t depth) {
        if (rows == 0 || depth == 0) augur::detail::fail("a matrix of ", rows, " rows by ", depth, " has no weights");
        return {rows, (rows + tile_layout::rows - 1) / tile_layout::rows,
                tile_layout::padded(depth) / tile_layout::depth};
    }
    std::size_t tiles() const { return panels * blocks; }
    /// The Elements that inputs of one column take.
    AUGUR_HOST_DEVICE std::size_t padded_depth() const { return blocks * tile_layout::depth; }
};

/// What kernels see of a matrix. A view says for the product (skinny_product.hpp) what a lane holds of a tile and how
/// many tiles a warp asks for at once, loads it, makes fragments of it and adds products of them; and which numbers a
/// fragment stands for.
template <class Element>
struct tiled_view : matrix_shape {
    using element = Element;
    struct part {
        weight_fragment halves[2];
    };
    static constexpr unsigned ahead = 4;

    const weight_fragment* fragments = nullptr;

    AUGUR_KERNEL part load(std::size_t tile, unsigned lane) const {
        const weight_fragment* const from = fragments + tile * tile_layout::fragments + lane;
        return {{load_once(from), load_once(from + warp_size)}};
    }
    static AUGUR_KERNEL weight_fragment fragment(const part& of, unsigned half) { return of.halves[half]; }
    /// The two numbers that a fragment's word stands for, as Elements; `lower` is 1 for rows from g + 8 on.
    static AUGUR_KERNEL std::uint32_t numbers(const part&, std::uint32_t word, unsigned /*lower*/) { return word; }

    /// sums += (first, second) * (low, high)
    template <class Warp, class Parts, class Weights, class Inputs, class Sums>
    static AUGUR_KERNEL void multiply_add(const Warp& warp, const Parts&, const Weights& first, const Weights& second,
                                          const Inputs& low, const Inputs& high, Sums& sums) {
        warp.template multiply_add<Element>(sums, first, low);
        warp.template multiply_add<Element>(sums, second, high);
    }
};

/// `rows` outputs by `depth` inputs in a system's memory. Rows that fill up the last panel, and k that fill up the last
/// block, are zero. Numbers are rounded to Elements.
template <class Element, System S>
class tiled_matrix {
 public:
    using view_type = tiled_view<Element>;

    tiled_matrix() = default;

    /// Undefined at first: for a kernel to fill.
    tiled_matrix(const S& on, std::size_t rows, std::size_t depth) {
        static_cast<matrix_shape&>(view_) = matrix_shape::of(rows, depth);
        memory_ = buffer<weight_fragment, S>(on, view_.tiles() * tile_layout::fragments);
        view_.fragments = memory_.data();
    }

    /// `read(row, floats)` writes the row's `depth` numbers.
    template <class Read>
    tiled_matrix(const S& on, std::size_t rows, std::size_t depth, const Read& read) : tiled_matrix(on, rows, depth) {
        std::vector<float> row(depth);
        std::vector<Element> panel(view_.blocks * tile_layout::elements);
        for (std::size_t first = 0; first < rows; first += tile_layout::rows) {
            std::fill(panel.begin(), panel.end(), Element{});
            for (std::size_t i = 0; i < std::min(tile_layout::rows, rows - first); ++i) {
                read(first + i, std::span<float>(row));
                for (std::size_t k = 0; k < depth; ++k) {
                    const std::size_t block = k / tile_layout::depth;
                    panel[block * tile_layout::elements + tile_layout::place(i, k % tile_layout::depth)] =
                        Element::of(row[k]);
                }
            }
            weight_fragment* const to =
                memory_.data() + first / tile_layout::rows * view_.blocks * tile_layout::fragments;
            on.upload(to, panel.data(), panel.size() * sizeof(Element));
        }
        on.wait();
    }

    const view_type& view() const { return view_; }
    /// Where the view's fragments lie.
    weight_fragment* data() const { return memory_.data(); }
    std::size_t memory_bytes() const { return memory_.memory_bytes(); }

 private:
    view_type view_;
    buffer<weight_fragment, S> memory_;
};

}  // namespace augur::backend::device
