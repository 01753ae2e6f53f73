#pragma once
// Plans as much as pays of the tree that the draft's rows suggest: by measured cost, and by what came true of them.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
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

/// For drafters of dynamic trees (draft::dynamic_tree). Learns how often tokens are accepted to which the drafter gives
/// such a probability, how long passes take with what is judged of their rows, and how long drafting a depth does. The
/// tree grows after a node only while what is expected beneath it brings more tokens than drafting and verifying them
/// costs, a second being worth the tokens it yields at the present pace; then as many of its nodes are drafted as gain
/// most; none where none gains. It spends accumulated savings: a tree is only as large as it could pay for if none of
/// it were accepted, from an allowance that grows with every gain and by a small share of the time. So the time that it
/// loses against plain decoding is bounded, whatever the text does. Where looking at rows does not pay it is left for
/// longer and longer, at most 64 rounds. Effect on the distribution: none. Trees depend on the clock, so the rounds of
/// two runs may differ; under exact and coupled the text does not. Cost: O(max_nodes) per round beside the drafter's,
/// no randomness, nothing allocated. Source: EAGLE-2 (arXiv 2406.16858, section 4) for values; cost-aware trees (arXiv
/// 2604.09731): a node is added only while it brings more than its row costs.
class growth_planner : public growth_budget, protected time_account {
 public:
    using options_type = cost_aware_options<draft_shape::grown_tree>;
    static constexpr draft_shape plans = draft_shape::grown_tree;
    /// In learned_state.
    static constexpr std::size_t drafting_figures = 2;
    using time_account::allowance;
    using time_account::learn_pass;
    using time_account::measures_plain;
    using time_account::verify_seconds;
    /// Upper edges of the groups of probabilities.
    static constexpr std::array<float, 10> edges = {0.01f, 0.02f, 0.04f, 0.08f, 0.15f, 0.3f, 0.5f, 0.7f, 0.85f, 0.95f};

    /// `before`: what one learned in earlier texts; its passes go before verify_seconds.
    explicit growth_planner(options_type options = {}, const learned_state& before = {})
        : time_account(options.terms(), options.verify_seconds), options_(std::move(options)) {
        recall(before);
    }

    /// What the next text's policy can begin with.
    learned_state learned() const {
        learned_state all;
        all.passes = learned_passes();
        all.drafting = {figures::kept(first_depth_.figure), figures::kept(further_depth_.figure)};
        all.accepted = {{accepted_.begin(), accepted_.end()}, {below_}};
        return all;
    }

    const options_type& options() const { return options_; }

    /// Its length is the most depths of a tree: 0 where the round is to be plain.
    draft_plan plan(const observation&) const { return {.length = depths(), .grow = this}; }

    float worth(float probability) const override {
        const float sane = sane_of(probability);
        return static_cast<float>(accepted_[kind_of(sane)].rate(double{sane}, doubt));
    }

    std::size_t depths() const {
        if (measures_plain()) return 0;
        const bool due = rounds() - looked_at_ >= look_after_;
        const double look = drafting_seconds(1);  // which one slow look may have made too much
        if (!affordable(due ? std::min(look, verify_seconds(1)) : look)) return 0;
        return due || are_few() || looks_.gained > 0 ? options_.max_depth : 0;
    }

    std::size_t expand(const observation& seen, std::span<const float> values) const override {
        const double drafting = drafting_seconds(seen.drafted + 1);
        if (!affordable(drafting + verify_seconds(2) - verify_seconds(1))) return 0;
        const double row = pace() * row_seconds(), depth = pace() * (drafting - drafting_seconds(seen.drafted));
        std::size_t count = 0;
        double gain = 0;
        for (; count < values.size(); ++count) {
            const double more = double{values[count]} * below_.rate(usual_below, doubt) - row;
            if (!(more > 0)) break;
            gain += more;
        }
        return gain > depth ? count : 0;
    }

    std::size_t keep(const observation& seen, std::span<const float> values) const override {
        const std::size_t most = std::min({values.size(), options_.max_nodes, 2 * passes().most_measured() - 1});
        const double drafting = drafting_seconds(seen.drafted);
        double tokens = 0, best = 0;
        std::size_t kept = 0;
        for (std::size_t nodes = 1; nodes <= most; ++nodes) {
            tokens += double{values[nodes - 1]};
            const double extra = verify_seconds(nodes + 1) - verify_seconds(1);
            if (!affordable(drafting + extra)) break;
            const double gain = tokens - pace() * extra;
            if (!(gain > best)) continue;
            best = gain;
            kept = nodes;
        }
        return kept;
    }

    void watch(const auto& view) noexcept {
        const outcome happened = view.result();
        const std::size_t nodes = view.proposed.size();
        // What drafters before it took may be of those that only look, which no length of this one's spares.
        const bool asked = happened.decided_on.source == 0 && depths() > 0;
        const std::size_t depths = std::max<std::size_t>(happened.decided_on.drafted, nodes > 0 ? 1 : 0);
        const std::size_t rows = std::min(happened.drafted, options_.max_nodes) + 1;
        double seconds = passes().learn(rows, happened.row_seconds());
        if (depths > 0) {
            seconds += learn_drafting(depths, happened.draft_seconds);
            if (view.proposed.confidences().size() == nodes) learn_nodes(view.proposed, view.decided);
            learn_look(static_cast<double>(happened.accepted) - pace() * (seconds - verify_seconds(1)));
            kept_ = options_.memory * kept_ + (1 - options_.memory) * static_cast<double>(nodes);
        } else if (asked) {
            lose(happened.draft_seconds);
        }
        settle(happened.accepted + 1, seconds, depths > 0, happened.seconds());
        end_round(happened);
    }

    /// Estimated seconds of drafting so many depths; until any were, a plain pass each.
    double drafting_seconds(std::size_t depths) const {
        const timed &first = first_depth_.figure, &further = further_depth_.figure;
        if (!(first.weight > 0)) return static_cast<double>(depths) * verify_seconds(1);
        const double each = further.weight > 0 ? further.mean : first.mean;
        return depths == 0 ? 0 : first.mean + static_cast<double>(depths - 1) * each;
    }

 private:
    static constexpr double most_recalled = 16;  ///< nodes
    static constexpr double doubt = 3;           ///< nodes that an expectation counts as
    static constexpr double usual_below = 0.6;   ///< that a child is accepted where its parent is, until told
    static constexpr double first_looks = 7;     ///< rounds, fading, before what they gained decides
    static constexpr std::size_t first_try = 4, most_try = 64;  ///< rounds

    /// What rounds with a look at the draft's rows gained over plain ones, in tokens; fades.
    struct looks {
        double gained = 0, weight = 0;
    };

    /// Costs count as four measurements, acceptance as sixteen nodes, at most.
    void recall(const learned_state& before) {
        check(before, {2, 2, edges.size() + 1, 0}, "cost_aware");
        if (before.empty()) return;
        recall_passes(before.passes);
        first_depth_.recall(before.drafting[0]);
        further_depth_.recall(before.drafting[1]);
        for (std::size_t i = 0; i < before.accepted[0].size(); ++i) {
            accepted_[i] = before.accepted[0][i].at_most(most_recalled);
        }
        if (!before.accepted[1].empty()) below_ = before.accepted[1].front().at_most(most_recalled);
    }

    /// What is no number counts as 0.
    static float sane_of(float probability) { return probability > 0 ? std::min(probability, 1.0f) : 0; }
    static std::size_t kind_of(float probability) {
        return static_cast<std::size_t>(std::upper_bound(edges.begin(), edges.end(), probability) - edges.begin());
    }

    /// Looks so far, as they fade.
    bool are_few() const { return looks_.weight < std::min(first_looks, 0.9 / (1 - options_.memory)); }
    /// Of one further row, near as many as are drafted as a rule.
    double row_seconds() const {
        const double usual = std::min(std::max(kept_, 4.0), static_cast<double>(options_.max_nodes));
        const auto nodes = static_cast<std::size_t>(usual);
        return (verify_seconds(nodes + 1) - verify_seconds(1)) / static_cast<double>(nodes);
    }

    /// Returns what it counts as: all of it where what was known is of an earlier text.
    double learn_drafting(std::size_t depths, double seconds) {
        const bool is_first = depths == 1 || !(first_depth_.figure.weight > 0);
        drafting_time& of = is_first ? first_depth_ : further_depth_;
        const auto parts = static_cast<double>(is_first ? depths : depths - 1);
        const double rest = is_first ? 0 : std::min(first_depth_.figure.mean, seconds / static_cast<double>(depths));
        const bool was_earlier = of.is_earlier;
        const double counted = rest + parts * of.learn((seconds - rest) / parts, options_.memory);
        return was_earlier ? seconds : counted;
    }

    /// Of each node whose parent was accepted, whether it was; and whether any of them was.
    void learn_nodes(const auto& proposed, const verdict& decided) {
        for (counted& of : accepted_) of.fade(options_.memory);
        below_.fade(options_.memory);
        std::int32_t parent = after_prefix;
        for (std::size_t depth = 0; depth <= decided.accepted; ++depth) {
            const std::size_t taken = depth < decided.accepted ? decided.node(depth) : proposed.size();
            bool any = false;
            for (std::size_t node = 0; node < proposed.size(); ++node) {
                if (proposed.parent(node) != parent) continue;
                any = true;
                counted& of = accepted_[kind_of(sane_of(proposed.confidences()[node]))];
                of.judged += 1;
                of.accepted += node == taken ? 1 : 0;
            }
            below_.judged += any ? 1 : 0;
            below_.accepted += taken < proposed.size() ? 1 : 0;
            parent = static_cast<std::int32_t>(taken);
        }
    }

    void learn_look(double gained) {
        if (!passes().known()) return;
        looks_ = {options_.memory * looks_.gained + gained, options_.memory * looks_.weight + 1};
        if (looks_.gained > 0) {
            look_after_ = first_try;
        } else if (!are_few()) {
            look_after_ = std::min(2 * look_after_, most_try);
        }
        looked_at_ = rounds();
    }

    options_type options_;
    drafting_time first_depth_, further_depth_;
    std::array<counted, edges.size() + 1> accepted_{};
    counted below_;
    looks looks_;
    double kept_ = 0;                                     ///< nodes of a round, averaged
    std::size_t looked_at_ = 0, look_after_ = first_try;  ///< rounds
};

}  // namespace augur::policy
