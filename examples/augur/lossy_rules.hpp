#pragma once
// For the sources of lossy schemes: their rules, and which model's turn it is.

#include <augur/switching/rolling_entropy.hpp>
#include <string_view>
#include <vector>

#include "lossy.hpp"

namespace augur::program {

inline constexpr std::string_view greedy_rule = "fuzzy_greedy";

/// Whether each token is judged by the row of the model that proposed it, wherever it was drawn from.
inline bool is_as_published(const std::string& scheme) {
    return scheme.ends_with("_as_published");
}

/// The rule of a link of a scheme that is no `ead`, and its threshold, 0 where it has none.
struct link_choice {
    std::string rule;
    double threshold;
};
/// Of all links of a resolved scheme, cheapest first.
std::vector<link_choice> links_of(const scheme_options& resolved);

switching::rolling_entropy turns_of(const scheme_options& chosen);

}  // namespace augur::program
