#pragma once
// Switches between two draft trees by a feature, with hysteresis.

#include <cstddef>
#include <optional>
#include <ostream>
#include <span>
#include <utility>

#include "augur/policy/hysteresis.hpp"
#include "augur/policy/tree_feature.hpp"
#include "augur/tree/bank.hpp"
#include "augur/types/error.hpp"

namespace augur::policy {

struct tree_hysteresis_options {
    std::size_t conservative = 0;             ///< place in the bank
    std::optional<std::size_t> aggressive{};  ///< place in the bank; unset: the last
    bool starts_aggressive = false;           ///< before the feature has said anything
    tree_feature_options feature{};
};

/// Drafts the conservative tree of a bank or its aggressive one: EntMTP-tau. A round takes the tree of the one before
/// it, unless its feature lies outside the band: at `on` and above it the aggressive one, below `off` the conservative
/// one; of an entropy at `on` and below it, and above `off`. So a feature that moves inside the band never switches.
/// Where it is not known nothing switches. No effect on the distribution, no randomness; beside the feature a few
/// operations a round. Switching moves a pointer. Source: EntMTP, section 4.
template <tree_feature By = tree_feature::path_value_sum>
class tree_hysteresis : public tree_place<By> {
    using base = tree_place<By>;
    using base::traits;

 public:
    using base::trees;

    tree_hysteresis(const augur::tree::bank& bank, band thresholds, tree_hysteresis_options chosen = {})
        : base(bank, chosen.feature,
               chosen.starts_aggressive ? chosen.aggressive.value_or(bank.size() - 1) : chosen.conservative),
          thresholds_(thresholds),
          conservative_(chosen.conservative),
          aggressive_(chosen.aggressive.value_or(bank.size() - 1)) {
        check();
    }

    draft_plan plan(const observation& seen) const { return base::plan_after(seen, switched()); }
    void learn(const outcome& happened) noexcept { base::move(happened, switched()); }

    const band& thresholds() const { return thresholds_; }
    std::size_t conservative() const { return conservative_; }
    std::size_t aggressive() const { return aggressive_; }

    friend std::ostream& operator<<(std::ostream& out, const tree_hysteresis& p) {
        return out << "tree_hysteresis{.by=" << traits.name << ", .on=" << p.thresholds_.on
                   << ", .off=" << p.thresholds_.off << ", .conservative=" << p.nodes(p.conservative_)
                   << " nodes, .aggressive=" << p.nodes(p.aggressive_) << " nodes}";
    }

 private:
    std::size_t nodes(std::size_t place) const { return trees().shape(place).size(); }
    band oriented() const { return traits.low_is_large ? thresholds_.mirrored() : thresholds_; }

    auto switched() const {
        return [this](std::size_t at, double value) {
            return oriented().next(at == aggressive_, value) ? aggressive_ : conservative_;
        };
    }

    void check() const {
        using augur::detail::fail;
        for (const double each : {thresholds_.on, thresholds_.off}) {
            feature_meter<By>::check(each, "tree_hysteresis");
        }
        if (!oriented().ordered()) {
            fail("tree_hysteresis: ", traits.name, " switches the aggressive tree on at ", thresholds_.on,
                 " and off at ", thresholds_.off, "; off must not be ", traits.low_is_large ? "below" : "above", " on");
        }
        if (conservative_ >= aggressive_ || aggressive_ >= trees().size()) {
            fail("tree_hysteresis: the conservative tree is number ", conservative_, " and the aggressive one ",
                 aggressive_, " of ", trees().size(), "; the bank goes from few nodes to many");
        }
        const std::size_t most = trees().shape(conservative_).depth() + 1;
        if (By == tree_feature::accepted_length && !(thresholds_.on < static_cast<double>(most))) {
            fail("tree_hysteresis: by the conservative tree at most ", most,
                 " tokens are committed in a round, so that accepted_length could never come back to on, ",
                 thresholds_.on);
        }
    }

    band thresholds_;
    std::size_t conservative_, aggressive_;
};

}  // namespace augur::policy
