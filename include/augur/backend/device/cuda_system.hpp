#pragma once
// Kernels and memory on a GPU, by CUDA's runtime. For sources that nvcc compiles; others see nothing here.

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>

#include "augur/backend/device/cuda_graph.hpp"
#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// A value of the thread that asks.
template <class T>
class cuda_value {
 public:
    __device__ T& operator[](unsigned) { return value_; }
    __device__ const T& operator[](unsigned) const { return value_; }

 private:
    T value_{};
};

/// See emulated_warp.
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

/// See emulated_team.
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

/// Tells a conditional node what a word says.
struct set_condition {
    static constexpr unsigned threads = warp_size;

    cudaGraphConditionalHandle handle;
    const std::uint32_t* word;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    __device__ void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            if (thread == 0) cudaGraphSetConditional(handle, *word);
        });
    }
};

/// One stream of the GPU that is current. Copies share the stream, also where a recording's loop makes it another for a
/// while. It may be one's own; null is CUDA's default stream, on which nothing can be recorded. Threads share it: each
/// call waits until no other thread is in one, nor records. A stream of one's own that threads share is given to one
/// system, of which they have copies.
class cuda_system {
 public:
    cuda_system() = default;
    cuda_system(cudaStream_t stream) : streams_(stream == nullptr ? nullptr : new cuda_streams(stream, false)) {}

    /// With a stream of its own.
    static cuda_system with_stream() {
        cuda_system made;
        made.streams_ = std::make_shared<cuda_streams>(cuda_streams::make(), true);
        return made;
    }

    /// The stream alone, for who gives stream() something by CUDA's own calls while other threads use copies of this.
    std::unique_lock<std::recursive_mutex> take_turn() const {
        static std::recursive_mutex default_busy;
        return std::unique_lock(streams_ == nullptr ? default_busy : streams_->busy());
    }

    /// Where launches go now.
    cudaStream_t stream() const { return streams_ == nullptr ? nullptr : streams_->current(); }

    template <Kernel K>
    void launch(std::size_t blocks, const K& kernel) const {
        static_assert(K::threads % warp_size == 0 && K::threads <= most_threads);
        if (blocks == 0) return;
        const auto turn = take_turn();
        const std::size_t shared = kernel.shared_bytes();
        if (shared > default_shared_bytes) {
            check_cuda(cudaFuncSetAttribute(run_kernel<K>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                            static_cast<int>(shared)),
                       "shared memory of a kernel");
        }
        run_kernel<K><<<static_cast<unsigned>(blocks), K::threads, shared, stream()>>>(kernel);
        check_cuda(cudaGetLastError(), "a launch");
    }

    void* allocate(std::size_t bytes) const {
        void* made = nullptr;
        check_cuda(cudaMalloc(&made, bytes), "allocating memory");
        return made;
    }
    void release(void* memory) const { cudaFree(memory); }
    /// Memory of the host that has the same address in kernels (unified addressing, which 64-bit systems have).
    void* allocate_shared(std::size_t bytes) const {
        void* made = nullptr;
        check_cuda(cudaHostAlloc(&made, bytes, cudaHostAllocMapped), "allocating shared memory");
        return made;
    }
    void release_shared(void* memory) const { cudaFreeHost(memory); }
    /// From memory of any kind. From pinned memory CUDA copies later, so that this waits until it has.
    void upload(void* to, const void* from, std::size_t bytes) const {
        const auto turn = take_turn();
        if (recording_now()) augur::detail::fail("a recording cannot hold an upload");
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "an upload");
        if (!is_pageable(from)) wait();
    }
    void download(void* to, const void* from, std::size_t bytes) const {
        const auto turn = take_turn();
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "a download");
        wait();
    }
    void copy(void* to, const void* from, std::size_t bytes) const {
        const auto turn = take_turn();
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream()), "a copy");
    }
    void clear(void* to, std::size_t bytes) const {
        const auto turn = take_turn();
        check_cuda(cudaMemsetAsync(to, 0, bytes, stream()), "clearing");
    }
    void wait() const {
        const auto turn = take_turn();
        check_cuda(cudaStreamSynchronize(stream()), "waiting");
    }
    bool idle() const {
        const auto turn = take_turn();
        const cudaError_t status = cudaStreamQuery(stream());
        if (status != cudaErrorNotReady) check_cuda(status, "asking whether all is done");
        return status == cudaSuccess;
    }

    using recording = cuda_recording;

    bool records() const {
        const auto turn = take_turn();
        return stream() != nullptr && !recording_now();
    }

    template <class Body>
    recording record(const Body& body) const {
        const auto turn = take_turn();
        if (!records()) {
            augur::detail::fail("a recording cannot ",
                                stream() == nullptr ? "be made on the default stream" : "hold another");
        }
        return recording(capture(stream(), nullptr, body));
    }
    void replay(const recording& made) const {
        const auto turn = take_turn();
        if (recording_now()) augur::detail::fail("a recording cannot hold another");
        check_cuda(cudaGraphLaunch(made.get(), stream()), "launching a graph");
    }

    /// Where driver and toolkit have graphs with loops and choices.
    bool controls() const { return stream() != nullptr && graphs_control(); }

    /// Recorded, a WHILE node: the GPU decides. Otherwise the host does, which downloads the flag before each turn.
    template <class Body>
    void repeat_while(const std::uint32_t* flag, const Body& body) const {
        const auto turn = take_turn();
        if (!recording_now()) {
            while (downloaded(flag) != 0) body();
            return;
        }
        const auto node = add_conditional(cudaGraphCondTypeWhile, 1, flag);
        streams_->capture_deeper(node.bodies[0], [&] {
            body();
            launch(1, set_condition{node.handle, flag});
        });
    }

    /// Recorded, a SWITCH node: the GPU decides. Otherwise the host does, which downloads the index.
    template <class Bodies>
    void choose(const std::uint32_t* index, std::uint32_t count, const Bodies& body) const {
        const auto turn = take_turn();
        if (!recording_now()) {
            if (const std::uint32_t chosen = downloaded(index); chosen < count) body(chosen);
            return;
        }
        if (count == 0) return;
        const auto node = add_conditional(cudaGraphCondTypeSwitch, count, index);
        for (std::uint32_t i = 0; i < count; ++i) streams_->capture_deeper(node.bodies[i], [&] { body(i); });
    }

 private:
    /// The node that launches depend on from now on; what comes before it tells it what the word says.
    conditional_node add_conditional(cudaGraphConditionalNodeType type, std::uint32_t bodies,
                                     const std::uint32_t* word) const {
        const cudaGraphConditionalHandle handle = make_condition(stream());
        launch(1, set_condition{handle, word});
        return add_conditional_node(stream(), type, handle, bodies);
    }

    static bool is_pageable(const void* memory) {
        cudaPointerAttributes of{};
        check_cuda(cudaPointerGetAttributes(&of, memory), "asking what memory this is");
        return of.type == cudaMemoryTypeUnregistered;
    }

    bool recording_now() const { return stream() != nullptr && is_capturing(stream()); }

    std::uint32_t downloaded(const std::uint32_t* word) const {
        std::uint32_t found = 0;
        download(&found, word, sizeof found);
        return found;
    }

    static constexpr std::size_t default_shared_bytes = 48 * 1024;

    std::shared_ptr<cuda_streams> streams_;  ///< null: the default stream
};

static_assert(ControllingSystem<cuda_system>);

}  // namespace augur::backend::device

#endif
