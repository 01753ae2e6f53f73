#include "augur/testing/production.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

#include "sanitized.hpp"
#include "testing/wrong_criteria.hpp"
#include "up_to.hpp"

using namespace augur;
using testing::broken_counts;
using testing::text_counts;
using testing::up_to;

BOOST_AUTO_TEST_SUITE(testing_production)

// The bound holds for any number of seeds; the optimized build takes many.
#if defined(AUGUR_SANITIZED)
constexpr std::size_t seeds = 1'000;
#elif !defined(__OPTIMIZE__)
constexpr std::size_t seeds = 10'000;
#else
constexpr std::size_t seeds = 400'000;
#endif

/// Fast: rows of three logits that depend on the last token.
testing::function_model table(std::vector<std::vector<float>> logits) {
    return {3, 64, [logits](std::span<const token> before, std::span<float> row) {
                const auto& from = logits[static_cast<std::size_t>(before.back())];
                std::copy(from.begin(), from.end(), row.begin());
            }};
}
const auto target = table({{0, 1, 0.5f}, {1, 0, -1}, {0.5f, 0.25f, 2}});
const auto drafter = table({{1, 0, 0.5f}, {0.5f, 0.75f, 0}, {0, 1, 1}});
const auto smaller = table({{0, 0, 1}, {1, 0, 1}, {0, 2, 0}});
const std::vector<token> prompt{0, 1, 2, 1, 0, 1};
const policy::fixed_length two{2};

template <class Scheme>
void agrees(const Scheme& scheme, const decode::options& chosen = up_to(2)) {
    BOOST_TEST(testing::broken_in_production(scheme, prompt, chosen, seeds) == "");
}

BOOST_AUTO_TEST_CASE(criteria_on_a_draft_model) {
    agrees(speculate(drafter, target, two, accept::rejection_sampling{}));
    agrees(speculate(drafter, target, two, accept::block{}));
    agrees(speculate(drafter, target, two, accept::coupled{}));
    agrees(speculate(drafter, target, two, accept::fuzzy<measure::total_variation>{0.3}));
    agrees(speculate(drafter, target, two, accept::rejection_then_fuzzy<measure::kl>{0.1}));
    agrees(speculate(drafter, target, two, accept::exact{}), up_to(2, 0));
}

BOOST_AUTO_TEST_CASE(plain_decoding) {
    agrees(plain(target));
    agrees(testing::plain_sampling(target));
}

BOOST_AUTO_TEST_CASE(drafts_that_are_point_masses) {
    using argmax = draft::draft_model<const testing::function_model&, draft::argmax>;
    agrees(speculate(argmax(drafter), target, two, accept::rejection_sampling{}));
    agrees(speculate(draft::prompt_lookup{}, target, two, accept::rejection_sampling{}));
    agrees(speculate(draft::prompt_lookup{}, target, two, accept::coupled{}));
    const auto counted = draft::ngram_table::count(std::vector<std::vector<token>>{prompt}, {1, 2, 3});
    agrees(speculate(draft::ngram_store(counted), target, two, accept::block{}));
}

BOOST_AUTO_TEST_CASE(several_drafters_in_turn) {
    using sampling = draft::draft_model<const testing::function_model&, draft::sampled>;
    agrees(speculate(draft::fallback(draft::prompt_lookup(2), sampling(drafter)), target, two,
                     accept::rejection_sampling{}));
}

BOOST_AUTO_TEST_CASE(a_layer_on_the_targets_states) {
    const testing::hidden_state_mock shown(target);
    const testing::fused_mock layer(drafter, 3);
    agrees(speculate(layer, shown, two, accept::rejection_sampling{}));
}

/// Rows that depend on the head and the last token.
struct two_heads {
    struct workspace_type {
        std::vector<float> row;
    };
    std::size_t vocabulary_size() const { return 3; }
    std::size_t hidden_size() const { return 3; }
    std::size_t head_count() const { return 2; }
    workspace_type make_workspace() const { return {}; }
    logit_row row(workspace_type& workspace, std::span<const float>, std::span<const token> tokens,
                  std::size_t head) const {
        workspace.row.resize(3);
        (head == 0 ? drafter : smaller).fill_row(tokens, workspace.row);
        return workspace.row;
    }
};

BOOST_AUTO_TEST_CASE(heads_on_the_targets_states) {
    const testing::hidden_state_mock shown(target);
    agrees(speculate(two_heads{}, shown, two, accept::rejection_sampling{}));
}

BOOST_AUTO_TEST_CASE(cascades) {
    using scheme::model_link;
    const model_link exact{policy::fixed_length{1}, accept::rejection_sampling{}};
    const model_link near{two, accept::fuzzy<measure::total_variation>{0.3}};
    agrees(cascaded(smaller, near, drafter, model_link{two, accept::rejection_sampling{}}, target));
    agrees(cascaded(smaller, exact, drafter, near, target));
    agrees(cascaded(smaller, model_link{two, accept::coupled{}}, drafter, exact, target));
    agrees(cascaded(smaller, model_link{two, accept::block{}}, drafter, exact, target));
    agrees(speculate(speculate(smaller, drafter, two, accept::rejection_sampling{}), target, two, accept::coupled{}));
}

/// The law of two_coins if its coins were two, which enumeration would take them for under two names.
struct renamed {
    testing::enumerating_chooser inner;
    std::shared_ptr<std::size_t> questions = std::make_shared<std::size_t>(0);
    std::size_t choose(const Weights auto& weights, draw_key key) { return inner.choose(weights, another(key)); }
    bool flip(double probability, draw_key key) { return inner.flip(probability, another(key)); }
    std::size_t exponential_race(const Weights auto& weights, std::size_t position) {
        return inner.exponential_race(weights, position);
    }
    draw_key another(draw_key key) const { return {key.position, key.why, 1000 * key.round + (*questions)++}; }
};

BOOST_AUTO_TEST_CASE(a_name_asked_for_twice_is_found_here_too) {
    const auto scheme = speculate(drafter, target, two, wrong::two_coins{});
    BOOST_CHECK_THROW(text_distribution_of(scheme, prompt, up_to(2)), error);
    const auto decode = [&](auto chooser) {
        return decode::generate_with<any_guarantee>(chooser, scheme, prompt, up_to(2)).tokens;
    };
    const auto believed = testing::enumerate([&](const auto& chooser) { return decode(renamed{chooser}); });
    const auto plain = text_distribution_of(testing::plain_sampling(target), prompt, up_to(2));
    BOOST_TEST(testing::total_variation(believed, plain) < 1e-12);  // what made it look exact
    const auto got = testing::count_texts(decode, 10'000);
    BOOST_TEST(broken_counts(believed, got) != "");
    BOOST_TEST(
        broken_counts(
            believed,
            testing::count_texts(
                [&](auto chooser) {
                    return decode::generate_with(chooser, testing::plain_sampling(target), prompt, up_to(2)).tokens;
                },
                10'000)) == "");
}

BOOST_AUTO_TEST_CASE(counts_beyond_the_bound_are_named_and_others_pass) {
    const testing::text_distribution coin{.probability = {{{0}, 0.5}, {{1}, 0.5}}, .paths = 2};
    BOOST_TEST(broken_counts(coin, {.of = {{{0}, 500}, {{1}, 500}}, .all = 1000}) == "");
    BOOST_TEST(broken_counts(coin, {.of = {{{0}, 600}, {{1}, 400}}, .all = 1000}) == "");  // 20.1 of 22.1 nats
    BOOST_TEST(broken_counts(coin, {.of = {{{0}, 610}, {{1}, 390}}, .all = 1000}) ==
               "{0} came 610 times of 1000, which is 0.61, but its probability is 0.5");
    BOOST_TEST(broken_counts(coin, {.of = {{{0}, 600}, {{1}, 400}}, .all = 1000}, 1e-6) != "");
    BOOST_TEST(broken_counts(coin, {.of = {{{0}, 500}, {{1}, 499}, {{2}, 1}}, .all = 1000}) ==
               "{2} came 1 times of 1000, and is impossible");
    BOOST_TEST(broken_counts(coin, {.of = {{{0}, 1000}}, .all = 1000}) != "");
}

BOOST_AUTO_TEST_CASE(a_certain_text_is_always_there_and_an_impossible_one_never) {
    BOOST_TEST(testing::surprise(7, 7, 1) == 0.0);
    BOOST_TEST(testing::surprise(0, 7, 0) == 0.0);
    BOOST_TEST(testing::surprise(6, 7, 1) == std::numeric_limits<double>::infinity());
    BOOST_TEST(testing::surprise(1, 7, 0) == std::numeric_limits<double>::infinity());
    BOOST_TEST(testing::surprise(5, 10, 0.5) == 0.0);
    BOOST_TEST(testing::surprise(10, 10, 0.5) == 10 * std::log(2), boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_SUITE_END()
