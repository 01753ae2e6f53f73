#pragma once
// One pass of the target over the last committed token and a chain of drafted ones.

#include <cstddef>

#include "augur/model/cached_sequence.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"

namespace augur::verify {

/// The last rows of a model's answer, counted from the first that verification needs.
template <LogitRows Rows>
class last_rows {
 public:
    last_rows(Rows rows, std::size_t count) : rows_(rows), first_(rows.size() - count), count_(count) {}
    std::size_t size() const { return count_; }
    logit_row operator[](std::size_t i) const { return rows_[first_ + i]; }

 private:
    Rows rows_;
    std::size_t first_;
    std::size_t count_;
};

/// Returns proposed.size() + 1 rows: row i follows the prefix and the first i drafted tokens. Afterwards the sequence holds
/// the drafted tokens too, until the commit rewinds it. Cost: one forward pass over what the cache lacks.
template <Model M>
auto chain(model::cached_sequence<M>& target, prefix& before, const ChainProposal auto& proposed) {
    speculative_suffix speculative(before);
    for (token t : proposed.tokens()) speculative.push(t);
    const std::size_t count = proposed.size() + 1;
    return last_rows(target.score(before.tokens(), count), count);
}

}  // namespace augur::verify
