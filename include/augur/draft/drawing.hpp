#pragma once
// How a draft model picks a token from its row, and what may then be claimed about it.

#include <utility>

#include "augur/detail/host_device.hpp"
#include "augur/random/chooser.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// The most probable token: a point mass, for criteria that compare tokens.
struct argmax {
    using claim_type = point_mass;

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token pick(const auto& row, auto& /*draws*/) const { return row.mode(); }
};

/// A draw from the row, which is kept with the token: for rejection sampling.
struct sampled {
    using claim_type = distribution;

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token pick(const auto& row, auto& draws) const {
        return static_cast<token>(draws.choose(row, purpose::draft));
    }
};

/// A draw with the noise that belongs to the position, the same that the target draws with. Given the noise the token is
/// certain, so no row is kept.
struct shared_noise {
    using claim_type = point_mass;

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token pick(const auto& row, auto& draws) const { return static_cast<token>(draws.race(row)); }
};

/// No drawing of its own: the one that the criterion names takes its place when a scheme is composed (draft/named.hpp).
struct as_asked {};

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
