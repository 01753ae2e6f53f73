#pragma once
// A tree given by the paths of its nodes, as searches and files store it.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "augur/types/topology.hpp"

namespace augur::tree {

/// The child ranks down to a node: {0, 2} is the third child of the prefix's first.
using path = std::vector<std::size_t>;

/// Of every node, in the order of the nodes: what topology::of_paths makes the tree of again, numbered by depth, then
/// by path.
inline std::vector<path> paths_of(const topology& of) {
    std::vector<path> paths;
    std::vector<std::size_t> children(of.size() + 1, 0);
    for (const std::int32_t parent : of.parents()) {
        path each = parent == after_prefix ? path() : paths[static_cast<std::size_t>(parent)];
        each.push_back(children[static_cast<std::size_t>(parent + 1)]++);
        paths.push_back(std::move(each));
    }
    return paths;
}

inline std::size_t rank_sum(const path& of) {
    return std::accumulate(of.begin(), of.end(), std::size_t{0});
}

}  // namespace augur::tree
