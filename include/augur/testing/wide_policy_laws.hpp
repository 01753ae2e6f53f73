#pragma once
// The law suite of policies that measure wide rows by code of their own.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "augur/policy/concept.hpp"
#include "augur/policy/plan_query.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_rows.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// The policy's own form of entropy of few tokens among many impossible ones is that of the few alone.
template <SpeculationPolicy Policy>
class wide_entropy_cases {
 public:
    static constexpr std::size_t windows = 8;

    std::string of_far_tokens(choices& from) const {
        const std::size_t vocabulary = wide_vocabularies[from.below(wide_vocabularies.size())];
        return unlike(from, some_places(far_places(vocabulary), 2 * from.below(windows), few), vocabulary);
    }
    std::string of_near_tokens(choices& from) const {
        std::vector<token> numbers;
        for (std::size_t i = 0; i < few; ++i) numbers.push_back(static_cast<token>(3 * i + from.below(3)));
        return unlike(from, numbers, 17);
    }

 private:
    static constexpr std::size_t few = 5;

    static std::string unlike(choices& from, std::span<const token> numbers, std::size_t vocabulary) {
        std::vector<float> logits(few), row(vocabulary, -std::numeric_limits<float>::infinity());
        for (std::size_t i = 0; i < few; ++i) {
            row[static_cast<std::size_t>(numbers[i])] = logits[i] = 0.5f * static_cast<float>(from.below(8));
        }
        const double expected = policy::entropy_nats<Policy>(logits), got = policy::entropy_nats<Policy>(row);
        if (std::abs(got - expected) <= std::max(1e-5, from.tolerance())) return "";
        return augur::detail::message("in a vocabulary of ", vocabulary, ", tokens ",
                                      describe(std::vector<token>(numbers.begin(), numbers.end())), " with logits ",
                                      describe(logits), ", all others impossible, have an entropy of ", got,
                                      " nats by the policy's own form, but alone ", expected);
    }
};

namespace detail {
template <class Policy>
void check_wide_signals(report& r, const effort& tries) {
    if constexpr (reads_of<Policy>.measures_entropy()) {
        const char* name = "the entropy of a wide row is that of its few tokens";
        const wide_entropy_cases<Policy> cases;
        report near;
        check(near, name, {.seed = tries.seed, .cases = 20, .shrinks = 0},
              [&](choices& from) { return cases.of_near_tokens(from); });
        if (!near.broken.empty()) return r.skip(name, "its entropy depends on how many impossible tokens there are");
        check_wide(r, name, tries, every_kind(wide_entropy_cases<Policy>::windows),
                   [&](choices& from) { return cases.of_far_tokens(from); });
    }
}
}  // namespace detail

}  // namespace augur::testing
