#include "augur/tune/turns.hpp"

#include <augur/decode/generate.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/switching/step.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

using namespace augur;
namespace tt = boost::test_tools;

namespace {
const std::vector<token> prompt{1, 2, 3};

decode::options drawn(float temperature, std::uint64_t seed) {
    decode::options chosen{.seed = seed};
    chosen.stop.max_tokens = 60;
    chosen.sampling.temperature.value = temperature;
    return chosen;
}

switching::rolling_entropy turns(double threshold) {
    return switching::rolling_entropy({.thresholds_bits = {threshold}, .window = 2, .dwell = 3});
}

/// softmax(row / temperature), or certainty in the mode.
std::vector<double> law(const testing::function_model& model, std::span<const token> before, double temperature,
                        float presence = 0) {
    std::vector<float> row(model.vocabulary_size());
    model.fill_row(before, row);
    const std::set<token> generated(before.begin() + static_cast<std::ptrdiff_t>(prompt.size()), before.end());
    for (const token t : generated) row[static_cast<std::size_t>(t)] -= presence;
    std::vector<double> p(row.size(), 0);
    const auto mode = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    if (temperature == 0) return p[mode] = 1, p;
    double total = 0;
    for (std::size_t i = 0; i < p.size(); ++i) total += p[i] = std::exp((row[i] - row[mode]) / temperature);
    for (double& each : p) each /= total;
    return p;
}
}  // namespace

BOOST_AUTO_TEST_SUITE(tune_turns)

/// Token by token from the definition.
double by_definition(const testing::function_model& small, const testing::function_model& large, double threshold,
                     std::span<const token> text, double temperature, float presence) {
    auto policy = turns(threshold);
    std::vector<token> before = prompt;
    std::size_t writer = 0;
    double sum = 0;
    for (const token t : text) {
        const auto& model = writer == 0 ? small : large;
        const auto own = law(model, before, temperature, presence), best = law(large, before, temperature, presence);
        for (std::size_t i = 0; i < own.size(); ++i) sum += std::abs(own[i] - best[i]) / 2;
        double bits = 0;
        for (const double p : law(model, before, 1)) bits -= p > 0 ? p * std::log2(p) : 0;
        writer = policy.next_model(writer, bits);
        before.push_back(t);
    }
    return sum;
}

BOOST_AUTO_TEST_CASE(the_distance_is_the_writers_from_the_best) {
    const auto small = testing::hashed_model(6, 1, 2), large = testing::hashed_model(6, 2, 2);
    for (const double threshold : {0.0, 1.2, 1.6, 2.0, 99.0}) {
        for (const auto& [temperature, presence] : {std::pair(0.0f, 0.0f), {0.7f, 0.0f}, {1.0f, 0.0f}, {1.0f, 0.8f}}) {
            auto chosen = drawn(temperature, 7);
            chosen.sampling.penalties.presence = presence;
            const auto scheme = switched(small, large, turns(threshold));
            const auto decoded = decode::generate<any_guarantee>(scheme, prompt, chosen);
            const double expected = by_definition(small, large, threshold, decoded.tokens, temperature, presence);
            const double found = tune::divergence_of_turns(scheme, prompt, decoded.tokens, chosen.sampling);
            BOOST_TEST(found == expected, tt::tolerance(1e-6));
            if (threshold == 99.0) BOOST_TEST(found > 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_best_model_is_at_no_distance_from_itself) {
    const auto small = testing::hashed_model(6, 1, 2), large = testing::hashed_model(6, 2, 2);
    const auto scheme = switched(small, large, turns(0)).with({.first = 1});
    const auto decoded = decode::generate<any_guarantee>(scheme, prompt, drawn(1, 3));
    BOOST_TEST(tune::divergence_of_turns(scheme, prompt, decoded.tokens, {}) == 0);
    BOOST_TEST(tune::divergence_of_turns(scheme, prompt, {}, {}) == 0);
}

BOOST_AUTO_TEST_CASE(a_text_that_cannot_be_read_is_refused) {
    const auto small = testing::hashed_model(6, 1, 2, 8), large = testing::hashed_model(6, 2, 2, 16);
    const auto scheme = switched(small, large, turns(1));
    const std::vector<token> text(6, 1);  // the last token is not read
    BOOST_CHECK_NO_THROW(tune::divergence_of_turns(scheme, prompt, text, {}));
    const std::vector<token> longer(7, 1);
    BOOST_CHECK_EXCEPTION(tune::divergence_of_turns(scheme, prompt, longer, {}), error, [](const error& e) {
        return std::string(e.what()) == "a prompt of 3 tokens and a text of 7 do not fit a context of 8";
    });
    BOOST_CHECK_THROW(tune::divergence_of_turns(scheme, {}, text, {}), error);
}

BOOST_AUTO_TEST_SUITE_END()
