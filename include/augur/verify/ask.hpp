#pragma once
// One pass of a verifier over the last token of a prefix and what was drafted after it.

#include <cstddef>

#include "augur/flow/task.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"

namespace augur::verify {

/// co_await ask(with, target, before, proposed, rows): `rows` becomes proposed.size() + 1 rows. rows[0] follows the prefix, rows[1 + i]
/// the drafted token i (its path, in a tree). Afterwards the sequence of a chain holds the drafted tokens too, until the commit
/// rewinds it; that of a tree holds none until it keeps a path. `with` has the frames.
/// Cost: one forward pass over what the cache lacks (model/run.hpp says what of, for trees).
template <Model M>
flow::task ask(auto& /*with*/, model::cached_sequence<M>& target, prefix& before, const auto& proposed,
               model::pass_rows<M>& rows) {
    if (proposed.is_chain()) {
        speculative_suffix speculative(before);
        for (token t : proposed.tokens()) speculative.push(t);
        rows = co_await target.ask(before.tokens(), proposed.size() + 1);
    } else {
        rows = co_await target.ask_tree(before.tokens(), proposed.tokens(), proposed.parents());
    }
}

/// The same at once, for a chain.
template <Model M>
model::pass_rows<M> chain(model::cached_sequence<M>& target, prefix& before, const ChainProposal auto& proposed) {
    speculative_suffix speculative(before);
    for (token t : proposed.tokens()) speculative.push(t);
    return target.score(before.tokens(), proposed.size() + 1);
}

}  // namespace augur::verify
