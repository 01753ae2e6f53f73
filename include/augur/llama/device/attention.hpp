#pragma once
// Attention of new rows over their sequences' caches, with a head of keys and values for each group of queries.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/llama/device/attention_task.hpp"
#include "augur/llama/device/cache.hpp"

namespace augur::llama::device {

/// A block takes a chunk of 256 positions, a key-value head and the rows of a set that see the whole chunk, of one
/// sequence, in slots that are its positions: so keys and values are read once. Rows that do not, it takes alone.
/// Columns are the query heads of its rows: `Tiles` times 8 at most. A chunk leaves its part of every column
/// (partial()); the last block of a row and key-value head to do so joins them, in the chunks' order. Positions that a
/// row does not see alone are not read. Every sum has an order that belongs to the positions: a row's bits depend on
/// its queries and on the keys and values of its positions, not on slots and other rows. Tensor cores multiply
/// Elements: queries and weights are two each, the number rounded and what that left. `Packed`: heads have a multiple
/// of eight components.
template <class Element, unsigned Tiles, bool Packed = true>
struct attend {
    static constexpr unsigned threads = cache_layout::block_positions, warps = threads / kernels::warp_size;
    static constexpr unsigned columns = 8 * Tiles, most_rows = columns;

    attention_task<Element> task;

    std::size_t shared_bytes() const { return place().end; }

    /// Blocks that rows share, for each set of rows, key-value head and chunk; then so many for each row and key-value
    /// head, which take the row's other chunks in turn.
    AUGUR_HOST_DEVICE std::size_t blocks() const {
        return shared_blocks() + (set_size() > 1 && task.count > 1 ? task.count * task.layout.heads * alone() : 0);
    }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const std::size_t heads = task.layout.heads, chunks = chunks_of(task.longest);
        const bool shared = team.block() < shared_blocks();
        const std::size_t at = team.block() - (shared ? 0 : shared_blocks()), apart = shared ? chunks : alone();
        work_type work{at / apart / heads, at / apart % heads, at % apart, place(), shared};
        if (shared) work.row *= set_size();
        for (; work.chunk < chunks; work.chunk += apart) {
            if (!shared && work.chunk * threads > static_cast<std::size_t>(task.rows[work.row].position)) return;
            if (shared || !rows_of(work).surely_shared(work.row)) attend_chunk(team, work);
        }
    }

 private:
    static constexpr unsigned score_stride = threads + 4, sum_stride = 128 + 4;
    /// What a warp asks for at once: blocks of 32 components of two times 16 keys, 128 components of 32 values.
    static constexpr unsigned depth_ahead = 4, values_ahead = 128;
    /// Blocks beyond those that are shared, about: what a large GPU runs at a time.
    static constexpr std::size_t many_blocks = 128;

    /// Where things lie in shared memory.
    struct places {
        std::size_t members, ready, high, low, scores, sums, end;
        std::size_t stride;  ///< Elements from one column of queries to the next
    };
    struct work_type {
        std::size_t row, head, chunk;  ///< the set's first row, where a block is shared
        places at;
        bool shared;
    };

    AUGUR_HOST_DEVICE std::size_t set_size() const { return columns / task.group(); }
    AUGUR_HOST_DEVICE std::size_t shared_blocks() const {
        return (task.count + set_size() - 1) / set_size() * task.layout.heads * chunks_of(task.longest);
    }
    AUGUR_HOST_DEVICE std::size_t alone() const {
        const std::size_t wanted = many_blocks / (task.count * task.layout.heads), most = chunks_of(task.longest);
        return wanted == 0 ? 1 : wanted < most ? wanted : most;
    }

    AUGUR_KERNEL chunk_rows<Element> rows_of(const work_type& work) const {
        return {task, work.row / set_size() * set_size(), work.chunk, set_size()};
    }

    template <class Team>
    AUGUR_KERNEL void attend_chunk(const Team& team, const work_type& work) const {
        std::uint32_t* const members = team.template shared<std::uint32_t>(work.at.members);
        auto* const room = team.template shared<std::uint32_t>(work.at.ready);
        const unsigned rows = rows_of(work).find(team, work.shared, work.row, room, members);
        if (rows == 0) return;
        const row_place& own = task.rows[members[0]];
        const std::size_t positions = static_cast<std::size_t>(own.position) + 1 - work.chunk * threads;
        const auto count = static_cast<unsigned>(positions < threads ? positions : threads);
        split_queries(team, work, members, rows);
        typename Team::template own<kernels::weight_fragment> values[4 * depth_ahead];
        score(team, work, own, count, values);
        const auto used = rows * static_cast<unsigned>(task.group());
        team.each_warp([&](const auto& warp) {
            float* const scores = team.template shared<float>(work.at.scores);
            for (unsigned i = warp.index(); i < used; i += warps) {
                weigh_chunk<Element>(warp, scores + i * score_stride, count, partial(work, members, i));
            }
        });
        for (std::size_t first = 0; first < task.layout.head_size; first += values_ahead) {
            if (first > 0) {
                team.each_warp([&](const auto& warp) { load_values(team, warp, work, count, first, values); });
            }
            for (unsigned tile = 0; 8 * tile < used; ++tile) mix(team, work, members, count, used, tile, first, values);
        }
        join(team, work, members, rows);
    }

    AUGUR_HOST_DEVICE places place() const {
        places at{};
        at.stride = kernels::tile_layout::padded(task.layout.head_size) + 8;
        at.members = threads * sizeof(Element*);
        at.ready = at.members + (most_rows + 4) * sizeof(std::uint32_t);
        at.high = at.ready + 2 * most_rows * sizeof(std::uint32_t);
        at.low = at.high + columns * at.stride * sizeof(Element);
        at.scores = at.low + columns * at.stride * sizeof(Element);
        at.sums = at.scores + columns * score_stride * sizeof(float);
        at.end = at.sums + warps * 8 * sum_stride * sizeof(float);
        return at;
    }

    AUGUR_KERNEL float* partial(const work_type& work, const std::uint32_t* members, unsigned column) const {
        const std::size_t group = task.group();
        return task.partial(members[column / group], work.head * group + column % group, work.chunk);
    }

    /// Columns that no row has are zero, as is what fills up heads.
    template <class Team>
    AUGUR_KERNEL void split_queries(const Team& team, const work_type& work, const std::uint32_t* members,
                                    unsigned rows) const {
        const auto group = static_cast<unsigned>(task.group());
        const std::size_t size = task.layout.head_size, depth = work.at.stride - 8;
        Element* const high = team.template shared<Element>(work.at.high);
        Element* const low = team.template shared<Element>(work.at.low);
        team.each_warp([&](const auto& warp) {
            for (unsigned column = warp.index(); column < columns; column += warps) {
                const bool is_there = column < rows * group;
                const std::size_t head = work.head * group + column % group, to = column * work.at.stride;
                const float* const from =
                    is_there ? task.queries + (members[column / group] * task.heads + head) * size : nullptr;
                warp.each_apart([&](unsigned lane) {
                    for (std::size_t k = lane; k < depth; k += kernels::warp_size) {
                        const float query = is_there && k < size ? from[k] : 0.0f;
                        high[to + k] = Element::of(query);
                        low[to + k] = rest_of<Element>(query);
                    }
                });
            }
        });
    }
    /// scores[column][position], all of a warp's 32 positions at a time; asks for the first values as well.
    template <class Team, class Values>
    AUGUR_KERNEL void score(const Team& team, const work_type& work, const row_place& own, unsigned count,
                            Values& values) const {
        const Element** const keys = team.template shared<const Element*>();
        team.each([&](unsigned thread) {
            if (thread >= count) return;
            const auto slot = own.slot_of(static_cast<std::int32_t>(work.chunk * threads + thread));
            keys[thread] =
                task.layout.template key<Element>(own.blocks, task.layer, work.head, static_cast<std::size_t>(slot));
        });
        team.each_warp([&](const auto& warp) {
            const unsigned begin = warp.index() * kernels::warp_size;
            if (begin >= count) return;
            using warp_type = std::remove_cvref_t<decltype(warp)>;
            typename warp_type::template own<kernels::sum_fragment> sums[2][Tiles];
            for (std::size_t first = 0; first < work.at.stride - 8; first += depth_ahead * 32) {
                typename warp_type::template own<kernels::weight_fragment> read[depth_ahead][4];
                AUGUR_UNROLL
                for (unsigned block = 0; block < depth_ahead; ++block) {
                    AUGUR_UNROLL
                    for (unsigned i = 0; i < 4; ++i) {
                        warp.each_apart([&](unsigned lane) {
                            const unsigned at = begin + lane / 4 + 8 * i;
                            read[block][i][lane] =
                                at < count
                                    ? eight<Packed>(keys[at], first + 32 * block + lane % 4 * 8, task.layout.head_size)
                                    : kernels::weight_fragment{};
                        });
                    }
                }
                if (first == 0) load_values(team, warp, work, count, 0, values);
                AUGUR_UNROLL
                for (unsigned block = 0; block < depth_ahead; ++block) {
                    if (first + 32 * block >= work.at.stride - 8) continue;
                    multiply_keys(team, warp, work, first + 32 * block, read[block], sums);
                }
            }
            store_scores<Tiles>(warp, team.template shared<float>(work.at.scores) + begin, score_stride, sums);
        });
    }

    template <class Team, class Warp, class Read, class Sums>
    AUGUR_KERNEL void multiply_keys(const Team& team, const Warp& warp, const work_type& work, std::size_t k,
                                    const Read& read, Sums& sums) const {
        AUGUR_UNROLL
        for (unsigned tile = 0; tile < Tiles; ++tile) {
            AUGUR_UNROLL
            for (unsigned part = 0; part < 2; ++part) {  // the rounded queries, then what that left
                const Element* const queries = team.template shared<Element>(part == 0 ? work.at.high : work.at.low);
                typename Warp::template own<kernels::input_fragment> inputs[2];
                warp.each_apart([&](unsigned lane) {
                    const auto from = *reinterpret_cast<const kernels::weight_fragment*>(
                        queries + (8 * tile + lane / 4) * work.at.stride + k + lane % 4 * 8);
                    inputs[0][lane] = {{from.words[0], from.words[1]}};
                    inputs[1][lane] = {{from.words[2], from.words[3]}};
                });
                AUGUR_UNROLL
                for (unsigned m = 0; m < 2; ++m) {
                    AUGUR_UNROLL
                    for (unsigned half = 0; half < 2; ++half) {
                        typename Warp::template own<kernels::weight_fragment> keys;
                        warp.each_apart([&](unsigned lane) {
                            const auto &upper = read[2 * m][lane].words, &lower = read[2 * m + 1][lane].words;
                            keys[lane] = {{upper[2 * half], lower[2 * half], upper[2 * half + 1], lower[2 * half + 1]}};
                        });
                        warp.template multiply_add<Element>(sums[m][tile], keys, inputs[half]);
                    }
                }
            }
        }
    }

    /// A lane's 8 components of either 64, of 4 positions of either 16.
    template <class Team, class Warp, class Values>
    AUGUR_KERNEL void load_values(const Team& team, const Warp& warp, const work_type&, unsigned count,
                                  std::size_t first, Values& values) const {
        const Element* const* const keys = team.template shared<const Element*>();
        const unsigned begin = warp.index() * kernels::warp_size;
        AUGUR_UNROLL
        for (unsigned i = 0; i < 4 * depth_ahead; ++i) {
            warp.each_apart([&](unsigned lane) {
                const unsigned at = begin + i / 4 % 2 * 16 + lane % 4 * 4 + i % 4;
                values[i][begin + lane] = at < count
                                              ? eight<Packed>(keys[at] + task.layout.keys_size(),
                                                              first + i / 8 * 64 + lane / 4 * 8, task.layout.head_size)
                                              : kernels::weight_fragment{};
            });
        }
    }

    /// The weights of eight columns times the values, of each warp's positions and then of all.
    template <class Team, class Values>
    AUGUR_KERNEL void mix(const Team& team, const work_type& work, const std::uint32_t* members, unsigned count,
                          unsigned used, unsigned tile, std::size_t first, const Values& values) const {
        float* const sums = team.template shared<float>(work.at.sums);
        const std::size_t size = task.layout.head_size;
        team.each_warp([&](const auto& warp) {
            const unsigned begin = warp.index() * kernels::warp_size;
            if (begin >= count) return;
            const float* const weights = team.template shared<float>(work.at.scores) + 8 * tile * score_stride + begin;
            multiply_values(warp, weights, size - first, values, sums + warp.index() * 8 * sum_stride);
        });
        team.each([&](unsigned thread) {
            const unsigned active = (count + kernels::warp_size - 1) / kernels::warp_size;
            for (unsigned i = thread; i < 8 * values_ahead; i += threads) {
                const unsigned column = 8 * tile + i / values_ahead, component = i % values_ahead;
                if (column >= used || first + component >= size) continue;
                float sum = 0;
                for (unsigned w = 0; w < active; ++w) sum += sums[(8 * w + i / values_ahead) * sum_stride + component];
                partial(work, members, column)[2 + first + component] = sum;
            }
        });
    }

    /// to[column][component], of the `left` components that are left of the head.
    template <class Warp, class Values>
    AUGUR_KERNEL void multiply_values(const Warp& warp, const float* weights, std::size_t left, const Values& values,
                                      float* to) const {
        const unsigned begin = warp.index() * kernels::warp_size;
        typename Warp::template own<kernels::sum_fragment> sums[8];
        AUGUR_UNROLL
        for (unsigned step = 0; step < 2; ++step) {
            typename Warp::template own<kernels::input_fragment> high, low;
            warp.each_apart([&](unsigned lane) {
                const auto& four = reinterpret_cast<const kernels::weight_fragment*>(weights + lane / 4 * score_stride +
                                                                                     16 * step + lane % 4 * 4)
                                       ->words;
                high[lane] = {{lower_halves(four[0], four[1]), lower_halves(four[2], four[3])}};
                low[lane] = {{upper_halves(four[0], four[1]), upper_halves(four[2], four[3])}};
            });
            AUGUR_UNROLL
            for (unsigned j = 0; j < 8; ++j) {
                if (j / 4 * 64 >= left) continue;
                typename Warp::template own<kernels::weight_fragment> turned;
                warp.each_apart([&](unsigned lane) {
                    const auto word = [&](unsigned i) {
                        return values[j / 4 * 8 + step * 4 + i][begin + lane].words[j % 4];
                    };
                    turned[lane] = {{lower_halves(word(0), word(1)), upper_halves(word(0), word(1)),
                                     lower_halves(word(2), word(3)), upper_halves(word(2), word(3))}};
                });
                warp.template multiply_add<Element>(sums[j], turned, high);
                warp.template multiply_add<Element>(sums[j], turned, low);
            }
        }
        warp.each_apart([&](unsigned lane) {
            AUGUR_UNROLL
            for (unsigned j = 0; j < 8; ++j) {
                AUGUR_UNROLL
                for (unsigned i = 0; i < 4; ++i) {
                    const unsigned component = j / 4 * 64 + lane / 4 * 8 + j % 4 * 2 + i / 2;
                    to[(2 * (lane % 4) + i % 2) * sum_stride + component] = sums[j][lane].values[i];
                }
            }
        });
    }
    /// Of the block's rows those whose other chunks are all there: their outputs.
    template <class Team>
    AUGUR_KERNEL void join(const Team& team, const work_type& work, const std::uint32_t* members, unsigned rows) const {
        std::uint32_t* const ready = team.template shared<std::uint32_t>(work.at.ready);
        team.each([](unsigned) { kernels::writes_are_out(); });
        team.each([&](unsigned thread) {
            if (thread >= rows) return;
            const std::size_t row = members[thread];
            ready[thread] =
                kernels::arrives_last(task.arrivals + row * task.layout.heads + work.head, task.chunks_seen(row));
        });
        const auto group = static_cast<unsigned>(task.group());
        const auto slices =
            static_cast<unsigned>((task.layout.head_size + kernels::warp_size - 1) / kernels::warp_size);
        team.each_warp([&](const auto& warp) {
            for (unsigned i = warp.index(); i < rows * group * slices; i += warps) {
                const unsigned column = i / slices;
                if (ready[column / group] == 0) continue;
                const std::size_t row = members[column / group], head = work.head * group + column % group;
                task.join_slice(warp, row, head, i % slices);
            }
        });
    }
};

/// Launches attention of the task's rows; see attend. Refuses what check_attention() does.
template <class Element, kernels::System S>
void attend_all(const S& on, const attention_task<Element>& task) {
    check_attention(task.layout, task.heads);
    const auto launch = [&](const auto& kernel) { on.launch(kernel.blocks(), kernel); };
    const std::size_t columns = task.count * task.group();
    if (task.layout.head_size % 8 != 0) return launch(attend<Element, 4, false>{task});
    if (columns <= 8) return launch(attend<Element, 1>{task});
    if (columns <= 16) return launch(attend<Element, 2>{task});
    launch(attend<Element, 4>{task});
}

}  // namespace augur::llama::device
