#pragma once
// The exact law of a scheme's output.

#include <cstddef>
#include <span>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/decode/generate.hpp"
#include "augur/testing/enumerate.hpp"

namespace augur::testing {

/// Every text that decoding the prompt by the scheme can return, with its probability. Two schemes over one target keep the
/// same distribution if and only if total_variation(law_of(a, ...), law_of(b, ...)) is 0 up to rounding.
/// Cost: one whole decoding per path; keep vocabulary, length and max_tokens small.
template <class Scheme>
law law_of(const Scheme& scheme, std::span<const token> prompt, const decode::options& chosen,
           std::size_t limit = 10'000'000) {
    return enumerate(
        [&](const enumerating_chooser& chooser) {
            return decode::generate_with<any_guarantee>(chooser, scheme, prompt, chosen).tokens;
        },
        limit);
}

/// Plain sampling without shared noise, whose law the lossless schemes must have.
template <class M>
auto plain_sampling(const M& target) {
    return speculate(draft::nothing{}, target, policy::fixed_length{0}, accept::rejection_sampling{});
}

}  // namespace augur::testing
