#pragma once
// A model's own output matrix, packed as the draft kernels read it, as the start of an exit head.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernels.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/backend/host/thread_pool.hpp"
#include "augur/detail/half.hpp"
#include "augur/train/matrix.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// Products are those of the host's kernels, weights staying as they are stored: quantised ones round the states first,
/// as they do when the model runs. Products with the transposed, which gradients by the state need, are those of a copy
/// in binary16, which is made when the first is asked for, and round nothing else. Models WeightMatrix.
/// Threads share one product at a time: whoever comes while the pool is busy, also with somebody else's loops, computes
/// alone, with the same result.
/// Memory: the copy's two bytes for each weight; nothing where nobody learns.
class packed_weight_matrix {
 public:
    using scalar = float;
    using packed_matrix = backend::host::packed_matrix;

    /// Refers to the weights, which must outlive it and its copies.
    explicit packed_weight_matrix(const packed_matrix& weights, std::size_t threads = 1,
                                  backend::host::instruction_set set = backend::host::instruction_set::automatic)
        : packed_weight_matrix(weights, std::make_shared<backend::host::thread_pool>(threads), set) {}
    /// On threads that others have, too.
    packed_weight_matrix(const packed_matrix& weights, std::shared_ptr<backend::host::thread_pool> pool,
                         backend::host::instruction_set set = backend::host::instruction_set::automatic)
        : weights_(&weights, [](const packed_matrix*) {}), shared_(std::make_shared<shared>(std::move(pool), set)) {
        if (weights.rows() == 0) detail::fail("packed_weight_matrix: this matrix has no rows");
    }

    std::size_t classes() const { return weights_->rows(); }
    std::size_t width() const { return weights_->depth(); }

    /// Another matrix, by the same threads.
    packed_weight_matrix beside(const packed_matrix& weights) const {
        if (weights.rows() == 0) detail::fail("packed_weight_matrix: this matrix has no rows");
        packed_weight_matrix other = *this;
        other.weights_ = std::shared_ptr<const packed_matrix>(&weights, [](const packed_matrix*) {});
        other.copy_ = std::make_shared<copy>();
        return other;
    }

    /// Of these rows alone, in this order: a head over a pruned vocabulary. Copies them.
    packed_weight_matrix selected(std::span<const token> tokens) const {
        std::vector<std::size_t> rows;
        for (const token id : tokens) {
            if (id < 0 || static_cast<std::size_t>(id) >= classes()) {
                detail::fail("token ", id, " is none of the ", classes(), " that the head has rows for");
            }
            rows.push_back(static_cast<std::size_t>(id));
        }
        packed_weight_matrix other = *this;
        other.weights_ = std::make_shared<const packed_matrix>(weights_->selected(rows));
        other.copy_ = std::make_shared<copy>();
        return other;
    }

    columns<float> product(const columns<float>& in) const { return shared_->multiply(*weights_, in); }

    columns<float> transposed(const columns<float>& in) const {
        std::call_once(copy_->once, [this] { copy_->weights = transposed_weights(); });
        return shared_->multiply(copy_->weights, in);
    }

    vector<float> row_squares() const {
        vector<float> squares(detail::index(classes()));
        each_rows([&](std::size_t first, const matrix<float>& rows) {
            squares.segment(detail::index(first), rows.rows()) = rows.rowwise().squaredNorm();
        });
        return squares;
    }

    matrix<float> dense() const {
        matrix<float> values(detail::index(classes()), detail::index(width()));
        each_rows([&](std::size_t first, const matrix<float>& rows) {
            values.middleRows(detail::index(first), rows.rows()) = rows;
        });
        return values;
    }

 private:
    struct shared {
        shared(std::shared_ptr<backend::host::thread_pool> threads, backend::host::instruction_set set)
            : kernels(backend::host::kernels_of(set)), pool(std::move(threads)) {}

        columns<float> multiply(const packed_matrix& by, const columns<float>& in) {
            columns<float> out(detail::index(by.rows()), in.cols());
            if (in.cols() == 0) return out;
            auto task = backend::host::product_of(by, nullptr, static_cast<std::size_t>(in.cols()), out.data());
            backend::host::aligned_buffer prepared(task.columns * task.x_stride + 64);
            prepare(by, in, task.x_stride, prepared.data());
            task.x = prepared.data();
            const auto run = [&](std::size_t first, std::size_t last) {
                auto part = task;
                part.first_panel = first;
                part.last_panel = last;
                kernels.product(part);
            };
            const std::unique_lock own(*pool, std::try_to_lock);
            const std::size_t tiles = (by.panels() + 3) / 4, chunks = std::min(tiles, 4 * pool->size());
            if (!own.owns_lock() || pool->size() == 1) {
                run(0, by.panels());
            } else {
                pool->for_each(chunks, [&](std::size_t chunk, std::size_t) {
                    const auto mine = backend::host::part_of(tiles, chunk, chunks);
                    run(4 * mine.first, std::min(by.panels(), 4 * mine.last));
                });
            }
            return out;
        }

        void prepare(const packed_matrix& by, const columns<float>& in, std::size_t stride, std::byte* out) const {
            const auto format = input_of(by.format());
            for (Eigen::Index i = 0; i < in.cols(); ++i, out += stride) {
                const float* from = in.col(i).data();
                if (format == backend::host::input_format::f32) {
                    std::memcpy(out, from, by.depth() * sizeof(float));
                } else {
                    kernels.prepare(format, from, 0, by.depth(), out);
                }
            }
        }

        const backend::host::kernels& kernels;
        std::shared_ptr<backend::host::thread_pool> pool;
    };
    struct copy {
        std::once_flag once;
        packed_matrix weights;
    };

    packed_matrix transposed_weights() const {
        columns<std::uint16_t> halves(detail::index(classes()), detail::index(width()));
        each_rows([&](std::size_t first, const matrix<float>& rows) {
            halves.middleRows(detail::index(first), rows.rows()) =
                rows.unaryExpr([](float value) { return detail::float_to_half(value); });
        });
        packed_matrix transposed(backend::host::storage::f16, width(), classes());
        for (std::size_t row = 0; row < width(); ++row) {
            transposed.set_row(
                row, std::as_bytes(std::span<const std::uint16_t>(halves.col(detail::index(row)).data(), classes())));
        }
        return transposed;
    }

    template <class Use>
    void each_rows(const Use& use) const {
        constexpr std::size_t most = 512;
        for (std::size_t first = 0; first < classes(); first += most) {
            const std::size_t count = std::min(most, classes() - first);
            matrix<float> rows(detail::index(count), detail::index(width()));
            for (std::size_t i = 0; i < count; ++i) {
                weights_->unpack_row(first + i, {rows.data() + i * width(), width()});
            }
            use(first, rows);
        }
    }

    std::shared_ptr<const packed_matrix> weights_;
    std::shared_ptr<shared> shared_;
    std::shared_ptr<copy> copy_ = std::make_shared<copy>();
};

}  // namespace augur::train
