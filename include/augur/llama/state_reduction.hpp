#pragma once
// Reduces a target's states after several layers to one state each, as EAGLE-3 does.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/llama/row_products.hpp"

namespace augur::llama {

/// out = weight * states, where weight is width by taps times width, and before it the states go through RMS norms: one
/// over all of them, one for each tap, or none. A row's bits do not depend on the rows beside it.
class state_reduction : row_products {
 public:
    /// `norms`: weights of the norms, which are equally long and cover a row; empty: none.
    state_reduction(backend::host::packed_matrix weight, std::vector<std::vector<float>> norms, float epsilon,
                    const backend::host::kernels& kernels, std::shared_ptr<backend::host::thread_pool> pool)
        : row_products(kernels, std::move(pool), weight.depth()),
          weight_(std::move(weight)),
          norms_(std::move(norms)),
          epsilon_(epsilon) {
        rows_.require(most_rows * weight_.depth());
    }

    /// Numbers of a target's states, and of what is made of them.
    std::size_t inputs() const { return weight_.depth(); }
    std::size_t outputs() const { return weight_.rows(); }
    std::size_t memory_bytes() const {
        std::size_t total = weight_.memory_bytes();
        for (const auto& norm : norms_) total += norm.size() * sizeof(float);
        return total;
    }

    /// Of `count` positions, whose states follow one another. Callers of several threads take turns.
    void run(const float* states, std::size_t count, float* out) {
        const std::lock_guard lock(*pool());
        for (std::size_t first = 0; first < count; first += most_rows) {
            const std::size_t rows = std::min(count - first, most_rows);
            for_rows(rows, [&](std::size_t row) { enter(states + (first + row) * inputs(), row); });
            multiply_shared(weight_, product_of(copies_, weight_, rows_.data(), rows, out + first * outputs()));
        }
    }

 private:
    void enter(const float* from, std::size_t row) {
        float* const to = rows_.data() + row * inputs();
        if (norms_.empty()) std::copy_n(from, inputs(), to);
        std::size_t at = 0;
        for (const auto& norm : norms_) {
            kernels_.rms_norm(from + at, norm.data(), to + at, norm.size(), epsilon_);
            at += norm.size();
        }
        prepare_row(copies_, {&weight_}, rows_.data(), inputs(), row);
    }

    backend::host::packed_matrix weight_;
    std::vector<std::vector<float>> norms_;
    float epsilon_;
    backend::host::float_buffer rows_;
};

}  // namespace augur::llama
