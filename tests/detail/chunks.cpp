#include "augur/detail/chunks.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

using namespace augur::detail;

BOOST_AUTO_TEST_SUITE(detail_chunks)

namespace {

std::vector<float> random_weights(std::mt19937& random, std::size_t size) {
    std::vector<float> weights(size);
    for (float& weight : weights) weight = random() % 3 == 0 ? 0 : std::exp2(-static_cast<float>(random() % 90));
    return weights;
}

/// Inverse transform by the definition, in 64 bits of mantissa. The margin is how near the threshold comes to a border.
std::size_t literal_find(const std::vector<float>& weights, double threshold, long double& margin) {
    long double sum = 0;
    std::size_t last_possible = 0;
    margin = INFINITY;
    std::size_t found = weights.size();
    for (std::size_t i = 0; i < weights.size(); ++i) {
        sum += static_cast<long double>(weights[i]);
        margin = std::min(margin, std::abs(sum - static_cast<long double>(threshold)));
        if (weights[i] > 0) last_possible = i;
        if (weights[i] > 0 && threshold < sum && found == weights.size()) found = i;
    }
    return found == weights.size() ? last_possible : found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(chunks_cover_a_row_once) {
    for (std::size_t size = 0; size < 5 * chunk_size; ++size) {
        std::size_t covered = 0;
        std::size_t chunks = 0;
        for (; covered < size; ++chunks) covered = end_of_chunk(covered, size);
        BOOST_TEST(covered == size);
        BOOST_TEST(chunks == chunks_in(size));
    }
}

BOOST_AUTO_TEST_CASE(the_sum_is_that_of_the_chunks_in_order) {
    std::mt19937 random(1);
    for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t size = random() % (4 * chunk_size);
        const auto weights = random_weights(random, size);
        const chunk_sums<std::vector<float>> sums{weights, size};
        double total = 0;
        long double exact = 0;
        for (std::size_t chunk = chunks_in(size); chunk-- > 0;)
            BOOST_TEST(sums[chunk] >= 0);  // in any order, no memory
        for (std::size_t chunk = 0; chunk < chunks_in(size); ++chunk) total += sums[chunk];
        for (float weight : weights) exact += static_cast<long double>(weight);
        BOOST_TEST(sum_in_chunks(weights, size) == total);
        BOOST_TEST(std::abs(total - static_cast<double>(exact)) <= 1e-15 * static_cast<double>(size) * total);
    }
}

BOOST_AUTO_TEST_CASE(finding_inverts_the_cumulative_sum) {
    std::mt19937 random(2);
    std::size_t far = 0;
    for (std::size_t i = 0; i < 3000; ++i) {
        const std::size_t size = 1 + random() % (3 * chunk_size);
        const auto weights = random_weights(random, size);
        const double total = sum_in_chunks(weights, size);
        const double threshold = std::uniform_real_distribution<double>(0, 1)(random) * total;
        long double margin = 0;
        const std::size_t expected = literal_find(weights, threshold, margin);
        if (margin < 1e-12L * static_cast<long double>(total)) continue;
        ++far;
        BOOST_TEST(find_in_chunks(weights, size, chunk_sums<std::vector<float>>{weights, size}, threshold) == expected);
    }
    BOOST_TEST(far > 2900u);
}

BOOST_AUTO_TEST_CASE(what_lies_beyond_the_sum_finds_the_last_that_has_a_weight) {
    for (const std::size_t last : {std::size_t{0}, std::size_t{3}, chunk_size - 1, chunk_size, 2 * chunk_size + 7}) {
        std::vector<float> weights(3 * chunk_size + 5);
        weights[0] = weights[last] = 0.25f;
        const chunk_sums<std::vector<float>> sums{weights, weights.size()};
        BOOST_TEST(find_in_chunks(weights, weights.size(), sums, 100.0) == last);
        BOOST_TEST(find_in_chunks(weights, weights.size(), sums, 0.0) == 0u);
    }
    const std::vector<float> nothing;
    BOOST_TEST(find_in_chunks(nothing, 0, chunk_sums<std::vector<float>>{nothing, 0}, 0.0) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
