#include "augur/policy/entropy_bins.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/no_draft.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <sstream>

namespace augur::policy {
static_assert(SpeculationPolicy<entropy_bins> && LearnsFromOutcomes<entropy_bins>);
static_assert(SpeculationPolicy<target_entropy_bins>);
}  // namespace augur::policy

using namespace augur;

BOOST_AUTO_TEST_SUITE(policy_entropy_bins)

static_assert(SpeculationPolicy<policy::entropy_bins>);
static_assert(LearnsFromOutcomes<policy::entropy_bins>);
static_assert(required_signals<policy::entropy_bins> == signals::draft_entropy);
static_assert(required_signals<policy::target_entropy_bins> == signals::target_entropy);

observation at(double entropy_nats) {
    return {.draft_entropy_nats = 99, .first_draft_entropy_nats = entropy_nats, .target_entropy_nats = 99};
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

BOOST_AUTO_TEST_CASE(published_bins) {
    const policy::entropy_bins bins;
    BOOST_TEST(bins.plan(at(0)).length == 4u);
    BOOST_TEST(bins.plan(at(0.4999)).length == 4u);
    BOOST_TEST(bins.plan(at(0.5)).length == 3u);
    BOOST_TEST(bins.plan(at(1.4999)).length == 3u);
    BOOST_TEST(bins.plan(at(1.5)).length == 2u);
    BOOST_TEST(bins.plan(at(2.5)).length == 1u);
    BOOST_TEST(bins.plan(at(10.4)).length == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_maximum_entropy_and_length_one) {
    const policy::entropy_bins bins({1.0}, {6, 5});
    for (double entropy : {nan, infinity, -infinity}) {
        BOOST_TEST(bins.plan(at(entropy)).length == 1u);
        BOOST_TEST(bins.bin_of(entropy) == 1u);
    }
}

BOOST_AUTO_TEST_CASE(max_k_bounds_every_length) {
    const policy::entropy_bins bins({0.5, 1.5, 2.5}, {8, 6, 4, 2}, {.max_k = 5});
    BOOST_TEST(bins.plan(at(0)).length == 5u);
    BOOST_TEST(bins.plan(at(1)).length == 5u);
    BOOST_TEST(bins.plan(at(2)).length == 4u);
}

BOOST_AUTO_TEST_CASE(the_targets_entropy_can_decide_instead) {
    const policy::target_entropy_bins bins;
    BOOST_TEST(bins.plan({.first_draft_entropy_nats = 9, .target_entropy_nats = 0.1}).length == 4u);
    BOOST_TEST(bins.plan({}).length == 1u);
}

BOOST_AUTO_TEST_CASE(acceptance_is_tracked_per_bin) {
    policy::entropy_bins bins({0.5, 1.5, 2.5}, {4, 3, 2, 1}, {.acceptance_alpha = 0.1, .acceptance_init = 0.5});
    bins.learn({at(0.2), 4, 4});
    bins.learn({at(0.3), 4, 2});
    bins.learn({at(2.0), 2, 0});
    bins.learn({at(nan), 1, 1});
    bins.learn({at(0.2), 0, 0});  // nothing drafted, nothing learned
    BOOST_TEST(bins.bins()[0].rounds == 2u);
    BOOST_TEST(bins.bins()[0].drafted == 8u);
    BOOST_TEST(bins.bins()[0].accepted == 6u);
    BOOST_TEST(bins.bins()[0].rate() == 0.75);
    // 0.5 -> 0.9 * 0.5 + 0.1 * 1 = 0.55 -> 0.9 * 0.55 + 0.1 * 0.5 = 0.545
    BOOST_TEST(bins.bins()[0].average == 0.545, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(bins.bins()[1].rounds == 0u);
    BOOST_TEST(bins.bins()[1].average == 0.5);
    BOOST_TEST(bins.bins()[2].average == 0.45, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(bins.bins()[3].accepted == 1u);
}

BOOST_AUTO_TEST_CASE(bins_are_readable_after_a_run_and_agree_with_its_statistics) {
    const auto target = testing::hashed_model(12, 1, 4);
    const auto drafter = testing::hashed_model(12, 1, 3.5f);
    const auto scheme =
        speculate(drafter, target, policy::entropy_bins({1.2, 1.5, 1.8}, {4, 3, 2, 1}), accept::rejection_sampling{});
    decode::options chosen;
    chosen.stop.max_tokens = 300;
    const std::vector<token> prompt{1};
    const auto decoded = decode::generate(scheme, prompt, chosen);
    policy::bin_statistics sum;
    std::size_t used = 0;
    for (const auto& bin : decoded.policy.bins()) {
        sum.rounds += bin.rounds;
        sum.drafted += bin.drafted;
        sum.accepted += bin.accepted;
        used += bin.rounds > 0 ? 1 : 0;
    }
    BOOST_TEST(used >= 3u);
    BOOST_TEST(sum.drafted == decoded.counts.stages[0].drafted);
    BOOST_TEST(sum.accepted >= decoded.counts.stages[0].accepted);
    BOOST_TEST(sum.rounds + 1 >= decoded.counts.rounds());
    BOOST_TEST(scheme.policy().bins()[0].rounds == 0u);
}

BOOST_AUTO_TEST_CASE(the_bin_decides_how_many_tokens_are_drafted) {
    // Token 0 is followed by certainty, token 1 by a uniform row; the target alternates between them.
    const testing::function_model model(4, 4096, [](std::span<const token> before, std::span<float> row) {
        std::fill(row.begin(), row.end(), 0.0f);
        if (before.size() % 8 < 4) row[static_cast<std::size_t>(before.size() % 4)] = 40;
    });
    const auto scheme = speculate(model, model, policy::entropy_bins({0.5, 1.0}, {4, 3, 2}), accept::exact{});
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    const std::vector<token> prompt{0};
    decode::session session(scheme, prompt, chosen.sampling, chosen.stop, random::philox_chooser(0));
    for (int round = 0; round < 12; ++round) {
        const bool certain = session.committed.size() % 8 < 4;
        BOOST_TEST(decode::step(scheme, session).proposed.size() == (certain ? 4u : 2u));
    }
}

BOOST_AUTO_TEST_CASE(the_published_form_has_its_offset_inside_the_logarithm) {
    using published = policy::basic_entropy_bins<policy::entropy_of::draft, policy::entropy_form::offset>;
    const std::vector<float> row{1, 0, -1, -30};
    double total = 0;
    for (float x : row) total += std::exp(static_cast<double>(x));
    double literal = 0;
    for (float x : row) {
        const double p = std::exp(static_cast<double>(x)) / total;
        literal -= p * std::log(p + 1e-9);
    }
    BOOST_TEST(policy::entropy_nats<published>(row) == literal, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(std::isinf(policy::entropy_nats<published>(std::vector<float>{0, NAN})));
    BOOST_TEST(measure::entropy_nats(row) == literal, boost::test_tools::tolerance(1e-6));
    static_assert(reads_of<published>.measures_entropy() && !reads_of<policy::entropy_bins>.measures_entropy());
}

BOOST_AUTO_TEST_CASE(impossible_bins_are_refused_with_their_values) {
    const auto says = [](const std::string& part) {
        return [part](const error& e) { return std::string(e.what()).find(part) != std::string::npos; };
    };
    BOOST_CHECK_EXCEPTION(policy::entropy_bins({0.5, 1.5}, {4, 3}), error,
                          says("2 edges make 3 bins, but there are 2 lengths"));
    BOOST_CHECK_EXCEPTION(policy::entropy_bins({0.5}, {4, 3, 2}), error,
                          says("1 edges make 2 bins, but there are 3 lengths"));
    for (double limit : {0.0, 1.0}) {
        policy::entropy_bins({1}, {4, 3}, {.acceptance_alpha = limit, .acceptance_init = limit});
    }
    BOOST_CHECK_EXCEPTION(policy::entropy_bins({1.5, 0.5}, {4, 3, 2}), error, says("edge 0 is 1.5 and edge 1 is 0.5"));
    BOOST_CHECK_EXCEPTION(policy::entropy_bins({0.5, 0.5}, {4, 3, 2}), error, says("edge 1 is 0.5"));
    BOOST_CHECK_EXCEPTION(policy::entropy_bins({nan}, {4, 3}), error, says("edge 0 is nan"));
    BOOST_CHECK_EXCEPTION(policy::entropy_bins({1}, {4, 3}, {.acceptance_alpha = 1.5}), error,
                          says("acceptance_alpha is 1.5"));
    BOOST_CHECK_EXCEPTION(policy::entropy_bins({1}, {4, 3}, {.acceptance_init = -1}), error,
                          says("acceptance_init is -1"));
}

BOOST_AUTO_TEST_CASE(eaad_as_published_is_what_its_page_says) {
    const auto published = policy::eaad_as_published();
    const std::vector<double> edges{0.5, 1.5, 2.5};
    const std::vector<std::size_t> lengths{4, 3, 2, 1};
    BOOST_TEST(published.edges_nats() == std::span<const double>(edges), boost::test_tools::per_element());
    BOOST_TEST(published.lengths() == std::span<const std::size_t>(lengths), boost::test_tools::per_element());
    BOOST_TEST(published.max_k() == 4u);
    for (const auto& bin : published.bins()) BOOST_TEST(bin.average == 0.5);
    auto learned = published;
    learned.learn({at(0), 4, 4});
    BOOST_TEST(learned.bins()[0].average == 0.55, boost::test_tools::tolerance(1e-12));
    const std::vector<float> certain{40, 0};
    BOOST_TEST(policy::entropy_nats<std::remove_const_t<decltype(published)>>(certain) <
               0);  // -ln(1 + 1e-9), as the published formula has it
    BOOST_TEST(published.plan(at(policy::entropy_nats<std::remove_const_t<decltype(published)>>(certain))).length ==
               4u);
    static_assert(required_signals<std::remove_const_t<decltype(published)>> == signals::draft_entropy);
}

BOOST_AUTO_TEST_CASE(eaad_as_published_writes_plain_greedy_text_and_refuses_other_temperatures) {
    const auto target = testing::hashed_model(12, 1, 4);
    const auto drafter = testing::hashed_model(12, 1, 3.5f);
    const auto scheme = speculate(drafter, target, policy::eaad_as_published(), accept::exact{});
    decode::options chosen;
    chosen.stop.max_tokens = 60;
    const std::vector<token> prompt{1};
    BOOST_CHECK_THROW(decode::generate(scheme, prompt, chosen), error);
    chosen.sampling.temperature.value = 0;
    const auto decoded = decode::generate(scheme, prompt, chosen);
    const auto plain = speculate(draft::no_draft{}, target, policy::fixed_length{0}, accept::exact{});
    BOOST_TEST(decoded.tokens == decode::generate(plain, prompt, chosen).tokens, boost::test_tools::per_element());
    BOOST_TEST(decoded.counts.stages[0].drafted > 0u);
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    std::ostringstream out;
    out << policy::entropy_bins{} << ' ' << policy::eaad_as_published();
    BOOST_TEST(out.str() ==
               "entropy_bins{.edges_nats={0.5, 1.5, 2.5}, .lengths={4, 3, 2, 1}} "
               "entropy_bins{.edges_nats={0.5, 1.5, 2.5}, .lengths={4, 3, 2, 1}, .max_k=4, .form=offset}");
}

BOOST_AUTO_TEST_SUITE_END()
