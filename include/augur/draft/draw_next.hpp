#pragma once
// Drafters that draw from rows: they pick the next token as a drawing says, which the criterion may name.

#include <utility>

#include "augur/types/distribution.hpp"
#include "augur/types/drawing.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

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

/// Picks what follows by a row, and adds it to the proposal with what is claimed about it. Nothing, and no_token, where
/// nothing can be drawn from the row. `spare` serves where the claim needs no row.
template <class Drawing>
token draw_next(const Drawing& drawing, logit_row row, auto& context, proposal<point_mass>& proposed,
                distribution& spare) {
    context.distribution_of(row, spare);
    if (spare.empty()) return no_token;
    auto draws = context.draws();
    proposed.push(drawing.pick(spare, draws));
    return proposed.tokens().back();
}
template <class Drawing>
token draw_next(const Drawing& drawing, logit_row row, auto& context, proposal<distribution>& proposed,
                distribution& /*spare*/) {
    distribution& drawn_from = proposed.next_row();  // made in its place
    context.distribution_of(row, drawn_from);
    if (drawn_from.empty()) return no_token;
    auto draws = context.draws();
    proposed.complete(drawing.pick(drawn_from, draws));
    return proposed.tokens().back();
}

}  // namespace augur::draft
