#pragma once
// The Pareto front of measured draft trees, and the two that a scheduler switches between.

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "augur/tree/bank.hpp"
#include "augur/types/error.hpp"

namespace augur::tree {

/// Without the dominated: a tree stays where it has more tokens a second than every other one of as many nodes or
/// fewer. From few nodes to many, and so from slow to fast.
template <class Trees = std::vector<measured_tree>>
bank throughput_frontier(Trees trees) {
    std::stable_sort(trees.begin(), trees.end(), [](const measured_tree& a, const measured_tree& b) {
        if (a.shape.size() != b.shape.size()) return a.shape.size() < b.shape.size();
        return a.tokens_per_second > b.tokens_per_second;
    });
    std::vector<measured_tree> kept;
    for (measured_tree& each : trees) {
        if (!kept.empty() && !(each.tokens_per_second > kept.back().tokens_per_second)) continue;
        kept.push_back(std::move(each));
    }
    return bank(std::move(kept));
}

struct tree_pair {
    std::size_t conservative = 0, aggressive = 0;
    friend bool operator==(const tree_pair&, const tree_pair&) = default;
};

/// Of a frontier: aggressive is the fastest tree, conservative the fastest of those with at most half as many nodes.
/// There is one wherever plain decoding, which has none, was measured too. Refuses a frontier of one tree.
inline tree_pair pair_of(const bank& frontier) {
    const std::size_t aggressive = frontier.fastest();
    const std::size_t most = frontier.shape(aggressive).size() / 2;
    tree_pair chosen{aggressive, aggressive};
    for (std::size_t i = 0; i < aggressive; ++i) {
        if (frontier.shape(i).size() > most) break;
        if (chosen.conservative == aggressive ||
            frontier[i].tokens_per_second > frontier[chosen.conservative].tokens_per_second) {
            chosen.conservative = i;
        }
    }
    if (chosen.conservative == aggressive) {
        detail::fail("of ", frontier.size(), " trees none has at most half of the ", frontier.shape(aggressive).size(),
                     " nodes of the fastest, so that there is nothing to switch to");
    }
    return chosen;
}

struct swept_threshold {
    double threshold = 0;
    double tokens_per_second = 0;
};

/// 0, at which nothing switches back, and the quantiles 1 / (count + 1), 2 / (count + 1), ... of what a feature was
/// that is never below 0: each once, in ascending order. Values that are no numbers are left out.
template <class Values = std::vector<double>>
std::vector<double> thresholds_from(Values values, std::size_t count) {
    std::erase_if(values, [](double value) { return value != value; });
    std::sort(values.begin(), values.end());
    std::vector<double> chosen{0};
    for (std::size_t i = 1; i <= count && !values.empty(); ++i) {
        chosen.push_back(values[i * (values.size() - 1) / (count + 1)]);
    }
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
}

/// The fastest, of equals the lowest. Refuses none.
inline swept_threshold best_of(const std::vector<swept_threshold>& swept) {
    if (swept.empty()) detail::fail("no threshold was tried");
    return *std::min_element(swept.begin(), swept.end(), [](const swept_threshold& a, const swept_threshold& b) {
        if (a.tokens_per_second != b.tokens_per_second) return a.tokens_per_second > b.tokens_per_second;
        return a.threshold < b.threshold;
    });
}

}  // namespace augur::tree
