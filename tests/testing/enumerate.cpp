#include "augur/testing/enumerate.hpp"

#include <augur/random/nested_chooser.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

namespace augur::testing {
static_assert(Chooser<enumerating_chooser>);
}  // namespace augur::testing

using namespace augur;

BOOST_AUTO_TEST_SUITE(testing_enumerate)

constexpr double exactly = 1e-12;

auto says(const std::string& part) {
    return [part](const error& thrown) {
        const bool found = std::string(thrown.what()).find(part) != std::string::npos;
        if (!found) BOOST_TEST_MESSAGE(thrown.what());
        return found;
    };
}

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
        const bool never = chooser.flip(0, {0, purpose::accept, 0});
        const bool always = chooser.flip(1, {1, purpose::accept, 0});
        return std::vector<token>{never ? 1 : 0, always ? 1 : 0};
    });
    BOOST_TEST(law.paths == 1u);
    BOOST_TEST(law.probability.at({0, 1}) == 1.0);
}

BOOST_AUTO_TEST_CASE(every_path_of_a_tree_is_met_once) {
    const auto law = testing::enumerate([](testing::enumerating_chooser chooser) {
        std::vector<token> coins;
        while (coins.size() < 10 && chooser.flip(0.25, {coins.size()})) coins.push_back(1);
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
        for (std::size_t i = 0; i < 10; ++i) coins.push_back(chooser.flip(0.5, {i}) ? 1 : 0);
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
    BOOST_CHECK_THROW(testing::enumerate([&](testing::enumerating_chooser chooser) {
                          chooser.flip(0.5 / ++calls, {0});
                          chooser.flip(0.5, {1});
                          return std::vector<token>{};
                      }),
                      error);
}

BOOST_AUTO_TEST_CASE(a_decoder_that_asks_under_another_name_is_found_out) {
    std::size_t calls = 0;
    const auto renames = [&](testing::enumerating_chooser chooser) {
        chooser.flip(0.5, {++calls});
        chooser.flip(0.5, {0});
        return std::vector<token>{};
    };
    BOOST_CHECK_EXCEPTION(testing::enumerate(renames), error, says("not a function of its choices"));
}

BOOST_AUTO_TEST_CASE(a_question_without_an_answer_is_an_error) {
    const auto nothing = [](testing::enumerating_chooser chooser) {
        chooser.choose(distribution::weighted({0, 0}), {4, purpose::draft, 2});
        return std::vector<token>{};
    };
    BOOST_CHECK_EXCEPTION(
        testing::enumerate(nothing), error,
        says("choose among 2 weights at position 4, node 0, sibling 0, purpose draft, round 2 has no possible answer"));
}

/// 1 where two coins both come true that are asked for under these names.
auto two_coins(draw_key first, draw_key second) {
    return [=](testing::enumerating_chooser chooser) {
        const bool both = chooser.flip(0.5, first) && chooser.flip(0.25, second);
        return std::vector<token>{both ? 1 : 0};
    };
}

BOOST_AUTO_TEST_CASE(a_name_that_is_asked_for_twice_is_refused_with_both_questions) {
    const draw_key name{3, purpose::accept, 2};
    BOOST_CHECK_EXCEPTION(
        testing::enumerate(two_coins(name, name)), error,
        says("the random number of position 3, node 0, sibling 0, purpose accept, round 2 is asked for twice: first by "
             "flip(0.5), then by flip(0.25)"));
    for (const draw_key other :
         {draw_key{4, purpose::accept, 2}, draw_key{3, purpose::correction, 2}, draw_key{3, purpose::accept, 1}}) {
        BOOST_TEST(testing::enumerate(two_coins(name, other)).probability.at({1}) == 0.125);
    }
}

BOOST_AUTO_TEST_CASE(a_choice_and_a_coin_of_one_name_are_one_number) {
    const auto decode = [](testing::enumerating_chooser chooser) {
        nested_chooser<testing::enumerating_chooser> inner(chooser);
        inner.choose(distribution::weighted({1, 2, 3}), {1, purpose::draft, 0});
        inner.flip(0.5, {1, purpose::draft, 0});
        return std::vector<token>{};
    };
    BOOST_CHECK_EXCEPTION(testing::enumerate(decode), error,
                          says("position 1, node 0, sibling 0, purpose draft of level 1, round 0 is asked for twice: "
                               "first by choose among 3 "
                               "weights, then by flip(0.5)"));
}

BOOST_AUTO_TEST_CASE(the_noise_of_a_race_is_no_coin) {
    const auto row = distribution::weighted({1, 2, 1});
    const draw_key noise{4, purpose::exponential_race, 0};
    const auto flips_first = [&](testing::enumerating_chooser chooser) {
        chooser.flip(0.5, noise);
        chooser.exponential_race(row, 4);
        return std::vector<token>{};
    };
    const auto races_first = [&](testing::enumerating_chooser chooser) {
        chooser.exponential_race(row, 4);
        chooser.choose(row, noise);
        return std::vector<token>{};
    };
    const std::string named = "position 4, node 0, sibling 0, purpose race, round 0 is asked for twice: first by ";
    BOOST_CHECK_EXCEPTION(testing::enumerate(flips_first), error, says(named + "flip(0.5), then by race among 3"));
    BOOST_CHECK_EXCEPTION(testing::enumerate(races_first), error, says(named + "race among 3 weights, then by choose"));
}

BOOST_AUTO_TEST_CASE(races_at_one_position_share_their_noise) {
    const auto row = distribution::weighted({1, 2, 1});
    const auto other = distribution::weighted({2, 1, 1});
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        const auto a = static_cast<token>(chooser.exponential_race(row, 4));
        const auto b = static_cast<token>(chooser.exponential_race(other, 4));
        const auto c = static_cast<token>(chooser.exponential_race(row, 5));
        const auto again = static_cast<token>(chooser.exponential_race(row, 4));
        BOOST_TEST(a == again);
        return std::vector<token>{a, b, c};
    });
    const auto p = [&](token a, token b) {
        double sum = 0;
        for (token c = 0; c < 3; ++c) {
            const auto found = law.probability.find({a, b, c});
            sum += found == law.probability.end() ? 0 : found->second;
        }
        return sum;
    };
    // x0 is the smallest of (x0, x1 / 2, x2) and of (x0 / 2, x1, x2): 1 / (1 + 2 + 1); and so on, of all 1 together.
    BOOST_TEST(std::abs(p(0, 0) - 1.0 / 4) < exactly);
    BOOST_TEST(std::abs(p(1, 1) - 1.0 / 4) < exactly);
    BOOST_TEST(std::abs(p(2, 2) - 1.0 / 5) < exactly);
    BOOST_TEST(p(0, 1) == 0.0);  // token 1 loses weight
    BOOST_TEST(p(0, 2) == 0.0);
    BOOST_TEST(std::abs(p(1, 0) + p(1, 2) - 1.0 / 4) < exactly);
    for (token a = 0; a < 3; ++a) {
        double third = 0;
        for (const auto& [tokens, each] : law.probability) third += tokens[2] == a ? each : 0;
        BOOST_TEST(std::abs(third - row.probability(a)) < exactly);
    }
    BOOST_CHECK_THROW(testing::enumerate([&](testing::enumerating_chooser chooser) {
                          chooser.exponential_race(row, 0);
                          chooser.exponential_race(distribution::weighted({1, 1}), 0);
                          return std::vector<token>{};
                      }),
                      error);
}

/// Drops a drafted token because of its own value: the flaw of known confidence cuts.
struct value_cut {
    using model_drafter = draft::draft_model<const testing::function_model&, draft::sampled>;
    using state_type = model_drafter::state_type;
    using draft_distribution_type = distribution;
    model_drafter inner;
    state_type make_state() const { return inner.make_state(); }
    void propose(state_type& state, auto& context, proposal<distribution>& kept) const {
        const auto proposed = draft::propose(inner, state, context);
        for (std::size_t i = 0; i < proposed.size() && proposed[i].probability(proposed[i].id) >= 0.5; ++i) {
            kept.push(proposed[i].id, *proposed[i].row);
        }
    }
    void on_commit(state_type& state, const prefix& committed) const { inner.on_commit(state, committed); }
};

BOOST_AUTO_TEST_CASE(a_cut_by_the_drafted_value_is_caught_with_the_published_figures) {
    const auto target = testing::markov_model({{0.5, 0.5}, {0.5, 0.5}});
    const auto drafter = testing::markov_model({{0.6, 0.4}, {0.6, 0.4}});
    decode::options chosen;
    chosen.stop.max_tokens = 2;
    const std::vector<token> prompt{0};
    const auto scheme = speculate(value_cut{value_cut::model_drafter(drafter)}, target, policy::fixed_length{1},
                                  accept::rejection_sampling{});
    const auto law = testing::text_distribution_of(scheme, prompt, chosen);
    double first_is_zero = 0;
    for (const auto& [tokens, p] : law.probability) first_is_zero += tokens[0] == 0 ? p : 0;
    BOOST_TEST(first_is_zero == 0.7, boost::test_tools::tolerance(1e-6));  // the logits are floats
}

BOOST_AUTO_TEST_SUITE_END()
