#include "augur/transform/pipeline.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "listed_rows.hpp"
#include "transform/rows.hpp"

using augur::distribution;
using augur::prefix;
using augur::token;
using augur::transform::pipeline;
using augur::transform::settings;

namespace {

/// All but the mask, one after the other, from the definitions.
std::vector<double> literal(const settings& chosen, std::vector<float> row, const prefix& before) {
    for (const auto& [t, by] : chosen.bias.added) row[static_cast<std::size_t>(t)] += by;
    row = rows::after(chosen.penalties, row, before);
    for (float& x : row) x /= chosen.temperature.value;
    const auto order = rows::ranked(row);
    const auto remove_if = [&](auto unwanted) {
        const auto probabilities = rows::softmax(row);
        const double largest = *std::max_element(probabilities.begin(), probabilities.end());
        double mass = 0;
        for (std::size_t rank = 0; rank < order.size(); ++rank) {
            const std::size_t i = order[rank];
            if (unwanted(rank, probabilities[i], largest, mass)) row[i] = -rows::infinity;
            mass += probabilities[i];
        }
    };
    const std::size_t k = chosen.top_k.k;
    const auto p = static_cast<double>(chosen.top_p.p);
    const auto fraction = static_cast<double>(chosen.min_p.p);
    if (k > 0) remove_if([&](std::size_t rank, double, double, double) { return rank >= k; });
    if (p < 1) remove_if([&](std::size_t, double, double, double mass) { return mass >= p; });
    remove_if([&](std::size_t, double here, double largest, double) { return here < fraction * largest; });
    return rows::softmax(row);
}

void check_equal(const distribution& got, const std::vector<double>& expected) {
    BOOST_TEST_REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const double probability = got.probability(static_cast<token>(i));
        BOOST_TEST((probability > 0) == (expected[i] > 0), "token " << i);
        BOOST_TEST(std::abs(probability - expected[i]) < 1e-6, probability << " for " << expected[i]);
    }
}

settings at_temperature(float value) {
    return {.temperature = {value}};
}

std::string refusal(const settings& chosen, std::size_t vocabulary_size) {
    try {
        const pipeline refused(chosen, vocabulary_size);
    } catch (const augur::error& e) {
        return e.what();
    }
    return "";
}

/// One case of tests/data/transform/vectors.txt; the format is described in make_vectors.py beside it.
struct vector_case {
    settings chosen;
    std::vector<token> tokens;
    std::vector<float> row;
    std::vector<double> probabilities;
};

std::istringstream line_of(std::istream& file, const std::string& what) {
    std::string line;
    std::getline(file, line);
    std::istringstream words(line);
    std::string name;
    words >> name;
    BOOST_TEST_REQUIRE(name == what);
    return words;
}

vector_case read_case(std::istream& file) {
    vector_case read;
    std::istringstream words = line_of(file, "settings");
    std::map<std::string, float> named;
    for (std::string name; words >> name;) words >> named[name];
    read.chosen.temperature.value = named.at("temperature");
    read.chosen.top_k.k = static_cast<std::size_t>(named.at("top_k"));
    read.chosen.top_p.p = named.at("top_p");
    read.chosen.min_p.p = named.at("min_p");
    read.chosen.penalties.repetition = named.at("repetition");
    words = line_of(file, "tokens");
    for (token t = 0; words >> t;) read.tokens.push_back(t);
    words = line_of(file, "bias");
    char colon = 0;
    token t = 0;
    for (float by = 0; words >> t >> colon >> by;) read.chosen.bias.added.emplace_back(t, by);
    words = line_of(file, "row");
    double probability = 0;
    for (float logit = 0; words >> logit >> colon >> probability;) {
        read.row.push_back(logit);
        read.probabilities.push_back(probability);
    }
    return read;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(transform_pipeline)

BOOST_AUTO_TEST_CASE(transformers_makes_the_same_distributions) {
    std::ifstream file(AUGUR_TEST_DATA "/transform/vectors.txt");
    std::size_t cases = 0;
    for (; file.peek() != std::ifstream::traits_type::eof(); ++cases) {
        const vector_case expected = read_case(file);
        BOOST_TEST_CONTEXT("case " << cases) {
            BOOST_TEST_REQUIRE(expected.row.size() == 48u);
            const pipeline transform(expected.chosen, expected.row.size());
            check_equal(transform(expected.row, prefix(expected.tokens)), expected.probabilities);
        }
    }
    BOOST_TEST(cases == 24u);
}

BOOST_AUTO_TEST_CASE(all_together_are_the_definitions_in_order) {
    std::mt19937 random(1);
    for (std::size_t i = 0; i < 300; ++i) {
        const std::size_t size = 2 + random() % (i % 4 == 0 ? 700 : 200);  // up to three chunks
        settings chosen;
        if (random() % 2) chosen.bias.added = {{0, 1.5f}, {1, -2.5f}};
        if (random() % 2) chosen.penalties = {.repetition = 1.2f, .presence = 0.3f, .frequency = 0.1f};
        if (random() % 2) chosen.temperature.value = 0.2f + static_cast<float>(random() % 30) / 10;
        if (random() % 2) chosen.top_k.k = 1 + random() % (size + 5);
        if (random() % 2) chosen.top_p.p = static_cast<float>(1 + random() % 99) / 100;
        if (random() % 2) chosen.min_p.p = static_cast<float>(random() % 30) / 100;
        const auto row = rows::normal(random, size);
        const auto prompt = rows::tokens(random, 10, size);
        prefix before(prompt);
        for (token t : rows::tokens(random, 10, size)) before.push(t);
        const pipeline transform(chosen, size);
        check_equal(transform(row, before), literal(chosen, row, before));
    }
}

BOOST_AUTO_TEST_CASE(the_defaults_are_plain_softmax) {
    std::mt19937 random(2);
    for (const std::size_t size : {1u, 7u, 1000u}) {
        const auto row = rows::normal(random, size);
        check_equal(pipeline({}, size)(row, {}), rows::softmax(row));
        for (const float by : {-1000.0f, 1000.0f}) {
            auto shifted = row;
            for (float& x : shifted) x += by;
            check_equal(pipeline({}, size)(shifted, {}), rows::softmax(shifted));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_mask_sees_what_bias_and_penalties_made) {
    const std::vector<token> prompt = {2};
    std::vector<float> seen;
    settings chosen{.bias = {{{0, 1.5f}}}, .penalties = {.repetition = 2}, .temperature = {0.5f}};
    chosen.mask = [&](std::span<float> logits, const prefix&) { seen.assign(logits.begin(), logits.end()); };
    pipeline(chosen, 3)(std::vector<float>{1, 3, 4}, prefix(prompt));
    const std::vector<float> expected = {2.5f, 3, 2};
    BOOST_TEST(seen == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(greedy_is_all_mass_on_the_first_largest) {
    std::mt19937 random(3);
    const prefix nothing;
    for (std::size_t i = 0; i < 300; ++i) {
        const std::size_t size = 1 + random() % 100;
        const auto row = rows::coarse(random, size);
        settings chosen = at_temperature(0);
        if (i % 3 == 1) chosen.bias.added = {{0, 0.0f}};  // the way through the edits
        if (i % 3 == 2) chosen.top_k.k = 1 + random() % 3;
        const distribution weights = pipeline(chosen, size)(row, nothing);
        BOOST_TEST(weights.is_point());
        BOOST_TEST(weights.size() == size);
        BOOST_TEST(weights.mode() == std::max_element(row.begin(), row.end()) - row.begin());
    }
}

BOOST_AUTO_TEST_CASE(ranks_are_of_edited_logits_at_any_temperature) {
    const std::vector<float> row{1, 4, 2, 4, -1};
    const auto ranks = [&](settings chosen, std::size_t count) {
        std::vector<token> out{7};
        std::vector<float> work;
        pipeline(std::move(chosen), 5).rank(row, prefix(), count, out, work);
        return out;
    };
    using tokens = std::vector<token>;
    for (const float temperature : {0.0f, 0.5f, 2.0f}) {
        BOOST_TEST(ranks({.temperature = {temperature}, .top_k = {1}}, 3) == (tokens{1, 3, 2}));
        BOOST_TEST(ranks({.temperature = {temperature}}, 9) == (tokens{1, 3, 2, 0, 4}));
        settings edited{.temperature = {temperature}};
        edited.bias.added = {{0, 9.0f}};
        edited.mask = [](std::span<float> logits, const prefix&) { logits[1] = -INFINITY; };
        BOOST_TEST(ranks(edited, 9) == (tokens{0, 3, 2, 4}));
    }
    BOOST_TEST(ranks({}, 0) == tokens());
    std::vector<token> none{7};
    std::vector<float> work;
    pipeline({}, 5).rank(std::vector<float>{1, NAN, 2, 3, 4}, prefix(), 2, none, work);
    BOOST_TEST(none == tokens());
    settings hides;  // what makes the row invalid
    hides.mask = [](std::span<float> logits, const prefix&) { logits[1] = -INFINITY; };
    none = {7};
    pipeline(hides, 5).rank(std::vector<float>{1, NAN, 2, 3, 4}, prefix(), 2, none, work);
    BOOST_TEST(none == tokens());
}

BOOST_AUTO_TEST_CASE(greedy_follows_bias_penalties_and_mask) {
    const std::vector<token> prompt = {2};
    settings chosen = at_temperature(0);
    const std::vector<float> row = {1, 3, 4, 2};
    const auto greedy = [&] { return pipeline(chosen, 4)(row, prefix(prompt)).mode(); };
    BOOST_TEST(greedy() == 2);
    chosen.penalties.repetition = 2;
    BOOST_TEST(greedy() == 1);
    chosen.mask = [](std::span<float> logits, const prefix&) { logits[1] = -rows::infinity; };
    BOOST_TEST(greedy() == 2);  // 4 / 2 ties with 2: the lower id
    chosen.bias.added = {{0, 1.5f}};
    BOOST_TEST(greedy() == 0);
}

BOOST_AUTO_TEST_CASE(history_is_that_of_the_position) {
    settings chosen;
    chosen.penalties.frequency = 1;
    chosen.mask = [](std::span<float> logits, const prefix& before) {  // no token twice in a row
        if (before.size() > 0) logits[static_cast<std::size_t>(before.tokens().back())] = -rows::infinity;
    };
    const pipeline transform(chosen, 4);
    std::mt19937 random(4);
    const std::vector<token> prompt = {3, 1};
    prefix before(prompt);
    const auto row = rows::normal(random, 4);
    const distribution plain = transform(row, before);
    {
        augur::speculative_suffix drafted(before);
        prefix rebuilt(prompt);
        for (const token t : {0, 2, 0, 0, 1}) {
            drafted.push(t);
            rebuilt.push(t);
            const distribution here = transform(row, before);
            const distribution there = transform(row, rebuilt);
            for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(here[i] == there[i]);
            BOOST_TEST(here[static_cast<std::size_t>(t)] == 0);
        }
    }
    const distribution again = transform(row, before);
    for (std::size_t i = 0; i < 4; ++i) BOOST_TEST(again[i] == plain[i]);
}

BOOST_AUTO_TEST_CASE(a_mask_comes_before_the_cuts) {
    settings chosen{.top_k = {2}};
    chosen.mask = [](std::span<float> logits, const prefix&) { logits[0] = logits[1] = -rows::infinity; };
    const distribution row = pipeline(chosen, 5)(std::vector<float>{9, 8, 3, 2, 1}, {});
    BOOST_TEST(row[0] + row[1] + row[4] == 0);
    BOOST_TEST(row[2] > row[3]);
    BOOST_TEST(row[3] > 0);
}

BOOST_AUTO_TEST_CASE(rows_that_say_nothing_give_an_empty_distribution) {
    const auto finite_only = [](std::span<float> logits, const prefix&) {  // bans the very tokens whose logits are none
        for (float& logit : logits) logit = std::isfinite(logit) ? logit : -rows::infinity;
    };
    const std::vector<settings> choices = {
        {},
        at_temperature(0),
        {.mask = finite_only},
        {.mask = finite_only, .temperature = {0}},
        {.mask = finite_only, .temperature = {0.7f}, .top_k = {3}, .top_p = {0.9f}, .min_p = {0.1f}},
        {.penalties = {1.5f, 0.5f, 0.5f}, .temperature = {0}},
        {.bias = {{{1, 1.0f}}}, .temperature = {0.5f}, .top_k = {3}, .top_p = {0.9f}, .min_p = {0.1f}},
    };
    const std::vector<token> prompt = {1, 2};
    for (const settings& chosen : choices) {
        for (const std::size_t size : {9u, 600u}) {  // of one chunk, and of several
            const pipeline transform(chosen, size);
            distribution weights = transform(std::vector<float>(size, 1), prefix(prompt));
            BOOST_TEST(!weights.empty());
            for (const float bad : {rows::not_a_number, -rows::not_a_number, rows::infinity}) {
                for (std::size_t at = 0; at < size; at += 1 + size / 16) {
                    for (const float others : {0.0f, -rows::infinity}) {
                        std::vector<float> row(size, others);
                        row[at] = bad;
                        transform.apply(row, prefix(prompt), weights);
                        BOOST_TEST(weights.empty());
                        BOOST_TEST(!weights.is_point());
                        BOOST_TEST(weights.size() == size);
                        bool nothing = true;
                        for (std::size_t i = 0; i < size; ++i) nothing = nothing && weights[i] == 0;
                        BOOST_TEST(nothing);
                    }
                }
            }
            transform.apply(std::vector<float>(size, -rows::infinity), prefix(prompt), weights);
            BOOST_TEST(weights.empty());
            transform.apply(std::vector<float>(size, 1), prefix(prompt), weights);
            BOOST_TEST(!weights.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(all_tokens_masked_give_an_empty_distribution) {
    for (const float value : {0.0f, 0.7f, 1.0f}) {
        settings chosen = at_temperature(value);
        chosen.top_k.k = 2;
        chosen.top_p.p = 0.5f;
        chosen.min_p.p = 0.5f;
        chosen.mask = [](std::span<float> logits, const prefix&) {
            std::fill(logits.begin(), logits.end(), -rows::infinity);
        };
        BOOST_TEST(pipeline(chosen, 4)(std::vector<float>{1, 2, 3, 4}, {}).empty());
    }
    const settings banned{.bias = {{{0, -rows::infinity}, {1, -rows::infinity}}}};
    BOOST_TEST(pipeline(banned, 2)(std::vector<float>{1, 2}, {}).empty());
}

BOOST_AUTO_TEST_CASE(logits_that_overflow_on_the_way_give_an_empty_distribution) {
    const std::vector<float> row = {3e38f, 0};
    for (const float value : {0.0f, 0.5f, 1.0f}) {
        settings chosen = at_temperature(value);
        chosen.bias.added = {{0, 3e38f}};
        BOOST_TEST(pipeline(chosen, 2)(row, {}).empty());
        chosen.bias.added = {{0, 1.0f}};
        BOOST_TEST(pipeline(chosen, 2)(row, {}).mode() == 0);
    }
}

BOOST_AUTO_TEST_CASE(extreme_temperatures_keep_to_their_limits) {
    const std::vector<float> row = {1, 2, 2, -5};
    check_equal(pipeline(at_temperature(1e-30f), 4)(row, {}), {0, 0.5, 0.5, 0});
    check_equal(pipeline(at_temperature(3e38f), 4)(row, {}), {0.25, 0.25, 0.25, 0.25});
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_mask_passes_and_leaves_the_distribution_empty) {
    settings chosen;
    chosen.mask = [](std::span<float>, const prefix& before) {
        if (before.size() > 0) throw std::runtime_error("no grammar");
    };
    const pipeline transform(chosen, 2);
    const std::vector<float> row = {1, 2};
    const std::vector<token> prompt = {1};
    distribution weights = transform(row, {});
    BOOST_CHECK_THROW(transform.apply(row, prefix(prompt), weights), std::runtime_error);
    BOOST_TEST(weights.empty());
}

BOOST_AUTO_TEST_CASE(settings_that_mean_nothing_are_refused_at_construction) {
    BOOST_TEST(refusal({}, 5) == "");
    BOOST_TEST(refusal({}, 0) == "the vocabulary size is 0; there is nothing to draw from");
    BOOST_TEST(refusal({.bias = {{{5, 1.0f}}}}, 5) == "logit bias names token 5, but the vocabulary has 5");
    BOOST_TEST(refusal({.penalties = {.repetition = 0}}, 5).starts_with("repetition penalty is 0"));
    BOOST_TEST(refusal(at_temperature(-1), 5).starts_with("temperature is -1"));
    BOOST_TEST(refusal({.top_p = {2}}, 5).starts_with("top_p is 2"));
    BOOST_TEST(refusal({.min_p = {-1}}, 5).starts_with("min_p is -1"));
    const pipeline pipe({.temperature = {0}, .top_k = {3}}, 5);
    BOOST_TEST(pipe.greedy());
    BOOST_TEST(pipe.vocabulary_size() == 5u);
    BOOST_TEST(pipe.chosen().top_k.k == 3u);
    BOOST_TEST(!pipeline({}, 5).greedy());
}

/// Settings of all kinds, edits included. The last two of those make something else of -infinity: a mask that does not
/// only remove, and a penalty that overflows.
std::vector<settings> many_settings() {
    std::vector<settings> all;
    for (const float temperature : {0.0f, 1.0f, 0.7f, 30.0f}) {
        for (const int cut : {0, 1, 2, 3, 4, 5}) {
            for (const int edit : {0, 1, 2, 3, 4}) {
                settings chosen = at_temperature(temperature);
                if (cut == 1 || cut == 4) chosen.top_k.k = cut == 1 ? 3 : 700;
                if (cut == 2 || cut == 4) chosen.top_p.p = 0.9f;
                if (cut == 3 || cut == 5) chosen.min_p.p = 0.05f;
                if (cut == 5) chosen.top_k.k = 20;
                if (edit == 1) chosen.bias.added = {{0, 3.0f}};
                if (edit == 2) chosen.penalties = {.repetition = 1.3f, .presence = 0.2f, .frequency = -0.5f};
                if (edit == 3) chosen.mask = [](std::span<float> row, const prefix&) { row.back() = 1; };
                if (edit == 4) chosen.penalties = {.frequency = -3e38f};
                all.push_back(chosen);
            }
        }
    }
    return all;
}

BOOST_AUTO_TEST_CASE(a_row_that_names_its_possible_tokens_gives_the_same_bit_for_bit) {
    prefix before(std::vector<token>{0});
    for (const token each : {0, 0, 0}) before.push(each);
    const auto all = many_settings();
    std::size_t next = 0;
    distribution weights;  // one for all, so that nothing of a row before may be left
    augur::testing::for_listed_rows([&](const augur::testing::listed_row& row) {
        for (int some = 0; some < 12; ++some) {
            const pipeline transform(all[next++ % all.size()], row.logits.size());
            const distribution expected = transform(row.plain(), before);
            transform.apply(row.named(), before, weights);
            BOOST_TEST(weights.size() == expected.size());
            BOOST_TEST(weights.empty() == expected.empty());
            BOOST_TEST(weights.is_point() == expected.is_point());
            BOOST_TEST(weights.total() == expected.total());
            if (weights.is_point()) {
                BOOST_TEST(weights.mode() == expected.mode());
            } else {
                BOOST_TEST(std::ranges::equal(weights.weights(), expected.weights()));
                BOOST_TEST(std::ranges::equal(weights.sums(), expected.sums()));
            }
            for (const std::size_t count : {1u, 4u, 40u}) {
                std::vector<token> ranked, expected_ranks;
                std::vector<float> work, expected_work;
                const auto logits = transform.rank(row.named(), before, count, ranked, work);
                const auto expected_logits = transform.rank(row.plain(), before, count, expected_ranks, expected_work);
                BOOST_TEST(ranked == expected_ranks, boost::test_tools::per_element());
                const auto same = [](float a, float b) { return a == b || (a != a && b != b); };
                BOOST_TEST(std::ranges::equal(logits, expected_logits, same));
                std::vector<bool> named(logits.size(), logits.possible().empty());
                for (const token id : logits.possible()) named[static_cast<std::size_t>(id)] = true;
                for (std::size_t i = 0; i < named.size(); ++i) {
                    if (!named[i] && logits[i] != -rows::infinity) BOOST_ERROR("token " << i << " is possible");
                }
            }
        }
    });
}

/// What top-p leaves may lack the largest logit: of weights that are equal as floats it keeps the lower id.
BOOST_AUTO_TEST_CASE(min_p_compares_with_the_largest_that_top_p_left) {
    const std::vector<float> row{0.0f, 2.9e-8f, 1e-8f, -3.0f};
    const prefix before(std::vector<token>{0});
    for (const float share : {0.2f, 0.5f, 0.9f}) {
        for (const float fraction : {1.0f, 0.9999999f, 0.5f}) {
            for (const float temperature : {1.0f, 50.0f}) {
                const settings chosen{.temperature = {temperature}, .top_p = {share}, .min_p = {fraction}};
                std::vector<float> each = row;
                chosen.temperature(each, before);
                chosen.top_p(each, before);
                chosen.min_p(each, before);
                const distribution weights = pipeline(chosen, row.size())(row, before);
                BOOST_TEST(!weights.empty());
                for (std::size_t i = 0; i < row.size(); ++i) {
                    BOOST_TEST((weights.probability(static_cast<token>(i)) > 0) == std::isfinite(each[i]),
                               "token " << i << ", top-p " << share << ", min-p " << fraction);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
