#include "augur/accept/exact.hpp"

#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>

namespace augur::accept {
static_assert(AcceptanceCriterionFor<exact, point_mass> && AcceptanceCriterionFor<exact, distribution>);
static_assert(Lossless<exact>);
}  // namespace augur::accept

using namespace augur;

BOOST_AUTO_TEST_SUITE(accept_exact)

static_assert(AcceptanceCriterion<accept::exact>);

decode::options greedy(std::size_t max_tokens) {
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = max_tokens;
    return chosen;
}

BOOST_AUTO_TEST_CASE(accepts_the_targets_choice_and_nothing_else) {
    const auto target = distribution::weighted({1, 5, 2});
    random::philox_chooser chooser(1);
    position_draws draws(chooser, 0, 0);
    BOOST_TEST(accept::exact{}.accepts(target, drafted_token<point_mass>{1}, draws));
    BOOST_TEST(!accept::exact{}.accepts(target, drafted_token<point_mass>{2}, draws));
    BOOST_TEST(accept::exact{}.draw(target, draws) == 1);
}

BOOST_AUTO_TEST_CASE(ties_go_to_the_lowest_id) {
    const auto target = distribution::weighted({1, 5, 5});
    random::philox_chooser chooser(1);
    position_draws draws(chooser, 0, 0);
    BOOST_TEST(accept::exact{}.accepts(target, drafted_token<point_mass>{1}, draws));
    BOOST_TEST(!accept::exact{}.accepts(target, drafted_token<point_mass>{2}, draws));
}

BOOST_AUTO_TEST_CASE(the_text_is_plain_greedy_decodings) {
    const std::vector<token> prompt{3, 1, 4};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        // Few logits of few values: ties are frequent.
        const auto target = testing::function_model(6, 64, [seed](std::span<const token> before, std::span<float> row) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                row[i] = static_cast<float>(
                    (static_cast<std::size_t>(before.back()) * 7 + i * i * (seed + 3) + before.size()) % 3);
            }
        });
        const auto drafter = testing::hashed_model(6, seed + 100);
        const auto expected = decode::generate(plain(target), prompt, greedy(40)).tokens;
        BOOST_TEST(expected.size() == 40u);
        for (std::size_t length : {0u, 1u, 2u, 5u, 100u}) {
            const auto with_model = speculate(drafter, target, policy::fixed_length{length}, accept::exact{});
            BOOST_TEST(decode::generate(with_model, prompt, greedy(40)).tokens == expected);
            const auto with_lookup =
                speculate(draft::prompt_lookup(1, 3), target, policy::fixed_length{length}, accept::exact{});
            BOOST_TEST(decode::generate(with_lookup, prompt, greedy(40)).tokens == expected);
        }
        const auto with_bins = speculate(drafter, target, policy::entropy_bins{}, accept::exact{});
        BOOST_TEST(decode::generate(with_bins, prompt, greedy(40)).tokens == expected);
    }
}

BOOST_AUTO_TEST_CASE(a_draft_that_agrees_is_accepted_whole) {
    const auto target = testing::hashed_model(5, 1);
    const auto scheme = speculate(target, target, policy::fixed_length{3}, accept::exact{});
    const std::vector<token> prompt{0};
    const auto decoded = decode::generate(scheme, prompt, greedy(16));
    BOOST_TEST(decoded.counts.acceptance() == 1.0);
    BOOST_TEST(decoded.counts.accepted_length() == 4.0);
    BOOST_TEST(decoded.counts.count(origin::bonus) == 4u);
}

BOOST_AUTO_TEST_CASE(any_other_temperature_is_refused_with_its_value) {
    const auto target = testing::hashed_model(4, 1);
    const auto scheme = speculate(target, target, policy::fixed_length{2}, accept::exact{});
    auto chosen = greedy(4);
    chosen.sampling.temperature.value = 0.5f;
    const std::vector<token> prompt{0};
    BOOST_CHECK_EXCEPTION(decode::generate(scheme, prompt, chosen), error, [](const error& e) {
        return std::string(e.what()).find("the temperature must be 0, but it is 0.5") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
