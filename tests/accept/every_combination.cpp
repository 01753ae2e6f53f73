// Every criterion under every combination of transforms, vocabularies of 2 to 6 tokens, drafts of 0 to 4, texts of 2 to
// 4.

#include <array>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/testing/explain.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/random_inputs.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "sanitized.hpp"

using namespace augur;
using testing::function_model;

BOOST_AUTO_TEST_SUITE(accept_every_combination)

constexpr double exactly = 1e-12;
const std::vector<token> prompt{0, 1, 0};

/// How many tokens there are, may be drafted, and make the text.
struct sizes {
    std::size_t vocabulary;
    std::size_t length;
    std::size_t output;
};
constexpr std::size_t triples = 5 * 5 * 3;

sizes sizes_of(std::size_t triple) {
    return {2 + triple % 5, triple / 5 % 5, 2 + triple / 25};
}

// Seven transforms that are on or off, and temperature, which is 1, 0.7 or 1.3.
constexpr std::size_t switches = 7;
constexpr std::size_t combinations = 3 << switches;

bool is_on(std::size_t combination, std::size_t transform) {
    return (combination >> transform & 1) != 0;
}

transform::settings settings_of(std::size_t combination, std::size_t vocabulary) {
    transform::settings chosen;
    chosen.temperature.value = std::array{1.0f, 0.7f, 1.3f}[combination >> switches];
    if (is_on(combination, 0)) chosen.top_k.k = (vocabulary + 1) / 2;
    if (is_on(combination, 1)) chosen.top_p.p = 0.8f;
    if (is_on(combination, 2)) chosen.min_p.p = 0.15f;
    if (is_on(combination, 3)) chosen.penalties.repetition = 1.3f;
    if (is_on(combination, 4)) chosen.penalties.presence = 0.4f;
    if (is_on(combination, 5)) chosen.penalties.frequency = 0.3f;
    if (is_on(combination, 6)) {
        chosen.bias.added = {{0, 0.9f}, {static_cast<token>(vocabulary) - 1, vocabulary > 3 ? -INFINITY : -0.7f}};
    }
    return chosen;
}

decode::options options_of(std::size_t combination, const sizes& of) {
    decode::options chosen;
    chosen.sampling = settings_of(combination, of.vocabulary);
    chosen.stop.max_tokens = of.output;
    return chosen;
}

/// All 384 combinations with all 75 triples would take hours. So every combination meets three triples, 31 apart, which
/// differ in vocabulary, length and output, and the triples move on with the combination: every triple meets 15 or more
/// combinations. The largest, of up to a million paths, meet them with top-k on. The first test below says what that
/// covers. Sanitized, each thirteenth combination, which 61 triples meet.
constexpr std::size_t met = 3, few = 13;

bool is_large(const sizes& of) {
    return of.vocabulary >= 5 && of.output == 4 && of.length >= 1;
}

template <class Visit>
void each_meeting(std::size_t apart, const Visit& visit) {
    for (std::size_t combination = 0; combination < combinations; combination += apart) {
        for (std::size_t turn = 0; turn < met; ++turn) {
            const std::size_t triple = (combination + 31 * turn) % triples;
            visit(is_large(sizes_of(triple)) ? combination | 1 : combination, triple);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_size_meets_every_transform_on_and_off) {
    std::map<std::size_t, std::set<std::size_t>> of_triple;
    each_meeting(1, [&](std::size_t combination, std::size_t triple) { of_triple[triple].insert(combination); });
    BOOST_TEST(of_triple.size() == triples);
    for (const auto& [triple, with] : of_triple) {
        const bool large = is_large(sizes_of(triple));
        BOOST_TEST(with.size() >= (large ? 7u : 15u));
        std::set<std::size_t> temperatures;
        std::size_t on = 0, off = large ? 1 : 0;
        for (std::size_t combination : with) {
            temperatures.insert(combination >> switches);
            on |= combination;
            off |= ~combination;
        }
        BOOST_TEST(temperatures.size() == 3u);
        BOOST_TEST((on & off & ((1u << switches) - 1)) == (1u << switches) - 1);
    }
    std::set<std::size_t> of_few;
    each_meeting(few, [&](std::size_t, std::size_t triple) { of_few.insert(triple); });
    BOOST_TEST(of_few.size() == 61U);
}

template <class Scheme>
void check_law(const Scheme& scheme, const testing::text_distribution& expected, const decode::options& chosen) {
    const auto got = testing::text_distribution_of(scheme, prompt, chosen);
    BOOST_TEST(std::abs(got.total() - 1) < exactly);
    const auto found = testing::explain(expected, got, exactly);
    BOOST_TEST(found.equal, found);
}

/// What is drafted by `drafter`, under the criteria that draw by independent randomness.
template <class Drafter, class Policy>
void check_token_selector(const Drafter& drafter, const function_model& target, const Policy& policy,
                          const testing::text_distribution& expected, const decode::options& chosen) {
    check_law(speculate(drafter, target, policy, accept::rejection_sampling{}), expected, chosen);
    check_law(speculate(drafter, target, policy, accept::block{}), expected, chosen);
}

std::string described(std::size_t combination, const sizes& of) {
    return detail::message(of.vocabulary, " tokens, drafting ", of.length, " of ", of.output, ", ",
                           testing::describe_settings(settings_of(combination, of.vocabulary)));
}

BOOST_AUTO_TEST_CASE(every_combination_of_transforms_keeps_the_law) {
    each_meeting(testing::unless_sanitized<std::size_t>(1, 4 * few), [&](std::size_t combination, std::size_t triple) {
        const sizes of = sizes_of(triple);
        const auto chosen = options_of(combination, of);
        const auto target = testing::hashed_model(of.vocabulary, combination + 1);
        const auto drafting = testing::hashed_model(of.vocabulary, combination + 1001);
        const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
        const policy::fixed_length guess{of.length};
        BOOST_TEST_CONTEXT(described(combination, of)) {
            check_token_selector(drafting, target, guess, expected, chosen);
            check_token_selector(draft::prompt_lookup(1, 2), target, guess, expected, chosen);
            check_law(speculate(drafting, target, guess, accept::coupled{}), expected, chosen);
        }
    });
}

// No length rule may depend on a value that it then discards; these depend on rows, on outcomes and on matches.
BOOST_AUTO_TEST_CASE(every_length_policy_keeps_the_law) {
    std::size_t drafted = 0;
    for (std::size_t triple = 0; triple < triples; triple += testing::unless_sanitized<std::size_t>(1, 4)) {
        const sizes of = sizes_of(triple);
        const std::size_t combination = 5 * triple | (is_large(of) ? 1 : 0);
        const auto chosen = options_of(combination, of);
        const auto target = testing::hashed_model(of.vocabulary, triple + 1);
        const auto drafting = testing::hashed_model(of.vocabulary, triple + 1001);
        const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
        const policy::entropy_bins_options most{.max_k = of.length};
        const policy::entropy_bins bins({0.6, 0.9, 1.2}, {1, 4, 2, 3}, most);
        const policy::target_entropy_bins target_bins({0.6, 0.9, 1.2}, {4, 1, 3, 2}, most);
        const draft::prompt_lookup lookup(1, 2);
        BOOST_TEST_CONTEXT(described(combination, of)) {
            check_token_selector(drafting, target, bins, expected, chosen);
            check_token_selector(drafting, target, target_bins, expected, chosen);
            check_token_selector(lookup, target, target_bins, expected, chosen);
            check_token_selector(lookup, target, policy::cost_aware({.max_length = of.length + 1}), expected, chosen);
            check_law(speculate(drafting, target, bins, accept::coupled{}), expected, chosen);
        }
        const auto scheme = speculate(lookup, target, policy::cost_aware{}, accept::block{});
        drafted += decode::generate(scheme, prompt, testing::without_clock(chosen)).counts.stages[0].drafted;
    }
    BOOST_TEST(drafted > 0u);
}

/// Rows of two values, so that most have ties for the largest.
function_model tied_model(std::size_t vocabulary, std::uint64_t seed) {
    const auto rough = testing::hashed_model(vocabulary, seed);
    return {vocabulary, 64, [rough](std::span<const token> before, std::span<float> row) {
                rough.fill_row(before, row);
                for (float& logit : row) logit = logit < 0 ? 0.0f : 1.0f;
            }};
}

/// At temperature 0: one text, plain greedy decoding's, down every branch there is.
template <class Scheme>
void check_greedy(const Scheme& scheme, const std::vector<token>& greedy, const decode::options& chosen) {
    const auto law = testing::text_distribution_of(scheme, prompt, chosen);
    BOOST_TEST(law.paths == 1u);
    BOOST_TEST(law.probability.begin()->first == greedy, boost::test_tools::per_element());
}

template <class Criterion>
void check_ties(const Criterion& criterion, std::size_t combination, const sizes& of) {
    auto chosen = options_of(combination, of);
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 12;
    const auto target = tied_model(of.vocabulary, combination + 1);
    const auto greedy = decode::generate(plain(target), prompt, chosen).tokens;
    const policy::fixed_length guess{of.length};
    BOOST_TEST_CONTEXT(described(combination, of)) {
        check_greedy(speculate(tied_model(of.vocabulary, combination + 1001), target, guess, criterion), greedy,
                     chosen);
        check_greedy(speculate(target, target, guess, criterion), greedy, chosen);
        check_greedy(speculate(draft::prompt_lookup(1, 2), target, guess, criterion), greedy, chosen);
    }
}

BOOST_AUTO_TEST_CASE(ties_at_temperature_zero_are_plain_greedy_decodings) {
    each_meeting(testing::unless_sanitized<std::size_t>(1, 4 * few), [&](std::size_t combination, std::size_t triple) {
        check_ties(accept::exact{}, combination, sizes_of(triple));
        check_ties(accept::coupled{}, combination, sizes_of(triple));
        check_ties(accept::rejection_sampling{}, combination, sizes_of(triple));
        check_ties(accept::block{}, combination, sizes_of(triple));
    });
}

BOOST_AUTO_TEST_SUITE_END()
