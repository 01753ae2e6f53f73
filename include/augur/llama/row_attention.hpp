#pragma once
// Attention of a pass's rows, each to the positions before it in a cache of its own.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernels.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/row_products.hpp"
#include "augur/llama/sequence.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// A new row of a sequence, and where what is wanted of it goes. Rows of a chain follow one another. Rows of a tree do so depth first:
/// then of every smaller depth the row that was placed last is the ancestor.
struct forward_row {
    token id = no_token;
    std::size_t position = 0;
    key_value_cache* cache = nullptr;  ///< has room for the position, and holds those before it
    const float* state = nullptr;      ///< after the layers that it has been through, if any; width
    const float* fused = nullptr;      ///< width, where the model fuses its inputs with hidden states
    float* kept = nullptr;             ///< of a tree: its keys, then values, layer by layer
    float* hidden = nullptr;           ///< width, or null
    float* logits = nullptr;           ///< vocabulary, or null; then hidden is wanted, too
};

/// Turns queries and keys to the rows' positions, caches keys and values, and lets the rows attend. A row's bits depend on its queries, its
/// position and what is cached before it: not on the other rows, or on who computes it.
class row_attention : public row_products {
 protected:
    row_attention(const config& c, const backend::host::kernels& kernels, std::size_t threads, std::size_t longest)
        : row_products(kernels, threads, longest),
          config_(c),
          frequencies_(rotary_frequencies(c)),
          queries_(c.heads * c.head_size),
          keys_(c.key_value_heads * c.head_size),
          group_(c.heads / c.key_value_heads) {
        for (auto [buffer, size] : {std::pair{&query_, queries_},
                                    {&grouped_, queries_},
                                    {&key_, keys_},
                                    {&value_, keys_},
                                    {&mixed_, queries_},
                                    {&turns_, c.rotary_size}}) {
            buffer->require(most_rows * size);
        }
        parts_.reserve(most_rows);
    }

    /// The rows that the calls below are about, at most most_rows.
    void begin(std::span<const forward_row> rows) {
        rows_ = rows;
        std::size_t positions = 0;
        for (const forward_row& row : rows) positions = std::max(positions, row.position + 1);
        const std::size_t block = cache_layout::block_positions;
        padded_positions_ = (positions + block - 1) / block * block;
        batch_ = rows_at_once();
        scores_.require(threads() * batch_ * group_ * padded_positions_);
        attended_.require(threads() * batch_ * group_ * config_.head_size);
        find_parts();
    }

    /// The cosines and sines of a row's position: taken in double precision, then rounded.
    void find_turns(std::size_t row) {
        const std::size_t pairs = frequencies_.size();
        float* cosines = turns_.data() + row * 2 * pairs;
        for (std::size_t i = 0; i < pairs; ++i) {
            const double angle = static_cast<double>(rows_[row].position) * frequencies_[i];
            cosines[i] = static_cast<float>(std::cos(angle));
            cosines[pairs + i] = static_cast<float>(std::sin(angle));
        }
    }

    /// mixed_ = what the rows' heads attend to, as `reader` reads it, by query_, key_ and value_.
    void attend_all(std::size_t layer, const matrix& reader) {
        const std::size_t heads = config_.key_value_heads;
        const bool some_see_others =
            std::any_of(parts_.begin(), parts_.end(), [](const part& of) { return !of.in_turn; });
        if (some_see_others) {
            for_parts(parts_.size(), heads, [&](std::size_t index, std::size_t head, std::size_t) {
                const part& of = parts_[index];
                for (std::size_t row = of.first; row < of.last && !of.in_turn; ++row) place(layer, row, head);
            });
        }
        for_parts(parts_.size(), heads, [&](std::size_t index, std::size_t head, std::size_t worker) {
            const part& of = parts_[index];
            if (!of.in_turn) return attend(layer, of.first, of.last, head, worker, reader);
            for (std::size_t row = of.first; row < of.last; ++row) {
                place(layer, row, head);
                attend(layer, row, row + 1, head, worker, reader);
            }
        });
        if (group_ * config_.head_size % 32 == 0) return;  // else a head's part is no whole number of blocks
        for_rows(rows_.size(),
                 [&](std::size_t row) { prepare_part(copies_, reader, mixed_.data(), row, 0, queries_); });
    }

    const config& config_;
    std::span<const forward_row> rows_;
    backend::host::float_buffer query_, key_, value_, mixed_;

 private:
    /// Rows that go through attention together, or, in turn, one by one: each is placed when those before it have attended.
    struct part {
        std::size_t first, last;
        bool in_turn;
    };

    /// How many rows one call of the attention kernel takes: as many as fill its registers, but not so many that threads
    /// would have to wait for each other.
    std::size_t rows_at_once() const {
        const std::size_t columns = 12, calls = 3 * threads();
        return std::clamp<std::size_t>(rows_.size() * config_.key_value_heads / calls, 1,
                                       std::max<std::size_t>(columns / group_, 1));
    }

    /// A tree is one part; so is a row that is alone in its sequence, which no other row sees.
    void find_parts() {
        parts_.clear();
        const auto is_one = [&](std::size_t row) {
            return row < rows_.size() && rows_[row].cache == rows_[row - 1].cache;
        };
        for (std::size_t first = 0, last = 0; first < rows_.size(); first = last) {
            const bool is_tree = rows_[first].kept != nullptr;
            for (last = first + 1; is_one(last) && (is_tree || last - first < batch_); ++last) continue;
            const bool alone = last - first == 1 && !is_one(last) && (first == 0 || !is_one(first));
            parts_.push_back({first, last, is_tree || alone});
        }
    }

    /// A row's queries of one key-value head. Rows of a head lie together, as attention takes them.
    float* grouped_queries(std::size_t row, std::size_t head) {
        return grouped_.data() + (head * rows_.size() + row) * group_ * config_.head_size;
    }

    /// Turns a head's queries and key to their position, scales the queries, and caches key and value.
    void place(std::size_t layer, std::size_t row, std::size_t head) {
        const std::size_t size = config_.head_size, pairs = frequencies_.size();
        const float scale = 1.0f / std::sqrt(static_cast<float>(size));
        const float* cosines = turns_.data() + row * 2 * pairs;
        float* query = query_.data() + row * queries_ + head * group_ * size;
        float* key = key_.data() + row * keys_ + head * size;
        const float* value = value_.data() + row * keys_ + head * size;
        for (std::size_t i = 0; i < group_; ++i) {
            kernels_.rotate(query + i * size, cosines, cosines + pairs, pairs);
        }
        float* grouped = grouped_queries(row, head);
        for (std::size_t i = 0; i < group_ * size; ++i) grouped[i] = query[i] * scale;
        kernels_.rotate(key, cosines, cosines + pairs, pairs);
        rows_[row].cache->write(layer, head, rows_[row].position, key, value);
        if (rows_[row].kept == nullptr) return;
        float* kept = rows_[row].kept + 2 * layer * keys_ + head * size;
        std::copy_n(key, size, kept);
        std::copy_n(value, size, kept + keys_);
    }

    void attend(std::size_t layer, std::size_t first, std::size_t last, std::size_t head, std::size_t worker,
                const matrix& reader) {
        const key_value_cache& cache = *rows_[first].cache;
        const cache_layout& layout = cache.layout();
        const std::size_t size = group_ * config_.head_size;
        backend::host::attention_task task;
        task.blocks = cache.blocks();
        task.block_positions = cache_layout::block_positions;
        task.key_offset = layout.offset(layer, head);
        task.value_offset = task.key_offset + layout.value_offset();
        task.positions = rows_[first].position + 1;
        task.head_size = config_.head_size;
        task.heads = group_;
        task.rows = last - first;
        task.query = grouped_queries(first, head);
        task.weights = scores_.data() + worker * batch_ * group_ * padded_positions_;
        task.out = attended_.data() + worker * batch_ * size;
        kernels_.attention(task);
        for (std::size_t row = first; row < last; ++row) {
            std::copy_n(task.out + (row - first) * size, size, mixed_.data() + row * queries_ + head * size);
            if (size % 32 == 0) {
                prepare_part(copies_, reader, mixed_.data(), row, head * size, (head + 1) * size);
            }
        }
    }

    std::vector<double> frequencies_;
    std::size_t queries_, keys_, group_, batch_ = 1, padded_positions_ = 0;
    std::vector<part> parts_;
    backend::host::float_buffer grouped_, attended_, turns_, scores_;
};

}  // namespace augur::llama
