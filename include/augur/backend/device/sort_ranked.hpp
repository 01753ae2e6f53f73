#pragma once
// A sort within one block, for a few selected tokens.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "augur/backend/device/team.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/tree/greatest_path.hpp"

namespace augur::backend::device {

/// Shared memory that ranked_sort takes.
inline constexpr unsigned sort_digit_bits = 4, sort_digits = 1u << sort_digit_bits;
inline constexpr std::size_t sort_shared_bytes = (sort_digits + 1) * most_threads * sizeof(std::uint32_t);

/// A ratio that comes after all others.
AUGUR_HOST_DEVICE inline float ratio_after_all() {
    return std::bit_cast<float>(~std::uint32_t{0});
}

/// Sorts by ratio, which is no less than 0 or ratio_after_all(). Equal ones keep their order. Digit by digit of four
/// bits, each thread a part of its own: O(8 * (size / threads + 32)). A block of most_threads.
template <class Team>
class ranked_sort {
 public:
    AUGUR_KERNEL ranked_sort(const Team& team, std::size_t offset)
        : team_(team), counts_(team.template shared<std::uint32_t>(offset)) {}

    /// `other` is room for as many, and undefined afterwards.
    AUGUR_KERNEL void operator()(tree::ranked_token* values, tree::ranked_token* other, std::size_t size) const {
        for (unsigned shift = 0; shift < 32; shift += sort_digit_bits) {
            const auto digit_of = [shift](const tree::ranked_token& value) {
                return std::bit_cast<std::uint32_t>(value.ratio) >> shift & (sort_digits - 1);
            };
            count(values, size, digit_of);
            team_.each([&](unsigned thread) {
                for (std::size_t i = begin_of(thread, size); i < begin_of(thread + 1, size); ++i) {
                    other[count_of(digit_of(values[i]), thread)++] = values[i];
                }
            });
            std::swap(values, other);
        }
        static_assert(32 / sort_digit_bits % 2 == 0,
                      "an odd number of digits would leave the result in the other buffer");
    }

 private:
    static AUGUR_HOST_DEVICE std::size_t begin_of(unsigned thread, std::size_t size) {
        return size * thread / most_threads;
    }
    AUGUR_KERNEL std::uint32_t& count_of(unsigned digit, unsigned thread) const {
        return counts_[digit * most_threads + thread];
    }

    /// Leaves in the counts where each thread's first value of each digit goes.
    template <class Digit>
    AUGUR_KERNEL void count(const tree::ranked_token* values, std::size_t size, const Digit& digit_of) const {
        std::uint32_t* const before = counts_ + sort_digits * most_threads;
        team_.each([&](unsigned thread) {
            for (unsigned digit = 0; digit < sort_digits; ++digit) count_of(digit, thread) = 0;
            for (std::size_t i = begin_of(thread, size); i < begin_of(thread + 1, size); ++i) {
                ++count_of(digit_of(values[i]), thread);
            }
        });
        team_.each([&](unsigned thread) {
            before[thread] = 0;
            for (unsigned i = 0; i < sort_digits; ++i) before[thread] += counts_[thread * sort_digits + i];
        });
        team_.prefix_sums(before);
        team_.each([&](unsigned thread) {
            std::uint32_t next = before[thread];
            for (unsigned i = 0; i < sort_digits; ++i) next += std::exchange(counts_[thread * sort_digits + i], next);
        });
    }

    const Team& team_;
    std::uint32_t* counts_;
};

}  // namespace augur::backend::device
