#pragma once
// Attention of a pass's rows, each over the key-value cache of its own sequence.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernels.hpp"
#include "augur/llama/attention_parts.hpp"
#include "augur/llama/attention_slices.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/rotary.hpp"
#include "augur/llama/row_experts.hpp"
#include "augur/llama/score_rule.hpp"
#include "augur/llama/sequence.hpp"

namespace augur::llama {

/// Turns queries and keys to the rows' positions, caches keys and values, and lets the rows attend. A row's bits depend
/// on its queries, its position and what is cached before it: not on the other rows, or on who computes it.
class row_attention : public row_experts {
 protected:
    row_attention(const config& c, const backend::host::kernels& kernels,
                  std::shared_ptr<backend::host::thread_pool> pool, std::size_t longest, cache_format format)
        : row_experts(c, kernels, std::move(pool), longest),
          config_(c),
          frequencies_(all_rotary_frequencies(c)),
          scale_(c.attention_scale != 0 ? c.attention_scale : 1.0f / std::sqrt(static_cast<float>(c.head_size))),
          queries_(c.heads * c.head_size),
          keys_(c.key_value_heads * c.head_size),
          group_(c.heads / c.key_value_heads) {
        for (auto [buffer, size] : {std::pair{&query_, queries_},
                                    {&grouped_, queries_},
                                    {&key_, keys_},
                                    {&value_, keys_},
                                    {&mixed_, queries_},
                                    {&turns_, 2 * frequencies_.size()}}) {
            buffer->require(most_rows * size);
        }
        for (std::size_t i = 0; i < threads(); ++i) {
            paths_.emplace_back(cache_layout{.layers = 1, .heads = 1, .head_size = c.head_size, .format = format});
        }
    }

    /// The rows that the calls below are about, at most most_rows.
    void begin(std::span<const forward_row> rows) {
        rows_ = rows;
        std::size_t positions = 0;
        for (const forward_row& row : rows) positions = std::max(positions, row.position + 1);
        const std::size_t block = cache_layout::block_positions;
        padded_positions_ = (positions + sink_places() + block - 1) / block * block;
        find_parts();
        for (key_value_cache& path : paths_) path.reserve(parts_.deepest());
        const std::size_t tasks = is_sliced_ ? parts_.all().size() * config_.key_value_heads : threads();
        scores_.require(tasks * batch_ * group_ * padded_positions_);
        attended_.require(tasks * batch_ * group_ * config_.head_size);
    }

    /// The cosines and sines of a row's position: taken in double precision, then rounded. Those of layers that turn
    /// locally follow.
    void find_turns(std::size_t row) {
        const std::size_t pairs = config_.rotary_size / 2;
        for (std::size_t i = 0; i < frequencies_.size(); ++i) {
            const bool is_main = i < pairs;
            const double scale = is_main ? static_cast<double>(config_.rotary_scale) : 1.0;
            float* cosines = turns_.data() + 2 * (row * frequencies_.size() + (is_main ? 0 : pairs));
            const double angle = static_cast<double>(rows_[row].position) * frequencies_[i];
            cosines[i % pairs] = static_cast<float>(scale * std::cos(angle));
            cosines[pairs + i % pairs] = static_cast<float>(scale * std::sin(angle));
        }
    }

    /// mixed_ = what the rows' heads attend to, as `reader` reads it, by query_, key_ and value_; `sinks` may be empty.
    void attend_all(std::size_t layer, const matrix& reader, const std::vector<float>& sinks) {
        sinks_ = sinks.empty() ? nullptr : sinks.data();
        const std::size_t heads = config_.key_value_heads;
        if (is_sliced_ || !parts_.are_in_turn()) {
            for_parts(parts_.all().size(), heads, [&](std::size_t index, std::size_t head, std::size_t) {
                const attention_part& of = parts_.all()[index];
                if (of.how == order::in_turn && !is_sliced_) return;
                for (std::size_t row = of.first; row < of.last; ++row) {
                    turn(layer, row, head);
                    if (of.how != order::tree) cache(layer, row, head);
                }
            });
        }
        if (is_sliced_) return attend_in_slices(layer, reader);
        for_parts(parts_.all().size(), heads, [&](std::size_t index, std::size_t head, std::size_t worker) {
            const attention_part& of = parts_.all()[index];
            if (of.how == order::chain) return attend(layer, of.first, of.last, head, worker, reader);
            if (of.how == order::tree) return attend_tree(layer, of, head, worker, reader);
            for (std::size_t row = of.first; row < of.last; ++row) {
                turn(layer, row, head);
                cache(layer, row, head);
                attend(layer, row, row + 1, head, worker, reader);
            }
        });
        if (rows_.size() == most_rows) cache_last_path(layer);
        if (group_ * config_.head_size % 32 != 0) prepare_mixed(reader);  // a head's part is no whole number of blocks
    }

    const config& config_;
    std::span<const forward_row> rows_;
    backend::host::float_buffer query_, key_, value_, mixed_;

 private:
    using order = attention_part::order;

    /// Rows go through one call of the attention kernel: as many as fill its registers, but not so many that threads
    /// would have to wait for each other. Where they would, and the positions are many, calls are cut into slices.
    void find_parts() {
        const std::size_t columns = 12, heads = config_.key_value_heads;
        const std::size_t most = std::max<std::size_t>(columns / group_, 1);
        parts_.find(rows_, batch_ = most);
        const std::size_t calls = parts_.all().size() * heads;
        is_sliced_ = padded_positions_ > 2 * cache_layout::block_positions && !parts_.has_tree() &&
                     calls % threads() != 0 && calls < 4 * threads();
        if (is_sliced_) return;
        batch_ = batch_for(heads, most);
        parts_.find(rows_, batch_);
    }

    /// Rows of a call: as many as leave the threads equally many calls, or enough for them to share.
    std::size_t batch_for(std::size_t heads, std::size_t most) const {
        const std::size_t rows = rows_.size();
        std::size_t parts = (rows + most - 1) / most;
        while (parts < rows && parts * heads % threads() != 0 && parts * heads < 3 * threads()) ++parts;
        return (rows + parts - 1) / parts;
    }

    /// A row's queries of one key-value head. Rows of a head lie together, as attention takes them.
    float* grouped_queries(std::size_t row, std::size_t head) {
        return grouped_.data() + (head * rows_.size() + row) * group_ * config_.head_size;
    }

    /// Keys and values of a row's head.
    const float* key_of(std::size_t row, std::size_t head) {
        return key_.data() + row * keys_ + head * config_.head_size;
    }
    const float* value_of(std::size_t row, std::size_t head) {
        return value_.data() + row * keys_ + head * config_.head_size;
    }

    void cache(std::size_t layer, std::size_t row, std::size_t head) {
        rows_[row].cache->write(layer, head, rows_[row].position, key_of(row, head), value_of(row, head));
    }

    /// Calls `visit` with the ancestors of a tree's row, down from its parent to row `whole`.
    void visit_ancestors(std::size_t row, std::size_t whole, const auto& visit) {
        for (std::size_t below = rows_[row].position; row-- > whole && below > rows_[whole].position;) {
            if (rows_[row].position + 1 != below) continue;
            visit(row);
            --below;
        }
    }

    /// A tree may go on in the next call: its rows there attend to those above them in the cache.
    void cache_last_path(std::size_t layer) {
        const attention_part& last = parts_.all().back();
        if (last.how != order::tree) return;
        for (std::size_t head = 0; head < config_.key_value_heads; ++head) {
            cache(layer, last.last - 1, head);
            visit_ancestors(last.last - 1, last.whole, [&](std::size_t row) { cache(layer, row, head); });
        }
    }

    /// Turns a head's queries and key to their position, and scales the queries; what is kept of a tree's row is kept.
    void turn(std::size_t layer, std::size_t row, std::size_t head) {
        const std::size_t size = config_.head_size, pairs = config_.rotary_size / 2;
        const auto turns = config_.positions_of(layer).turns;
        const float* cosines = turns_.data() + 2 * row * frequencies_.size();
        if (turns == layer_positions::rotary::local) cosines += 2 * pairs;
        float* query = query_.data() + row * queries_ + head * group_ * size;
        float* key = key_.data() + row * keys_ + head * size;
        const float* value = value_.data() + row * keys_ + head * size;
        if (turns != layer_positions::rotary::none) {
            for (std::size_t i = 0; i < group_; ++i) {
                kernels_.rotate(query + i * size, cosines, cosines + pairs, pairs);
            }
            kernels_.rotate(key, cosines, cosines + pairs, pairs);
        }
        float* grouped = grouped_queries(row, head);
        const float scale = scale_at(rows_[row].position);
        for (std::size_t i = 0; i < group_ * size; ++i) grouped[i] = query[i] * scale;
        if (rows_[row].kept == nullptr) return;
        float* kept = rows_[row].kept + 2 * layer * keys_ + head * size;
        std::copy_n(key, size, kept);
        std::copy_n(value, size, kept + keys_);
    }

    /// Of the scores of a position's queries.
    float scale_at(std::size_t position) const {
        if (config_.attention_temperature == 0) return scale_;
        const auto whole = static_cast<float>(position / config_.temperature_context);
        return scale_ * std::fma(config_.attention_temperature, std::log(1 + whole), 1.0f);
    }

    /// What the kernels are told of these rows, of which the first sees so many positions.
    backend::host::attention_task task_of(std::size_t layer, std::size_t first, std::size_t last, std::size_t positions,
                                          std::size_t head, std::size_t worker) {
        const key_value_cache& cache = *rows_[first].cache;
        backend::host::attention_task task;
        cache.show(task, layer, head);
        task.positions = positions;
        task.head_size = config_.head_size;
        task.heads = group_;
        task.rows = last - first;
        task.query = grouped_queries(first, head);
        task.weights = scores_.data() + worker * batch_ * group_ * padded_positions_;
        std::size_t longest = 0;
        for (std::size_t row = first; row < last; ++row) longest = std::max(longest, rows_[row].position + 1);
        task.stride = (longest + sink_places() + 15) / 16 * 16;
        task.out = attended_.data() + worker * batch_ * group_ * config_.head_size;
        return task;
    }

    /// Each step of all parts and heads, shared by slices.
    void attend_in_slices(std::size_t layer, const matrix& reader) {
        const std::size_t heads = config_.key_value_heads, tasks = parts_.all().size() * heads;
        const auto task = [&](std::size_t index) {
            const attention_part& of = parts_.all()[index / heads];
            return attention_slices(
                kernels_, task_of(layer, of.first, of.last, rows_[of.first].position + 1, index % heads, index),
                rule_of(layer, index % heads));
        };
        const auto each = [&](std::size_t slices, const auto& step) {
            for_parts(tasks, slices, [&](std::size_t index, std::size_t slice, std::size_t) { step(index, slice); });
        };
        const std::size_t blocks = std::min(padded_positions_ / cache_layout::block_positions, 4 * threads());
        each(blocks, [&](std::size_t index, std::size_t slice) { task(index).scores(slice, blocks); });
        each(batch_ * group_, [&](std::size_t index, std::size_t column) { task(index).softmax(column); });
        const std::size_t wanted = std::max<std::size_t>(2, (2 * threads() + tasks - 1) / tasks);
        const std::size_t slices = std::min(task(0).value_slices(), wanted);
        each(slices, [&](std::size_t index, std::size_t slice) {
            const auto of = task(index);
            of.values(slice, slices);
            const attention_part& part = parts_.all()[index / heads];
            for (std::size_t row = part.first; row < part.last; ++row) {
                float* const mixed = mixed_.data() + row * queries_ + index % heads * group_ * config_.head_size;
                of.take(slice, slices, row - part.first, mixed);
            }
        });
        prepare_mixed(reader);
    }

    /// Places behind the scores of a column.
    std::size_t sink_places() const { return config_.attention_sinks ? 1 : 0; }
    score_rule rule_of(std::size_t layer, std::size_t head) const {
        return {config_, layer, sinks_ == nullptr ? nullptr : sinks_ + head * group_};
    }

    void attend(std::size_t layer, std::size_t first, std::size_t last, std::size_t head, std::size_t worker,
                const matrix& reader) {
        const auto task = task_of(layer, first, last, rows_[first].position + 1, head, worker);
        const score_rule rule = rule_of(layer, head);
        rule.is_plain() ? kernels_.attention(task) : attend_by(rule, task);
        take_attended(task, first, head, reader);
    }

    /// kernels::attention, step by step, with scores under a rule.
    void attend_by(const score_rule& rule, const backend::host::attention_task& task) const {
        kernels_.attention_scores(task, task.positions + task.rows - 1);
        for (std::size_t column = 0; column < task.rows * task.heads; ++column) {
            rule.weigh(kernels_, task.weights + column * task.stride, task.positions + column / task.heads,
                       column % task.heads);
        }
        kernels_.attention_values(task, 0, task.positions, 0, task.rows * task.heads);
        for (std::size_t row = 1; row < task.rows; ++row) {
            kernels_.attention_values(task, task.positions, task.positions + row, row * task.heads, task.heads);
        }
    }

    /// What is before the tree goes through all columns at once, then each row's path, in memory of the worker's, where
    /// row after row overwrites what it does not descend from. Every sum takes the positions in order, as in a chain.
    void attend_tree(std::size_t layer, const attention_part& of, std::size_t head, std::size_t worker,
                     const matrix& reader) {
        const std::size_t shared = rows_[of.whole].position;
        const score_rule rule = rule_of(layer, head);
        const auto task = task_of(layer, of.first, of.last, shared, head, worker);
        kernels_.attention_scores(task, shared);
        key_value_cache& path = paths_[worker];
        const auto place = [&](std::size_t row) {
            path.write(0, 0, rows_[row].position - shared, key_of(row, head), value_of(row, head));
        };
        const auto each_row = [&](const auto& visit) {
            visit_ancestors(of.first, of.whole, place);
            for (std::size_t row = of.first; row < of.last; ++row) {
                place(row);
                auto alone = task;
                path.show(alone, 0, 0);
                alone.rows = 1;
                alone.query = grouped_queries(row, head);
                alone.weights = task.weights + (row - of.first) * group_ * task.stride + shared;
                alone.out = task.out + (row - of.first) * group_ * config_.head_size;
                alone.continues = shared > 0;
                visit(alone, rows_[row].position + 1 - shared);
            }
        };
        each_row([&](const auto& alone, std::size_t depth) {
            kernels_.attention_scores(alone, depth);
            for (std::size_t i = 0; i < group_; ++i) {
                rule.weigh(kernels_, alone.weights - shared + i * task.stride, shared + depth, i);
            }
        });
        kernels_.attention_values(task, 0, shared, 0, task.rows * group_);
        each_row([&](const auto& alone, std::size_t depth) { kernels_.attention_values(alone, 0, depth, 0, group_); });
        take_attended(task, of.first, head, reader);
    }

    void prepare_mixed(const matrix& reader) {
        for_rows(rows_.size(),
                 [&](std::size_t row) { prepare_part(copies_, reader, mixed_.data(), row, 0, queries_); });
    }

    /// Where what the rows attended to belongs.
    void take_attended(const backend::host::attention_task& task, std::size_t first, std::size_t head,
                       const matrix& reader) {
        const std::size_t size = group_ * config_.head_size;
        for (std::size_t row = first; row < first + task.rows; ++row) {
            std::copy_n(task.out + (row - first) * size, size, mixed_.data() + row * queries_ + head * size);
            if (size % 32 == 0) {
                prepare_part(copies_, reader, mixed_.data(), row, head * size, (head + 1) * size);
            }
        }
    }

    std::vector<double> frequencies_;  ///< of layers that turn as most do, then of those that turn locally
    float scale_;                      ///< of scores
    const float* sinks_ = nullptr;     ///< of the layer that attends
    std::size_t queries_, keys_, group_, batch_ = 1, padded_positions_ = 0;
    attention_parts parts_{most_rows};
    bool is_sliced_ = false;
    backend::host::float_buffer grouped_, attended_, turns_, scores_;
    std::vector<key_value_cache> paths_;  ///< of each worker
};

}  // namespace augur::llama
