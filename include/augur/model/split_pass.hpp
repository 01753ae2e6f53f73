#pragma once
// One pass as several: a chain in parts, a tree path by path.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/model/pass_rows.hpp"
#include "augur/tree/leaves.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::model {

/// Makes a sequence of a model as long as it was.
template <Model M>
void rewind(const M& model, sequence_t<M>& sequence, std::size_t length) {
    if (static_cast<std::size_t>(model.length(sequence)) != length) model.truncate(sequence, length);
}

/// A chain in parts of at most `most` tokens: all of them whole but the first, so that as many rows as that are those
/// of the last part, which is not copied. `run(pass, rows)` runs one. Where that throws the sequence is as before.
template <Model M, class Run>
void run_in_parts(const M& model, const pass<sequence_t<M>>& asked, std::size_t most, pass_rows<M>& result,
                  const Run& run) {
    const std::size_t all = asked.tokens.size(), first_row = all - asked.wanted();
    const auto length = static_cast<std::size_t>(model.length(*asked.sequence));
    const bool copies = asked.wanted() > most;
    if (most == 0) augur::detail::fail("run: ", all, " tokens for a model whose passes have at most 0");
    const auto width = static_cast<std::size_t>(model.vocabulary_size());
    float* out = copies ? result.own(asked.wanted(), width).data() : nullptr;
    pass_rows<M> part;
    try {
        for (std::size_t begin = 0, end = (all - 1) % most + 1; begin < all; begin = end, end += most) {
            const pass<sequence_t<M>> next{.sequence = asked.sequence,
                                           .tokens = asked.tokens.subspan(begin, end - begin),
                                           .rows = end - std::min(end, std::max(begin, first_row))};
            run(next, copies ? part : result);
            for (std::size_t i = 0; copies && i < part.size(); ++i) out = std::copy_n(part[i].begin(), width, out);
        }
    } catch (...) {
        rewind(model, *asked.sequence, length);
        throw;
    }
}

/// The states of the last run, which these nodes of so many had, to their places.
template <Model M>
void copy_states([[maybe_unused]] const M& model, [[maybe_unused]] const sequence_t<M>& sequence,
                 [[maybe_unused]] std::span<const std::size_t> nodes, [[maybe_unused]] std::size_t all,
                 [[maybe_unused]] std::vector<float>& states) {
    if constexpr (HiddenStateModel<M>) {
        const auto size = static_cast<std::size_t>(model.hidden_size());
        states.resize(all * size);
        const auto shown = model.hidden(sequence);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const logit_row state = shown[i];
            std::copy_n(state.begin(), size, states.data() + nodes[i] * size);
        }
    }
}

/// A tree depth first, one pass from each fork to a leaf, by `run(pass, rows)`. The sequence is afterwards as before.
/// Where result.states is set, the states of all nodes go there.
template <Model M, class Run>
void run_paths(const M& model, const pass<sequence_t<M>>& asked, pass_rows<M>& result, const Run& run) {
    const std::size_t nodes = asked.tokens.size(), first_row = nodes - asked.wanted();
    const auto width = static_cast<std::size_t>(model.vocabulary_size());
    const auto length = static_cast<std::size_t>(model.length(*asked.sequence));
    const std::span<float> out = result.own(asked.wanted(), width);
    const tree::leaves leaves(nodes, asked.parents);
    std::vector<std::size_t> path, before;
    std::vector<token> tokens;
    pass_rows<M> rows;
    try {
        for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
            path.swap(before);
            leaves.path(leaf, path);
            const auto fork = std::mismatch(path.begin(), path.end(), before.begin(), before.end()).first;
            rewind(model, *asked.sequence, length + static_cast<std::size_t>(fork - path.begin()));
            const std::span<const std::size_t> part(fork, path.end());
            tokens.clear();
            for (const std::size_t node : part) tokens.push_back(asked.tokens[node]);
            const auto first = std::lower_bound(part.begin(), part.end(), first_row);  // nodes of a path ascend
            const auto count = static_cast<std::size_t>(part.end() - first);
            const bool shows = result.states != nullptr;
            run(pass<sequence_t<M>>{.sequence = asked.sequence, .tokens = tokens, .rows = count, .states = shows},
                rows);
            if (shows) copy_states(model, *asked.sequence, part, nodes, *result.states);
            for (std::size_t i = 0; i < count; ++i) {
                const std::size_t row = first[static_cast<std::ptrdiff_t>(i)] - first_row;
                std::copy_n(rows[i].begin(), width, out.begin() + static_cast<std::ptrdiff_t>(row * width));
            }
        }
    } catch (...) {
        rewind(model, *asked.sequence, length);
        throw;
    }
    rewind(model, *asked.sequence, length);
}

}  // namespace augur::model
