#pragma once
// Chains from lookup drafters, confidence-grown trees from the drafter after them; both sized by measured cost.

#include <cstddef>
#include <ostream>
#include <span>

#include "augur/policy/concept.hpp"
#include "augur/policy/hybrid_cost_aware.hpp"
#include "augur/policy/learned_state.hpp"
#include "augur/policy/value_cost_aware.hpp"
#include "augur/types/observation.hpp"

namespace augur::policy {

/// For a fallback (draft/fallback.hpp): its first `chains` drafters, which match n-grams, draft as long a chain as
/// cost_aware finds worth its time, those after them as much of a dynamic tree as value_cost_aware does. A round that
/// measures plain decoding is plain for both. The time that they lose against plain decoding is bounded as theirs: in
/// sum by five passes and a hundredth of the time. Effect on the distribution: none. Drafts depend on the clock, so the
/// rounds of two runs may differ; under exact and coupled the text does not. Cost: both parts'; nothing is allocated.
class hybrid_value_cost_aware : public hybrid_parts<value_cost_aware> {
 public:
    /// `before`: what one of the same sizes learned in earlier texts.
    explicit hybrid_value_cost_aware(const hybrid_cost_aware_options& options = {}, const learned_state& before = {})
        : hybrid_parts("hybrid_value_cost_aware", "value_cost_aware", options, before) {}

    draft_plan plan(const observation& asked) const {
        const observation seen = without_rows(asked);
        if (chain_part().measures_plain() || tree_part().measures_plain()) return {};
        return drafts_chains(seen) ? chain_part().plan(seen) : tree_part().plan(seen);
    }

    friend std::ostream& operator<<(std::ostream& out, const hybrid_value_cost_aware& p) {
        return p.print(out, "hybrid_value_cost_aware");
    }
};

}  // namespace augur::policy
