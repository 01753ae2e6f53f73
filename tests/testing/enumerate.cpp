#include "augur/testing/enumerate.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/testing/law_of.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

using namespace augur;

BOOST_AUTO_TEST_SUITE(testing_enumerate)

constexpr double exactly = 1e-12;

BOOST_AUTO_TEST_CASE(a_choice_has_its_weights) {
    const auto law = testing::enumerate([](testing::enumerating_chooser chooser) {
        const auto row = distribution::weighted({1, 0, 2, 1});
        return std::vector<token>{static_cast<token>(chooser.choose(row, {}))};
    });
    BOOST_TEST(law.paths == 3u);
    BOOST_TEST(law.probability.at({0}) == 0.25);
    BOOST_TEST(law.probability.at({2}) == 0.5);
    BOOST_TEST(law.probability.at({3}) == 0.25);
}

BOOST_AUTO_TEST_CASE(impossible_branches_are_not_taken) {
    const auto law = testing::enumerate([](testing::enumerating_chooser chooser) {
        const bool never = chooser.flip(0, {});
        const bool always = chooser.flip(1, {});
        return std::vector<token>{never ? 1 : 0, always ? 1 : 0};
    });
    BOOST_TEST(law.paths == 1u);
    BOOST_TEST(law.probability.at({0, 1}) == 1.0);
}

BOOST_AUTO_TEST_CASE(every_path_of_a_tree_is_met_once) {
    const auto law = testing::enumerate([](testing::enumerating_chooser chooser) {
        std::vector<token> coins;
        while (coins.size() < 10 && chooser.flip(0.25, {})) coins.push_back(1);
        return coins;
    });
    BOOST_TEST(law.paths == 11u);
    for (const auto& [coins, p] : law.probability) {
        const double expected = std::pow(0.25, static_cast<double>(coins.size())) * (coins.size() < 10 ? 0.75 : 1);
        BOOST_TEST(std::abs(p - expected) < exactly);
    }
}

BOOST_AUTO_TEST_CASE(too_many_paths_are_an_error_not_a_cut) {
    const auto endless = [](testing::enumerating_chooser chooser) {
        std::vector<token> coins;
        for (int i = 0; i < 10; ++i) coins.push_back(chooser.flip(0.5, {}) ? 1 : 0);
        return coins;
    };
    BOOST_CHECK_THROW(testing::enumerate(endless, 1023), error);
    BOOST_TEST(testing::enumerate(endless, 1024).paths == 1024u);
}

BOOST_AUTO_TEST_CASE(a_decoder_with_hidden_state_is_found_out) {
    int calls = 0;
    BOOST_CHECK_THROW(testing::enumerate([&](testing::enumerating_chooser chooser) {
                          chooser.choose(
                              distribution::weighted(std::vector<float>(static_cast<std::size_t>(2 + calls++), 1)), {});
                          return std::vector<token>{};
                      }),
                      error);
}

BOOST_AUTO_TEST_CASE(noise_is_remembered_by_position) {
    const auto law = testing::enumerate([](testing::enumerating_chooser chooser) {
        const auto row = distribution::weighted({1, 2, 3});
        const auto a = static_cast<token>(chooser.race(row, 4));
        const auto b = static_cast<token>(chooser.race(row, 4));
        const auto c = static_cast<token>(chooser.race(row, 5));
        return std::vector<token>{a, b, c};
    });
    bool differs = false;
    for (const auto& [tokens, p] : law.probability) {
        BOOST_TEST(tokens[0] == tokens[1]);
        differs = differs || tokens[0] != tokens[2];
    }
    BOOST_TEST(differs);
}

// Criteria that look right and are not: each must be caught.

/// Compares with the draft's probability as it was before the transform: here, as if it were uniform.
struct wrong_draft_row : accept::rejection_sampling {
    decision judge(const distribution& target, const drafted_token<distribution>& drafted, auto& draws) const {
        const double uniform = 1.0 / static_cast<double>(target.size());
        if (draws.flip(std::min(1.0, target.probability(drafted.id) / uniform), purpose::accept))
            return decision::accept();
        return accept::rejection_sampling::judge(target, drafted, draws);
    }
};

/// Corrects from the target instead of the residual.
struct no_residual : accept::rejection_sampling {
    decision judge(const distribution& target, const drafted_token<distribution>& drafted, auto& draws) const {
        const double ratio = target.probability(drafted.id) / drafted.probability(drafted.id);
        if (draws.flip(std::min(1.0, ratio), purpose::accept)) return decision::accept();
        return decision::replace_with(draw(target, draws));
    }
};

/// Treats a sampled token as if it had been certain, but corrects for the row it came from.
struct certain_draft : accept::rejection_sampling {
    decision judge(const distribution& target, const drafted_token<distribution>& drafted, auto& draws) const {
        if (draws.flip(target.probability(drafted.id), purpose::accept)) return decision::accept();
        return decision::replace_with(static_cast<token>(
            draws.choose(accept::residual_weights<distribution>(target, drafted), purpose::correction)));
    }
};

template <class Criterion>
double distance() {
    const auto target = testing::markov_model({{0.5, 0.3, 0.2}, {0.1, 0.1, 0.8}, {0.4, 0.4, 0.2}});
    const auto drafter = testing::markov_model({{0.2, 0.5, 0.3}, {0.3, 0.4, 0.3}, {0.1, 0.2, 0.7}});
    decode::options chosen;
    chosen.stop.max_tokens = 2;
    const std::vector<token> prompt{0};
    const auto scheme = speculate(drafter, target, policy::fixed_length{2}, Criterion{});
    return testing::total_variation(testing::law_of(testing::plain_sampling(target), prompt, chosen),
                                    testing::law_of(scheme, prompt, chosen));
}

BOOST_AUTO_TEST_CASE(wrong_criteria_are_caught) {
    BOOST_TEST(distance<accept::rejection_sampling>() < exactly);
    BOOST_TEST(distance<wrong_draft_row>() > 0.01);
    BOOST_TEST(distance<no_residual>() > 0.01);
    BOOST_TEST(distance<certain_draft>() > 0.01);
}

/// Drops a drafted token because of its own value: the flaw of known confidence cuts.
struct value_cut {
    using model_drafter = draft::draft_model<const testing::function_model&, draft::sampled>;
    using state_type = model_drafter::state_type;
    using claim_type = distribution;
    model_drafter inner;
    state_type make_state() const { return inner.make_state(); }
    proposal<distribution> propose(state_type& state, auto& context) const {
        const auto proposed = inner.propose(state, context);
        proposal<distribution> kept;
        for (std::size_t i = 0; i < proposed.size() && proposed[i].probability(proposed[i].id) >= 0.5; ++i) {
            kept.push(proposed[i].id, *proposed[i].row);
        }
        return kept;
    }
    void follow(state_type& state, const prefix& committed) const { inner.follow(state, committed); }
};

BOOST_AUTO_TEST_CASE(a_cut_by_the_drafted_value_is_caught_with_the_published_figures) {
    const auto target = testing::markov_model({{0.5, 0.5}, {0.5, 0.5}});
    const auto drafter = testing::markov_model({{0.6, 0.4}, {0.6, 0.4}});
    decode::options chosen;
    chosen.stop.max_tokens = 2;
    const std::vector<token> prompt{0};
    const auto scheme = speculate(value_cut{value_cut::model_drafter(drafter)}, target, policy::fixed_length{1},
                                  accept::rejection_sampling{});
    const auto law = testing::law_of(scheme, prompt, chosen);
    double first_is_zero = 0;
    for (const auto& [tokens, p] : law.probability) first_is_zero += tokens[0] == 0 ? p : 0;
    BOOST_TEST(first_is_zero == 0.7, boost::test_tools::tolerance(1e-6));  // the logits are floats
}

BOOST_AUTO_TEST_SUITE_END()
