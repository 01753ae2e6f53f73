#pragma once
// For the sources of lossy schemes: what judges them, and which model's turn it is.

#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/measure/divergence.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <string_view>

#include "lossy.hpp"

namespace augur::program {

/// By total variation: finite, too, where a draft knows a part of the vocabulary only.
using fuzzy = accept::rejection_then_fuzzy<measure::total_variation>;

inline constexpr std::string_view published_scheme = "psd_f_as_published", greedy_rule = "fuzzy_greedy";

switching::rolling_entropy turns_of(const scheme_options& chosen);

}  // namespace augur::program
