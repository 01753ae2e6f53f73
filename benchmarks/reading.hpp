#pragma once
// How fast this machine reads memory: the least that any forward pass over as many bytes of weights takes.

#include <algorithm>
#include <array>
#include <augur/backend/host/aligned_buffer.hpp>
#include <augur/backend/host/thread_pool.hpp>
#include <augur/detail/stopwatch.hpp>
#include <augur/types/error.hpp>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace reading {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;

/// Sums the 64-bit words of one chunk, from `streams` places of it at once, asking for memory `ahead` bytes before it
/// is used (0: not asking).
using chunk_sum = std::uint64_t (*)(const std::byte*);

inline void ask_for(const std::byte* at) {
    __builtin_prefetch(at, 0, 3);
}

template <std::size_t Streams, std::size_t Ahead>
std::uint64_t words_sum(const std::byte* chunk) {
    constexpr std::size_t part = chunk_bytes / Streams;
    std::array<std::array<std::uint64_t, 8>, Streams> sums{};
    for (std::size_t at = 0; at < part; at += 64) {
        for (std::size_t s = 0; s < Streams; ++s) {
            const auto* words = reinterpret_cast<const std::uint64_t*>(chunk + s * part + at);
            if constexpr (Ahead != 0) ask_for(chunk + s * part + at + Ahead);
            for (std::size_t k = 0; k < 8; ++k) sums[s][k] += words[k];
        }
    }
    std::uint64_t total = 0;
    for (const auto& of_stream : sums) {
        for (const std::uint64_t each : of_stream) total += each;
    }
    return total;
}

#if defined(__x86_64__)
// Eight accumulators, so that no load waits for an addition.
template <std::size_t Streams, std::size_t Ahead>
__attribute__((target("avx2"))) std::uint64_t avx2_sum(const std::byte* chunk) {
    constexpr std::size_t part = chunk_bytes / Streams, each = 8 / Streams;
    __m256i sums[8] = {};
    for (std::size_t at = 0; at < part; at += 32 * each) {
        for (std::size_t s = 0; s < Streams; ++s) {
            const std::byte* from = chunk + s * part + at;
            for (std::size_t k = 0; k < each; ++k) {
                if constexpr (Ahead != 0) {
                    if (k % 2 == 0) ask_for(from + 32 * k + Ahead);
                }
                const __m256i loaded = _mm256_load_si256(reinterpret_cast<const __m256i*>(from + 32 * k));
                sums[s * each + k] = _mm256_add_epi64(sums[s * each + k], loaded);
            }
        }
    }
    for (std::size_t k = 1; k < 8; ++k) sums[0] = _mm256_add_epi64(sums[0], sums[k]);
    alignas(32) std::uint64_t words[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(words), sums[0]);
    return words[0] + words[1] + words[2] + words[3];
}

template <std::size_t Streams, std::size_t Ahead>
__attribute__((target("avx512f"))) std::uint64_t avx512_sum(const std::byte* chunk) {
    constexpr std::size_t part = chunk_bytes / Streams, each = 8 / Streams;
    __m512i sums[8] = {};
    for (std::size_t at = 0; at < part; at += 64 * each) {
        for (std::size_t s = 0; s < Streams; ++s) {
            const std::byte* from = chunk + s * part + at;
            for (std::size_t k = 0; k < each; ++k) {
                if constexpr (Ahead != 0) ask_for(from + 64 * k + Ahead);
                sums[s * each + k] = _mm512_add_epi64(sums[s * each + k], _mm512_load_si512(from + 64 * k));
            }
        }
    }
    for (std::size_t k = 1; k < 8; ++k) sums[0] = _mm512_add_epi64(sums[0], sums[k]);
    alignas(64) std::uint64_t words[8];
    _mm512_store_si512(words, sums[0]);
    std::uint64_t total = 0;
    for (const std::uint64_t each_word : words) total += each_word;
    return total;
}
#endif

struct way {
    std::string name;
    chunk_sum sum;
    bool spread;  ///< each thread reads a range of its own, rather than the next chunk that is free
};

/// Every way that this processor can take.
inline std::vector<way> all_ways() {
    std::vector<way> ways;
    const auto add = [&](const std::string& name, chunk_sum sum) {
        ways.push_back({name + ", next chunk", sum, false});
        ways.push_back({name + ", ranges", sum, true});
    };
    const auto add_all = [&](const std::string& name, const auto& sum_of) {
        add(name + ", one stream", sum_of.template operator()<1, 0>());
        add(name + ", one stream, 1 KB ahead", sum_of.template operator()<1, 1024>());
        add(name + ", one stream, 4 KB ahead", sum_of.template operator()<1, 4096>());
        add(name + ", one stream, 8 KB ahead", sum_of.template operator()<1, 8192>());
        add(name + ", four streams", sum_of.template operator()<4, 0>());
        add(name + ", four streams, 1 KB ahead", sum_of.template operator()<4, 1024>());
    };
    add_all("64-bit words", []<std::size_t S, std::size_t A> { return chunk_sum(&words_sum<S, A>); });
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2")) {
        add_all("AVX2", []<std::size_t S, std::size_t A> { return chunk_sum(&avx2_sum<S, A>); });
    }
    if (__builtin_cpu_supports("avx512f")) {
        add_all("AVX-512", []<std::size_t S, std::size_t A> { return chunk_sum(&avx512_sum<S, A>); });
    }
#endif
    return ways;
}

/// Memory as large as a model's weights, in large pages where the system has them, and threads that read it. What fits
/// into caches is read from there, as weights of that size are.
class memory {
 public:
    memory(std::size_t bytes, std::size_t threads)
        : chunks_(bytes / chunk_bytes), memory_(checked(bytes) * chunk_bytes), pool_(threads), sums_(chunks_) {
        std::memset(memory_.data(), 1, memory_.size());
    }

    std::size_t bytes() const { return memory_.size(); }

    /// Seconds of reading everything once.
    double seconds(const way& how) {
        const std::size_t count = how.spread ? pool_.size() : chunks_;
        const augur::detail::stopwatch watch;
        pool_.for_each(count, [&](std::size_t index, std::size_t) {
            const auto mine = augur::backend::host::part_of(chunks_, index, count);
            for (std::size_t c = mine.first; c < mine.last; ++c) sums_[c] = how.sum(memory_.data() + c * chunk_bytes);
        });
        const double taken = watch.seconds();
        for (const std::uint64_t each : sums_) {
            if (each != chunk_bytes / 8 * 0x0101010101010101u) augur::detail::fail("the memory was not read");
        }
        return taken;
    }

    double gigabytes_per_second(const way& how) { return static_cast<double>(bytes()) / seconds(how) * 1e-9; }

 private:
    static std::size_t checked(std::size_t bytes) {
        if (bytes < chunk_bytes) augur::detail::fail("at least ", chunk_bytes, " bytes must be read, not ", bytes);
        return bytes / chunk_bytes;
    }

    std::size_t chunks_;
    augur::backend::host::aligned_buffer memory_;
    augur::backend::host::thread_pool pool_;
    std::vector<std::uint64_t> sums_;
};

inline double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return of[of.size() / 2];
}

struct measured_way {
    way how;
    std::vector<double> rates;  ///< gigabytes a second, of each time
};

/// All ways in turns, `times` times each after one that is not counted; the fastest by the median is first.
inline std::vector<measured_way> compared(memory& of, std::size_t times) {
    std::vector<measured_way> found;
    for (const way& each : all_ways()) found.push_back({each, {}});
    for (std::size_t turn = 0; turn <= times; ++turn) {
        for (measured_way& each : found) {
            const double rate = of.gigabytes_per_second(each.how);
            if (turn > 0) each.rates.push_back(rate);
        }
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return median(a.rates) > median(b.rates); });
    return found;
}

}  // namespace reading
