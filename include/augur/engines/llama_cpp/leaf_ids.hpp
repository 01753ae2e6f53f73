#pragma once
// Which sequence ids see the nodes of a tree, where each leaf has one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace augur::engines::llama_cpp {

/// Of a tree: how deep each node is, and the leaves below it.
class leaf_ids {
 public:
    /// `parents` as in a pass (model/pass.hpp), already checked. Cost: the sum of the leaves' depths.
    explicit leaf_ids(std::span<const std::int32_t> parents) : depths_(parents.size()), first_(parents.size() + 1) {
        std::vector<bool> has_child(parents.size());
        for (std::size_t node = 0; node < parents.size(); ++node) {
            const std::int32_t parent = parents[node];
            depths_[node] = parent < 0 ? 0 : depths_[static_cast<std::size_t>(parent)] + 1;
            if (parent >= 0) has_child[static_cast<std::size_t>(parent)] = true;
        }
        const auto climb = [&](const auto& visit) {
            std::size_t leaf = 0;
            for (std::size_t node = 0; node < parents.size(); ++node) {
                if (has_child[node]) continue;
                for (auto at = static_cast<std::int32_t>(node); at >= 0; at = parents[static_cast<std::size_t>(at)])
                    visit(static_cast<std::size_t>(at), leaf);
                ++leaf;
            }
            return leaf;
        };
        leaves_ = climb([&](std::size_t node, std::size_t) { ++first_[node + 1]; });
        for (std::size_t node = 0; node < parents.size(); ++node) first_[node + 1] += first_[node];
        below_.resize(first_.back());
        std::vector<std::size_t> filled(first_.begin(), first_.end());
        climb([&](std::size_t node, std::size_t leaf) { below_[filled[node]++] = leaf; });
    }

    std::size_t leaves() const { return leaves_; }
    /// 0 for those that follow the sequence.
    std::size_t depth(std::size_t node) const { return depths_[node]; }
    /// Ascending places of leaves, in the order of the nodes that are leaves.
    std::span<const std::size_t> below(std::size_t node) const {
        return std::span(below_).subspan(first_[node], first_[node + 1] - first_[node]);
    }

 private:
    std::vector<std::size_t> depths_, first_, below_;
    std::size_t leaves_ = 0;
};

}  // namespace augur::engines::llama_cpp
