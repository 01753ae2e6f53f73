#pragma once
// A distribution over the vocabulary that stays in device memory. Host code asks it for single numbers.

#include <cstddef>
#include <vector>

#include "augur/backend/device/execution.hpp"
#include "augur/backend/device/row.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/token.hpp"

namespace augur::backend::device {

/// What device code sees of a distribution: types/distribution.hpp's weights and total, bit for bit.
struct weights_view {
    const float* weights = nullptr;
    token point = no_token;
    double total = 0;

    AUGUR_HOST_DEVICE double operator[](std::size_t i) const {
        if (point != no_token) return static_cast<std::size_t>(point) == i ? 1.0 : 0.0;
        return static_cast<double>(weights[i]);
    }
    AUGUR_HOST_DEVICE double probability(std::size_t i) const { return (*this)[i] / total; }
};

/// augur::distribution's interface and meaning. The weights and the sums of their chunks stay on the device; size,
/// total and point are known on the host; each element asked for is one number that crosses, `mode` is a pass.
template <class Policy = default_policy>
class distribution {
 public:
    distribution() = default;
    explicit distribution(Policy on) : on_(on) {}

    std::size_t size() const { return size_; }
    bool empty() const { return !(total_ > 0); }
    bool is_point() const { return point_ != no_token; }
    double operator[](std::size_t i) const {
        if (is_point()) return static_cast<std::size_t>(point_) == i ? 1.0 : 0.0;
        return static_cast<double>(static_cast<float>(weights_[i]));
    }
    double total() const { return total_; }
    double probability(token of) const { return (*this)[static_cast<std::size_t>(of)] / total_; }
    token mode() const { return is_point() ? point_ : scan(on_, row{address(weights_), size_}).first; }

    const Policy& policy() const { return on_; }
    weights_view view() const { return {address(weights_), point_, total_}; }
    /// Of each chunk of the weights; none for a point.
    const memory<double>& sums() const { return sums_; }

    void become_point(token on, std::size_t vocabulary_size) {
        size_ = vocabulary_size;
        point_ = on;
        total_ = 1;
    }
    void become_empty(std::size_t vocabulary_size) {
        size_ = vocabulary_size;
        point_ = no_token;
        total_ = 0;
        weights_.assign(size_, 0.0f);
        sums_.assign(augur::detail::chunks_in(size_), 0.0);
    }
    /// Gives the storage for so many weights to `fill(float*)`, which leaves nonnegative weights there, then takes
    /// their sums. If `fill` throws, the distribution is empty.
    template <class Fill>
    void refill(std::size_t size, Fill&& fill) {
        become_empty(size);
        fill(address(weights_));
        sums_ = map_chunks(on_, size_, sum_chunk<const float*>{address(weights_)});
        total_ = fold(on_, sums_, plus{});
    }

 private:
    Policy on_{};
    memory<float> weights_;
    memory<double> sums_;
    std::size_t size_ = 0;
    double total_ = 0;
    token point_ = no_token;
};

/// A copy on the host.
template <class Policy>
augur::distribution on_host(const distribution<Policy>& from) {
    if (from.is_point()) return augur::distribution::point(from.mode(), from.size());
    std::vector<float> weights(from.size());
    const thrust::device_ptr<const float> first(from.view().weights);
    thrust::copy(first, first + static_cast<std::ptrdiff_t>(from.size()), weights.begin());
    return augur::distribution::weighted(std::move(weights));
}

}  // namespace augur::backend::device
