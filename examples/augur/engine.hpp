#pragma once
// Where a model computes: on the processor, or on a GPU where the program was built for one.

#include <augur/llama/device/gpu.hpp>
#include <augur/llama/host_model.hpp>
#include <string>

namespace augur::program {

/// A target, wherever it computes: what judges on a GPU by itself is said there.
using engine = llama::gpu_model;

/// Throws, before anything is loaded, unless the device is known and there, and holds weights as `--weights` says.
void check_device(const std::string& device, const std::string& weights);

/// The model itself, which must outlive it, or a copy of it on a GPU.
engine engine_of(const llama::host_model& model, const std::string& device, const std::string& weights);

}  // namespace augur::program
