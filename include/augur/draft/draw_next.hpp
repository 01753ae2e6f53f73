#pragma once
// Selects the next draft token from a row, by the token selector that the criterion may set.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "augur/types/distribution.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"
#include "augur/types/token_selector.hpp"
#include "augur/types/topology.hpp"

namespace augur::draft {

/// `Kind<Source, TokenSelector>`, a drafter, but for the token selector.
template <template <class, class> class Kind, class Source>
class awaiting_selector {
 public:
    using awaiting_selector_type = awaiting_selector;

    explicit awaiting_selector(Source&& source) : source_(std::forward<Source>(source)) {}

    template <class TokenSelector>
    Kind<Source, TokenSelector> with_selector(TokenSelector token_selector) const& {
        return Kind<Source, TokenSelector>(static_cast<Source>(source_), token_selector);
    }
    template <class TokenSelector>
    Kind<Source, TokenSelector> with_selector(TokenSelector token_selector) && {
        return Kind<Source, TokenSelector>(std::forward<Source>(source_), token_selector);
    }

 private:
    Source source_;
};

/// Becomes a drafter by a token selector: `with_selector(token_selector)`.
template <class D>
concept AwaitsSelector = requires {
    typename D::awaiting_selector_type;
};

/// Where the row of the next token is made: in its place, if it is kept.
template <class DraftDistribution>
distribution& row_of_next(proposal<DraftDistribution>& proposed, distribution& spare) {
    if constexpr (std::same_as<DraftDistribution, point_mass>) {
        return spare;
    } else {
        return proposed.next_row();
    }
}
/// Adds it beneath a parent, or after the token before.
template <class DraftDistribution>
void add_next(proposal<DraftDistribution>& proposed, token picked, auto... parent) {
    if constexpr (std::same_as<DraftDistribution, point_mass>) {
        proposed.push(picked, parent...);
    } else {
        proposed.complete(picked, parent...);
    }
}

/// Picks what follows by a row, and adds it to the proposal with the draft distribution of it. Nothing, and no_token,
/// where nothing can be drawn from the row. `spare` serves where the draft distribution needs no row.
template <class TokenSelector, class DraftDistribution>
token draw_next(const TokenSelector& token_selector, logit_row row, auto& context,
                proposal<DraftDistribution>& proposed, distribution& spare) {
    distribution& from = row_of_next(proposed, spare);
    context.distribution_of(row, from);
    if (from.empty()) return no_token;
    auto draws = context.draws();
    add_next(proposed, token_selector.pick(from, draws));
    return proposed.tokens().back();
}

/// The same in a tree: child number `sibling` of the node `parent`, drawn from the row after it without its siblings
/// before, unless the token selector is one with replacement, and with its draft distribution. The prefix is the path
/// to the parent (at_node).
template <class TokenSelector, class DraftDistribution>
token draw_next(const TokenSelector& token_selector, logit_row row, auto& context,
                proposal<DraftDistribution>& proposed, distribution& spare, std::int32_t parent, std::size_t sibling) {
    distribution& from = row_of_next(proposed, spare);
    context.distribution_of(row, from);
    for (std::size_t node = 0; node < proposed.size() && !with_replacement<TokenSelector>; ++node) {
        if (proposed.parent(node) == parent && !from.empty()) from.exclude(proposed.tokens()[node]);
    }
    if (from.empty()) return no_token;
    auto draws = context.draws(proposed, parent, sibling);
    add_next(proposed, token_selector.pick(from, draws), parent);
    return proposed.tokens().back();
}

/// While it lives, the prefix of a context is followed by the tokens on the path to a node, this one included; by none
/// where the node is after_prefix.
class at_node {
 public:
    at_node(auto& context, const auto& proposed, std::int32_t node) : path_(context.prefix()) {
        push_path(path_, proposed, node);
    }

 private:
    speculative_suffix path_;
};

}  // namespace augur::draft
