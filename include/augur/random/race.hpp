#pragma once
// The exponential race: the index whose clock rings first, drawn in proportion to its weight.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "augur/detail/host_device.hpp"
#include "augur/random/draw_key.hpp"
#include "augur/random/philox.hpp"

namespace augur::random {

struct arrival {
    double time = std::numeric_limits<double>::infinity();
    std::size_t index = 0;
};

/// The earlier of `before` and the first arrival among clocks begin to end - 1; ties: the lower index. Clock i rings at
/// E_i / weight_i with E_i = -log(1 - u_i), and u_i belongs to the position and i alone. Since E_i >= u_i, the logarithm is
/// taken only for clocks that can still win. One Philox call per four weights, none for four zeros. `begin` is a multiple of 4.
AUGUR_WHERE_ARGUMENTS_CAN
template <class Indexed>
AUGUR_HOST_DEVICE arrival first_arrival(const Indexed& weights, std::size_t begin, std::size_t end,
                                        std::size_t position, philox_key key, arrival before = {}) {
    for (std::size_t block = begin; block < end; block += 4) {
        const std::size_t past = end - block < 4 ? end : block + 4;
        double largest = 0;
        for (std::size_t i = block; i < past; ++i) {
            const double weight = static_cast<double>(weights[i]);
            largest = largest < weight ? weight : largest;
        }
        if (!(largest > 0) || open_unit_interval(0) >= before.time * largest) continue;
        const philox_counter words = words_of({position, purpose::race, 0}, static_cast<std::uint32_t>(block / 4), key);
        for (std::size_t i = block; i < past; ++i) {
            const double weight = static_cast<double>(weights[i]);
            const double u = open_unit_interval(words[i - block]);
            if (!(weight > 0) || u >= before.time * weight) continue;
            const double time = -std::log1p(-u) / weight;
            if (time < before.time) before = {time, i};
        }
    }
    return before;
}

}  // namespace augur::random
