#pragma once
// Top-k, top-p and min-p of rows in a system's memory: each row's cut found by one block, without sorting.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/backend/device/ranking.hpp"
#include "augur/backend/device/row_weights.hpp"
#include "augur/backend/device/scan_rows.hpp"
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

/// Kernel: what stays of each row, as transform::pipeline has it, for temperatures above 0. A block per row, after
/// scan_rows. Cost: for top-k, passes over the few chunks that may hold the k largest; for top-p one over the row,
/// seven over what is left of it digit by digit, and at ties with the last token eight more over the chunks that may
/// hold its equals.
struct cut_rows {
    static constexpr unsigned threads = most_threads;

    rows_view of;
    const augur::detail::row_scan* scans;
    cut_settings chosen;
    row_cut* cuts;  ///< of each row; where nothing can be drawn, nothing is cut

    std::size_t blocks() const { return of.count; }
    static constexpr std::size_t shared_bytes() { return ranking_shared_bytes; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t row = team.block();
        const augur::detail::row_scan* const heads = scans + row * of.chunks();
        const augur::detail::row_scan seen = whole_scan(team, heads, of.chunks());
        row_weights weights(of.row(row), seen.largest, chosen.temperature);
        if (seen.possible()) {
            const ranking<Team> ranked(team);
            if (chosen.top_k > 0) weights.cut.floor = weights.by.sharpened(kth_largest(ranked, weights.logits, heads));
            if (chosen.top_p < 1) cut_to_nucleus(ranked, weights, heads);
            const float floor = weights.by.top + chosen.log_min_p;
            if (weights.cut.floor < floor) weights.cut.floor = floor;
        }
        team.each([&](unsigned thread) {
            if (thread == 0) cuts[row] = weights.cut;
        });
    }

 private:
    /// body(index) for each index of a thread in chunks that are wanted(chunk): each warp takes chunks of its own, so
    /// that the others need not be asked about.
    template <class Wanted, class Body>
    AUGUR_KERNEL void each_index(unsigned thread, const Wanted& wanted, const Body& body) const {
        for (std::size_t chunk = thread / warp_size; chunk < of.chunks(); chunk += threads / warp_size) {
            if (!wanted(chunk)) continue;
            const std::size_t begin = chunk * augur::detail::chunk_size;
            const std::size_t end = augur::detail::end_of_chunk(begin, of.vocabulary_size);
            for (std::size_t i = begin + thread % warp_size; i < end; i += warp_size) body(i);
        }
    }

    /// The k-th largest of the chunks' largest is exceeded by no more than belongs to k chunks.
    template <class Team>
    AUGUR_KERNEL float kth_largest(const ranking<Team>& ranked, const float* logits,
                                   const augur::detail::row_scan* heads) const {
        const auto needed = [this](std::uint64_t) { return chosen.top_k; };
        const auto each_head = [&](unsigned thread, std::uint32_t, const auto& take) {
            for (std::size_t chunk = thread; chunk < of.chunks(); chunk += threads) {
                take(key_of(heads[chunk].largest), 1);
            }
        };
        const std::uint32_t bound = ranked.last_of(each_head, needed).key;  // 0 where there are fewer than k
        const auto each_logit = [&](unsigned thread, std::uint32_t least, const auto& take) {
            const std::uint32_t from = least < bound ? bound : least;
            each_index(
                thread, [&](std::size_t chunk) { return key_of(heads[chunk].largest) >= from; },
                [&](std::size_t i) { take(key_of(logits[i]), 1); });
        };
        return value_of(ranked.last_of(each_logit, needed).key);
    }

    /// Of what is not below the floor. The exponential keeps the order of logits up to its rounding only.
    template <class Team>
    AUGUR_KERNEL void cut_to_nucleus(const ranking<Team>& ranked, row_weights& weights,
                                     const augur::detail::row_scan* heads) const {
        const auto may_hold = [&](std::size_t chunk, std::uint32_t least) {
            const float head = heads[chunk].largest;
            return weights.by.sharpened(head) >= weights.cut.floor &&
                   key_of(weights.by.weight(head) * 1.00001f) >= least;
        };
        const auto each_weight = [&](unsigned thread, std::uint32_t least, const auto& take) {
            each_index(
                thread, [&](std::size_t chunk) { return may_hold(chunk, least); },
                [&](std::size_t i) { take(key_of(weights[i]), augur::detail::mass_of(weights[i])); });
        };
        const last_ranked last = ranked.last_of(
            each_weight, [this](std::uint64_t total) { return augur::detail::units_in_share(chosen.top_p, total); });
        const float weight = value_of(last.key);
        const std::uint64_t one = augur::detail::mass_of(weight), equals = (last.needed + one - 1) / one;
        std::uint32_t index = ~std::uint32_t{0};
        if (equals * one < last.held) {
            const auto each_equal = [&](unsigned thread, std::uint32_t, const auto& take) {
                each_index(
                    thread, [&](std::size_t chunk) { return may_hold(chunk, last.key); },
                    [&](std::size_t i) {
                        if (weights[i] == weight) take(~static_cast<std::uint32_t>(i), 1);
                    });
            };
            index = ~ranked.last_of(each_equal, [=](std::uint64_t) { return equals; }).key;
        }
        weights.cut.last_weight = weight;
        weights.cut.last_index = index;
    }
};

}  // namespace augur::backend::device
