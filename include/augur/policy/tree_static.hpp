#pragma once
// A constant draft tree.

#include <cstddef>
#include <ostream>
#include <utility>

#include "augur/policy/concept.hpp"
#include "augur/types/topology.hpp"

namespace augur::policy {

/// Drafts this tree each round (Medusa's and Hydra's default; EntMTP*, where it is a task's best). No node is plain
/// decoding. Of a tree that is deeper than the room that is left, the nodes that fit are drafted.
/// No effect on the distribution, no randomness. Cost: none of its own; each node is a row of the target's pass.
class tree_static {
 public:
    static constexpr draft_shape plans = draft_shape::tree;

    tree_static() = default;
    explicit tree_static(augur::topology shape) : shape_(std::move(shape)) {}

    draft_plan plan(const observation&) const { return {.tree = &shape_}; }

    friend bool operator==(const tree_static&, const tree_static&) = default;
    friend std::ostream& operator<<(std::ostream& out, const tree_static& p) {
        return out << "tree_static{" << p.shape_.size() << " nodes, depth " << p.shape_.depth() << '}';
    }

 private:
    augur::topology shape_;
};

}  // namespace augur::policy
