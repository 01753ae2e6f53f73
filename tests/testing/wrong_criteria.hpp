#pragma once
// Criteria and drafters that look right and are not, for the tests of the law suites.

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/testing/models.hpp>
#include <cmath>

namespace wrong {

using augur::distribution;
using augur::drafted_token;
using augur::token;

/// Forgets that the token was rejected: corrects from the target, not from the residual.
struct no_residual : augur::accept::rejection_sampling {
    const auto& after_rejection(const auto& target, const auto& /*drafted*/) const { return target; }
};

/// Counts its own calls.
struct remembers : augur::accept::rejection_sampling {
    mutable int calls = 0;
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        if (target.probability(drafted.id) > 0 && calls++ % 3 == 2) return true;
        return rejection_sampling::accepts(target, drafted, draws);
    }
};

/// Accepts when two coins come true, each with the square root of the right probability, and asks for both under one
/// name: in production they are one number, and a token is accepted with the square root.
struct two_coins : augur::accept::rejection_sampling {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        const double ratio = target.probability(drafted.id) / drafted.probability(drafted.id);
        const double each = std::sqrt(std::min(1.0, ratio));
        const bool first = draws.flip(each, augur::purpose::accept);
        return draws.flip(each, augur::purpose::accept) && first;
    }
};

/// Draws its token by a coin and, where that fails, again under the same name.
struct draws_again : augur::draft::sampled {
    augur::token pick(const distribution& row, auto& draws) const {
        const token first = sampled::pick(row, draws);
        return row.probability(first) < 0.5 ? sampled::pick(row, draws) : first;
    }
};

/// Draws with noise of its own where plain sampling shares the position's: right law, another text.
struct own_noise : augur::accept::coupled {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        return draws.flip(target.probability(drafted.id), augur::purpose::accept);
    }
    auto after_rejection(const auto& target, const auto& drafted) const {
        return augur::accept::residual(target, drafted_token<augur::point_mass>{drafted.id});
    }
    token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, augur::purpose::correction));
    }
};

}  // namespace wrong
