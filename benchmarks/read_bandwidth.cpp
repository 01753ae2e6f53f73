// How fast this machine reads memory: the floor of any forward pass over as many bytes of weights.
//
//   bench_read_bandwidth BYTES THREADS [TIMES]
//
// Several ways of reading take turns: words of 64 bits, AVX2, AVX-512; one stream or four; with and without prefetches;
// each thread its own range or the next free megabyte. One line of JSON: the fastest way, what it read in billions of
// bytes a second each time, and the median of every way. `bench_goals` takes turns between the fastest way and the
// passes of a model.

#include <iostream>

#include "reading.hpp"

namespace {

void run(std::size_t bytes, std::size_t threads, std::size_t times) {
    if (times == 0) augur::detail::fail("TIMES must be at least 1");
    reading::memory memory(bytes, threads);
    const auto found = reading::compared(memory, times);
    std::cout << "{\"way\": \"" << found.front().how.name << "\", \"gigabytes_per_second\": [";
    for (std::size_t i = 0; i < times; ++i) std::cout << (i > 0 ? ", " : "") << found.front().rates[i];
    std::cout << "], \"medians\": {";
    for (std::size_t i = 0; i < found.size(); ++i) {
        std::cout << (i > 0 ? ", " : "") << '"' << found[i].how.name << "\": " << reading::median(found[i].rates);
    }
    std::cout << "}}" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 3) augur::detail::fail("usage: bench_read_bandwidth BYTES THREADS [TIMES]");
        run(std::stoull(argv[1]), std::stoul(argv[2]), argc > 3 ? std::stoul(argv[3]) : 5);
    } catch (const std::exception& caught) {
        std::cerr << "bench_read_bandwidth: " << caught.what() << '\n';
        return 1;
    }
}
