#pragma once
// The thread-block abstraction that kernels are written against: a GPU's threads, or a CPU that emulates them one after
// another.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

#if defined(__CUDACC__)
/// Marks functions that run inside kernels.
#define AUGUR_KERNEL __device__
/// Before a loop whose steps are to be spelled out.
#define AUGUR_UNROLL _Pragma("unroll")
#else
#define AUGUR_KERNEL
#define AUGUR_UNROLL
#endif

namespace augur::backend::device {

/// Threads of a warp, which move together.
inline constexpr unsigned warp_size = 32;
/// The most threads that a kernel may ask for.
inline constexpr unsigned most_threads = 256;

/// A value of each thread: an index says which where one processor emulates them all.
template <class T, unsigned Threads>
class emulated_values {
 public:
    T& operator[](unsigned thread) { return values_[thread]; }
    const T& operator[](unsigned thread) const { return values_[thread]; }

 private:
    std::array<T, Threads> values_{};
};

/// What one instruction of tensor cores reads and makes: sixteen rows by sixteen k of weights, sixteen k by eight
/// columns of inputs, sixteen rows by eight columns of sums. A lane holds its part of each: with g = lane / 4 and q =
/// lane % 4
///   weights  rows g and g + 8, k of 2q, 2q + 1, 2q + 8, 2q + 9: as {g: two, g + 8: two, g: two, g + 8: two}
///   inputs   column g, the same k: as {two, two}
///   sums     rows g and g + 8, columns 2q and 2q + 1: as {g: two, g + 8: two}
/// (PTX ISA, mma.m16n8k16.) Two 16-bit numbers lie in a word, the first in its lower half.
struct alignas(16) weight_fragment {
    std::uint32_t words[4]{};
};
struct alignas(8) input_fragment {
    std::uint32_t words[2]{};
};
struct sum_fragment {
    float values[4]{};
};

/// One warp, emulated lane after lane.
class emulated_warp {
 public:
    template <class T>
    using own = emulated_values<T, warp_size>;

    emulated_warp(unsigned index, bool backwards) : index_(index), backwards_(backwards) {}

    /// Of the block's warps.
    unsigned index() const { return index_; }

    /// body(lane); what one lane has written to shared memory, the others see in the next phase.
    template <class Body>
    void each(const Body& body) const {
        for (unsigned i = 0; i < warp_size; ++i) body(backwards_ ? warp_size - 1 - i : i);
    }

    /// The same where nothing that is written is seen by others: no lane waits.
    template <class Body>
    void each_apart(const Body& body) const {
        each(body);
    }

    /// Every lane gets join(its own, ...) over all lanes, pair by pair: lanes 16 apart, then 8, 4, 2 and 1.
    template <class T, class Join>
    void combine(own<T>& values, const Join& join) const {
        for (unsigned apart = warp_size / 2; apart > 0; apart /= 2) {
            const own<T> before = values;
            for (unsigned lane = 0; lane < warp_size; ++lane) {
                const unsigned low = lane & ~apart, high = lane | apart;
                values[lane] = join(before[low], before[high]);
            }
        }
    }

    /// sums += weights * inputs. `Element` is what the 16-bit numbers are.
    template <class Element>
    void multiply_add(own<sum_fragment>& sums, const own<weight_fragment>& weights,
                      const own<input_fragment>& inputs) const {
        float w[16][16], x[8][16];  // the k in the order in which lanes hold them, which is that of the additions
        for (unsigned lane = 0; lane < warp_size; ++lane) {
            const unsigned group = lane / 4, first = lane % 4 * 4;
            for (unsigned i = 0; i < 4; ++i)
                unpack<Element>(weights[lane].words[i], w[group + i % 2 * 8] + first + i / 2 * 2);
            for (unsigned i = 0; i < 2; ++i) unpack<Element>(inputs[lane].words[i], x[group] + first + i * 2);
        }
        for (unsigned lane = 0; lane < warp_size; ++lane) {
            for (unsigned i = 0; i < 4; ++i) {
                const float *const row = w[lane / 4 + i / 2 * 8], *const column = x[lane % 4 * 2 + i % 2];
                float sum = sums[lane].values[i];
                for (unsigned k = 0; k < 16; ++k) sum += row[k] * column[k];
                sums[lane].values[i] = sum;
            }
        }
    }

 private:
    template <class Element>
    static void unpack(std::uint32_t word, float* to) {
        to[0] = Element::from_bits(static_cast<std::uint16_t>(word)).value();
        to[1] = Element::from_bits(static_cast<std::uint16_t>(word >> 16)).value();
    }

    unsigned index_;
    bool backwards_;
};

/// One block, emulated thread after thread. A kernel is a sequence of phases: `each` (or `each_warp`) runs its body for
/// all threads and then lets every thread see what all have written. Between phases every thread does the same with the
/// same values: nothing is written there, and nothing that the next phase writes is read. A phase must not depend on
/// the order of its threads: `backwards` turns it round, so that a test can see whether it does.
class emulated_team {
 public:
    template <class T>
    using own = emulated_values<T, most_threads>;

    emulated_team(std::size_t block, unsigned threads, std::byte* shared, bool backwards)
        : block_(block), threads_(threads), shared_(shared), backwards_(backwards) {}

    /// Which of the grid's blocks this is.
    std::size_t block() const { return block_; }
    unsigned threads() const { return threads_; }
    unsigned warps() const { return threads_ / warp_size; }

    /// The block's memory, from this byte on. Undefined at first.
    template <class T>
    T* shared(std::size_t offset = 0) const {
        return reinterpret_cast<T*>(shared_ + offset);
    }

    /// Until launches before this one are done, for kernels that start early (system.hpp).
    void wait_for_earlier() const {}

    /// body(thread)
    template <class Body>
    void each(const Body& body) const {
        for (unsigned i = 0; i < threads_; ++i) body(backwards_ ? threads_ - 1 - i : i);
    }
    /// body(warp)
    template <class Body>
    void each_warp(const Body& body) const {
        for (unsigned i = 0; i < warps(); ++i) body(emulated_warp(backwards_ ? warps() - 1 - i : i, backwards_));
    }

    /// See device::combined (scan_rows.hpp).
    template <class T, class Join>
    T combined(T* slots, const Join& join) const;

    /// For a block of most_threads: the slot of each thread, in shared memory, becomes the sum of those before it.
    /// Returns the sum of all.
    template <class T>
    T prefix_sums(T* slots) const {
        T sum{};
        for (unsigned i = 0; i < threads_; ++i) sum += std::exchange(slots[i], sum);
        return sum;
    }

 private:
    std::size_t block_;
    unsigned threads_;
    std::byte* shared_;
    bool backwards_;
};

/// Everything of `count` numbers in shared memory joined into the first, pair by pair: the same bits whoever runs it.
/// Leaves the numbers undefined. `count` is a power of two.
template <class Team, class T, class Join>
AUGUR_KERNEL void combine_shared(const Team& team, T* values, unsigned count, const Join& join) {
    for (unsigned apart = count / 2; apart > 0; apart /= 2) {
        team.each([&](unsigned thread) {
            for (unsigned i = thread; i < apart; i += team.threads()) values[i] = join(values[i], values[i + apart]);
        });
    }
}

template <class T, class Join>
T emulated_team::combined(T* slots, const Join& join) const {
    combine_shared(*this, slots, threads(), join);
    return slots[0];
}

/// 4, 8 or 16 bytes that another block may have written in this launch: never from the processor's own cache.
template <class T>
AUGUR_KERNEL T load_near(const T* from) {
    static_assert(sizeof(T) == 16 || sizeof(T) == 8 || sizeof(T) == 4);
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 16) {
        return std::bit_cast<T>(__ldcg(reinterpret_cast<const uint4*>(from)));
    } else if constexpr (sizeof(T) == 8) {
        return std::bit_cast<T>(__ldcg(reinterpret_cast<const uint2*>(from)));
    } else {
        return std::bit_cast<T>(__ldcg(reinterpret_cast<const unsigned*>(from)));
    }
#else
    return *from;
#endif
}

AUGUR_KERNEL inline float float_of(std::uint32_t bits) {
    return std::bit_cast<float>(bits);
}
AUGUR_KERNEL inline std::uint32_t bits_of(float number) {
    return std::bit_cast<std::uint32_t>(number);
}

/// Asks for memory that will be loaded later: it then comes from the cache that all processors share.
AUGUR_KERNEL inline void ask_for([[maybe_unused]] const void* from) {
#if defined(__CUDA_ARCH__)
    asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
#endif
}

/// What the thread has written before is seen by blocks that hear of it afterwards.
AUGUR_KERNEL inline void writes_are_out() {
#if defined(__CUDA_ARCH__)
    __threadfence();
#endif
}

/// Counts one arrival; whether it was the last of `total`, who sees what was out before the others and leaves zero.
AUGUR_KERNEL inline bool arrives_last(std::uint32_t* arrivals, std::uint32_t total) {
#if defined(__CUDA_ARCH__)
    const bool last = atomicAdd(arrivals, 1u) + 1 == total;
    __threadfence();
#else
    const bool last = ++*arrivals == total;
#endif
    if (last) *arrivals = 0;
    return last;
}

/// Once for each of `total` blocks, with all that it has done: whether this one is the last, who sees what the others
/// have written. `slot` is of shared memory, and free again.
template <class Team>
AUGUR_KERNEL bool is_last_block(const Team& team, std::uint32_t* arrivals, std::size_t total, std::uint32_t* slot) {
    team.each([](unsigned) { writes_are_out(); });
    team.each([&](unsigned thread) {
        if (thread == 0) *slot = arrives_last(arrivals, static_cast<std::uint32_t>(total));
    });
    const bool last = *slot != 0;
    team.each([](unsigned) {});
    return last;
}

}  // namespace augur::backend::device
