#pragma once
// Chains from lookup drafters, trees from the drafter after them; both sized by measured cost and acceptance.

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/policy/concept.hpp"
#include "augur/policy/cost_aware.hpp"
#include "augur/policy/learned_state.hpp"
#include "augur/policy/tree_cost_aware.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/topology.hpp"

namespace augur::policy {

struct hybrid_cost_aware_options {
    std::size_t chains = 1;       ///< drafters that draft chains; those after them draft trees; at least 1
    std::size_t max_length = 10;  ///< of a chain, at least 1
    std::size_t max_nodes = 32;   ///< of a tree, 1 to 256
    std::size_t max_depth = 8;    ///< of a tree, at least 1
    double budget = 0.01;         ///< share of the time that may be lost on finding out, in [0, 1)
    /// Seconds of a verify pass over 1, 2, ... rows that were measured before; fades as what is measured comes in.
    std::vector<double> verify_seconds{};
};

/// What hybrid policies are made of: cost_aware for the first `chains` drafters of a fallback, `Trees` for those after
/// them. Both learn what passes cost from every round; acceptance, each from its own. A base of theirs.
template <class Trees>
class hybrid_parts {
 public:
    static constexpr signals_read reads{.available = signals::match_length};
    static constexpr draft_shape plans = Trees::plans;

    /// What the next text's policy can begin with: of the chains, then of the trees.
    learned_state learned() const {
        learned_state all = chain_.learned();
        const learned_state trees = tree_.learned();
        all.passes = trees.passes.size() > all.passes.size() ? trees.passes : all.passes;
        all.drafting.insert(all.drafting.end(), trees.drafting.begin(), trees.drafting.end());
        all.accepted.insert(all.accepted.end(), trees.accepted.begin(), trees.accepted.end());
        return all;
    }

    void watch(const auto& view) {
        const outcome happened = view.result();
        if (happened.decided_on.source < chains_) {
            chain_.learn(happened);
            tree_.learn_pass(happened);
        } else {
            chain_.learn_pass(happened);
            tree_.watch(view);
        }
    }

    const cost_aware& chain_part() const { return chain_; }
    const Trees& tree_part() const { return tree_; }

 protected:
    hybrid_parts(std::string_view name, std::string_view alone, const hybrid_cost_aware_options& options,
                 const learned_state& before)
        : chains_(options.chains),
          chain_(of_chains(options), of_chains(before)),
          tree_(of_trees(options), of_trees(before)) {
        if (chains_ == 0) augur::detail::fail(name, ": chains is 0; use ", alone, " instead");
        if (!(options.budget >= 0 && options.budget < 1)) {
            augur::detail::fail(name, ": budget is ", options.budget, "; it must be at least 0 and less than 1");
        }
    }

    /// Rows of the draft are not among the signals that it reads: chains are decided on as if there were none.
    static observation without_rows(observation seen) {
        seen.first_draft_entropy_nats = observation::unknown;
        return seen;
    }
    bool drafts_chains(const observation& seen) const { return seen.source < chains_; }
    std::ostream& print(std::ostream& out, std::string_view name) const {
        return out << name << "{.chains=" << chains_ << ", .chain=" << chain_ << ", .tree=" << tree_ << '}';
    }

 private:
    using tree_options = std::remove_cvref_t<decltype(std::declval<const Trees&>().options())>;

    static cost_aware_options of_chains(const hybrid_cost_aware_options& options) {
        cost_aware_options chosen;
        chosen.max_length = options.max_length;
        chosen.budget = options.budget / 2;
        chosen.credit = 3;
        chosen.verify_seconds = options.verify_seconds;
        return chosen;
    }
    static tree_options of_trees(const hybrid_cost_aware_options& options) {
        tree_options chosen;
        chosen.max_nodes = options.max_nodes;
        chosen.max_depth = options.max_depth;
        chosen.budget = options.budget / 2;
        chosen.credit = 2;
        chosen.verify_seconds = options.verify_seconds;
        return chosen;
    }

    /// Chains alone have groups of rows: as many as they have groups of drafts, which come first. What drafting trees
    /// takes is last.
    static learned_state of_chains(learned_state before) {
        before.accepted.resize(std::min(before.accepted.size(), before.looks.size()));
        before.drafting.resize(before.drafting.size() - std::min(before.drafting.size(), Trees::drafting_figures));
        return before;
    }
    static learned_state of_trees(learned_state before) {
        const std::size_t chains = std::min(before.accepted.size(), before.looks.size());
        before.accepted.erase(before.accepted.begin(), before.accepted.begin() + static_cast<std::ptrdiff_t>(chains));
        const std::size_t kept = std::min(before.drafting.size(), Trees::drafting_figures);
        before.drafting.erase(before.drafting.begin(), before.drafting.end() - static_cast<std::ptrdiff_t>(kept));
        before.looks.clear();
        return before;
    }

    std::size_t chains_;
    cost_aware chain_;
    Trees tree_;
};

/// For a fallback (draft/fallback.hpp): its first `chains` drafters, which match n-grams, draft as long a chain as
/// cost_aware finds worth its time, those after them the tree that tree_cost_aware does. Both learn what passes cost
/// from every round; acceptance, each from its own. A round that measures plain decoding is plain for both. The time
/// that they lose against plain decoding is bounded as theirs: in sum by five passes and a hundredth of the time.
/// Effect on the distribution: none. Plans depend on the clock, so the rounds of two runs may differ; under exact and
/// coupled the text does not. Cost: both parts'; nothing is allocated but a tree that differs from the last.
class hybrid_cost_aware : public hybrid_parts<tree_cost_aware> {
 public:
    /// `before`: what one of the same sizes learned in earlier texts.
    explicit hybrid_cost_aware(const hybrid_cost_aware_options& options = {}, const learned_state& before = {})
        : hybrid_parts("hybrid_cost_aware", "tree_cost_aware", options, before) {
        for (std::size_t length = 0; length <= options.max_length; ++length) {
            chains_by_length_.push_back(augur::topology::chain(length));
        }
    }

    draft_plan plan(const observation& asked) const {
        const observation seen = without_rows(asked);
        if (chain_part().measures_plain()) return {.tree = &chains_by_length_.front()};
        if (!drafts_chains(seen)) return tree_part().plan(seen);
        return {.tree = &chains_by_length_[chain_part().length_on(seen)]};
    }

    friend std::ostream& operator<<(std::ostream& out, const hybrid_cost_aware& p) {
        return p.print(out, "hybrid_cost_aware");
    }

 private:
    std::vector<augur::topology> chains_by_length_;
};

}  // namespace augur::policy
