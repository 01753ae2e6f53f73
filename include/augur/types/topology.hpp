#pragma once
// The topology of a draft: each node's parent. A chain needs no array.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/detail/host_device.hpp"
#include "augur/types/error.hpp"

namespace augur {

/// The parent of a node that follows the prefix itself.
inline constexpr std::int32_t after_prefix = -1;

/// Functions over the parents of nodes; an empty span says that they are a chain. Every parent comes before its child.
namespace parents {

/// Of node `node`, whose parent this is.
constexpr void check(std::size_t node, std::int32_t parent) {
    if (parent >= after_prefix && (parent < 0 || static_cast<std::size_t>(parent) < node)) return;
    detail::fail("the parent of node ", node, " is ", parent, ", but it has to be an earlier node, or ", after_prefix,
                 " after the prefix");
}

AUGUR_HOST_DEVICE constexpr std::int32_t of(std::span<const std::int32_t> all, std::size_t node) {
    return all.empty() ? static_cast<std::int32_t>(node) - 1 : all[node];
}

/// Nodes on the path to this one and with it: 1 where it follows the prefix, 0 for after_prefix. O(depth), or O(1) in a
/// chain.
AUGUR_HOST_DEVICE constexpr std::size_t depth_of(std::span<const std::int32_t> all, std::int32_t node) {
    if (all.empty()) return static_cast<std::size_t>(node + 1);
    std::size_t depth = 0;
    for (; node != after_prefix; node = all[static_cast<std::size_t>(node)]) ++depth;
    return depth;
}

/// Of the nodes up to `parent`, how many are not on the path to it: 0 in a chain, and different for two parents of one
/// depth. With the position it names the place where the children of `parent` are drawn.
AUGUR_HOST_DEVICE constexpr std::size_t aside(std::span<const std::int32_t> all, std::int32_t parent) {
    return static_cast<std::size_t>(parent + 1) - depth_of(all, parent);
}

/// The first node from `from` on that has this parent, of so many nodes; `nodes` where there is none.
AUGUR_HOST_DEVICE constexpr std::size_t next_child(std::span<const std::int32_t> all, std::size_t nodes,
                                                   std::int32_t parent, std::size_t from) {
    if (all.empty()) return static_cast<std::size_t>(parent + 1) >= from ? static_cast<std::size_t>(parent + 1) : nodes;
    while (from < nodes && all[from] != parent) ++from;
    return from;
}

/// How many of the first nodes, of so many, are at most `most` and have at most so many leaves. O(nodes^2) where there
/// are fewer leaves than that allowed.
constexpr std::size_t fitting(std::span<const std::int32_t> all, std::size_t nodes, std::size_t most,
                              std::size_t leaves) {
    nodes = std::min(nodes, most);
    if (all.empty()) return leaves == 0 ? 0 : nodes;
    if (leaves >= nodes) return nodes;
    std::size_t found = 0;
    for (std::size_t node = 0; node < nodes; ++node) {
        const auto before = all.begin() + static_cast<std::ptrdiff_t>(node);
        const bool is_first = all[node] != after_prefix && std::find(all.begin(), before, all[node]) == before;
        if (!is_first && ++found > leaves) return node;  // a first child takes its parent's place
    }
    return nodes;
}

constexpr bool are_chain(std::span<const std::int32_t> all) {
    for (std::size_t node = 0; node < all.size(); ++node) {
        if (all[node] != static_cast<std::int32_t>(node) - 1) return false;
    }
    return true;
}

}  // namespace parents

/// A tree of nodes, or several, after a prefix: the parent of each node. Refuses a parent that is not before its child.
/// It can be used in constant expressions, but not outlive them.
class topology {
 public:
    static constexpr std::size_t most_nodes = 256;  ///< of what is named by paths

    topology() = default;
    constexpr explicit topology(std::vector<std::int32_t> parents) : parents_(std::move(parents)) {
        for (std::size_t node = 0; node < size(); ++node) {
            parents::check(node, parents_[node]);
            depth_ = std::max(depth_, depth(node));
        }
    }
    constexpr topology(std::initializer_list<std::int32_t> parents) : topology(std::vector<std::int32_t>(parents)) {}

    /// `nodes` of them, one after the other.
    static constexpr topology chain(std::size_t nodes) {
        std::vector<std::int32_t> parents(nodes, after_prefix);
        std::iota(parents.begin(), parents.end(), after_prefix);
        return topology(std::move(parents));
    }

    /// By child ranks, as Medusa and Hydra list their trees: {0, 2} is the third child of the prefix's first. Nodes are
    /// numbered by depth, then by path. Refuses a path without its parent or its sibling before, an empty one, one that
    /// is there twice, and more than 256.
    template <class Paths = std::vector<std::vector<std::size_t>>>
    static constexpr topology of_paths(Paths paths);

    constexpr std::size_t size() const { return parents_.size(); }
    constexpr std::span<const std::int32_t> parents() const { return parents_; }
    constexpr bool is_chain() const { return parents::are_chain(parents_); }
    /// Nodes on the path to this one and with it.
    constexpr std::size_t depth(std::size_t node) const {
        return parents::depth_of(parents_, static_cast<std::int32_t>(node));
    }
    /// Nodes on the longest path.
    constexpr std::size_t depth() const { return depth_; }

    /// The nodes of this depth at most, numbered anew.
    constexpr topology within(std::size_t depth) const {
        std::vector<std::int32_t> numbers(size(), after_prefix), kept;
        for (std::size_t node = 0; node < size(); ++node) {
            if (this->depth(node) > depth) continue;
            numbers[node] = static_cast<std::int32_t>(kept.size());
            const std::int32_t parent = parents_[node];
            kept.push_back(parent == after_prefix ? parent : numbers[static_cast<std::size_t>(parent)]);
        }
        return topology(std::move(kept));
    }

    /// The first nodes of it: as many as `most` and so many leaves allow.
    constexpr topology first(std::size_t most, std::size_t leaves) const {
        const auto count = static_cast<std::ptrdiff_t>(parents::fitting(parents_, size(), most, leaves));
        return topology({parents_.begin(), parents_.begin() + count});
    }

    friend bool operator==(const topology&, const topology&) = default;

 private:
    static std::string text_of(const std::vector<std::size_t>& path) {
        std::string text;
        for (std::size_t rank : path) text += (text.empty() ? "" : ", ") + std::to_string(rank);
        return "[" + text + "]";
    }

    std::vector<std::int32_t> parents_;
    std::size_t depth_ = 0;
};

template <class Paths>
constexpr topology topology::of_paths(Paths paths) {
    if (paths.size() > most_nodes) {
        detail::fail("a tree of ", paths.size(), " nodes was given, but ", most_nodes, " is the most");
    }
    std::sort(paths.begin(), paths.end(),
              [](const auto& a, const auto& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
    std::vector<std::int32_t> parents;
    for (std::size_t node = 0; node < paths.size(); ++node) {
        std::vector<std::size_t> path = paths[node];
        if (path.empty()) detail::fail("the empty path is the prefix, no node of a tree");
        if (node > 0 && path == paths[node - 1]) detail::fail("the path ", text_of(path), " is there twice");
        const std::size_t rank = path.back();
        path.pop_back();
        const auto begin = paths.begin(), end = begin + static_cast<std::ptrdiff_t>(node);
        const auto parent = std::find(begin, end, path);
        if (!path.empty() && parent == end) {
            detail::fail("the path ", text_of(paths[node]), " has no parent, ", text_of(path), ", in the tree");
        }
        parents.push_back(path.empty() ? after_prefix : static_cast<std::int32_t>(parent - begin));
        if (rank == 0) continue;
        path.push_back(rank - 1);
        if (node == 0 || paths[node - 1] != path) {
            detail::fail("the path ", text_of(paths[node]), " has no sibling before it, ", text_of(path),
                         ", in the tree");
        }
    }
    return topology(std::move(parents));
}

}  // namespace augur
