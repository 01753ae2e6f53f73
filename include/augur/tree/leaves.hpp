#pragma once
// The leaves of a tree: for each node its depth and the leaves below it, for each leaf its path.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/types/topology.hpp"

namespace augur::tree {

/// Leaves that follow one another.
struct leaf_range {
    std::size_t first = 0, count = 0;

    friend bool operator==(const leaf_range&, const leaf_range&) = default;
};

/// The leaves of a tree, numbered depth first, children in the order of their nodes: those below a node follow one
/// another. An engine that keeps a branch of its cache for each leaf gives leaf i the branch i (with llama.cpp a
/// sequence id); a node belongs to the branches of the leaves below it, and lies at the length before plus depth - 1.
/// Cost: linear in the nodes; storage is used again.
class leaves {
 public:
    leaves() = default;
    leaves(std::size_t nodes, std::span<const std::int32_t> parents) { assign(nodes, parents); }

    /// Of so many nodes with these parents, each before its child (model::check_parents); none: they are a chain.
    void assign(std::size_t nodes, std::span<const std::int32_t> parents) {
        depths_.resize(nodes);
        below_.assign(nodes, {});
        nodes_.clear();
        parents_.resize(nodes);
        for (std::size_t node = 0; node < nodes; ++node) {
            parents_[node] = parents::of(parents, node);
            depths_[node] = parents_[node] == after_prefix ? 1 : depths_[place(node)] + 1;
        }
        for (std::size_t node = nodes; node-- > 0;) {
            if (below_[node].count == 0) {
                below_[node].count = 1;
                nodes_.push_back(node);
            }
            if (parents_[node] != after_prefix) below_[place(node)].count += below_[node].count;
        }
        number();
    }

    std::size_t size() const { return nodes_.size(); }
    std::size_t node(std::size_t leaf) const { return nodes_[leaf]; }
    /// Of a node: 1 where it follows the prefix.
    std::size_t depth(std::size_t node) const { return depths_[node]; }
    /// A leaf is below itself.
    leaf_range below(std::size_t node) const { return below_[node]; }
    /// The nodes down to a leaf, the first one first.
    void path(std::size_t leaf, std::vector<std::size_t>& out) const {
        std::size_t node = nodes_[leaf];
        out.resize(depths_[node]);
        for (std::size_t at = out.size(); at-- > 0; node = place(node)) out[at] = node;
    }

 private:
    std::size_t place(std::size_t node) const { return static_cast<std::size_t>(parents_[node]); }

    /// Where a node begins: its first child there too, each other child where the one before it ends.
    void number() {
        std::size_t end = 0;
        for (std::size_t node = 0; node < below_.size(); ++node) {
            std::size_t& next = parents_[node] == after_prefix ? end : below_[place(node)].first;
            below_[node].first = next;
            next += below_[node].count;
        }
        for (const std::size_t leaf : nodes_) ++below_[leaf].first;  // as children have moved the others
        for (leaf_range& each : below_) each.first -= each.count;
        std::sort(nodes_.begin(), nodes_.end(),
                  [this](std::size_t a, std::size_t b) { return below_[a].first < below_[b].first; });
    }

    std::vector<std::int32_t> parents_;
    std::vector<std::size_t> depths_;
    std::vector<leaf_range> below_;
    std::vector<std::size_t> nodes_;  // of each leaf
};

}  // namespace augur::tree
