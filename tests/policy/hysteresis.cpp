#include "augur/policy/hysteresis.hpp"

#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/policy_laws.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

namespace augur::policy {
static_assert(SpeculationPolicy<hysteresis<switched_by::draft_entropy>> &&
              LearnsFromOutcomes<hysteresis<switched_by::draft_entropy>>);
}  // namespace augur::policy

using namespace augur;
using policy::band;
using policy::switched_by;

BOOST_AUTO_TEST_SUITE(policy_hysteresis)

using by_entropy = policy::hysteresis<switched_by::draft_entropy>;
using by_target = policy::hysteresis<switched_by::target_entropy>;
using by_path = policy::hysteresis<switched_by::path_value>;
using by_acceptance = policy::hysteresis<switched_by::acceptance>;

static_assert(required_signals<by_entropy> == signals::draft_entropy);
static_assert(required_signals<by_target> == signals::target_entropy);
static_assert(required_signals<by_path> == signals::draft_confidence);
static_assert(required_signals<by_acceptance> == signals::none);
static_assert(LearnsFromOutcomes<by_path> && std::is_trivially_copyable_v<by_path>);

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

observation of_entropy(double nats) {
    return {.draft_entropy_nats = 99, .first_draft_entropy_nats = nats, .target_entropy_nats = 99};
}

/// The path value of the row after so many drafted tokens.
observation of_path(double value, std::size_t drafted = 0) {
    return {.drafted = drafted, .draft_confidence = 0.01, .path_value = value};
}

/// The length of a round on this signal, which is then over.
template <class Policy>
std::size_t round_on(Policy& policy, const observation& seen, std::size_t accepted = 0) {
    const std::size_t length = policy.plan(seen).length;
    policy.learn({seen, length, std::min(accepted, length)});
    return length;
}

BOOST_AUTO_TEST_CASE(a_band_is_on_at_its_upper_threshold_and_off_below_its_lower_one) {
    constexpr band wide{.on = 0.6, .off = 0.4};
    for (const bool before : {false, true}) {
        BOOST_TEST(wide.next(before, 0.6));
        BOOST_TEST(wide.next(before, infinity));
        BOOST_TEST(wide.next(before, std::nextafter(0.6, 0)) == before);
        BOOST_TEST(wide.next(before, 0.4) == before);
        BOOST_TEST(!wide.next(before, std::nextafter(0.4, 0)));
        BOOST_TEST(!wide.next(before, -infinity));
        BOOST_TEST(wide.next(before, nan) == before);
    }
    static_assert(wide.ordered() && !band{.on = 0.4, .off = 0.6}.ordered());
    static_assert(wide.mirrored() == band{.on = -0.6, .off = -0.4} && wide.mirrored().mirrored() == wide);
}

BOOST_AUTO_TEST_CASE(one_threshold_leaves_nothing_between) {
    constexpr band one{.on = 0.5};
    static_assert(one.off == 0.5 && one.ordered() && one.mirrored().ordered());
    for (const bool before : {false, true}) {
        BOOST_TEST(one.next(before, 0.5));
        BOOST_TEST(!one.next(before, std::nextafter(0.5, 0)));
        BOOST_TEST(one.mirrored().next(before, -0.5));
        BOOST_TEST(!one.mirrored().next(before, -std::nextafter(0.5, 1)));
    }
}

BOOST_AUTO_TEST_CASE(entropy_is_long_at_and_below_on_and_short_above_off) {
    by_entropy policy({.on = 0.5, .off = 1.5}, {.long_length = 6, .short_length = 2});
    const std::vector<std::pair<double, std::size_t>> expected = {{1.0, 2}, {std::nextafter(0.5, 1), 2},
                                                                  {0.5, 6}, {1.0, 6},
                                                                  {1.5, 6}, {std::nextafter(1.5, 2), 2},
                                                                  {1.5, 2}, {0.6, 2},
                                                                  {0, 6},   {1.4, 6},
                                                                  {nan, 6}, {infinity, 2},
                                                                  {nan, 2}, {1, 2}};
    for (const auto& [nats, length] : expected) BOOST_TEST(round_on(policy, of_entropy(nats)) == length);
    BOOST_TEST(policy.counts() ==
               (policy::hysteresis_counts{.long_rounds = 6, .short_rounds = 8, .to_long = 2, .to_short = 2}));
}

BOOST_AUTO_TEST_CASE(the_targets_entropy_is_its_own_signal) {
    by_target policy({.on = 0.5, .off = 1.5}, {.starts_long = true});
    const auto seen = [](double nats) {
        return observation{.first_draft_entropy_nats = 0, .target_entropy_nats = nats};
    };
    BOOST_TEST(round_on(policy, {}) == 4u);  // not known yet
    BOOST_TEST(round_on(policy, seen(1.6)) == 1u);
    BOOST_TEST(round_on(policy, seen(0.6)) == 1u);
    BOOST_TEST(round_on(policy, seen(0.5)) == 4u);
}

/// Any sequence inside the band: its edges too, but where they are another side's.
template <class Policy>
void check_inside(const Policy& begun, double low, double high, auto observed) {
    std::mt19937 random(7);
    std::uniform_real_distribution<double> inside(low, high);
    for (int sequence = 0; sequence < 50; ++sequence) {
        Policy policy = begun;
        for (int round = 0; round < 40; ++round) {
            const double signal = round % 10 == 3 ? low : round % 10 == 7 ? high : inside(random);
            BOOST_REQUIRE(round_on(policy, observed(signal)) == begun.plan(observed(nan)).length);
        }
        BOOST_REQUIRE(policy.counts().to_long + policy.counts().to_short == 0u);
        BOOST_REQUIRE(policy.counts().long_rounds + policy.counts().short_rounds == 40u);
    }
}

BOOST_AUTO_TEST_CASE(it_never_switches_inside_the_band) {
    const auto target = [](double nats) { return observation{.target_entropy_nats = nats}; };
    const auto path = [](double value) { return of_path(value); };
    for (const bool starts_long : {false, true}) {
        const policy::hysteresis_options chosen{.starts_long = starts_long};
        const double low = std::nextafter(0.4, 1), high = std::nextafter(0.6, 0);
        check_inside(by_entropy({.on = 0.4, .off = 0.6}, chosen), low, 0.6, of_entropy);
        check_inside(by_target({.on = 0.4, .off = 0.6}, chosen), low, 0.6, target);
        check_inside(by_path({.on = 0.6, .off = 0.4}, chosen), 0.4, high, path);
    }
}

BOOST_AUTO_TEST_CASE(a_signal_that_moves_across_the_band_switches_once_each_time) {
    by_path policy({.on = 0.6, .off = 0.4});
    by_path single({.on = 0.5});
    for (int time = 0; time < 10; ++time) {
        for (const double value : {0.3, 0.45, 0.55, 0.45, 0.55, 0.7, 0.55, 0.45, 0.55, 0.45}) {
            round_on(policy, of_path(value));
            round_on(single, of_path(value));
        }
    }
    BOOST_TEST(policy.counts().to_long == 10u);
    BOOST_TEST(policy.counts().to_short == 9u);
    BOOST_TEST(single.counts().to_long == 30u);
    BOOST_TEST(single.counts().to_short == 30u);
}

BOOST_AUTO_TEST_CASE(what_was_switched_to_stays_for_the_dwell) {
    by_path policy({.on = 0.5}, {.dwell = 3});
    std::string lengths;
    for (int round = 0; round < 8; ++round) {
        lengths += std::to_string(round_on(policy, of_path(round % 2 == 0 ? 0.9 : 0.1)));
    }
    BOOST_TEST(lengths == "44411144");  // the first switch waits for nothing
    by_path free({.on = 0.5}, {.dwell = 1});
    lengths.clear();
    for (int round = 0; round < 4; ++round) lengths += std::to_string(round_on(free, of_path(round % 2 ? 0.1 : 0.9)));
    BOOST_TEST(lengths == "4141");
}

BOOST_AUTO_TEST_CASE(the_path_value_is_that_of_the_short_lengths_rows) {
    const by_path policy({.on = 0.6, .off = 0.4}, {.long_length = 5, .short_length = 2});
    BOOST_TEST(policy.plan(of_path(0.9, 0)).length > 0u);
    BOOST_TEST(policy.plan(of_path(0.9, 1)).length == 5u);
    BOOST_TEST(policy.plan(of_path(0.3, 1)).length == 2u);
    BOOST_TEST(policy.plan(of_path(0.1, 2)).length == 5u);  // it was decided
    by_path learned = policy;
    learned.learn({of_path(0.1, 4), 5, 2});
    BOOST_TEST(learned.is_long());
    learned.learn({of_path(0.5, 1), 2, 2});
    BOOST_TEST(learned.is_long());
    learned.learn({of_path(0.1, 0), 1, 1});  // no room for the row that decides
    BOOST_TEST(learned.is_long());
    learned.learn({of_path(0.3, 1), 2, 2});
    BOOST_TEST(!learned.is_long());
    const by_path none({.on = 0.6, .off = 0.4}, {.long_length = 1, .short_length = 0});
    BOOST_TEST(none.plan(of_path(0.6)).length == 1u);
    BOOST_TEST(none.plan(of_path(0.5)).length == 0u);
}

BOOST_AUTO_TEST_CASE(acceptance_is_averaged_by_judged_token_whatever_the_lengths) {
    const policy::hysteresis_options chosen{.acceptance_alpha = 0.2, .acceptance_init = 0.5};
    by_acceptance together({.on = 1}, chosen), apart({.on = 1}, chosen);
    together.learn({{}, 4, 2});  // two were accepted, the third was not, the fourth not judged
    apart.learn({{}, 1, 1});
    apart.learn({{}, 1, 1});
    apart.learn({{}, 1, 0});
    apart.learn({{}, 0, 0});
    // 0.5 -> 0.6 -> 0.68 -> 0.544
    BOOST_TEST(together.acceptance() == 0.544, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(apart.acceptance() == together.acceptance());
}

BOOST_AUTO_TEST_CASE(acceptance_switches_between_rounds) {
    by_acceptance policy({.on = 0.7, .off = 0.4}, {.acceptance_alpha = 0.25});
    BOOST_TEST(round_on(policy, {}, 9) == 1u);  // 0.5, then 0.625
    BOOST_TEST(round_on(policy, {}, 9) == 1u);  // then 0.719
    BOOST_TEST(round_on(policy, {}, 0) == 4u);  // then 0.539
    BOOST_TEST(round_on(policy, {}, 0) == 4u);  // then 0.404
    BOOST_TEST(round_on(policy, {}, 0) == 4u);  // then 0.303
    BOOST_TEST(round_on(policy, {}, 1) == 1u);
    BOOST_TEST(policy.counts().to_long == 1u);
    BOOST_TEST(policy.counts().to_short == 1u);
}

/// Token by token certain where `sure` says so of the length of the text before, else even.
auto model_that_is(auto sure) {
    return testing::function_model(4, 4096, [sure](std::span<const token> before, std::span<float> row) {
        std::fill(row.begin(), row.end(), 0.0f);
        if (sure(before.size())) row[before.size() % 4] = 40;
    });
}

BOOST_AUTO_TEST_CASE(the_signals_of_a_decoding_switch_it) {
    const auto model = model_that_is([](std::size_t length) { return length % 64 < 32; });
    const auto lengths_by = [&](const auto& policy) {
        const auto scheme = speculate(model, model, policy, accept::exact{});
        decode::options chosen;
        chosen.sampling.temperature.value = 0;
        chosen.stop.max_tokens = 256;
        const std::vector<token> prompt{0};
        const auto decoded = decode::generate(scheme, prompt, chosen);
        const policy::hysteresis_counts counts = decoded.policy.counts();
        BOOST_TEST(counts.long_rounds + counts.short_rounds == decoded.counts.rounds());
        BOOST_TEST(scheme.policy().counts() == policy::hysteresis_counts{});
        return counts;
    };
    for (const std::size_t short_length : {0u, 2u}) {
        const policy::hysteresis_options chosen{.long_length = 5, .short_length = short_length};
        for (const auto& counts : {lengths_by(by_entropy({.on = 0.3, .off = 0.9}, chosen)),
                                   lengths_by(by_target({.on = 0.3, .off = 0.9}, chosen)),
                                   lengths_by(by_path({.on = 0.9, .off = 0.3}, chosen))}) {
            BOOST_TEST(counts.to_long == 4u);
            BOOST_TEST((counts.to_short == 3u || counts.to_short == 4u));
            BOOST_TEST(counts.long_rounds >= 4 * 4u);
            BOOST_TEST(counts.short_rounds >= 3 * 8u);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_length_is_that_of_the_rounds_first_row) {
    const auto model = model_that_is([](std::size_t length) { return length % 16 < 8; });
    const auto scheme = speculate(model, model, by_entropy({.on = 0.3, .off = 0.9}), accept::exact{});
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    const std::vector<token> prompt{0};
    decode::session session(scheme, prompt, chosen.sampling, chosen.stop, random::philox_chooser(0));
    for (int round = 0; round < 30; ++round) {
        const bool certain = session.committed.size() % 16 < 8;
        BOOST_TEST(decode::step(scheme, session).proposed.size() == (certain ? 4u : 1u));
    }
}

template <class Policy>
void check_law(const Policy& policy) {
    const auto target = testing::hashed_model(3, 7), drafter = testing::hashed_model(3, 8);
    const std::vector<token> prompt{0, 1, 0};
    decode::options chosen;
    chosen.stop.max_tokens = 4;
    const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
    const auto scheme = speculate(drafter, target, policy, accept::rejection_sampling{});
    BOOST_TEST(testing::total_variation(expected, testing::text_distribution_of(scheme, prompt, chosen)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(keeps_the_law_whatever_switches) {
    for (const std::size_t dwell : {1u, 2u}) {
        const policy::hysteresis_options none{.long_length = 2, .short_length = 0, .dwell = dwell};
        const policy::hysteresis_options some{.long_length = 3, .short_length = 1, .dwell = dwell};
        for (const auto& chosen : {none, some}) {
            check_law(by_entropy({.on = 0.85, .off = 1}, chosen));
            check_law(by_target({.on = 0.85, .off = 1}, chosen));
            check_law(by_path({.on = 0.5, .off = 0.45}, chosen));
        }
        check_law(by_acceptance({.on = 0.5, .off = 0.4}, some));
    }
}

template <class Policy>
void check_laws(const Policy& policy) {
    const auto r = testing::policy_laws(policy);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.notes.empty(), r);
}

BOOST_AUTO_TEST_CASE(the_laws_of_policies_are_kept) {
    check_laws(by_entropy({.on = 0.5, .off = 1.5}));
    check_laws(by_target({.on = 0.5, .off = 1}, {.long_length = 2, .short_length = 0, .dwell = 2}));
    check_laws(by_path({.on = 0.6, .off = 0.4}, {.long_length = 3, .short_length = 2}));
    check_laws(by_path({.on = 0.6}, {.long_length = 1, .short_length = 0}));
    check_laws(by_acceptance({.on = 0.6, .off = 0.4}));
}

auto says(const std::string& part) {
    return [part](const error& e) {
        BOOST_TEST_MESSAGE(e.what());
        return std::string(e.what()).find(part) != std::string::npos;
    };
}

BOOST_AUTO_TEST_CASE(impossible_thresholds_are_refused_with_their_values) {
    BOOST_CHECK_EXCEPTION(
        by_path({.on = 0.4, .off = 0.6}), error,
        says("path_value switches the long length on at 0.4 and off at 0.6; off must not be above on"));
    BOOST_CHECK_EXCEPTION(by_acceptance({.on = 0.4, .off = 0.6}), error, says("off at 0.6"));
    BOOST_CHECK_EXCEPTION(
        by_entropy({.on = 1.5, .off = 0.5}), error,
        says("draft_entropy switches the long length on at 1.5 and off at 0.5; off must not be below on"));
    BOOST_CHECK_EXCEPTION(by_target({.on = 1.5, .off = 0.5}), error, says("target_entropy"));
    for (const double bad : {nan, infinity, -infinity, -0.1}) {
        BOOST_CHECK_EXCEPTION(by_entropy({.on = bad, .off = 1}), error, says("it must be 0 or more, and finite"));
        BOOST_CHECK_EXCEPTION(by_entropy({.on = 0, .off = bad}), error, says("it must be 0 or more, and finite"));
        BOOST_CHECK_EXCEPTION(by_path({.on = bad, .off = 0}), error, says("it must be in [0, 1]"));
    }
    BOOST_CHECK_EXCEPTION(by_path({.on = 1.5, .off = 0.5}), error,
                          says("a threshold of path_value is 1.5; it must be in [0, 1]"));
    by_path({.on = 1, .off = 0});
    by_entropy({.on = 0, .off = 1e300});
}

BOOST_AUTO_TEST_CASE(impossible_options_are_refused_with_their_values) {
    BOOST_CHECK_EXCEPTION(by_path({.on = 0.5}, {.long_length = 2, .short_length = 2}), error,
                          says("the long length is 2 and the short one 2"));
    BOOST_CHECK_EXCEPTION(by_path({.on = 0.5}, {.long_length = 1, .short_length = 3}), error, says("the short one 3"));
    BOOST_CHECK_EXCEPTION(by_path({.on = 0.5}, {.dwell = 0}), error, says("the dwell is 0 rounds"));
    BOOST_CHECK_EXCEPTION(by_acceptance({.on = 0.5}, {.short_length = 0}), error, says("the short length is 0"));
    for (const double alpha : {0.0, -1.0, 1.5, nan}) {
        BOOST_CHECK_EXCEPTION(by_acceptance({.on = 0.5}, {.acceptance_alpha = alpha}), error, says("acceptance_alpha"));
    }
    for (const double init : {-0.1, 1.1, nan}) {
        BOOST_CHECK_EXCEPTION(by_acceptance({.on = 0.5}, {.acceptance_init = init}), error, says("acceptance_init"));
    }
    by_acceptance({.on = 0.5}, {.acceptance_alpha = 1, .acceptance_init = 0});
    by_acceptance({.on = 0.5}, {.acceptance_init = 1});
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    std::ostringstream out;
    out << by_entropy({.on = 0.5, .off = 1.5}, {.dwell = 2}) << ' ' << by_acceptance({.on = 0.5}) << ' '
        << band{.on = 1, .off = 0.5} << ' ' << policy::hysteresis_counts{1, 2, 3, 4};
    BOOST_TEST(out.str() ==
               "hysteresis{.by=draft_entropy, .on=0.5, .off=1.5, .long_length=4, .short_length=1, .dwell=2} "
               "hysteresis{.by=acceptance, .on=0.5, .off=0.5, .long_length=4, .short_length=1, .dwell=1, "
               ".acceptance_alpha=0.1, .acceptance_init=0.5} {.on=1, .off=0.5} "
               "{.long_rounds=1, .short_rounds=2, .to_long=3, .to_short=4}");
}

BOOST_AUTO_TEST_SUITE_END()
