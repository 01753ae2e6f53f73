// Your own speculation policy: how far to guess.
//
// A policy is one function of an observation. It names the signals it needs, and only those are computed. It can never
// change the output's distribution, so there is nothing to prove: any scheme with it keeps its guarantee. `policy_laws`
// finds what would make it useless instead: a signal that it reads and does not name is unknown, always.

#include <augur/augur.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/policy_laws.hpp>
#include <iostream>
#include <vector>

/// Guesses on while the whole path so far is more likely than not, and one token further than the last round got.
struct likely_path {
    static constexpr augur::signals_read reads{.required = augur::signals::draft_confidence};

    std::size_t length(const augur::observation& seen) const {
        if (!(seen.path_value > 0.5)) return seen.drafted;  // enough: no token from this row
        return seen.last_accepted + 2;
    }
};

static_assert(augur::SpeculationPolicy<likely_path>);

int main() {
    // Unit tests need no model: an observation is a plain struct.
    const likely_path policy;
    const bool behaves = policy.length({.drafted = 3, .last_accepted = 4, .path_value = 0.9}) == 6 &&
                         policy.length({.drafted = 3, .last_accepted = 4, .path_value = 0.2}) == 3;

    const augur::testing::report laws = augur::testing::policy_laws(policy);
    std::cout << laws << '\n';

    const auto target = augur::testing::hashed_model(32, 1, 24);
    const auto drafter = augur::testing::hashed_model(32, 1, 20);  // the same preferences, less sure of them
    const std::vector<augur::token> prompt{1};
    augur::decode::options chosen;
    chosen.stop.max_tokens = 200;
    chosen.seed = 3;
    const auto plain = augur::decode::generate(augur::plain(target), prompt, chosen);
    const auto report = [&](const char* name, const auto& scheme) {
        const auto decoded = augur::decode::generate(scheme, prompt, chosen);
        std::cout << name << decoded.counts.accepted_length() << " tokens a pass, " << decoded.counts.acceptance() * 100
                  << " % of drafted tokens accepted\n";
        return decoded.tokens == plain.tokens;
    };
    const bool same = report("fixed_length{6}  ", augur::speculate(drafter, target, augur::policy::fixed_length{6},
                                                                   augur::accept::coupled{})) &&
                      report("likely_path      ", augur::speculate(drafter, target, policy, augur::accept::coupled{}));
    std::cout
        << "What it trades: few rejected tokens against tokens a pass. It pays where a drafted token costs much of a\n"
           "pass; here four of five drafted tokens are right whatever the path is worth, so that longer drafts win.\n";
    return behaves && laws.kept() && same ? 0 : 1;
}
