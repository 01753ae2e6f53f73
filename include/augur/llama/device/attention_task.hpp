#pragma once
// What attention on a device is asked for, and what its blocks leave for one another.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/team.hpp"
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
    /// That the row has positions in.
    AUGUR_KERNEL std::uint32_t chunks_seen(std::size_t row) const {
        return static_cast<std::uint32_t>(static_cast<std::size_t>(rows[row].position) / cache_layout::block_positions +
                                          1);
    }
    /// A component of a row's output, from all its chunks, joined in their order. Some are asked for before the first
    /// is used: what they take is the memory's latency.
    AUGUR_KERNEL void join_chunks(std::size_t row, std::size_t head, std::size_t component) const {
        constexpr unsigned ahead = 8;
        const std::size_t chunks = chunks_seen(row);
        float largest = -std::numeric_limits<float>::infinity(), sum = 0, mixed = 0;
        for (std::size_t first = 0; first < chunks; first += ahead) {
            float tops[ahead], sums[ahead], parts[ahead];
            AUGUR_UNROLL
            for (unsigned i = 0; i < ahead; ++i) {
                const float* const part = partial(row, head, first + i < chunks ? first + i : chunks - 1);
                tops[i] = kernels::load_near(part);
                sums[i] = kernels::load_near(part + 1);
                parts[i] = kernels::load_near(part + 2 + component);
            }
            AUGUR_UNROLL
            for (unsigned i = 0; i < ahead; ++i) {
                if (first + i >= chunks) continue;
                const float both = largest < tops[i] ? tops[i] : largest;
                const float before = std::exp(largest - both), now = std::exp(tops[i] - both);
                sum = sum * before + sums[i] * now;
                mixed = mixed * before + parts[i] * now;
                largest = both;
            }
        }
        out[row * stride + head * layout.head_size + component] = Element::of(mixed / sum);
    }
    /// The same of 32 components, number `slice` of these, by a warp.
    template <class Warp>
    AUGUR_KERNEL void join_slice(const Warp& warp, std::size_t row, std::size_t head, std::size_t slice) const {
        warp.each_apart([&](unsigned lane) {
            const std::size_t component = slice * kernels::warp_size + lane;
            if (component < layout.head_size) join_chunks(row, head, component);
        });
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

/// Whether the row sees all of the chunk, in slots that are its positions.
AUGUR_KERNEL inline bool sees_all(const row_place& of, std::size_t chunk) {
    const std::int32_t end = of.path == nullptr ? of.position + 1 : of.base;
    return static_cast<std::size_t>(end) >= (chunk + 1) * cache_layout::block_positions;
}

/// Which rows of a set a block takes in a chunk. A shared block has the first that sees the whole chunk and those of
/// the same sequence that do; or else the first that sees of it. Another has its own row, unless that is among those.
template <class Element>
struct chunk_rows {
    const attention_task<Element>& task;
    std::size_t first, chunk;  ///< of the set's rows
    std::size_t size;          ///< of the set

    /// Writes them to members[0] and so on, and how many there are to members[size], which it returns. `room` is for
    /// two words for each row of a set.
    template <class Team>
    AUGUR_KERNEL unsigned find(const Team& team, bool shared, std::size_t own, std::uint32_t* room,
                               std::uint32_t* members) const {
        const auto most = static_cast<unsigned>(size);
        std::uint32_t* const sees = room + most;
        team.each([&](unsigned thread) {
            if (thread < most) sees[thread] = seen_by(first + thread);
        });
        team.each([&](unsigned thread) {
            if (thread < most) room[thread] = is_shared(thread, sees) ? 1 : 0;
        });
        team.each([&](unsigned thread) {
            if (thread >= most) return;
            const auto row = static_cast<std::uint32_t>(first + thread);
            if (!shared) {
                if (row != own) return;
                members[0] = row;
                members[most] = 1 - room[thread];
                return;
            }
            std::uint32_t before = 0;
            for (unsigned i = 0; i < thread; ++i) before += room[i];
            if (room[thread] != 0) members[before] = row;
            if (thread + 1 == most) members[most] = before + room[thread];
        });
        return members[most];
    }

    /// Without looking at others in turn: where all rows of the set are of one sequence.
    AUGUR_KERNEL bool surely_shared(std::size_t own) const {
        bool same = sees_all(task.rows[own], chunk);
        for (std::size_t i = first; i < task.count && i < first + size; ++i) {
            same = same && task.rows[i].blocks == task.rows[own].blocks;
        }
        return same;
    }

 private:
    /// 0: nothing of the chunk, 2: all of it.
    AUGUR_KERNEL std::uint32_t seen_by(std::size_t row) const {
        if (row >= task.count) return 0;
        if (chunk * cache_layout::block_positions > static_cast<std::size_t>(task.rows[row].position)) return 0;
        return sees_all(task.rows[row], chunk) ? 2 : 1;
    }
    AUGUR_KERNEL bool is_shared(unsigned thread, const std::uint32_t* sees) const {
        unsigned whole = 0, any = 0;
        while (whole < size && sees[whole] != 2) ++whole;
        while (any < size && sees[any] == 0) ++any;
        if (whole == size) return thread == any;
        return sees[thread] == 2 && task.rows[first + thread].blocks == task.rows[first + whole].blocks;
    }
};

/// What rounding to an Element leaves.
template <class Element>
AUGUR_KERNEL Element rest_of(float number) {
    return Element::of(number - Element::of(number).value());
}

/// Eight of a head's components from `first` on; what is beyond its size is zero. `Packed`: the size is in eights.
template <bool Packed, class Element>
AUGUR_KERNEL kernels::weight_fragment eight(const Element* from, std::size_t first, std::size_t size) {
    kernels::weight_fragment read{};
    if constexpr (Packed) {
        if (first < size) read = kernels::load_near(reinterpret_cast<const kernels::weight_fragment*>(from + first));
    } else {
        for (unsigned k = 0; k < 8; ++k) {
            if (first + k < size) {
                read.words[k / 2] |= static_cast<std::uint32_t>(from[first + k].bits) << k % 2 * 16;
            }
        }
    }
    return read;
}

/// Of two words, as one.
AUGUR_KERNEL inline std::uint32_t lower_halves(std::uint32_t a, std::uint32_t b) {
    return (a & 0xffffu) | b << 16;
}
AUGUR_KERNEL inline std::uint32_t upper_halves(std::uint32_t a, std::uint32_t b) {
    return a >> 16 | (b & 0xffff0000u);
}

/// Makes weights of a chunk's scores, of which there are `count`: each as two Elements in a word. Leaves the largest
/// score, and the sum of the weights.
template <class Element, class Warp>
AUGUR_KERNEL void weigh_chunk(const Warp& warp, float* scores, unsigned count, float* to) {
    typename Warp::template own<float> largest, sum;
    const auto larger = [](float a, float b) { return a < b ? b : a; };
    warp.each_apart([&](unsigned lane) {
        largest[lane] = -std::numeric_limits<float>::infinity();
        for (unsigned i = lane; i < count; i += kernels::warp_size) largest[lane] = larger(largest[lane], scores[i]);
    });
    warp.combine(largest, larger);
    warp.each_apart([&](unsigned lane) {
        for (unsigned i = lane; i < cache_layout::block_positions; i += kernels::warp_size) {
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

/// Scores of 32 positions in columns of so many floats, from sums of twice 16 positions by `Tiles` times 8 columns.
template <unsigned Tiles, class Warp, class Sums>
AUGUR_KERNEL void store_scores(const Warp& warp, float* scores, unsigned stride, const Sums& sums) {
    warp.each_apart([&](unsigned lane) {
        AUGUR_UNROLL
        for (unsigned tile = 0; tile < Tiles; ++tile) {
            AUGUR_UNROLL
            for (unsigned i = 0; i < 8; ++i) {
                const unsigned column = 8 * tile + 2 * (lane % 4) + i % 2;
                scores[column * stride + lane / 4 + i / 2 * 8] = sums[i / 4][tile][lane].values[i % 4];
            }
        }
    });
}

}  // namespace augur::llama::device
