#pragma once
// Plans the tree that gains most by measured cost and acceptance: a node per row whose expected gain exceeds its cost.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/policy/concept.hpp"
#include "augur/policy/cost_aware_options.hpp"
#include "augur/policy/learned_state.hpp"
#include "augur/policy/time_account.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/topology.hpp"

namespace augur::policy {

/// Learns, by depth and rank among its siblings, how often a node is accepted where its parent is, and how long passes
/// take, with what is judged of their rows. After each round it grows the next tree from nothing, always by the node
/// that is accepted most often (the product along its path), and takes of the trees that this makes, plain decoding
/// among them, the one with the most tokens a second. A chain is such a tree. A tree is only as large as savings can
/// pay for if none of it were accepted; they grow with every gain and by a small share of the time. So what it loses
/// against plain decoding is bounded, and where it has stopped drafting it tries again now and then. Effect on the
/// distribution: none. Trees depend on the clock, so the rounds of two runs may differ; under exact and coupled the
/// text does not. Cost: O(max_nodes * (max_nodes + Ranks)) per round, no randomness; a new tree is allocated where it
/// differs from the last. Source: cost-aware trees (arXiv 2604.09731): a node is added only while it brings more than
/// its row costs. Here prefixes are compared as a whole, because T(n) has steps.
template <std::size_t Ranks = 8>
class tree_planner : protected time_account {
 public:
    using options_type = cost_aware_options<draft_shape::tree>;
    static constexpr draft_shape plans = draft_shape::tree;
    /// Children of a node that are distinguished, and the most that it gets.
    static constexpr std::size_t ranks = Ranks;
    /// In learned_state.
    static constexpr std::size_t drafting_figures = 1;
    using time_account::allowance;
    using time_account::learn_pass;
    using time_account::measures_plain;
    using time_account::verify_seconds;

    /// `before`: what one with the same max_depth learned in earlier texts; its passes go before verify_seconds.
    explicit tree_planner(options_type options = {}, const learned_state& before = {})
        : time_account(options.terms(), options.verify_seconds),
          options_(std::move(options)),
          accepted_(options_.max_depth) {
        recall(before);
        choose();
    }

    /// What the next text's policy can begin with.
    learned_state learned() const {
        learned_state all;
        all.passes = learned_passes();
        all.drafting.push_back(figures::kept(node_seconds_.figure));
        for (const auto& of_depth : accepted_) all.accepted.emplace_back(of_depth.begin(), of_depth.end());
        return all;
    }

    const options_type& options() const { return options_; }
    draft_plan plan(const observation&) const { return {.tree = &plan_}; }

    void watch(const auto& view) {
        const outcome happened = view.result();
        learn_path(view.proposed.size(), parents_of(view.proposed), view.decided);
        learn_seconds(happened);
        end_round(happened);
        choose();
    }

    /// Estimated probability that the child of this rank is accepted, given that its parent, at depth `depth`, is.
    double acceptance(std::size_t depth, std::size_t rank) const {
        double expected = 0.5;
        for (std::size_t d = 0; d <= depth; ++d) expected = accepted_[d][0].rate(expected, doubt);
        double left = 1;
        for (std::size_t r = 1; r <= rank; ++r) {
            left = std::max(0.0, left - expected);
            expected = accepted_[depth][r].rate(std::min(expected * younger, left / 2), doubt);
        }
        return expected;
    }

 private:
    static constexpr double younger = 0.4;       ///< of the sibling before, until told otherwise
    static constexpr double doubt = 2;           ///< nodes that an expectation counts as
    static constexpr double most_recalled = 16;  ///< nodes

    /// A node that could be next.
    struct candidate {
        double value = 0, above = 1;  ///< that it is accepted, and that its parent is
        std::int32_t parent = after_prefix;
        std::size_t depth = 0, rank = 0;
    };

    /// Costs count as four measurements, acceptance as sixteen nodes, at most.
    void recall(const learned_state& before) {
        check(before, {1, options_.max_depth, Ranks, 0}, "cost_aware");
        recall_passes(before.passes);
        for (const timed& each : before.drafting) node_seconds_.recall(each);
        for (std::size_t depth = 0; depth < before.accepted.size(); ++depth) {
            for (std::size_t rank = 0; rank < before.accepted[depth].size(); ++rank) {
                accepted_[depth][rank] = before.accepted[depth][rank].at_most(most_recalled);
            }
        }
    }

    /// The siblings along the accepted path, and those that were all rejected at its end. What was not offered lately
    /// is forgotten, so that it is tried again.
    void learn_path(std::size_t nodes, std::span<const std::int32_t> parents, const verdict& decided) {
        for (auto& of_depth : accepted_) {
            for (counted& of : of_depth) of.fade(options_.memory);
        }
        std::int32_t parent = after_prefix;
        for (std::size_t depth = 0; depth <= decided.accepted && depth < options_.max_depth; ++depth) {
            const std::size_t taken = depth < decided.accepted ? decided.node(depth) : nodes;
            std::size_t child = parents::next_child(parents, nodes, parent, 0);
            for (std::size_t rank = 0; rank < Ranks && child < nodes; ++rank) {
                counted& of = accepted_[depth][rank];
                of.judged += 1;
                if (child == taken) of.accepted += 1;
                child = parents::next_child(parents, nodes, parent, child + 1);
            }
            if (taken == nodes) return;
            parent = static_cast<std::int32_t>(taken);
        }
    }

    void learn_seconds(const outcome& happened) {
        const std::size_t rows = std::min(happened.drafted, options_.max_nodes) + 1;
        double seconds = passes().learn(rows, happened.row_seconds());
        const bool tried = happened.drafted > 0 || plan_.size() > 0;  // of which nothing may have come
        if (tried) {
            const auto drafted = static_cast<double>(std::max<std::size_t>(happened.drafted, 1));
            seconds += node_seconds_.learn(happened.draft_seconds / drafted, options_.memory) * drafted;
        }
        settle(happened.accepted + 1, seconds, tried, happened.seconds());
    }

    double seconds_of(std::size_t nodes) const {
        return verify_seconds(nodes + 1) + node_seconds_.figure.mean * static_cast<double>(nodes);
    }

    /// The same for what can be lost: until drafting was timed a node counts as a plain pass.
    double seconds_at_most(std::size_t nodes) const {
        const double untimed = node_seconds_.figure.weight > 0 ? 0 : verify_seconds(1) * static_cast<double>(nodes);
        return seconds_of(nodes) + untimed;
    }

    /// The next tree.
    void choose() {
        parents_.clear();
        if (!measures_plain()) grow();
        if (!std::equal(parents_.begin(), parents_.end(), plan_.parents().begin(), plan_.parents().end())) {
            plan_ = augur::topology(parents_);
        }
    }

    /// parents_: the best of the trees that the most valuable nodes make, as far as it can be paid for.
    void grow() {
        double tokens = 1, best = 1 / verify_seconds(1);
        std::size_t kept = 0;
        candidates_.assign(1, {.value = acceptance(0, 0)});
        while (parents_.size() < options_.max_nodes && !candidates_.empty()) {
            const auto next =
                std::max_element(candidates_.begin(), candidates_.end(),
                                 [](const candidate& a, const candidate& b) { return a.value < b.value; });
            const candidate chosen = *next;
            candidates_.erase(next);
            if (!affordable(seconds_at_most(parents_.size() + 1) - verify_seconds(1))) break;
            const auto node = static_cast<std::int32_t>(parents_.size());
            parents_.push_back(chosen.parent);
            tokens += chosen.value;
            const double rate = tokens / seconds_of(parents_.size());
            if (rate > best) {
                best = rate;
                kept = parents_.size();
            }
            if (chosen.rank + 1 < Ranks) {
                candidate sibling = chosen;
                sibling.value = chosen.above * acceptance(chosen.depth, ++sibling.rank);
                candidates_.push_back(sibling);
            }
            if (chosen.depth + 1 < options_.max_depth) {
                const std::size_t below = chosen.depth + 1;
                candidates_.push_back({chosen.value * acceptance(below, 0), chosen.value, node, below, 0});
            }
        }
        // Where nothing seems to pay, a node is tried as soon as that can be lost.
        if (kept > 0) {
            try_after_ = first_try;
        } else if (!parents_.empty() && rounds() - tried_at_ >= try_after_) {
            kept = 1;
            tried_at_ = rounds();
            try_after_ = std::min(2 * try_after_, most_try);
        }
        parents_.resize(kept);
    }

    static constexpr std::size_t first_try = 4, most_try = 64;  ///< rounds

    options_type options_;
    drafting_time node_seconds_;
    std::vector<std::array<counted, Ranks>> accepted_;  ///< by depth and rank
    std::vector<candidate> candidates_;                 // storage
    std::vector<std::int32_t> parents_;                 // storage
    augur::topology plan_;
    std::size_t tried_at_ = 0, try_after_ = first_try;  ///< rounds
};

}  // namespace augur::policy
