#pragma once
// Kernel launches and memory on a GPU, by the CUDA runtime. For sources that nvcc compiles; empty for others.

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <type_traits>

#include "augur/backend/device/cuda_graph.hpp"
#include "augur/backend/device/cuda_team.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// Blocks that a multiprocessor is to have registers for at a time: what the kernel says, or 1.
template <Kernel K>
constexpr unsigned blocks_at_once() {
    if constexpr (requires { K::blocks_at_once; }) return K::blocks_at_once;
    return 1;
}

template <Kernel K>
__global__ void __launch_bounds__(K::threads, blocks_at_once<K>()) run_kernel(const K kernel) {
    if constexpr (!requires { K::starts_early; }) cuda_team{}.wait_for_earlier();
    kernel(cuda_team{});
}

/// How a kernel was compiled.
template <Kernel K>
const cudaFuncAttributes& attributes_of() {
    static const cudaFuncAttributes found = [] {
        cudaFuncAttributes of{};
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;  // the kernel may have to be loaded first
        check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "making way for a kernel");
        const cudaError_t status = cudaFuncGetAttributes(&of, run_kernel<K>);
        check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "going back to recording");
        check_cuda(status, "asking how a kernel was compiled");
        return of;
    }();
    return found;
}

/// Whether the kernel waits for the launch before it, so that it may begin before that ends: it does as compiled for
/// compute capability 9.0 and later.
template <Kernel K>
bool waits_by_itself() {
    return attributes_of<K>().ptxVersion >= 90 && attributes_of<K>().binaryVersion >= 90;
}

/// Lets the kernel have as much shared memory as there is: a limit that fits one launch would be too low for recordings
/// that hold a larger one.
template <Kernel K>
void allow_all_shared_memory() {
    int current = 0, most = 0;
    check_cuda(cudaGetDevice(&current), "asking for the current GPU");
    check_cuda(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, current),
               "asking for shared memory");
    check_cuda(cudaFuncSetAttribute(run_kernel<K>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    most - static_cast<int>(attributes_of<K>().sharedSizeBytes)),
               "shared memory of a kernel");
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
        cuda_system other;
        other.streams_ = std::make_shared<cuda_streams>(cuda_streams::make(), true);
        return other;
    }

    /// The stream alone, for who gives stream() something by CUDA's own calls while other threads use copies of this.
    std::unique_lock<std::recursive_mutex> take_turn() const {
        static std::recursive_mutex default_busy;
        return std::unique_lock(streams_ == nullptr ? default_busy : streams_->busy());
    }

    /// Where launches go now.
    cudaStream_t stream() const {
        const auto turn = take_turn();
        follow(false);  // the caller may give it what is no kernel of ours
        return current();
    }

    template <Kernel K>
    void launch(std::size_t blocks, const K& kernel) const {
        static_assert(K::threads % warp_size == 0 && K::threads <= most_threads);
        if (blocks == 0) return;
        const auto turn = take_turn();
        const std::size_t shared = kernel.shared_bytes();
        const bool waits = waits_by_itself<K>() && !std::is_same_v<K, set_condition>;
        if (shared + attributes_of<K>().sharedSizeBytes > default_shared_bytes) allow_all_shared_memory<K>();
        cudaLaunchAttribute early{};
        early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        early.val.programmaticStreamSerializationAllowed = 1;
        cudaLaunchConfig_t how{};
        how.gridDim = dim3(static_cast<unsigned>(blocks));
        how.blockDim = dim3(K::threads);
        how.dynamicSmemBytes = shared;
        how.stream = current();
        how.attrs = &early;
        how.numAttrs = waits && follows_kernel() ? 1 : 0;
        check_cuda(cudaLaunchKernelEx(&how, run_kernel<K>, kernel), "a launch");
        follow(waits);
    }

    void* allocate(std::size_t bytes) const {
        const auto turn = take_turn();
        refuse_in_recording("memory");
        void* memory = nullptr;
        check_cuda(cudaMalloc(&memory, bytes), "allocating memory");
        return memory;
    }
    void release(void* memory) const { cudaFree(memory); }
    /// Memory of the host that has the same address in kernels (unified addressing, which 64-bit systems have).
    void* allocate_shared(std::size_t bytes) const {
        const auto turn = take_turn();
        refuse_in_recording("memory");
        void* memory = nullptr;
        check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped), "allocating shared memory");
        return memory;
    }
    void release_shared(void* memory) const { cudaFreeHost(memory); }
    /// From memory of any kind. From pinned memory CUDA copies later, so that this waits until it has.
    void upload(void* to, const void* from, std::size_t bytes) const {
        const auto turn = take_turn();
        refuse_in_recording("an upload");
        follow(false);
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, current()), "an upload");
        if (!is_pageable(from)) wait();
    }
    void download(void* to, const void* from, std::size_t bytes) const {
        const auto turn = take_turn();
        refuse_in_recording("a download");
        follow(false);
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, current()), "a download");
        wait();
    }
    void copy(void* to, const void* from, std::size_t bytes) const {
        const auto turn = take_turn();
        follow(false);
        check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, current()), "a copy");
    }
    void clear(void* to, std::size_t bytes) const {
        const auto turn = take_turn();
        follow(false);
        check_cuda(cudaMemsetAsync(to, 0, bytes, current()), "clearing");
    }
    void wait() const {
        const auto turn = take_turn();
        refuse_in_recording("a wait");
        check_cuda(cudaStreamSynchronize(current()), "waiting");
    }
    bool idle() const {
        const auto turn = take_turn();
        refuse_in_recording("a question whether all is done");
        const cudaError_t status = cudaStreamQuery(current());
        if (status == cudaErrorNotReady) {
            cudaGetLastError();  // it is no error, but would be found as the last one
        } else {
            check_cuda(status, "asking whether all is done");
        }
        return status == cudaSuccess;
    }

    using recording = cuda_recording;

    bool records() const {
        const auto turn = take_turn();
        return current() != nullptr && !recording_now();
    }

    template <class Body>
    recording record(const Body& body) const {
        const auto turn = take_turn();
        if (!records()) {
            augur::detail::fail("a recording cannot ",
                                current() == nullptr ? "be made on the default stream" : "hold another");
        }
        follow(false);
        const struct forgetting {
            const cuda_system& on;
            ~forgetting() { on.follow(false); }
        } afterwards{*this};
        return recording(capture(current(), nullptr, body));
    }
    void replay(const recording& recorded) const {
        const auto turn = take_turn();
        refuse_in_recording("another");
        follow(false);
        check_cuda(cudaGraphLaunch(recorded.get(), current()), "launching a graph");
    }

    /// Where driver and toolkit have graphs with loops and choices.
    bool controls() const { return current() != nullptr && graphs_control(); }

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
        follow(false);
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
        follow(false);
    }

 private:
    /// The node that launches depend on from now on; what comes before it tells it what the word says.
    conditional_node add_conditional(cudaGraphConditionalNodeType type, std::uint32_t bodies,
                                     const std::uint32_t* word) const {
        const cudaGraphConditionalHandle handle = make_condition(current());
        launch(1, set_condition{handle, word});
        follow(false);
        return add_conditional_node(current(), type, handle, bodies);
    }

    static bool is_pageable(const void* memory) {
        cudaPointerAttributes of{};
        check_cuda(cudaPointerGetAttributes(&of, memory), "asking what memory this is");
        return of.type == cudaMemoryTypeUnregistered;
    }

    cudaStream_t current() const { return streams_ == nullptr ? nullptr : streams_->current(); }
    /// Whether the last that the stream was given is a kernel which waits for what was before it: then the next may
    /// begin while it runs.
    bool follows_kernel() const { return streams_ != nullptr && streams_->follows_kernel; }
    void follow(bool kernel) const {
        if (streams_ != nullptr) streams_->follows_kernel = kernel;
    }

    bool recording_now() const { return current() != nullptr && is_capturing(current()); }
    /// Before CUDA is asked: its refusal spoils the recording, and with driver 580 crashes where a body of a
    /// conditional node is captured.
    void refuse_in_recording(const char* what) const {
        if (recording_now()) augur::detail::fail("a recording cannot hold ", what);
    }

    std::uint32_t downloaded(const std::uint32_t* word) const {
        std::uint32_t found = 0;
        download(&found, word, sizeof found);
        return found;
    }

    /// Without asking for more a kernel has so many, what it declares itself (cuda_team's sums) included.
    static constexpr std::size_t default_shared_bytes = 48 * 1024;

    std::shared_ptr<cuda_streams> streams_;  ///< null: the default stream
};

static_assert(ControllingSystem<cuda_system>);

}  // namespace augur::backend::device

#endif
