// How fast this machine reads memory: the floor of any forward pass over as many bytes of weights.
//
//   bench_read_bandwidth BYTES THREADS [TIMES]
//
// One line of JSON: billions of bytes a second, of each time. The memory lies as weights do, in large pages where the
// system has them. What fits into caches is read from there, as weights of that size are.

#include <augur/backend/host/aligned_buffer.hpp>
#include <augur/backend/host/thread_pool.hpp>
#include <augur/detail/stopwatch.hpp>
#include <augur/types/error.hpp>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace augur;

/// Eight sums at once, so that no load waits for an addition.
std::uint64_t sum(const std::uint64_t* from, std::size_t count) {
    std::uint64_t sums[8] = {};
    for (std::size_t i = 0; i + 8 <= count; i += 8) {
        for (std::size_t k = 0; k < 8; ++k) sums[k] += from[i + k];
    }
    std::uint64_t total = 0;
    for (const std::uint64_t each : sums) total += each;
    return total;
}

void run(std::size_t bytes, std::size_t threads, std::size_t times) {
    constexpr std::size_t chunk = std::size_t{1} << 20;
    const std::size_t chunks = bytes / chunk;
    if (chunks == 0) detail::fail("at least ", chunk, " bytes must be read, not ", bytes);
    backend::host::aligned_buffer memory(chunks * chunk);
    std::memset(memory.data(), 1, memory.size());
    backend::host::thread_pool pool(threads);
    const auto* words = reinterpret_cast<const std::uint64_t*>(memory.data());
    constexpr std::size_t per_chunk = chunk / sizeof(std::uint64_t);
    std::vector<std::uint64_t> sums(chunks);
    std::cout << "{\"gigabytes_per_second\": [";
    for (std::size_t i = 0; i <= times; ++i) {
        const detail::stopwatch watch;
        pool.for_each(chunks, [&](std::size_t c, std::size_t) { sums[c] = sum(words + c * per_chunk, per_chunk); });
        const double seconds = watch.seconds();
        if (i > 0) std::cout << (i > 1 ? ", " : "") << static_cast<double>(memory.size()) / seconds * 1e-9;
    }
    std::cout << "]}" << std::endl;
    for (const std::uint64_t each : sums) {
        if (each != per_chunk * 0x0101010101010101u) detail::fail("the memory was not read");
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) detail::fail("usage: bench_read_bandwidth BYTES THREADS [TIMES]");
        run(std::stoull(argv[1]), std::stoul(argv[2]), argc > 3 ? std::stoul(argv[3]) : 5);
    } catch (const std::exception& caught) {
        std::cerr << "bench_read_bandwidth: " << caught.what() << '\n';
        return 1;
    }
}
