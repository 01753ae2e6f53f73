#pragma once
// Stream capture and CUDA graphs with loops and branches, for cuda_system. For sources that nvcc compiles; empty for
// others.

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "augur/types/error.hpp"

#if CUDART_VERSION < 12080
#error "augur needs CUDA 12.8 or later"
#endif

namespace augur::backend::device {

/// Throws with CUDA's own words where something went wrong, which the next launch then does not find again.
inline void check_cuda(cudaError_t status, const char* what) {
    if (status == cudaSuccess) return;
    cudaGetLastError();
    augur::detail::fail("CUDA: ", what, ": ", cudaGetErrorName(status), " (", cudaGetErrorString(status), ")");
}

/// Whether what this stream is given is kept in a graph.
inline bool is_capturing(cudaStream_t stream) {
    cudaStreamCaptureStatus status{};
    check_cuda(cudaStreamIsCapturing(stream, &status), "asking whether a stream is captured");
    return status != cudaStreamCaptureStatusNone;
}

/// What the body gives the stream, in `into` (which somebody else owns), or where that is null in a graph that the
/// caller gets.
template <class Body>
cudaGraph_t capture(cudaStream_t stream, cudaGraph_t into, const Body& body) {
    const auto mode = cudaStreamCaptureModeThreadLocal;
    check_cuda(into == nullptr ? cudaStreamBeginCapture(stream, mode)
                               : cudaStreamBeginCaptureToGraph(stream, into, nullptr, nullptr, 0, mode),
               "beginning to record");
    cudaGraph_t graph = nullptr;
    try {
        body();
    } catch (...) {
        cudaStreamEndCapture(stream, &graph);
        if (into == nullptr && graph != nullptr) cudaGraphDestroy(graph);
        cudaGetLastError();  // what went wrong is on its way
        throw;
    }
    check_cuda(cudaStreamEndCapture(stream, &graph), "ending to record");
    return graph;
}

/// The stream that copies of a system share. While the body of a conditional node is captured it is another, since the
/// stream itself is in the middle of the graph around it; one for each level of nesting, kept for the next time.
class cuda_streams {
 public:
    cuda_streams(cudaStream_t first, bool owned) : levels_{first}, owned_(owned) {}
    cuda_streams(const cuda_streams&) = delete;
    cuda_streams& operator=(const cuda_streams&) = delete;
    ~cuda_streams() {
        for (std::size_t i = owned_ ? 0 : 1; i < levels_.size(); ++i) cudaStreamDestroy(levels_[i]);
    }

    /// A stream that does not wait for the default one. It can be made while others are captured.
    static cudaStream_t make() {
        cudaStream_t stream = nullptr;
        cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
        check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "making way for a stream");
        const cudaError_t status = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        check_cuda(cudaThreadExchangeStreamCaptureMode(&mode), "going back to recording");
        check_cuda(status, "creating a stream");
        return stream;
    }

    cudaStream_t current() const { return levels_[level_]; }
    /// Whether the last that current() was given is a kernel which waits by itself for what was before it.
    bool follows_kernel = false;
    /// One thread at a time uses the stream: held for each call, and for as long as something is recorded.
    std::recursive_mutex& busy() { return busy_; }

    /// Puts what the body launches into the body's graph of a conditional node.
    template <class Body>
    void capture_deeper(cudaGraph_t into, const Body& body) {
        if (level_ + 1 == levels_.size()) {
            levels_.reserve(levels_.size() + 1);
            levels_.push_back(make());
        }
        const struct climber {
            std::size_t& level;
            explicit climber(std::size_t& of) : level(of) { ++level; }
            ~climber() { --level; }
        } deeper(level_);
        follows_kernel = false;
        capture(current(), into, body);
        fill_if_empty(into);
    }

 private:
    /// A node that does nothing: CUDA does not say that a body without nodes can be run.
    static void fill_if_empty(cudaGraph_t body) {
        std::size_t nodes = 0;
        check_cuda(cudaGraphGetNodes(body, nullptr, &nodes), "counting nodes");
        if (nodes > 0) return;
        cudaGraphNode_t node = nullptr;
        check_cuda(cudaGraphAddEmptyNode(&node, body, nullptr, 0), "adding a node that does nothing");
    }

    std::recursive_mutex busy_;
    std::vector<cudaStream_t> levels_;
    std::size_t level_ = 0;
    bool owned_;
};

/// A CUDA graph that can be launched: kernels with their parameters.
class cuda_recording {
 public:
    cuda_recording() = default;
    /// Owns the graph. It lives on beside what is made of it: CUDA allows graphs with conditional nodes one executable,
    /// and does not say that the nodes' handles survive their graph.
    explicit cuda_recording(cudaGraph_t of) {
        const std::shared_ptr<CUgraph_st> graph(of, [](cudaGraph_t old) { cudaGraphDestroy(old); });
        cudaGraphExec_t executable = nullptr;
        check_cuda(cudaGraphInstantiate(&executable, of, 0), "instantiating a graph");
        held_.reset(executable, [graph](cudaGraphExec_t old) { cudaGraphExecDestroy(old); });
    }

    cudaGraphExec_t get() const { return held_.get(); }

 private:
    std::shared_ptr<CUgraphExec_st> held_;
};

/// A node that runs one of its bodies, or its body again and again, as its handle says.
struct conditional_node {
    cudaGraphConditionalHandle handle;
    const cudaGraph_t* bodies;  ///< the node's, to be captured into
};

/// Whether CUDA graphs can repeat and choose: from CUDA 12.8 on.
inline bool graphs_control() {
    int driver = 0, runtime = 0;
    check_cuda(cudaDriverGetVersion(&driver), "asking for the driver's version");
    check_cuda(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
    return std::min(driver, runtime) >= 12080;
}

/// The graph that a stream is captured into, and what the next node comes after: CUDA's array, until the stream is used
/// again.
struct capture_place {
    cudaGraph_t graph = nullptr;
    const cudaGraphNode_t* after = nullptr;
    const cudaGraphEdgeData* edges = nullptr;  ///< without asking for them, some are an error
    std::size_t count = 0;

    explicit capture_place(cudaStream_t stream) {
        cudaStreamCaptureStatus status{};
#if CUDART_VERSION >= 13000
        const auto ask = [&] {
            return cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &after, &edges, &count);
        };
#else
        const auto ask = [&] { return cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, &after, &count); };
#endif
        check_cuda(ask(), "asking what is recorded");
        if (status != cudaStreamCaptureStatusActive) augur::detail::fail("CUDA: the recording has failed before");
    }

    /// Adds a node there, and has the stream go on after it.
    void add(cudaStream_t stream, cudaGraphNodeParams& asked) const {
        cudaGraphNode_t node = nullptr;
        const auto replace = cudaStreamSetCaptureDependencies;
#if CUDART_VERSION >= 13000
        check_cuda(cudaGraphAddNode(&node, graph, after, edges, count, &asked), "adding a node");
        check_cuda(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, replace), "going on after a node");
#else
        check_cuda(cudaGraphAddNode(&node, graph, after, count, &asked), "adding a node");
        check_cuda(cudaStreamUpdateCaptureDependencies(stream, &node, 1, replace), "going on after a node");
#endif
    }
};

/// A handle for a node of the graph that the stream is captured into. It has no value until a kernel of that graph
/// gives it one.
inline cudaGraphConditionalHandle make_condition(cudaStream_t stream) {
    if (!graphs_control()) augur::detail::fail("CUDA: a recording with loops or choices needs a driver from 12.8 on");
    cudaGraphConditionalHandle handle{};
    check_cuda(cudaGraphConditionalHandleCreate(&handle, capture_place(stream).graph, 0, 0), "making a condition");
    return handle;
}

/// A node with so many bodies, still empty, after what the stream was given last and before what it is given next.
inline conditional_node add_conditional_node(cudaStream_t stream, cudaGraphConditionalNodeType type,
                                             cudaGraphConditionalHandle handle, std::uint32_t bodies) {
    cudaGraphNodeParams asked = {};
    asked.type = cudaGraphNodeTypeConditional;
    asked.conditional.handle = handle;
    asked.conditional.type = type;
    asked.conditional.size = bodies;
    capture_place(stream).add(stream, asked);
    return {handle, asked.conditional.phGraph_out};
}

}  // namespace augur::backend::device

#endif
