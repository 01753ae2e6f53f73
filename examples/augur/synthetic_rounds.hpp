#pragma once
// Rounds of a model that is not here: what drafting and verifying take, on random weights of a shape.

#include <augur/backend/host/storage.hpp>
#include <augur/llama/draft_heads.hpp>
#include <augur/llama/eagle_model.hpp>
#include <augur/llama/host_exit.hpp>
#include <augur/llama/host_model.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "llama_shape.hpp"
#include "synthetic.hpp"

namespace augur::program {

struct synthetic_request {
    llama_shape shape;
    backend::host::storage weights = backend::host::storage::bf16;
    std::size_t vocabulary = 49152, context = 128, threads = 0;
    std::size_t exit_layer = 0;        ///< of drafts by the target's first layers; 0: three quarters
    std::set<std::string> drafters{};  ///< of `draft`, `eagle`, `hydra`, `medusa`, `exit`
};

/// One kind of round: so many tokens drafted by somebody, `rows` verified. Nobody's drafts take no time.
struct synthetic_round {
    std::string drafter{};
    std::size_t drafted = 0, rows = 1;
};

class synthetic_rounds {
 public:
    /// Throws, before anything is allocated, where there is not enough memory.
    explicit synthetic_rounds(const synthetic_request& asked);

    /// Seconds of one. Rounds of a kind one after the other find caches as a decoding leaves them.
    double run(const synthetic_round& round);

    std::size_t threads() const { return target_->threads(); }
    /// Layers whose weights are not another's.
    std::size_t different_layers() const { return different_; }

 private:
    void make_drafters(llama::config c, synthetic_weights& make, const llama::load_options& options);
    void draft(const std::string& drafter, std::size_t count);

    synthetic_request asked_;
    std::size_t different_ = 0;
    std::optional<llama::host_model> target_, draft_;
    std::optional<llama::eagle_model> eagle_;
    std::map<std::string, llama::draft_heads> heads_;
    std::optional<llama::host_exit> exit_;
    llama::draft_heads::workspace_type workspace_{};
    std::optional<llama::sequence> of_target_, of_draft_;
    std::optional<llama::eagle_model::sequence_type> of_eagle_;
    std::vector<token> text_;
    std::vector<float> states_, row_;
};

}  // namespace augur::program
