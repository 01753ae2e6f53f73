#pragma once
// Runs the verifier over the last token of a prefix and the drafted tokens after it.

#include <cstddef>

#include "augur/flow/task.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"

namespace augur::rounds {

/// co_await ask_chain(target, before, proposed): proposed.size() + 1 rows, as model::pass_rows. rows[0] follows the
/// prefix, rows[1 + i] the first i + 1 drafted tokens, which the prefix has while it waits. Afterwards the sequence
/// holds the drafted tokens too, until the commit rewinds it. Cost: one forward pass over what the cache lacks.
/// Of a tree ask target.ask_tree(before.tokens(), proposed.tokens(), proposed.parents()): rows[1 + i] follows node i
/// and its path; the sequence holds none of the nodes until it keeps a path.
template <Model M>
class ask_chain {
 public:
    ask_chain(model::cached_sequence<M>& target, prefix& before, const ChainProposal auto& proposed)
        : speculative_(before, proposed.tokens()), pass_(target.ask(before.tokens(), proposed.size() + 1)) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(flow::task::handle by) noexcept { pass_.await_suspend(by); }
    model::pass_rows<M> await_resume() { return pass_.await_resume(); }

 private:
    speculative_suffix speculative_;
    typename model::cached_sequence<M>::asked pass_;
};

/// co_await join_chain(target, before, proposed), before ask_chain: where a drafter has left positions of the target
/// waiting for their other layers, what they lack of the chain joins them, so that one pass over these layers verifies
/// all. Where none wait nothing is asked.
template <SplitModel M>
class join_chain {
 public:
    join_chain(model::cached_sequence<M>& target, prefix& before, const ChainProposal auto& proposed)
        : speculative_(before, proposed.tokens()), pass_(target.join(before.tokens())) {}

    bool await_ready() const noexcept { return pass_.await_ready(); }
    void await_suspend(flow::task::handle by) noexcept { pass_.await_suspend(by); }
    void await_resume() { pass_.await_resume(); }

 private:
    speculative_suffix speculative_;
    typename model::cached_sequence<M>::asked pass_;
};

/// The same at once, for a chain.
template <Model M>
model::pass_rows<M> chain(model::cached_sequence<M>& target, prefix& before, const ChainProposal auto& proposed) {
    const speculative_suffix speculative(before, proposed.tokens());
    return target.score(before.tokens(), proposed.size() + 1);
}

}  // namespace augur::rounds
