#pragma once
// Runs passes with any model.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "augur/model/check_passes.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/pass.hpp"
#include "augur/model/pass_members.hpp"
#include "augur/model/pass_rows.hpp"
#include "augur/model/split_pass.hpp"
#include "augur/types/error.hpp"

namespace augur::model {

/// Rows of logits that `asked` makes.
template <Model M>
std::size_t rows_of(const M& model, const pass<sequence_t<M>>& asked) {
    if constexpr (SplitModel<M>) {
        if (asked.from_layer > 0) return asked.wanted(model.waiting(*asked.sequence));
    }
    return asked.wanted();
}

/// A model that makes too few or too many rows would have others taken for them.
inline void check_made(std::size_t rows, std::size_t expected) {
    if (rows != expected) augur::detail::fail("run: the model made ", rows, " rows where ", expected, " were wanted");
}

/// The same of whole rows; and tokens of rows that are too long would be none of the vocabulary, and rows that are too
/// short would be read beyond their end.
template <Model M>
void check_made(const M& model, const LogitRows auto& rows, std::size_t expected) {
    check_made(rows.size(), expected);
    const auto vocabulary = static_cast<std::size_t>(model.vocabulary_size());
    for (std::size_t i = 0; i < expected; ++i) {
        const std::size_t width = logit_row(rows[i]).size();
        if (width == vocabulary) continue;
        augur::detail::fail("run: row ", i, " has ", width, " logits, but the vocabulary has ", vocabulary, " tokens");
    }
}

/// Appends tokens; `result` becomes the rows of the last `rows` of them.
template <Model M>
void run_chain(const M& model, const pass<sequence_t<M>>& asked, std::size_t rows, pass_rows<M>& result) {
    const auto take = [&](auto all, std::size_t count) {
        check_made(model, all, count);
        result.refer(result.held(std::move(all)), count - rows, rows);
    };
    if constexpr (RunsPasses<M>) {
        const pass<sequence_t<M>> chain{.sequence = asked.sequence, .tokens = asked.tokens, .rows = rows};
        take(model.run(std::span(&chain, 1)), rows);
    } else if constexpr (ScoresLastRows<M>) {
        take(model.extend(*asked.sequence, asked.tokens, rows), rows);
    } else {
        take(model.extend(*asked.sequence, asked.tokens), asked.tokens.size());
    }
}

/// The same with a row for each token, whose states a model without passes for them shows.
template <class Sequence>
pass<Sequence> without_states(const pass<Sequence>& asked) {
    return {.sequence = asked.sequence, .tokens = asked.tokens, .parents = asked.parents};
}

/// Throws unless the model, or what is made of its passes here, can do it.
template <Model M>
void check_features(const M& model, const pass<sequence_t<M>>& asked) {
    const pass_features needs = asked.needs();
    if (runs_itself(model, asked)) return;
    if (!supports(model, pass_features::layers) && includes(needs, pass_features::layers)) {
        augur::detail::fail("run: a part of the layers (from ", asked.from_layer,
                            ") was asked of a model that runs all of ", "them only: pass_features::layers");
    }
    if (!HiddenStateModel<M> && asked.states) {
        augur::detail::fail("run: the hidden states of ", asked.tokens.size(),
                            " tokens were asked of a model that has no ", "hidden(sequence)");
    }
    if (asked.states && !asked.parents.empty() && !runs_tree(model, without_states(asked))) {
        augur::detail::fail("run: the hidden states of a tree of ", asked.tokens.size(),
                            " tokens were asked of a model without pass_features::trees",
                            supports(model, pass_features::trees) ? " for so many tokens or leaves" : "");
    }
}

/// Throws where a pass that has to be cut is one that cannot be: its states are of one run, its positions wait at once.
template <Model M>
void check_parts(const pass<sequence_t<M>>& asked, std::size_t most) {
    if (asked.tokens.size() <= most || (!asked.states && asked.to_layer == all_layers)) return;
    augur::detail::fail("run: ", asked.states ? "the hidden states" : "a part of the layers", " of ",
                        asked.tokens.size(), " tokens at once were asked of a model whose passes have at most ", most);
}

/// One pass, by the model's run or by what it has.
template <Model M, bool Trees>
void run_one(const M& model, const pass<sequence_t<M>>& asked, pass_rows<M>& result) {
    if constexpr (RunsPasses<M>) {
        if (runs_itself(model, asked)) {
            const std::size_t count = rows_of(model, asked);
            auto rows = model.run(std::span(&asked, 1));
            check_made(model, rows, count);
            return result.refer(result.held(std::move(rows)), 0, count);
        }
    }
    const std::size_t most = limits_of(model).most_tokens_of_a_pass;
    if constexpr (HasPassLimits<M>) check_parts<M>(asked, most);
    if (asked.states && (asked.parents.empty() || runs_tree(model, without_states(asked)))) {
        run_one<M, Trees>(model, without_states(asked), result);  // a model shows the states of the rows it makes
        return result.drop(asked.tokens.size() - asked.wanted());
    }
    const auto run_part = [&](const pass<sequence_t<M>>& part, pass_rows<M>& rows) {
        run_one<M, false>(model, part, rows);
    };
    if constexpr (Trees) {
        if (!asked.parents.empty()) return run_paths(model, asked, result, run_part);
    }
    if constexpr (HasPassLimits<M>) {
        if (asked.tokens.size() > most) return run_in_parts(model, asked, most, result, run_part);
    }
    run_chain(model, asked, asked.wanted(), result);
}

/// Throws unless the model can run these passes together.
template <Model M>
void check_all(const M& model, std::span<const pass<sequence_t<M>>> passes) {
    for (const auto& asked : passes) check_features(model, asked);
    if constexpr (SplitModel<M>) {
        check_passes(passes, model.layer_count());
    } else {
        check_passes(passes);
    }
}

/// How many of these passes, from the first on, are one run of the model: at least one.
template <Model M>
std::size_t together(const M& model, std::span<const pass<sequence_t<M>>> passes) {
    if constexpr (BatchModel<M>) {
        const auto is_own = [&](const auto& asked) { return runs_itself(model, asked); };
        if (!supports(model, pass_features::batches) || !std::all_of(passes.begin(), passes.end(), is_own)) return 1;
        if constexpr (!HasPassLimits<M>) return passes.size();
        std::size_t count = 0, left = limits_of(model).most_tokens_of_a_pass;
        for (; count < passes.size() && passes[count].tokens.size() <= left; ++count) {
            left -= passes[count].tokens.size();
        }
        return count;
    } else {
        return 1;
    }
}

/// These passes as one run.
template <Model M, bool Trees>
void run_first(const M& model, std::span<const pass<sequence_t<M>>> passes, std::span<pass_rows<M>> results) {
    if constexpr (BatchModel<M>) {
        if (passes.size() > 1) {
            std::size_t first = 0, count = 0;
            for (std::size_t i = 0; i < passes.size(); ++i) count += results[i].expected = rows_of(model, passes[i]);
            auto all = model.run(passes);
            check_made(model, all, count);
            const auto rows = pass_rows<M>::held(std::move(all));
            for (pass_rows<M>& each : results) {
                each.refer(rows, first, each.expected);
                first += each.expected;
            }
            return;
        }
    }
    run_one<M, Trees>(model, passes[0], results[0]);
}

/// Runs passes of one model, together where it can, else one after another; results[i] becomes the rows of passes[i],
/// which stay valid until the sequence of that pass is run or extended again. If it throws, the sequences are as
/// before, but for positions that have been finished one pass at a time. The model's limits are kept: more passes and
/// longer chains than it takes at once are several runs of it, a tree that is too large goes path by path; rows that
/// end with a run are copied before the next one here, not before the caller's. Refused: states of more tokens than one
/// pass has, which would be of several.
/// A model without trees computes them depth first, by one pass for each leaf, into memory of the rows, and has nothing
/// to keep afterwards (model::keep). One that shows hidden states, but runs no passes for them, makes a row for each
/// state; those of a tree it shows if it is a TreeModel. Cost: for chains that of the model's own calls, and nothing
/// from the heap; for trees so computed, a pass for each leaf, a copy of each row, and the kept path once more. Without
/// `Trees` passes are of different sequences, and chains or, of a SplitModel, parts of the layers: that is not checked,
/// and nothing is compiled for others.
template <Model M, bool Trees = true>
void run(const M& model, std::span<const pass<sequence_t<M>>> passes, std::span<pass_rows<M>> results) {
    static_assert(sound_pass_members<M>);
    if (results.size() != passes.size()) {
        augur::detail::fail("run: ", passes.size(), " passes, but places for the rows of ", results.size());
    }
    if constexpr (Trees) check_all<M>(model, passes);
    std::size_t done = 0;
    try {
        while (done < passes.size()) {
            const std::size_t count = together(model, passes.subspan(done));
            run_first<M, Trees>(model, passes.subspan(done, count), results.subspan(done, count));
            done += count;
            if (done == passes.size() || !limits_of(model).rows_end_with_next_run) continue;
            for (pass_rows<M>& made : results.subspan(done - count, count)) made.keep();
        }
    } catch (...) {
        for (const auto& before : passes.first(done)) {
            if (!before.parents.empty() || before.tokens.empty()) continue;
            const auto length = static_cast<std::size_t>(model.length(*before.sequence));
            model.truncate(*before.sequence, length - before.tokens.size());
        }
        throw;
    }
}

/// One pass.
template <Model M>
pass_rows<M> run(const M& model, const pass<sequence_t<M>>& asked) {
    pass_rows<M> result;
    run<M>(model, std::span(&asked, 1), std::span(&result, 1));
    return result;
}

/// After this pass with parents: appends this path of its tokens where they wait. Returns how many of them the sequence
/// holds now: all, or none where the model has not run the tree in one pass, which has to be extended by them.
template <Model M>
std::size_t keep(const M& model, const pass<sequence_t<M>>& asked, std::span<const std::size_t> path) {
    if constexpr (TreeModel<M>) {
        if (runs_tree(model, asked)) {
            model.keep(*asked.sequence, path);
            return path.size();
        }
    }
    return 0;
}

}  // namespace augur::model
