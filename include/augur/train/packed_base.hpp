#pragma once
// A model's own head, as the kernels that draft read it, as what an exit head starts from.

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
#include "augur/train/matrix.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// Products are those of the host's kernels, weights staying as they are stored: quantised ones round the states first,
/// as they do when the model runs. Products with the transposed, which slopes by the state need, are exact: rows are
/// unpacked, some at a time, and multiplied by Eigen. Models HeadBase.
/// Threads share one product at a time: whoever comes while it is busy computes alone, with the same result.
/// Memory: beside the weights, 512 rows of floats while it transposes.
class packed_base {
 public:
    using scalar = float;
    using packed_matrix = backend::host::packed_matrix;

    /// Refers to the weights, which must outlive it and its copies.
    explicit packed_base(const packed_matrix& weights, std::size_t threads = 1,
                         backend::host::instruction_set set = backend::host::instruction_set::automatic)
        : weights_(&weights, [](const packed_matrix*) {}), shared_(std::make_shared<shared>(threads, set)) {
        if (weights.rows() == 0) detail::fail("packed_base: this matrix has no rows");
    }

    std::size_t classes() const { return weights_->rows(); }
    std::size_t width() const { return weights_->depth(); }

    /// Of these rows alone, in this order: a head over a pruned vocabulary. Copies them.
    packed_base selected(std::span<const token> tokens) const {
        std::vector<std::size_t> rows;
        for (const token id : tokens) {
            if (id < 0 || static_cast<std::size_t>(id) >= classes()) {
                detail::fail("token ", id, " is none of the ", classes(), " that the head has rows for");
            }
            rows.push_back(static_cast<std::size_t>(id));
        }
        packed_base made = *this;
        made.weights_ = std::make_shared<const packed_matrix>(weights_->selected(rows));
        return made;
    }

    columns<float> product(const columns<float>& in) const {
        const std::size_t count = static_cast<std::size_t>(in.cols());
        columns<float> out(detail::index(classes()), in.cols());
        if (count == 0) return out;
        const auto whole = backend::host::product_of(*weights_, nullptr, count, out.data());
        backend::host::aligned_buffer prepared(count * whole.x_stride + 64);
        prepare(in, whole.x_stride, prepared.data());
        auto task = whole;
        task.x = prepared.data();
        const auto run = [&](std::size_t first, std::size_t last) {
            auto part = task;
            part.first_panel = first;
            part.last_panel = last;
            shared_->kernels.product(part);
        };
        const std::unique_lock own(shared_->busy, std::try_to_lock);
        if (!own.owns_lock() || shared_->pool.size() == 1) {
            run(0, weights_->panels());
            return out;
        }
        const std::size_t tiles = (weights_->panels() + 3) / 4, chunks = std::min(tiles, 4 * shared_->pool.size());
        shared_->pool.for_each(chunks, [&](std::size_t chunk, std::size_t) {
            const auto mine = backend::host::part_of(tiles, chunk, chunks);
            run(4 * mine.first, std::min(weights_->panels(), 4 * mine.last));
        });
        return out;
    }

    columns<float> transposed(const columns<float>& in) const {
        columns<float> out = columns<float>::Zero(detail::index(width()), in.cols());
        each_rows([&](std::size_t first, const matrix<float>& rows) {
            out.noalias() += rows.transpose() * in.middleRows(detail::index(first), rows.rows());
        });
        return out;
    }

    vector<float> row_squares() const {
        vector<float> made(detail::index(classes()));
        each_rows([&](std::size_t first, const matrix<float>& rows) {
            made.segment(detail::index(first), rows.rows()) = rows.rowwise().squaredNorm();
        });
        return made;
    }

    matrix<float> dense() const {
        matrix<float> made(detail::index(classes()), detail::index(width()));
        each_rows([&](std::size_t first, const matrix<float>& rows) {
            made.middleRows(detail::index(first), rows.rows()) = rows;
        });
        return made;
    }

 private:
    struct shared {
        shared(std::size_t threads, backend::host::instruction_set set)
            : kernels(backend::host::kernels_of(set)), pool(threads) {}

        const backend::host::kernels& kernels;
        std::mutex busy;
        backend::host::thread_pool pool;
    };

    void prepare(const columns<float>& in, std::size_t stride, std::byte* out) const {
        const auto format = input_of(weights_->format());
        for (Eigen::Index i = 0; i < in.cols(); ++i, out += stride) {
            const float* from = in.col(i).data();
            if (format == backend::host::input_format::f32) {
                std::memcpy(out, from, width() * sizeof(float));
            } else {
                shared_->kernels.prepare(format, from, 0, width(), out);
            }
        }
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
};

}  // namespace augur::train
