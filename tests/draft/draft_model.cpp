#include "augur/draft/draft_model.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

#include "model/smallest.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_draft_model)

using model_type = testing::function_model;
static_assert(Drafter<draft::draft_model<const model_type&, draft::argmax>>);
static_assert(Drafter<draft::draft_model<model_type, draft::sampled>>);
static_assert(shows_rows<draft::draft_model<model_type, draft::argmax>>);

struct fixture {
    model_type model = testing::hashed_model(7, 3);
    prefix before{std::vector<token>{1, 2, 3}};
    transform::pipeline transform{{}, 7};
    random::philox_chooser chooser{5};

    template <class Policy>
    draft::context<Policy, random::philox_chooser> context(const Policy& policy, std::size_t budget = 100,
                                                           std::size_t round = 0) {
        return {before, transform, chooser, policy, observation{.round = round}, budget};
    }
};

BOOST_FIXTURE_TEST_CASE(argmax_follows_the_model, fixture) {
    const draft::draft_model<const model_type&, draft::argmax> drafter(model);
    auto state = drafter.make_state();
    const policy::fixed_length four{4};
    auto given = context(four);
    const auto proposed = draft::propose(drafter, state, given);
    BOOST_TEST(proposed.size() == 4u);
    std::vector<token> tokens{1, 2, 3};
    for (token t : proposed.tokens()) {
        auto fresh = model.make_sequence();
        const logit_row row = model.extend(fresh, tokens, 1)[0];
        BOOST_TEST(t == std::max_element(row.begin(), row.end()) - row.begin());
        tokens.push_back(t);
    }
    BOOST_TEST(before.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_model_that_returns_every_row_is_read_from_the_last, fixture) {
    const draft::draft_model<smallest::model, draft::argmax> drafter(smallest::model{});
    auto state = drafter.make_state();
    const policy::fixed_length three{3};
    transform = transform::pipeline({}, 8);
    auto given = context(three);
    const std::vector<token> counted{3, 4, 5};
    BOOST_TEST(draft::propose(drafter, state, given).tokens() == std::span<const token>(counted),
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_sampled_token_keeps_the_row_it_was_drawn_from, fixture) {
    transform::settings settings;
    settings.top_k.k = 3;
    settings.temperature.value = 0.8f;
    settings.penalties.repetition = 1.4f;
    transform = transform::pipeline(settings, 7);
    const draft::draft_model<const model_type&, draft::sampled> drafter(model);
    auto state = drafter.make_state();
    const policy::fixed_length four{4};
    auto given = context(four);
    const auto proposed = draft::propose(drafter, state, given);
    BOOST_TEST(proposed.size() == 4u);
    std::vector<token> tokens{1, 2, 3};
    for (std::size_t i = 0; i < proposed.size(); ++i) {
        auto fresh = model.make_sequence();
        const distribution expected = transform(model.extend(fresh, tokens, 1)[0], prefix(tokens));
        for (token t = 0; t < 7; ++t) BOOST_TEST(proposed[i].probability(t) == expected.probability(t));
        BOOST_TEST(expected.probability(proposed[i].id) > 0);
        tokens.push_back(proposed[i].id);
    }
}

BOOST_FIXTURE_TEST_CASE(what_was_rejected_leaves_no_trace, fixture) {
    const draft::draft_model<const model_type&, draft::argmax> drafter(model);
    const policy::fixed_length five{5};
    // For every number of accepted tokens: what is proposed next equals a fresh state's proposal.
    for (std::size_t accepted = 0; accepted <= 5; ++accepted) {
        before = prefix(std::vector<token>{1, 2, 3});
        auto state = drafter.make_state();
        auto given = context(five);
        const auto proposed = draft::propose(drafter, state, given);
        for (std::size_t i = 0; i < accepted; ++i) before.push(proposed.tokens()[i]);
        before.push(6);
        drafter.on_commit(state, before);
        BOOST_TEST(state.tokens().size() <= before.size());
        auto again = context(five);
        const auto next = draft::propose(drafter, state, again);
        auto fresh = drafter.make_state();
        auto once_more = context(five);
        const auto expected = draft::propose(drafter, fresh, once_more);
        BOOST_TEST(next.tokens() == expected.tokens(), boost::test_tools::per_element());
    }
}

BOOST_FIXTURE_TEST_CASE(never_more_than_the_room, fixture) {
    const draft::draft_model<const model_type&, draft::argmax> drafter(model);
    const policy::fixed_length many{50};
    for (std::size_t budget : {0u, 1u, 3u}) {
        auto state = drafter.make_state();
        auto given = context(many, budget);
        BOOST_TEST(draft::propose(drafter, state, given).size() == budget);
    }
}

BOOST_FIXTURE_TEST_CASE(a_shorter_context_ends_the_draft, fixture) {
    const model_type small = testing::hashed_model(7, 3, 2, 5);
    const draft::draft_model<const model_type&, draft::argmax> drafter(small);
    const policy::fixed_length many{50};
    auto state = drafter.make_state();
    auto given = context(many);
    BOOST_TEST(draft::propose(drafter, state, given).size() == 3u);
    for (int i = 0; i < 4; ++i) before.push(0);
    drafter.on_commit(state, before);
    auto beyond = context(many);
    BOOST_TEST(draft::propose(drafter, state, beyond).empty());
}

BOOST_FIXTURE_TEST_CASE(a_row_without_numbers_ends_the_draft, fixture) {
    const model_type broken(7, 64, [](std::span<const token> tokens, std::span<float> row) {
        std::fill(row.begin(), row.end(), tokens.size() < 5 ? 0.0f : std::numeric_limits<float>::quiet_NaN());
    });
    const draft::draft_model<const model_type&, draft::argmax> drafter(broken);
    const policy::fixed_length many{50};
    auto state = drafter.make_state();
    auto given = context(many);
    BOOST_TEST(draft::propose(drafter, state, given).size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(redrafting_a_position_draws_anew, fixture) {
    // A token that was thrown away must not determine the next one drafted at its position.
    const model_type uniform(
        7, 64, [](std::span<const token>, std::span<float> row) { std::fill(row.begin(), row.end(), 0.0f); });
    const draft::draft_model<const model_type&, draft::sampled> drafter(uniform);
    const policy::fixed_length many{20};
    auto state = drafter.make_state();
    auto first = context(many, 20, 0);
    auto second = context(many, 20, 1);
    const auto a = draft::propose(drafter, state, first);
    const auto b = draft::propose(drafter, state, second);
    BOOST_TEST(!std::equal(a.tokens().begin(), a.tokens().end(), b.tokens().begin()));
}

/// Drafts while rows are uncertain, as a policy that looks at them does.
struct while_uncertain {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    std::size_t length(const observation& seen) const { return seen.draft_confidence < 0.5 ? 100 : seen.drafted; }
};

BOOST_FIXTURE_TEST_CASE(the_prompt_is_prefilled_where_it_fits, fixture) {
    const std::vector<token> prompt{1, 2, 3};
    for (std::size_t context_length : {1u, 2u, 3u, 4u}) {
        const model_type small = testing::hashed_model(7, 3, 2, context_length);
        const auto scheme = speculate(small, model, policy::fixed_length{2}, accept::coupled{});
        const decode::session session(scheme, prompt, {}, {}, random::philox_chooser(0));
        BOOST_TEST(session.drafter_state.tokens().size() == (context_length < 3 ? 0u : 2u));
    }
}

BOOST_FIXTURE_TEST_CASE(one_row_per_drafted_token_and_one_that_ends_the_draft, fixture) {
    std::size_t rows = 0;
    const model_type counting(7, 64, [&](std::span<const token> tokens, std::span<float> row) {
        ++rows;
        std::fill(row.begin(), row.end(), 0.0f);
        if (tokens.size() == 6) row[0] = 20;
    });
    const draft::draft_model<const model_type&, draft::argmax> drafter(counting);
    auto state = drafter.make_state();
    drafter.prepare(state, before);
    BOOST_TEST(rows == 0u);
    const policy::fixed_length four{4};
    auto given = context(four);
    BOOST_TEST(draft::propose(drafter, state, given).size() == 4u);
    BOOST_TEST(rows == 4u);
    drafter.on_commit(state, before);
    rows = 0;
    const while_uncertain looking{};
    auto watched = context(looking);
    BOOST_TEST(draft::propose(drafter, state, watched).size() == 3u);
    BOOST_TEST(rows == 4u);
}

/// Writes down how many tokens were drafted whenever it is asked.
struct counting_policy {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    std::vector<std::size_t>* drafted;
    std::size_t length(const observation& seen) const {
        drafted->push_back(seen.drafted);
        return 3;
    }
};

BOOST_FIXTURE_TEST_CASE(the_policy_is_told_how_many_are_drafted, fixture) {
    std::vector<std::size_t> drafted;
    const counting_policy policy{&drafted};
    const draft::draft_model<const model_type&, draft::argmax> drafter(model);
    auto state = drafter.make_state();
    auto given = context(policy);
    BOOST_TEST(draft::propose(drafter, state, given).size() == 3u);
    BOOST_TEST(drafted == (std::vector<std::size_t>{0, 1, 2}));
}

BOOST_AUTO_TEST_SUITE_END()
