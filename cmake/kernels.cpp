// The kernels, for programs that define AUGUR_KERNELS_ELSEWHERE in all their sources and link this one.
#include "augur/backend/host/kernels.hpp"

#include "augur/backend/host/compiled_kernels.hpp"

const augur::backend::host::kernels& augur::backend::host::kernels_of(instruction_set set) {
    return compiled_kernels_of(set);
}
