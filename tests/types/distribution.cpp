#include "augur/types/distribution.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "listed_rows.hpp"

using augur::distribution;

BOOST_AUTO_TEST_SUITE(types_distribution)

BOOST_AUTO_TEST_CASE(the_total_is_the_sum_to_double_precision) {
    std::mt19937 random(1);
    for (std::size_t size = 0; size < 400; ++size) {
        std::vector<float> weights(size);
        long double sum = 0;
        for (float& weight : weights) {
            weight = static_cast<float>(random()) * std::exp2(-static_cast<float>(random() % 100));
            sum += static_cast<long double>(weight);
        }
        const auto row = distribution::weighted(weights);
        BOOST_TEST(row.size() == size);
        BOOST_TEST(std::abs(row.total() - static_cast<double>(sum)) <= 1e-15 * static_cast<double>(size) * row.total());
        BOOST_TEST(row.empty() == (size == 0));
        double probability = 0;
        for (std::size_t i = 0; i < size; ++i) {
            BOOST_TEST(row[i] == static_cast<double>(weights[i]));
            probability += row.probability(static_cast<augur::token>(i));
        }
        if (size > 0) BOOST_TEST(std::abs(probability - 1) < 1e-13);
    }
}

BOOST_AUTO_TEST_CASE(weights_of_any_size_neither_vanish_nor_overflow) {
    const float least = std::numeric_limits<float>::denorm_min();
    const float most = std::numeric_limits<float>::max();
    BOOST_TEST(distribution::weighted({least, 0, least}).probability(2) == 0.5);
    BOOST_TEST(distribution::weighted({most, most, most, most}).probability(2) == 0.25);
    BOOST_TEST(distribution::weighted({most, least}).probability(1) > 0);
}

BOOST_AUTO_TEST_CASE(a_point_is_certain) {
    const auto point = distribution::point(3, 5);
    BOOST_TEST(point.is_point());
    BOOST_TEST(!point.empty());
    BOOST_TEST(point.size() == 5u);
    BOOST_TEST(point.total() == 1);
    BOOST_TEST(point.mode() == 3);
    for (augur::token t = 0; t < 5; ++t) BOOST_TEST(point.probability(t) == (t == 3 ? 1.0 : 0.0));
}

BOOST_AUTO_TEST_CASE(the_mode_is_the_first_of_the_largest) {
    BOOST_TEST(distribution::weighted({1, 3, 2, 3, 3}).mode() == 1);
    BOOST_TEST(distribution::weighted({2, 2}).mode() == 0);
    BOOST_TEST(distribution::weighted({0, 0, 1e-45f}).mode() == 2);
    std::mt19937 random(2);
    for (std::size_t i = 0; i < 100; ++i) {
        std::vector<float> weights(1 + random() % 50);
        for (float& weight : weights) weight = static_cast<float>(random() % 4);
        const auto expected = std::max_element(weights.begin(), weights.end()) - weights.begin();
        BOOST_TEST(distribution::weighted(weights).mode() == expected);
    }
}

BOOST_AUTO_TEST_CASE(nothing_can_be_drawn_from_nothing) {
    BOOST_TEST(distribution().empty());
    BOOST_TEST(distribution().size() == 0u);
    BOOST_TEST(distribution::weighted({0, 0}).empty());
    auto row = distribution::point(1, 3);
    row.become_empty(4);
    BOOST_TEST(row.empty());
    BOOST_TEST(!row.is_point());
    BOOST_TEST(row.size() == 4u);
    for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(row[i] == 0);
}

BOOST_AUTO_TEST_CASE(a_point_loses_its_own_token_only) {
    auto row = distribution::point(2, 4);
    row.exclude(1);
    BOOST_TEST(row.is_point());
    BOOST_TEST(row.probability(2) == 1);
    row.exclude(2);
    BOOST_TEST(row.empty());
    BOOST_TEST(row.size() == 4u);
}

BOOST_AUTO_TEST_CASE(storage_is_kept_while_what_it_holds_changes) {
    distribution row = distribution::weighted(std::vector<float>(100, 1));
    const float* storage = nullptr;
    row.refill(100, [&](std::span<float> weights) {
        storage = weights.data();
        for (float& weight : weights) weight = 2;
    });
    BOOST_TEST(row.total() == 200);
    row.become_point(7, 100);
    BOOST_TEST(row.total() == 1);
    row.become_empty(50);
    BOOST_TEST(row.total() == 0);
    row.refill(10, [&](std::span<float> weights) {
        BOOST_TEST(weights.data() == storage);
        BOOST_TEST(weights.size() == 10u);
        for (float& weight : weights) weight = 3;
    });
    BOOST_TEST(row.size() == 10u);
    BOOST_TEST(row.total() == 30);
    BOOST_TEST(row.mode() == 0);
}

/// `row` holds these weights, and sums of its chunks to match.
void check_weights(const distribution& row, const std::vector<float>& weights) {
    BOOST_TEST_REQUIRE(row.size() == weights.size());
    std::vector<double> sums(augur::detail::chunks_in(weights.size()));
    bool same = true;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        same = same && row[i] == static_cast<double>(weights[i]);
        sums[i / augur::detail::chunk_size] += static_cast<double>(weights[i]);  // small integers: exact
    }
    BOOST_TEST(same);
    BOOST_TEST(std::equal(sums.begin(), sums.end(), row.sums().begin(), row.sums().end()));
    BOOST_TEST(row.total() == std::accumulate(sums.begin(), sums.end(), 0.0));
}

BOOST_AUTO_TEST_CASE(what_storage_held_before_leaves_no_trace) {
    std::mt19937 random(3);
    distribution row;
    for (std::size_t i = 0; i < 2000; ++i) {
        const std::size_t size = 1 + random() % 1000;  // up to four chunks
        std::vector<float> weights(size);
        if (random() % 3 > 0) std::ranges::fill(row.lend(size), -7.0f);  // and the next takes it back
        if (random() % 8 == 0) row.become_point(0, size);
        switch (random() % 3) {
            case 0:
                row.become_empty(size);
                break;
            case 1:
                for (float& weight : weights) weight = static_cast<float>(random() % 3);
                row.refill(size, [&](std::span<float> to) { std::ranges::copy(weights, to.begin()); });
                break;
            default:
                weights[random() % size] = 1;
                weights[random() % size] = 2;
                row.refill_few(size, [&](augur::detail::selection& some) {
                    some.kept.clear();
                    for (std::size_t at = 0; at < size; ++at) {
                        if (weights[at] > 0) some.kept.push_back({weights[at], at});
                    }
                });
        }
        check_weights(row, weights);
    }
}

BOOST_AUTO_TEST_CASE(a_refill_that_throws_leaves_nothing_to_draw) {
    for (auto row : {distribution::weighted({1, 2}), distribution::point(0, 2)}) {
        BOOST_CHECK_THROW(row.refill(2, [](std::span<float>) { throw std::runtime_error("row"); }), std::runtime_error);
        BOOST_TEST(row.empty());
        BOOST_TEST(!row.is_point());
        BOOST_TEST(row.size() == 2u);
    }
}

BOOST_AUTO_TEST_CASE(what_a_list_fills_is_what_the_whole_row_would_bit_for_bit) {
    std::mt19937 random(9);
    distribution row;  // one for all, so that nothing of a row before may be left
    std::vector<augur::token> ids;
    for (int round = 0; round < 600; ++round) {
        const std::size_t size = round % 7 == 0 ? 300 : 1100;
        if (round % 3 == 0 || ids.back() >= static_cast<augur::token>(size)) {  // else the list is that of before
            ids = augur::testing::random_listed_row(size, 1 + random() % 200, 0, random).possible;
        }
        std::vector<float> weights(size);
        for (const augur::token id : ids) {
            weights[static_cast<std::size_t>(id)] = random() % 5 == 0 ? 0 : static_cast<float>(random()) * 0x1p-32f;
        }
        row.refill_listed(size, ids, [&](float* to, std::span<const augur::token> some) {
            for (const augur::token id : some) *to++ = weights[static_cast<std::size_t>(id)];
        });
        const auto expected = distribution::weighted(weights);
        BOOST_TEST(row.size() == size);
        BOOST_TEST(!row.is_point());
        BOOST_TEST(row.total() == expected.total());
        BOOST_TEST(std::ranges::equal(row.weights(), expected.weights()));
        BOOST_TEST(std::ranges::equal(row.sums(), expected.sums()));
        switch (random() % 8) {  // and whatever else becomes of it in between
            case 0:
                row.become_point(3, 200);
                break;
            case 1:
                row.become_empty(random() % 2 == 0 ? 900 : 1100);
                break;
            case 2:
                row.refill(1100, [](std::span<float> all) { std::fill(all.begin(), all.end(), 0.5f); });
                break;
            case 3:
                row.refill_few(1100, [](auto& some) { some.kept.assign({{0.5f, 1}, {0.25f, 299}, {1, 1099}}); });
                break;
            case 4:
                row.exclude(ids.front());
                break;
            case 5:
                row.lend(1100)[1000] = 1;
                break;
            case 6:
                row = distribution::weighted(std::vector<float>(1100, 1.0f));
                break;
            default:
                break;
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
