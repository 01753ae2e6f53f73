#pragma once
// The tree attention mask: the positions that a tree's nodes attend to.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace augur::llama::device {

/// Of every node the slots from the root to itself, one node's after the other. Node i takes slot base + i; parents[i]
/// < i, or -1.
class tree_paths {
 public:
    tree_paths(std::span<const std::int32_t> parents, std::int32_t base) {
        for (std::size_t i = 0; i < parents.size(); ++i) {
            const std::size_t begin = slots_.size();
            if (parents[i] >= 0) {
                const auto [from, length] = places_[static_cast<std::size_t>(parents[i])];
                for (std::size_t k = 0; k < length; ++k) slots_.push_back(slots_[from + k]);
            }
            slots_.push_back(base + static_cast<std::int32_t>(i));
            places_.push_back({begin, slots_.size() - begin});
        }
    }

    std::span<const std::int32_t> slots() const { return slots_; }
    /// Where a node's begin.
    std::size_t begin(std::size_t node) const { return places_[node].begin; }
    /// Nodes from the root to this one, itself included.
    std::size_t length(std::size_t node) const { return places_[node].length; }

 private:
    struct place {
        std::size_t begin, length;
    };
    std::vector<std::int32_t> slots_;
    std::vector<place> places_;
};

}  // namespace augur::llama::device
