#pragma once
// Where a model computes: on the processor, or on a GPU where the program was built for one.

#include <augur/llama/host_model.hpp>
#include <augur/model/any_model.hpp>
#include <string>

namespace augur::program {

/// Throws, before anything is loaded, unless the device is known and there, and holds weights as `--weights` says.
void check_device(const std::string& device, const std::string& weights);

/// The model itself, which must outlive it, or a copy of it on a GPU.
model::any_model engine_of(const llama::host_model& model, const std::string& device, const std::string& weights);

}  // namespace augur::program
