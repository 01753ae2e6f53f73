#pragma once
// Attention of new rows over their sequences' caches, with a head of keys and values for each group of queries.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
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
    std::size_t heads;     ///< of queries
    const float* queries;  ///< rows x heads x head_size, turned and scaled
    float* scratch;        ///< scratch_floats(...)
    Element* out;          ///< of each row heads x head_size
    std::size_t stride;    ///< Elements from one row of `out` to the next

    AUGUR_HOST_DEVICE std::size_t group() const { return heads / layout.heads; }
    /// What a chunk leaves: its largest score, the sum of its weights e^(score - largest), and its values times their
    /// weights.
    AUGUR_KERNEL float* partial(std::size_t row, std::size_t head, std::size_t chunk) const {
        return scratch + ((row * heads + head) * chunks_of(longest) + chunk) * (layout.head_size + 2);
    }
};

/// Floats that attend_all() works with, for `rows` rows of which none sees more than `longest` positions.
inline std::size_t scratch_floats(std::size_t rows, std::size_t heads, std::size_t head_size, std::size_t longest) {
    return rows * heads * chunks_of(longest) * (head_size + 2);
}

/// A block for each row, key-value head and chunk of 256 positions: leaves the chunk's part of every query head of the
/// group. Positions that a row does not see are not read. A chunk's sums take its positions in an order that is always
/// the same: a row's bits depend on its queries and on the keys and values of its positions, not on slots and other
/// rows. `Most` heads at most are in a group.
template <class Element, unsigned Most>
struct attend {
    static constexpr unsigned threads = cache_layout::block_positions;
    /// Values that a thread asks for before it adds them up.
    static constexpr unsigned ahead = 16;

    attention_task<Element> task;

    /// Keys' addresses and scores by thread, and the group's queries.
    std::size_t shared_bytes() const {
        return threads * sizeof(Element*) + task.group() * (threads + task.layout.head_size) * sizeof(float);
    }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t chunks = chunks_of(task.longest), chunk = team.block() % chunks, at = team.block() / chunks;
        const std::size_t row = at / task.layout.heads, head = at % task.layout.heads;
        const row_place& place = task.rows[row];
        const auto positions = static_cast<std::size_t>(place.position) + 1, start = chunk * threads;
        if (start >= positions) return;
        const auto count = static_cast<unsigned>(positions - start < threads ? positions - start : threads);
        const std::size_t group = task.group(), size = task.layout.head_size;
        const Element** const keys = team.template shared<const Element*>();
        float* const scores = team.template shared<float>(threads * sizeof(Element*));
        float* const queries = scores + group * threads;
        team.each([&](unsigned thread) {
            const float* const from = task.queries + (row * task.heads + head * group) * size;
            for (std::size_t i = thread; i < group * size; i += threads) queries[i] = from[i];
        });
        team.each([&](unsigned thread) {
            if (thread >= count) return;
            const auto slot = static_cast<std::size_t>(place.slot_of(static_cast<std::int32_t>(start + thread)));
            keys[thread] = task.layout.template key<Element>(place.blocks, task.layer, head, slot);
            if (size % 8 == 0) return score<8>(keys[thread], queries, scores + thread);
            score<1>(keys[thread], queries, scores + thread);
        });
        team.each_warp([&](const auto& warp) {
            for (std::size_t i = warp.index(); i < group; i += threads / kernels::warp_size) {
                weigh(warp, scores + i * threads, count, task.partial(row, head * group + i, chunk));
            }
        });
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < group * size; i += threads) {
                const std::size_t member = i / size, component = i % size;
                task.partial(row, head * group + member, chunk)[2 + component] =
                    mix(keys, scores + member * threads, count, task.layout.keys_size() + component);
            }
        });
    }

 private:
    /// Elements that are read at once.
    template <unsigned Width>
    struct alignas(Width * sizeof(Element)) pack {
        Element numbers[Width];
    };

    /// scores[i * threads] = query i times the key, component after component.
    template <unsigned Width>
    AUGUR_KERNEL void score(const Element* key, const float* queries, float* scores) const {
        const std::size_t group = task.group(), size = task.layout.head_size;
        float sums[Most] = {};
        for (std::size_t first = 0; first < size; first += Width) {
            const pack<Width> read = *reinterpret_cast<const pack<Width>*>(key + first);
            AUGUR_UNROLL
            for (unsigned k = 0; k < Width; ++k) {
                const float component = read.numbers[k].value();
                AUGUR_UNROLL
                for (unsigned i = 0; i < Most; ++i) {
                    if (i < group) sums[i] += queries[i * size + first + k] * component;
                }
            }
        }
        AUGUR_UNROLL
        for (unsigned i = 0; i < Most; ++i) {
            if (i < group) scores[i * threads] = sums[i];
        }
    }

    /// Makes weights of scores; leaves their largest and their sum.
    template <class Warp>
    AUGUR_KERNEL void weigh(const Warp& warp, float* scores, unsigned count, float* partial) const {
        typename Warp::template own<float> largest, sum;
        const auto larger = [](float a, float b) { return a < b ? b : a; };
        warp.each_apart([&](unsigned lane) {
            largest[lane] = -std::numeric_limits<float>::infinity();
            for (unsigned i = lane; i < count; i += kernels::warp_size)
                largest[lane] = larger(largest[lane], scores[i]);
        });
        warp.combine(largest, larger);
        warp.each_apart([&](unsigned lane) {
            for (unsigned i = lane; i < count; i += kernels::warp_size) {
                scores[i] = std::exp(scores[i] - largest[lane]);
                sum[lane] += scores[i];
            }
        });
        warp.combine(sum, [](float a, float b) { return a + b; });
        warp.each([&](unsigned lane) {
            if (lane != 0) return;
            partial[0] = largest[lane];
            partial[1] = sum[lane];
        });
    }

    /// The weights times what lies `offset` behind the keys, position after position.
    AUGUR_KERNEL float mix(const Element* const* keys, const float* weights, unsigned count, std::size_t offset) const {
        float sum = 0;
        for (unsigned first = 0; first < count; first += ahead) {
            Element read[ahead];
            AUGUR_UNROLL
            for (unsigned i = 0; i < ahead; ++i) {
                if (first + i < count) read[i] = keys[first + i][offset];
            }
            AUGUR_UNROLL
            for (unsigned i = 0; i < ahead; ++i) {
                if (first + i < count) sum += weights[first + i] * read[i].value();
            }
        }
        return sum;
    }
};

/// A block for each row and head: joins the chunks in their order and writes the head's output.
template <class Element>
struct join_chunks {
    static constexpr unsigned threads = 128;

    attention_task<Element> task;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t row = team.block() / task.heads, head = team.block() % task.heads;
        const std::size_t last = static_cast<std::size_t>(task.rows[row].position) / cache_layout::block_positions;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < task.layout.head_size; i += threads) {
                float largest = -std::numeric_limits<float>::infinity(), sum = 0, mixed = 0;
                for (std::size_t chunk = 0; chunk <= last; ++chunk) {
                    const float* const part = task.partial(row, head, chunk);
                    const float both = largest < part[0] ? part[0] : largest;
                    const float before = std::exp(largest - both), now = std::exp(part[0] - both);
                    sum = sum * before + part[1] * now;
                    mixed = mixed * before + part[2 + i] * now;
                    largest = both;
                }
                task.out[row * task.stride + head * task.layout.head_size + i] = Element::of(mixed / sum);
            }
        });
    }
};

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

/// Launches attention of the task's rows; see attend and join_chunks. Refuses what check_attention() does.
template <class Element, kernels::System S>
void attend_all(const S& on, const attention_task<Element>& task) {
    check_attention(task.layout, task.heads);
    const std::size_t blocks = task.count * task.layout.heads * chunks_of(task.longest);
    if (task.group() <= 4) {
        on.launch(blocks, attend<Element, 4>{task});
    } else {
        on.launch(blocks, attend<Element, most_group>{task});
    }
    on.launch(task.count * task.heads, join_chunks<Element>{task});
}

}  // namespace augur::llama::device
