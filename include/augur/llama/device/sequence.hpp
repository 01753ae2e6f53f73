#pragma once
// The state of one sequence of a Llama on a device.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "augur/backend/device/shared_buffer.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/llama/device/cache.hpp"
#include "augur/llama/device/rows.hpp"
#include "augur/types/scores.hpp"

namespace augur::llama::device {

/// Rows of floats in a device's memory, and on the host where somebody asks for them there. Grows, and never shrinks.
template <kernels::System S>
class float_rows {
 public:
    /// Room for so many rows; what is in it is undefined. Returns where it is on the device.
    float* require(const S& on, std::size_t rows, std::size_t width) {
        if (rows * width > memory_.size()) memory_ = kernels::buffer<float, S>(on, rows * width);
        rows_ = rows;
        width_ = width;
        is_here_ = false;
        return memory_.data();
    }
    /// Room for so many rows; those that are there are kept.
    void reserve(const S& on, std::size_t rows, std::size_t width) {
        if (rows * width <= memory_.size()) return;
        kernels::buffer<float, S> larger(on, 2 * rows * width);
        if (rows_ > 0) on.copy(larger.data(), memory_.data(), rows_ * width * sizeof(float));
        on.wait();
        memory_ = std::move(larger);
    }
    /// More rows, after those that are there. Returns where.
    float* append(const S& on, std::size_t rows, std::size_t width) {
        reserve(on, rows_ + rows, width);
        rows_ += rows;
        width_ = width;
        is_here_ = false;
        return memory_.data() + (rows_ - rows) * width;
    }
    void shrink(std::size_t rows) { rows_ = rows; }

    std::size_t size() const { return rows_; }
    const float* data() const { return memory_.data(); }
    float* data() { return memory_.data(); }
    std::size_t memory_bytes() const {
        return memory_.memory_bytes() + here_.capacity() * sizeof(float) + pinned_.memory_bytes();
    }

    /// Brought here once, and when it is asked for.
    scores on_host(const S& on) const {
        if (!is_here_ && rows_ > 0) {
            on.download(here(on, rows_ * width_), memory_.data(), rows_ * width_ * sizeof(float));
        }
        is_here_ = true;
        return {pinned_.size() > 0 ? pinned_.data() : here_.data(), rows_, width_};
    }

 private:
    /// Room on the host. Where that is worth it, what the system copies to at once: on CUDA anything else is copied
    /// twice.
    float* here(const S& on, std::size_t size) const {
        if (pinned_.size() >= size) return pinned_.data();
        if (size * sizeof(float) >= least_pinned || pinned_.size() > 0) {
            pinned_ = kernels::shared_buffer<float, S>(on, std::max(size, 2 * pinned_.size()));
            return pinned_.data();
        }
        here_.resize(std::max(here_.size(), size));
        return here_.data();
    }
    static constexpr std::size_t least_pinned = std::size_t{1} << 16;  // bytes

    kernels::buffer<float, S> memory_;
    std::size_t rows_ = 0, width_ = 0;
    mutable kernels::shared_buffer<float, S> pinned_;
    mutable std::vector<float> here_;
    mutable bool is_here_ = false;
};

enum class device_format;  // weights.hpp

/// A sequence of one device_model: owned by the caller, moved but not copied, changed only by the model.
template <class Element, kernels::System S>
class sequence {
 public:
    sequence(const S& on, cache_layout layout) : cache_(on, layout) {}

    std::size_t length() const { return length_; }
    /// Of the cache, and of what the last runs left.
    std::size_t memory_bytes() const {
        return cache_.memory_bytes() + logits_.memory_bytes() + hidden_.memory_bytes() + waiting_.memory_bytes();
    }

 private:
    template <class, kernels::System, device_format, class>
    friend class device_model;
    template <class, kernels::System, device_format, class>
    friend class device_passes;

    kv_cache<Element, S> cache_;
    std::size_t length_ = 0;
    float_rows<S> logits_, hidden_;     ///< of the last run
    float_rows<S> waiting_;             ///< states of the last positions, which lack layers
    std::size_t split_ = 0;             ///< layers that these have been through
    std::vector<std::int32_t> tree_;    ///< parents in the tree of the last run
    std::size_t tree_at_ = 0;           ///< the length then
    std::vector<const float*> places_;  ///< where the rows of a run lie that began with this sequence
};

}  // namespace augur::llama::device
