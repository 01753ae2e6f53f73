// llama.cpp's side of a comparison: `peer_llama_cpp MODEL THREADS CONTEXT` answers the questions of serve.hpp.
// benchmarks/run.py builds it with the llama.cpp that it fetched; it is no part of augur's own build.

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "llama.h"
#include "serve.hpp"

namespace {

constexpr std::uint32_t most_rows = 64;

struct frees {
    void operator()(llama_model* model) const { llama_model_free(model); }
    void operator()(llama_context* context) const { llama_free(context); }
};

class engine {
 public:
    engine(const char* path, int threads, int context_length)
        : batch_(llama_batch_init(context_length, 0, 1)), context_length_(static_cast<std::uint32_t>(context_length)) {
        model_.reset(llama_model_load_from_file(path, llama_model_default_params()));
        if (!model_) throw std::runtime_error(std::string("llama.cpp cannot load ") + path);
        llama_context_params chosen = llama_context_default_params();
        chosen.n_ctx = chosen.n_batch = context_length_;
        chosen.n_outputs_max = most_rows;
        chosen.n_threads = chosen.n_threads_batch = threads;
        context_.reset(llama_init_from_model(model_.get(), chosen));
        if (!context_) throw std::runtime_error(std::string("llama.cpp makes no context for ") + path);
    }
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;
    ~engine() { llama_batch_free(batch_); }

    std::size_t vocabulary() const {
        return static_cast<std::size_t>(llama_vocab_n_tokens(llama_model_get_vocab(model_.get())));
    }
    std::uint64_t weight_bytes() const { return llama_model_size(model_.get()); }

    void extend(const std::vector<std::int32_t>& tokens, std::size_t rows) {
        if (length_ + tokens.size() > context_length_) throw std::runtime_error("the context is full");
        if (rows > most_rows) throw std::runtime_error("too many rows");
        batch_.n_tokens = static_cast<std::int32_t>(tokens.size());
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            batch_.token[i] = tokens[i];
            batch_.pos[i] = static_cast<llama_pos>(length_ + i);
            batch_.n_seq_id[i] = 1;
            batch_.seq_id[i][0] = 0;
            batch_.logits[i] = i + rows >= tokens.size();
        }
        if (llama_decode(context_.get(), batch_) != 0) throw std::runtime_error("llama_decode failed");
        if (!llama_get_logits(context_.get())) throw std::runtime_error("llama.cpp has no logits");  // waits for them
        length_ += tokens.size();
    }

    void truncate(std::size_t length) {
        if (!llama_memory_seq_rm(llama_get_memory(context_.get()), 0, static_cast<llama_pos>(length), -1)) {
            throw std::runtime_error("llama_memory_seq_rm failed");
        }
        length_ = length;
    }

 private:
    std::unique_ptr<llama_model, frees> model_;
    std::unique_ptr<llama_context, frees> context_;
    llama_batch batch_;
    std::uint32_t context_length_;
    std::size_t length_ = 0;
};

void only_errors(ggml_log_level level, const char* text, void*) {
    if (level == GGML_LOG_LEVEL_ERROR) std::cerr << text;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4 || std::atoi(argv[2]) < 1 || std::atoi(argv[3]) < 1) {
        std::cerr << "usage: peer_llama_cpp MODEL THREADS CONTEXT\n";
        return 2;
    }
    llama_log_set(only_errors, nullptr);
    ggml_backend_load_all();
    llama_backend_init();
    const int code =
        peer::serve("peer_llama_cpp", [&] { return engine(argv[1], std::atoi(argv[2]), std::atoi(argv[3])); });
    llama_backend_free();
    return code;
}
