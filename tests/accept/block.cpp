#include "augur/accept/block.hpp"

#include <augur/accept/walk.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <vector>

namespace augur::accept {
static_assert(AcceptanceCriterionFor<block, point_mass> && AcceptanceCriterionFor<block, distribution>);
static_assert(Lossless<block>);
}  // namespace augur::accept

using namespace augur;

BOOST_AUTO_TEST_SUITE(accept_block)

static_assert(AcceptanceCriterion<accept::block>);

constexpr double exactly = 1e-12;
const std::vector<token> prompt{0, 1, 0};

decode::options sampling(std::size_t max_tokens) {
    decode::options chosen;
    chosen.stop.max_tokens = max_tokens;
    return chosen;
}

template <class Scheme>
void check_law(const Scheme& scheme, const testing::function_model& target, const decode::options& chosen) {
    const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
    const auto got = testing::text_distribution_of(scheme, prompt, chosen);
    BOOST_TEST(std::abs(got.total() - 1) < exactly);
    BOOST_TEST(testing::total_variation(expected, got) < exactly);
}

BOOST_AUTO_TEST_CASE(keeps_the_law_with_sampled_drafts) {
    for (std::size_t vocabulary : {2u, 3u, 4u}) {
        const auto target = testing::hashed_model(vocabulary, 1);
        const auto drafter = testing::hashed_model(vocabulary, 2);
        for (std::size_t length = 0; length <= 3; ++length) {
            check_law(speculate(drafter, target, policy::fixed_length{length}, accept::block{}), target,
                      sampling(vocabulary == 4 ? 2 : 4));
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_law_with_point_masses_and_policies) {
    const auto target = testing::hashed_model(3, 7);
    const auto drafter = testing::hashed_model(3, 8);
    check_law(speculate(draft::prompt_lookup(1, 3), target, policy::fixed_length{3}, accept::block{}), target,
              sampling(4));
    const policy::entropy_bins bins({0.8, 0.95, 1.05}, {3, 2, 1, 0});
    check_law(speculate(drafter, target, bins, accept::block{}), target, sampling(4));
}

BOOST_AUTO_TEST_CASE(keeps_the_law_under_transforms_and_zeros) {
    const auto target =
        testing::markov_model({{0.5, 0.5, 0, 0}, {0, 0.2, 0.8, 0}, {0.25, 0.25, 0.25, 0.25}, {1, 0, 0, 0}});
    const auto drafter =
        testing::markov_model({{0, 0.1, 0.9, 0}, {0.6, 0, 0.4, 0}, {0, 0, 0, 1}, {0.1, 0.2, 0.3, 0.4}});
    auto chosen = sampling(4);
    check_law(speculate(drafter, target, policy::fixed_length{3}, accept::block{}), target, chosen);
    chosen.sampling.temperature.value = 1.4f;
    chosen.sampling.top_k.k = 3;
    chosen.sampling.penalties = {1.3f, 0.2f, 0.1f};
    check_law(speculate(drafter, target, policy::fixed_length{2}, accept::block{}), target, chosen);
}

BOOST_AUTO_TEST_CASE(greedy_at_temperature_zero) {
    const auto target = testing::hashed_model(5, 3);
    auto chosen = sampling(30);
    chosen.sampling.temperature.value = 0;
    const auto scheme = speculate(testing::hashed_model(5, 4), target, policy::fixed_length{3}, accept::block{});
    BOOST_TEST(decode::generate(scheme, prompt, chosen).tokens ==
               decode::generate(plain(target), prompt, chosen).tokens);
}

BOOST_AUTO_TEST_CASE(equal_models_accept_everything) {
    const auto target = testing::hashed_model(6, 3);
    const auto scheme = speculate(target, target, policy::fixed_length{4}, accept::block{});
    BOOST_TEST(decode::generate(scheme, prompt, sampling(50)).counts.acceptance() == 1.0);
}

/// Expected number of accepted tokens in the first round, by enumeration.
template <class Criterion>
double expected_accepted(const testing::function_model& drafter, const testing::function_model& target) {
    const auto scheme = speculate(drafter, target, policy::fixed_length{3}, Criterion{});
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        decode::session session(scheme, prompt, {}, {.max_tokens = 4}, chooser);
        return std::vector<token>{static_cast<token>(decode::step(scheme, session).decided.accepted)};
    });
    double expected = 0;
    for (const auto& [accepted, p] : law.probability) expected += p * static_cast<double>(accepted[0]);
    return expected;
}

BOOST_AUTO_TEST_CASE(accepts_at_least_as_much_as_token_by_token_and_here_more) {
    // The example of the paper's section 2: two tokens, target (1/3, 2/3), draft (2/3, 1/3).
    const auto target = testing::markov_model({{1, 2}, {1, 2}});
    const auto drafter = testing::markov_model({{2, 1}, {2, 1}});
    const double tokenwise = expected_accepted<accept::rejection_sampling>(drafter, target);
    const double whole = expected_accepted<accept::block>(drafter, target);
    BOOST_TEST(tokenwise == 2.0 / 3 + 4.0 / 9 + 8.0 / 27, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(whole > tokenwise * 1.05);
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const auto p = testing::hashed_model(3, seed);
        const auto q = testing::hashed_model(3, seed + 50);
        BOOST_TEST(expected_accepted<accept::block>(q, p) >
                   expected_accepted<accept::rejection_sampling>(q, p) - exactly);
    }
}

distribution row_after(const testing::function_model& model, const std::vector<token>& before) {
    std::vector<float> logits(model.vocabulary_size());
    model.fill_row(before, logits);
    return transform::pipeline({}, logits.size())(logits, prefix(before));
}

/// The sum of the worths along every draft of `left` more tokens, weighed by how likely the draft is.
double expected_worth(const testing::function_model& drafter, const testing::function_model& target,
                      std::vector<token> before, double worth, std::size_t left) {
    if (left == 0) return 0;
    const auto drafted = row_after(drafter, before), wanted = row_after(target, before);
    double sum = 0;
    for (token t = 0; t < static_cast<token>(drafted.size()); ++t) {
        const double next = std::min(1.0, worth * wanted.probability(t) / drafted.probability(t));
        before.push_back(t);
        sum += drafted.probability(t) * (next + expected_worth(drafter, target, before, next, left - 1));
        before.pop_back();
    }
    return sum;
}

BOOST_AUTO_TEST_CASE(a_prefix_stands_with_the_probability_of_its_worth) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const auto target = testing::hashed_model(3, seed);
        for (const auto& drafter : {testing::hashed_model(3, seed + 50), testing::noisy_model(target, 0.3)}) {
            BOOST_TEST(
                expected_accepted<accept::block>(drafter, target) == expected_worth(drafter, target, prompt, 1, 3),
                boost::test_tools::tolerance(1e-12));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_row_without_numbers_ends_the_block_there) {
    const testing::function_model broken(4, 64, [](std::span<const token> before, std::span<float> row) {
        std::fill(row.begin(), row.end(), 0.0f);
        if (before.size() == 5) row[2] = NAN;
    });
    const testing::function_model uniform(
        4, 64, [](std::span<const token>, std::span<float> row) { std::fill(row.begin(), row.end(), 0.0f); });
    const auto scheme = speculate(uniform, broken, policy::fixed_length{4}, accept::block{});
    const auto decoded = decode::generate(scheme, prompt, sampling(8));
    BOOST_TEST((decoded.finish == finish_reason::invalid_logits));
    BOOST_TEST(decoded.tokens.size() == 2u);
}

/// What a drafter claims falsely: a token that its row cannot draw. The target cannot, either, so 0 / 0 is asked.
BOOST_AUTO_TEST_CASE(a_token_that_neither_row_has_is_not_accepted) {
    constexpr float never = -std::numeric_limits<float>::infinity();
    const std::vector<float> rows{0, 1, never, 0, 1, never};
    const transform::pipeline as_they_are({}, 3);
    prefix before(prompt);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        proposal<distribution> drafted;
        const random::philox_chooser chooser(seed);
        drafted.push(2, as_they_are(std::span(rows).first(3), before));
        const auto decided =
            accept::walk(accept::block{}, drafted, scores(rows.data(), 2, 3), as_they_are, before, chooser, 0);
        BOOST_TEST(decided.accepted == 0u);
        BOOST_TEST((decided.next == 0 || decided.next == 1));
    }
}

BOOST_AUTO_TEST_SUITE_END()
