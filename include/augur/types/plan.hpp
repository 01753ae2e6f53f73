#pragma once
// What a round should draft: a chain, a tree, or a tree that grows by value.

#include <cstddef>
#include <span>

#include "augur/types/observation.hpp"
#include "augur/types/topology.hpp"

namespace augur {

/// How a tree grows that the draft's own rows suggest (draft::dynamic_tree). A node's value is the product of
/// `worth` along its path. `values` are of the nodes in question, the largest first; observation::drafted is the depth
/// that was reached. A policy derives from it, or owns one.
class growth_budget {
 public:
    /// The probability that a token is accepted after its parent, by the one that the drafter gives it; at most 1.
    virtual float worth(float probability) const = 0;
    /// After how many of the deepest nodes the tree should grow.
    virtual std::size_t expand(const observation& seen, std::span<const float> values) const = 0;
    /// How many of all its nodes should be drafted.
    virtual std::size_t keep(const observation& seen, std::span<const float> values) const = 0;

 protected:
    growth_budget() = default;
    growth_budget(const growth_budget&) = default;
    growth_budget& operator=(const growth_budget&) = default;
    virtual ~growth_budget() = default;
};

/// What a round should draft: a SpeculationPolicy's answer. What it points to is the policy's, and stays until that
/// changes.
struct draft_plan {
    std::size_t length = 0;               ///< tokens on the longest path; 0: plain decoding. Of a tree: its depth
    const topology* tree = nullptr;       ///< a fixed shape, in place of a length
    const growth_budget* grow = nullptr;  ///< a tree of at most this depth that grows by value
    /// Rows of the draft's greedy chain after which the policy is asked again (the row after the prefix, after its best
    /// token, ...); not again where it has seen as many. One that reads the draft's rows is asked with the first of
    /// them in any case.
    std::size_t look = 0;

    friend bool operator==(const draft_plan&, const draft_plan&) = default;
};

/// What the plans of a policy are: `static constexpr draft_shape plans`.
enum class draft_shape {
    chain,      ///< a length
    tree,       ///< a fixed shape, which may be a chain
    grown_tree  ///< a tree that grows by value, or a chain
};

}  // namespace augur
