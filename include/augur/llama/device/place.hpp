#pragma once
// Queries, keys and values as products leave them: turned to their positions, and cached.

#include <cmath>
#include <cstddef>

#include "augur/backend/device/skinny_product.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/llama/device/cache.hpp"
#include "augur/llama/device/rows.hpp"

namespace augur::llama::device {

/// Finishes the sums of queries, keys and values: turned to the row's position, queries scaled, keys and values cached.
template <class Element>
struct place_sums {
    const row_place* rows;
    const float* turns;  ///< of each row: cosines, then sines
    float* queries;      ///< rows x heads x head_size
    cache_layout layout;
    std::size_t layer, query_size, key_size, pairs;
    float scale;

    AUGUR_KERNEL void operator()(const kernels::panel_sums& sums, std::size_t panel, unsigned row,
                                 std::size_t column) const {
        std::size_t at = panel * kernels::tile_layout::rows + row;
        if (at < query_size) {
            queries[column * query_size + at] = turned(sums, row, column, at % layout.head_size) * scale;
        } else if (at < query_size + key_size) {
            at -= query_size;
            *cached(column, at, true) = Element::of(turned(sums, row, column, at % layout.head_size));
        } else if (at < query_size + 2 * key_size) {
            *cached(column, at - query_size - key_size, false) = Element::of(sums(row, column));
        }
    }

 private:
    /// Of a rotary pair, which lies in one panel, for heads begin at even rows.
    AUGUR_KERNEL float turned(const kernels::panel_sums& sums, unsigned row, std::size_t column,
                              std::size_t component) const {
        const float own = sums(row, column);
        if (component / 2 >= pairs) return own;
        const float* const cosines = turns + column * 2 * pairs;
        const float cosine = cosines[component / 2], sine = cosines[pairs + component / 2];
        const float other = sums(row ^ 1u, column);
        return component % 2 == 0 ? own * cosine - other * sine : other * sine + own * cosine;
    }

    AUGUR_KERNEL Element* cached(std::size_t column, std::size_t at, bool is_key) const {
        const row_place& place = rows[column];
        const auto slot = static_cast<std::size_t>(place.slot);
        Element* const key = layout.template key<Element>(place.blocks, layer, at / layout.head_size, slot);
        return key + (is_key ? 0 : layout.keys_size()) + at % layout.head_size;
    }
};

/// The scale of attention scores, by the position of the row that attends.
struct position_scale {
    float scale = 1, temperature = 0;  ///< see config::attention_temperature
    std::size_t context = 1;

    AUGUR_KERNEL float at(std::int32_t position) const {
        if (temperature == 0) return scale;
        const auto whole = static_cast<float>(static_cast<std::size_t>(position) / context);
        return scale * (temperature * std::log(1 + whole) + 1);
    }
};

/// The same of sums that lie in memory, for models with more than a Llama's: biases are added, queries and keys
/// normalised. A block for each row; a warp takes each norm, adding squares by lane.
template <class Element>
struct place_rows {
    static constexpr unsigned threads = 256, warps = threads / kernels::warp_size;

    const row_place* rows;
    float* sums;                         ///< rows x (queries, keys, values); changed
    const float* bias;                   ///< as long as a row of these; may be null
    const float *query_norm, *key_norm;  ///< null: none
    std::size_t query_norm_size, key_norm_size;
    const float* turns;  ///< of each row: cosines, then sines; null where nothing turns
    std::size_t turns_stride;
    float* queries;  ///< rows x heads x head_size
    cache_layout layout;
    std::size_t layer, query_size, key_size, pairs;
    position_scale scale;
    float epsilon;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t row = team.block(), size = query_size + 2 * key_size;
        float* const own = sums + row * size;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; bias != nullptr && i < size; i += threads) own[i] += bias[i];
        });
        team.each_warp([&](const auto& warp) {
            if (query_norm == nullptr) return;
            normalise(warp, own, query_size, query_norm, query_norm_size);
            normalise(warp, own + query_size, key_size, key_norm, key_norm_size);
        });
        team.each([&](unsigned thread) {
            const float factor = scale.at(rows[row].position);
            for (std::size_t i = thread; i < size; i += threads) place(row, own, i, factor);
        });
    }

 private:
    template <class Warp>
    AUGUR_KERNEL void normalise(const Warp& warp, float* of, std::size_t size, const float* weight,
                                std::size_t norm_size) const {
        for (std::size_t first = warp.index() * norm_size; first < size; first += warps * norm_size) {
            float* const x = of + first;
            typename Warp::template own<float> sum;
            warp.each_apart([&](unsigned lane) {
                for (std::size_t i = lane; i < norm_size; i += kernels::warp_size) sum[lane] += x[i] * x[i];
            });
            warp.combine(sum, [](float a, float b) { return a + b; });
            warp.each_apart([&](unsigned lane) {
                const float by = 1.0f / std::sqrt(sum[lane] / static_cast<float>(norm_size) + epsilon);
                for (std::size_t i = lane; i < norm_size; i += kernels::warp_size) x[i] = x[i] * by * weight[i];
            });
        }
    }

    AUGUR_KERNEL void place(std::size_t row, const float* own, std::size_t at, float factor) const {
        if (at < query_size) {
            queries[row * query_size + at] = turned(row, own, at, at % layout.head_size) * factor;
            return;
        }
        const std::size_t within = (at - query_size) % key_size, component = within % layout.head_size;
        const auto slot = static_cast<std::size_t>(rows[row].slot);
        Element* const key = layout.template key<Element>(rows[row].blocks, layer, within / layout.head_size, slot);
        if (at < query_size + key_size) {
            key[component] = Element::of(turned(row, own, at, component));
        } else {
            key[layout.keys_size() + component] = Element::of(own[at]);
        }
    }

    /// Number `at` of the row's sums, of which pairs begin at even components.
    AUGUR_KERNEL float turned(std::size_t row, const float* own, std::size_t at, std::size_t component) const {
        const std::size_t pair = component / 2;
        if (turns == nullptr || pair >= pairs) return own[at];
        const float* const cosines = turns + row * turns_stride;
        const float cosine = cosines[pair], sine = cosines[pairs + pair];
        return component % 2 == 0 ? own[at] * cosine - own[at + 1] * sine : own[at - 1] * sine + own[at] * cosine;
    }
};

}  // namespace augur::llama::device
