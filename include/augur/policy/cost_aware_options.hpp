#pragma once
// What cost_aware may draft and lose: by the shape of its drafts.

#include <cstddef>
#include <ostream>
#include <string_view>
#include <vector>

#include "augur/policy/time_account.hpp"
#include "augur/types/error.hpp"
#include "augur/types/plan.hpp"
#include "augur/types/topology.hpp"

namespace augur::policy {

/// Throws unless 0 < value <= most: of the longest chain, or the deepest tree.
inline void check_longest(std::string_view name, std::size_t value, std::size_t most) {
    using augur::detail::fail;
    if (value == 0) fail("cost_aware: ", name, " is 0; then it could never draft");
    if (value > most) fail("cost_aware: ", name, " is ", value, "; it must be at most ", most);
}

/// Of trees, planned or grown; of other shapes below.
template <draft_shape Shape = draft_shape::chain, draft_shape... Later>
struct cost_aware_options {
    std::size_t max_nodes = 32;  ///< 1 to 256
    std::size_t max_depth = 8;   ///< 1 to 4096
    double memory = 0.98;        ///< weight of the past when a figure is updated, in (0, 1)
    double budget = 0.01;        ///< share of the time that may be lost on finding out, in [0, 1)
    /// Passes of plain decoding that may be lost before anything is gained, at most 16; below 0: owed by earlier
    /// texts.
    double credit = 3;
    /// Seconds of a verify pass over 1, 2, ... rows that were measured before; fades as what is measured comes in.
    std::vector<double> verify_seconds{};

    /// Rounds after which plain decoding is measured again.
    static constexpr std::size_t plain_after = 64;
    /// Passes of plain decoding that can be saved.
    static constexpr double most_allowance = 16;
    /// The greatest max_depth.
    static constexpr std::size_t deepest = 4096;

    /// Throws, with the value, where a limit is out of its range.
    account_terms terms() const {
        using augur::detail::fail;
        if (max_nodes == 0 || max_nodes > augur::topology::most_nodes) {
            fail("cost_aware: max_nodes is ", max_nodes, "; it must be from 1 to ", augur::topology::most_nodes);
        }
        check_longest("max_depth", max_depth, deepest);
        return {"cost_aware", max_nodes + 1, memory, budget, credit, most_allowance, plain_after};
    }

    friend std::ostream& operator<<(std::ostream& out, const cost_aware_options& o) {
        return out << "{.max_nodes=" << o.max_nodes << ", .max_depth=" << o.max_depth << ", .memory=" << o.memory
                   << ", .budget=" << o.budget << '}';
    }
};

/// Of chains.
template <>
struct cost_aware_options<draft_shape::chain> {
    std::size_t max_length = 16;   ///< 1 to 4096
    double memory = 0.95;          ///< weight of the past when a figure is updated, in (0, 1)
    std::size_t probe_after = 16;  ///< rounds after which a draft that does not pay is tried again, at least 1
    double budget = 0.01;          ///< share of the time that may be lost on finding out, in [0, 1)
    /// Passes of plain decoding that may be lost before anything is gained, at most 8; below 0: owed by earlier texts.
    double credit = 1;
    /// Seconds of a verify pass over 1, 2, ... rows that were measured before; fades as what is measured comes in.
    std::vector<double> verify_seconds{};

    /// Rounds after which plain decoding is measured again.
    static constexpr std::size_t plain_after = 32;
    /// Passes of plain decoding that can be saved.
    static constexpr double most_allowance = 8;
    /// The greatest max_length.
    static constexpr std::size_t longest = 4096;

    /// Throws, with the value, where a limit is out of its range.
    account_terms terms() const {
        using augur::detail::fail;
        check_longest("max_length", max_length, longest);
        if (probe_after == 0) fail("cost_aware: probe_after is 0; it must be at least 1");
        return {"cost_aware", max_length + 1, memory, budget, credit, most_allowance, plain_after};
    }

    friend std::ostream& operator<<(std::ostream& out, const cost_aware_options& o) {
        out << "{.max_length=" << o.max_length << ", .memory=" << o.memory << ", .probe_after=" << o.probe_after
            << ", .budget=" << o.budget << ", .verify_seconds={";
        const char* between = "";
        for (const double seconds : o.verify_seconds) {
            out << between << seconds;
            between = ", ";
        }
        return out << "}}";
    }
};

/// Of chains, and trees after them. Each has half of the budget, and a credit of its own: 3 passes, and 2.
template <draft_shape Trees>
struct cost_aware_options<draft_shape::chain, Trees> {
    std::size_t chains = 1;       ///< drafters that draft chains; those after them draft trees; at least 1
    std::size_t max_length = 10;  ///< of a chain, 1 to 4096
    std::size_t max_nodes = 32;   ///< of a tree, 1 to 256
    std::size_t max_depth = 8;    ///< of a tree, 1 to 4096
    double budget = 0.01;         ///< share of the time that may be lost on finding out, in [0, 1)
    /// Seconds of a verify pass over 1, 2, ... rows that were measured before; fades as what is measured comes in.
    std::vector<double> verify_seconds{};

    cost_aware_options<draft_shape::chain> of_chains() const {
        return {
            .max_length = max_length, .budget = checked().budget / 2, .credit = 3, .verify_seconds = verify_seconds};
    }
    cost_aware_options<Trees> of_trees() const {
        return {.max_nodes = max_nodes,
                .max_depth = max_depth,
                .budget = checked().budget / 2,
                .credit = 2,
                .verify_seconds = verify_seconds};
    }

 private:
    const cost_aware_options& checked() const {
        using augur::detail::fail;
        if (chains == 0) fail("cost_aware: chains is 0; then no drafter drafts chains: name one shape alone");
        if (!(budget >= 0 && budget < 1)) {
            fail("cost_aware: budget is ", budget, "; it must be at least 0 and less than 1");
        }
        return *this;
    }
};

}  // namespace augur::policy
