#include "augur/detail/selection.hpp"

#include <algorithm>
#include <augur/transform/pipeline.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

using namespace augur;

namespace {

/// Logits of some kind: spread, rounded so that many are equal, mostly impossible, or far apart.
std::vector<float> random_row(std::size_t size, int kind, std::mt19937& source) {
    std::normal_distribution<float> noise(0, kind == 3 ? 60.0f : 3.0f);
    std::vector<float> row(size);
    for (float& x : row) {
        x = noise(source);
        if (kind == 1) x = std::round(x);
        if (kind == 2 && source() % 16 != 0) x = -std::numeric_limits<float>::infinity();
    }
    row[source() % size] = 4;
    return row;
}

/// The transforms one after the other on all of the row, then softmax: what the pipeline promises.
distribution one_after_the_other(const transform::settings& chosen, std::vector<float> row) {
    const prefix before;
    if (chosen.temperature.active()) chosen.temperature(row, before);
    if (chosen.top_k.active()) chosen.top_k(row, before);
    if (chosen.top_p.active()) chosen.top_p(row, before);
    if (chosen.min_p.active()) chosen.min_p(row, before);
    const float largest = *std::max_element(row.begin(), row.end());
    for (float& x : row) x = augur::detail::exp_nonpositive(x - largest);
    return distribution::weighted(row);
}

void check_same(const distribution& got, const distribution& expected) {
    BOOST_REQUIRE(got.size() == expected.size());
    BOOST_TEST(got.total() == expected.total());
    BOOST_TEST(std::ranges::equal(got.weights(), expected.weights()));
    BOOST_TEST(std::ranges::equal(got.sums(), expected.sums()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(detail_selection)

BOOST_AUTO_TEST_CASE(what_is_cut_is_what_the_transforms_cut_one_after_the_other_bit_for_bit) {
    std::mt19937 source(11);
    distribution weights;  // one for all, so that nothing of a row before may be left
    for (const float temperature : {1.0f, 0.7f, 30.0f}) {
        for (const std::size_t k : {0u, 1u, 3u, 40u, 2000u}) {
            for (const float p : {1.0f, 0.9f, 0.999999f, 0.01f}) {
                for (const float min : {0.0f, 0.05f, 1.0f}) {
                    transform::settings chosen;
                    chosen.temperature.value = temperature;
                    chosen.top_k.k = k;
                    chosen.top_p.p = p;
                    chosen.min_p.p = min;
                    for (const std::size_t size : {1u, 3u, 40u, 300u, 2500u}) {
                        const auto row = random_row(size, static_cast<int>(source() % 4), source);
                        transform::pipeline(chosen, size).apply(row, {}, weights);
                        check_same(weights, one_after_the_other(chosen, row));
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(tokens_are_ranked_until_they_hold_the_mass) {
    std::vector<augur::detail::weighted_token> tokens{{0.25f, 0}, {1, 1}, {0.5f, 2}, {0.5f, 3}, {0.25f, 4}};
    const auto whole = [](double weights) { return static_cast<std::uint64_t>(weights * 0x1p44); };
    BOOST_TEST(augur::detail::rank_until(tokens, whole(1.5)) == 2u);
    BOOST_TEST(tokens[4].index == 1u);
    BOOST_TEST(tokens[3].index == 2u);  // of equals the lower index
    BOOST_TEST(augur::detail::rank_until(tokens, whole(1.5) + 1) == 3u);
    BOOST_TEST(augur::detail::rank_until(tokens, whole(2.5)) == 5u);
    BOOST_TEST(augur::detail::rank_until(tokens, whole(2.5) + 1) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
