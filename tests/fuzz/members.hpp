#pragma once
// What the fuzzer of draft checkpoints does with its input, and the replay of its corpus too.

#include <sys/mman.h>
#include <unistd.h>

#include <augur/backend/host/packed_matrix.hpp>
#include <augur/llama/draft_checkpoint.hpp>
#include <augur/llama/draft_heads.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/llama/early_exit.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/llama/host_model.hpp>
#include <augur/llama/qualifier.hpp>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace augur::testing {

/// A file that is nowhere but in memory, under a name that can be opened.
class memory_file {
 public:
    explicit memory_file(std::span<const std::byte> bytes) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
        if (descriptor_ < 0) std::abort();
        if (::write(descriptor_, bytes.data(), bytes.size()) != static_cast<::ssize_t>(bytes.size())) std::abort();
    }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;
    ~memory_file() { ::close(descriptor_); }
    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
    int descriptor_;
};

/// The target of the corpus: two layers of width 8 and a vocabulary of 16.
inline llama::host_model fuzzed_target() {
    using backend::host::packed_matrix;
    llama::config c;
    c.layers = c.heads = 2;
    c.width = c.feed_forward = 8;
    c.key_value_heads = 1;
    c.head_size = c.rotary_size = 4;
    c.vocabulary = 16;
    c.context = 32;
    c.tied_head = true;
    const auto matrix = [](std::size_t rows) {
        packed_matrix packed(backend::host::storage::f32, rows, 8);
        for (std::size_t row = 0; row < rows; ++row) {
            std::vector<float> values(8, 0.125f);
            values[row % 8] = 1;
            packed.set_row(row, std::as_bytes(std::span(values)));
        }
        return packed;
    };
    llama::weights w;
    w.embedding = std::make_shared<const packed_matrix>(matrix(16));
    w.final_norm = std::vector<float>(8, 1.0f);
    for (int i = 0; i < 2; ++i) {
        w.layers.push_back(std::make_shared<const llama::layer_weights>(llama::layer_weights{
            w.final_norm, w.final_norm, matrix(8), matrix(4), matrix(4), matrix(8), matrix(8), matrix(8), matrix(8)}));
    }
    return llama::host_model(std::move(c), std::move(w), {.threads = 1}, "0123456789abcdef");
}

/// Loads the bytes as every kind of draft checkpoint of one target, and runs what can be. Errors: augur::error only.
inline void read_checkpoint(std::span<const std::byte> bytes) {
    static const llama::host_model target = fuzzed_target();
    static const std::vector<token> text{1, 2, 3};
    const memory_file file(bytes);
    const llama::load_options options{.threads = 1};
    const auto kind = llama::checkpoint_kind(io::gguf_file(file.path()));
    const auto run = [](const llama::host_model& model) {
        auto sequence = model.make_sequence();
        if (model.extend(sequence, text).size() != text.size()) std::abort();
    };
    if (kind == "draft") run(llama::load_draft(file.path(), target, options));
    if (kind == "qualifier") run(llama::load_qualifier(file.path(), target, options));
    const std::vector<float> states(text.size() * target.hidden_size(), 0.5f);
    if (kind == "exit") {
        run(llama::load_exit(file.path(), target, 0, options));
        std::vector<float> row(target.vocabulary_size());
        const auto head = llama::host_exit::load(file.path(), target, 0, options);
        head.row(std::span(states).first(target.hidden_size()), row);
    }
    if (kind == "eagle") {
        const auto model = llama::eagle_model::load(file.path(), target, options);
        auto sequence = model.make_sequence();
        if (model.extend(sequence, text, states, 1).size() != 1) std::abort();
    }
    if (kind == "medusa" || kind == "hydra") {
        const auto heads = llama::draft_heads::load(file.path(), kind, target, options);
        auto workspace = heads.make_workspace();
        const auto row =
            heads.row(workspace, std::span(states).first(target.hidden_size()), std::span(text).first(1), 0);
        if (row.size() != target.vocabulary_size()) std::abort();
    }
}

}  // namespace augur::testing
