#include "augur/accept/coupled.hpp"

#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/promise.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>

#include "sanitized.hpp"

namespace augur::accept {
static_assert(AcceptanceCriterionFor<coupled, point_mass> && AcceptanceCriterionFor<coupled, distribution>);
static_assert(Lossless<coupled>);
}  // namespace augur::accept

using namespace augur;

BOOST_AUTO_TEST_SUITE(accept_coupled)

static_assert(AcceptanceCriterion<accept::coupled>);

const std::vector<token> prompt{2, 0, 1};

/// A model near another: its logits, moved a little by a hash.
testing::function_model near_model(std::size_t vocabulary, std::uint64_t of, float distance) {
    const auto base = testing::hashed_model(vocabulary, of);
    const auto noise = testing::hashed_model(vocabulary, of + 1000, distance);
    return {vocabulary, 1024, [=](std::span<const token> before, std::span<float> row) {
                auto a = base.make_sequence();
                auto b = noise.make_sequence();
                const auto rows = base.extend(a, before, 1);
                const auto moved = noise.extend(b, before, 1);
                for (std::size_t i = 0; i < row.size(); ++i) row[i] = rows[0][i] + moved[0][i];
            }};
}

template <class Scheme>
void check_texts(const Scheme& scheme, const testing::function_model& target) {
    for (float temperature : {0.0f, 0.7f, 1.3f}) {
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
            decode::options chosen;
            chosen.seed = seed;
            chosen.sampling.temperature.value = temperature;
            chosen.sampling.penalties = {1.1f, 0.1f, 0.1f};
            chosen.stop.max_tokens = 60;
            BOOST_TEST(decode::generate(scheme, prompt, chosen).tokens ==
                       decode::generate(plain(target), prompt, chosen).tokens);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_text_is_plain_samplings_whatever_the_drafter) {
    const auto target = testing::hashed_model(40, 1);
    for (std::size_t length : {1u, 3u, 7u}) {
        check_texts(speculate(testing::hashed_model(40, 9), target, policy::fixed_length{length}, accept::coupled{}),
                    target);
        check_texts(speculate(near_model(40, 1, 0.5f), target, policy::fixed_length{length}, accept::coupled{}),
                    target);
        check_texts(speculate(draft::prompt_lookup(1, 2), target, policy::fixed_length{length}, accept::coupled{}),
                    target);
    }
    check_texts(speculate(near_model(40, 1, 0.5f), target, policy::entropy_bins{}, accept::coupled{}), target);
    using sampling_draft = draft::draft_model<const testing::function_model&, draft::sampled>;
    check_texts(speculate(sampling_draft(target), target, policy::fixed_length{3}, accept::coupled{}), target);
}

/// On every way in which the noise can make the rows agree and differ: plain sampling's text, and so its law.
template <class Scheme>
void check_all_noise(const Scheme& scheme, const testing::text_distribution& plainly, const decode::options& chosen) {
    BOOST_TEST(testing::broken_text(scheme, prompt, chosen) == "");
    const auto got = testing::text_distribution_of(scheme, prompt, chosen);
    BOOST_TEST(std::abs(got.total() - 1) < 1e-12);
    const auto found = testing::explain(plainly, got);
    BOOST_TEST(found.equal, found);
}

BOOST_AUTO_TEST_CASE(equal_on_all_noise) {
    for (const std::size_t vocabulary : {3u, 4u}) {
        if (testing::sanitized && vocabulary > 3) break;
        const auto target = testing::hashed_model(vocabulary, 1);
        const auto drafter = testing::hashed_model(vocabulary, 2);
        using independent_draft = draft::draft_model<const testing::function_model&, draft::sampled>;
        decode::options chosen;
        chosen.stop.max_tokens = vocabulary < 4 && !testing::sanitized ? 4 : 3;
        const auto plainly = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
        BOOST_TEST(testing::total_variation(plainly, testing::text_distribution_of(plain(target), prompt, chosen)) <
                   1e-12);
        for (std::size_t length = 1; length <= 3; ++length) {
            const policy::fixed_length guess{length};
            check_all_noise(speculate(drafter, target, guess, accept::coupled{}), plainly, chosen);
            check_all_noise(speculate(draft::prompt_lookup(1, 2), target, guess, accept::coupled{}), plainly, chosen);
            check_all_noise(speculate(independent_draft(drafter), target, guess, accept::coupled{}), plainly, chosen);
        }
    }
}

/// The probability that the first drafted token is accepted.
double agreement(const testing::function_model& drafter, const testing::function_model& target) {
    const auto scheme = speculate(drafter, target, policy::fixed_length{1}, accept::coupled{});
    const auto law = testing::enumerate([&](const testing::enumerating_chooser& chooser) {
        decode::session session(scheme, prompt, {}, {.max_tokens = 2}, chooser);
        return std::vector<token>{decode::step(scheme, session).decided.accepted == 1 ? 1 : 0};
    });
    return law.probability.contains({1}) ? law.probability.at({1}) : 0;
}

BOOST_AUTO_TEST_CASE(agrees_as_often_as_the_noise_makes_the_rows_agree) {
    const auto target = testing::markov_model({{0.5, 0.3, 0.2}, {0.5, 0.3, 0.2}, {0.5, 0.3, 0.2}});
    const auto drafter = testing::markov_model({{0.2, 0.5, 0.3}, {0.2, 0.5, 0.3}, {0.2, 0.5, 0.3}});
    double expected = 0;
    for (const auto& [p, q] : {std::pair(0.5, 0.2), std::pair(0.3, 0.5), std::pair(0.2, 0.3)}) {
        expected += 1 / (std::max(0.5 / p, 0.2 / q) + std::max(0.3 / p, 0.5 / q) + std::max(0.2 / p, 0.3 / q));
    }
    BOOST_TEST(agreement(drafter, target) == expected, boost::test_tools::tolerance(1e-6));  // the logits are floats
    const double distance = 0.3;
    BOOST_TEST(expected > (1 - distance) / (1 + distance));
    BOOST_TEST(std::abs(agreement(target, target) - 1) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_near_draft_model_agrees_at_least_as_often_as_promised) {
    const auto target = testing::hashed_model(10, 4);
    const auto drafter = near_model(10, 4, 0.3f);
    const auto scheme = speculate(drafter, target, policy::fixed_length{1}, accept::coupled{});
    std::size_t drafted = 0;
    std::size_t accepted = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        decode::options chosen;
        chosen.seed = seed;
        chosen.stop.max_tokens = 100;
        const auto decoded = decode::generate(scheme, prompt, chosen);
        drafted += decoded.counts.stages[0].drafted;
        accepted += decoded.counts.stages[0].accepted;
    }
    // Logits within 0.3 of each other: the total variation of the rows is below tanh(0.3 / 2) < 0.149.
    const double promised = (1 - 0.149) / (1 + 0.149);
    BOOST_TEST(static_cast<double>(accepted) / static_cast<double>(drafted) > promised);
}

BOOST_AUTO_TEST_CASE(other_seeds_give_other_texts) {
    const auto target = testing::hashed_model(40, 1);
    decode::options chosen;
    chosen.stop.max_tokens = 40;
    const auto first = decode::generate(plain(target), prompt, chosen).tokens;
    chosen.seed = 1;
    BOOST_TEST(first != decode::generate(plain(target), prompt, chosen).tokens);
}

BOOST_AUTO_TEST_SUITE_END()
