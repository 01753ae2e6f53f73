#pragma once
// Top-k, top-p and min-p on rows in device memory: many blocks select each row's threshold, without sorting.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/backend/device/ranking.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/mass.hpp"
#include "augur/detail/row_scan.hpp"
#include "augur/transform/pipeline.hpp"

namespace augur::backend::device {

/// Temperature and cuts of transform::settings, as a kernel has them.
struct cut_settings {
    float temperature = 1;
    std::uint64_t top_k = 0;  ///< 0: all stay
    double top_p = 1;         ///< 1: all stay
    float log_min_p = -std::numeric_limits<float>::infinity();

    cut_settings() = default;
    cut_settings(const transform::settings& chosen, std::size_t vocabulary_size)
        : temperature(chosen.temperature.value),
          top_k(chosen.top_k.k < vocabulary_size ? chosen.top_k.k : 0),
          top_p(static_cast<double>(chosen.top_p.p)),
          log_min_p(std::log(chosen.min_p.p)) {}

    /// Whether something may be cut: greedy decoding cuts nothing that matters.
    bool active() const {
        return temperature > 0 && (top_k > 0 || top_p < 1 || log_min_p > -std::numeric_limits<float>::infinity());
    }
};

/// The key by which a row's tokens are selected: logits for top-k, of which each counts as one; weights for top-p, by
/// their mass; and those of the last weight by their indices, lower ones first.
enum class cut_by : std::uint32_t { logit, weight, index };

/// Kernel: one more digit of each row's threshold. A block per row and tile. The last digit of weights makes a cut, and
/// tells whether equals of the last weight are cut, too; then those of indices do.
struct cut_rows {
    static constexpr unsigned threads = most_threads;
    static constexpr unsigned index_bits = 2 * most_digit_bits;  ///< enough for augur::detail::most_counted

    rows_view of;
    const augur::detail::row_scan* scans;  ///< of each chunk of each row
    const augur::detail::row_scan* whole;  ///< of each row
    cut_settings chosen;
    cut_by by;
    unsigned open, bits;      ///< see ranking
    last_ranked* found;       ///< of each row, so far
    std::uint64_t* counts;    ///< most_digits of each row: 0, and left so
    std::uint32_t* arrivals;  ///< of each row: 0, and left so
    row_cut* cuts;            ///< of each row; where nothing can be drawn, nothing is cut

    std::size_t blocks() const { return of.count * chunk_tile::tiles_in(of.vocabulary_size); }
    static constexpr std::size_t shared_bytes() { return ranking_shared_bytes; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t tiles = chunk_tile::tiles_in(of.vocabulary_size);
        const std::size_t row = team.block() / tiles, tile = team.block() % tiles;
        if (by == cut_by::index && found[row].needed == 0) return;  // all equals stay
        const last_ranked so_far = open == (by == cut_by::index ? index_bits : 32) ? fresh(row) : found[row];
        row_weights weights(of.row(row), whole[row].largest, chosen.temperature);
        if (chosen.top_k > 0 && by != cut_by::logit) weights.cut.floor = cuts[row].floor;
        const float last_weight = by == cut_by::index ? cuts[row].last_weight : 0;
        const ranking<Team> ranked(team, open, bits, counts + row * most_digits);
        ranked.add(so_far.key, [&](unsigned thread, const auto& take) {
            if (whole[row].possible()) take_tile(row, tile, thread, so_far.key, weights, last_weight, take);
        });
        if (!is_last_block(team, arrivals + row, tiles, team.template shared<std::uint32_t>())) return;
        const last_ranked now =
            ranked.next(so_far.key, [&](std::uint64_t total) { return needed(so_far.needed, total); });
        team.each([&](unsigned thread) {
            if (thread == 0) note(row, now, weights);
        });
    }

 private:
    /// Before the first digit.
    AUGUR_KERNEL last_ranked fresh(std::size_t row) const {
        return {0, by == cut_by::index ? found[row].needed : 0, 0};
    }
    AUGUR_KERNEL std::uint64_t needed(std::uint64_t before, std::uint64_t total) const {
        if (before > 0) return before;
        if (total == 0) return 1;  // of a row from which nothing can be drawn
        return by == cut_by::logit ? chosen.top_k : augur::detail::units_in_share(chosen.top_p, total);
    }

    /// What a thread has of the tile, chunk by chunk: those that cannot agree with `known` are not looked at.
    template <class Take>
    AUGUR_KERNEL void take_tile(std::size_t row, std::size_t tile, unsigned thread, std::uint32_t known,
                                const row_weights& weights, float last_weight, const Take& take) const {
        for (std::size_t i = thread / warp_size; i < chunk_tile::chunks; i += threads / warp_size) {
            const std::size_t chunk = tile * chunk_tile::chunks + i;
            if (chunk >= of.chunks()) return;
            const float head = scans[row * of.chunks() + chunk].largest;
            if (!may_hold(head, by == cut_by::index ? key_of(last_weight) : known, weights)) continue;
            const std::size_t begin = chunk * augur::detail::chunk_size;
            const std::size_t end = augur::detail::end_of_chunk(begin, of.vocabulary_size);
            for (std::size_t at = begin + thread % warp_size; at < end; at += warp_size) {
                take_one(at, weights, last_weight, take);
            }
        }
    }
    /// Whether a chunk with this largest logit may hold a key so large. The exponential keeps the order of logits up to
    /// its rounding only.
    AUGUR_KERNEL bool may_hold(float head, std::uint32_t least, const row_weights& weights) const {
        if (by == cut_by::logit) return key_of(head) >= least;
        return weights.by.sharpened(head) >= weights.cut.floor && key_of(weights.by.weight(head) * 1.00001f) >= least;
    }
    template <class Take>
    AUGUR_KERNEL void take_one(std::size_t at, const row_weights& weights, float last_weight, const Take& take) const {
        if (by == cut_by::logit) return take(key_of(weights.logits[at]), 1);
        const float weight = weights[at];
        if (by == cut_by::weight) return take(key_of(weight), augur::detail::mass_of(weight));
        if (weight == last_weight) take((1u << index_bits) - 1 - static_cast<std::uint32_t>(at), 1);
    }

    /// The last block's only thread: what is known now.
    AUGUR_KERNEL void note(std::size_t row, last_ranked now, const row_weights& weights) const {
        found[row] = now;
        if (open > bits) return;
        row_cut cut = weights.cut;
        bool more = false;
        if (by == cut_by::logit) {
            cut.floor = weights.by.sharpened(value_of(now.key));
            more = chosen.top_p < 1;
        } else if (by == cut_by::weight) {
            cut.last_weight = value_of(now.key);
            cut.last_index = ~std::uint32_t{0};
            const std::uint64_t one = augur::detail::mass_of(cut.last_weight), equals = (now.needed + one - 1) / one;
            more = equals * one < now.held;
            found[row].needed = more ? equals : 0;
        } else {
            cut.last_weight = cuts[row].last_weight;
            cut.last_index = (1u << index_bits) - 1 - now.key;
        }
        const float floor = largest_left(row, cut, weights) + chosen.log_min_p;
        if (!more && cut.floor < floor) cut.floor = floor;
        cuts[row] = whole[row].possible() ? cut : row_cut{};
    }
    /// The largest logit that stays, sharpened: the row's; but where equals of the largest weight are cut, which logits
    /// that differ may have, the largest up to the last of them.
    AUGUR_KERNEL float largest_left(std::size_t row, const row_cut& cut, const row_weights& weights) const {
        const bool cut_among_largest =
            by == cut_by::index && whole[row].possible() && cut.last_weight == weights.by.weight(whole[row].largest);
        if (!cut_among_largest) return weights.by.top;
        float largest = -std::numeric_limits<float>::infinity();
        const auto see = [&](float logit) { largest = logit > largest ? logit : largest; };
        const std::size_t chunk = cut.last_index / augur::detail::chunk_size;
        for (std::size_t i = 0; i < chunk; ++i) see(scans[row * of.chunks() + i].largest);
        for (std::size_t i = chunk * augur::detail::chunk_size; i <= cut.last_index; ++i) see(weights.logits[i]);
        return weights.by.sharpened(largest);
    }
};

/// Kernel: min-p where it is all that cuts. A thread per row.
struct cut_rows_below {
    static constexpr unsigned threads = most_threads;

    std::size_t count;
    const augur::detail::row_scan* whole;  ///< of each row
    cut_settings chosen;
    row_cut* cuts;

    std::size_t blocks() const { return (count + threads - 1) / threads; }
    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            const std::size_t row = team.block() * threads + thread;
            if (row >= count) return;
            cuts[row] = {};
            if (!whole[row].possible()) return;
            const row_weights weights(nullptr, whole[row].largest, chosen.temperature);
            cuts[row].floor = weights.by.top + chosen.log_min_p;
        });
    }
};

/// Truncates up to `most_rows` rows, as transform::pipeline has it, for temperatures above 0, and the system's memory
/// for it: 36 bytes per row, and 16 KB where tokens are ranked. Cost: three launches for top-k, five for top-p, one
/// where there is min-p alone; by many blocks a look at the row for each, but at chunks that may still hold the last
/// token after the first, and none for the last two of top-p where all its equals stay.
template <System S>
class row_cutter {
 public:
    row_cutter() = default;
    row_cutter(const S& on, const cut_settings& chosen, std::size_t most_rows) : chosen_(chosen) {
        if (!chosen.active()) return;
        cuts_ = buffer<row_cut, S>(on, most_rows);
        if (!ranks()) return;
        found_ = buffer<last_ranked, S>(on, most_rows);
        counts_ = buffer<std::uint64_t, S>(on, most_rows * most_digits);
        on.clear(counts_.data(), counts_.memory_bytes());
    }

    /// Launches, after scan_rows. Returns where the rows' cuts will be; null where nothing is cut.
    const row_cut* cut(const S& on, const rows_view& of, const augur::detail::row_scan* scans,
                       const augur::detail::row_scan* whole, std::uint32_t* arrivals) const {
        if (!chosen_.active()) return nullptr;
        if (!ranks()) {
            const cut_rows_below cut{of.count, whole, chosen_, cuts_.data()};
            on.launch(cut.blocks(), cut);
            return cuts_.data();
        }
        const auto digits = [&](cut_by by, unsigned open) {
            for (unsigned bits = 0; open > 0; open -= bits) {
                bits = open < most_digit_bits ? open : most_digit_bits;
                const cut_rows cut{of,   scans,         whole,          chosen_,  by,          open,
                                   bits, found_.data(), counts_.data(), arrivals, cuts_.data()};
                on.launch(cut.blocks(), cut);
            }
        };
        if (chosen_.top_k > 0) digits(cut_by::logit, 32);
        if (chosen_.top_p < 1) {
            digits(cut_by::weight, 32);
            digits(cut_by::index, cut_rows::index_bits);
        }
        return cuts_.data();
    }

    std::size_t memory_bytes() const { return cuts_.memory_bytes() + found_.memory_bytes() + counts_.memory_bytes(); }

 private:
    bool ranks() const { return chosen_.top_k > 0 || chosen_.top_p < 1; }

    cut_settings chosen_;
    buffer<row_cut, S> cuts_;
    buffer<last_ranked, S> found_;
    buffer<std::uint64_t, S> counts_;
};

}  // namespace augur::backend::device
