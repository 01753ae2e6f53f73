#pragma once
// Who is the last of the largest that hold so much? Found digit by digit, from counts, without sorting.

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

/// The last key of a ranking: how much is needed of those that have it, and how much they hold.
struct last_ranked {
    std::uint32_t key = 0;
    std::uint64_t needed = 0;
    std::uint64_t held = 0;
};

/// Of the block's memory that a ranking takes: what each thread counts, and sums of that.
inline constexpr std::size_t ranking_shared_bytes = (16 * most_threads + most_threads + 16) * sizeof(std::uint64_t);

/// Ranks keys by a whole block: of those in falling order, the first at which what they hold together reaches what is
/// needed. Integers are counted, each thread for itself, so that no order matters. Cost: eight looks at the keys, each
/// only at those that share the digits found so far or, if that is cheaper, at more.
template <class Team>
class ranking {
 public:
    /// With ranking_shared_bytes of the block's shared memory, from its beginning on. The block has most_threads
    /// threads.
    explicit AUGUR_KERNEL ranking(const Team& team)
        : team_(team),
          counts_(team.template shared<std::uint64_t>()),
          sums_(counts_ + digits * most_threads),
          totals_(sums_ + most_threads) {}

    /// `each(thread, least, take)` calls take(key, how much it holds) for those keys of the thread's that are not below
    /// `least`; for others it may. All threads' together are all keys. `needed(total)` says how much, 1 or more, of
    /// what all hold together. Where they do not hold it, the last key is 0.
    template <class Each, class Needed>
    AUGUR_KERNEL last_ranked last_of(const Each& each, const Needed& needed) const {
        last_ranked last;
        for (unsigned above = 32; above > 0; above -= digit_bits) {
            count(each, last.key, above);
            if (above == 32) last.needed = needed(total());
            unsigned digit = digits - 1;
            for (; digit > 0 && totals_[digit] < last.needed; --digit) last.needed -= totals_[digit];
            last.held = totals_[digit];
            last.key |= digit << (above - digit_bits);
        }
        return last;
    }

 private:
    static constexpr unsigned digit_bits = 4, digits = 1u << digit_bits;
    static constexpr unsigned parts = most_threads / digits;  // of what the threads counted, for adding it up

    /// Of the keys that agree with `known` but for the lowest `open` bits, how much each next digit holds.
    template <class Each>
    AUGUR_KERNEL void count(const Each& each, std::uint32_t known, unsigned open) const {
        const auto agrees = [=](std::uint32_t key) { return open == 32 || (key ^ known) >> open == 0; };
        team_.each([&](unsigned thread) {
            for (unsigned digit = 0; digit < digits; ++digit) counts_[digit * most_threads + thread] = 0;
            each(thread, known, [&](std::uint32_t key, std::uint64_t holds) {
                if (!agrees(key)) return;
                counts_[(key >> (open - digit_bits)) % digits * most_threads + thread] += holds;
            });
        });
        team_.each([&](unsigned thread) {
            std::uint64_t sum = 0;
            for (unsigned i = thread % parts; i < most_threads; i += parts) {
                sum += counts_[thread / parts * most_threads + i];
            }
            sums_[thread] = sum;
        });
        team_.each([&](unsigned thread) {
            if (thread >= digits) return;
            totals_[thread] = 0;
            for (unsigned i = 0; i < parts; ++i) totals_[thread] += sums_[thread * parts + i];
        });
    }

    AUGUR_KERNEL std::uint64_t total() const {
        std::uint64_t total = 0;
        for (unsigned digit = 0; digit < digits; ++digit) total += totals_[digit];
        return total;
    }

    const Team& team_;
    std::uint64_t* counts_;  // digits x threads
    std::uint64_t* sums_;    // digits x parts
    std::uint64_t* totals_;  // digits
};

}  // namespace augur::backend::device
