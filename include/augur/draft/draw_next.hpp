#pragma once
// Selects the next draft token from a row, by the token selector that the criterion may set.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "augur/types/distribution.hpp"
#include "augur/types/drawing.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur::draft {

/// `Kind<Source, Drawing>`, a drafter, but for the drawing.
template <template <class, class> class Kind, class Source>
class undrawn {
 public:
    using undrawn_type = undrawn;

    explicit undrawn(Source&& source) : source_(std::forward<Source>(source)) {}

    template <class Drawing>
    Kind<Source, Drawing> drawn_by(Drawing drawing) const& {
        return Kind<Source, Drawing>(static_cast<Source>(source_), drawing);
    }
    template <class Drawing>
    Kind<Source, Drawing> drawn_by(Drawing drawing) && {
        return Kind<Source, Drawing>(std::forward<Source>(source_), drawing);
    }

 private:
    Source source_;
};

/// Becomes a drafter by a drawing: `drawn_by(drawing)`.
template <class D>
concept Undrawn = requires {
    typename D::undrawn_type;
};

/// Where the row of the next token is made: in its place, if it is claimed.
template <class Claim>
distribution& row_of_next(proposal<Claim>& proposed, distribution& spare) {
    if constexpr (std::same_as<Claim, point_mass>) {
        return spare;
    } else {
        return proposed.next_row();
    }
}
/// Adds it beneath a parent, or after the token before.
template <class Claim>
void add_next(proposal<Claim>& proposed, token picked, auto... parent) {
    if constexpr (std::same_as<Claim, point_mass>) {
        proposed.push(picked, parent...);
    } else {
        proposed.complete(picked, parent...);
    }
}

/// Picks what follows by a row, and adds it to the proposal with what is claimed about it. Nothing, and no_token, where
/// nothing can be drawn from the row. `spare` serves where the claim needs no row.
template <class Drawing, class Claim>
token draw_next(const Drawing& drawing, logit_row row, auto& context, proposal<Claim>& proposed, distribution& spare) {
    distribution& from = row_of_next(proposed, spare);
    context.distribution_of(row, from);
    if (from.empty()) return no_token;
    auto draws = context.draws();
    add_next(proposed, drawing.pick(from, draws));
    return proposed.tokens().back();
}

/// The same in a tree: child number `sibling` of the node `parent`, drawn from the row after it without its siblings
/// before, unless the drawing is one with replacement, and with what is then claimed. The prefix is the path to the
/// parent (at_node).
template <class Drawing, class Claim>
token draw_next(const Drawing& drawing, logit_row row, auto& context, proposal<Claim>& proposed, distribution& spare,
                std::int32_t parent, std::size_t sibling) {
    distribution& from = row_of_next(proposed, spare);
    context.distribution_of(row, from);
    for (std::size_t node = 0; node < proposed.size() && !with_replacement<Drawing>; ++node) {
        if (proposed.parent(node) == parent && !from.empty()) from.exclude(proposed.tokens()[node]);
    }
    if (from.empty()) return no_token;
    auto draws = context.draws(proposed, parent, sibling);
    add_next(proposed, drawing.pick(from, draws), parent);
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
