#pragma once
// What benchmarks on a GPU share: medians, times on the device, and which device it is.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "augur/backend/device/cuda_system.hpp"
#include "augur/backend/device/system.hpp"

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

}  // namespace augur::benchmarks
