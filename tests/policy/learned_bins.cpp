#include "augur/policy/learned_bins.hpp"

#include <algorithm>
#include <array>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/policy_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>

#include "sanitized.hpp"

namespace augur::policy {
static_assert(SpeculationPolicy<learned_bins> && LearnsFromOutcomes<learned_bins>);
}  // namespace augur::policy

using namespace augur;
using policy::learned_bins;

BOOST_AUTO_TEST_SUITE(policy_learned_bins)

static_assert(SpeculationPolicy<learned_bins>);
static_assert(LearnsFromOutcomes<learned_bins>);
static_assert(required_signals<learned_bins> == signals::draft_entropy);

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
const std::vector<double> published = {0.5, 1.5, 2.5};

observation at(double entropy_nats) {
    return {.draft_entropy_nats = 99, .first_draft_entropy_nats = entropy_nats, .target_entropy_nats = 99};
}

std::vector<double> edges_of(const learned_bins& policy) {
    return {policy.edges_nats().begin(), policy.edges_nats().end()};
}

const auto close = boost::test_tools::tolerance(1e-12);

/// First tokens are accepted with odds * exp(-fall * entropy) and later ones with `later`, entropies are exponential
/// with mean 1, a pass over n rows takes 1 + slope (n - 1) and a token of draft `draft` seconds, which nobody waits
/// for.
struct world {
    double odds = 1;
    double fall = 1.5;
    double later = 0.8;
    double draft = 0.15;
    double slope = 0.05;
    std::mt19937 random{1};
    double seconds = 0;
    double tokens = 0;

    double draft_seconds(std::size_t length) const {
        return draft * static_cast<double>(std::max<std::size_t>(length, 1));
    }
    double verify_seconds(std::size_t length) const { return 1 + slope * static_cast<double>(length); }
    double stands(double entropy, std::size_t position) const {
        return position == 0 ? odds * std::exp(-fall * entropy) : later;
    }
    double expected_tokens(double entropy, std::size_t length) const {
        double stand = 1, sum = 1;
        for (std::size_t i = 0; i < length; ++i) sum += stand *= stands(entropy, i);
        return sum;
    }
    double uniform() { return static_cast<double>(random()) * 0x1.0p-32; }

    /// Returns the length.
    template <class Policy>
    std::size_t round(Policy& policy) {
        const double entropy = -std::log(1 - uniform());
        const std::size_t length = policy.plan(at(entropy)).length;
        std::size_t accepted = 0;
        while (accepted < length && uniform() < stands(entropy, accepted)) ++accepted;
        seconds += draft_seconds(length) + verify_seconds(length);
        tokens += static_cast<double>(accepted + 1);
        policy.learn({at(entropy), length, accepted, draft_seconds(length), verify_seconds(length)});
        return length;
    }

    /// Tokens a second of so many rounds.
    template <class Policy>
    double run(Policy& policy, std::size_t rounds) {
        seconds = tokens = 0;
        for (std::size_t i = 0; i < rounds; ++i) round(policy);
        return tokens / seconds;
    }
};

/// What fixed edges yield in a world, without chance: over 400 quantiles of the entropy.
class fixed_edges {
 public:
    static constexpr std::size_t quantiles = 400;

    fixed_edges(const world& of, std::vector<std::size_t> lengths) : lengths_(std::move(lengths)) {
        for (const std::size_t length : lengths_) {
            std::vector<double> tokens(1, 0.0);
            for (std::size_t i = 0; i < quantiles; ++i) {
                tokens.push_back(tokens.back() + of.expected_tokens(entropy(i), length));
            }
            tokens_.push_back(std::move(tokens));
            seconds_.push_back(of.draft_seconds(length) + of.verify_seconds(length));
        }
    }

    /// Tokens a second, with `ends[k]` quantiles below edge k.
    double rate(const std::array<std::size_t, 3>& ends) const {
        const std::size_t all[] = {0, ends[0], ends[1], ends[2], quantiles};
        double tokens = 0, seconds = 0;
        for (std::size_t k = 0; k < 4; ++k) {
            tokens += tokens_[k][all[k + 1]] - tokens_[k][all[k]];
            seconds += seconds_[k] * static_cast<double>(all[k + 1] - all[k]);
        }
        return tokens / seconds;
    }
    double rate(const std::vector<double>& edges) const {
        return rate(std::array{below(edges[0]), below(edges[1]), below(edges[2])});
    }

    /// Of all edges on every fifth quantile.
    std::vector<double> best() const {
        std::array<std::size_t, 3> found{}, ends{};
        for (ends[0] = 0; ends[0] < quantiles; ends[0] += 5) {
            for (ends[1] = ends[0]; ends[1] < quantiles; ends[1] += 5) {
                for (ends[2] = ends[1]; ends[2] < quantiles; ends[2] += 5) {
                    if (rate(ends) > rate(found)) found = ends;
                }
            }
        }
        return {edge(found[0]), edge(found[1]), edge(found[2])};
    }

 private:
    static double entropy(std::size_t i) { return -std::log(1 - (static_cast<double>(i) + 0.5) / quantiles); }
    static double edge(std::size_t end) { return -std::log(1 - static_cast<double>(end) / quantiles); }
    static std::size_t below(double edge) {
        std::size_t end = 0;
        while (end < quantiles && entropy(end) < edge) ++end;
        return end;
    }

    std::vector<std::size_t> lengths_;
    std::vector<std::vector<double>> tokens_;  ///< by length, of the first quantiles
    std::vector<double> seconds_;              ///< of a round, by length
};

BOOST_AUTO_TEST_CASE(begins_as_published) {
    const learned_bins learned;
    const policy::entropy_bins fixed;
    for (const double entropy : {-1.0, 0.0, 0.4999, 0.5, 1.4999, 1.5, 2.4999, 2.5, 10.4, 1e300, nan, infinity}) {
        BOOST_TEST(learned.plan(at(entropy)).length == fixed.plan(at(entropy)).length);
        BOOST_TEST(learned.bin_of(entropy) == fixed.bin_of(entropy));
    }
    BOOST_TEST(edges_of(learned) == published, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_gives_length_one_and_teaches_nothing) {
    learned_bins policy({0.5}, {6, 3}, {.verify_seconds = {1, 1, 1, 1, 1, 1, 1}});
    for (const double entropy : {nan, infinity, -infinity}) {
        BOOST_TEST(policy.plan(at(entropy)).length == 1u);
        policy.learn({at(entropy), 6, 0, 0.1, 1});
        BOOST_TEST(policy.edges_nats()[0] == 0.5);
        BOOST_TEST(policy.acceptance(0, 0) == learned_bins().acceptance(0, 0));
        BOOST_TEST(policy.acceptance(entropy, 0) == policy.acceptance(15, 0));
    }
    BOOST_TEST(policy.bins()[1].rounds == 3u);  // counted as entropy_bins does
}

BOOST_AUTO_TEST_CASE(a_position_is_judged_where_all_before_it_stood) {
    learned_bins policy({0.5}, {3, 1}, {.memory = 0.5});
    const double expected = 64.0 / 65;  // of a row in the first cell, whose middle is 1/64 nats
    BOOST_TEST(policy.acceptance(0, 0) == expected, close);
    BOOST_TEST(policy.acceptance(0, 1) == 0.5, close);
    policy.learn({at(0), 3, 1, 0, 0});
    BOOST_TEST(policy.acceptance(0, 0) == (1 + expected / 4) / 1.25, close);
    // Of first tokens (1 + 0.5 / 4) / 1.25 = 0.9 stand over all entropies, of second (0 + 0.9 / 4) / 1.25 = 0.18: so
    // many are expected of each of the 16 cells, and in one 0 of 1 were accepted; pooled.
    BOOST_TEST(policy.acceptance(0, 1) == 16 * 0.18 / 4 / (1 + 16 * 0.25), close);
    BOOST_TEST(policy.acceptance(15, 1) == policy.acceptance(0, 1), close);
    BOOST_TEST(policy.acceptance(0, 2) == 0.18, close);
    policy.learn({at(0), 0, 0, 0, 0});  // nothing drafted: the past fades
    BOOST_TEST(policy.acceptance(0, 0) == (0.5 + expected / 4) / 0.75, close);
    BOOST_TEST(policy.acceptance(1, 0) == learned_bins().acceptance(1, 0), close);
}

BOOST_AUTO_TEST_CASE(acceptance_that_rises_with_the_entropy_is_pooled) {
    learned_bins policy({0.5}, {1, 0}, {.memory = 0.5});
    const double below = 1 / (1 + 2.5 * 2.5 / 16), above = 1 / (1 + 3.5 * 3.5 / 16);
    BOOST_TEST(policy.acceptance(0.25, 0) == below, close);
    BOOST_TEST(policy.acceptance(0.5624, 0) == below, close);
    BOOST_TEST(policy.acceptance(0.5625, 0) == above, close);
    policy.learn({at(0.3), 1, 0, 0, 0});  // a fifth of what was expected: less than at 0.6 nats
    double sum = 0;
    for (const double cell : {2, 3, 4, 5, 6}) sum += 1 / (1 + (cell + 0.5) * (cell + 0.5) / 16) / 4;
    const double pooled = sum / (1 + 5 * 0.25);
    BOOST_TEST(pooled > 1 / (1 + 7.5 * 7.5 / 16));
    for (const double entropy : {0.25, 0.3, 0.9, 3.0624}) BOOST_TEST(policy.acceptance(entropy, 0) == pooled, close);
    BOOST_TEST(policy.acceptance(0.2499, 0) == 1 / (1 + 1.5 * 1.5 / 16), close);
    BOOST_TEST(policy.acceptance(3.0625, 0) == 1 / (1 + 7.5 * 7.5 / 16), close);
}

/// After one round that was accepted at 0 nats, of a policy that goes where it aims at once.
learned_bins aimed(std::vector<double> edges, std::vector<std::size_t> lengths, double draft, double verify,
                   std::vector<double> curve) {
    const std::size_t longest = lengths.front();
    learned_bins policy(std::move(edges), std::move(lengths), {.rate = 1e6, .verify_seconds = std::move(curve)});
    policy.learn({at(0), longest, longest, draft, verify});
    return policy;
}

BOOST_AUTO_TEST_CASE(an_edge_aims_where_the_token_is_worth_its_time) {
    const auto policy = aimed({9}, {1, 0}, 0.75, 1.5, {1, 1.5});
    policy::pass_seconds passes(2, 0.99, std::vector<double>{1, 1.5});
    passes.learn(2, 1.5);
    // A round yielded 2 tokens in 2.25 s. The row was paid for in either case.
    const double price = (passes(2) - passes(1)) * 2 / 2.25;
    const auto stands = [](double cell) { return 1 / (1 + (cell + 0.5) * (cell + 0.5) / 16); };
    double cell = 1;
    while (stands(cell) > price) ++cell;
    const double place = cell - (price - stands(cell)) / (stands(cell - 1) - stands(cell));
    BOOST_TEST(policy.edges_nats()[0] == (place + 0.5) * (place + 0.5) / 16, close);
}

BOOST_AUTO_TEST_CASE(later_tokens_are_paid_for_each) {
    const double cheap = aimed({9}, {3, 1}, 3 * 0.1, 1, {1, 1, 1, 1}).edges_nats()[0];
    const double dear = aimed({9}, {3, 1}, 3 * 0.3, 1, {1, 1, 1, 1}).edges_nats()[0];
    BOOST_TEST(dear > 0.1);
    BOOST_TEST(cheap > dear + 0.5);
}

BOOST_AUTO_TEST_CASE(what_costs_nothing_or_never_pays_sends_edges_to_the_ends) {
    learned_bins free(published, {4, 3, 2, 1}, {.rate = 1e6, .verify_seconds = {1, 1, 1, 1, 1}});
    for (int i = 0; i < 500; ++i) free.learn({at(15), 4, 4, 0, 1});
    const std::vector<double> top = {16 - 0.002, 16 - 0.001, 16};
    BOOST_TEST(edges_of(free) == top, close << boost::test_tools::per_element());
    BOOST_TEST(free.plan(at(15.9)).length == 4u);
    const auto dear = aimed(published, {4, 3, 2, 1}, 400, 1, {1, 1, 1, 1, 1});
    BOOST_TEST(edges_of(dear) == std::vector<double>({-0.002, -0.001, 0}), boost::test_tools::per_element());
    BOOST_TEST(dear.plan(at(0)).length == 1u);
}

BOOST_AUTO_TEST_CASE(edges_move_by_no_more_than_the_rate_and_only_once_costs_are_known) {
    const outcome stood{at(0.2), 4, 4, 0.4, 1.2};
    learned_bins policy(published, {4, 3, 2, 1}, {.rate = 0.03});
    policy.learn(stood);
    BOOST_TEST(edges_of(policy) == published, boost::test_tools::per_element());  // no pass of the shortest yet
    policy.learn({at(3), 1, 0, 0.1, 1.05});
    for (std::size_t k = 0; k < 3; ++k) {
        BOOST_TEST(std::abs(policy.edges_nats()[k] - published[k]) == 0.03, close);
    }
    for (const double seconds : {0.0, -1.0, nan, infinity, 1e10}) {  // no time: edges have a curve, but no pace
        learned_bins unpaced(published, {4, 3, 2, 1}, {.verify_seconds = {1, 1, 1, 1, 1}});
        unpaced.learn({at(0.2), 4, 4, 0.4, seconds});
        if (seconds != 0) unpaced.learn({at(0.2), 4, 4, seconds, 1});
        unpaced.learn({at(0.2), 5, 4, 0.4, 1});  // of no bin's length
        unpaced.learn({at(0.2), 0, 0, 0.4, 1});
        BOOST_TEST(edges_of(unpaced) == published, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(what_rounds_yielded_long_ago_is_forgotten) {
    const auto edge_after = [](int of_old) {
        learned_bins policy({9}, {1, 0}, {.memory = 0.5, .rate = 1e6, .verify_seconds = {1, 1.5}});
        for (int i = 0; i < of_old; ++i) policy.learn({at(0), 1, 1, 0.75, 1.5});
        for (int i = 0; i < 60; ++i) policy.learn({at(0), 1, 0, 0.75, 1.5});
        return policy.edges_nats()[0];
    };
    const double fresh = edge_after(0);
    BOOST_TEST(fresh > 0.1);
    BOOST_TEST(edge_after(100) == fresh, close);
}

BOOST_AUTO_TEST_CASE(a_curve_is_of_rows_from_one_on) {
    // What is known of 4 rows and 6 says that tokens cost little; of 1 to 3, that they cost a lot.
    const double with_four = aimed({9}, {5, 3}, 0, 1.1, {1, 2, 3, 1, 1, 1.1}).edges_nats()[0];
    const double alone = aimed({9}, {5, 3}, 0, 1.1, {9, 9, 9, 1, 1, 1.1}).edges_nats()[0];
    BOOST_TEST(with_four == alone);
    learned_bins unknown({9}, {5, 3}, {.rate = 1e6, .verify_seconds = {1, 2, 3}});  // too short
    unknown.learn({at(0), 5, 5, 0, 1.1});
    BOOST_TEST(unknown.edges_nats()[0] == 9);
}

BOOST_AUTO_TEST_CASE(neighbouring_lengths_are_tried_in_turn) {
    const auto lengths_of = [](learned_bins policy, double entropy) {
        std::string text;
        for (int i = 0; i < 16; ++i) {
            const std::size_t length = policy.plan(at(entropy)).length;
            text += static_cast<char>('0' + length);
            policy.learn({at(entropy), length, length, 0, 0});  // without times nothing moves
        }
        return text;
    };
    const learned_bins timed(published, {4, 3, 2, 0}, {.probe_every = 4, .verify_seconds = {1, 1, 1, 1, 1}});
    BOOST_TEST(lengths_of(timed, 0.2) == "4444444344444443");
    BOOST_TEST(lengths_of(timed, 0.7) == "3334333233343332");
    BOOST_TEST(lengths_of(timed, 2.7) == "0002000000020000");
    const learned_bins untimed(published, {4, 3, 2, 0}, {.probe_every = 4});
    BOOST_TEST(lengths_of(untimed, 0.7) == "3330333033303330");  // a pass of the shortest is missing
    BOOST_TEST(lengths_of(learned_bins({}, {2}, {.probe_every = 1}), 0.7) == "2222222222222222");
}

BOOST_AUTO_TEST_CASE(a_million_wild_outcomes_leave_the_edges_in_order) {
    std::mt19937 random(3);
    const std::vector<double> entropies = {nan, infinity, -infinity, -1, 0, 1e-300, 0.3, 1, 2, 3, 8, 16, 1e308};
    const std::vector<double> times = {nan, infinity, -1, 0, 1e-320, 1e-12, 1e-3, 1, 1e9, 1e308};
    const auto one_of = [&](const auto& values) { return values[random() % values.size()]; };
    learned_bins policy;
    bool in_order = true, sensible = true;
    for (int i = 0; i < testing::unless_sanitized(1000000, 100000); ++i) {
        const std::vector<double> before = i % 1000 == 0 ? edges_of(policy) : std::vector<double>();
        const double entropy = random() % 2 == 0 ? one_of(entropies) : 4 * static_cast<double>(random()) * 0x1.0p-32;
        const std::size_t drafted = random() % 8 == 0 ? random() : random() % 6;
        const std::size_t accepted = random() % 8 == 0 ? random() : drafted == 0 ? 0 : random() % (drafted + 1);
        policy.learn({at(entropy), drafted, accepted, one_of(times), one_of(times)});
        const auto edges = policy.edges_nats();
        in_order = in_order && edges[0] < edges[1] && edges[1] < edges[2] && edges[0] >= -0.002 && edges[2] <= 16;
        const std::size_t length = policy.plan(at(entropy)).length;
        sensible = sensible && length >= 1 && length <= 4;
        for (std::size_t k = 0; k < before.size(); ++k) BOOST_TEST(std::abs(edges[k] - before[k]) <= 0.02 + 1e-12);
    }
    BOOST_TEST(in_order);
    BOOST_TEST(sensible);
    double rate = 1;
    for (double entropy = 0; entropy < 20; entropy += 0.1) {
        const double next = policy.acceptance(entropy, 2);
        BOOST_TEST((next <= rate && next >= 0));
        rate = next;
    }
    world steady;  // and it still learns
    policy::entropy_bins fixed;
    policy.learn({});
    steady.run(policy, 5000);
    BOOST_TEST(steady.run(policy, 4000) > 1.02 * steady.run(fixed, 4000));
}

BOOST_AUTO_TEST_CASE(edges_find_the_best_ones_and_beat_the_published) {
    const world worlds[] = {
        {},                                                                        // acceptance falls fast
        {.odds = 0.95, .fall = 0.2, .later = 0.95, .draft = 0.05, .slope = 0.02},  // long drafts pay nearly always
        {.odds = 0.3, .fall = 0.5, .later = 0.5, .draft = 0.2, .slope = 0.1},      // they never do
    };
    for (const world& each : worlds) {
        const fixed_edges fixed(each, {4, 3, 2, 1});
        const double best = fixed.rate(fixed.best());
        learned_bins policy;
        world of = each;
        of.run(policy, 1000);
        const double reached = of.run(policy, 8000);
        BOOST_TEST(reached > 0.98 * best);
        BOOST_TEST(reached > 1.03 * fixed.rate(published));
        BOOST_TEST(fixed.rate(edges_of(policy)) > 0.99 * best);
    }
}

/// The mean of 5000 rounds, after 1000, against the best.
void come_near(world of, const std::vector<std::size_t>& lengths, std::size_t edges, double nats) {
    const auto best = fixed_edges(of, lengths).best();
    learned_bins policy(published, lengths);
    of.run(policy, 1000);
    std::vector<double> mean(edges);
    for (int i = 0; i < 5000; ++i) {
        of.round(policy);
        for (std::size_t k = 0; k < edges; ++k) mean[k] += policy.edges_nats()[k] / 5000;
    }
    for (std::size_t k = 0; k < edges; ++k) BOOST_TEST(std::abs(mean[k] - best[k]) < nats, mean[k] << ' ' << best[k]);
}

BOOST_AUTO_TEST_CASE(edges_come_near_the_best_ones) {
    come_near({}, {4, 3, 2, 1}, 3, 0.15);
    // The third is at 4.6 nats, and hardly any row there.
    come_near({.odds = 0.95, .fall = 0.5, .later = 0.8, .draft = 0.1}, {6, 3, 1, 0}, 2, 0.25);
}

BOOST_AUTO_TEST_CASE(bins_that_are_right_are_kept) {
    world of{.odds = 0.95, .fall = 0.5, .later = 0.8, .draft = 0.1};
    const fixed_edges fixed(of, {4, 3, 2, 1});
    BOOST_TEST(fixed.rate(published) > 0.99 * fixed.rate(fixed.best()));
    learned_bins policy;
    BOOST_TEST(of.run(policy, 4000) > 0.98 * fixed.rate(published));
}

BOOST_AUTO_TEST_CASE(a_world_that_changes_is_followed) {
    learned_bins policy;
    const world good{.odds = 0.95, .fall = 0.2, .later = 0.95, .draft = 0.05, .slope = 0.02};
    const world bad{.odds = 0.3, .fall = 0.5, .later = 0.5, .draft = 0.2, .slope = 0.1};
    const world dear{.odds = 0.95, .fall = 0.2, .later = 0.95, .draft = 1.5, .slope = 0.02};
    for (const world& each : {good, bad, good, dear, good}) {
        world of = each;
        of.run(policy, 1000);
        const fixed_edges fixed(each, {4, 3, 2, 1});
        BOOST_TEST(of.run(policy, 2000) > 0.97 * fixed.rate(fixed.best()));
    }
}

BOOST_AUTO_TEST_CASE(a_last_length_of_nothing_is_plain_decoding_until_drafts_stand_again) {
    learned_bins policy(published, {4, 2, 1, 0});
    world of{.odds = 0, .draft = 0.02, .slope = 0.2};
    const auto mean_length = [&](int rounds) {
        double sum = 0;
        for (int i = 0; i < rounds; ++i) sum += static_cast<double>(of.round(policy));
        return sum / rounds;
    };
    of.run(policy, 500);
    const double kept = mean_length(3200);
    BOOST_TEST((kept > 1.0 / 32 && kept < 0.1), kept);  // every other try is the next longer
    of.odds = of.later = 1;
    of.fall = 0;
    of.run(policy, 1500);
    BOOST_TEST(mean_length(320) > 3.5);
    of.odds = 0;
    of.run(policy, 1500);
    BOOST_TEST(mean_length(320) < 0.2);
}

BOOST_AUTO_TEST_CASE(a_long_list_of_lengths_may_leave_some_unused) {
    // The second row is dear and those after it are cheap: one or two tokens never pay.
    world of{.odds = 0.97, .fall = 0.7, .later = 0.9, .draft = 0.01, .slope = 0.02};
    learned_bins policy({0.5, 1, 1.5, 2}, {8, 5, 2, 1, 0});
    const auto seconds = [&](std::size_t length) {
        return 1 + (length > 0 ? 1 : 0) + 0.02 * static_cast<double>(length);
    };
    std::vector<std::size_t> rounds(9);
    for (int i = 0; i < 6000; ++i) {
        const double entropy = -std::log(1 - of.uniform());
        const std::size_t length = policy.plan(at(entropy)).length;
        std::size_t accepted = 0;
        while (accepted < length && of.uniform() < of.stands(entropy, accepted)) ++accepted;
        policy.learn({at(entropy), length, accepted, of.draft_seconds(length), seconds(length)});
        if (i >= 2000) ++rounds[length];
    }
    BOOST_TEST(rounds[8] > 1500u);
    BOOST_TEST(rounds[0] > 500u);
    BOOST_TEST(rounds[1] + rounds[2] < 400u);
}

BOOST_AUTO_TEST_CASE(acceptance_is_tracked_per_bin) {
    learned_bins policy;
    policy::entropy_bins fixed;
    const outcome rounds[] = {{at(0.2), 4, 4, 0, 0},
                              {at(0.3), 4, 2, 0, 0},
                              {at(2), 2, 0, 0, 0},
                              {at(nan), 1, 1, 0, 0},
                              {at(0.2), 0, 0, 0, 0}};
    for (const outcome& each : rounds) {
        policy.learn(each);
        fixed.learn(each);
    }
    BOOST_TEST(std::ranges::equal(policy.bins(), fixed.bins()));
    BOOST_TEST(policy.bins()[0].accepted == 6u);
}

BOOST_AUTO_TEST_CASE(the_text_is_untouched_and_bins_can_be_read_after_a_run) {
    const auto target = testing::hashed_model(12, 1, 4);
    const auto drafter = testing::noisy_model(target, 0.3);
    const std::vector<token> prompt{1};
    decode::options chosen;
    chosen.stop.max_tokens = 200;
    chosen.timed = false;
    const learned_bins bins({1.2, 1.5, 1.8}, {4, 3, 2, 1},
                            {.rate = 0.1, .probe_every = 3, .verify_seconds = {1, 1, 1, 1, 1}});
    const auto untouched = [&](const auto& criterion) {
        const auto plainly = decode::generate(plain(target), prompt, chosen).tokens;
        const auto scheme = speculate(drafter, target, bins, criterion);
        const auto decoded = decode::generate(scheme, prompt, chosen);
        BOOST_TEST(decoded.tokens == plainly, boost::test_tools::per_element());
        std::size_t drafted = 0;
        for (const auto& bin : decoded.policy.bins()) drafted += bin.drafted;
        BOOST_TEST(drafted == decoded.counts.stages[0].drafted);
        BOOST_TEST(drafted > 0u);
        BOOST_TEST(edges_of(decoded.policy) != edges_of(bins));
        BOOST_TEST(edges_of(scheme.policy()) == edges_of(bins), boost::test_tools::per_element());
    };
    untouched(accept::coupled{});
    chosen.sampling.temperature.value = 0;
    untouched(accept::exact{});
}

BOOST_AUTO_TEST_CASE(no_length_depends_on_the_token_that_would_be_drafted) {
    for (const learned_bins& policy :
         {learned_bins{}, learned_bins({0.7}, {2, 0}, {.memory = 0.5, .rate = 1, .probe_every = 2}),
          learned_bins({0.4, 0.9}, {3, 1, 0}, {.rate = 0.5, .probe_every = 1, .verify_seconds = {1, 1.05, 1.1}})}) {
        const auto laws = testing::policy_laws(policy);
        BOOST_TEST(laws.kept(), laws);
    }
}

BOOST_AUTO_TEST_CASE(impossible_bins_and_options_are_refused_with_their_values) {
    const auto refuses = [](std::vector<double> edges, std::vector<std::size_t> lengths,
                            policy::learned_bins_options options, const std::string& expected) {
        BOOST_CHECK_EXCEPTION(learned_bins(std::move(edges), std::move(lengths), std::move(options)), error,
                              [&](const error& e) {
                                  BOOST_TEST(std::string(e.what()) == expected);
                                  return true;
                              });
    };
    const auto refuses_options = [&](policy::learned_bins_options options, const std::string& expected) {
        refuses({1}, {2, 1}, std::move(options), expected);
    };
    refuses({0.5, 1.5}, {4, 3}, {}, "entropy bins: 2 edges make 3 bins, but there are 2 lengths");
    refuses({}, {}, {}, "entropy bins: 0 edges make 1 bins, but there are 0 lengths");
    refuses({1.5, 0.5}, {4, 3, 2}, {}, "entropy bins: edges must rise, but edge 0 is 1.5 and edge 1 is 0.5");
    refuses({nan}, {4, 3}, {}, "entropy bins: edge 0 is nan; it must be finite");
    refuses({0.5, 1}, {4, 2, 2}, {}, "learned_bins: lengths must fall, but length 1 is 2 and length 2 is 2");
    refuses({}, {0}, {}, "learned_bins: the greatest length is 0; then it could never draft");
    refuses_options({.memory = 1}, "learned_bins: memory is 1; it must be between 0 and 1");
    refuses_options({.memory = 0}, "learned_bins: memory is 0; it must be between 0 and 1");
    refuses_options({.memory = nan}, "learned_bins: memory is nan; it must be between 0 and 1");
    refuses_options({.rate = 0}, "learned_bins: rate is 0 nats; it must be positive and finite");
    refuses_options({.rate = infinity}, "learned_bins: rate is inf nats; it must be positive and finite");
    refuses_options({.probe_every = 0}, "learned_bins: probe_every is 0; it must be at least 1");
    refuses_options({.verify_seconds = {1, 0}}, "learned_bins: verify_seconds holds 0; it must be in [1e-12, 1e9]");
    refuses_options({.verify_seconds = {infinity}},
                    "learned_bins: verify_seconds holds inf; it must be in [1e-12, 1e9]");
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    std::ostringstream out;
    out << learned_bins{};
    BOOST_TEST(
        out.str() ==
        "learned_bins{.edges_nats={0.5, 1.5, 2.5}, .lengths={4, 3, 2, 1}, .memory=0.99, .rate=0.02, .probe_every=16}");
}

BOOST_AUTO_TEST_SUITE_END()
