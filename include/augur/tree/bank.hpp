#pragma once
// Draft trees to choose from, each with what a round needs of it.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/topology.hpp"

namespace augur::tree {

/// What is derived from a tree, once. The last committed token is no node; node i is bit i % 64 of word i / 64.
class buffers {
 public:
    explicit buffers(const topology& of) : words_((of.size() + 63) / 64), masks_(of.size() * words_, 0) {
        for (std::size_t node = 0; node < of.size(); ++node) {
            const std::int32_t parent = of.parents()[node];
            std::uint64_t* const own = masks_.data() + node * words_;
            if (parent != after_prefix) {
                std::copy_n(masks_.data() + static_cast<std::size_t>(parent) * words_, words_, own);
            }
            own[node / 64] |= std::uint64_t{1} << node % 64;
            depths_.push_back(parent == after_prefix ? 1 : depths_[static_cast<std::size_t>(parent)] + 1);
        }
    }

    /// Nodes on the path to each node and with it: it stands at the position of the last committed token and so many
    /// more.
    std::span<const std::size_t> depths() const { return depths_; }
    /// 64-bit words of a mask: one up to 64 nodes.
    std::size_t words() const { return words_; }
    /// The nodes on the path to this one, and itself.
    std::span<const std::uint64_t> ancestors(std::size_t node) const {
        return std::span(masks_).subspan(node * words_, words_);
    }

 private:
    std::size_t words_;
    std::vector<std::uint64_t> masks_;
    std::vector<std::size_t> depths_;
};

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

    struct entry : measured_tree {
        tree::buffers buffers;
        explicit entry(measured_tree of) : measured_tree(std::move(of)), buffers(shape) {}
    };

    /// Refuses no trees, trees out of order or twice the same, and figures that are no numbers.
    explicit basic_bank(std::vector<measured_tree> trees) : entries_(entries_of(std::move(trees))) {}
    basic_bank(std::initializer_list<Tree> shapes) : basic_bank(unmeasured(shapes)) {}

    std::size_t size() const { return entries_->size(); }
    const entry& operator[](std::size_t place) const { return (*entries_)[place]; }
    const topology& shape(std::size_t place) const { return (*entries_)[place].shape; }

    /// The place of the tree with the most tokens a second (EntMTP*); of equals, and where nothing was measured, the
    /// first.
    std::size_t fastest() const {
        const auto slower = [](const entry& a, const entry& b) { return a.tokens_per_second < b.tokens_per_second; };
        return static_cast<std::size_t>(std::max_element(entries_->begin(), entries_->end(), slower) -
                                        entries_->begin());
    }
    /// Nodes on the longest path of all trees.
    std::size_t depth() const {
        std::size_t most = 0;
        for (const entry& each : *entries_) most = std::max(most, each.shape.depth());
        return most;
    }
    /// The trees at these places, in their order.
    basic_bank only(const std::vector<std::size_t>& places) const {
        std::vector<measured_tree> chosen;
        for (const std::size_t place : places) {
            if (place >= size()) detail::fail("the bank has ", size(), " trees, and no number ", place);
            chosen.push_back((*entries_)[place]);
        }
        return basic_bank(std::move(chosen));
    }

 private:
    static std::vector<measured_tree> unmeasured(std::initializer_list<Tree> shapes) {
        std::vector<measured_tree> made;
        for (const topology& each : shapes) made.push_back({.shape = each});
        return made;
    }

    static std::shared_ptr<const std::vector<entry>> entries_of(std::vector<measured_tree> trees) {
        if (trees.empty() || trees.size() > most_trees) {
            detail::fail("a bank of ", trees.size(), " trees; it needs 1 to ", most_trees);
        }
        auto made = std::make_shared<std::vector<entry>>();
        made->reserve(trees.size());
        for (std::size_t i = 0; i < trees.size(); ++i) {
            check(trees[i], i);
            if (i > 0) check_order(made->back().shape, trees[i].shape, i);
            made->emplace_back(std::move(trees[i]));
        }
        return made;
    }

    static void check_order(const topology& before, const topology& own, std::size_t i) {
        if (own.size() < before.size()) {
            detail::fail("tree ", i, " of the bank has ", own.size(), " nodes, and the one before it ", before.size(),
                         "; they go from few to many");
        }
        if (own == before) detail::fail("tree ", i, " of the bank is the one before it, of ", own.size(), " nodes");
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

    std::shared_ptr<const std::vector<entry>> entries_;
};

using bank = basic_bank<topology>;

}  // namespace augur::tree
