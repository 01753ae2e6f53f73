#pragma once
// A scheme and whoever drafts for it: from what was asked for to what can run.

#include <augur/io/files/policy_state.hpp>
#include <augur/model/any_model.hpp>
#include <augur/tune/verify_curve.hpp>
#include <string>
#include <vector>

#include "draft_checkpoints.hpp"
#include "options.hpp"
#include "scheme.hpp"
#include "scoring_engine.hpp"

namespace augur::program {

/// Seconds of the target's passes over 1, 2, ... rows: on the processor behind as many tokens as a short text has,
/// which need not be computed; on a GPU in an empty sequence.
std::vector<double> curve_of(const llama::host_model& target, const engine& runs, const std::string& device,
                             std::size_t rows, tune::patience until);

class loaded_scheme {
 public:
    /// Resolves what does not depend on the target, and throws as resolve does. `drafts`, `heads`: files that the user
    /// names.
    loaded_scheme(const scheme_options& asked, const transform::settings& sampling,
                  const std::vector<std::string>& drafts, const std::vector<std::string>& heads);

    /// Loads whom it drafts with, as load_checkpoints does; `auto` becomes what it stands for. `chosen`: how the target
    /// was loaded.
    void load(const llama::host_model& target, const model_options& chosen);

    /// The same for a target on llama.cpp, where `auto` without a file is lookup.
    void load(const scoring_model& target, const model_options& chosen, const engine_options& asked);

    /// Other settings of the same scheme.
    void settle(const scheme_options& asked);

    /// Of passes over 1, 2, ... rows, the most whose cost it needs to know; 0 where it needs none.
    std::size_t rows_to_measure() const;

    /// Of the target in this file, which is loaded for it (taps_for).
    std::vector<std::size_t> taps(const std::string& target_path) const { return taps_for(named_, target_path); }

    /// Reads the bank, where it has one. `verify_seconds`: of passes over 1, 2, ... rows; empty means what earlier
    /// texts trained, or a measurement (curve_of), where the scheme needs them.
    void prepare(const llama::host_model& target, const engine& runs, const std::string& device,
                 std::vector<double> verify_seconds = {});

    void prepare(const scoring_model& target, std::vector<double> verify_seconds = {});

    /// Begins with what earlier texts trained; before prepare. Throws where no policy can have learned it.
    void recall(io::policy_state before);
    /// Takes what a text trained, if it had a round and trained something: the next one begins with it.
    void learn(const run_result& result);
    const io::policy_state& learned() const { return learned_; }

    const scheme_options& scheme() const { return scheme_; }
    const draft_checkpoints& drafters() const { return drafters_; }
    const checkpoint_files& files() const { return files_; }
    /// The files of those that the scheme drafts with.
    const std::vector<std::string>& paths() const { return paths_; }
    bool uses(const std::string& path) const;
    const std::vector<double>& verify_seconds() const { return verify_seconds_; }

    /// Decodes. Throws as program::run does.
    run_result run(const engine& target, run_request request) const;
    run_result run(const scoring_model& target, run_request request) const;
    /// Another scheme with the same drafters, and without what was measured.
    run_result run(const scheme_options& other, const engine& target, const run_request& request) const;
    run_result run(const scheme_options& other, const scoring_model& target, const run_request& request) const;

    /// Of those that draft.
    std::size_t drafter_bytes() const { return drafters_.memory_bytes() + scoring_drafters_.bytes; }
    /// Of the draft model, which there is.
    std::size_t draft_context() const {
        return drafters_.draft ? drafters_.draft->context_length() : scoring_drafters_.draft->context_length();
    }
    /// Those of cascade and ead, cheapest first, whatever their engine; they refer to what is loaded.
    std::vector<model::any_model> draft_models() const {
        std::vector<model::any_model> all;
        if (drafters_.draft) all.emplace_back(*drafters_.draft);
        for (const auto& each : drafters_.more) all.emplace_back(*each);
        if (scoring_drafters_.draft) all.push_back(scoring_drafters_.draft->lent());
        for (const auto& each : scoring_drafters_.more) all.push_back(each->lent());
        return all;
    }
    /// Of the draft models, where there are some, cheapest first.
    std::vector<double> draft_parameters() const {
        const bool is_here = drafters_.draft.has_value();
        const std::size_t first = is_here ? drafters_.draft->parameter_count() : scoring_drafters_.draft_parameters;
        std::vector<double> all{static_cast<double>(first)};
        for (const auto& each : drafters_.more) all.push_back(static_cast<double>(each->parameter_count()));
        for (const std::size_t each : scoring_drafters_.more_parameters) all.push_back(static_cast<double>(each));
        return all;
    }

 private:
    void load_learned(const llama::host_model& target);
    void load_learned_heads(const llama::host_model& target, const llama::load_options& options);
    std::string policy_name() const;
    void time_passes(std::size_t context, const auto& measure);
    run_request informed(run_request request) const;

    bool by_auto_;
    transform::settings sampling_;
    std::size_t drafts_;
    checkpoint_files named_;
    scheme_options scheme_;
    draft_checkpoints drafters_{};
    scoring_drafters scoring_drafters_{};
    checkpoint_files files_{};
    std::vector<std::string> paths_{};
    std::vector<double> verify_seconds_{};
    io::policy_state learned_{};
};

}  // namespace augur::program
