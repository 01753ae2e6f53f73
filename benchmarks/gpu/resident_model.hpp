#pragma once
// The model of bfloat16 numbers whose rounds stay on a GPU, and how they may run there.

#include "augur/decode/device/loop.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/device/resident.hpp"
#include "watch.hpp"

namespace augur::benchmarks {

using backend::device::bfloat16, decode::device::loop_as;
using model_type = llama::device::device_model<bfloat16, cuda_system>;
using resident_type = llama::device::resident<bfloat16, cuda_system>;

}  // namespace augur::benchmarks
