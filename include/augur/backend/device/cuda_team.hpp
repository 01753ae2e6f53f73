#pragma once
// Blocks, warps and threads of a GPU, as kernels use them (team.hpp). For sources that nvcc compiles; empty for others.

#if defined(__CUDACC__)

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <type_traits>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/team.hpp"

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

    __device__ void wait_for_earlier() const {
#if __CUDA_ARCH__ >= 900
        // The next launch's blocks may then take the places that this one's leave.
        asm volatile("griddepcontrol.wait;\n\tgriddepcontrol.launch_dependents;" ::: "memory");
#endif
    }

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

    /// See device::combined (scan_rows.hpp).
    template <class T, class Join>
    __device__ T combined(T* slots, const Join& join) const {
        if (blockDim.x == most_threads) {
            using reduction = cub::BlockReduce<T, most_threads>;
            __shared__ typename reduction::TempStorage workspace;
            const T whole = reduction(workspace).Reduce(slots[threadIdx.x], join);
            if (threadIdx.x == 0) slots[0] = whole;  // whose slot nobody else reads
            __syncthreads();
        } else {
            combine_shared(*this, slots, blockDim.x, join);
        }
        const T whole = slots[0];
        __syncthreads();
        return whole;
    }

    template <class T>
    __device__ T prefix_sums(T* slots) const {
        using scan = cub::BlockScan<T, most_threads>;
        __shared__ typename scan::TempStorage workspace;
        T before{}, sum{};
        scan(workspace).ExclusiveSum(slots[threadIdx.x], before, sum);
        slots[threadIdx.x] = before;
        __syncthreads();
        return sum;
    }
};

}  // namespace augur::backend::device

#endif
