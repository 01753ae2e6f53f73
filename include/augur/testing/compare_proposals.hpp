#pragma once
// Prints proposals and compares them with their rows.

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "augur/testing/report.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

namespace augur::testing {

inline bool same_row(const distribution& a, const distribution& b) {
    if (a.size() != b.size() || a.total() != b.total()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i] != b[i]) return false;
    }
    return true;
}

/// "{1, 2, 3}", and of a tree its parents.
template <class DraftDistribution>
std::string described_proposal(const proposal<DraftDistribution>& of) {
    return describe(of.tokens()) + (of.is_chain() ? "" : " with parents " + describe(of.parents()));
}

/// Tokens on its longest path.
template <class DraftDistribution>
std::size_t longest_path(const proposal<DraftDistribution>& of) {
    std::size_t longest = 0;
    for (std::size_t node = 0; node < of.size(); ++node) {
        longest = std::max(longest, parents::depth_of(of.parents(), static_cast<std::int32_t>(node)));
    }
    return longest;
}

/// The first nodes of a proposal, and where they are.
struct first_nodes {
    std::vector<token> tokens;
    std::vector<std::int32_t> parents;

    template <class DraftDistribution>
    first_nodes(const proposal<DraftDistribution>& of, std::size_t count) {
        for (std::size_t node = 0; node < count; ++node) {
            tokens.push_back(of.tokens()[node]);
            parents.push_back(of.parent(node));
        }
    }
    friend auto operator<=>(const first_nodes&, const first_nodes&) = default;
};

/// What is different about `got`: its tokens, their places, or a draft row. Empty when nothing is.
template <class DraftDistribution>
std::string difference(const proposal<DraftDistribution>& expected, const proposal<DraftDistribution>& got) {
    if (described_proposal(expected) != described_proposal(got)) {
        return "proposes " + described_proposal(got) + " instead of " + described_proposal(expected);
    }
    if constexpr (std::same_as<DraftDistribution, distribution>) {
        for (std::size_t i = 0; i < expected.size(); ++i) {
            if (!same_row(*expected[i].row, *got[i].row)) {
                return augur::detail::message("proposes ", describe(got.tokens()), " with another row at ", i);
            }
        }
    }
    return "";
}

}  // namespace augur::testing
