// The kernels of a pass of the Llama on a GPU, for gpu_structure.py: compiled, disassembled, never run.
#include <span>

#include "augur/backend/device/cuda_system.hpp"
#include "augur/llama/device/forward.hpp"

namespace device = augur::llama::device;
using augur::backend::device::bfloat16;
using augur::backend::device::cuda_system;

void run(const cuda_system& on, const augur::llama::config& c, std::span<const device::row_place> rows,
         const device::weights_on_device<bfloat16, cuda_system>& weights, float* out) {
    device::forward_pass<bfloat16, cuda_system> pass(on, c, weights);
    pass.begin(rows, c.context);
    pass.run_all();
    pass.run_head(pass.state(), rows.size(), out, out);
}
