#include "augur/tune/hierarchy.hpp"

#include <algorithm>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/costed_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/tune/throughput.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace augur;
using tune::hierarchy;
using tune::hierarchy_figures;
namespace tt = boost::test_tools;

namespace {

/// Models that get dearer from one to the next; the further apart, the less they agree.
hierarchy_figures random_figures(std::size_t models, std::size_t longest, std::mt19937& random) {
    const auto some = [&](double from, double to) { return std::uniform_real_distribution(from, to)(random); };
    hierarchy_figures of;
    of.pass_seconds.resize(models, {1});
    for (std::size_t i = models; i-- > 0;) {
        auto& seconds = of.pass_seconds[i];
        if (i + 1 < models) seconds = {of.pass_seconds[i + 1].front() / some(1, 12)};
        while (seconds.size() <= longest) seconds.push_back(seconds.back() * some(1, 1.2));
    }
    for (std::size_t drafter = 0; drafter + 1 < models; ++drafter) {
        of.accepted.emplace_back();
        for (std::size_t verifier = 0; verifier < models; ++verifier) {
            const double apart = std::abs(static_cast<double>(verifier) - static_cast<double>(drafter));
            std::vector<double> accepted{std::pow(some(0.6, 1), apart)};
            while (accepted.size() < longest) accepted.push_back(accepted.back() * some(0.6, 1));
            of.accepted.back().push_back(accepted);
        }
    }
    return of;
}

/// Every subset of the draft models in every order, with every lengths.
void for_every_hierarchy(const hierarchy_figures& of, hierarchy begun, const std::function<void(hierarchy)>& see) {
    hierarchy whole = begun;
    whole.models.push_back(of.models() - 1);
    see(whole);
    for (std::size_t model = 0; model + 1 < of.models(); ++model) {
        if (std::find(begun.models.begin(), begun.models.end(), model) != begun.models.end()) continue;
        for (std::size_t length = 1; length <= of.longest(); ++length) {
            hierarchy next = begun;
            next.models.push_back(model);
            next.lengths.push_back(length);
            for_every_hierarchy(of, next, see);
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(tune_hierarchy)

BOOST_AUTO_TEST_CASE(the_best_is_that_of_all_subsets_orders_and_lengths) {
    std::mt19937 random(7);
    std::vector<std::size_t> drafts_used(4);
    for (int i = 0; i < 60; ++i) {
        const std::size_t models = 1 + static_cast<std::size_t>(i % 4), longest = 1 + random() % 4;
        const auto of = random_figures(models, longest, random);
        for (std::size_t most = 0; most < models; ++most) {
            double least = 1e9;
            for_every_hierarchy(of, {}, [&](const hierarchy& each) {
                if (each.lengths.size() <= most) least = std::min(least, tune::seconds_per_token(of, each));
            });
            const hierarchy best = tune::best_hierarchy(of, most);
            BOOST_TEST(best.seconds_per_token == least, tt::tolerance(1e-12));
            BOOST_TEST(best.seconds_per_token == tune::seconds_per_token(of, best), tt::tolerance(1e-12));
            BOOST_TEST(best.lengths.size() <= most);
            if (most + 1 == models) ++drafts_used[best.lengths.size()];
        }
    }
    for (const std::size_t cases : drafts_used) BOOST_TEST(cases > 0u);  // the instances ask for every depth
}

BOOST_AUTO_TEST_CASE(a_cascade_takes_the_time_that_is_expected) {
    const auto clock = std::make_shared<testing::virtual_clock>();
    const auto large = testing::hashed_model(16, 1, 2, 30000);
    const double seconds[] = {0.02, 0.2, 1}, noise[] = {0.25, 0.1};
    const testing::costed_model target(large, {.pass = seconds[2]}, clock);
    const testing::costed_model qualifier(testing::noisy_model(large, noise[1]), {.pass = seconds[1]}, clock);
    const testing::costed_model small(testing::noisy_model(large, noise[0]), {.pass = seconds[0]}, clock);
    hierarchy_figures of;
    for (const double each : seconds) of.pass_seconds.emplace_back(9, each);
    const auto by = [](double rate) { return tune::constant_acceptance(rate, 8); };
    // Both move mass to the same token, so that their rows are as far from each other as their noise.
    of.accepted = {{{}, by(0.85), by(0.75)}, {by(0.85), {}, by(0.9)}};
    const accept::rejection_sampling rule;
    decode::options chosen;
    chosen.stop.max_tokens = 10000;
    for (const auto& [lower, upper] : {std::pair{3u, 8u}, {4u, 1u}}) {
        clock->seconds = 0;
        const scheme::model_link first{policy::fixed_length{lower}, rule}, second{policy::fixed_length{upper}, rule};
        const auto decoded =
            decode::generate(cascaded(small, first, qualifier, second, target), std::vector<token>{1, 2, 3}, chosen);
        const double measured = clock->seconds / static_cast<double>(decoded.tokens.size());
        const double expected = tune::seconds_per_token(of, {{0, 1, 2}, {lower, upper}});
        BOOST_TEST_MESSAGE(lower << ", " << upper << ": " << measured << ", expected " << expected);
        BOOST_TEST(measured == expected, tt::tolerance(0.02));
    }
}

BOOST_AUTO_TEST_CASE(of_two_models_it_is_the_throughput_of_speculative_decoding) {
    const hierarchy_figures of{{{0.1, 0.1, 0.1, 0.1}, {1, 1.1, 1.2, 1.3}}, {{{}, tune::constant_acceptance(0.8, 3)}}};
    for (std::size_t length = 1; length <= 3; ++length) {
        const double tokens = tune::expected_length(std::vector<double>(length, 0.8));
        const double kept = tokens / static_cast<double>(length + 1);
        const tune::verification link{length, kept, of.pass_seconds[1][length]};
        BOOST_TEST(1 / tune::seconds_per_token(of, {{0, 1}, {length}}) == tune::throughput(10, std::vector{link}),
                   tt::tolerance(1e-12));
    }
    BOOST_TEST(tune::seconds_per_token(of, {{1}, {}}) == 1);
}

BOOST_AUTO_TEST_CASE(acceptance_is_of_chains_where_they_stand) {
    // Easy, then hard: of the pairs (1, 1), (1, 0), (0, 0) one stands whole.
    const std::vector<std::vector<double>> text{{1, 1, 0, 0}};
    const auto accepted = tune::measured_acceptance(text, 2);
    BOOST_TEST(accepted[0] == 0.5);
    BOOST_TEST(accepted[1] == 0.25, tt::tolerance(1e-12));  // 1 of 2 that had room and stood
    const std::vector<std::vector<double>> even{{0.5, 0.5, 0.5}, {0.5, 0.5}};
    BOOST_TEST(tune::measured_acceptance(even, 3) == tune::constant_acceptance(0.5, 3), tt::per_element());
    BOOST_TEST(tune::measured_acceptance(std::vector<std::vector<double>>{{0, 0}}, 2)[1] == 0);
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_refused_with_its_values) {
    const auto says = [](const std::string& part) {
        return [part](const error& e) {
            BOOST_TEST_MESSAGE(e.what());
            return std::string(e.what()).find(part) != std::string::npos;
        };
    };
    std::mt19937 random(1);
    const auto good = random_figures(3, 2, random);
    const auto broken = [&](auto change) {
        auto of = good;
        change(of);
        return of;
    };
    const auto refuses = [&](const std::string& part, auto change) {
        BOOST_CHECK_EXCEPTION(tune::best_hierarchy(broken(change)), error, says(part));
    };
    refuses("not of 0", [](auto& of) { of = {}; });
    refuses("there are 1 numbers", [](auto& of) { of.pass_seconds.assign(3, {1}); });
    refuses("model 1, positive and never falling, is 0.001 at 3, after",
            [](auto& of) { of.pass_seconds[1][2] = 0.001; });
    refuses("model 0, positive and never falling, is -1 at 1, after 0", [](auto& of) { of.pass_seconds[0][0] = -1; });
    refuses("model 2, positive and never falling, has 2 numbers; it must have 3",
            [](auto& of) { of.pass_seconds[2].pop_back(); });
    refuses("2 draft models, but acceptance of 1", [](auto& of) { of.accepted.pop_back(); });
    refuses("model 1 drafts for 2 models, not for 3", [](auto& of) { of.accepted[1].pop_back(); });
    refuses("acceptance of 0 by 2, from 1 to 0 and never rising, is 1.5 at 1, after 0",
            [](auto& of) { of.accepted[0][2][0] = 1.5; });
    refuses("acceptance of 0 by 1, from 1 to 0 and never rising, is 1 at 2, after", [](auto& of) {
        of.accepted[0][1] = {0.5, 1};
    });
    const auto misused = [&](const std::string& part, const hierarchy& chosen) {
        BOOST_CHECK_EXCEPTION(tune::seconds_per_token(good, chosen), error, says(part));
    };
    misused("it must end with the target, model 2", {{0, 1}, {1}});
    misused("2 models and 0 lengths", {{0, 2}, {}});
    misused("place 1 of the hierarchy is model 0 with length 1", {{0, 0, 2}, {1, 1}});
    misused("model 0 with length 3", {{0, 2}, {3}});
    BOOST_CHECK_EXCEPTION(tune::constant_acceptance(1.5, 2), error, says("1.5"));
    BOOST_CHECK_EXCEPTION(tune::measured_acceptance(std::vector<std::vector<double>>{{1}}, 2), error,
                          says("2 positions"));
}

BOOST_AUTO_TEST_SUITE_END()
