#pragma once
// A bank of draft trees to choose from, each with its measurements.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "augur/tree/paths.hpp"
#include "augur/types/error.hpp"
#include "augur/types/topology.hpp"

namespace augur::tree {

/// A tree and what was measured of it. An accepted length is tokens committed in a pass: the accepted nodes and the one
/// that follows.
struct measured_tree {
    topology shape;
    double accepted_length = 0;    ///< by rollouts of its own
    double scored_length = 0;      ///< by the joint rollouts that it was grown by, which are biased
    double tokens_per_second = 0;  ///< end to end, prefill included

    friend bool operator==(const measured_tree&, const measured_tree&) = default;
};

/// Trees by nodes, the fewest first; no node is plain decoding. Immutable, and copies share it: switching is another
/// place. `Tree` is topology: a template, so that only programs with banks pay for compiling one.
template <class Tree>
class basic_bank {
 public:
    static constexpr std::size_t most_trees = 256;

    /// Refuses no trees, trees out of order or twice the same, however its nodes are numbered, and figures that are no
    /// numbers.
    explicit basic_bank(std::vector<measured_tree> trees) : trees_(checked(std::move(trees))) {}
    basic_bank(std::initializer_list<Tree> shapes) : basic_bank(unmeasured(shapes)) {}

    std::size_t size() const { return trees_->size(); }
    const measured_tree& operator[](std::size_t place) const { return (*trees_)[place]; }
    const topology& shape(std::size_t place) const { return (*trees_)[place].shape; }

    /// The place of the tree with the most tokens a second (EntMTP*); of equals, and where nothing was measured, the
    /// first.
    std::size_t fastest() const {
        const auto slower = [](const measured_tree& a, const measured_tree& b) {
            return a.tokens_per_second < b.tokens_per_second;
        };
        return static_cast<std::size_t>(std::max_element(trees_->begin(), trees_->end(), slower) - trees_->begin());
    }
    /// Nodes on the longest path of all trees.
    std::size_t depth() const {
        std::size_t most = 0;
        for (const measured_tree& each : *trees_) most = std::max(most, each.shape.depth());
        return most;
    }
    /// The trees at these places, in their order.
    basic_bank only(const std::vector<std::size_t>& places) const {
        std::vector<measured_tree> chosen;
        for (const std::size_t place : places) {
            if (place >= size()) detail::fail("the bank has ", size(), " trees, and no number ", place);
            chosen.push_back((*trees_)[place]);
        }
        return basic_bank(std::move(chosen));
    }

 private:
    static std::vector<measured_tree> unmeasured(std::initializer_list<Tree> shapes) {
        std::vector<measured_tree> trees;
        for (const topology& each : shapes) trees.push_back({.shape = each});
        return trees;
    }

    static std::shared_ptr<const std::vector<measured_tree>> checked(std::vector<measured_tree> trees) {
        if (trees.empty() || trees.size() > most_trees) {
            detail::fail("a bank of ", trees.size(), " trees; it needs 1 to ", most_trees);
        }
        std::vector<topology> alike;  // of as many nodes, up to this one
        for (std::size_t i = 0; i < trees.size(); ++i) {
            check(trees[i], i);
            const topology& own = trees[i].shape;
            if (i > 0) check_order(trees[i - 1].shape, own, i);
            if (i > 0 && own.size() > trees[i - 1].shape.size()) alike.clear();
            alike.push_back(numbered_anew(own));
            check_new(alike, i);
        }
        return std::make_shared<const std::vector<measured_tree>>(std::move(trees));
    }

    static void check_order(const topology& before, const topology& own, std::size_t i) {
        if (own.size() < before.size()) {
            detail::fail("tree ", i, " of the bank has ", own.size(), " nodes, and the one before it ", before.size(),
                         "; they go from few to many");
        }
    }

    /// One tree has many numberings of its nodes, and this one.
    static topology numbered_anew(const topology& of) { return topology::of_paths(paths_of(of)); }

    static void check_new(const std::vector<topology>& alike, std::size_t i) {
        const auto same = std::find(alike.begin(), alike.end(), alike.back());
        const auto before = static_cast<std::size_t>(alike.end() - same) - 1;
        if (before == 0) return;
        detail::fail("trees ", i - before, " and ", i, " of the bank are the same, of ", alike.back().size(), " nodes");
    }

    static void check(const measured_tree& own, std::size_t i) {
        for (const double figure : {own.accepted_length, own.scored_length, own.tokens_per_second}) {
            if (!(figure >= 0) || std::isinf(figure)) detail::fail("tree ", i, " of the bank has a figure ", figure);
        }
        if (own.shape.size() > topology::most_nodes) {
            detail::fail("tree ", i, " of the bank has ", own.shape.size(), " nodes, but ", topology::most_nodes,
                         " is the most");
        }
    }

    std::shared_ptr<const std::vector<measured_tree>> trees_;
};

using bank = basic_bank<topology>;

}  // namespace augur::tree
