#include "engine.hpp"

#include <augur/io/files/quote.hpp>
#include <augur/types/error.hpp>

#if defined(AUGUR_PROGRAM_CUDA)
#include <augur/llama/device/gpu.hpp>
#endif

namespace augur::program {

#if defined(AUGUR_PROGRAM_CUDA)
namespace {

llama::gpu_number number_of(const std::string& weights) {
    if (weights == "keep" || weights == "bf16") return llama::gpu_number::bfloat16;
    if (weights == "f16") return llama::gpu_number::binary16;
    if (weights == "q8_0") return llama::gpu_number::q8_0;
    if (weights == "q4_0") return llama::gpu_number::q4_0;
    detail::fail("--weights ", io::quote(weights),
                 " is not available with --device cuda; valid are keep (as bf16), bf16, f16, q8_0, q4_0");
}

}  // namespace
#endif

void check_device(const std::string& device, const std::string& weights) {
    if (device == "cpu") return;
    if (device != "cuda") detail::fail("--device ", io::quote(device), " is unknown; valid are cpu, cuda");
#if defined(AUGUR_PROGRAM_CUDA)
    static_cast<void>(number_of(weights));
    static_cast<void>(llama::describe_gpu());
#else
    static_cast<void>(weights);
    detail::fail("--device cuda: this program was built without CUDA; configure with -Daugur_CUDA=ON where nvcc is");
#endif
}

engine engine_of(const llama::host_model& model, const std::string& device, const std::string& weights) {
    if (device != "cpu" && !model.taps().empty()) {
        detail::fail("--device ", device,
                     " shows the model's last hidden state alone, but the layer reads those after ",
                     model.taps().size(), " of its layers (EAGLE-3); --device cpu does");
    }
#if defined(AUGUR_PROGRAM_CUDA)
    if (device == "cuda") {
        return llama::on_gpu(model.configuration(), model.parameters(), number_of(weights), model.context_length());
    }
#endif
    check_device(device, weights);
    return engine(model);
}

}  // namespace augur::program
