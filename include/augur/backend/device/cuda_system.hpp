#pragma once
// Kernels and memory on a GPU, by CUDA's runtime. For sources that nvcc compiles; others see nothing here.

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// Throws with CUDA's own words where something went wrong.
inline void check_cuda(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    augur::detail::fail("CUDA: ", what, ": ", cudaGetErrorName(status), " (", cudaGetErrorString(status), ")");
}

/// A value of the thread that asks.
template <class T>
class cuda_value {
 public:
    __device__ T& operator[](unsigned) { return value_; }
    __device__ const T& operator[](unsigned) const { return value_; }

 private:
    T value_{};
};

/// See played_warp.
class cuda_warp {
 public:
    template <class T>
    using own = cuda_value<T>;

    __device__ unsigned index() const { return threadIdx.x / warp_size; }

    template <class Body>
    __device__ void each(const Body& body) const {
        body(threadIdx.x % warp_size);
        __syncwarp();
    }
    template <class Body>
    __device__ void each_apart(const Body& body) const {
        body(threadIdx.x % warp_size);
    }

    template <class T, class Join>
    __device__ void combine(own<T>& values, const Join& join) const {
        const unsigned lane = threadIdx.x % warp_size;
        T mine = values[lane];
        for (unsigned apart = warp_size / 2; apart > 0; apart /= 2) {
            const T other = __shfl_xor_sync(0xffffffffu, mine, apart);
            mine = (lane & apart) == 0 ? join(mine, other) : join(other, mine);
        }
        values[lane] = mine;
    }

    template <class Element>
    __device__ void multiply_add(own<sum_fragment>& sums, const own<weight_fragment>& weights,
                                 const own<input_fragment>& inputs) const {
        float(&c)[4] = sums[0].values;
        const std::uint32_t(&a)[4] = weights[0].words;
        const std::uint32_t(&b)[2] = inputs[0].words;
        static_assert(std::is_same_v<Element, bfloat16> || std::is_same_v<Element, binary16>);
        if constexpr (std::is_same_v<Element, bfloat16>) {
            asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                "{%0,%1,%2,%3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        } else {
            asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                "{%0,%1,%2,%3};"
                : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
        }
    }
};

/// See played_team.
class cuda_team {
 public:
    template <class T>
    using own = cuda_value<T>;

    __device__ std::size_t block() const { return blockIdx.x; }
    __device__ unsigned threads() const { return blockDim.x; }
    __device__ unsigned warps() const { return blockDim.x / warp_size; }

    template <class T>
    __device__ T* shared(std::size_t offset = 0) const {
        extern __shared__ uint4 memory[];
        return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(memory) + offset);
    }

    template <class Body>
    __device__ void each(const Body& body) const {
        body(threadIdx.x);
        __syncthreads();
    }
    template <class Body>
    __device__ void each_warp(const Body& body) const {
        body(cuda_warp{});
        __syncthreads();
    }
};

template <Kernel K>
__global__ void __launch_bounds__(K::threads) run_kernel(const K kernel) {
    kernel(cuda_team{});
}

/// A CUDA graph that can be launched: kernels with their parameters.
class cuda_recording {
 public:
    cuda_recording() = default;
    explicit cuda_recording(cudaGraph_t of) {
        cudaGraphExec_t made = nullptr;
        const cudaError_t status = cudaGraphInstantiate(&made, of, 0);
        cudaGraphDestroy(of);
        check_cuda(status, "instantiating a graph");
        held_.reset(made, [](cudaGraphExec_t graph) { cudaGraphExecDestroy(graph); });
    }

    cudaGraphExec_t get() const { return held_.get(); }

 private:
    std::shared_ptr<CUgraphExec_st> held_;
};

/// One stream of the GPU that is current. Copies share the stream; `stream` may be one's own, null is CUDA's default stream, on which
/// nothing can be recorded.
struct cuda_system {
    cudaStream_t stream = nullptr;
    std::shared_ptr<CUstream_st> owned = nullptr;  ///< where the stream is of with_stream()'s making

    /// With a stream of its own.
    static cuda_system with_stream() {
        cudaStream_t made = nullptr;
        check_cuda(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking), "creating a stream");
        return {made, {made, [](cudaStream_t old) { cudaStreamDestroy(old); }}};
    }

    template <Kernel K>
    void launch(std::size_t blocks, const K& kernel) const {
        static_assert(K::threads % warp_size == 0 && K::threads <= most_threads);
        if (blocks == 0) return;
        const std::size_t shared = kernel.shared_bytes();
        if (shared > default_shared_bytes) {
            check_cuda(cudaFuncSetAttribute(run_kernel<K>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(shared)),
                       "shared memory of a kernel");
        }
        run_kernel<K><<<static_cast<unsigned>(blocks), K::threads, shared, stream>>>(kernel);
        check_cuda(cudaGetLastError(), "a launch");
    }

    void* allocate(std::size_t bytes) const {
        void* made = nullptr;
        check_cuda(cudaMalloc(&made, bytes), "allocating memory");
        return made;
    }
    void release(void* memory) const { cudaFree(memory); }
    void upload(void* to, const void* from, std::size_t bytes) const {
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream), "an upload");
    }
    void download(void* to, const void* from, std::size_t bytes) const {
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), "a download");
        wait();
    }
    void copy(void* to, const void* from, std::size_t bytes) const {
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream), "a copy");
    }
    void clear(void* to, std::size_t bytes) const { check_cuda(cudaMemsetAsync(to, 0, bytes, stream), "clearing"); }
    void wait() const { check_cuda(cudaStreamSynchronize(stream), "waiting"); }

    using recording = cuda_recording;

    bool records() const { return stream != nullptr; }

    template <class Body>
    recording record(const Body& body) const {
        check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "beginning to record");
        cudaGraph_t made = nullptr;
        try {
            body();
        } catch (...) {
            cudaStreamEndCapture(stream, &made);  // invalid, and what went wrong is on its way
            if (made != nullptr) cudaGraphDestroy(made);
            throw;
        }
        check_cuda(cudaStreamEndCapture(stream, &made), "ending to record");
        return recording(made);
    }
    void replay(const recording& made) const { check_cuda(cudaGraphLaunch(made.get(), stream), "launching a graph"); }

 private:
    static constexpr std::size_t default_shared_bytes = 48 * 1024;
};

static_assert(RecordingSystem<cuda_system>);

}  // namespace augur::backend::device

#endif
