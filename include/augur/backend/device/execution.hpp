#pragma once
// Where device code runs: on Thrust's device system, which a macro chooses (THRUST_DEVICE_SYSTEM: CUDA, OMP or CPP),
// under an execution policy of that system. Nothing here depends on how many threads that has.

#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/version.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"

#if THRUST_VERSION < 300000
#error "augur::device needs Thrust 3 or newer, from the CUDA toolkit or the package nvidia-cuda-cccl; not an older one"
#endif

namespace augur::backend::device {

/// The policy of the device system.
using default_policy = std::remove_cvref_t<decltype(thrust::device)>;

template <class T>
using memory = thrust::device_vector<T>;

template <class T>
const T* address(const memory<T>& of) {
    return thrust::raw_pointer_cast(of.data());
}
template <class T>
T* address(memory<T>& of) {
    return thrust::raw_pointer_cast(of.data());
}

/// body(0) ... body(n - 1), in any order and at once.
template <class Policy, class Body>
void for_each(const Policy& on, std::size_t n, Body body) {
    thrust::for_each_n(on, thrust::counting_iterator<std::size_t>(0), n, body);
}

template <class Map, class Part>
struct map_chunk {
    Map map;
    std::size_t size;
    Part* parts;

    AUGUR_HOST_DEVICE void operator()(std::size_t chunk) const {
        const std::size_t begin = chunk * augur::detail::chunk_size;
        parts[chunk] = map(begin, augur::detail::end_of_chunk(begin, size));
    }
};

/// map(begin, end) of every chunk of so many elements (detail/chunks.hpp), each by one worker.
template <class Policy, class Map>
auto map_chunks(const Policy& on, std::size_t size, Map map) {
    using part = decltype(map(std::size_t{}, std::size_t{}));
    memory<part> parts(augur::detail::chunks_in(size));
    for_each(on, parts.size(), map_chunk<Map, part>{map, size, address(parts)});
    return parts;
}

template <class Function, class Result>
struct store_result {
    Function function;
    Result* to;

    AUGUR_HOST_DEVICE void operator()(std::size_t) const { *to = function(); }
};

/// One worker's result, brought to the host.
template <class Policy, class Function>
auto compute(const Policy& on, Function function) {
    using result = decltype(function());
    memory<result> made(1);
    for_each(on, 1, store_result<Function, result>{function, address(made)});
    return static_cast<result>(made[0]);
}

template <class Part, class Join>
struct fold_parts {
    const Part* parts;
    std::size_t count;
    Join join;

    AUGUR_HOST_DEVICE Part operator()() const {
        Part whole{};
        for (std::size_t i = 0; i < count; ++i) whole = join(whole, parts[i]);
        return whole;
    }
};

/// The parts joined in their order, so that the same bits come out wherever they were made.
template <class Policy, class Part, class Join>
Part fold(const Policy& on, const memory<Part>& parts, Join join) {
    return compute(on, fold_parts<Part, Join>{address(parts), parts.size(), join});
}

struct plus {
    AUGUR_HOST_DEVICE double operator()(double a, double b) const { return a + b; }
};

/// The sum of one chunk of anything that has an index.
template <class Indexed>
struct sum_chunk {
    Indexed weights;

    AUGUR_HOST_DEVICE double operator()(std::size_t begin, std::size_t end) const {
        return augur::detail::sum_of_chunk(weights, begin, end);
    }
};

}  // namespace augur::backend::device
