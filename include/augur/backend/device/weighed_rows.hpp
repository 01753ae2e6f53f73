#pragma once
// Rows as criteria and token selectors need them: scanned, truncated and weighed, by the launches that the settings
// require.

#include <cstddef>
#include <cstdint>

#include "augur/backend/device/row_cut.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/walking_block.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/row_scan.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/token.hpp"

namespace augur::backend::device {

/// The outcome of scanning a row.
struct row_outcome {
    token drawn = no_token;      ///< in place of the drafted token; no_token where that is accepted
    std::uint32_t possible = 0;  ///< 0 where nothing can be drawn from the row
};

/// What is known of rows in a system's memory, for kernels with a block per row and tile, and room for what these find.
struct weighed_view {
    rows_view of;
    float temperature = 1;
    const augur::detail::row_scan* whole = nullptr;  ///< of each row
    const double* sums = nullptr;                    ///< of each chunk of each row; null at temperature 0
    const double* totals = nullptr;                  ///< of each row; null at temperature 0
    const row_cut* cuts = nullptr;                   ///< of each row; null where nothing is cut
    double* found_sums = nullptr;                    ///< as many as `sums`
    part_of_pass* found_parts = nullptr;             ///< of each tile of each row
    std::uint32_t* arrivals = nullptr;               ///< of each row: 0, and left so
    row_outcome* outcomes = nullptr;                 ///< of each row
    std::uint32_t* finished = nullptr;               ///< how many rows are judged: 0, and left so

    AUGUR_HOST_DEVICE std::size_t tiles() const { return chunk_tile::tiles_in(of.vocabulary_size); }
    AUGUR_HOST_DEVICE std::size_t blocks() const { return of.count * tiles(); }
    AUGUR_HOST_DEVICE std::size_t row_of(std::size_t block) const { return block / tiles(); }
    /// walking_block's.
    std::size_t shared_bytes() const { return chunk_tile::shared_bytes + 2 * of.chunks() * sizeof(double); }

    /// Whether something can be drawn.
    AUGUR_HOST_DEVICE bool possible(std::size_t row) const {
        return whole[row].possible() && (!(temperature > 0) || totals[row] > 0);
    }
    AUGUR_HOST_DEVICE row_weights weights(std::size_t row) const {
        return {of.row(row), whole[row].largest, temperature, cuts == nullptr ? nullptr : cuts + row};
    }
    template <class Team>
    AUGUR_KERNEL walking_block<Team> block(const Team& team) const {
        const std::size_t row = row_of(team.block());
        return {team,
                of.vocabulary_size,
                {team.block() % tiles(), found_sums + row * of.chunks(), found_parts + row * tiles(), arrivals + row}};
    }
    template <class Team>
    AUGUR_KERNEL chain_row<Team> target(const walking_block<Team>& block, std::size_t row) const {
        if (!(temperature > 0)) return {block, static_cast<token>(whole[row].first)};
        return {block, weights(row), sums + row * of.chunks(), totals[row]};
    }
};

/// What is said of up to `most_rows` rows at a time, with the system's memory for it, taken at construction: per row
/// and chunk 24 bytes, above temperature 0 eight more; per row and tile 16; per row 28, above temperature 0 eight more;
/// and row_cutter's. Cost: a launch, two above temperature 0, and row_cutter's.
template <System S>
class weighed_rows {
 public:
    weighed_rows(const S& on, const transform::settings& chosen, std::size_t vocabulary_size, std::size_t most_rows)
        : on_(on), temperature_(chosen.temperature.value) {
        const transform::pipeline checked(chosen, vocabulary_size);  // refuses what it does
        cutter_ = row_cutter<S>(on, cut_settings(chosen, vocabulary_size), most_rows);
        const std::size_t chunks = most_rows * augur::detail::chunks_in(vocabulary_size);
        scans_ = buffer<augur::detail::row_scan, S>(on, chunks);
        whole_ = buffer<augur::detail::row_scan, S>(on, most_rows);
        found_sums_ = buffer<double, S>(on, chunks);
        found_parts_ = buffer<part_of_pass, S>(on, most_rows * chunk_tile::tiles_in(vocabulary_size));
        outcomes_ = buffer<row_outcome, S>(on, most_rows);
        arrivals_ = buffer<std::uint32_t, S>(on, most_rows + 1);
        on.clear(arrivals_.data(), arrivals_.memory_bytes());
        if (temperature_ > 0) {
            sums_ = buffer<double, S>(on, chunks);
            totals_ = buffer<double, S>(on, most_rows);
        }
    }

    /// Launches. What it says is of these rows until the next ones.
    weighed_view prepare(const rows_view& of) const {
        const scan_rows scan{of, scans_.data(), nullptr, whole_.data(), arrivals()};
        on_.launch(scan.blocks(), scan);
        const row_cut* const cuts = cutter_.cut(on_, of, scans_.data(), whole_.data(), arrivals());
        if (temperature_ > 0) {
            const weigh_rows weigh{of, whole_.data(), temperature_, sums_.data(), totals_.data(), arrivals(), cuts};
            on_.launch(weigh.blocks(), weigh);
        }
        return {of,
                temperature_,
                whole_.data(),
                sums_.data(),
                totals_.data(),
                cuts,
                found_sums_.data(),
                found_parts_.data(),
                arrivals(),
                outcomes_.data(),
                arrivals_.data()};
    }

    std::size_t memory_bytes() const {
        return scans_.memory_bytes() + whole_.memory_bytes() + found_sums_.memory_bytes() +
               found_parts_.memory_bytes() + outcomes_.memory_bytes() + arrivals_.memory_bytes() +
               sums_.memory_bytes() + totals_.memory_bytes() + cutter_.memory_bytes();
    }

 private:
    /// Of rows; the first counts judged rows.
    std::uint32_t* arrivals() const { return arrivals_.data() + 1; }

    S on_;
    float temperature_;
    row_cutter<S> cutter_;
    buffer<augur::detail::row_scan, S> scans_, whole_;
    buffer<double, S> found_sums_, sums_, totals_;
    buffer<part_of_pass, S> found_parts_;
    buffer<row_outcome, S> outcomes_;
    buffer<std::uint32_t, S> arrivals_;
};

}  // namespace augur::backend::device
