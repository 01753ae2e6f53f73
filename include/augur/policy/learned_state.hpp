#pragma once
// The state that a policy learned in one sequence, as plain numbers, to start the next one with.

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "augur/policy/pass_seconds.hpp"
#include "augur/types/error.hpp"

namespace augur::policy {

/// Seconds that were measured: their average, and as how many measurements it counts.
using timed = faded_average;

/// Tokens that were judged, and how many of them were accepted; both fade.
struct counted {
    double accepted = 0;
    double judged = 0;

    bool operator==(const counted&) const = default;
    void fade(double memory) { *this = {accepted * memory, judged * memory}; }
    /// `expected` counts as `doubt` tokens.
    double rate(double expected, double doubt = 1) const { return (accepted + doubt * expected) / (judged + doubt); }
    /// The same share, of at most so many tokens.
    counted at_most(double tokens) const {
        return judged > tokens ? counted{accepted / judged * tokens, tokens} : *this;
    }
};

/// Costs and acceptance. What the groups are is the policy's business; a policy is given what one of its own kind
/// learned. Nothing in it is a token or a row, so that it can be kept where texts must not be.
struct learned_state {
    std::vector<timed> passes{};    ///< of the target, over 1, 2, ... rows
    std::vector<timed> drafting{};  ///< a token, by drafter
    std::vector<std::vector<counted>>
        accepted{};               ///< by group; a shorter one ends in positions of which nothing is known
    std::vector<double> looks{};  ///< how often each group was met, where the policy looks at rows first

    bool operator==(const learned_state&) const = default;
    bool empty() const { return passes.empty() && drafting.empty() && accepted.empty() && looks.empty(); }
};

/// How many there should be of something that a policy keeps apart.
struct learned_state_sizes {
    std::size_t drafters = 0, groups = 0, positions = 0, looks = 0;
};

namespace figures {

inline constexpr double least_seconds = 1e-9, most_seconds = 1e4, most_weight = 1e9;  ///< to be believed

/// A figure as it is kept: what no clock can have measured is left out.
inline timed kept(const timed& figure) {
    return figure.mean >= least_seconds && figure.mean <= most_seconds ? figure : timed{};
}

inline void check_seconds(const std::vector<timed>& all, std::string_view who, const char* what) {
    for (const timed& each : all) {
        const bool means =
            (each.mean == 0 && each.weight == 0) || (each.mean >= least_seconds && each.mean <= most_seconds);
        if (means && each.weight >= 0 && each.weight <= most_weight) continue;
        augur::detail::fail(who, ": the saved state has ", what, " of ", each.mean, " seconds with the weight ",
                            each.weight, "; they must both be 0, or in [", least_seconds, ", ", most_seconds,
                            "], and in [0, ", most_weight, "]");
    }
}

inline void check_size(std::size_t found, std::size_t wanted, std::string_view who, const char* what) {
    if (found == wanted) return;
    augur::detail::fail(who, ": the saved state has ", found, " ", what, ", but there are ", wanted);
}

}  // namespace figures

/// Throws augur::error, with the values, where no policy of these sizes can have learned this.
inline void check(const learned_state& before, const learned_state_sizes& sizes, std::string_view who) {
    if (before.empty()) return;
    figures::check_seconds(before.passes, who, "a pass");
    figures::check_seconds(before.drafting, who, "a drafted token");
    figures::check_size(before.drafting.size(), sizes.drafters, who, "drafters");
    figures::check_size(before.accepted.size(), sizes.groups, who, "groups of drafts");
    figures::check_size(before.looks.size(), sizes.looks, who, "groups of rows");
    for (const auto& group : before.accepted) {
        if (group.size() > sizes.positions) {
            augur::detail::fail(who, ": the saved state has ", group.size(), " positions of a draft, but there are ",
                                sizes.positions);
        }
        for (const counted& each : group) {
            if (each.accepted >= 0 && each.accepted <= each.judged && each.judged <= figures::most_weight) continue;
            augur::detail::fail(who, ": the saved state has ", each.accepted, " tokens accepted of ", each.judged,
                                " judged");
        }
    }
    for (const double share : before.looks) {
        if (share >= 0 && share <= figures::most_weight) continue;
        augur::detail::fail(who, ": the saved state has a group of rows that was met ", share, " times");
    }
}

}  // namespace augur::policy
