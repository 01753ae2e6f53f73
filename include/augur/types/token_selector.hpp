#pragma once
// Token selectors: how a draft model picks a token from its row, and which draft distribution that gives.

#include "augur/detail/host_device.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/draw_key.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"

namespace augur::draft {

/// The most probable token: a point mass, for criteria that compare tokens.
struct argmax {
    using draft_distribution_type = point_mass;

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token pick(const auto& row, auto& /*draws*/) const { return row.mode(); }
};

/// The most probable token, and its row: for criteria that accept it where the row is near the target's.
struct argmax_with_row {
    using draft_distribution_type = mode_of_row;

    token pick(const auto& row, auto& /*draws*/) const { return row.mode(); }
};

/// A draw from the row, which is kept with the token: for rejection sampling.
struct sampled {
    using draft_distribution_type = distribution;

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token pick(const auto& row, auto& draws) const {
        return static_cast<token>(draws.choose(row, purpose::draft));
    }
};

/// The same in a tree with replacement: siblings are drawn from one row, each from all of it, so that they can be the
/// same token.
struct sampled_with_replacement : sampled {
    static constexpr bool with_replacement = true;
};

/// A token selector whose siblings can be the same token.
template <class TokenSelector>
inline constexpr bool with_replacement = requires {
    requires TokenSelector::with_replacement;
};

/// A draw with the noise that belongs to the position, the same that the target draws with. Given the noise the token
/// is certain, so no row is kept.
struct shared_noise {
    using draft_distribution_type = point_mass;

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token pick(const auto& row, auto& draws) const {
        return static_cast<token>(draws.exponential_race(row));
    }
};

/// No token selector of its own: the criterion's is used when a scheme is composed (draft/named.hpp).
struct as_asked {};

}  // namespace augur::draft
