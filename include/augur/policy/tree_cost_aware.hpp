#pragma once
// Sizes a draft tree by measured cost and acceptance: a node per row whose expected gain exceeds its cost.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "augur/policy/concept.hpp"
#include "augur/policy/learned_state.hpp"
#include "augur/policy/pass_seconds.hpp"
#include "augur/policy/time_account.hpp"
#include "augur/types/error.hpp"
#include "augur/types/topology.hpp"

namespace augur::policy {

struct tree_cost_aware_options {
    std::size_t max_nodes = 32;  ///< 1 to 256
    std::size_t max_depth = 8;   ///< at least 1
    double memory = 0.98;        ///< weight of the past when a figure is updated, in (0, 1)
    double budget = 0.01;        ///< share of the time that trying again may cost, in [0, 1)
    /// Passes of plain decoding that may be lost before anything is gained, in [-16, 16]; below 0: owed by earlier
    /// texts.
    double credit = 3;
    /// Seconds of a verify pass over 1, 2, ... rows that were measured before; fades as what is measured comes in.
    std::vector<double> verify_seconds{};
};

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
template <std::size_t Ranks>
class basic_tree_cost_aware {
 public:
    static constexpr draft_shape plans = draft_shape::tree;
    /// Children of a node that are distinguished, and the most that it gets.
    static constexpr std::size_t ranks = Ranks;
    /// Rounds after which plain decoding is measured again.
    static constexpr std::size_t plain_after = 64;
    /// The greatest max_depth.
    static constexpr std::size_t deepest = 4096;
    /// In learned_state.
    static constexpr std::size_t drafting_figures = 1;

    /// `before`: what one with the same max_depth learned in earlier texts; its passes go before verify_seconds.
    explicit basic_tree_cost_aware(tree_cost_aware_options options = {}, const learned_state& before = {})
        : options_(checked(std::move(options))),
          account_(account_by("tree_cost_aware", options_, options_.max_nodes + 1, most_allowance, plain_after),
                   options_.verify_seconds),
          accepted_(options_.max_depth) {
        recall(before);
        choose();
    }

    /// What the next text's policy can begin with.
    learned_state learned() const {
        learned_state all;
        for (const timed& each : account_.passes().figures()) all.passes.push_back(figures::kept(each));
        all.drafting.push_back(figures::kept(node_seconds_));
        for (const auto& of_depth : accepted_) all.accepted.emplace_back(of_depth.begin(), of_depth.end());
        return all;
    }

    const tree_cost_aware_options& options() const { return options_; }
    draft_plan plan(const observation&) const { return {.tree = &plan_}; }

    void watch(const auto& view) {
        const outcome happened = view.result();
        learn_path(view.proposed.size(), parents_of(view.proposed), view.decided);
        learn_seconds(happened);
        account_.end_round(happened);
        choose();
    }

    /// A round in which somebody else drafted, who learns from it: what is learned here is what passes cost, and what
    /// time yields.
    void learn_pass(const outcome& happened) { account_.learn_pass(happened, options_.max_nodes); }

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
    /// Passes of plain decoding that it may still lose.
    double allowance() const { return account_.allowance(); }
    /// Estimated seconds of a verify pass over so many rows; 0 until a plain one was measured.
    double verify_seconds(std::size_t rows) const { return account_.passes()(rows); }

    friend std::ostream& operator<<(std::ostream& out, const basic_tree_cost_aware& p) {
        return out << "tree_cost_aware{.max_nodes=" << p.options_.max_nodes << ", .max_depth=" << p.options_.max_depth
                   << ", .memory=" << p.options_.memory << ", .budget=" << p.options_.budget << '}';
    }

 private:
    static constexpr double most_allowance = 16;  ///< passes of plain decoding
    static constexpr double younger = 0.4;        ///< of the sibling before, until told otherwise
    static constexpr double doubt = 2;            ///< nodes that an expectation counts as
    static constexpr double most_recalled = 16;   ///< nodes

    /// A node that could be next.
    struct candidate {
        double value = 0, above = 1;  ///< that it is accepted, and that its parent is
        std::int32_t parent = after_prefix;
        std::size_t depth = 0, rank = 0;
    };

    static tree_cost_aware_options checked(tree_cost_aware_options options) {
        using augur::detail::fail;
        if (options.max_nodes == 0 || options.max_nodes > augur::topology::most_nodes) {
            fail("tree_cost_aware: max_nodes is ", options.max_nodes, "; it must be from 1 to ",
                 augur::topology::most_nodes);
        }
        if (options.max_depth == 0) fail("tree_cost_aware: max_depth is 0; then it could never draft");
        if (options.max_depth > deepest) {
            fail("tree_cost_aware: max_depth is ", options.max_depth, "; it must be at most ", deepest);
        }
        return options;
    }

    /// Costs count as four measurements, acceptance as sixteen nodes, at most.
    void recall(const learned_state& before) {
        check(before, {1, options_.max_depth, Ranks, 0}, "tree_cost_aware");
        if (!before.passes.empty()) account_.passes().recall(before.passes);
        for (const timed& each : before.drafting) node_seconds_ = each.at_most(pass_seconds::believed);
        is_earlier_ = !before.empty();
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
            for (counted& of : of_depth) of = {of.accepted * options_.memory, of.judged * options_.memory};
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
        double seconds = account_.passes().learn(rows, happened.row_seconds());
        const bool tried = happened.drafted > 0 || plan_.size() > 0;  // of which nothing may have come
        if (tried) {
            const auto drafted = static_cast<double>(std::max<std::size_t>(happened.drafted, 1));
            node_seconds_.weight *= options_.memory;
            seconds += node_seconds_.add(happened.draft_seconds / drafted, node_seconds_.mean, is_earlier_) * drafted;
            is_earlier_ = false;
        }
        account_.settle(happened.accepted + 1, seconds, tried, happened.seconds());
    }

    double seconds_of(std::size_t nodes) const {
        return verify_seconds(nodes + 1) + node_seconds_.mean * static_cast<double>(nodes);
    }

    /// The same for what can be lost: until drafting was timed a node counts as a plain pass.
    double seconds_at_most(std::size_t nodes) const {
        const double untimed = node_seconds_.weight > 0 ? 0 : verify_seconds(1) * static_cast<double>(nodes);
        return seconds_of(nodes) + untimed;
    }

    /// The next tree.
    void choose() {
        parents_.clear();
        if (!account_.measures_plain()) grow();
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
            if (!account_.affordable(seconds_at_most(parents_.size() + 1) - verify_seconds(1))) break;
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
        } else if (!parents_.empty() && account_.rounds() - tried_at_ >= try_after_) {
            kept = 1;
            tried_at_ = account_.rounds();
            try_after_ = std::min(2 * try_after_, most_try);
        }
        parents_.resize(kept);
    }

    static constexpr std::size_t first_try = 4, most_try = 64;  ///< rounds

    tree_cost_aware_options options_;
    time_account account_;
    timed node_seconds_;                                ///< of drafting
    bool is_earlier_ = false;                           ///< that figure, than this text
    std::vector<std::array<counted, Ranks>> accepted_;  ///< by depth and rank
    std::vector<candidate> candidates_;                 // storage
    std::vector<std::int32_t> parents_;                 // storage
    augur::topology plan_;
    std::size_t tried_at_ = 0, try_after_ = first_try;  ///< rounds
};

using tree_cost_aware = basic_tree_cost_aware<8>;

}  // namespace augur::policy
