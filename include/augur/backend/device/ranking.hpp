#pragma once
// Radix-selects the top-k or top-p threshold of a row: digit by digit from histograms of many blocks, without sorting.

#include <bit>
#include <cstddef>
#include <cstdint>

#include "augur/backend/device/team.hpp"
#include "augur/detail/host_device.hpp"

namespace augur::backend::device {

/// Bits in the order of the numbers that they stand for; -0 before 0. Not for NaN.
AUGUR_HOST_DEVICE inline std::uint32_t key_of(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
}
/// The number whose key this is.
AUGUR_HOST_DEVICE inline float value_of(std::uint32_t key) {
    return std::bit_cast<float>((key & 0x80000000u) != 0 ? key & 0x7fffffffu : ~key);
}

/// The threshold key of a radix select: how much is needed of those that have it, and how much they hold.
struct last_ranked {
    std::uint32_t key = 0;
    std::uint64_t needed = 0;
    std::uint64_t held = 0;
};

/// Bits of a digit that keys are ranked by, at most, and how many digits there are of so many.
inline constexpr unsigned most_digit_bits = 11, most_digits = 1u << most_digit_bits;
/// Of a block's memory that a ranking takes: what digits hold, and sums of that.
inline constexpr std::size_t ranking_shared_bytes =
    (most_digits + most_threads) * sizeof(std::uint64_t) + sizeof(last_ranked);

/// Adds to a number of the block's memory, whatever other threads add.
AUGUR_KERNEL inline void add_in_block(std::uint64_t* to, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
    auto* const words = reinterpret_cast<unsigned*>(to);  // of 32 bits, which hardware adds to shared memory
    const auto low = static_cast<unsigned>(value);
    const unsigned before = atomicAdd(words, low);
    const unsigned high = static_cast<unsigned>(value >> 32) + (before + low < before ? 1 : 0);
    if (high != 0) atomicAdd(words + 1, high);
#else
    *to += value;
#endif
}

/// Adds to a number of the system's memory, whatever other blocks add.
AUGUR_KERNEL inline void add_in_system(std::uint64_t* to, std::uint64_t value) {
#if defined(__CUDA_ARCH__)
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
#else
    *to += value;
#endif
}

/// One digit pass of a radix select: of those in falling order, the first at which what they hold together reaches what
/// is needed. Many blocks add what the next digits of their keys hold; the last of them has the digit. Integers are
/// added, so that no order matters. A ranking is such a launch for each digit, from the highest on.
template <class Team>
class ranking {
 public:
    /// Of the keys the lowest `open` bits are not known yet, and the highest `bits` of these are looked for. With
    /// ranking_shared_bytes of the block's shared memory, from its beginning on. `counts` are most_digits in the
    /// system's memory: 0, and left so. The block has most_threads threads.
    AUGUR_KERNEL ranking(const Team& team, unsigned open, unsigned bits, std::uint64_t* counts)
        : team_(team), open_(open), shift_(open - bits), digits_(1u << bits), counts_(counts) {}

    /// `each(thread, take)` calls take(key, how much it holds) for those keys of the thread's that agree with `known`
    /// in what is known; for others it may. All threads' of all blocks together are all keys.
    template <class Each>
    AUGUR_KERNEL void add(std::uint32_t known, const Each& each) const {
        std::uint64_t* const here = held();
        team_.each([&](unsigned thread) {
            for (unsigned digit = thread; digit < digits_; digit += most_threads) here[digit] = 0;
        });
        team_.each([&](unsigned thread) {
            each(thread, [&](std::uint32_t key, std::uint64_t holds) {
                const bool agrees = open_ == 32 || (key ^ known) >> open_ == 0;
                if (agrees && holds > 0) add_in_block(here + (key >> shift_) % digits_, holds);
            });
        });
        team_.each([&](unsigned thread) {
            for (unsigned digit = thread; digit < digits_; digit += most_threads) {
                if (here[digit] > 0) add_in_system(counts_ + digit, here[digit]);
            }
        });
    }

    /// For the last block: the next digit. `needed(total)` says how much, 1 or more, is needed of what all hold
    /// together that agree. Where they do not hold it, the digit is 0.
    template <class Needed>
    AUGUR_KERNEL last_ranked next(std::uint32_t known, const Needed& needed) const {
        std::uint64_t *const here = held(), *const before = here + most_digits;
        auto* const found = reinterpret_cast<last_ranked*>(before + most_threads);
        const unsigned each = digits_ / most_threads;
        team_.each([&](unsigned thread) {
            std::uint64_t sum = 0;
            for (unsigned i = 0; i < each; ++i) {
                const unsigned digit = digits_ - 1 - (thread * each + i);
                here[digit] = load_near(counts_ + digit);
                counts_[digit] = 0;
                sum += here[digit];
            }
            before[thread] = sum;
        });
        const std::uint64_t wanted = needed(team_.prefix_sums(before));
        team_.each([&](unsigned thread) {
            if (before[thread] >= wanted) return;
            std::uint64_t left = wanted - before[thread];
            for (unsigned i = 0; i < each; ++i) {
                const unsigned digit = digits_ - 1 - (thread * each + i);
                if (here[digit] >= left || digit == 0) {
                    *found = {known | digit << shift_, left, here[digit]};
                    return;
                }
                left -= here[digit];
            }
        });
        return *found;
    }

 private:
    AUGUR_KERNEL std::uint64_t* held() const { return team_.template shared<std::uint64_t>(); }

    const Team& team_;
    unsigned open_, shift_, digits_;
    std::uint64_t* counts_;
};

}  // namespace augur::backend::device
