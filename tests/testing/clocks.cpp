#include "augur/testing/clocks.hpp"

#include <array>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

using namespace augur;
using testing::clocks;

BOOST_AUTO_TEST_SUITE(testing_clocks)

constexpr double exactly = 1e-13;

using rows = std::vector<distribution>;
using winners = std::vector<std::size_t>;

/// Unrelated rows over some tokens; in every third, one token is impossible.
rows some_rows(std::size_t vocabulary, std::size_t count) {
    const auto model = testing::hashed_model(vocabulary, 3);
    rows listed;
    for (std::size_t i = 0; i < count; ++i) {
        std::vector<float> weights(vocabulary);
        const token before = static_cast<token>(i);
        model.fill_row({&before, 1}, weights);
        for (float& weight : weights) weight = std::exp(weight);
        if (i % 3 == 2) weights[i % vocabulary] = 0;
        listed.push_back(distribution::weighted(weights));
    }
    return listed;
}

/// The joint law of the winners, by the conditional odds of one race after another.
void add_winners(std::map<winners, double>& law, const rows& raced, const clocks& known, const winners& before,
                 double p) {
    if (before.size() == raced.size()) {
        law[before] += p;
        return;
    }
    const distribution& row = raced[before.size()];
    const auto odds = known.odds(row);
    for (std::size_t i = 0; i < odds.size(); ++i) {
        if (!(odds[i] > 0)) continue;
        clocks then = known;
        then.won(row, i);
        winners after = before;
        after.push_back(i);
        add_winners(law, raced, then, after, p * odds[i]);
    }
}

std::map<winners, double> winners_of(const rows& raced) {
    std::map<winners, double> law;
    add_winners(law, raced, clocks(raced[0].size()), {}, 1);
    return law;
}

BOOST_AUTO_TEST_CASE(one_race_draws_in_proportion_to_the_weights) {
    for (std::size_t vocabulary = 2; vocabulary <= 6; ++vocabulary) {
        for (const distribution& row : some_rows(vocabulary, 3)) {
            const auto odds = clocks(vocabulary).odds(row);
            for (std::size_t i = 0; i < vocabulary; ++i) {
                BOOST_TEST(std::abs(odds[i] - row.probability(static_cast<token>(i))) < exactly);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_same_race_again_has_the_same_winner) {
    clocks known(3);
    known.won(distribution::weighted({1, 2, 3}), 1);
    BOOST_TEST(known.odds(distribution::weighted({1, 2, 3}))[1] == 1.0);
    BOOST_TEST(known.odds(distribution::weighted({0.1f, 0.2f, 0.2f}))[1] == 1.0);  // token 1 gains most
    BOOST_TEST(known.odds(distribution::weighted({1, 2, 4}))[0] == 0.0);
    BOOST_TEST(known.odds(distribution::weighted({1, 2, 4}))[2] > 0.01);
    BOOST_TEST(!known.won(distribution::weighted({1, 2, 3}), 2));
}

BOOST_AUTO_TEST_CASE(two_rows_agree_as_often_as_the_formula_says) {
    for (std::size_t vocabulary = 2; vocabulary <= 6; ++vocabulary) {
        const rows two = some_rows(vocabulary, 2);
        const auto law = winners_of(two);
        for (std::size_t i = 0; i < vocabulary; ++i) {
            double sum = 0;  // both won by i: x[k] >= max(p[k] / p[i], q[k] / q[i]) x[i] for every k
            for (std::size_t k = 0; k < vocabulary; ++k) sum += std::max(two[0][k] / two[0][i], two[1][k] / two[1][i]);
            BOOST_TEST(std::abs(law.at({i, i}) - 1 / sum) < exactly);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_row_keeps_its_own_law_whatever_raced_before) {
    for (std::size_t vocabulary = 2; vocabulary <= 6; ++vocabulary) {
        const rows raced = some_rows(vocabulary, vocabulary < 5 ? 5 : 4);
        const auto law = winners_of(raced);
        for (std::size_t race = 0; race < raced.size(); ++race) {
            std::vector<double> wins(vocabulary, 0.0);
            for (const auto& [won, p] : law) wins[won[race]] += p;
            for (std::size_t i = 0; i < vocabulary; ++i) {
                BOOST_TEST(std::abs(wins[i] - raced[race].probability(static_cast<token>(i))) < exactly);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_order_of_races_does_not_matter) {
    const rows raced = some_rows(4, 4);
    const auto law = winners_of(raced);
    const auto backwards = winners_of({raced.rbegin(), raced.rend()});
    BOOST_TEST(law.size() == backwards.size());
    for (const auto& [won, p] : law) BOOST_TEST(std::abs(p - backwards.at({won.rbegin(), won.rend()})) < exactly);
}

// An independent computation: the direction of three exponential arrivals is uniform on a triangle, and a race cuts it
// along lines, so that probabilities are areas.

using point = std::array<double, 3>;

/// The part of a convex polygon where x[k] / w[k] >= x[i] / w[i].
std::vector<point> cut(const std::vector<point>& polygon, const distribution& row, std::size_t i, std::size_t k) {
    const auto side = [&](const point& x) { return x[k] * row[i] - x[i] * row[k]; };
    std::vector<point> kept;
    for (std::size_t at = 0; at < polygon.size(); ++at) {
        const point& a = polygon[at];
        const point& b = polygon[(at + 1) % polygon.size()];
        if (side(a) >= 0) kept.push_back(a);
        if ((side(a) > 0 && side(b) < 0) || (side(a) < 0 && side(b) > 0)) {
            const double to = side(a) / (side(a) - side(b));
            kept.push_back({a[0] + to * (b[0] - a[0]), a[1] + to * (b[1] - a[1]), a[2] + to * (b[2] - a[2])});
        }
    }
    return kept;
}

/// As a part of the whole triangle's.
double area(const std::vector<point>& polygon) {
    double twice = 0;
    for (std::size_t at = 0; at < polygon.size(); ++at) {
        const point& a = polygon[at];
        const point& b = polygon[(at + 1) % polygon.size()];
        twice += a[0] * b[1] - a[1] * b[0];
    }
    return twice;
}

BOOST_AUTO_TEST_CASE(probabilities_are_areas) {
    const rows raced = some_rows(3, 5);
    const auto law = winners_of(raced);
    double covered = 0;
    for (std::size_t code = 0; code < 243; ++code) {
        std::vector<point> polygon{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        winners won;
        bool possible = true;
        for (std::size_t race = 0, rest = code; race < 5; ++race, rest /= 3) {
            won.push_back(rest % 3);
            possible = possible && raced[race][won.back()] > 0;
            for (std::size_t k = 0; k < 3; ++k) polygon = cut(polygon, raced[race], won.back(), k);
        }
        const double expected = possible ? area(polygon) : 0;
        const auto found = law.find(won);
        BOOST_TEST(std::abs(expected - (found == law.end() ? 0 : found->second)) < exactly);
        covered += expected;
    }
    BOOST_TEST(std::abs(covered - 1) < exactly);
    BOOST_TEST(law.size() > 15u);
}

BOOST_AUTO_TEST_CASE(the_production_noise_has_this_law) {
    const rows raced = some_rows(4, 3);
    const random::philox_chooser chooser(11);
    constexpr std::size_t positions = 100'000;
    std::map<winners, double> counted;
    for (std::size_t at = 0; at < positions; ++at) {
        winners won;
        for (const distribution& row : raced) won.push_back(chooser.exponential_race(row, at));
        counted[won] += 1.0 / positions;
    }
    const auto law = winners_of(raced);
    for (const auto& [won, share] : counted) BOOST_REQUIRE(law.contains(won));
    for (const auto& [won, p] : law) BOOST_TEST(std::abs(counted[won] - p) < 5 * std::sqrt(p * (1 - p) / positions));
}

BOOST_AUTO_TEST_SUITE_END()
