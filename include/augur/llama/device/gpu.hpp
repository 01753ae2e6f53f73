#pragma once
// The bundled Llama on a GPU, for sources that nvcc does not compile: link a source that includes gpu.inc and that nvcc
// compiles.

#include <cstddef>
#include <string>

#include "augur/accept/block.hpp"
#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/multipath_block.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/traversal.hpp"
#include "augur/accept/typical.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/weights.hpp"
#include "augur/model/any_model.hpp"

namespace augur::llama {

/// What weights, activations and caches are on a GPU. With q8_0 and q4_0 that are matrices only; the rest is bfloat16.
enum class gpu_number { bfloat16, binary16, q8_0, q4_0 };

/// Its name, memory and compute capability; throws with CUDA's own words where there is none, or no driver for one.
std::string describe_gpu();

/// A model on some engine, with what judges rounds by these criteria where its rows are.
using gpu_model = model::split_any_model<accept::exact, accept::coupled, accept::rejection_sampling, accept::block,
                                         accept::traversal, accept::multipath_block, accept::typical>;

/// A device_model with the current GPU. Throws what its constructor refuses, and where there is no GPU.
gpu_model on_gpu(const config& c, const weights& from, gpu_number number, std::size_t context_length = 0);

}  // namespace augur::llama
