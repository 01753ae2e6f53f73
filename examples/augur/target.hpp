#pragma once
// The target on the engine that runs it, and its vocabulary: what generate and chat decode with.

#include <augur/commit/stop_conditions.hpp>
#include <augur/io/text/tokenizer.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine.hpp"
#include "loaded_scheme.hpp"
#include "options.hpp"
#include "scoring_engine.hpp"

namespace augur::program {

/// --engine, --gpu-layers and --rpc.
void add_engine_options(CLI::App& command, engine_options& into);

/// The engine of a file.
struct engine_choice {
    bool is_llama_cpp = false;
    std::string why{};  ///< llama.cpp by auto: why not the bundled one

    const char* name() const { return is_llama_cpp ? "llama.cpp" : "augur"; }
};

/// `auto` is the bundled Llama where that reads the file's description, else llama.cpp where the program has it. Throws
/// where the engine is unknown, or not in this program, or cannot do what the options ask for.
engine_choice choose_engine(const engine_options& asked, const model_options& chosen, const std::string& device);

/// A model's texts and tokens: by augur's tokenizer; on llama.cpp by that one's, where augur cannot read the file's; or
/// by none.
class known_words {
 public:
    known_words(const engine_choice& runs_on, const std::string& path);

    bool any() const { return ours_ || theirs_; }
    /// augur's; throws where there is none, saying what would have needed it.
    const io::tokenizer& ours(const std::string& what) const;
    const io::tokenizer* ours() const { return ours_ ? &*ours_ : nullptr; }

    std::vector<token> encode(const prompt_options& prompt) const;
    /// Nothing without a vocabulary.
    std::string bytes_of(token id, bool show_control = false) const;
    /// Of a model with this many rows.
    std::vector<token> end_tokens(std::size_t vocabulary) const;
    /// Throws where the strings cannot be stops, or there is no vocabulary.
    std::vector<commit::stop_mark> stop_marks(const std::vector<std::string>& strings) const;

 private:
    std::string path_;
    std::optional<io::tokenizer> ours_{};
    std::unique_ptr<scoring_words> theirs_{};
};

/// A loaded target. Where it runs is decided once, here.
class target_model {
 public:
    /// Loads it for this scheme, and then what the scheme drafts with.
    target_model(engine_choice runs_on, const model_options& chosen, const engine_options& asked,
                 const std::string& device, loaded_scheme& by);

    const engine_choice& runs_on() const { return engine_; }
    /// nullptr on llama.cpp.
    const llama::host_model* bundled() const { return bundled_ ? &*bundled_ : nullptr; }
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    std::size_t threads() const;
    std::size_t parameter_count() const;
    std::size_t memory_bytes() const;
    /// Its sizes, or on llama.cpp family, size and format.
    std::string shape() const;

    /// Measures what the scheme has to know.
    void prepare(loaded_scheme& by) const;
    run_result run(const loaded_scheme& by, run_request request) const;
    run_result run_plainly(const run_request& request) const;

 private:
    void load_scoring(const model_options& chosen, const engine_options& asked, loaded_scheme& by);

    engine_choice engine_;
    std::string device_;
    std::optional<llama::host_model> bundled_{};
    std::optional<engine> computes_{};  ///< the bundled one, where it computes
    std::optional<scoring_model> scoring_{};
};

}  // namespace augur::program
