#pragma once
// The target on the engine that runs it: what the commands decode with.

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "loaded_scheme.hpp"
#include "options.hpp"
#include "scoring_engine.hpp"

namespace augur::program {

/// --engine, --gpu-layers and --rpc.
void add_engine_options(CLI::App& command, engine_options& into);
/// Once they are parsed: whether --cache was given, which llama.cpp has another default of.
void note_cache(const CLI::App& command, engine_options& into, const model_options& chosen);

/// The engine of a file.
class engine_choice {
 public:
    bool is_llama_cpp = false;
    std::string why{};  ///< llama.cpp by auto: why not the bundled one

    const char* name() const { return is_llama_cpp ? "llama.cpp" : "augur"; }
    /// What `load` returns. Where llama.cpp cannot load what auto gave it, the bundled engine's reason is the better
    /// one; where it can, that reason is a note.
    template <class Load>
    auto explained(const Load& load) const {
        try {
            auto loaded = load();
            if (!why.empty()) tell_why();
            return loaded;
        } catch (const error&) {
            if (!why.empty()) throw error(why);
            throw;
        }
    }

 private:
    void tell_why() const;
};

/// `auto` is the bundled Llama where that reads the file's description, else llama.cpp where the program has it. Throws
/// where the engine is unknown, or not in this program, or cannot do what the options ask for.
engine_choice choose_engine(const engine_options& asked, const model_options& chosen,
                            const std::string& device = "cpu");

/// A model alone, on llama.cpp, which was chosen.
scoring_model load_scores(const engine_choice& runs_on, const model_options& chosen, const engine_options& asked,
                          const scoring_needs& needs);

/// A loaded target. Where it runs is decided once, here.
class target_model {
 public:
    /// Loads it for this scheme, and then what the scheme drafts with.
    target_model(engine_choice runs_on, const model_options& chosen, const engine_options& asked,
                 const std::string& device, loaded_scheme& by);
    /// Loads what another scheme for it drafts with; on llama.cpp an engine of trees beside the first, where it needs
    /// one.
    void add(loaded_scheme& by);

    const engine_choice& runs_on() const { return engine_; }
    /// nullptr on llama.cpp.
    const llama::host_model* bundled() const { return bundled_ ? &*bundled_ : nullptr; }
    const engine* computes() const { return computes_ ? &*computes_ : nullptr; }
    /// `work(model)`, by its own type or as an any_model.
    template <class Work>
    auto visit(const Work& work) const {
        return bundled_ ? work(*bundled_) : work(scoring_->model);
    }
    std::size_t vocabulary_size() const;
    std::size_t context_length() const;
    std::size_t threads() const;
    std::size_t parameter_count() const;
    std::size_t memory_bytes() const;
    /// Its sizes, or on llama.cpp family, size and format.
    std::string shape() const;
    /// As identity_of has it.
    nlohmann::ordered_json identity(const checkpoint_files& drafters, const transform::settings& sampling) const;

    /// Measures what the scheme has to know. `verify_seconds`: of passes of chains, where they were measured already.
    void prepare(loaded_scheme& by, const std::vector<double>& verify_seconds = {}) const;
    run_result run(const loaded_scheme& by, run_request request) const;
    /// Another scheme of chains with the same drafters, and without what was measured.
    run_result run(const scheme_options& other, const loaded_scheme& by, const run_request& request) const;
    run_result run_plainly(const run_request& request) const;

 private:
    void load_scoring(loaded_scheme& by);
    const scoring_model& scores_for(const scheme_options& resolved) const;

    engine_choice engine_;
    model_options chosen_;
    engine_options asked_;
    std::string device_;
    std::optional<llama::host_model> bundled_{};
    std::optional<engine> computes_{};  ///< the bundled one, where it computes
    std::shared_ptr<const scoring_weights> weights_{};
    std::optional<scoring_model> scoring_{}, trees_{};  ///< for the first scheme, and for others that draft trees
    scoring_needs needs_{};                             ///< of the latter
};

}  // namespace augur::program
