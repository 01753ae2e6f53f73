#pragma once
// The kernels and threads that share a model's work: which thread does what never changes a result.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "augur/backend/host/kernel_tasks.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/backend/host/thread_pool.hpp"

namespace augur::llama {

/// The threads and kernels of a pass: its base class. Others may have the same pool: whoever runs a pass locks it,
/// which guards the pass's scratch memory, too. There is no other lock, and so no order of locks.
class workers {
 public:
    workers(const backend::host::kernels& kernels, std::shared_ptr<backend::host::thread_pool> pool)
        : kernels_(kernels), pool_(std::move(pool)) {}

    std::size_t threads() const { return pool_->size(); }
    const std::shared_ptr<backend::host::thread_pool>& pool() const { return pool_; }

 protected:
    using matrix = backend::host::packed_matrix;

    /// body(row) for every row; a few rows are not worth sharing.
    template <class Body>
    void for_rows(std::size_t rows, const Body& body) {
        const std::size_t chunks = rows <= 4 ? 1 : std::min(rows, 4 * threads());
        pool_->for_each(chunks, [&](std::size_t chunk, std::size_t) {
            const auto mine = backend::host::part_of(rows, chunk, chunks);
            for (std::size_t row = mine.first; row < mine.last; ++row) body(row);
        });
    }

    /// body(part, head, worker) for every part, each of `heads` heads: head by head, as all parts read the same of one,
    /// and other threads' caches are far.
    template <class Body>
    void for_parts(std::size_t parts, std::size_t heads, const Body& body) {
        const std::size_t items = parts * heads, chunks = std::min(items, 8 * threads());
        pool_->for_each(chunks, [&](std::size_t chunk, std::size_t worker) {
            const auto mine = backend::host::part_of(items, chunk, chunks);
            for (std::size_t item = mine.first; item < mine.last; ++item) body(item % parts, item / parts, worker);
        });
    }

    /// body(first, last) for ranges that make up [0, panels), in whole units of so many panels. A thread has
    /// neighbouring ranges: what is prefetched past a range's end is next.
    template <class Body>
    void for_panels(std::size_t panels, const Body& body) {
        const std::size_t units = (panels + unit - 1) / unit, each = std::min<std::size_t>(units / threads(), 3);
        const std::size_t chunks = each == 0 ? units : each * threads();
        pool_->for_each(chunks, [&](std::size_t chunk, std::size_t) {
            const auto mine = backend::host::part_of(units, chunk, chunks);
            body(mine.first * unit, std::min(panels, mine.last * unit));
        });
    }

    void multiply_panels(backend::host::product_task task, std::size_t first, std::size_t last) const {
        task.first_panel = first;
        task.last_panel = last;
        kernels_.product(task);
    }

    /// The whole product with `weight`, shared.
    void multiply_shared(const matrix& weight, const backend::host::product_task& whole) {
        for_panels(weight.panels(), [&](std::size_t first, std::size_t last) { multiply_panels(whole, first, last); });
    }

    const backend::host::kernels& kernels_;

 private:
    /// Panels: a block of the next product's inputs.
    static constexpr std::size_t unit = backend::host::scaled_together / backend::host::panel_rows;

    std::shared_ptr<backend::host::thread_pool> pool_;
};

}  // namespace augur::llama
