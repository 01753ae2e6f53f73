#pragma once
// Samples an index in proportion to its weight by an exponential race (the Gumbel-max trick).

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/random/philox.hpp"
#include "augur/random/words_of.hpp"
#include "augur/types/draw_key.hpp"

namespace augur::random {

struct arrival {
    double time = std::numeric_limits<double>::infinity();
    std::size_t index = 0;
};

/// The earlier of `before` and the arrival of clock i, which rings at -log(1 - u) / weight; ties: `before`.
AUGUR_HOST_DEVICE inline arrival earlier_of(arrival before, std::size_t i, double weight, double u) {
    if (!(weight > 0) || u >= before.time * weight) return before;
    const double time = -std::log1p(-u) / weight;
    return time < before.time ? arrival{time, i} : before;
}

/// The earlier of `before` and the first arrival among clocks begin to end - 1; ties: the lower index. Clock i rings at
/// E_i / weight_i with E_i = -log(1 - u_i), and u_i belongs to the position and i alone. Since E_i >= u_i, the
/// logarithm is taken only for clocks that can still win. One Philox call per four weights, none for four zeros.
/// `begin` is a multiple of 4.
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
        const philox_counter words =
            words_of({position, purpose::exponential_race, 0}, static_cast<std::uint32_t>(block / 4), key);
        for (std::size_t i = block; i < past; ++i) {
            const double weight = static_cast<double>(weights[i]);
            before = earlier_of(before, i, weight, open_unit_interval(words[i - block]));
        }
    }
    return before;
}

/// The words of all clocks of a chunk: what words_of says of each block of four, side by side, so that compilers
/// vectorise it.
class chunk_of_words {
 public:
    /// `begin` is the chunk's first clock.
    chunk_of_words(std::size_t begin, std::size_t position, philox_key key) {
        std::uint32_t side[4][blocks];
        const auto first = static_cast<std::uint32_t>(begin / 4);
        const philox_counter counter = counter_of({position, purpose::exponential_race, 0}, first);
        for (std::uint32_t j = 0; j < blocks; ++j) {
            side[0][j] = counter[0] + j;
            for (std::size_t i = 1; i < 4; ++i) side[i][j] = counter[i];
        }
        for (int round = 0; round < philox_rounds; ++round) {
            for (std::size_t j = 0; j < blocks; ++j) {
                philox_round(side[0][j], side[1][j], side[2][j], side[3][j], key);
            }
            key = next_key(key);
        }
        for (std::size_t j = 0; j < blocks; ++j) {
            for (std::size_t i = 0; i < 4; ++i) words_[4 * j + i] = side[i][j];
        }
    }

    std::uint32_t operator[](std::size_t clock) const { return words_[clock]; }

 private:
    static constexpr std::size_t blocks = augur::detail::chunk_size / 4;
    std::uint32_t words_[4 * blocks];
};

/// first_arrival of a chunk of floats, sooner where many have a weight. Which of 32 clocks can still win is seen in
/// float, with each u rounded down and the time a little up.
inline arrival first_arrival_of_chunk(std::span<const float> weights, std::size_t begin, std::size_t end,
                                      std::size_t position, philox_key key, arrival before) {
    std::size_t possible = 0;
    for (std::size_t i = begin; i < end; ++i) possible += weights[i] > 0 ? 1 : 0;
    if (possible < 32) return first_arrival(weights, begin, end, position, key, before);
    const chunk_of_words words(begin, position, key);
    for (std::size_t part = begin; part < end; part += 32) {
        const std::size_t past = end - part < 32 ? end : part + 32;
        const float bound = static_cast<float>(before.time * 0x1.0p24 * 1.00001);
        std::uint32_t can_win = 0;
        for (std::size_t i = part; i < past; ++i) {
            const float u = static_cast<float>(static_cast<std::int32_t>(words[i - begin] >> 8));
            can_win |= static_cast<std::uint32_t>(u <= bound * weights[i]);
        }
        if (can_win == 0) continue;
        for (std::size_t i = part; i < past; ++i) {
            before = earlier_of(before, i, static_cast<double>(weights[i]), open_unit_interval(words[i - begin]));
        }
    }
    return before;
}

}  // namespace augur::random
