#pragma once
// Runs passes with any model.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/model/check_passes.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/model/pass_members.hpp"
#include "augur/model/pass_rows.hpp"
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

/// The first child of `node` that has not been visited, or -1.
inline std::int32_t next_child(std::span<const std::int32_t> parents, std::int32_t node,
                               std::span<const std::int32_t> visited) {
    for (auto i = static_cast<std::size_t>(node + 1); i < parents.size(); ++i) {
        if (parents[i] == node && visited[i] == 0) return static_cast<std::int32_t>(i);
    }
    return -1;
}

template <Model M, bool Trees>
void run_one(const M& model, const pass<sequence_t<M>>& asked, pass_rows<M>& result);

/// A tree on a model without trees: depth first, one pass from each fork to a leaf. The sequence is afterwards as
/// before. Where result.states is set, the states of all nodes go there.
template <Model M>
void run_paths(const M& model, const pass<sequence_t<M>>& asked, pass_rows<M>& result) {
    const std::size_t nodes = asked.tokens.size(), wanted = asked.wanted();
    const auto width = static_cast<std::size_t>(model.vocabulary_size());
    const auto length = static_cast<std::size_t>(model.length(*asked.sequence));
    const std::span<float> out = result.own(wanted, width);
    const auto keep_states = [&](std::span<const std::int32_t> nodes_run) {
        if constexpr (HiddenStateModel<M>) {
            const auto size = static_cast<std::size_t>(model.hidden_size());
            result.states->resize(nodes * size);
            const auto shown = model.hidden(*asked.sequence);
            for (std::size_t i = 0; i < nodes_run.size(); ++i) {
                const logit_row state = shown[i];
                std::copy_n(state.begin(), size, result.states->data() + static_cast<std::size_t>(nodes_run[i]) * size);
            }
        }
    };
    std::vector<std::int32_t> visited(nodes);  // 1: it was
    std::vector<std::int32_t> path;
    std::vector<token> tokens;
    pass_rows<M> rows;
    const auto rewind = [&](std::size_t to) {
        if (static_cast<std::size_t>(model.length(*asked.sequence)) != to) model.truncate(*asked.sequence, to);
    };
    const auto end = [&] { return path.empty() ? -1 : path.back(); };
    try {
        for (std::size_t done = 0; done < nodes;) {
            while (next_child(asked.parents, end(), visited) < 0) path.pop_back();
            rewind(length + path.size());
            const std::size_t fork = path.size();
            tokens.clear();
            for (auto node = next_child(asked.parents, end(), visited); node >= 0;
                 node = next_child(asked.parents, node, visited)) {
                visited[static_cast<std::size_t>(node)] = 1;
                path.push_back(node);
                tokens.push_back(asked.tokens[static_cast<std::size_t>(node)]);
            }
            done += tokens.size();
            const auto is_wanted = [&](std::int32_t node) { return static_cast<std::size_t>(node) >= nodes - wanted; };
            const auto first = std::find_if(path.begin() + static_cast<std::ptrdiff_t>(fork), path.end(), is_wanted);
            const auto count = static_cast<std::size_t>(path.end() - first);
            const bool shows = result.states != nullptr;
            run_one<M, false>(model, {.sequence = asked.sequence, .tokens = tokens, .rows = count, .states = shows},
                              rows);
            if (shows) keep_states(std::span(path).subspan(fork));
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t row =
                    static_cast<std::size_t>(first[static_cast<std::ptrdiff_t>(i)]) - (nodes - wanted);
                std::copy_n(rows[i].begin(), width, out.begin() + static_cast<std::ptrdiff_t>(row * width));
            }
        }
    } catch (...) {
        rewind(length);
        throw;
    }
    rewind(length);
}

/// Throws unless the model, or what is made of its passes here, can do it.
template <Model M>
void check_features(const pass<sequence_t<M>>& asked) {
    const pass_features needs = asked.needs();
    if (includes(pass_features_of<M>, needs)) return;
    if (!includes(pass_features_of<M>, pass_features::layers) && includes(needs, pass_features::layers)) {
        augur::detail::fail("run: a part of the layers (from ", asked.from_layer,
                            ") was asked of a model that runs all of ", "them only: pass_features::layers");
    }
    if (!HiddenStateModel<M> && asked.states) {
        augur::detail::fail("run: the hidden states of ", asked.tokens.size(),
                            " tokens were asked of a model that has no ", "hidden(sequence)");
    }
    if (!TreeModel<M> && asked.states && !asked.parents.empty()) {
        augur::detail::fail("run: the hidden states of a tree of ", asked.tokens.size(),
                            " tokens were asked of a model without pass_features::trees");
    }
}

/// One pass, by the model's run or by what it has.
template <Model M, bool Trees>
void run_one(const M& model, const pass<sequence_t<M>>& asked, pass_rows<M>& result) {
    if constexpr (RunsPasses<M>) {
        if (includes(pass_features_of<M>, asked.needs())) {
            const std::size_t count = rows_of(model, asked);
            auto rows = model.run(std::span(&asked, 1));
            check_made(model, rows, count);
            return result.refer(result.held(std::move(rows)), 0, count);
        }
    }
    if (asked.states && (TreeModel<M> || asked.parents.empty())) {  // a model shows the states of the rows it makes
        run_one<M, Trees>(model, {.sequence = asked.sequence, .tokens = asked.tokens, .parents = asked.parents},
                          result);
        return result.drop(asked.tokens.size() - asked.wanted());
    }
    if constexpr (Trees) {
        if (!asked.parents.empty()) return run_paths(model, asked, result);
    }
    run_chain(model, asked, asked.wanted(), result);
}

/// Throws unless the model can run these passes together.
template <Model M>
void check_all(const M& model, std::span<const pass<sequence_t<M>>> passes) {
    for (const auto& asked : passes) check_features<M>(asked);
    if constexpr (SplitModel<M>) {
        check_passes(passes, model.layer_count());
    } else {
        check_passes(passes);
    }
}

/// Runs passes of one model, together where it can, else one after another; results[i] becomes the rows of passes[i],
/// which stay valid until the sequence of that pass is run or extended again. If it throws, the sequences are as
/// before, but for positions that have been finished one pass at a time.
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
    if constexpr (BatchModel<M>) {
        const auto is_own = [](const auto& asked) { return includes(pass_features_of<M>, asked.needs()); };
        if (std::all_of(passes.begin(), passes.end(), is_own)) {
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
    std::size_t done = 0;
    try {
        for (; done < passes.size(); ++done) run_one<M, Trees>(model, passes[done], results[done]);
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

/// After a pass with parents: appends this path of its tokens where they wait. Returns how many of them the sequence
/// holds now: all, or none on a model without trees, which has to be extended by them.
template <Model M>
std::size_t keep(const M& model, sequence_t<M>& sequence, std::span<const std::size_t> path) {
    if constexpr (TreeModel<M>) {
        model.keep(sequence, path);
        return path.size();
    } else {
        return 0;
    }
}

}  // namespace augur::model
