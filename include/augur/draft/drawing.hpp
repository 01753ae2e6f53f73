#pragma once
// How a draft model picks a token from its row, and what may then be claimed about it.

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
