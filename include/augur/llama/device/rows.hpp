#pragma once
// Row kernels on a device: positions, embedding, rotary embedding and RMS norm.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/skinny_product.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/types/token.hpp"

namespace augur::llama::device {

namespace kernels = augur::backend::device;

/// A new row of a sequence. It sees the positions up to its own, in their order; keys and values of a position lie in a
/// slot of the sequence's cache. Without a path that is the slot of the position's number; rows of a tree have paths.
/// Pointers are into the system's memory.
struct row_place {
    const std::byte* const* blocks = nullptr;  ///< of the cache
    const std::int32_t* path = nullptr;        ///< slots of the positions from `base` to the row's own; may be null
    std::int32_t base = 0;
    std::int32_t position = 0;
    std::int32_t slot = 0;  ///< the row's own
    token id = no_token;

    AUGUR_KERNEL std::int32_t slot_of(std::int32_t at) const {
        return path == nullptr || at < base ? at : path[at - base];
    }
};

/// state[row][width] = the embedding of the row's token. A block for each row.
template <class Element>
struct embed {
    static constexpr unsigned threads = 256;

    const row_place* rows;
    const Element* table;  ///< vocabulary x width
    std::size_t width;
    float* state;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const Element* const from = table + static_cast<std::size_t>(rows[team.block()].id) * width;
        float* const to = state + team.block() * width;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < width; i += threads) to[i] = from[i].value();
        });
    }
};

/// turns[row][2 * pairs] = the cosines, then the sines, of the row's position times each frequency: taken in double
/// precision, then rounded. A block for each row.
struct find_turns {
    static constexpr unsigned threads = 64;

    const row_place* rows;
    const double* frequencies;  ///< in radians per position
    std::size_t pairs;
    float* turns;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const auto position = static_cast<double>(rows[team.block()].position);
        float* const cosines = turns + team.block() * 2 * pairs;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < pairs; i += threads) {
                const double angle = position * frequencies[i];
                cosines[i] = static_cast<float>(std::cos(angle));
                cosines[pairs + i] = static_cast<float>(std::sin(angle));
            }
        });
    }
};

/// Rows and the weights of a norm: what is read, and where its Elements go.
template <class Element>
struct norm_rows {
    const float* state;   ///< rows x width
    const float* weight;  ///< width
    std::size_t width;
    Element* out;
    std::size_t stride;  ///< Elements from one row of `out` to the next
};

/// out[row][i] = state * weight / sqrt(mean of the state's squares + epsilon). A block for each row; squares are added
/// by thread, then pair by pair.
template <class Element>
struct rms_norm {
    static constexpr unsigned threads = 256;

    norm_rows<Element> rows;
    float epsilon;
    float* unrounded = nullptr;  ///< rows x width: the same as floats; may be null

    static constexpr std::size_t shared_bytes() { return threads * sizeof(float); }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        float* const sums = team.template shared<float>();
        const float* const x = rows.state + team.block() * rows.width;
        team.each([&](unsigned thread) {
            float sum = 0;
            for (std::size_t i = thread; i < rows.width; i += threads) sum += x[i] * x[i];
            sums[thread] = sum;
        });
        kernels::combine_shared(team, sums, threads, [](float a, float b) { return a + b; });
        team.each([&](unsigned thread) {
            const float scale = 1.0f / std::sqrt(sums[0] / static_cast<float>(rows.width) + epsilon);
            for (std::size_t i = thread; i < rows.width; i += threads) {
                const float normed = x[i] * scale * rows.weight[i];
                rows.out[team.block() * rows.stride + i] = Element::of(normed);
                if (unrounded != nullptr) unrounded[team.block() * rows.width + i] = normed;
            }
        });
    }
};

/// What the first product of a layer reads of its rows (kernels::add_and_prepare): state times the weights of the norm,
/// and the squares of each panel. A block for each row.
template <class Element>
struct prepare_rows {
    static constexpr unsigned threads = 256;

    norm_rows<Element> rows;
    float* squares;  ///< rows x panels

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const float* const x = rows.state + team.block() * rows.width;
        const std::size_t panels = (rows.width + kernels::tile_layout::rows - 1) / kernels::tile_layout::rows;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < rows.width; i += threads) {
                rows.out[team.block() * rows.stride + i] = Element::of(x[i] * rows.weight[i]);
            }
            for (std::size_t i = thread; i < panels; i += threads) {
                squares[team.block() * panels + i] = kernels::squares_of_panel(x, i, rows.width);
            }
        });
    }
};

}  // namespace augur::llama::device
