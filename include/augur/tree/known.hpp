#pragma once
// Trees that are known at compile time: wrong ones do not compile, and nothing of them is computed at run time.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "augur/types/topology.hpp"

namespace augur::tree {

/// The child ranks down to a node, as they are written in a source: {0, 2} is the third child of the prefix's first. At
/// most 16 of them.
class written_path {
 public:
    static constexpr std::size_t longest = 16;

    consteval written_path(std::initializer_list<std::size_t> ranks) : size_(ranks.size()) {
        if (ranks.size() > longest) throw error("a path of a tree that is known has at most 16 ranks");
        std::copy(ranks.begin(), ranks.end(), ranks_.begin());
    }
    constexpr std::vector<std::size_t> ranks() const { return {ranks_.begin(), ranks_.begin() + size_}; }

 private:
    std::array<std::size_t, longest> ranks_{};
    std::size_t size_ = 0;
};

/// Nodes down from the prefix, in a tree of so many: what `keep` is given of an accepted path.
template <std::size_t Nodes>
struct path_of_nodes {
    std::array<std::size_t, Nodes> nodes{};
    std::size_t length = 0;

    constexpr std::size_t size() const { return length; }
    constexpr std::size_t operator[](std::size_t i) const { return nodes[i]; }
    constexpr operator std::span<const std::size_t>() const { return std::span(nodes).first(length); }
};

/// A tree of so many nodes: a topology, which it becomes wherever one is wanted, as a constant. Make it with `known`.
template <std::size_t Nodes>
class known_topology {
    static_assert(Nodes > 0 && Nodes <= topology::most_nodes);

 public:
    static constexpr std::size_t mask_words = (Nodes + 63) / 64;
    using mask_type = std::array<std::uint64_t, mask_words>;

    /// Of as many nodes.
    consteval explicit known_topology(const topology& of) : depth_(of.depth()) {
        if (of.size() != Nodes) throw error("a tree that is known has another number of nodes than its type");
        std::copy(of.parents().begin(), of.parents().end(), parents_.begin());
    }

    static constexpr std::size_t size() { return Nodes; }
    constexpr std::span<const std::int32_t> parents() const { return parents_; }
    /// Nodes on the path to this one and with it, and on the longest path.
    constexpr std::size_t depth(std::size_t node) const {
        return parents::depth_of(parents_, static_cast<std::int32_t>(node));
    }
    constexpr std::size_t depth() const { return depth_; }

    /// The nodes down to this one, and with it.
    constexpr path_of_nodes<Nodes> path_to(std::size_t node) const {
        path_of_nodes<Nodes> down{.length = depth(node)};
        auto last = static_cast<std::int32_t>(node);
        for (std::size_t i = down.length; i > 0; --i) {
            down.nodes[i - 1] = static_cast<std::size_t>(last);
            last = parents_[static_cast<std::size_t>(last)];
        }
        return down;
    }
    /// What a node attends to, beside the prefix: bit i % 64 of word i / 64 says so of node i; itself is among them.
    constexpr mask_type mask(std::size_t node) const {
        mask_type made{};
        const path_of_nodes<Nodes> down = path_to(node);
        for (std::size_t i = 0; i < down.size(); ++i) made[down[i] / 64] |= std::uint64_t{1} << down[i] % 64;
        return made;
    }
    constexpr bool is_leaf(std::size_t node) const {
        return parents::next_child(parents_, Nodes, static_cast<std::int32_t>(node), node + 1) == Nodes;
    }
    /// The paths to leaves: Medusa's retrieve indices are `path_to` of each.
    constexpr std::size_t leaves() const {
        std::size_t count = 0;
        for (std::size_t node = 0; node < Nodes; ++node) count += is_leaf(node) ? 1 : 0;
        return count;
    }

    constexpr operator topology() const { return topology(std::vector(parents_.begin(), parents_.end())); }

 private:
    std::array<std::int32_t, Nodes> parents_{};
    std::size_t depth_;
};

/// The tree of these paths, in any order; what topology::of_paths refuses at run time does not compile.
template <std::size_t Nodes>
consteval known_topology<Nodes> known(const written_path (&paths)[Nodes]) {
    std::vector<std::vector<std::size_t>> ranks;
    for (const written_path& each : paths) ranks.push_back(each.ranks());
    return known_topology<Nodes>(topology::of_paths(std::move(ranks)));
}

}  // namespace augur::tree
