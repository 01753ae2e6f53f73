#pragma once
// The feature (entropy, path value) by which a policy chooses a draft tree.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "augur/policy/concept.hpp"
#include "augur/tree/bank.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"

namespace augur::policy {

/// Of an entropy less means "a larger tree", of the others more.
enum class tree_feature {
    path_value,      ///< the target's top-1 times the top-1 of each head on the greedy chain, as many as `depth` says
    path_value_sum,  ///< the sum of such products over the depths 1, 2, ..., depth: the greedy chain's expected length
    target_confidence,  ///< the target's top-1, in the row that the last committed token came from
    entropy,            ///< nats of that row, smoothed over the rounds
    accepted_length,    ///< tokens committed in a round, averaged over the rounds
};

/// A feature's name, what it reads, and the range of its thresholds.
struct tree_feature_traits {
    tree_feature feature;
    std::string_view name;
    signals_read reads;
    double least, most;
    bool low_is_large;  ///< less means a larger tree

    constexpr bool is_of_chain() const { return includes(reads.available, signals::draft_confidence); }
};
inline constexpr tree_feature_traits all_tree_features[] = {
    {tree_feature::path_value, "path_value", {signals::target_confidence, signals::draft_confidence}, 0, 1, false},
    {tree_feature::path_value_sum,
     "path_value_sum",
     {signals::target_confidence, signals::draft_confidence},
     0,
     1024,
     false},
    {tree_feature::target_confidence, "target_confidence", {signals::target_confidence}, 0, 1, false},
    {tree_feature::entropy, "entropy", {signals::target_entropy}, 0, 1024, true},
    {tree_feature::accepted_length, "accepted_length", {}, 1, 1024, false},
};
constexpr const tree_feature_traits& traits_of(tree_feature one) {
    return all_tree_features[static_cast<std::size_t>(one)];
}

struct tree_feature_options {
    std::size_t depth = 0;        ///< path values: heads on the greedy chain; 0: the depth of the deepest tree
    double entropy_alpha = 0.3;   ///< entropy: weight of the newest round, in (0, 1]
    double accepted_alpha = 0.1;  ///< accepted_length: the same
};

/// A feature and what it remembers of the rounds. More of value() means a larger tree: of an entropy it is minus that.
template <tree_feature By>
class feature_meter {
 public:
    static constexpr tree_feature_traits traits = traits_of(By);

    explicit feature_meter(const tree_feature_options& chosen) : chosen_(chosen) {
        for (const double alpha : {chosen.entropy_alpha, chosen.accepted_alpha}) {
            if (alpha > 0 && alpha <= 1) continue;
            augur::detail::fail("the weight of the newest round is ", alpha, "; it must be in (0, 1]");
        }
    }

    /// NaN where it is not known: in the first round, and for path values where the draft shows no rows.
    double value(const observation& seen) const {
        if constexpr (By == tree_feature::path_value) return seen.target_confidence * seen.path_value;
        if constexpr (By == tree_feature::path_value_sum) return seen.target_confidence * seen.path_value_sum;
        if constexpr (By == tree_feature::target_confidence) return seen.target_confidence;
        if constexpr (By == tree_feature::entropy) return -smoothed(seen.target_entropy_nats);
        return average_;
    }

    void learn(const outcome& happened) noexcept {
        if constexpr (By == tree_feature::entropy) average_ = smoothed(happened.decided_on.target_entropy_nats);
        if constexpr (By == tree_feature::accepted_length) {
            if (happened.drafted == 0) return;  // nothing was judged
            average_ = mixed(static_cast<double>(happened.accepted) + 1, chosen_.accepted_alpha);
        }
    }

    const tree_feature_options& options() const { return chosen_; }

    /// Refuses a threshold that the feature cannot have.
    static void check(double threshold, const char* policy) {
        if (threshold >= traits.least && threshold <= traits.most) return;
        augur::detail::fail(policy, ": a threshold of ", traits.name, " is ", threshold, "; it must be in [",
                            traits.least, ", ", traits.most, "]");
    }

 private:
    /// A row without an entropy says nothing.
    double smoothed(double nats) const { return std::isfinite(nats) ? mixed(nats, chosen_.entropy_alpha) : average_; }
    double mixed(double newest, double alpha) const {
        return std::isnan(average_) ? newest : average_ + alpha * (newest - average_);
    }

    tree_feature_options chosen_;
    double average_ = std::numeric_limits<double>::quiet_NaN();
};

/// Of a policy that moves through a bank: the place that it is at, and how often it was where. Decided once a round,
/// kept when the round is over. A policy inherits it, and says where a value of the feature leads.
template <tree_feature By>
class tree_place {
 public:
    static constexpr tree_feature_traits traits = traits_of(By);
    static constexpr signals_read reads = traits.reads;
    static constexpr draft_shape plans = draft_shape::tree;

    /// Rows of the greedy chain that it wants to see first, for features that are of it.
    std::size_t looks_ahead() const {
        if (!traits.is_of_chain()) return 0;
        const std::size_t chosen = meter_.options().depth;
        return chosen != 0 ? chosen : std::max<std::size_t>(trees_.depth(), 1);
    }

    const augur::tree::bank& trees() const { return trees_; }
    /// The place of the last round's tree; at first, of the one that it starts with.
    std::size_t tree() const { return at_; }
    std::span<const std::size_t> rounds() const { return rounds_; }
    std::size_t switches() const { return switches_; }

 protected:
    tree_place(augur::tree::bank trees, const tree_feature_options& chosen, std::size_t starts_at)
        : trees_(std::move(trees)), meter_(chosen), at_(starts_at), rounds_(trees_.size(), 0) {}

    /// Where `next(at, value)` goes; stays where the feature is not known, or not known yet.
    std::size_t after(const observation& seen, auto&& next) const {
        const double value = meter_.value(seen);
        const bool waits = traits.is_of_chain() && includes(seen.pending, signals::draft_confidence);
        return waits || std::isnan(value) ? at_ : next(at_, value);
    }
    /// While the rows of the chain are still to come, the answer is the deepest tree, so that they do.
    draft_plan plan_after(const observation& seen, auto&& next) const {
        const bool waits = traits.is_of_chain() && includes(seen.pending, signals::draft_confidence);
        return {.tree = &(waits ? deepest() : trees_.shape(after(seen, next))), .look = looks_ahead()};
    }
    void move(const outcome& happened, auto&& next) {
        const std::size_t now = after(happened.decided_on, next);
        if (now != at_) ++switches_;
        at_ = now;
        ++rounds_[now];
        meter_.learn(happened);
    }

 private:
    const augur::topology& deepest() const {
        std::size_t best = 0;
        for (std::size_t i = 1; i < trees_.size(); ++i) {
            if (trees_.shape(i).depth() > trees_.shape(best).depth()) best = i;
        }
        return trees_.shape(best);
    }

    augur::tree::bank trees_;
    feature_meter<By> meter_;
    std::size_t at_;
    std::vector<std::size_t> rounds_;
    std::size_t switches_ = 0;
};

}  // namespace augur::policy
