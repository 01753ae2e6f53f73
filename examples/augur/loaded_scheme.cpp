#include "loaded_scheme.hpp"

#include <algorithm>
#include <augur/io/files/quote.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/tune/verify_curve.hpp>
#include <utility>

#include "models.hpp"
#include "tree_choice.hpp"
#include "trees.hpp"

namespace augur::program {

loaded_scheme::loaded_scheme(const scheme_options& asked, const transform::settings& sampling,
                             const std::vector<std::string>& drafts, const std::vector<std::string>& heads,
                             bool may_bridge)
    : by_auto_(asked.scheme == "auto"),
      may_bridge_(may_bridge && asked.scheme == "ead"),
      sampling_(sampling),
      drafts_(drafts.size()),
      named_(named_checkpoints(drafts, heads, asked.scheme)),
      scheme_(resolve(asked, sampling, drafts_, named_)) {}

void loaded_scheme::load(const llama::host_model& target, const model_options& chosen) {
    const bool free = scheme_.scheme == "auto";
    if (free) scheme_.scheme = auto_scheme(scheme_);
    model_options of_drafters = chosen;
    of_drafters.context = 0;
    if (scheme_.scheme == "medusa" || scheme_.scheme == "hydra") {
        if (!scheme_.adapter.empty()) {
            load_learned_heads(target, load_options_of(of_drafters));
            return;
        }
    } else if (scheme_.scheme == "dvi" || (scheme_.scheme == "kangaroo" && !scheme_.adapter.empty())) {
        load_learned(target);
        return;
    }
    if (scheme_.untrained) {
        const std::size_t layer = scheme_.exit_layer.value_or(0);
        drafters_.exit.emplace(llama::host_exit::untrained(target, layer, load_options_of(of_drafters)));
        return;
    }
    files_ = load_checkpoints(drafters_, scheme_.scheme, !free, named_, target, chosen.path,
                              load_options_of(of_drafters), scheme_.exit_layer.value_or(0), may_bridge_);
    if (free && files_.empty()) scheme_.scheme = "lookup";
    for (const std::string& kind : members_used_by(scheme_.scheme)) {
        if (files_.contains(kind)) paths_.push_back(files_.at(kind));
    }
    for (const std::string& kind : numbered_drafts(files_)) paths_.push_back(files_.at(kind));
    if (scheme_.scheme == "eagle" && !scheme_.adapter.empty()) {
        drafters_.eagle.emplace(
            eagle_of_adapter(scheme_.adapter, files_.at("eagle"), *drafters_.eagle, load_options_of(of_drafters)));
        paths_.push_back(scheme_.adapter);
    }
}

void loaded_scheme::load(const scoring_model& target, const model_options& chosen, const engine_options& asked) {
    if (scheme_.scheme == "auto") scheme_.scheme = "lookup";
    files_ = load_scoring_drafters(scoring_drafters_, scheme_, named_, target, chosen, asked, may_bridge_);
    for (const std::string& kind : members_used_by(scheme_.scheme)) {
        if (files_.contains(kind)) paths_.push_back(files_.at(kind));
    }
    for (const std::string& kind : numbered_drafts(files_)) paths_.push_back(files_.at(kind));
}

void loaded_scheme::load_learned(const llama::host_model& target) {
    learning_options chosen =
        scheme_.adapter.empty() ? new_options(target) : options_of_adapter(scheme_.adapter, target);
    if (scheme_.exit_layer) {
        if (chosen.exit_layer != 0 && chosen.exit_layer != *scheme_.exit_layer) {
            detail::fail("--adapter ", scheme_.adapter, " is of an exit after ", chosen.exit_layer,
                         " layers, but --exit-layer is ", *scheme_.exit_layer);
        }
        chosen.exit_layer = *scheme_.exit_layer;
    }
    chosen.trainer.share *= training_part;
    if (scheme_.scheme == "kangaroo") chosen.trainer.replay.capacity = chosen.trainer.least;  // which nobody fills
    if (chosen.attention_rank != 0) {
        drafters_.learned_attention = std::make_unique<learned_attending>(target, chosen);
        drafters_.learned_attention->restore(scheme_.adapter);
    } else if (chosen.head.layer_rank != 0) {
        drafters_.learned_layer = std::make_unique<learned_exit_layer>(target, chosen);
        drafters_.learned_layer->restore(scheme_.adapter);
    } else {
        drafters_.learned = std::make_unique<learned_exit>(target, chosen);
        if (scheme_.adapter.empty()) return;
        drafters_.learned->restore(scheme_.adapter);
    }
    paths_.push_back(scheme_.adapter);
}

void loaded_scheme::load_learned_heads(const llama::host_model& target, const llama::load_options& options) {
    if (const auto named = named_.find(scheme_.scheme); named != named_.end()) {
        detail::fail("--heads is ", named->second, " and --adapter ", scheme_.adapter,
                     "; both are the heads: give one");
    }
    drafters_.heads.emplace(heads_of_adapter(scheme_.adapter, scheme_.scheme, target, options));
    files_[scheme_.scheme] = scheme_.adapter;
    paths_.push_back(scheme_.adapter);
}

void loaded_scheme::settle(const scheme_options& asked) {
    scheme_ = resolve(asked, sampling_, drafts_, named_);
}

std::vector<double> curve_of(const llama::host_model& target, const engine& runs, const std::string& device,
                             std::size_t rows, tune::patience until) {
    if (device != "cpu") return tune::verify_curve(runs, rows, until);
    return tune::verify_curve(target, rows, until, std::min<std::size_t>(256, target.context_length() / 2));
}

std::size_t loaded_scheme::rows_to_measure() const {
    if (drafts_what_pays(scheme_)) return policy::cost_aware_options<>{}.max_length + 1;
    return drafts_trees_that_pay(scheme_) ? policy::cost_aware_options<draft_shape::tree>{}.max_nodes + 1 : 0;
}

void loaded_scheme::prepare(const llama::host_model& target, const engine& runs, const std::string& device,
                            std::vector<double> verify_seconds) {
    if (!scheme_.bank_path.empty()) load_bank(scheme_, bank_identity_of(target, drafters_, files_));
    const bool is_hybrid = scheme_.scheme == "hybrid", is_whole = drafters_.ngrams && drafters_.eagle;
    if (is_hybrid && scheme_.automatic_tree && !is_whole) {
        detail::fail("scheme 'hybrid' drafts trees by an eagle layer after an n-gram table, but there is no ",
                     drafters_.ngrams ? "eagle" : "ngram", " for this model");
    }
    if (scheme_.dynamic && drafters_.heads) {
        detail::fail("--tree ", shown(*scheme_.dynamic), " is of a layer or a draft model, but here ", paths_.front(),
                     " drafts, heads");
    }
    if (rows_to_measure() == 0) return;
    verify_seconds_ = std::move(verify_seconds);
    time_passes(runs.context_length(),
                [&](std::size_t rows, tune::patience until) { return curve_of(target, runs, device, rows, until); });
    if (by_auto_ && drafts_what_pays(scheme_) && (is_whole || !is_hybrid)) {
        scheme_.automatic_tree = auto_drafts_trees(scheme_, sampling_, verify_seconds_);
    }
}

void loaded_scheme::prepare(const scoring_model& target, std::vector<double> verify_seconds) {
    if (rows_to_measure() == 0) return;
    verify_seconds_ = std::move(verify_seconds);
    const std::size_t room = target.model.context_length();
    time_passes(room, [&](std::size_t rows, tune::patience until) {
        return tune::verify_curve(target.model, rows, until, std::min<std::size_t>(256, room / 2));
    });
}

/// What is not known of passes over 1, 2, ... rows, the most that are needed, is what earlier texts trained, or
/// measured.
void loaded_scheme::time_passes(std::size_t context, const auto& measure) {
    const std::size_t rows = rows_to_measure();
    const bool is_known = learned_.verify_seconds.size() >= std::min(rows, context);
    if (verify_seconds_.empty() && is_known) verify_seconds_ = learned_.verify_seconds;
    if (verify_seconds_.empty()) verify_seconds_ = measure(rows, tune::patience{.repetitions = 4, .seconds = 0.3});
    verify_seconds_.resize(std::min(rows, verify_seconds_.size()));
}

/// Of what learns for this scheme, in a state.
std::string loaded_scheme::policy_name() const {
    if (!drafts_trees_that_pay(scheme_)) return "chains";
    if (scheme_.scheme == "hybrid") return "chains and trees";
    return weighs_nodes(scheme_) ? "trees by value" : "trees";
}

void loaded_scheme::recall(io::policy_state before) {
    for (const auto& [name, known] : before.policies) {
        if (name == "chains") {
            static_cast<void>(policy::cost_aware<>({}, known));
        } else if (name == "trees") {
            static_cast<void>(policy::cost_aware<draft_shape::tree>({}, known));
        } else if (name == "chains and trees") {
            static_cast<void>(policy::cost_aware<draft_shape::chain, draft_shape::grown_tree>({}, known));
        } else if (name == "trees by value") {
            static_cast<void>(policy::cost_aware<draft_shape::grown_tree>({}, known));
        } else {
            detail::fail("no scheme has a policy ", io::quote(name),
                         "; there are chains, trees, trees by value, chains and trees");
        }
    }
    learned_ = std::move(before);
}

void loaded_scheme::learn(const run_result& result) {
    if (!result.learned || result.counts.rounds() == 0 || rows_to_measure() == 0) return;
    const std::vector<policy::timed>& passes = result.learned->passes;
    policy::pass_seconds estimated(passes.size(), policy::cost_aware_options<>{}.memory);
    estimated.recall(passes);
    learned_.verify_seconds.clear();
    for (std::size_t rows = 1; estimated.known() && rows <= std::min(passes.size(), verify_seconds_.size()); ++rows) {
        learned_.verify_seconds.push_back(estimated(rows));
    }
    learned_.policies[policy_name()] = *result.learned;
    ++learned_.texts;
}

bool loaded_scheme::uses(const std::string& path) const {
    return std::find(paths_.begin(), paths_.end(), path) != paths_.end();
}

/// With what was measured, and learned in earlier texts.
run_request loaded_scheme::informed(run_request request) const {
    request.verify_seconds = verify_seconds_;
    const auto known = learned_.policies.find(policy_name());
    if (known != learned_.policies.end()) request.known = known->second;
    return request;
}

run_result loaded_scheme::run(const engine& target, run_request request) const {
    return program::run(scheme_, target, drafters_, informed(std::move(request)));
}

run_result loaded_scheme::run(const scoring_model& target, run_request request) const {
    return program::run(scheme_, target.model, scoring_drafters_, informed(std::move(request)));
}

run_result loaded_scheme::run(const scheme_options& other, const engine& target, const run_request& request) const {
    return program::run(other, target, drafters_, request);
}

run_result loaded_scheme::run(const scheme_options& other, const scoring_model& target,
                              const run_request& request) const {
    return program::run(other, target.model, scoring_drafters_, request);
}

}  // namespace augur::program
