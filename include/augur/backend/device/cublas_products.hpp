#pragma once
// Wide matrix products by cuBLASLt. For sources that nvcc compiles and that link CUDA::cublasLt; empty for others. See
// docs/backend/wide_products.md.

#if defined(__CUDACC__)

#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "augur/backend/device/cuda_system.hpp"
#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/wide_product.hpp"
#include "augur/types/error.hpp"

namespace augur::backend::device {

/// Throws with cuBLAS's own words where something went wrong.
inline void check_cublas(cublasStatus_t status, const char* what) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    augur::detail::fail("cuBLASLt: ", what, ": ", cublasLtGetStatusName(status), " (", cublasLtGetStatusString(status),
                        ")");
}

/// Milliseconds on the GPU between two points of a stream.
class cuda_timer {
 public:
    cuda_timer() : begin_(new_event()), end_(new_event()) {}

    template <class Launch>
    float milliseconds(const cuda_system& on, const Launch& launch) const {
        const auto turn = on.take_turn();
        check_cuda(cudaEventRecord(begin_.get(), on.stream()), "recording an event");
        launch();
        check_cuda(cudaEventRecord(end_.get(), on.stream()), "recording an event");
        on.wait();
        float taken = 0;
        check_cuda(cudaEventElapsedTime(&taken, begin_.get(), end_.get()), "reading events");
        return taken;
    }

 private:
    struct destroyer {
        void operator()(cudaEvent_t old) const { cudaEventDestroy(old); }
    };
    using event = std::unique_ptr<std::remove_pointer_t<cudaEvent_t>, destroyer>;

    static event new_event() {
        cudaEvent_t out = nullptr;
        check_cuda(cudaEventCreate(&out), "making an event");
        return event(out);
    }

    event begin_, end_;
};

/// By the stream's own events.
template <class Launch>
double seconds_of(const cuda_system& on, const Launch& launch) {
    return 1e-3 * static_cast<double>(cuda_timer().milliseconds(on, launch));
}

/// What cuBLASLt must know of a product whose first side, M, are the weights. Its matrices go by columns: weights, row
/// after row here, are depth x rows there, and transposed; a column of inputs or of sums is one there, too.
template <class Element>
struct cublas_layouts {
    cublasLtMatmulDescOpaque_t product{};
    cublasLtMatrixLayoutOpaque_t weights{}, inputs{}, sums{};

    explicit cublas_layouts(const wide_shape& of) {
        static_assert(std::is_same_v<Element, bfloat16> || std::is_same_v<Element, binary16>);
        constexpr cudaDataType_t numbers = std::is_same_v<Element, bfloat16> ? CUDA_R_16BF : CUDA_R_16F;
        const cublasOperation_t transposed = CUBLAS_OP_T;
        const auto depth = static_cast<std::int64_t>(of.depth), rows = static_cast<std::int64_t>(of.rows);
        check_cublas(cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "describing a product");
        check_cublas(
            cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed),
            "describing a product");
        check_cublas(cublasLtMatrixLayoutInit(&weights, numbers, of.depth, of.rows, depth), "describing weights");
        check_cublas(cublasLtMatrixLayoutInit(&inputs, numbers, of.depth, of.columns, depth), "describing inputs");
        check_cublas(cublasLtMatrixLayoutInit(&sums, CUDA_R_32F, of.rows, of.columns, rows), "describing sums");
    }
};

/// WideProducts on one stream, whose workspace they share: one for each model. Of the algorithms that cuBLASLt's
/// heuristics suggest for a shape, prepare() takes that which is fastest here, by the median of some runs of which each
/// finds a cold L2 cache; it is kept by rows, depth and the power of two of columns. multiply() can be recorded; it
/// refuses what was not prepared. Randomness: none; but which algorithm is the fastest may differ from run to run, and
/// with it the sums' last bits. Source: cuBLAS Library, cublasLtMatmul and cublasLtMatmulAlgoGetHeuristic.
template <class Element>
class cublas_products {
 public:
    /// `workspace_bytes`: the most that an algorithm may work with.
    explicit cublas_products(const cuda_system& on, std::size_t workspace_bytes = std::size_t{32} << 20)
        : on_(on), workspace_(on, workspace_bytes) {
        cublasLtHandle_t handle = nullptr;
        check_cublas(cublasLtCreate(&handle), "beginning");
        handle_.reset(handle);
    }

    std::size_t memory_bytes() const { return workspace_.memory_bytes(); }

    void prepare(const wide_shape& shape, const Element* weights, const Element* inputs, float* sums) {
        const choice_key key = key_of(shape);
        if (chosen_.contains(key)) return;
        const cublas_layouts<Element> layouts(shape);
        const wide_shape least = {shape.rows, shape.depth, shape.columns / 2 + 1};
        const buffer<std::byte, cuda_system> cold(on_, 2 * cache_bytes());
        std::optional<cublasLtMatmulAlgo_t> best;
        float least_time = std::numeric_limits<float>::infinity();
        for (const cublasLtMatmulAlgo_t& each : suggested(layouts)) {
            if (!serves(each, cublas_layouts<Element>(least))) continue;
            const float time = timed(each, layouts, cold, weights, inputs, sums);
            if (time >= least_time) continue;
            least_time = time;
            best = each;
        }
        if (!best) fail_for(shape, "has no algorithm in cuBLASLt");
        chosen_.emplace(key, *best);
    }

    void multiply(const wide_shape& shape, const Element* weights, const Element* inputs, float* sums) const {
        const auto found = chosen_.find(key_of(shape));
        if (found == chosen_.end()) fail_for(shape, "was not prepared");
        check_cublas(run(found->second, cublas_layouts<Element>(shape), weights, inputs, sums), "a product");
    }

 private:
    using choice_key = std::array<std::size_t, 3>;
    struct destroyer {
        void operator()(cublasLtHandle_t old) const { cublasLtDestroy(old); }
    };
    static constexpr int most_algorithms = 8;
    static constexpr std::size_t runs = 5;

    static choice_key key_of(const wide_shape& of) { return {of.rows, of.depth, std::bit_ceil(of.columns)}; }

    [[noreturn]] static void fail_for(const wide_shape& of, const char* what) {
        augur::detail::fail("a product of ", of.rows, " rows by ", of.depth, " with ", of.columns, " columns ", what);
    }

    static std::size_t cache_bytes() {
        int current = 0, bytes = 0;
        check_cuda(cudaGetDevice(&current), "asking for the current GPU");
        check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, current), "asking for the cache's size");
        return static_cast<std::size_t>(bytes);
    }

    /// cuBLASLt's guesses, the one that it thinks best first.
    std::vector<cublasLtMatmulAlgo_t> suggested(cublas_layouts<Element> of) const {
        cublasLtMatmulPreferenceOpaque_t preference{};
        const std::size_t bytes = workspace_.size();
        check_cublas(cublasLtMatmulPreferenceInit(&preference), "preparing a search");
        check_cublas(cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                                          sizeof bytes),
                     "preparing a search");
        std::array<cublasLtMatmulHeuristicResult_t, most_algorithms> results{};
        int found = 0;
        check_cublas(cublasLtMatmulAlgoGetHeuristic(handle_.get(), &of.product, &of.weights, &of.inputs, &of.sums,
                                                    &of.sums, &preference, most_algorithms, results.data(), &found),
                     "searching for an algorithm");
        std::vector<cublasLtMatmulAlgo_t> out;
        for (const auto& each : std::span(results).first(static_cast<std::size_t>(found))) {
            if (each.state == CUBLAS_STATUS_SUCCESS) out.push_back(each.algo);
        }
        return out;
    }

    bool serves(const cublasLtMatmulAlgo_t& algorithm, cublas_layouts<Element> of) const {
        cublasLtMatmulHeuristicResult_t found{};
        const cublasStatus_t status = cublasLtMatmulAlgoCheck(handle_.get(), &of.product, &of.weights, &of.inputs,
                                                              &of.sums, &of.sums, &algorithm, &found);
        return status == CUBLAS_STATUS_SUCCESS && found.workspaceSize <= workspace_.size();
    }

    cublasStatus_t run(const cublasLtMatmulAlgo_t& algorithm, cublas_layouts<Element> of, const Element* weights,
                       const Element* inputs, float* sums) const {
        const float one = 1, zero = 0;
        const auto turn = on_.take_turn();
        return cublasLtMatmul(handle_.get(), &of.product, &one, weights, &of.weights, inputs, &of.inputs, &zero, sums,
                              &of.sums, sums, &of.sums, &algorithm, workspace_.data(), workspace_.size(), on_.stream());
    }

    /// The median of some runs after a first one, in milliseconds.
    float timed(const cublasLtMatmulAlgo_t& algorithm, const cublas_layouts<Element>& of,
                const buffer<std::byte, cuda_system>& cold, const Element* weights, const Element* inputs,
                float* sums) const {
        std::vector<float> times;
        for (std::size_t i = 0; i <= runs; ++i) {
            on_.clear(cold.data(), cold.memory_bytes());  // nothing of the weights stays in the cache
            const float time = timer_.milliseconds(
                on_, [&] { check_cublas(run(algorithm, of, weights, inputs, sums), "a product that is timed"); });
            if (i > 0) times.push_back(time);
        }
        std::nth_element(times.begin(), times.begin() + runs / 2, times.end());
        return times[runs / 2];
    }

    cuda_system on_;
    std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>, destroyer> handle_;
    buffer<std::byte, cuda_system> workspace_;
    cuda_timer timer_;
    std::map<choice_key, cublasLtMatmulAlgo_t> chosen_;
};

static_assert(WideProducts<cublas_products<bfloat16>, bfloat16>);

}  // namespace augur::backend::device

#endif
