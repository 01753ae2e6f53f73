#pragma once
// Checks by enumeration that a scheme keeps its guarantee.

#include <cmath>
#include <cstddef>
#include <span>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "augur/decode/generate.hpp"
#include "augur/testing/explain.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/text_distribution_of.hpp"
#include "augur/types/guarantee.hpp"

namespace augur::testing {

/// The guarantee is the text of plain decoding with the same noise: greedy, or for every seed.
template <class G>
inline constexpr bool promises_text =
    std::is_same_v<G, guarantee::same_seeded_text> || std::is_same_v<G, guarantee::same_greedy_text>;

/// The guarantee is an equality that enumeration can decide.
template <class G>
inline constexpr bool promises_equality = promises_text<G> || std::is_same_v<G, guarantee::same_distribution>;

/// On all noise the scheme must return the text of plain decoding: in every way in which the rows raced by both can
/// win. Says on which text it does not; empty where there is none. Throws when there are more than `limit` paths.
template <class Scheme>
std::string broken_text(const Scheme& scheme, std::span<const token> prompt, const decode::options& chosen,
                        std::size_t limit = 10'000'000) {
    std::string found;
    const auto reference = plain(scheme.target());
    const decode::options clockless = without_clock(chosen);
    const auto both = [&](const law_chooser& chooser) {
        const auto expected = decode::generate_with<any_guarantee>(chooser, reference, prompt, clockless).tokens;
        const auto got = decode::generate_with<any_guarantee>(chooser, scheme, prompt, clockless).tokens;
        if (got != expected && found.empty()) {
            found = "with the same noise, expected " + describe(expected) + " and got " + describe(got);
        }
        return got;
    };
    enumerate(both, limit);
    return found;
}

/// The scheme's distribution must be plain sampling's, up to rounding. Explains where it is not; empty where it is.
template <class Scheme>
std::string broken_distribution(const Scheme& scheme, std::span<const token> prompt, const decode::options& chosen,
                                std::size_t limit = 10'000'000, double tolerance = 1e-12) {
    const text_distribution got = text_distribution_of(scheme, prompt, chosen, limit);
    const text_distribution expected = text_distribution_of(plain_sampling(scheme.target()), prompt, chosen, limit);
    const explanation found = explain(expected, got, tolerance);
    const double excess = got.total() - 1;
    std::ostringstream out;
    if (!(std::abs(excess) < tolerance)) out << "the probabilities of all texts add up to 1 and " << excess << ", ";
    if (!found.equal) out << found;
    return out.str();
}

/// What the scheme's guarantee promises, whichever that is; empty for promises that are no equality.
template <class Scheme>
std::string broken_promise(const Scheme& scheme, std::span<const token> prompt, const decode::options& chosen,
                           std::size_t limit = 10'000'000, double tolerance = 1e-12) {
    if constexpr (promises_text<guarantee_of<Scheme>>) {
        return broken_text(scheme, prompt, chosen, limit);
    } else if constexpr (promises_equality<guarantee_of<Scheme>>) {
        return broken_distribution(scheme, prompt, chosen, limit, tolerance);
    } else {
        return "";
    }
}

}  // namespace augur::testing
