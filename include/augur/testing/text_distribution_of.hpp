#pragma once
// The exact distribution of a scheme's texts.

#include <cstddef>
#include <span>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/decode/generate.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/law_chooser.hpp"

namespace augur::testing {

/// The same decoding as a function of its choices alone, even where lengths are chosen by time.
inline decode::options without_clock(decode::options chosen) {
    chosen.timed = false;
    return chosen;
}

/// Every text that decoding the prompt by the scheme can return, with its probability. Two schemes over one target keep
/// the same distribution if and only if total_variation(text_distribution_of(a, ...), text_distribution_of(b, ...)) is
/// 0 up to rounding. Cost: one whole decoding per path; keep vocabulary, length and max_tokens small.
template <class Scheme>
text_distribution text_distribution_of(const Scheme& scheme, std::span<const token> prompt,
                                       const decode::options& chosen, std::size_t limit = 10'000'000) {
    const decode::options clockless = without_clock(chosen);
    return enumerate(
        [&](const law_chooser& chooser) {
            return decode::generate_with<any_guarantee>(chooser, scheme, prompt, clockless).tokens;
        },
        limit);
}

/// Plain sampling without shared noise, whose law the lossless schemes must have.
template <class M>
auto plain_sampling(const M& target) {
    return speculate(draft::no_draft{}, target, policy::fixed_length{0}, accept::rejection_sampling{});
}

}  // namespace augur::testing
