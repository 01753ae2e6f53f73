#pragma once
// Schemes whose parts throw: models of few tokens, so that guesses are often right.

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <failing_allocations.hpp>
#include <span>
#include <vector>

#include "augur/testing/failing_model.hpp"
#include "augur/testing/fault_batch_laws.hpp"
#include "augur/testing/fault_laws.hpp"
#include "augur/testing/refined_models.hpp"
#include "sanitized.hpp"

namespace augur::testing {

inline const std::vector<token> fault_prompt{1, 2, 3, 1, 2};
inline const faults fault_places;
inline constexpr std::size_t fault_vocabulary = 5;

inline function_model fault_rows(std::uint64_t seed) {
    return hashed_model(fault_vocabulary, seed, 3);
}
inline auto failing_chains(std::uint64_t seed) {
    return failing(fault_rows(seed), fault_places);
}
template <pass_features F>
auto failing_passes(std::uint64_t seed) {
    return failing(pass_mock<F>(fault_rows(seed)), fault_places);
}

inline fault_options fault_choice(float temperature, std::size_t max_tokens = 9) {
    fault_options options;
    options.chosen.sampling.temperature = {temperature};
    options.chosen.stop.max_tokens = max_tokens;
    options.chosen.seed = 5;
    options.most_places = unless_sanitized<std::size_t>(120, 10);
    options.allocations = allocations::hook();
    return options;
}

/// How much was tried in a test case.
struct fault_tally {
    std::size_t schemes = 0, places = 0, runs = 0;

    void add(const char* what, const fault_report& r) {
        BOOST_TEST(r.kept(), what << ": " << r);
        ++schemes;
        places += r.places;
        runs += r.runs;
    }
    template <class Scheme>
    void keeps(const char* what, const Scheme& scheme, const fault_options& chosen,
               const decode::prompt_t<Scheme>& prompt = fault_prompt) {
        add(what, fault_laws(scheme, prompt, fault_places, chosen));
    }
    template <class Scheme>
    void keeps_together(const char* what, const Scheme& scheme, const fault_options& chosen) {
        const std::vector<std::vector<token>> prompts{{1, 2, 3, 1, 2}, {4, 0, 1}, {2, 2, 3, 3}};
        add(what, fault_laws_together(scheme, prompts, fault_places, chosen));
    }
    /// The numbers are printed, and must not be small.
    void report(const char* what, std::size_t least_runs) const {
        BOOST_TEST_MESSAGE(what << ": " << schemes << " schemes, " << places << " places, " << runs << " decodings");
        BOOST_TEST(runs >= unless_sanitized(least_runs, least_runs / 20));
    }
};

}  // namespace augur::testing
