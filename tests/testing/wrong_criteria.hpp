#pragma once
// Criteria and drafters that look right and are not, for the tests of the law suites.

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/testing/models.hpp>

namespace wrong {

using augur::decision;
using augur::distribution;
using augur::drafted_token;
using augur::token;

/// Forgets that the token was rejected: corrects from the target, not from the residual.
struct no_residual : augur::accept::rejection_sampling {
    template <class Claim>
    decision judge(const distribution& target, const drafted_token<Claim>& drafted, auto& draws) const {
        if (rejection_sampling::judge(target, drafted, draws).accepted) return decision::accept();
        return decision::replace_with(draw(target, draws));
    }
};

/// Counts its own calls.
struct remembers : augur::accept::rejection_sampling {
    mutable int calls = 0;
    template <class Claim>
    decision judge(const distribution& target, const drafted_token<Claim>& drafted, auto& draws) const {
        if (target.probability(drafted.id) > 0 && calls++ % 3 == 2) return decision::accept();
        return rejection_sampling::judge(target, drafted, draws);
    }
};

/// Draws with noise of its own where plain sampling shares the position's: right law, another text.
struct own_noise : augur::accept::coupled {
    token draw(const distribution& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, augur::purpose::correction));
    }
    template <class Claim>
    decision judge(const distribution& target, const drafted_token<Claim>& drafted, auto& draws) const {
        const token drawn = draw(target, draws);
        return drafted.id == drawn ? decision::accept() : decision::replace_with(drawn);
    }
};

}  // namespace wrong
