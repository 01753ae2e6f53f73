#pragma once
// Sampling weights computed from rows in device memory: bit for bit those of transform::pipeline.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/detail/row_scan.hpp"

namespace augur::backend::device {

/// What stays of a row: sharpened logits not below a floor (top-k, min-p), and of those the most probable up to a last
/// one (top-p). At first all.
struct row_cut {
    float floor = -std::numeric_limits<float>::infinity();
    float last_weight = -1;
    std::uint32_t last_index = 0;  ///< of those that have the last weight, the last that stays

    AUGUR_HOST_DEVICE bool keeps(float weight, std::size_t index) const {
        return weight > last_weight || (weight == last_weight && index <= last_index);
    }
};

/// transform::pipeline's weights of a row's logits: at this temperature, with what is cut weighing nothing.
struct row_weights {
    const float* logits = nullptr;
    augur::detail::sharpening by;
    row_cut cut;

    AUGUR_HOST_DEVICE row_weights() {}
    /// `to` may be null: then nothing is cut.
    AUGUR_HOST_DEVICE row_weights(const float* of, float largest, float temperature, const row_cut* to = nullptr)
        : logits(of), by(augur::detail::sharpening::at(temperature, largest)), cut(to == nullptr ? row_cut{} : *to) {}
    AUGUR_HOST_DEVICE float operator[](std::size_t i) const {
        if (by.sharpened(logits[i]) < cut.floor) return 0;
        const float weight = by.weight(logits[i]);
        return cut.keeps(weight, i) ? weight : 0;
    }
};

/// Kernel: the sums of the weights of each chunk, for temperatures above 0, and of each row. A block per row and tile,
/// after scan_rows and, where something is cut, cut_rows; the last of a row adds up its chunks, in their order.
struct weigh_rows {
    static constexpr unsigned threads = 256;

    rows_view of;
    const augur::detail::row_scan* whole;  ///< of each row
    float temperature;
    double* sums;             ///< rows x chunks
    double* totals;           ///< of each row
    std::uint32_t* arrivals;  ///< of each row: 0, and left so
    const row_cut* cuts;      ///< of each row, or null

    std::size_t blocks() const { return of.count * chunk_tile::tiles_in(of.vocabulary_size); }
    static constexpr std::size_t shared_bytes() { return chunk_tile::shared_bytes; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t tiles = chunk_tile::tiles_in(of.vocabulary_size);
        const std::size_t row = team.block() / tiles, first = row * of.chunks();
        const row_cut* const cut = cuts == nullptr ? nullptr : cuts + row;
        visit_chunks<double>(team, row_weights(of.row(row), whole[row].largest, temperature, cut), of.vocabulary_size,
                             team.block() % tiles, [&](std::size_t chunk, const double* values, std::size_t size) {
                                 sums[first + chunk] = augur::detail::sum_of_chunk(values, 0, size);
                             });
        if (!is_last_block(team, arrivals + row, tiles, team.template shared<std::uint32_t>())) return;
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            double total = 0;
            for (std::size_t chunk = 0; chunk < of.chunks(); ++chunk) total += load_near(sums + first + chunk);
            totals[row] = total;
        });
    }
};

}  // namespace augur::backend::device
