#include "augur/tune/advice.hpp"

#include <algorithm>
#include <augur/tune/throughput.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace augur;
using tune::drafted_chains;

BOOST_AUTO_TEST_SUITE(tune_advice)

const auto close_to = boost::test_tools::tolerance(1e-12);

/// Ten rounds: four draft nothing, two one token, four three.
const drafted_chains mixed{10, {6, 4, 4}, {5, 2, 1}};

BOOST_AUTO_TEST_CASE(a_round_costs_what_its_length_does) {
    const std::vector<double> costs = {1, 1.5, 2, 2.5};
    BOOST_TEST(mixed.tokens_per_round(3) == 1.8, close_to);
    BOOST_TEST(tune::speedup_of(mixed, costs, 3) == 18 / (4 * 1 + 2 * 1.5 + 4 * 2.5), close_to);
    BOOST_TEST(tune::speedup_of(mixed, costs, 9) == tune::speedup_of(mixed, costs, 3));
    BOOST_TEST(tune::speedup_of(mixed, costs, 2) == 17 / (4 * 1 + 2 * 1.5 + 4 * 2.0), close_to);
    BOOST_TEST(tune::speedup_of(mixed, costs, 1) == 15 / (4 * 1 + 6 * 1.5), close_to);
    BOOST_TEST(tune::speedup_of(mixed, costs, 0) == 1.0, close_to);
}

BOOST_AUTO_TEST_CASE(a_fixed_length_is_the_throughput_model) {
    const double rates[] = {0.75, 0.5, 0.5};
    const drafted_chains text{64, {64, 64, 64}, {48, 24, 12}};
    const double token = 0.1, pass = 1.4;
    const std::vector<double> costs = {1, 0, 0, 3 * token + pass};
    const double tokens = tune::expected_length(rates);
    const tune::verification link{.length = 3, .kept = tokens / 4, .pass_seconds = pass};
    BOOST_TEST(tune::speedup_of(text, costs, 3) == tune::throughput(1 / token, std::span(&link, 1)), close_to);
}

BOOST_AUTO_TEST_CASE(an_interval_holds_the_middle_and_narrows_with_texts) {
    std::mt19937 random(3);
    const auto interval = [&](std::size_t texts, double noise) {
        std::vector<drafted_chains> all;
        for (std::size_t i = 0; i < texts; ++i) all.push_back({100, {100}, {40 + random() % 41}});
        std::vector<std::vector<double>> turns;
        for (int i = 0; i < 9; ++i) turns.push_back({1, 1.2 + noise * (i - 4)});
        return tune::estimated_speedup(all, turns, 1);
    };
    const auto few = interval(8, 0), many = interval(200, 0), noisy = interval(200, 0.05);
    for (const auto& each : {few, many, noisy}) {
        BOOST_TEST(each.low <= each.middle);
        BOOST_TEST(each.middle <= each.high);
    }
    BOOST_TEST(many.middle == 1.6 / 1.2, boost::test_tools::tolerance(0.05));
    double width_of_few = 0;
    for (int repeat = 0; repeat < 10; ++repeat) {
        const auto another = interval(8, 0);
        width_of_few += (another.high - another.low) / 10;
    }
    BOOST_TEST(many.high - many.low < 0.6 * width_of_few);
    BOOST_TEST(noisy.high - noisy.low > 2 * (many.high - many.low));
    // One turn of a hundred is in no nine of ten repetitions.
    const std::vector<drafted_chains> same(3, drafted_chains{10, {10}, {5}});
    for (const double odd : {0.1, 50.0}) {
        std::vector<std::vector<double>> turns(100, {1, 1.2});
        turns[50][1] = odd;
        const auto usual = tune::estimated_speedup(same, turns, 1);
        BOOST_TEST(usual.low == 1.5 / 1.2, close_to);
        BOOST_TEST(usual.high == 1.5 / 1.2, close_to);
    }
    // Two turns of three say a twentieth of the third's speed: repetitions may differ by more than the middle.
    const auto wild = tune::estimated_speedup(same, std::vector<std::vector<double>>{{1, 15}, {1, 15}, {1, 0.15}}, 1);
    BOOST_TEST(wild.middle == 0.1, close_to);
    BOOST_TEST(wild.low == 0);  // and no speed is below nothing
    BOOST_TEST(wild.high > 1);
    const std::vector<drafted_chains> one{mixed};
    const std::vector<std::vector<double>> turn{{1, 1, 1, 1}};
    const auto certain = tune::estimated_speedup(one, turn, 3);
    BOOST_TEST(certain.low == 1.8, close_to);
    BOOST_TEST(certain.high == 1.8, close_to);
}

/// Other texts and other turns of the same kind, many times: how many of a hundred figures lie in the interval of
/// another repetition.
double share_inside(std::size_t texts, std::size_t turns, double noise, double width) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    const auto repeat = [&](std::uint32_t resamples) {
        std::vector<drafted_chains> all;
        for (std::size_t i = 0; i < texts; ++i) {
            const double rate = std::clamp(0.5 + width * normal(random), 0.05, 0.95);
            all.push_back({1000, {1000}, {static_cast<std::size_t>(1000 * rate)}});
        }
        std::vector<std::vector<double>> costs;
        for (std::size_t i = 0; i < turns; ++i) costs.push_back({1, 1.2 * std::exp(noise * normal(random))});
        return tune::estimated_speedup(all, costs, 1, resamples);
    };
    const int repetitions = 400;
    int inside = 0;
    for (int i = 0; i < repetitions; ++i) {
        const tune::estimate found = repeat(200);
        const double other = repeat(0).middle;
        inside += found.low <= other && other <= found.high;
    }
    return 1.0 * inside / repetitions;
}

BOOST_AUTO_TEST_CASE(nine_of_ten_repetitions_lie_in_the_interval) {
    for (const auto& [texts, turns, noise, width] :
         {std::tuple{8u, 5u, 0.0, 0.2}, {28u, 5u, 0.0, 0.2}, {28u, 9u, 0.1, 0.0}, {8u, 30u, 0.1, 0.0}}) {
        const double share = share_inside(texts, turns, noise, width);
        BOOST_TEST(share > 0.84, share << " of " << texts << " texts and " << turns << " turns");
        BOOST_TEST(share < 0.96, share << " of " << texts << " texts and " << turns << " turns");
    }
}

BOOST_AUTO_TEST_CASE(an_interval_narrows_with_turns) {
    const std::vector<drafted_chains> same(3, drafted_chains{10, {10}, {5}});
    std::mt19937 random(7);
    const auto mean_width = [&](std::size_t turns) {
        double sum = 0;
        for (int repeat = 0; repeat < 20; ++repeat) {
            std::vector<std::vector<double>> costs;
            for (std::size_t i = 0; i < turns; ++i) {
                costs.push_back({1, 1.2 + 0.001 * static_cast<double>(random() % 200)});
            }
            const auto found = tune::estimated_speedup(same, costs, 1);
            sum += found.high - found.low;
        }
        return sum / 20;
    };
    BOOST_TEST(mean_width(81) < 0.5 * mean_width(9));  // about a third
}

BOOST_AUTO_TEST_CASE(without_resamples_there_is_the_figure_alone) {
    const std::vector<drafted_chains> texts{mixed};
    const std::vector<std::vector<double>> turns{{1, 1, 1, 1}, {1, 2, 3, 4}};
    const auto found = tune::estimated_speedup(texts, turns, 3, 0);
    BOOST_TEST(found.middle == tune::estimated_speedup(texts, turns, 3).middle);
    BOOST_TEST(found.low == found.middle);
    BOOST_TEST(found.high == found.middle);
}

BOOST_AUTO_TEST_CASE(costs_lie_on_the_line_between_those_that_were_measured) {
    const std::size_t lengths[] = {0, 1, 4};
    const double costs[] = {1, 2, 3.5};
    const std::vector<double> expected = {1, 2, 2.5, 3, 3.5, 4, 4.5};
    const auto found = tune::interpolated(lengths, costs, 6);
    BOOST_TEST(found == expected, boost::test_tools::per_element());
    BOOST_TEST(tune::interpolated(lengths, costs, 0).size() == 1u);
    BOOST_CHECK_THROW(tune::interpolated(std::span(lengths, 1), std::span(costs, 1), 2), error);
}

BOOST_AUTO_TEST_CASE(a_round_takes_no_longer_than_one_that_does_more) {
    std::vector<double> seconds = {5, 2, 3, 9, 4, 6};
    const std::vector<double> expected = {2, 2, 3, 4, 4, 6};
    tune::calm(seconds);
    BOOST_TEST(seconds == expected, boost::test_tools::per_element());
    tune::calm({});
}

BOOST_AUTO_TEST_CASE(medians) {
    BOOST_TEST(tune::median_of({3, 1, 2}) == 2.0);
    BOOST_TEST(tune::median_of({4, 1, 2, 3}) == 2.5);
    BOOST_CHECK_THROW(tune::median_of({}), error);
}

/// The fastest of rounds that take these seconds, and how many there were.
std::pair<double, std::size_t> fastest_of(const std::vector<double>& seconds) {
    std::size_t runs = 0;
    const double fastest = tune::fastest_after_the_first([&] { return seconds.at(runs++); });
    return {fastest, runs};
}

BOOST_AUTO_TEST_CASE(the_first_round_is_not_counted) {
    const auto is = [](const std::pair<double, std::size_t>& found, double fastest, std::size_t runs) {
        BOOST_TEST(found.first == fastest);
        BOOST_TEST(found.second == runs);
    };
    is(fastest_of({0.2, 0.3}), 0.3, 2);
    is(fastest_of({0.1, 0.3, 0.2}), 0.2, 3);
    is(fastest_of({0.01, 0.05, 0.04, 0.06}), 0.04, 4);
    is(fastest_of({0.0001, 9, 8, 7, 6, 1, 2, 3, 4}), 1, 9);
}

BOOST_AUTO_TEST_CASE(what_no_decoding_did_is_refused_with_its_values) {
    const auto refuses = [](const std::function<void()>& what, const std::string& expected) {
        BOOST_CHECK_EXCEPTION(what(), error, [&](const error& e) {
            BOOST_TEST(std::string(e.what()).find(expected) != std::string::npos, e.what());
            return true;
        });
    };
    BOOST_CHECK_NO_THROW(tune::check(mixed, "file"));
    refuses([] { tune::check({0, {}, {}}, "file"); }, "file: there are 0 rounds");
    refuses([] { tune::check({5, {3}, {}}, "file"); }, "1 positions were drafted, but 0 judged");
    refuses([] { tune::check({5, {6}, {1}}, "file"); }, "at position 0 6 were drafted and 1 accepted");
    refuses([] { tune::check({5, {4}, {5}}, "file"); }, "at position 0 4 were drafted and 5 accepted");
    refuses([] { tune::check({5, {4, 5}, {1, 1}}, "file"); }, "at position 1 5 were drafted");
    refuses([] { tune::check({5, {4, 4}, {1, 2}}, "file"); }, "at position 1 4 were drafted and 2 accepted");
    const std::vector<double> costs = {1, 2};
    refuses([&] { tune::speedup_of(mixed, costs, 3); }, "costs are known of 2 lengths, but drafts have 3 tokens");
    refuses([&] { tune::speedup_of(mixed, costs, 2); }, "costs are known of 2 lengths, but drafts have 2 tokens");
    refuses([] { tune::estimated_speedup({}, {}, 1); }, "0 texts and 0 turns");
}

BOOST_AUTO_TEST_SUITE_END()
