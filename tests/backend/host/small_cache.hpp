#pragma once
// Keys and values as the attention kernels read them.

#include <cstddef>
#include <vector>

#include "augur/backend/host/kernel_tasks.hpp"

namespace augur::testing {

/// Keys and values of one head in the cache's layout, blocks of 32 positions.
struct small_cache {
    static constexpr std::size_t block_positions = 32;
    std::size_t head_size, value_offset;
    std::vector<std::vector<float>> blocks;
    std::vector<const std::byte*> pointers;

    small_cache(std::size_t size, const std::vector<float>& keys, const std::vector<float>& values)
        : head_size(size), value_offset(block_positions * size) {
        const std::size_t positions = keys.size() / size, components = (size + 15) / 16 * 16;
        blocks.resize((positions + block_positions - 1) / block_positions,
                      std::vector<float>(value_offset + components * block_positions));
        for (std::size_t at = 0; at < positions; ++at) {
            float* block = blocks[at / block_positions].data();
            const std::size_t row = at % block_positions;
            for (std::size_t i = 0; i < size; ++i) {
                block[(row / 16 * size + i) * 16 + row % 16] = keys[at * size + i];
                block[value_offset + (i / 16 * block_positions + row) * 16 + i % 16] = values[at * size + i];
            }
        }
        for (const auto& block : blocks) pointers.push_back(reinterpret_cast<const std::byte*>(block.data()));
    }

    void show(backend::host::attention_task& task) const {
        task.blocks = pointers.data();
        task.value_offset = value_offset * sizeof(float);
        task.block_positions = block_positions;
        task.head_size = head_size;
    }
};

/// A task with memory of its own.
struct attention_run {
    std::vector<float> weights, out;
    backend::host::attention_task task;

    attention_run(const auto& cache, const std::vector<float>& query, std::size_t heads, std::size_t positions,
                  std::size_t rows) {
        show(cache);
        task.stride = (positions + rows + 14) / 16 * 16;
        weights.resize(rows * heads * task.stride);
        out.resize(rows * heads * task.head_size);
        task.positions = positions;
        task.heads = heads;
        task.rows = rows;
        task.query = query.data();
        task.weights = weights.data();
        task.out = out.data();
    }

 private:
    void show(const small_cache& cache) { cache.show(task); }
    void show(const auto& cache) { cache.show(task, 0, 0); }
};

}  // namespace augur::testing
