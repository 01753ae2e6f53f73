#pragma once
// The arguments of attention on a device, and the partial results that its blocks exchange.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/llama/device/attention_fragments.hpp"
#include "augur/llama/device/attention_rule.hpp"
#include "augur/llama/device/cache.hpp"
#include "augur/llama/device/rows.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::device {

/// The most heads that may share keys and values, and the most components of a head.
inline constexpr std::size_t most_group = 16, most_head_size = 256;

/// Of 256 positions each.
AUGUR_HOST_DEVICE inline std::size_t chunks_of(std::size_t positions) {
    return (positions + cache_layout::block_positions - 1) / cache_layout::block_positions;
}

/// Rows to be attended in one layer. Pointers are into the system's memory.
template <class Element>
struct attention_task {
    const row_place* rows;
    std::size_t count;    ///< of rows
    std::size_t longest;  ///< no row sees more positions; a row sees its own and those before it
    cache_layout layout;
    std::size_t layer;
    std::size_t heads;        ///< of queries
    const float* queries;     ///< rows x heads x head_size, turned and scaled
    float* scratch;           ///< scratch_floats(...)
    Element* out;             ///< of each row heads x head_size
    std::size_t stride;       ///< Elements from one row of `out` to the next
    std::uint32_t* arrivals;  ///< rows x key-value heads; zero before the launch, and after it

    AUGUR_HOST_DEVICE std::size_t group() const { return heads / layout.heads; }
    /// What a chunk leaves: its largest score, the sum of its weights e^(score - largest), and its values times their
    /// weights.
    AUGUR_KERNEL float* partial(std::size_t row, std::size_t head, std::size_t chunk) const {
        return scratch + ((row * heads + head) * chunks_of(longest) + chunk) * (layout.head_size + 2);
    }
    /// Those before the row's end.
    AUGUR_KERNEL std::uint32_t chunks_seen(std::size_t row) const {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(rows[row].position) / cache_layout::block_positions +
                                          1);
    }
    /// A row's output for a head, by a warp: from its chunks from `begin` on, joined in their order. A lane has up to
    /// four components at a time, and asks for those of some chunks before it needs the first: what that takes is the
    /// memory's latency.
    template <class Warp>
    AUGUR_KERNEL void join_chunks(const Warp& warp, std::size_t row, std::size_t head, unsigned begin) const {
        constexpr unsigned at_once = 4, stretch = at_once * kernels::warp_size;
        for (unsigned first = 0; first < layout.head_size; first += stretch) {
            warp.each_apart([&](unsigned lane) { join_components<at_once>(row, head, begin, first + lane); });
        }
    }

 private:
    /// Components `first`, `first` + 32 and so on, as far as there are.
    template <unsigned Components>
    AUGUR_KERNEL void join_components(std::size_t row, std::size_t head, unsigned begin, unsigned first) const {
        constexpr unsigned ahead = 8;
        const auto size = static_cast<unsigned>(layout.head_size), last = chunks_seen(row) - 1;
        const float* const parts = partial(row, head, 0);
        float largest = -std::numeric_limits<float>::infinity(), sum = 0, mixed[Components]{};
        for (unsigned chunk = begin; chunk <= last; chunk += ahead) {
            float tops[ahead], sums[ahead], read[ahead][Components];
            AUGUR_UNROLL
            for (unsigned i = 0; i < ahead; ++i) {
                const float* const part = parts + (chunk + i < last ? chunk + i : last) * std::size_t{size + 2};
                tops[i] = kernels::load_near(part);
                sums[i] = kernels::load_near(part + 1);
                AUGUR_UNROLL
                for (unsigned c = 0; c < Components; ++c) {
                    const unsigned component = first + c * kernels::warp_size;
                    read[i][c] = kernels::load_near(part + 2 + (component < size ? component : 0));
                }
            }
            AUGUR_UNROLL
            for (unsigned i = 0; i < ahead; ++i) {
                if (chunk + i > last) continue;
                const float both = largest < tops[i] ? tops[i] : largest;
                const float before = std::exp(largest - both), now = std::exp(tops[i] - both);
                sum = sum * before + sums[i] * now;
                AUGUR_UNROLL
                for (unsigned c = 0; c < Components; ++c) mixed[c] = mixed[c] * before + read[i][c] * now;
                largest = both;
            }
        }
        AUGUR_UNROLL
        for (unsigned c = 0; c < Components; ++c) {
            const unsigned component = first + c * kernels::warp_size;
            if (component < size) out[row * stride + head * size + component] = Element::of(mixed[c] / sum);
        }
    }
};

/// Floats that attend_all() works with, for `rows` rows of which none sees more than `longest` positions.
inline std::size_t scratch_floats(std::size_t rows, std::size_t heads, std::size_t head_size, std::size_t longest) {
    return rows * heads * chunks_of(longest) * (head_size + 2);
}

/// Throws unless so many heads of queries can attend to such a cache.
inline void check_attention(const cache_layout& layout, std::size_t heads) {
    if (layout.heads == 0 || heads == 0 || heads % layout.heads != 0) {
        augur::detail::fail(heads, " heads cannot share ", layout.heads, " key-value heads equally");
    }
    if (heads / layout.heads > most_group) {
        augur::detail::fail("attention on a device has 1 to ", most_group, " heads to a key-value head, not ",
                            heads / layout.heads);
    }
    if (layout.head_size == 0 || layout.head_size > most_head_size) {
        augur::detail::fail("attention on a device has heads of size 1 to ", most_head_size, ", not ",
                            layout.head_size);
    }
}

/// How many chunks the row sees all of, in slots that are their positions.
AUGUR_KERNEL inline std::size_t chunks_seen_whole(const row_place& of) {
    const std::int32_t end = of.path == nullptr ? of.position + 1 : of.base;
    return static_cast<std::size_t>(end) / cache_layout::block_positions;
}

/// Which rows of a set a block takes in a chunk. A shared block has the first that sees the whole chunk and those of
/// the same sequence that do; or else the first that sees of it. Another has its own row, unless that is among those.
template <class Element, class Rule>
struct chunk_rows {
    const attention_task<Element>& task;
    std::size_t first, chunk;  ///< of the set's rows
    std::size_t size;          ///< of the set
    Rule rule;

    /// Writes them to members[0] and so on, and how many there are to members[size], which it returns. `room` is for
    /// two words for each row of a set, `caches` for a pointer.
    template <class Team>
    AUGUR_KERNEL unsigned find(const Team& team, bool shared, std::size_t own, std::uint32_t* workspace,
                               const std::byte* const** caches, std::uint32_t* members) const {
        const auto most = static_cast<unsigned>(size);
        std::uint32_t* const sees = workspace + most;
        team.each([&](unsigned thread) {
            if (thread >= most) return;
            sees[thread] = 0;
            if (first + thread >= task.count) return;
            const row_place& row = task.rows[first + thread];
            caches[thread] = row.blocks;
            sees[thread] = seen_by(row);
        });
        team.each([&](unsigned thread) {
            if (thread < most) workspace[thread] = is_shared(thread, sees, caches) ? 1 : 0;
        });
        team.each([&](unsigned thread) {
            if (thread >= most) return;
            const auto row = static_cast<std::uint32_t>(first + thread);
            if (!shared) {
                if (row != own) return;
                members[0] = row;
                members[most] = 1 - workspace[thread];
                return;
            }
            std::uint32_t before = 0;
            for (unsigned i = 0; i < thread; ++i) before += workspace[i];
            if (workspace[thread] != 0) members[before] = row;
            if (thread + 1 == most) members[most] = before + workspace[thread];
        });
        return members[most];
    }

    /// How many chunks from the first on the row surely shares, or does not see: it shares those that it sees whole,
    /// where all rows of the set are of one sequence.
    AUGUR_KERNEL std::size_t surely_shared(std::size_t own) const {
        const row_place& row = task.rows[own];
        bool same = true;
        for (std::size_t i = first; i < task.count && i < first + size; ++i) same &= task.rows[i].blocks == row.blocks;
        if (!Rule::is_plain && (!same || chunks_seen_whole(row) < rule.first_chunk(row))) return rule.first_chunk(row);
        return same ? chunks_seen_whole(row) : 0;
    }

 private:
    /// 0: nothing of the chunk, 2: all of it.
    AUGUR_KERNEL std::uint32_t seen_by(const row_place& row) const {
        if (chunk * cache_layout::block_positions > static_cast<std::size_t>(row.position)) return 0;
        if (!Rule::is_plain && chunk < rule.first_chunk(row)) return 0;
        return chunk < chunks_seen_whole(row) ? 2 : 1;
    }
    AUGUR_KERNEL bool is_shared(unsigned thread, const std::uint32_t* sees, const std::byte* const** caches) const {
        unsigned whole = 0, any = 0;
        while (whole < size && sees[whole] != 2) ++whole;
        while (any < size && sees[any] == 0) ++any;
        if (whole == size) return thread == any;
        return sees[thread] == 2 && caches[thread] == caches[whole];
    }
};

/// Makes weights of a chunk's scores, of which there are `count`: each as two Elements in a word. Leaves the largest
/// score, and the sum of the weights.
template <class Element, class Warp>
AUGUR_KERNEL void weigh_chunk(const Warp& warp, float* scores, unsigned count, float* to) {
    constexpr unsigned turns = cache_layout::block_positions / kernels::warp_size;
    typename Warp::template own<float> largest, sum;
    const auto larger = [](float a, float b) { return a < b ? b : a; };
    warp.each_apart([&](unsigned lane) {
        largest[lane] = -std::numeric_limits<float>::infinity();
        AUGUR_UNROLL
        for (unsigned turn = 0; turn < turns; ++turn) {
            const unsigned i = turn * kernels::warp_size + lane;
            if (i < count) largest[lane] = larger(largest[lane], scores[i]);
        }
    });
    warp.combine(largest, larger);
    warp.each_apart([&](unsigned lane) {
        AUGUR_UNROLL
        for (unsigned turn = 0; turn < turns; ++turn) {
            const unsigned i = turn * kernels::warp_size + lane;
            const float weight = i < count ? std::exp(scores[i] - largest[lane]) : 0.0f;
            const Element high = Element::of(weight), low = rest_of<Element>(weight);
            if (i < count) sum[lane] += high.value() + low.value();
            scores[i] = kernels::float_of(kernels::pair_of(high, low));
        }
    });
    warp.combine(sum, [](float a, float b) { return a + b; });
    warp.each([&](unsigned lane) {
        if (lane != 0) return;
        to[0] = largest[lane];
        to[1] = sum[lane];
    });
}

}  // namespace augur::llama::device
