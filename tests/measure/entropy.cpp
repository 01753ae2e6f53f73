#include "augur/measure/entropy.hpp"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "listed_rows.hpp"

using namespace augur::measure;

BOOST_AUTO_TEST_SUITE(measure_entropy)

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// softmax(row), as the definition says, in 64 bits of mantissa.
std::vector<long double> softmax(const std::vector<float>& row) {
    const long double maximum = *std::max_element(row.begin(), row.end());
    std::vector<long double> probabilities;
    long double sum = 0;
    for (float x : row) probabilities.push_back(std::exp(static_cast<long double>(x) - maximum));
    for (long double p : probabilities) sum += p;
    for (long double& p : probabilities) p /= sum;
    return probabilities;
}

/// -sum p log(p + offset) with p = softmax(row).
double literal_entropy(const std::vector<float>& row, long double offset = 0) {
    long double entropy = 0;
    for (long double p : softmax(row)) {
        if (p > 0) entropy -= p * std::log(p + offset);
    }
    return static_cast<double>(entropy);
}

std::vector<float> random_row(std::mt19937& random, std::size_t size) {
    std::normal_distribution<float> normal;
    const float spreads[] = {0, 0.01f, 1, 3, 10, 100, 3000};
    const float offsets[] = {0, 1, -1, 40, -200, 5000, -5000};
    const float spread = spreads[random() % std::size(spreads)];
    const float offset = offsets[random() % std::size(offsets)];
    std::vector<float> row(size);
    for (float& x : row) x = offset + spread * normal(random);
    return row;
}

bool close(double a, double b, double tolerance) {
    return std::abs(a - b) <= tolerance * (1 + std::abs(b));
}

}  // namespace

BOOST_AUTO_TEST_CASE(random_rows_have_the_entropy_of_the_definition) {
    std::mt19937 random(1);
    for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t size = i < 200 ? i + 1 : 1 + random() % 5000;
        const auto row = random_row(random, size);
        const double expected = literal_entropy(row);
        BOOST_TEST(close(entropy_nats(row), expected, 5e-7), entropy_nats(row) << " for " << expected);
        BOOST_TEST(entropy_nats(row) >= 0);
        BOOST_TEST(entropy_nats(row) <= std::log(static_cast<double>(size)) + 1e-6);
        BOOST_TEST(entropy_bits(row) == entropy_nats(row) / std::log(2.0));
    }
}

BOOST_AUTO_TEST_CASE(small_entropies_are_right_to_one_per_cent_of_themselves) {
    // Both terms of log s - t/s are positive; what is lost are weights next to 1 in a block's float sum.
    for (const float below : {5.0f, 20.0f, 40.0f, 80.0f}) {
        std::vector<float> row(1000, 100 - below);
        row[777] = 100;
        const double expected = literal_entropy(row);
        BOOST_TEST(std::abs(entropy_nats(row) / expected - 1) < 1e-2, entropy_nats(row) << " for " << expected);
    }
}

BOOST_AUTO_TEST_CASE(equal_logits_give_the_logarithm_of_their_number) {
    for (const std::size_t size : {1u, 2u, 63u, 64u, 65u, 1000u, 128256u}) {
        for (const float level : {0.0f, -5000.0f, 3e38f, -3e38f}) {
            const std::vector<float> row(size, level);
            BOOST_TEST(entropy_nats(row) == std::log(static_cast<double>(size)));
        }
    }
    BOOST_TEST(close(entropy_bits(std::vector<float>(1024, 1.0f)), 10, 1e-15));
}

BOOST_AUTO_TEST_CASE(one_possible_token_has_no_entropy) {
    for (const std::size_t at : {0u, 63u, 64u, 999u}) {
        std::vector<float> row(1000, -infinity);
        row[at] = -3;
        BOOST_TEST(entropy_nats(row) == 0);
        std::fill(row.begin(), row.end(), std::numeric_limits<float>::lowest());
        row[at] = std::numeric_limits<float>::max();  // the distance overflows float
        BOOST_TEST(entropy_nats(row) == 0);
    }
}

BOOST_AUTO_TEST_CASE(impossible_tokens_do_not_count) {
    std::mt19937 random(2);
    for (std::size_t i = 0; i < 100; ++i) {
        auto row = random_row(random, 1 + random() % 300);
        const double before = entropy_nats(row);
        auto padded = row;
        for (std::size_t n = random() % 500; n > 0; --n) {
            padded.insert(padded.begin() + static_cast<std::ptrdiff_t>(random() % (padded.size() + 1)), -infinity);
        }
        BOOST_TEST(close(entropy_nats(padded), before, 1e-6));
    }
    std::vector<float> two(200, -infinity);
    two[3] = two[150] = 7;
    BOOST_TEST(entropy_nats(two) == std::log(2.0));
}

BOOST_AUTO_TEST_CASE(a_row_without_a_softmax_is_maximally_uncertain) {
    std::vector<float> nothing(130, -infinity);
    BOOST_TEST(entropy_nats(nothing) == infinity);
    BOOST_TEST(entropy_bits(nothing) == infinity);
    BOOST_TEST(entropy_nats_offset(nothing) == infinity);
    BOOST_TEST(std::isnan(log_probability(nothing, 5)));
    BOOST_TEST(entropy_nats(std::vector<float>{}) == infinity);
    for (const float bad : {not_a_number, -not_a_number, infinity}) {
        for (const std::size_t at : {0u, 1u, 64u, 129u, 300u, 599u}) {
            for (const float others : {0.0f, -infinity, 3e38f}) {
                std::vector<float> row(600, others);  // of three chunks, the others of which are larger
                std::fill_n(row.begin() + static_cast<std::ptrdiff_t>(at / 256 * 256), at < 512 ? 256 : 88, -1e4f);
                row[at] = bad;
                BOOST_TEST(entropy_nats(row) == infinity);
                BOOST_TEST(entropy_bits(row) == infinity);
                BOOST_TEST(entropy_nats_offset(row) == infinity);
                BOOST_TEST(std::isnan(log_probability(row, 5)));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(moments_merge_in_any_order_and_grouping) {
    std::mt19937 random(3);
    for (std::size_t i = 0; i < 200; ++i) {
        const auto row = random_row(random, 1 + random() % 2000);
        const softmax_moments whole = moments(row);
        std::vector<softmax_moments> parts;
        for (std::size_t begin = 0; begin < row.size();) {
            const std::size_t size = std::min(row.size() - begin, random() % 200);
            parts.push_back(moments(augur::logit_row(row).subspan(begin, size)));  // some are empty
            begin += size;
        }
        while (parts.size() > 1) {
            std::swap(parts[random() % parts.size()], parts.back());
            const softmax_moments last = parts.back();
            parts.pop_back();
            std::swap(parts[random() % parts.size()], parts.back());
            parts.back() = random() % 2 == 0 ? merge(parts.back(), last) : merge(last, parts.back());
        }
        BOOST_TEST(parts[0].maximum == whole.maximum);
        BOOST_TEST(close(parts[0].sum, whole.sum, 1e-6));
        BOOST_TEST(close(parts[0].moment, whole.moment, 1e-6));
    }
}

BOOST_AUTO_TEST_CASE(one_bad_part_spoils_the_whole) {
    const softmax_moments good = moments(std::vector<float>{1, 2, 3});
    const softmax_moments empty = moments(std::vector<float>(3, -infinity));
    BOOST_TEST(merge(good, empty).sum == good.sum);
    BOOST_TEST(merge(empty, good).moment == good.moment);
    BOOST_TEST(!merge(empty, empty).defined());
    for (const float value : {not_a_number, infinity}) {
        const softmax_moments bad = moments(std::vector<float>{1, value, 9});
        BOOST_TEST(!merge(good, bad).defined());
        const softmax_moments lower = moments(std::vector<float>{-9, value, -8});  // than the maximum of the good part
        BOOST_TEST(!merge(good, lower).defined());
        BOOST_TEST(!merge(lower, good).defined());
        BOOST_TEST(!merge(bad, good).defined());
        BOOST_TEST(!merge(merge(good, bad), good).defined());
    }
}

BOOST_AUTO_TEST_CASE(the_published_form_is_the_literal_formula) {
    std::mt19937 random(4);
    for (std::size_t i = 0; i < 100; ++i) {
        const auto row = random_row(random, 1 + random() % 2000);
        for (const double offset : {1e-9, 1e-4}) {
            const double expected = literal_entropy(row, static_cast<long double>(offset));
            BOOST_TEST(close(entropy_nats_offset(row, offset), expected, 1e-6));
        }
        const double bias = entropy_nats(row) - entropy_nats_offset(row);
        BOOST_TEST(std::abs(bias) <= 1e-9 * static_cast<double>(row.size()) + 5e-6);
    }
    BOOST_TEST(entropy_nats_offset(std::vector<float>{0, -infinity}) == -std::log(1 + 1e-9));
}

BOOST_AUTO_TEST_CASE(a_distribution_has_the_entropy_of_its_probabilities) {
    using augur::distribution;
    std::mt19937 random(5);
    for (std::size_t i = 0; i < 100; ++i) {
        std::vector<float> weights(1 + random() % 500);
        for (float& weight : weights) weight = random() % 3 == 0 ? 0 : static_cast<float>(random() % 1000) * 1e-3f;
        weights[0] += 1;
        const auto drawn_from = distribution::weighted(weights);
        long double expected = 0;
        long double sum = 0;
        for (float w : weights) sum += static_cast<long double>(w);
        for (float w : weights) {
            const long double p = static_cast<long double>(w) / sum;
            if (p > 0) expected -= p * std::log(p);
        }
        BOOST_TEST(close(entropy_nats(drawn_from), static_cast<double>(expected), 1e-13));
        for (float& weight : weights) weight *= 0x1p-100f;
        BOOST_TEST(close(entropy_nats(distribution::weighted(weights)), static_cast<double>(expected), 1e-12));
    }
    BOOST_TEST(entropy_nats(distribution::point(3, 10)) == 0);
    BOOST_TEST(entropy_nats(distribution::weighted({0, 5, 0})) == 0);
    BOOST_TEST(entropy_nats(distribution::weighted({0, 0})) == infinity);
    BOOST_TEST(entropy_nats(distribution()) == infinity);
}

BOOST_AUTO_TEST_CASE(log_probabilities_are_those_of_the_softmax) {
    std::mt19937 random(6);
    for (std::size_t i = 0; i < 100; ++i) {
        const auto row = random_row(random, 1 + random() % 1000);
        const auto probabilities = softmax(row);
        for (std::size_t t = 0; t < row.size(); t += 1 + row.size() / 7) {
            if (probabilities[t] > 0) {
                const auto expected = static_cast<double>(std::log(probabilities[t]));
                BOOST_TEST(close(log_probability(row, static_cast<augur::token>(t)), expected, 1e-6));
            }
        }
    }
    BOOST_TEST(log_probability(std::vector<float>{-infinity, 2}, 0) == -infinity);
    BOOST_TEST(log_probability(std::vector<float>{-infinity, 2}, 1) == 0);
}

BOOST_AUTO_TEST_CASE(the_exponential_keeps_its_relative_error) {
    double worst = 0;
    const std::uint32_t last = std::bit_cast<std::uint32_t>(87.0f);
    for (std::uint32_t bits = 0; bits <= last; bits += 997) {
        const float x = -std::bit_cast<float>(bits);
        const double exact = std::exp(static_cast<double>(x));
        worst = std::max(worst, std::abs(static_cast<double>(augur::detail::exp_nonpositive(x)) / exact - 1));
    }
    BOOST_TEST(worst < 2e-7);
    BOOST_TEST(augur::detail::exp_nonpositive(0) == 1);
    BOOST_TEST(augur::detail::exp_nonpositive(-87) > 0);
    for (const float x : {-87.01f, -1e30f, -infinity}) BOOST_TEST(augur::detail::exp_nonpositive(x) == 0);
}

BOOST_AUTO_TEST_CASE(confidence_is_the_largest_probability) {
    const auto of = [](const std::vector<float>& row) {
        return augur::measure::confidence(augur::measure::moments(row));
    };
    BOOST_TEST(of({0, 0, 0, 0}) == 0.25);
    BOOST_TEST(of({1, 3, 2}) == 1 / (1 + std::exp(-1.0) + std::exp(-2.0)), boost::test_tools::tolerance(1e-6));
    BOOST_TEST(of({-INFINITY, 5}) == 1);
    BOOST_TEST(of({-INFINITY, -INFINITY}) == 0);
    BOOST_TEST(of({0, NAN}) == 0);
    BOOST_TEST(of({0, INFINITY}) == 0);
}

BOOST_AUTO_TEST_CASE(a_row_without_a_softmax_has_no_confidence) {
    const auto confidence_of = [](const std::vector<float>& row) { return confidence(moments(row)); };
    BOOST_TEST(confidence_of({0, -1}) == 1 / (1 + std::exp(-1)), boost::test_tools::tolerance(1e-6));
    BOOST_TEST(confidence_of({0, -infinity}) == 1);
    for (const float bad : {infinity, not_a_number}) BOOST_TEST(confidence_of({0, bad, -1}) == 0);
    BOOST_TEST(confidence_of({-infinity, -infinity}) == 0);
    std::vector<float> long_row(augur::detail::chunk_size + 1, 0);
    long_row.back() = not_a_number;  // in a chunk of its own
    BOOST_TEST(confidence_of(long_row) == 0);
}

/// A random row, of which some tokens have no logit in another one.
struct pruned_row {
    std::vector<float> whole, kept;
    std::size_t others = 0;
    double missing = 0;

    pruned_row(std::mt19937& random, std::size_t size) : whole(random_row(random, size)), kept(whole) {
        const auto probabilities = softmax(whole);
        const auto share = static_cast<unsigned>(random() % 10);
        for (std::size_t i = 1; i < size; ++i) {  // the first is kept
            if (random() % 10 >= share) continue;
            kept[i] = -infinity;
            ++others;
            missing += static_cast<double>(probabilities[i]);
        }
        missing = std::min(missing, 1.0);
    }
};

BOOST_AUTO_TEST_CASE(the_whole_entropy_lies_within_the_bounds_that_a_pruned_row_leaves) {
    std::mt19937 random(5);
    double widest = 0;
    for (int trial = 0; trial < 3000; ++trial) {
        const pruned_row row(random, 2 + random() % 60);
        const double kept = entropy_nats(row.kept), whole = entropy_nats(row.whole);
        const entropy_bounds bounds = whole_entropy(kept, row.missing, row.others);
        BOOST_REQUIRE(bounds.least_nats <= whole + 1e-6 * (1 + whole));
        BOOST_REQUIRE(bounds.most_nats >= whole - 1e-6 * (1 + whole));
        // whatever is missing
        BOOST_REQUIRE(whole <= std::log(std::exp(kept) + static_cast<double>(row.others)) + 1e-6);
        widest = std::max(widest, bounds.most_nats - bounds.least_nats);
        if (row.others == 0) BOOST_REQUIRE(bounds.least_nats == bounds.most_nats);
    }
    BOOST_TEST(widest > 1);
}

BOOST_AUTO_TEST_CASE(both_bounds_of_the_whole_entropy_are_reached) {
    const auto logits = [](std::initializer_list<double> probabilities) {
        std::vector<float> row;
        for (const double p : probabilities) row.push_back(p > 0 ? static_cast<float>(std::log(p)) : -infinity);
        return row;
    };
    const double kept = entropy_nats(logits({0.75, 0.25}));
    const entropy_bounds bounds = whole_entropy(kept, 0.2, 4);
    const auto tolerance = boost::test_tools::tolerance(1e-6);
    BOOST_TEST(bounds.least_nats == entropy_nats(logits({0.6, 0.2, 0.2, 0, 0, 0})), tolerance);
    BOOST_TEST(bounds.most_nats == entropy_nats(logits({0.6, 0.2, 0.05, 0.05, 0.05, 0.05})), tolerance);
    BOOST_TEST(whole_entropy(kept, 0, 0).least_nats == kept);
    BOOST_TEST(whole_entropy(kept, 0, 7).most_nats == kept);
    BOOST_TEST(whole_entropy(kept, 1, 8).least_nats == 0);
    BOOST_TEST(whole_entropy(kept, 1, 8).most_nats == std::log(8.0));
    BOOST_TEST(whole_entropy(kept, 1, 1).most_nats == 0);
}

BOOST_AUTO_TEST_CASE(impossible_missing_probabilities_are_refused_with_their_values) {
    const auto says = [](const std::string& part) {
        return [part](const augur::error& e) { return std::string(e.what()).find(part) != std::string::npos; };
    };
    for (const double missing : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
        BOOST_CHECK_EXCEPTION(whole_entropy(1, missing, 5), augur::error, says("must be in [0, 1]"));
    }
    BOOST_CHECK_EXCEPTION(whole_entropy(1, 0.25, 0), augur::error, says("a probability of 0.25 is missing"));
}

BOOST_AUTO_TEST_CASE(a_row_that_names_its_possible_tokens_has_the_same_moments_bit_for_bit) {
    const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    augur::testing::for_listed_rows([&](const augur::testing::listed_row& row) {
        const auto got = moments(row.named()), expected = moments(row.plain());
        BOOST_TEST(got.maximum == expected.maximum);
        BOOST_TEST(got.valid == expected.valid);
        BOOST_TEST(bits(got.sum) == bits(expected.sum));
        BOOST_TEST(bits(got.moment) == bits(expected.moment));
        BOOST_TEST(bits(entropy_nats(row.named())) == bits(entropy_nats(row.plain())));
        BOOST_TEST(bits(confidence(got)) == bits(confidence(expected)));
        const augur::token some = row.possible.back();
        BOOST_TEST(bits(log_probability(row.named(), some)) == bits(log_probability(row.plain(), some)));
        BOOST_TEST(bits(entropy_nats_offset(row.named())) == bits(entropy_nats_offset(row.plain())));
    });
}

BOOST_AUTO_TEST_SUITE_END()
