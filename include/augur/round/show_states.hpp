#pragma once
// Shows a drafter that reads hidden states those of tokens that are committed.

#include <cstddef>

#include "augur/draft/calls.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/types/prefix.hpp"

namespace augur::rounds {

/// Lets a drafter that reads states see those of all tokens but the last, of which it has been shown so many.
template <Model Target, ReadsStates D>
void show_states(model::cached_sequence<Target>& target, const D& drafter, typename D::state_type& state,
                 const prefix& committed, std::size_t& shown) {
    const auto filled = committed.tokens().first(committed.size() - 1);
    target.rewind(filled.first(shown));
    target.fill(filled, [&](const auto& states) {
        drafter.on_commit(state, committed, states);
        shown = target.tokens().size();
    });
}

}  // namespace augur::rounds
