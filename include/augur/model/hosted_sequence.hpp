#pragma once
// Emulates passes, trees and batches for any model, by a sequence that keeps their results.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/model/check_passes.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/model/pass_rows.hpp"
#include "augur/model/run.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::model {

template <Model M>
struct hosted_sequence {
    explicit hosted_sequence(const M& of) : sequence(of.make_sequence()) {}

    sequence_t<M> sequence;
    pass_rows<M> rows;                       ///< of the last run
    bool tree_waits = false;                 ///< of the last run, in the model
    std::vector<token> nodes;                ///< of a tree, where it does not
    std::vector<std::int32_t> parents;       ///< theirs
    std::size_t scored_at = 0;               ///< tokens before them
    std::vector<float> states;               ///< theirs, if the last run wanted them; else the engine has what it shows
    std::vector<pass<sequence_t<M>>> asked;  ///< storage for runs that begin with this sequence
    std::vector<pass_rows<M>> results;
    std::vector<const float*> places;
};

/// The same pass of another sequence.
template <class Own, class S>
pass<Own> asked_of(Own& sequence, const pass<S>& asked) {
    return {&sequence, asked.tokens, asked.parents, asked.rows, asked.from_layer, asked.to_layer, asked.states};
}

/// Whether M runs this tree not by itself, but path by path, and its states are wanted.
template <Model M>
bool shows_paths(const M& model, const pass<sequence_t<M>>& asked) {
    return HiddenStateModel<M> && asked.states && !asked.parents.empty() && !runs_tree(model, without_states(asked));
}

/// Passes on sequences S, of which `hosted(sequence)` is where M's is. The rows stay with the sequences that they are
/// of; only where they lie, with the first.
template <Model M, class S, class Hosted>
scattered_scores run_hosted(const M& model, std::span<const pass<S>> asked, const Hosted& hosted) {
    if (asked.empty()) return {};
    hosted_sequence<M>& first = *hosted(*asked[0].sequence);
    first.asked.clear();
    first.results.resize(asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
        hosted_sequence<M>& own = *hosted(*asked[i].sequence);
        first.asked.push_back(asked_of(own.sequence, asked[i]));
        own.states.clear();
        first.results[i].states = nullptr;
        if (shows_paths(model, first.asked[i])) {
            first.results[i].states = &own.states;
            first.asked[i].states = false;
        }
    }
    run<M>(model, first.asked, first.results);
    first.places.clear();
    for (std::size_t i = 0; i < asked.size(); ++i) {
        hosted_sequence<M>& own = *hosted(*asked[i].sequence);
        std::swap(own.rows, first.results[i]);
        for (std::size_t row = 0; row < own.rows.size(); ++row) first.places.push_back(own.rows[row].data());
        own.tree_waits = runs_tree(model, first.asked[i]);
        if (!own.tree_waits) {
            own.parents.assign(asked[i].parents.begin(), asked[i].parents.end());
            own.nodes.assign(asked[i].tokens.begin(), asked[i].tokens.end());
            own.scored_at = static_cast<std::size_t>(model.length(own.sequence));
        }
    }
    return {first.places.data(), first.places.size(), static_cast<std::size_t>(model.vocabulary_size())};
}

/// Appends a path of the tree that was run last: what waits, or where it went path by path, by one more pass.
template <Model M>
void keep_hosted(const M& model, hosted_sequence<M>& s, std::span<const std::size_t> path) {
    if constexpr (TreeModel<M>) {
        if (s.tree_waits) return model.keep(s.sequence, path);
    }
    check_tree_end(s.scored_at, static_cast<std::size_t>(model.length(s.sequence)));
    check_path(path, s.parents);
    std::vector<token> kept;
    for (const std::size_t node : path) kept.push_back(s.nodes[node]);
    if (!kept.empty()) run<M>(model, {.sequence = &s.sequence, .tokens = kept, .rows = 0});
    s.parents.clear();
}

}  // namespace augur::model
