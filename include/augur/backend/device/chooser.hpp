#pragma once
// The production chooser for weights that lie in device memory: the same numbers, the same answers.

#include <cstddef>
#include <cstdint>

#include "augur/backend/device/distribution.hpp"
#include "augur/backend/device/execution.hpp"
#include "augur/random/chooser.hpp"

namespace augur::backend::device {

/// Weights that device code can read: view(), an Indexed; sums() of its chunks; policy().
template <class W>
concept DeviceWeights = Weights<W> && requires(const W& weights) {
    weights.view();
    weights.sums();
    weights.policy();
};

template <class View>
struct find_weight {
    View weights;
    std::size_t size;
    const double* sums;
    double threshold;

    AUGUR_HOST_DEVICE std::size_t operator()() const {
        return augur::detail::find_in_chunks(weights, size, sums, threshold);
    }
};

template <class View>
struct race_chunk {
    View weights;
    std::size_t position;
    random::philox_key key;

    AUGUR_HOST_DEVICE random::arrival operator()(std::size_t begin, std::size_t end) const {
        return random::first_arrival(weights, begin, end, position, key);
    }
};

struct earlier {
    AUGUR_HOST_DEVICE random::arrival operator()(const random::arrival& a, const random::arrival& b) const {
        return b.time < a.time ? b : a;
    }
};

/// random::philox_chooser, which host weights still go to; one index crosses per draw.
class chooser : public random::philox_chooser {
 public:
    using philox_chooser::philox_chooser;

    std::size_t choose(const Weights auto& weights, draw_key key) const { return philox_chooser::choose(weights, key); }
    std::size_t exponential_race(const Weights auto& weights, std::size_t position) const {
        return philox_chooser::exponential_race(weights, position);
    }

    /// One worker walks the sums of chunks, then one chunk.
    template <DeviceWeights W>
    std::size_t choose(const W& weights, draw_key key) const {
        if constexpr (requires { weights.is_point(); }) {  // a point has no sums, and needs none
            if (weights.is_point()) return static_cast<std::size_t>(weights.mode());
        }
        const double threshold = uniform(key) * weights.total();
        return compute(weights.policy(), find_weight<decltype(weights.view())>{weights.view(), weights.size(),
                                                                               address(weights.sums()), threshold});
    }

    /// One pass: every chunk's first arrival, then the earliest of them.
    template <DeviceWeights W>
    std::size_t exponential_race(const W& weights, std::size_t position) const {
        const race_chunk<decltype(weights.view())> clocks{weights.view(), position, key_};
        return fold(weights.policy(), map_chunks(weights.policy(), weights.size(), clocks), earlier{}).index;
    }
};

static_assert(Chooser<chooser>);

}  // namespace augur::backend::device
