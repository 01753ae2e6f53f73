#pragma once
// Speculative sampling: the target's distribution, kept exactly, with the most acceptance a token-wise rule can have.

#include <algorithm>
#include <cstddef>

#include "augur/accept/concept.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/draft/drawing.hpp"

namespace augur::accept {

/// max(0, scale * target - draft) as weights: with scale 1 the residual distribution. Nothing is stored: two passes where it
/// is used. The distributions must outlive it.
template <class Claim, class Row = distribution>
class residual_weights {
 public:
    residual_weights(const Row& target, drafted_token<Claim> drafted, double scale = 1)
        : target_(target), drafted_(drafted), scale_(scale) {
        total_ = detail::sum_in_chunks(*this, size());
    }

    std::size_t size() const { return target_.size(); }
    double operator[](std::size_t i) const {
        const token t = static_cast<token>(i);
        return std::max(0.0, scale_ * target_.probability(t) - drafted_.probability(t));
    }
    double total() const { return total_; }

 private:
    const Row& target_;
    drafted_token<Claim> drafted_;
    double scale_;
    double total_ = 0;
};

/// Accepts x with probability min(1, target(x) / draft(x)); otherwise draws from the residual distribution. A point mass
/// is accepted with probability target(x), and the residual is the target without x.
/// Effect: none, each token has the target's distribution exactly. Randomness: one coin per drafted token, one draw per
/// round, none of it shared with the draft. Cost: O(1) per accepted token, O(vocabulary) once per round.
/// Source: Leviathan et al. 2023, section 2.3 and appendix A.1; Chen et al. 2023, algorithm 2.
struct rejection_sampling {
    using guarantee = guarantee::same_distribution;
    using drawing = draft::sampled;

    template <class Claim>
    decision judge(const auto& target, const drafted_token<Claim>& drafted, auto& draws) const {
        const double target_probability = target.probability(drafted.id);
        const double draft_probability = drafted.probability(drafted.id);
        if (target_probability > 0 &&
            draws.flip(std::min(1.0, target_probability / draft_probability), purpose::accept)) {
            return decision::accept();
        }
        const residual_weights residual(target, drafted);
        // Rejection means target(x) < draft(x), so some other token has more; only rounding can leave nothing over.
        if (!(residual.total() > 0)) return decision::replace_with(draw(target, draws));
        return decision::replace_with(static_cast<token>(draws.choose(residual, purpose::correction)));
    }

    token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, purpose::correction));
    }
};

static_assert(AcceptanceCriterionFor<rejection_sampling, point_mass> &&
              AcceptanceCriterionFor<rejection_sampling, distribution>);
static_assert(Lossless<rejection_sampling>);

}  // namespace augur::accept
