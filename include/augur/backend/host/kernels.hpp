#pragma once
// Dispatches to the kernels of the best instruction set. They are compiled into every source that includes this, which
// takes most of its compiler's time. A program of several sources can compile them once: see docs/llama/host.md,
// "Compiling".

#include "augur/backend/host/instruction_set.hpp"
#include "augur/backend/host/kernel_tasks.hpp"

#if !defined(AUGUR_KERNELS_ELSEWHERE)
#include "augur/backend/host/compiled_kernels.hpp"
#endif

namespace augur::backend::host {

/// The kernels of `set`, resolved for this machine. Throws where it is not supported.
#if defined(AUGUR_KERNELS_ELSEWHERE)
const kernels& kernels_of(instruction_set set);
#else
inline const kernels& kernels_of(instruction_set set) {
    return compiled_kernels_of(set);
}
#endif

}  // namespace augur::backend::host
