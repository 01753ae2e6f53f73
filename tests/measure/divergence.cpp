#include "augur/measure/divergence.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "measure/literal_divergence.hpp"

using namespace augur;
using measure::divergence;

BOOST_AUTO_TEST_SUITE(measure_divergence)

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

using all =
    std::tuple<measure::kl, measure::reverse_kl, measure::jensen_shannon, measure::total_variation, measure::hellinger>;

/// Visits a value of each divergence's type.
template <class Visit>
void each(const Visit& visit) {
    std::apply([&](const auto&... d) { (visit(d), ...); }, all{});
}

literal::probabilities softmax(const std::vector<float>& row) {
    const long double maximum = *std::max_element(row.begin(), row.end());
    literal::probabilities weights;
    for (float x : row) weights.push_back(std::exp(static_cast<long double>(x) - maximum));
    return literal::normalised(std::move(weights));
}

std::vector<float> random_row(std::mt19937& random, std::size_t size, float spread) {
    std::normal_distribution<float> normal;
    std::vector<float> row(size);
    for (float& x : row) x = spread * normal(random);
    return row;
}

/// A row and another that is more or less near.
std::vector<float> disturbed(std::mt19937& random, const std::vector<float>& row) {
    const float spreads[] = {1e-4f, 0.01f, 0.3f, 2, 15};
    auto other = random_row(random, row.size(), spreads[random() % 5]);
    for (std::size_t i = 0; i < row.size(); ++i) other[i] += row[i];
    return other;
}

/// Weights of many magnitudes, a third of them 0; the other row has some of them in common.
std::vector<float> random_weights(std::mt19937& random, std::size_t size) {
    std::vector<float> weights(size);
    for (float& w : weights) {
        w = random() % 3 == 0 ? 0 : std::ldexp(static_cast<float>(random() % 1000), -static_cast<int>(random() % 60));
    }
    weights[random() % size] = 1;
    return weights;
}

literal::probabilities normalised(const std::vector<float>& weights) {
    return literal::normalised({weights.begin(), weights.end()});
}

bool close(double a, double b, double tolerance) {
    return a == b || std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

}  // namespace

BOOST_AUTO_TEST_CASE(distributions_have_the_divergence_of_the_definition) {
    std::mt19937 random(1);
    for (std::size_t i = 0; i < 600; ++i) {
        const std::size_t size = i < 300 ? i + 1 : 1 + random() % 3000;
        const auto p = random_weights(random, size);
        auto q = i % 3 == 0 ? random_weights(random, size) : p;
        if (i % 3 == 1) q[random() % size] *= 1 + 0x1p-10f;
        if (i % 3 == 2) q[random() % size] += 0x1p-20f;
        const auto target = distribution::weighted(p);
        const auto draft = distribution::weighted(q);
        each([&]<class D>(const D&) {
            const double expected = literal::divergence<D>(normalised(p), normalised(q));
            const double got = divergence<D>(target, draft);
            BOOST_TEST(close(got, expected, 1e-12), D::name << " of " << size << ": " << got << " for " << expected);
            BOOST_TEST(got >= 0);
            BOOST_TEST(got <= D::maximum);
        });
    }
}

BOOST_AUTO_TEST_CASE(small_divergences_are_right_to_a_millionth_of_themselves) {
    // Rows that differ in one weight by down to 2^-20: what a formula that cancels would lose in rounding.
    std::mt19937 random(2);
    for (const float by : {0.5f, 0.1f, 0x1p-7f, 0x1p-12f, 0x1p-20f}) {
        std::vector<float> p(1000);
        for (float& w : p) w = 1 + static_cast<float>(random() % 100);
        auto q = p;
        q[random() % 1000] *= 1 + by;
        each([&]<class D>(const D&) {
            const double expected = literal::divergence<D>(normalised(p), normalised(q));
            const double got = divergence<D>(distribution::weighted(p), distribution::weighted(q));
            BOOST_TEST(got > 0);
            constexpr double rounding_of_definition = 1e-19;
            BOOST_TEST(std::abs(got - expected) < 1e-6 * expected + rounding_of_definition,
                       D::name << ": " << got << " for " << expected);
        });
    }
}

BOOST_AUTO_TEST_CASE(rows_have_the_divergence_of_their_softmax) {
    std::mt19937 random(3);
    for (std::size_t i = 0; i < 300; ++i) {
        const std::size_t size = i < 150 ? i + 1 : 1 + random() % 3000;
        const float spreads[] = {0, 1, 5, 30};
        const auto target = random_row(random, size, spreads[random() % 4]);
        auto draft = disturbed(random, target);
        for (float& x : draft) x += 40;  // a softmax does not see what is added to all
        each([&]<class D>(const D&) {
            const double expected = literal::divergence<D>(softmax(target), softmax(draft));
            const double got = divergence<D>(target, draft);
            BOOST_TEST(close(got, expected, 2e-6), D::name << " of " << size << ": " << got << " for " << expected);
        });
    }
}

BOOST_AUTO_TEST_CASE(equal_rows_are_at_no_distance) {
    std::mt19937 random(4);
    for (std::size_t i = 0; i < 100; ++i) {
        const std::size_t size = 1 + random() % 2000;
        const auto weights = distribution::weighted(random_weights(random, size));
        auto row = random_row(random, size, 10);
        if (size > 1) row[random() % (size - 1)] = -infinity;
        const auto point = distribution::point(static_cast<token>(random() % size), size);
        each([&]<class D>(const D&) {
            BOOST_TEST(divergence<D>(weights, weights) == 0);
            BOOST_TEST(divergence<D>(point, point) == 0);
            BOOST_TEST(divergence<D>(row, row) == 0);
        });
    }
}

BOOST_AUTO_TEST_CASE(rows_without_a_common_token_are_as_far_apart_as_can_be) {
    each([]<class D>(const D&) {
        BOOST_TEST(divergence<D>(distribution::point(0, 5), distribution::point(3, 5)) == D::maximum);
        const auto left = distribution::weighted({1, 3, 0, 0, 0, 0.1f});
        const auto right = distribution::weighted({0, 0, 7, 1, 1, 0});
        BOOST_TEST(close(divergence<D>(left, right), D::maximum, 1e-15));
        BOOST_TEST(divergence<D>(left, right) <= D::maximum);
        const std::vector<float> up{0, 0, -infinity};
        const std::vector<float> down{-infinity, -infinity, 2};
        BOOST_TEST(close(divergence<D>(up, down), D::maximum, 2e-6));
    });
    BOOST_TEST(measure::jensen_shannon::maximum == std::log(2.0));
    // The softmax's sum is rounded, so that probabilities may add up to more than 1.
    std::mt19937 random(7);
    for (std::size_t i = 0; i < 100; ++i) {
        auto even = random_row(random, 2 + random() % 500, 2);
        auto odd = even;
        for (std::size_t t = 0; t < even.size(); ++t) (t % 2 == 0 ? odd : even)[t] = -infinity;
        each([&]<class D>(const D&) { BOOST_TEST(divergence<D>(even, odd) <= D::maximum); });
    }
}

BOOST_AUTO_TEST_CASE(what_only_one_row_excludes_is_infinite_on_one_side) {
    const auto half = distribution::weighted({1, 1, 0});
    const auto certain = distribution::point(1, 3);
    BOOST_TEST(divergence<measure::kl>(half, certain) == infinity);
    BOOST_TEST(divergence<measure::reverse_kl>(half, certain) == std::log(2.0));
    BOOST_TEST(divergence<measure::kl>(certain, half) == std::log(2.0));
    BOOST_TEST(divergence<measure::reverse_kl>(certain, half) == infinity);
    BOOST_TEST(divergence<measure::total_variation>(half, certain) == 0.5);
    BOOST_TEST(close(divergence<measure::hellinger>(half, certain), std::sqrt(1 - std::sqrt(0.5)), 1e-15));
    const std::vector<float> both{1, 1, -infinity};
    const std::vector<float> one{-infinity, 1, -infinity};
    BOOST_TEST(divergence<measure::kl>(both, one) == infinity);
    BOOST_TEST(close(divergence<measure::reverse_kl>(both, one), std::log(2.0), 1e-6));
}

BOOST_AUTO_TEST_CASE(probabilities_of_every_magnitude_give_numbers) {
    // 5e-324 is the least above 0; quotients of such numbers overflow.
    const double some[] = {0, 5e-324, 1e-310, 1e-300, 1e-20, 1e-9, 0.25, 0.5, std::nextafter(0.5, 1), 0.9, 1};
    for (const double p : some) {
        for (const double q : some) {
            each([&]<class D>(const D&) {
                BOOST_TEST(D::term(p, q) >= 0, D::name << " of " << p << " and " << q << ": " << D::term(p, q));
                if (p == q) BOOST_TEST(D::term(p, q) == 0);
            });
            BOOST_TEST((measure::kl::term(p, q) == infinity) == (p > 0 && !(q > 0)));
            BOOST_TEST((measure::reverse_kl::term(p, q) == infinity) == (q > 0 && !(p > 0)));
            BOOST_TEST(measure::jensen_shannon::term(p, q) <= std::max(p, q));
        }
    }
    BOOST_TEST(close(measure::kl::term(1, 1e-300), 300 * std::log(10.0) - 1, 1e-12));
    BOOST_TEST(close(measure::kl::term(0.5, 1e-20), 0.5 * std::log(0.5e20) - 0.5, 1e-12));
}

BOOST_AUTO_TEST_CASE(symmetric_ones_are_symmetric_and_kl_turns_round) {
    std::mt19937 random(5);
    for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t size = 1 + random() % 1000;
        const auto p = distribution::weighted(random_weights(random, size));
        const auto q = distribution::weighted(random_weights(random, size));
        BOOST_TEST(divergence<measure::jensen_shannon>(p, q) == divergence<measure::jensen_shannon>(q, p));
        BOOST_TEST(divergence<measure::total_variation>(p, q) == divergence<measure::total_variation>(q, p));
        BOOST_TEST(divergence<measure::hellinger>(p, q) == divergence<measure::hellinger>(q, p));
        BOOST_TEST(divergence<measure::kl>(p, q) == divergence<measure::reverse_kl>(q, p));
    }
}

BOOST_AUTO_TEST_CASE(the_known_inequalities_hold) {
    std::mt19937 random(6);
    for (std::size_t i = 0; i < 300; ++i) {
        const auto row = random_row(random, 1 + random() % 500, 3);
        const auto p = softmax(row);
        const auto q = softmax(disturbed(random, row));
        const auto target = distribution::weighted({p.begin(), p.end()});
        const auto draft = distribution::weighted({q.begin(), q.end()});
        const double tv = divergence<measure::total_variation>(target, draft);
        const double h = divergence<measure::hellinger>(target, draft);
        const double js = divergence<measure::jensen_shannon>(target, draft);
        const double either =
            std::min(divergence<measure::kl>(target, draft), divergence<measure::reverse_kl>(target, draft));
        constexpr double rounding = 1e-14;
        BOOST_TEST(tv <= std::sqrt(either / 2) + rounding);  // Pinsker
        BOOST_TEST(h * h <= tv + rounding);                  // Le Cam
        BOOST_TEST(tv <= h * std::sqrt(2 - h * h) + rounding);
        BOOST_TEST(2 * h * h <= either + rounding);
        BOOST_TEST(js <= tv * std::log(2.0) + rounding);  // Lin
        BOOST_TEST(h * h * std::log(2.0) <= js + rounding);
        BOOST_TEST(js <= either / 2 + rounding + (either > 2 ? infinity : 0));
    }
}

BOOST_AUTO_TEST_CASE(a_draft_distribution_is_measured_as_its_row) {
    const auto target = distribution::weighted({1, 2, 5});
    const auto draft = distribution::weighted({4, 2, 2});
    const auto certain = distribution::point(1, 3);
    each([&]<class D>(const D&) {
        BOOST_TEST(divergence<D>(target, drafted_token<distribution>{1, &draft}) == divergence<D>(target, draft));
        BOOST_TEST(divergence<D>(target, drafted_token<point_mass>{1}) == divergence<D>(target, certain));
    });
    BOOST_TEST(divergence<measure::total_variation>(target, drafted_token<point_mass>{1}) == 0.75);
    BOOST_TEST(divergence<measure::kl>(target, drafted_token<point_mass>{1}) == infinity);
    BOOST_TEST(close(divergence<measure::reverse_kl>(target, drafted_token<point_mass>{1}), std::log(4.0), 1e-15));
}

BOOST_AUTO_TEST_CASE(rows_that_nothing_can_be_drawn_from_are_near_to_nothing) {
    const std::vector<float> good{0, 1, 2};
    const auto some = distribution::weighted(good);
    const auto none = distribution::weighted({0, 0, 0});
    each([&]<class D>(const D&) {
        for (const float bad : {infinity, std::numeric_limits<float>::quiet_NaN()}) {
            BOOST_TEST(divergence<D>(std::vector<float>{0, bad, 0}, good) == infinity);
            BOOST_TEST(divergence<D>(good, std::vector<float>{0, 0, bad}) == infinity);
        }
        BOOST_TEST(divergence<D>(std::vector<float>(3, -infinity), good) == infinity);
        BOOST_TEST(divergence<D>(some, none) == infinity);
        BOOST_TEST(divergence<D>(none, some) == infinity);
        BOOST_TEST(divergence<D>(none, none) == infinity);
    });
}

BOOST_AUTO_TEST_CASE(rows_of_two_vocabularies_are_refused) {
    const auto says = [](const std::string& message) {
        return [message](const error& e) { return std::string(e.what()).find(message) != std::string::npos; };
    };
    using measure::kl;
    BOOST_CHECK_EXCEPTION(divergence<kl>(std::vector<float>(3), std::vector<float>(4)), error,
                          says("have 3 and 4 tokens"));
    BOOST_CHECK_EXCEPTION(divergence<kl>(distribution::point(0, 4), distribution::point(0, 3)), error,
                          says("have 4 and 3 tokens"));
}

BOOST_AUTO_TEST_SUITE_END()
