#include "augur/scheme/stage_states.hpp"

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace augur;
using policy::fixed_length;

BOOST_AUTO_TEST_SUITE(scheme_stage_states)

template <class D>
void keeps(const D& drafter) {
    const auto r = testing::drafter_laws(drafter, {.cases = 40});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == 11u, r);
}

/// Counts up from the last token; checks that it has been shown the true states of all others whenever it is asked.
struct follower {
    struct state_type {
        std::vector<std::vector<float>> states{};
    };
    using draft_distribution_type = point_mass;
    const testing::hidden_state_mock* verifier;
    std::size_t* asked;

    state_type make_state() const { return {}; }
    void propose(state_type& state, auto& context, proposal<point_mass>& out) const {
        if (!context.wants_more(0)) return;
        ++*asked;
        BOOST_TEST(state.states.size() + 1 == context.prefix().size());
        token next = context.prefix().tokens().back();
        while (context.wants_more(out.size())) out.push(next = (next + 1) % 6);
    }
    void on_commit(state_type& state, const prefix& committed, const auto& states) const {
        BOOST_TEST_REQUIRE(states.first() == state.states.size());
        BOOST_TEST(states.first() + states.size() < committed.size());
        for (std::size_t i = 0; i < states.size(); ++i) {
            std::vector<float> row(6);
            verifier->fill_row(committed.tokens().first(states.first() + i + 1), row);
            BOOST_TEST(std::vector<float>(states[i].begin(), states[i].end()) == row, boost::test_tools::per_element());
            state.states.push_back(std::move(row));
        }
    }
};

/// Counts up, but for every `every`-th position.
testing::function_model counting(std::size_t every) {
    return {6, 1024, [every](std::span<const token> before, std::span<float> row) {
                std::fill(row.begin(), row.end(), 0.0f);
                row[(static_cast<std::size_t>(before.back()) + (before.size() % every == 0 ? 3u : 1u)) % 6] = 9;
            }};
}

BOOST_AUTO_TEST_CASE(a_drafter_inside_follows_the_states_of_the_model_that_verifies_it) {
    const testing::hidden_state_mock verifier(counting(7));
    for (const std::size_t every : {4u, 1000u}) {  // rejects tokens of the stage, its own last ones too; accepts all
        const auto target = counting(every);
        std::size_t asked = 0;
        const auto scheme = cascaded(follower{&verifier, &asked}, scheme::model_link{fixed_length{3}, accept::exact{}},
                                     verifier, scheme::model_link{fixed_length{4}, accept::exact{}}, target);
        decode::options chosen;
        chosen.sampling.temperature.value = 0;
        chosen.stop.max_tokens = 60;
        const std::vector<token> prompt{1, 4, 2};
        const auto got = decode::generate(scheme, prompt, chosen);
        BOOST_TEST(got.tokens == decode::generate(plain(target), prompt, chosen).tokens,
                   boost::test_tools::per_element());
        BOOST_TEST(asked > 10u);
        BOOST_TEST(got.counts.stages.front().accepted > asked);
        BOOST_TEST(got.counts.rounds() < 30u);
    }
}

BOOST_AUTO_TEST_CASE(layers_and_heads_on_a_verifiers_states_keep_the_laws_inside) {
    using testing::fused_mock, testing::hidden_state_mock;
    const hidden_state_mock verifier(testing::hashed_model(3, 2, 1));
    const fused_mock layer(testing::hashed_model(3, 1, 1), 3);
    using layer_drafter = draft::eagle<const fused_mock&, draft::sampled>;
    keeps(scheme::stage<layer_drafter, const hidden_state_mock&, fixed_length, accept::rejection_sampling>(
        layer_drafter(layer), verifier, fixed_length{2}, {}));
    using tree_drafter = draft::eagle<const fused_mock&, draft::argmax>;
    keeps(scheme::stage<tree_drafter, const hidden_state_mock&, policy::tree_static, accept::coupled>(
        tree_drafter(layer), verifier, policy::tree_static{topology({after_prefix, after_prefix, 0})}, {}));
}

BOOST_AUTO_TEST_CASE(states_of_another_size_are_refused_inside_too) {
    const testing::hidden_state_mock verifier(testing::hashed_model(4, 2, 1));
    const testing::fused_mock layer(testing::hashed_model(4, 1, 1), 3);
    using drafter = draft::eagle<const testing::fused_mock&, draft::argmax>;
    using on_layer = scheme::stage<drafter, const testing::hidden_state_mock&, fixed_length, accept::exact>;
    BOOST_CHECK_EXCEPTION(on_layer(drafter(layer), verifier, fixed_length{2}, {}), error, [](const error& e) {
        return std::string(e.what()) == "the drafter reads hidden states of 3 numbers, but the target's have 4";
    });
}

BOOST_AUTO_TEST_SUITE_END()
