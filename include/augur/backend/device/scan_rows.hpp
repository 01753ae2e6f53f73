#pragma once
// Reduces rows of logits by many blocks: per chunk first, then per row, with the host's own code.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/exponential.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/detail/row_scan.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// Rows of logits in a system's memory, one after the other; not owned.
struct rows_view {
    const float* logits = nullptr;
    std::size_t count = 0;
    std::size_t vocabulary_size = 0;

    AUGUR_HOST_DEVICE std::size_t chunks() const { return augur::detail::chunks_in(vocabulary_size); }
    AUGUR_HOST_DEVICE const float* row(std::size_t i) const { return logits + i * vocabulary_size; }
};

/// What a block takes of a row at a time. It lies in shared memory so that threads which read a chunk each use
/// different banks.
struct chunk_tile {
    static constexpr std::size_t chunks = 16, elements = chunks * augur::detail::chunk_size;
    static constexpr std::size_t stride = augur::detail::chunk_size + 1;
    static constexpr std::size_t shared_bytes = chunks * stride * sizeof(double);

    static AUGUR_HOST_DEVICE std::size_t tiles_in(std::size_t size) { return (size + elements - 1) / elements; }
    /// Where the block's element i is kept.
    static AUGUR_HOST_DEVICE std::size_t place(std::size_t i) {
        return i / augur::detail::chunk_size * stride + i % augur::detail::chunk_size;
    }
};

/// visit(chunk, its values, how many) for every chunk of a tile, each by one thread: for the host's functions of a
/// chunk. The values are made once by the whole block, as T in shared memory from its beginning on.
template <class T, class Team, class Indexed, class Visit>
AUGUR_KERNEL void visit_chunks(const Team& team, const Indexed& values, std::size_t size, std::size_t tile,
                               const Visit& visit) {
    T* const kept = team.template shared<T>();
    const std::size_t begin = tile * chunk_tile::elements;
    const std::size_t end = size - begin < chunk_tile::elements ? size : begin + chunk_tile::elements;
    team.each([&](unsigned thread) {
        for (std::size_t i = begin + thread; i < end; i += team.threads()) {
            kept[chunk_tile::place(i - begin)] = static_cast<T>(values[i]);
        }
    });
    team.each([&](unsigned thread) {
        const std::size_t first = begin + thread * augur::detail::chunk_size;
        if (thread >= chunk_tile::chunks || first >= end) return;
        visit(tile * chunk_tile::chunks + thread, kept + thread * chunk_tile::stride,
              augur::detail::end_of_chunk(first, end) - first);
    });
}

/// What all threads have put into their slots of shared memory, joined in any order: for joins that none changes. Every
/// thread gets it, and the slots are free again.
template <class Team, class T, class Join>
AUGUR_KERNEL T combined(const Team& team, T* slots, const Join& join) {
    return team.combined(slots, join);
}

/// Of two parts of a row, in either order: the larger's largest; ties: the lower index.
struct join_extents {
    AUGUR_HOST_DEVICE augur::detail::row_scan operator()(augur::detail::row_scan a,
                                                         const augur::detail::row_scan& b) const {
        a.valid = a.valid && b.valid;
        if (a.largest < b.largest || (a.largest == b.largest && b.first < a.first)) {
            a.largest = b.largest;
            a.first = b.first;
        }
        return a;
    }
};

/// A row's scan from those of its chunks. Uses a slot of shared memory per thread.
template <class Team>
AUGUR_KERNEL augur::detail::row_scan whole_scan(const Team& team, const augur::detail::row_scan* scans,
                                                std::size_t chunks) {
    auto* const slots = team.template shared<augur::detail::row_scan>();
    team.each([&](unsigned thread) {
        augur::detail::row_scan mine;
        for (std::size_t i = thread; i < chunks; i += team.threads()) mine = join_extents{}(mine, load_near(scans + i));
        slots[thread] = mine;
    });
    return combined(team, slots, join_extents{});
}

/// e^(logit - largest of its chunk): what measure::moments_of_chunk adds up.
struct chunk_weights {
    const float* logits;
    const augur::detail::row_scan* scans;

    AUGUR_HOST_DEVICE float below(std::size_t i) const {
        return logits[i] - scans[i / augur::detail::chunk_size].largest;
    }
    AUGUR_HOST_DEVICE float operator[](std::size_t i) const { return augur::detail::exp_nonpositive(below(i)); }
};
/// The same times (logit - largest of its chunk), at least -88.
struct chunk_moments {
    chunk_weights weights;

    AUGUR_HOST_DEVICE float operator[](std::size_t i) const {
        const float below = weights.below(i);
        return weights[i] * (below < -88.0f ? -88.0f : below);
    }
};

/// Kernel: scans, and moments of the softmax, of every chunk of every row. A block per row and tile; the last of a row
/// joins its scans.
struct scan_rows {
    static constexpr unsigned threads = 256;

    rows_view of;
    augur::detail::row_scan* scans = nullptr;     ///< rows x chunks; `first` counts from the row's begin
    measure::softmax_moments* moments = nullptr;  ///< rows x chunks, or null: then they are not made
    augur::detail::row_scan* whole = nullptr;     ///< of each row, or null: then they are not joined
    std::uint32_t* arrivals = nullptr;            ///< with `whole`, of each row: 0, and left so

    std::size_t blocks() const { return of.count * chunk_tile::tiles_in(of.vocabulary_size); }
    static constexpr std::size_t shared_bytes() { return chunk_tile::shared_bytes; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t tiles = chunk_tile::tiles_in(of.vocabulary_size);
        const std::size_t row = team.block() / tiles, tile = team.block() % tiles;
        const float* const logits = of.row(row);
        augur::detail::row_scan* const to = scans + row * of.chunks();
        visit_chunks<float>(team, logits, of.vocabulary_size, tile,
                            [&](std::size_t chunk, const float* values, std::size_t size) {
                                to[chunk] = augur::detail::scan_row(std::span<const float>(values, size));
                                to[chunk].first += chunk * augur::detail::chunk_size;
                            });
        if (moments != nullptr) add_moments(team, {logits, to}, tile, moments + row * of.chunks());
        if (whole != nullptr) join(team, row, tiles);
    }

 private:
    template <class Team>
    AUGUR_KERNEL void join(const Team& team, std::size_t row, std::size_t tiles) const {
        if (!is_last_block(team, arrivals + row, tiles, team.template shared<std::uint32_t>())) return;
        const augur::detail::row_scan seen = whole_scan(team, scans + row * of.chunks(), of.chunks());
        team.each([&](unsigned thread) {
            if (thread == 0) whole[row] = seen;
        });
    }

    template <class Team>
    AUGUR_KERNEL void add_moments(const Team& team, const chunk_weights& weights, std::size_t tile,
                                  measure::softmax_moments* to) const {
        const auto sum = [&](std::size_t chunk, const double* values, std::size_t size) {
            return weights.scans[chunk].possible() ? augur::detail::sum_of_chunk(values, 0, size) : 0.0;
        };
        visit_chunks<double>(team, weights, of.vocabulary_size, tile,
                             [&](std::size_t chunk, const double* values, std::size_t size) {
                                 const augur::detail::row_scan& seen = weights.scans[chunk];
                                 to[chunk] = {seen.largest, sum(chunk, values, size), 0, seen.valid};
                             });
        visit_chunks<double>(team, chunk_moments{weights}, of.vocabulary_size, tile,
                             [&](std::size_t chunk, const double* values, std::size_t size) {
                                 to[chunk].moment = sum(chunk, values, size);
                             });
    }
};

/// The result of scanning a row.
struct scanned_row {
    augur::detail::row_scan scan;  ///< the first largest logit, and whether something can be drawn
    measure::softmax_moments moments;
    double entropy_nats = std::numeric_limits<double>::infinity();  ///< of softmax(row); see measure/entropy.hpp
};

/// Kernel: the parts of each row joined in the order of its chunks, as measure::moments does. A block per row.
struct join_scans_of_rows {
    static constexpr unsigned threads = 256;

    const augur::detail::row_scan* scans;
    const measure::softmax_moments* moments;
    std::size_t chunks;
    scanned_row* rows;

    static constexpr std::size_t shared_bytes() { return threads * sizeof(measure::softmax_moments); }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t row = team.block();
        const augur::detail::row_scan seen = whole_scan(team, scans + row * chunks, chunks);
        auto* const kept = team.template shared<measure::softmax_moments>();
        typename Team::template own<measure::softmax_moments> joined;
        for (std::size_t begin = 0; begin < chunks; begin += threads) {
            const std::size_t count = chunks - begin < threads ? chunks - begin : threads;
            team.each([&](unsigned thread) {
                if (thread < count) kept[thread] = moments[row * chunks + begin + thread];
            });
            team.each([&](unsigned thread) {
                for (std::size_t i = 0; thread == 0 && i < count; ++i) joined[0] = merge(joined[0], kept[i]);
            });
        }
        team.each([&](unsigned thread) {
            if (thread == 0) rows[row] = {seen, joined[0], measure::entropy_nats(joined[0])};
        });
    }
};

/// Scans up to `most_rows` rows at a time, and holds the memory for it: two launches, and nothing is allocated in
/// between.
template <System S>
class row_scanner {
 public:
    row_scanner(const S& on, std::size_t vocabulary_size, std::size_t most_rows)
        : on_(on),
          vocabulary_size_(vocabulary_size),
          scans_(on, most_rows * augur::detail::chunks_in(vocabulary_size)),
          moments_(on, scans_.size()),
          rows_(on, most_rows) {
        if (vocabulary_size == 0 || most_rows == 0) {
            augur::detail::fail("there is nothing to scan in ", most_rows, " rows of ", vocabulary_size, " logits");
        }
    }

    /// `logits` lie in the system's memory. Returns where its memory has what is said of each row, once the launches
    /// are done.
    const scanned_row* scan(const float* logits, std::size_t rows) const {
        if (rows > rows_.size()) augur::detail::fail("a scanner of ", rows_.size(), " rows cannot scan ", rows);
        const scan_rows each{{logits, rows, vocabulary_size_}, scans_.data(), moments_.data()};
        on_.launch(each.blocks(), each);
        on_.launch(rows, join_scans_of_rows{scans_.data(), moments_.data(), each.of.chunks(), rows_.data()});
        return rows_.data();
    }
    /// The same place.
    const scanned_row* rows() const { return rows_.data(); }

    std::size_t memory_bytes() const { return scans_.memory_bytes() + moments_.memory_bytes() + rows_.memory_bytes(); }

 private:
    S on_;
    std::size_t vocabulary_size_;
    buffer<augur::detail::row_scan, S> scans_;
    buffer<measure::softmax_moments, S> moments_;
    buffer<scanned_row, S> rows_;
};

}  // namespace augur::backend::device
