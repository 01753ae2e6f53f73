#pragma once
// Tests statistically that the production generator gives texts as often as enumeration says.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "augur/decode/generate.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/text_distribution_of.hpp"

namespace augur::testing {

/// How often each text was returned.
struct text_counts {
    std::map<std::vector<token>, std::size_t> of;
    std::size_t all = 0;
};

/// The texts that `decode(chooser)` returns under the seeds [0, seeds).
template <class Decode>
text_counts count_texts(const Decode& decode, std::size_t seeds) {
    text_counts found{.of = {}, .all = seeds};
    for (std::uint64_t seed = 0; seed < seeds; ++seed) ++found.of[decode(random::philox_chooser(seed))];
    return found;
}

/// n times the relative entropy, in nats, of a frequency of count / n from a probability: n draws stray so far to one
/// side with probability exp(-surprise) at most, whatever n is. Infinite where the count is impossible.
/// Source: Chernoff 1952; Hoeffding 1963, theorem 1, equation 2.1.
inline double surprise(std::size_t count, std::size_t n, double probability) {
    const auto part = [&](std::size_t times, double p) {
        if (times == 0) return 0.0;
        if (!(p > 0)) return std::numeric_limits<double>::infinity();
        return static_cast<double>(times) * std::log(static_cast<double>(times) / static_cast<double>(n) / p);
    };
    return part(count, probability) + part(n - count, 1 - probability);
}

/// Says which text was returned too often or too seldom for the law, empty where none was. Counts that are drawn from
/// the law are found fault with, by chance, with probability `chance` at most; with seeds that are fixed, always or
/// never.
inline std::string broken_counts(const text_distribution& expected, const text_counts& got, double chance = 1e-9) {
    const double most = std::log(2 * static_cast<double>(expected.probability.size()) / chance);
    for (const auto& [tokens, count] : got.of) {
        if (expected.probability.contains(tokens)) continue;
        return augur::detail::message(describe(tokens), " came ", count, " times of ", got.all, ", and is impossible");
    }
    for (const auto& [tokens, p] : expected.probability) {
        const auto found = got.of.find(tokens);
        const std::size_t count = found == got.of.end() ? 0 : found->second;
        if (surprise(count, got.all, p) <= most) continue;
        return augur::detail::message(describe(tokens), " came ", count, " times of ", got.all, ", which is ",
                                      static_cast<double>(count) / static_cast<double>(got.all),
                                      ", but its probability is ", p);
    }
    return "";
}

/// Decodes the prompt under many seeds, and compares the texts with their enumerated law; empty where they agree. The
/// law treats random numbers of different names as independent, and production's generator has to bear that out. Cost:
/// `seeds` decodings, and the enumeration.
template <class Scheme>
std::string broken_in_production(const Scheme& scheme, std::span<const token> prompt, const decode::options& chosen,
                                 std::size_t seeds = 1'000'000) {
    const decode::options clockless = without_clock(chosen);
    const auto decode = [&](const random::philox_chooser& chooser) {
        return decode::generate_with<any_guarantee>(chooser, scheme, prompt, clockless).tokens;
    };
    return broken_counts(text_distribution_of(scheme, prompt, chosen), count_texts(decode, seeds));
}

}  // namespace augur::testing
