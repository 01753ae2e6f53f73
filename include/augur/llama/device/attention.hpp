#pragma once
// Attention (GQA) of new rows over their sequences' key-value caches on a device.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/llama/device/attention_fragments.hpp"
#include "augur/llama/device/attention_task.hpp"
#include "augur/llama/device/cache.hpp"

namespace augur::llama::device {

/// A block takes a chunk of 256 positions, a key-value head and the rows of a set that see the whole chunk, of one
/// sequence, in slots that are its positions: so keys and values are read once. Rows that do not, it takes alone.
/// Columns are the query heads of its rows: `Tiles` times 8 at most. A chunk leaves its part of every column
/// (partial()); the last block of a row and key-value head to do so joins them, in the chunks' order. Positions that a
/// row does not see alone are not read. Every sum has an order that belongs to the positions: a row's bits depend on
/// its queries and on the keys and values of its positions, not on slots, other rows and `Tiles`. Tensor cores multiply
/// Elements: queries and weights are two each, the number rounded and what that left. `Packed`: heads have a multiple
/// of eight components.
template <class Element, unsigned Tiles, bool Packed = true, class Rule = every_score>
struct attend {
    static constexpr unsigned threads = cache_layout::block_positions, warps = threads / kernels::warp_size;
    static constexpr unsigned columns = 8 * Tiles, most_rows = columns;
    static constexpr unsigned blocks_at_once = 2;

    attention_task<Element> task;

    explicit attend(const attention_task<Element>& asked, const Rule& rule = {})
        : task(asked),
          heads_(narrow(task.layout.heads)),
          group_(narrow(task.group())),
          chunks_(narrow(chunks_of(task.longest))),
          set_(columns / group_),
          shared_((narrow(task.count) + set_ - 1) / set_ * heads_ * chunks_),
          alone_(std::clamp(many_blocks / std::max(1u, narrow(task.count) * heads_), 1u, std::max(1u, chunks_))),
          rule_(rule) {}

    std::size_t shared_bytes() const { return place().end; }

    /// Blocks that rows share, for each set of rows, key-value head and chunk; then so many for each row and key-value
    /// head, which take the row's other chunks in turn.
    std::size_t blocks() const {
        return shared_ + (set_ > 1 && task.count > 1 ? task.count * task.layout.heads * alone_ : 0);
    }

    /// Whether all these blocks run at the same time, about, on a large GPU.
    bool runs_at_once() const { return blocks() <= many_blocks; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        const auto block = static_cast<unsigned>(team.block());
        const bool shared = block < shared_;
        const unsigned at = block - (shared ? 0 : shared_), apart = shared ? chunks_ : alone_;
        work_type work{at / apart / heads_, at / apart % heads_, at % apart, place(), shared};
        if (shared) work.row *= set_;
        const std::size_t first = shared ? 0 : rows_of(work).surely_shared(work.row);
        for (; work.chunk < chunks_; work.chunk += apart) {
            if (!shared && work.chunk * threads > static_cast<unsigned>(task.rows[work.row].position)) return;
            if (work.chunk >= first) attend_chunk(team, work);
        }
    }

 private:
    static constexpr unsigned score_stride = threads + 4, sum_stride = 128 + 4;
    /// What a warp asks for at once: blocks of 32 components of two times 16 keys, 128 components of 32 values.
    static constexpr unsigned depth_ahead = 4, values_ahead = 128;
    /// What a large GPU runs at a time, about.
    static constexpr unsigned many_blocks = 256;

    /// Where things lie in shared memory.
    struct places {
        unsigned parts, members, ready, high, low, scores, sums, end;
        unsigned stride;  ///< Elements from one column of queries to the next
    };
    struct work_type {
        unsigned row, head, chunk;  ///< the set's first row, where a block is shared
        places at;
        bool shared;
    };
    template <class Team>
    using fragments = typename Team::template own<kernels::weight_fragment>;

    static AUGUR_KERNEL unsigned least(unsigned a, unsigned b) { return b < a ? b : a; }
    static unsigned narrow(std::size_t number) { return static_cast<unsigned>(number); }

    AUGUR_KERNEL chunk_rows<Element, Rule> rows_of(const work_type& work) const {
        return {task, work.row / set_ * set_, work.chunk, set_, rule_};
    }

    template <class Team>
    AUGUR_KERNEL void attend_chunk(const Team& team, const work_type& work) const {
        std::uint32_t* const members = team.template shared<std::uint32_t>(work.at.members);
        auto* const workspace = team.template shared<std::uint32_t>(work.at.ready);
        auto* const caches = team.template shared<const std::byte* const*>(work.at.parts);
        const unsigned rows = rows_of(work).find(team, work.shared, work.row, workspace, caches, members);
        if (rows == 0) return;
        const row_place& own = task.rows[members[0]];
        const unsigned positions = static_cast<unsigned>(own.position) + 1 - work.chunk * threads;
        const unsigned count = positions < threads ? positions : threads, used = rows * group_;
        fragments<Team> read[4 * depth_ahead];
        team.each_warp([&](const auto& warp) {
            find_memory(team, warp, work, own, count);
            load_keys(team, warp, count, 0, read);
            split_queries(team, warp, work, members, used);
        });
        team.each_warp([&](const auto& warp) { score(team, warp, work, count, used, read); });
        team.each_warp([&](const auto& warp) {
            load_values(team, warp, count, 0, read);
            float* const scores = team.template shared<float>(work.at.scores);
            for (unsigned i = warp.index(); i < used; i += warps) {
                if constexpr (!Rule::is_plain) {
                    rule_.apply(warp, scores + i * score_stride, std::size_t{work.chunk} * threads, count,
                                task.rows[members[i / group_]].position);
                }
                weigh_chunk<Element>(warp, scores + i * score_stride, count, part(team, work, members, i));
            }
        });
        for (unsigned first = 0; first < task.layout.head_size; first += values_ahead) {
            if (first > 0) {
                team.each_warp([&](const auto& warp) { load_values(team, warp, count, first, read); });
            }
            for (unsigned tile = 0; 8 * tile < used; ++tile) mix(team, work, count, used, tile, first, read);
        }
        join(team, work, members, rows);
    }

    AUGUR_HOST_DEVICE places place() const {
        constexpr unsigned element = sizeof(Element);
        places at{};
        at.stride = static_cast<unsigned>(kernels::tile_layout::padded(task.layout.head_size)) + 8;
        at.parts = threads * sizeof(Element*);
        at.members = at.parts + columns * sizeof(float*);
        at.ready = at.members + (most_rows + 4) * sizeof(std::uint32_t);
        at.high = at.ready + 2 * most_rows * sizeof(std::uint32_t);
        at.low = at.high + columns * at.stride * element;
        at.scores = at.low + columns * at.stride * element;
        at.sums = at.scores + columns * score_stride * sizeof(float);
        at.end = at.sums + warps * 8 * sum_stride * sizeof(float);
        return at;
    }

    /// Where the column's part of the chunk goes: noted for mix(), too.
    template <class Team>
    AUGUR_KERNEL float* part(const Team& team, const work_type& work, const std::uint32_t* members,
                             unsigned column) const {
        float* const found = task.partial(members[column / group_], work.head * group_ + column % group_, work.chunk);
        team.template shared<float*>(work.at.parts)[column] = found;
        return found;
    }

    /// Where the keys of a warp's 32 positions are, and values after them, which are fetched from afar meanwhile.
    template <class Team, class Warp>
    AUGUR_KERNEL void find_memory(const Team& team, const Warp& warp, const work_type& work, const row_place& own,
                                  unsigned count) const {
        const Element** const keys = team.template shared<const Element*>();
        warp.each([&](unsigned lane) {
            const unsigned at = warp.index() * kernels::warp_size + lane;
            if (at >= count) return;
            const auto slot =
                static_cast<std::size_t>(own.slot_of(static_cast<std::int32_t>(work.chunk * threads + at)));
            keys[at] = task.layout.template key<Element>(own.blocks, task.layer, work.head, slot);
            const Element* const values = keys[at] + task.layout.keys_size();
            for (unsigned i = 0; i < task.layout.head_size; i += 128 / sizeof(Element)) kernels::ask_for(values + i);
        });
    }

    /// A warp's 32 keys, or values, eight components at a time: `place(i, lane)` says which. Beyond the last position
    /// that is seen it is read again: what becomes of it has no weight, and nothing else needs to be asked.
    struct eight_at {
        unsigned position, component;
    };
    template <class Team, class Warp, class Read, class Place>
    AUGUR_KERNEL void load(const Team& team, const Warp& warp, unsigned count, std::size_t offset, Read& read,
                           const Place& place) const {
        const auto size = static_cast<unsigned>(task.layout.head_size);
        const Element* const* const keys = team.template shared<const Element*>();
        const unsigned begin = warp.index() * kernels::warp_size;
        if (begin >= count) return;
        AUGUR_UNROLL
        for (unsigned i = 0; i < 4 * depth_ahead; ++i) {
            warp.each_apart([&](unsigned lane) {
                const eight_at at = place(i, lane);
                const unsigned position = least(begin + at.position, count - 1);
                read[i][begin + lane] = eight<Packed>(keys[position] + offset, at.component, size);
            });
        }
    }
    /// Components first ... first + 127: a lane's 8 of each 32, of every eighth position.
    template <class Team, class Warp, class Read>
    AUGUR_KERNEL void load_keys(const Team& team, const Warp& warp, unsigned count, unsigned first, Read& read) const {
        load(team, warp, count, 0, read, [first](unsigned i, unsigned lane) {
            return eight_at{lane / 4 + 8 * (i % 4), first + 32 * (i / 4) + lane % 4 * 8};
        });
    }
    /// The same of values: a lane's 8 of either 64, of 4 positions of either 16.
    template <class Team, class Warp, class Read>
    AUGUR_KERNEL void load_values(const Team& team, const Warp& warp, unsigned count, unsigned first,
                                  Read& read) const {
        load(team, warp, count, task.layout.keys_size(), read, [first](unsigned i, unsigned lane) {
            return eight_at{i / 4 % 2 * 16 + lane % 4 * 4 + i % 4, first + i / 8 * 64 + lane / 4 * 8};
        });
    }

    /// Columns that no row has are zero, as is what fills up heads.
    template <class Team, class Warp>
    AUGUR_KERNEL void split_queries(const Team& team, const Warp& warp, const work_type& work,
                                    const std::uint32_t* members, unsigned used) const {
        const auto size = static_cast<unsigned>(task.layout.head_size), depth = work.at.stride - 8;
        Element* const high = team.template shared<Element>(work.at.high);
        Element* const low = team.template shared<Element>(work.at.low);
        for (unsigned first = 0; first < depth; first += 4 * kernels::warp_size) {
            typename Warp::template own<kernels::weight_fragment> fours[Tiles];
            AUGUR_UNROLL
            for (unsigned i = 0; i < Tiles; ++i) {
                const unsigned column = warp.index() + i * warps;
                const std::size_t row = column < used ? members[column / group_] : 0;
                const float* const from =
                    task.queries + (row * task.heads + work.head * group_ + column % group_) * size;
                warp.each_apart([&](unsigned lane) {
                    if (column < used) fours[i][lane] = four_of<Packed>(from, first + 4 * lane, size);
                });
            }
            AUGUR_UNROLL
            for (unsigned i = 0; i < Tiles; ++i) {
                const unsigned at = (warp.index() + i * warps) * work.at.stride + first;
                warp.each_apart([&](unsigned lane) {
                    if (first + 4 * lane < depth)
                        put_split<Element>(fours[i][lane], high + at + 4 * lane, low + at + 4 * lane);
                });
            }
        }
    }

    /// scores[column][position], of a warp's 32 positions; `read` has the first keys.
    template <class Team, class Warp, class Read>
    AUGUR_KERNEL void score(const Team& team, const Warp& warp, const work_type& work, unsigned count, unsigned used,
                            Read& read) const {
        const unsigned begin = warp.index() * kernels::warp_size, depth = work.at.stride - 8;
        if (begin >= count) return;
        const Element* const high = team.template shared<Element>(work.at.high);
        const Element* const low = team.template shared<Element>(work.at.low);
        typename Warp::template own<kernels::sum_fragment> sums[2][Tiles];
        for (unsigned first = 0; first < depth; first += depth_ahead * 32) {
            if (first > 0) load_keys(team, warp, count, first, read);
            AUGUR_UNROLL
            for (unsigned block = 0; block < depth_ahead; ++block) {
                const unsigned k = first + 32 * block;
                if (k >= depth) continue;
                AUGUR_UNROLL
                for (unsigned tile = 0; tile < Tiles; ++tile) {
                    if (8 * tile >= used) continue;
                    const unsigned at = 8 * tile * work.at.stride + k;
                    multiply_keys(warp, high + at, work.at.stride, read + 4 * block, begin, sums[0][tile],
                                  sums[1][tile]);
                    multiply_keys(warp, low + at, work.at.stride, read + 4 * block, begin, sums[0][tile],
                                  sums[1][tile]);
                }
            }
        }
        store_scores<Tiles>(warp, team.template shared<float>(work.at.scores) + begin, score_stride, sums);
    }

    /// The weights of eight columns times the values, of each warp's positions and then of all.
    template <class Team, class Values>
    AUGUR_KERNEL void mix(const Team& team, const work_type& work, unsigned count, unsigned used, unsigned tile,
                          unsigned first, const Values& values) const {
        float* const sums = team.template shared<float>(work.at.sums);
        const auto size = static_cast<unsigned>(task.layout.head_size);
        team.each_warp([&](const auto& warp) {
            const unsigned begin = warp.index() * kernels::warp_size;
            if (begin >= count) return;
            const float* const weights = team.template shared<float>(work.at.scores) + 8 * tile * score_stride + begin;
            multiply_values<Element>(warp, weights, score_stride, size - first, values, begin,
                                     sums + warp.index() * 8 * sum_stride, sum_stride);
        });
        float* const* const parts = team.template shared<float*>(work.at.parts);
        team.each([&](unsigned thread) {
            const unsigned active = (count + kernels::warp_size - 1) / kernels::warp_size;
            AUGUR_UNROLL
            for (unsigned i = 0; i < 8 * values_ahead / threads; ++i) {
                const unsigned at = thread + i * threads, column = 8 * tile + at / values_ahead;
                const unsigned component = at % values_ahead;
                if (column >= used || first + component >= size) continue;
                float sum = 0;
                AUGUR_UNROLL
                for (unsigned w = 0; w < warps; ++w) {
                    if (w < active) sum += sums[(8 * w + at / values_ahead) * sum_stride + place_of(component)];
                }
                parts[column][2 + first + component] = sum;
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
            const std::uint32_t chunks = task.chunks_seen(row) - rule_.first_chunk(task.rows[row]);
            ready[thread] =
                chunks == 1 || kernels::arrives_last(task.arrivals + row * task.layout.heads + work.head, chunks);
        });
        team.each_warp([&](const auto& warp) {
            for (unsigned i = warp.index(); i < rows * group_; i += warps) {
                if (ready[i / group_] != 0) {
                    const std::size_t row = members[i / group_];
                    task.join_chunks(warp, row, work.head * group_ + i % group_, rule_.first_chunk(task.rows[row]));
                }
            }
        });
    }

    unsigned heads_, group_;  ///< of keys and values; of queries to each of these
    unsigned chunks_, set_, shared_, alone_;
    Rule rule_;  // last: an empty one moves nothing
};

/// Launches attention of the task's rows; see attend. Refuses what check_attention() does.
template <class Element, kernels::System S, class Rule = every_score>
void attend_all(const S& on, const attention_task<Element>& task, const Rule& rule = {}) {
    check_attention(task.layout, task.heads);
    const auto launch = [&](const auto& kernel) { on.launch(kernel.blocks(), kernel); };
    const std::size_t columns = task.count * task.group();
    if (task.layout.head_size % 8 != 0) return launch(attend<Element, 4, false, Rule>(task, rule));
    // Fewer columns to a block are read again more often, but all blocks of a short text run at once in any case.
    if (task.group() <= 8) {
        const attend<Element, 1, true, Rule> narrow(task, rule);
        if (columns <= 8 || narrow.runs_at_once()) return launch(narrow);
    }
    const attend<Element, 2, true, Rule> middle(task, rule);
    if (columns <= 16 || middle.runs_at_once()) return launch(middle);
    launch(attend<Element, 4, true, Rule>(task, rule));
}

}  // namespace augur::llama::device
