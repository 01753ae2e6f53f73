#pragma once
// A model's weights in llama.cpp, shared by the engines that run on them.

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "augur/engines/llama_cpp/complaints.hpp"
#include "augur/engines/llama_cpp/fingerprint.hpp"
#include "augur/engines/llama_cpp/rpc.hpp"
#include "augur/types/error.hpp"

namespace augur::engines::llama_cpp {

struct load_options {
    int gpu_layers = -1;             ///< kept on accelerators and RPC servers; -1: all
    std::vector<std::string> rpc{};  ///< servers, "host:port", that share these layers with this machine's accelerators
    bool use_mmap = true;            ///< the file stays where it is and is paged in
    bool check_tensors = false;      ///< numbers that are none are refused; takes a pass over the file
    bool vocabulary_only = false;    ///< no tensor is read: for tokenizers and grammars, not for engines
};

/// Loaded once, and used by any number of engines, each with a context of its own. A copy shares them. Immutable, and
/// safe to share between threads.
class weights {
 public:
    /// Reads a GGUF file, the first where there are several. Throws augur::error, with llama.cpp's reason, where it
    /// cannot, and where it cannot be decoded with token by token: encoders, diffusion.
    static weights load(const std::filesystem::path& path, const load_options& options = {}) {
        complaints said;
        if (options.gpu_layers < -1) augur::detail::fail("gpu_layers is ", options.gpu_layers, "; -1 means all");
        std::vector<ggml_backend_dev_t> devices;
        llama_model_params wanted = llama_model_default_params();
        wanted.n_gpu_layers = options.gpu_layers;
        wanted.load_mode = options.use_mmap ? LLAMA_LOAD_MODE_AUTO : LLAMA_LOAD_MODE_NONE;
        wanted.check_tensors = options.check_tensors;
        wanted.vocab_only = options.vocabulary_only;
        if (!options.rpc.empty()) {
            if (options.gpu_layers == 0) {
                augur::detail::fail("gpu_layers is 0, so that the RPC server ", options.rpc[0], " would have no layer");
            }
            devices = devices_of(options.rpc);
            wanted.devices = devices.data();
        }
        llama_model* const loaded = llama_model_load_from_file(path.string().c_str(), wanted);
        if (loaded == nullptr) said.fail("llama.cpp cannot load ", path.string());
        return weights(std::shared_ptr<llama_model>(loaded, llama_model_free));
    }

    /// A model that was loaded elsewhere, with weights. It is not changed.
    explicit weights(std::shared_ptr<llama_model> loaded) : model_(std::move(loaded)) {
        if (model_ == nullptr) augur::detail::fail("llama_cpp::weights: there is no model");
        const char* const other = llama_model_has_encoder(get())    ? "an encoder"
                                  : llama_model_is_diffusion(get()) ? "decoded by diffusion"
                                  : !llama_model_has_decoder(get()) ? "no decoder"
                                                                    : nullptr;
        if (other != nullptr) {
            augur::detail::fail("a model that writes token by token is needed, and ", description(), " has or is ",
                                other);
        }
        fingerprint_ = fingerprint(*vocabulary());
    }

    llama_model* get() const { return model_.get(); }
    const llama_vocab* vocabulary() const { return llama_model_get_vocab(get()); }
    std::size_t vocabulary_size() const { return static_cast<std::size_t>(llama_vocab_n_tokens(vocabulary())); }
    /// As io::vocabulary_fingerprint has it; empty for a file without a vocabulary.
    const std::string& vocabulary_fingerprint() const { return fingerprint_; }
    /// Tokens of context that it was trained for.
    std::size_t trained_length() const { return static_cast<std::size_t>(llama_model_n_ctx_train(get())); }
    std::size_t layer_count() const { return static_cast<std::size_t>(llama_model_n_layer(get())); }
    std::size_t parameter_count() const { return llama_model_n_params(get()); }
    std::size_t memory_bytes() const { return llama_model_size(get()); }
    /// Whether its memory is keys and values alone, of which the last can be taken back. Else part of it is a state
    /// that each token changes (Mamba, RWKV, hybrids), and `checkpoints` is the engine.
    bool rewinds() const { return !llama_model_is_recurrent(get()) && !llama_model_is_hybrid(get()); }
    /// Family, size and format, such as "llama 1B Q4_K - Medium".
    std::string description() const {
        char text[128] = "";
        llama_model_desc(get(), text, sizeof text);
        return text;
    }

 private:
    std::shared_ptr<llama_model> model_;
    std::string fingerprint_;
};

}  // namespace augur::engines::llama_cpp
