#pragma once
// Chooses among draft trees from small to large, by binning a feature.

#include <algorithm>
#include <cstddef>
#include <ostream>
#include <span>
#include <utility>
#include <vector>

#include "augur/policy/tree_feature.hpp"
#include "augur/tree/bank.hpp"
#include "augur/types/error.hpp"

namespace augur::policy {

struct tree_ladder_options {
    std::size_t starts_at = 0;  ///< the tree before the feature has said anything
    tree_feature_options feature{};
};

/// N thresholds make N + 1 bins, each with its tree of the bank, the smallest first: EntMTP-TL. At a threshold the tree
/// is the larger. No effect on the distribution, no randomness; beside the feature a comparison for each threshold.
/// Switching moves a pointer.
template <tree_feature By = tree_feature::path_value_sum>
class tree_ladder : public tree_place<By> {
    using base = tree_place<By>;
    using base::traits;

 public:
    using base::trees;

    /// Thresholds go from the smallest tree to the largest: of an entropy from high to low. Refuses one of
    /// accepted_length that the tree below it cannot reach: plain decoding reaches none.
    tree_ladder(augur::tree::bank bank, std::vector<double> thresholds, tree_ladder_options chosen = {})
        : base(std::move(bank), chosen.feature, chosen.starts_at), thresholds_(std::move(thresholds)) {
        check(chosen);
    }

    draft_plan plan(const observation& seen) const { return base::plan_after(seen, bins()); }
    void learn(const outcome& happened) noexcept { base::move(happened, bins()); }

    friend std::ostream& operator<<(std::ostream& out, const tree_ladder& p) {
        out << "tree_ladder{.by=" << traits.name << ", .thresholds={";
        for (std::size_t i = 0; i < p.thresholds_.size(); ++i) out << (i > 0 ? ", " : "") << p.thresholds_[i];
        return out << "}, " << p.trees().size() << " trees}";
    }

 private:
    auto bins() const {
        return [this](std::size_t, double value) {
            const auto reached = [value](double threshold) {
                return value >= (traits.low_is_large ? -threshold : threshold);
            };
            return static_cast<std::size_t>(std::count_if(thresholds_.begin(), thresholds_.end(), reached));
        };
    }

    void check(const tree_ladder_options& chosen) const {
        using augur::detail::fail;
        if (trees().size() != thresholds_.size() + 1) {
            fail("tree_ladder: ", thresholds_.size(), " thresholds make ", thresholds_.size() + 1,
                 " bins, but the bank has ", trees().size(), " trees");
        }
        for (std::size_t i = 0; i < thresholds_.size(); ++i) {
            feature_meter<By>::check(thresholds_[i], "tree_ladder");
            if (i == 0 ||
                (traits.low_is_large ? thresholds_[i] < thresholds_[i - 1] : thresholds_[i] > thresholds_[i - 1]))
                continue;
            fail("tree_ladder: the threshold of ", traits.name, " ", thresholds_[i], " follows ", thresholds_[i - 1],
                 "; they have to ", traits.low_is_large ? "fall" : "rise", ", from the smallest tree to the largest");
        }
        if (chosen.starts_at >= trees().size()) {
            fail("tree_ladder: it starts at tree ", chosen.starts_at, " of ", trees().size());
        }
        if (By == tree_feature::accepted_length) check_reached();
    }

    /// By a tree's own rounds the feature has to reach the threshold above it. Of plain decoding it learns nothing.
    void check_reached() const {
        for (std::size_t i = 0; i < thresholds_.size(); ++i) {
            const std::size_t most = trees().shape(i).depth() + 1;
            if (thresholds_[i] < static_cast<double>(most)) continue;
            augur::detail::fail("tree_ladder: by tree ", i, " at most ", most, " token", most == 1 ? " is" : "s are",
                                " committed in a round, so that accepted_length could never reach the threshold ",
                                thresholds_[i]);
        }
    }

    std::vector<double> thresholds_;
};

}  // namespace augur::policy
