#pragma once
// What benchmarks on a GPU share: medians, times on the device, which device it is, options, and what is written.

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "augur/backend/device/cuda_system.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::benchmarks {

using backend::device::check_cuda, backend::device::cuda_system;

inline double median(std::vector<double> of) {
    std::sort(of.begin(), of.end());
    return (of[(of.size() - 1) / 2] + of[of.size() / 2]) / 2;
}

/// Measures on the device what is launched.
class device_watch {
 public:
    device_watch() {
        check_cuda(cudaEventCreate(&begin_), "making an event");
        check_cuda(cudaEventCreate(&end_), "making an event");
    }
    ~device_watch() {
        cudaEventDestroy(begin_);
        cudaEventDestroy(end_);
    }
    device_watch(const device_watch&) = delete;
    device_watch& operator=(const device_watch&) = delete;

    template <class Launch>
    double seconds(const cuda_system& on, const Launch& launch) const {
        check_cuda(cudaEventRecord(begin_, on.stream()), "recording an event");
        launch();
        check_cuda(cudaEventRecord(end_, on.stream()), "recording an event");
        on.wait();
        float milliseconds = 0;
        check_cuda(cudaEventElapsedTime(&milliseconds, begin_, end_), "reading events");
        return static_cast<double>(milliseconds) * 1e-3;
    }

 private:
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

struct machine {
    std::string name;
    int driver = 0, runtime = 0, clock_khz = 0, memory_clock_khz = 0;
    double bandwidth = 0;  ///< bytes a second, read and written, of a copy within the device

    void print() const {
        std::printf(
            "%s, driver %d, runtime %d, clocks up to %d MHz, of memory %d MHz, copies %.0f GB/s (read and written)\n",
            name.c_str(), driver, runtime, clock_khz / 1000, memory_clock_khz / 1000, bandwidth * 1e-9);
    }
    /// Members of an object.
    std::string json() const {
        std::ostringstream out;
        out << "\"device\": \"" << name << "\", \"driver\": " << driver << ", \"runtime\": " << runtime
            << ", \"clock_khz\": " << clock_khz << ", \"memory_clock_khz\": " << memory_clock_khz
            << ", \"copy_bytes_per_second\": " << bandwidth;
        return out.str();
    }
};

/// With the median of so many copies.
inline machine describe(std::size_t repeat) {
    machine m;
    int current = 0;
    cudaDeviceProp found;
    check_cuda(cudaGetDevice(&current), "asking for the current GPU");
    check_cuda(cudaGetDeviceProperties(&found, current), "asking what the GPU is");
    m.name = found.name;
    check_cuda(cudaDriverGetVersion(&m.driver), "asking for the driver's version");
    check_cuda(cudaRuntimeGetVersion(&m.runtime), "asking for the runtime's version");
    check_cuda(cudaDeviceGetAttribute(&m.clock_khz, cudaDevAttrClockRate, current), "asking for the clock");
    check_cuda(cudaDeviceGetAttribute(&m.memory_clock_khz, cudaDevAttrMemoryClockRate, current),
               "asking for the clock");
    const cuda_system on;
    const std::size_t bytes = std::size_t{1} << 30;
    const backend::device::buffer<std::byte, cuda_system> from(on, bytes), to(on, bytes);
    on.clear(from.data(), bytes);
    const device_watch watch;
    std::vector<double> times;
    for (std::size_t i = 0; i <= repeat; ++i) {
        const double taken = watch.seconds(on, [&] { on.copy(to.data(), from.data(), bytes); });
        if (i > 0) times.push_back(taken);  // the first warms up
    }
    m.bandwidth = 2 * static_cast<double>(bytes) / median(times);
    return m;
}

inline std::vector<token> some_text(std::size_t vocabulary, std::size_t size) {
    std::vector<token> text(size);
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<token>((i * 7919 + 13) % vocabulary);
    return text;
}

/// ||a - b|| / ||b||.
inline double distance(std::span<const float> a, std::span<const float> b) {
    double apart = 0, length = 0;
    for (std::size_t i = 0; i < b.size(); ++i) {
        const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        apart += difference * difference;
        length += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    }
    return std::sqrt(apart / length);
}
/// More than rounding to bfloat16 makes of it in other orders of additions, through the layers of a model; rows that
/// have nothing to do with each other are apart by 1.4.
inline constexpr double most_apart = 0.1;

/// Nothing, where no file is named. Numbers that are none become null, which JSON has.
inline void write_json(const std::string& file, std::string text) {
    if (file.empty()) return;
    for (const char* const none : {": nan", ": -nan", ": inf", ": -inf"}) {
        const std::string from = none;
        for (auto at = text.find(from); at != text.npos; at = text.find(from, at)) {
            text.replace(at, from.size(), ": null");
        }
    }
    std::ofstream out(file);
    out << text;
    if (!out.flush()) augur::detail::fail("cannot write ", file);
}

/// Where each option's value goes.
struct options {
    std::map<std::string, std::string*> texts;
    std::map<std::string, std::size_t*> numbers;
    std::map<std::string, double*> reals;

    void read(int argc, char** argv) const {
        for (int i = 1; i < argc; i += 2) {
            const std::string key = argv[i];
            if (i + 1 == argc) augur::detail::fail(key, " lacks its value");
            const std::string value = argv[i + 1];
            if (const auto text = texts.find(key); text != texts.end()) {
                *text->second = value;
            } else if (const auto number = numbers.find(key); number != numbers.end()) {
                *number->second = std::stoul(value);
            } else if (const auto real = reals.find(key); real != reals.end()) {
                *real->second = std::stod(value);
            } else {
                augur::detail::fail("there is no option ", key);
            }
        }
    }
};

/// A program's exit code: 0 if run() says so, else 1; 77 where there is no GPU. Says what went wrong.
template <class Run>
int run_on_gpu(const char* name, const Run& run) {
    try {
        int count = 0;
        if (const auto status = cudaGetDeviceCount(&count); status != cudaSuccess || count == 0) {
            std::fprintf(stderr, "%s: there is no GPU (%s)\n", name, cudaGetErrorString(status));
            return 77;
        }
        return run() ? 0 : 1;
    } catch (const std::exception& caught) {
        std::fprintf(stderr, "%s: %s\n", name, caught.what());
        return 1;
    }
}

}  // namespace augur::benchmarks
