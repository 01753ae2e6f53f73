// The bundled Llama, each call and each allocation of which fails.

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/failing_model.hpp>
#include <augur/testing/fault_batch_laws.hpp>
#include <augur/testing/fault_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <failing_allocations.hpp>
#include <vector>

#include "llama/small_llama.hpp"
#include "sanitized.hpp"

using namespace augur;
using namespace augur::testing;

BOOST_AUTO_TEST_SUITE(llama_fault_laws)

const faults by;

fault_options choice(float temperature) {
    fault_options options;
    options.chosen.sampling.temperature = {temperature};
    options.chosen.stop.max_tokens = 6;
    options.most_places = unless_sanitized<std::size_t>(60, 4);
    options.allocations = allocations::hook();
    return options;
}

BOOST_AUTO_TEST_CASE(the_bundled_llama_keeps_them) {
    const auto target = failing(small_llama().load({.threads = 1}), by);
    const auto small = failing(small_llama().load({.threads = 1, .layers = {0}}), by);
    const policy::fixed_length three{3};
    std::size_t runs = 0;
    const auto keeps = [&](const auto& scheme, float temperature) {
        const auto prompt = some_tokens(7, target.vocabulary_size());
        const auto r = fault_laws(scheme, prompt, by, choice(temperature));
        BOOST_TEST(r.kept(), r);
        runs += r.runs;
    };
    keeps(plain(target), 1);
    keeps(speculate(small, target, three, accept::exact{}), 0);
    keeps(speculate(small, target, three, accept::rejection_sampling{}), 1);
    const policy::tree_static wide(topology::of_paths({{0}, {1}, {0, 0}, {0, 1}}));
    keeps(speculate(draft::draft_model(small), target, wide, accept::coupled{}), 1);
    const std::vector<std::vector<token>> prompts{some_tokens(3, target.vocabulary_size()),
                                                  some_tokens(9, target.vocabulary_size())};
    const auto together =
        fault_laws_together(speculate(small, target, three, accept::rejection_sampling{}), prompts, by, choice(1));
    BOOST_TEST(together.kept(), together);
    runs += together.runs;
    BOOST_TEST_MESSAGE("the bundled Llama: 5 schemes, " << runs << " decodings");
    BOOST_TEST(runs > unless_sanitized(1000u, 50u));
}

BOOST_AUTO_TEST_SUITE_END()
