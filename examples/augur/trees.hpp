#pragma once
// Schemes that draft trees.

#include <augur/draft/ngram_store.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <string>
#include <utility>
#include <vector>

#include "scheme.hpp"

namespace augur::program {

/// Whether a resolved scheme drafts trees.
inline bool drafts_trees(const scheme_options& chosen) {
    return chosen.tree || chosen.dynamic || chosen.automatic_tree || chosen.scheme == "entmtp";
}

/// Whether they are those that pay.
inline bool drafts_trees_that_pay(const scheme_options& chosen) {
    return chosen.automatic_tree && chosen.bank_path.empty();
}

/// Whether what pays is found among the nodes that the draft's own rows suggest: of a layer, which guesses the
/// likeliest tokens whatever judges them, and of a draft model where it does.
inline bool weighs_nodes(const scheme_options& chosen) {
    if (!drafts_trees_that_pay(chosen)) return false;
    return chosen.scheme == "eagle" || chosen.scheme == "mtp" || chosen.scheme == "hybrid" ||
           (chosen.scheme == "sd" && chosen.accept == "exact");
}

/// What a hybrid looks for first, in the text and in the table that was counted before. Where a layer comes after them
/// the table is asked for its longest contexts alone.
std::pair<draft::prompt_lookup<>, draft::ngram_store> lookups_of(const scheme_options& resolved,
                                                                 const draft::ngram_table& table, bool before_layer);

/// Whether `auto` drafts trees by this scheme, which drafts what pays: by a layer, where a pass over 8 rows takes less
/// than twice as long as one over 1; above temperature 0 not under rejection_sampling. `verify_seconds`: of passes
/// over 1, 2, ... rows.
bool auto_drafts_trees(const scheme_options& resolved, const transform::settings& sampling,
                       const std::vector<double>& verify_seconds);

/// Whether a criterion of this name judges nothing but trees here.
bool judges_trees_only(const std::string& accept);

/// Throws where the trees that were asked for, or their criterion, do not go with the other settings.
void check_trees(const scheme_options& chosen);

/// Throws where the criterion cannot keep its promise with these settings, or is unknown.
void check_tree_criterion(const scheme_options& chosen, const transform::settings& sampling);

/// As run, for merged.
run_result run_merged(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
                      const run_request& request);

/// As run, for these.
run_result run_trees(const scheme_options& resolved, const engine& target, const draft_checkpoints& drafters,
                     const run_request& request);

}  // namespace augur::program
