#pragma once
// What a Llama on a device remembers of one sequence.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "augur/backend/device/system.hpp"
#include "augur/llama/device/cache.hpp"
#include "augur/llama/device/rows.hpp"
#include "augur/types/scores.hpp"

namespace augur::llama::device {

/// Rows that belong to nobody else.
class owned_rows {
 public:
    owned_rows(std::vector<float> values, std::size_t width) : values_(std::move(values)), width_(width) {}

    std::size_t size() const { return values_.size() / width_; }
    logit_row operator[](std::size_t i) const { return logit_row(values_).subspan(i * width_, width_); }

 private:
    std::vector<float> values_;
    std::size_t width_;
};

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
    /// The same, with the rows that are there before kept.
    float* append(const S& on, std::size_t rows, std::size_t width) {
        if ((rows_ + rows) * width > memory_.size()) {
            kernels::buffer<float, S> larger(on, 2 * (rows_ + rows) * width);
            if (rows_ > 0) on.copy(larger.data(), memory_.data(), rows_ * width * sizeof(float));
            on.wait();
            memory_ = std::move(larger);
        }
        rows_ += rows;
        width_ = width;
        is_here_ = false;
        return memory_.data() + (rows_ - rows) * width;
    }
    void shrink(std::size_t rows) { rows_ = rows; }

    std::size_t size() const { return rows_; }
    const float* data() const { return memory_.data(); }
    float* data() { return memory_.data(); }
    std::size_t memory_bytes() const { return memory_.memory_bytes() + here_.capacity() * sizeof(float); }

    /// Brought here once, and when it is asked for.
    scores on_host(const S& on) const {
        if (!is_here_ && rows_ > 0) {
            here_.resize(rows_ * width_);
            on.download(here_.data(), memory_.data(), here_.size() * sizeof(float));
        }
        is_here_ = true;
        return {here_.data(), rows_, width_};
    }

 private:
    kernels::buffer<float, S> memory_;
    std::size_t rows_ = 0, width_ = 0;
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
    /// Of the cache and of the rows of the last extend.
    std::size_t memory_bytes() const {
        return cache_.memory_bytes() + logits_.memory_bytes() + hidden_.memory_bytes() + waiting_.memory_bytes();
    }

 private:
    template <class, kernels::System, device_format, class>
    friend class device_model;

    kv_cache<Element, S> cache_;
    std::size_t length_ = 0;
    std::vector<row_place> rows_;     ///< storage for the next extend
    float_rows<S> logits_, hidden_;   ///< of the last extend
    float_rows<S> waiting_;           ///< states of the last positions, which lack the deep layers
    std::size_t split_ = 0;           ///< layers that these have been through
    std::vector<std::int32_t> tree_;  ///< parents of the nodes that were scored last
    std::size_t tree_at_ = 0;         ///< the length then
};

}  // namespace augur::llama::device
