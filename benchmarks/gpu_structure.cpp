// Which kernels a pass of the Llama on a GPU launches, with how many blocks, and what each has to read: counted on a
// system that runs nothing, so for a model of any size on any machine. For gpu_structure.py, which reads the lines.
//
//   bench_gpu_structure SHAPE CONTEXT ROWS...        e.g. 8b 4096 1 8

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/llama/device/forward.hpp"
#include "gpu/synthetic.hpp"

namespace {

using namespace augur;
using namespace augur::benchmarks;
using namespace augur::llama::device;
using backend::device::bfloat16;

struct launched {
    std::string kernel;  ///< mangled
    std::size_t blocks, threads, shared;
    std::size_t weights = 0;  ///< bytes of a matrix that are read
    std::size_t inputs = 0;   ///< bytes of its inputs
    std::size_t cache = 0;    ///< bytes of keys and values that at least one row sees
    std::size_t seen = 0;     ///< the same, for each row that reads them again
};

/// How often attention reads a chunk that all rows see.
std::size_t readers_of(const auto& kernel) {
    const std::size_t rows = kernel.columns / kernel.task.group();
    return (kernel.task.count + rows - 1) / rows;
}

/// Lists launches; has no memory, and runs nothing.
struct listing_system {
    std::vector<launched>* list;
    bool* busy;  ///< with a recording

    template <kernels::Kernel K>
    void launch(std::size_t blocks, const K& kernel) const {
        launched one{typeid(K).name(), blocks, K::threads, kernel.shared_bytes()};
        if constexpr (requires { kernel.weights.tiles(); }) {
            one.weights = kernel.weights.tiles() * kernels::tile_layout::elements * 2;
            one.inputs = kernel.columns * kernel.weights.padded_depth() * 2;
        }
        if constexpr (requires { kernel.task.layout; }) {
            one.cache = kernel.task.longest * kernel.task.layout.heads * kernel.task.layout.head_size * 4;
            one.seen = one.cache * kernel.task.count;
            if constexpr (requires { K::columns; }) one.seen = one.cache * readers_of(kernel);
        }
        list->push_back(one);
    }
    void* allocate(std::size_t) const { return list; }
    void release(void*) const {}
    void* allocate_shared(std::size_t) const { return list; }
    void release_shared(void*) const {}
    void upload(void*, const void*, std::size_t) const {}
    void download(void*, const void*, std::size_t) const {}
    void copy(void*, const void*, std::size_t) const {}
    void clear(void*, std::size_t) const {}
    void wait() const {}
    bool idle() const { return true; }

    using recording = std::vector<launched>;
    bool records() const { return !*busy; }
    recording record(const auto& body) const {
        recording recorded;
        std::swap(recorded, *list);
        *busy = true;
        body();
        *busy = false;
        std::swap(recorded, *list);
        return recorded;
    }
    void replay(const recording& recorded) const {
        list->push_back({"graph", recorded.size(), 0, 0});
        list->insert(list->end(), recorded.begin(), recorded.end());
    }
};

static_assert(kernels::RecordingSystem<listing_system>);

void list_pass(const llama::config& shape, const weights_on_device<bfloat16, listing_system>& weights,
               const listing_system& on, std::size_t context, std::size_t rows) {
    forward_pass<bfloat16, listing_system> pass(on, shape, weights);
    on.list->clear();
    std::vector<row_place> places(rows);
    pass.begin(places, context);
    pass.run_all();
    float* const out = pass.state();
    pass.run_head(pass.state(), rows, out, out);
    for (const launched& each : *on.list) {
        std::printf("%zu %s %zu %zu %zu %zu %zu %zu %zu\n", rows, each.kernel.c_str(), each.blocks, each.threads,
                    each.shared, each.weights, each.inputs, each.cache, each.seen);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 4) augur::detail::fail("bench_gpu_structure takes a shape, a context and numbers of rows");
        std::vector<launched> list;
        bool busy = false;
        const listing_system on{&list, &busy};
        const llama::config shape = known_shape(argv[1]);
        const auto weights = make_weights<bfloat16>(on, {shape});
        for (int i = 3; i < argc; ++i) list_pass(shape, *weights, on, std::stoul(argv[2]), std::stoul(argv[i]));
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "bench_gpu_structure: %s\n", failure.what());
        return 1;
    }
}
