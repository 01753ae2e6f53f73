#pragma once
// Typical acceptance: drafted tokens that the target finds likely enough, by how certain it is.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "augur/accept/concept.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/drawing.hpp"
#include "augur/types/error.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

namespace augur::accept {

/// The token that follows the accepted ones: the target's most probable one, as in Medusa and Hydra; or drawn from
/// those that the rule would accept there, as in Medusa's slower mode.
enum class typical_next { most_probable, drawn };

struct typical_options {
    double epsilon = 0.09;  ///< the most that is asked of a token's probability
    double delta = 0.3;     ///< the part of exp(-entropy) that is asked; alpha in Medusa's code
    typical_next next = typical_next::most_probable;
};

/// Accepts a drafted token whose target probability is above min(epsilon, delta * exp(-entropy_nats)), whatever the
/// draft; of a tree the longest path of such tokens, of several the most probable, and of these the first, eldest child
/// by eldest child. Effect: not lossless, though it has been called so. Every token has the probability
/// `promised().bound(entropy_nats)` at least, and no more is promised; texts are more probable than the target's own.
/// At temperature 0 it is greedy decoding. Randomness: none, or one draw per round. Cost: the rows after accepted nodes
/// are transformed, two passes over each. Source: `evaluate_posterior` of Medusa (Cai et al. 2024, section 2.3.1) and
/// Hydra (Ankner et al. 2024).
class typical {
 public:
    using guarantee = guarantee::minimum_probability;
    using drawing = draft::argmax;
    static constexpr bool certain = true;

    /// Refuses numbers outside of [0, 1].
    explicit typical(const typical_options& chosen = {})
        : promised_{checked("epsilon", chosen.epsilon), checked("delta", chosen.delta)}, next_(chosen.next) {}

    /// The guarantee, with its bound.
    guarantee promised() const { return promised_; }

    template <ChainProposal Proposal>
    token judge_tree(const auto& targets, const Proposal& proposed, const auto& draws,
                     std::vector<std::size_t>& path) const {
        best_path best;
        look(targets, proposed, {}, best);
        for (std::int32_t node = best.last; node != after_prefix;
             node = parents::of(parents_of(proposed), static_cast<std::size_t>(node))) {
            path.push_back(static_cast<std::size_t>(node));
        }
        std::reverse(path.begin(), path.end());
        const distribution& target = targets[static_cast<std::size_t>(best.last + 1)];
        if (target.empty()) return no_token;
        auto after = draws(best.last, 0);
        return draw(target, after);
    }

    token draw(const distribution& target, auto& draws) const {
        if (next_ == typical_next::most_probable || target.is_point()) return target.mode();
        return static_cast<token>(draws.choose(likely_tokens(target, least(target)), purpose::correction));
    }

    /// What a token's probability has to be above, after this row. As published, the entropy is the sum of -p log(p +
    /// 1e-5): lower than it is, by up to 1e-5 nats for each possible token, so that the threshold is above the promised
    /// bound.
    double threshold(const distribution& target) const {
        double entropy_nats = 0;
        for (std::size_t i = 0; i < target.size(); ++i) {
            const double p = target[i] / target.total();
            if (p > 0) entropy_nats -= p * std::log(p + 1e-5);
        }
        return promised_.bound(entropy_nats);
    }

 private:
    struct best_path {
        std::int32_t last = after_prefix;
        std::size_t length = 0;
        double log_probability = 0;
    };

    /// Those of at least this probability, as weights.
    struct likely_tokens {
        const distribution& target;
        double least;
        double sum = 0;

        likely_tokens(const distribution& of, double at_least) : target(of), least(at_least) {
            for (std::size_t i = 0; i < size(); ++i) sum += (*this)[i];
        }
        std::size_t size() const { return target.size(); }
        double operator[](std::size_t i) const { return target[i] / target.total() >= least ? target[i] : 0; }
        double total() const { return sum; }
    };

    /// Of those that may be drawn: the most probable one always.
    double least(const distribution& target) const {
        return std::min(threshold(target), target.probability(target.mode()));
    }

    /// Accepted paths beneath the last node of `here`.
    void look(const auto& targets, const auto& proposed, const best_path& here, best_path& best) const {
        const auto parents = parents_of(proposed);
        std::size_t child =
            parents::next_child(parents, proposed.size(), here.last, static_cast<std::size_t>(here.last + 1));
        if (child == proposed.size()) return;
        const distribution& target = targets[static_cast<std::size_t>(here.last + 1)];
        // Of a row that cannot be drawn from all probabilities are NaN, which is above nothing.
        const double above = threshold(target);
        for (; child < proposed.size(); child = parents::next_child(parents, proposed.size(), here.last, child + 1)) {
            const token drafted = proposed.tokens()[child];
            const double p = target.probability(drafted);
            if (target.is_point() ? drafted != target.mode() : !(p > above)) continue;
            const best_path longer{static_cast<std::int32_t>(child), here.length + 1,
                                   here.log_probability + std::log(p)};
            if (longer.length > best.length ||
                (longer.length == best.length && longer.log_probability > best.log_probability)) {
                best = longer;
            }
            look(targets, proposed, longer, best);
        }
    }

    static double checked(const char* what, double value) {
        if (!(value >= 0 && value <= 1)) {
            detail::fail("accept::typical: ", what, " must be between 0 and 1, but it is ", value);
        }
        return value;
    }

    guarantee promised_;
    typical_next next_;
};

}  // namespace augur::accept
