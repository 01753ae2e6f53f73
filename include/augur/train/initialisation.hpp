#pragma once
// Initialisation of low-rank updates.

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "augur/random/philox.hpp"
#include "augur/train/matrix.hpp"

namespace augur::train {

/// A matrix that takes inputs of variance 1 to outputs of about that: uniform, of variance 1 / columns. Equal seeds and
/// streams, equal numbers.
template <class Scalar>
void fill_uniform(vector<Scalar>& values, const head_block& at, std::uint64_t seed, std::uint32_t stream) {
    const random::philox_key key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
    const double half_width = std::sqrt(3.0 / static_cast<double>(at.columns));
    for (std::size_t i = 0; i < at.size(); ++i) {
        const auto words = random::philox4x32({static_cast<std::uint32_t>(i), stream, 0, 0}, key);
        values[detail::index(at.offset + i)] =
            static_cast<Scalar>(half_width * (2 * random::unit_interval(words[0], words[1]) - 1));
    }
}

}  // namespace augur::train
