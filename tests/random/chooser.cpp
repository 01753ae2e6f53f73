#include "augur/random/chooser.hpp"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

#include "sanitized.hpp"

namespace augur::random {
static_assert(Chooser<philox_chooser>);
}  // namespace augur::random

using augur::distribution;
using augur::draw_key;
using augur::purpose;
using augur::random::philox_chooser;

// The generator is a function of its key, so every count below is the same on every run and no bound can flake; the
// bounds are those that true draws keep in all but one of a hundred runs, or more.

namespace {

constexpr purpose purposes[] = {purpose::exponential_race, purpose::draft, purpose::accept, purpose::correction};

std::vector<float> random_weights(std::mt19937& random, std::size_t size) {
    std::gamma_distribution<float> gamma(0.3f);
    std::vector<float> weights(size);
    for (float& weight : weights) weight = random() % 4 == 0 ? 0 : gamma(random);
    weights[random() % size] += 0.1f;
    return weights;
}

/// Pearson's statistic of counts against probabilities, less its degrees of freedom, in standard deviations.
double excess(const std::vector<std::size_t>& counts, const distribution& of, std::size_t draws) {
    double statistic = 0;
    double freedom = -1;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const double expected = of[i] / of.total() * static_cast<double>(draws);
        if (!(expected > 0)) continue;
        const double off = static_cast<double>(counts[i]) - expected;
        statistic += off * off / expected;
        ++freedom;
    }
    return (statistic - freedom) / std::sqrt(2 * std::max(freedom, 1.0));
}

/// What exponential_race is defined to be, with no clock left out.
std::size_t naive_race(const distribution& weights, std::uint64_t seed, std::size_t position) {
    std::size_t winner = 0;
    double earliest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const augur::random::philox_counter counter = {static_cast<std::uint32_t>(i / 4), 0,
                                                       static_cast<std::uint32_t>(position), 0};
        const augur::random::philox_key key = {static_cast<std::uint32_t>(seed),
                                               static_cast<std::uint32_t>(seed >> 32)};
        const double u = augur::random::open_unit_interval(augur::random::philox4x32(counter, key)[i % 4]);
        const double arrival = weights[i] > 0 ? -std::log1p(-u) / weights[i] : INFINITY;
        if (arrival < earliest) {
            earliest = arrival;
            winner = i;
        }
    }
    return winner;
}

double total_variation(const distribution& a, const distribution& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] / a.total() - b[i] / b.total());
    return sum / 2;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_chooser)

static_assert(augur::Chooser<philox_chooser> && augur::Weights<distribution>);
static_assert(!augur::Chooser<int> && !augur::Weights<std::vector<double>>);

BOOST_AUTO_TEST_CASE(what_has_no_weight_is_never_chosen) {
    std::mt19937 random(1);
    for (std::size_t position = 0; position < 2000; ++position) {
        const auto weights = distribution::weighted(random_weights(random, 1 + position % 40));
        const philox_chooser chooser(position % 3);
        for (std::size_t round = 0; round < 3; ++round) {
            BOOST_TEST(weights[chooser.choose(weights, {position, purpose::draft, round})] > 0);
        }
        BOOST_TEST(weights[chooser.exponential_race(weights, position)] > 0);
    }
}

BOOST_AUTO_TEST_CASE(the_only_weight_is_always_chosen) {
    const philox_chooser chooser(2);
    for (std::size_t at = 0; at < 9; ++at) {
        std::vector<float> weights(9);
        weights[at] = at % 2 == 0 ? 1e-45f : 3e38f;
        const auto one = distribution::weighted(weights);
        for (std::size_t position = 0; position < 50; ++position) {
            BOOST_TEST(chooser.choose(one, {position, purpose::correction, 0}) == at);
            BOOST_TEST(chooser.exponential_race(one, position) == at);
            BOOST_TEST(chooser.exponential_race(distribution::point(static_cast<int>(at), 9), position) == at);
        }
    }
}

BOOST_AUTO_TEST_CASE(probability_zero_never_happens_and_one_always_does) {
    for (std::size_t position = 0; position < 10000; ++position) {
        const philox_chooser chooser(position % 7);
        const draw_key key{position, purpose::accept, position % 5};
        BOOST_TEST(!chooser.flip(0, key));
        BOOST_TEST(chooser.flip(1, key));
        BOOST_TEST(!chooser.flip(std::numeric_limits<double>::quiet_NaN(), key));
    }
}

BOOST_AUTO_TEST_CASE(a_flip_is_monotone_in_its_probability_and_has_its_frequency) {
    const philox_chooser chooser(3);
    constexpr std::size_t draws = augur::testing::unless_sanitized(100000, 20000);
    for (const double probability : {0.001, 0.1, 0.5, 0.9, 0.999}) {
        std::size_t times = 0;
        for (std::size_t position = 0; position < draws; ++position) {
            const draw_key key{position, purpose::accept, 0};
            const bool happened = chooser.flip(probability, key);
            times += happened;
            if (happened) BOOST_TEST(chooser.flip(std::min(1.0, probability * 1.5), key));
        }
        const double deviation = std::sqrt(probability * (1 - probability) * draws);
        BOOST_TEST(std::abs(static_cast<double>(times) - probability * draws) < 4 * deviation);
    }
}

BOOST_AUTO_TEST_CASE(equal_arguments_give_equal_answers_whatever_was_drawn_between) {
    std::mt19937 random(4);
    const philox_chooser chooser(0x0123456789abcdef);
    const philox_chooser twin(0x0123456789abcdef);
    const auto weights = distribution::weighted(random_weights(random, 100));
    std::vector<std::size_t> forwards;
    for (std::size_t position = 0; position < 300; ++position) {
        forwards.push_back(chooser.choose(weights, {position, purpose::draft, 7}));
        forwards.push_back(chooser.exponential_race(weights, position));
    }
    for (std::size_t position = 300; position-- > 0;) {
        BOOST_TEST(twin.exponential_race(weights, position) == forwards[2 * position + 1]);
        BOOST_TEST(twin.choose(weights, {position, purpose::draft, 7}) == forwards[2 * position]);
    }
}

BOOST_AUTO_TEST_CASE(choices_have_the_frequencies_of_their_weights) {
    std::mt19937 random(5);
    for (const std::size_t size : {2u, 5u, 17u, 64u}) {
        const auto weights = distribution::weighted(random_weights(random, size));
        const philox_chooser chooser(size);
        constexpr std::size_t draws = augur::testing::unless_sanitized(100000, 20000);
        std::vector<std::size_t> chosen(size);
        std::vector<std::size_t> raced(size);
        for (std::size_t position = 0; position < draws; ++position) {
            ++chosen[chooser.choose(weights, {position, purpose::draft, 1})];
            ++raced[chooser.exponential_race(weights, position)];
        }
        BOOST_TEST(excess(chosen, weights, draws) < 4.5, "choose, " << size << " weights");
        BOOST_TEST(excess(raced, weights, draws) < 4.5, "race, " << size << " weights");
    }
}

BOOST_AUTO_TEST_CASE(choose_inverts_the_cumulative_distribution) {
    // Halves, quarters and so on: which is chosen says how many leading bits of the uniform are ones.
    const auto weights = distribution::weighted({8, 4, 2, 1, 1});
    const philox_chooser chooser(6);
    for (std::size_t position = 0; position < 1000; ++position) {
        const auto words = augur::random::philox4x32(
            {0, static_cast<std::uint32_t>(purpose::draft), static_cast<std::uint32_t>(position), 9}, {6, 0});
        const auto ones = static_cast<std::size_t>(std::countl_one(words[0]));
        BOOST_TEST(chooser.choose(weights, {position, purpose::draft, 9}) == std::min<std::size_t>(ones, 4));
    }
}

BOOST_AUTO_TEST_CASE(keys_that_differ_anywhere_are_independent) {
    // Pairs of draws from ten equal weights, under keys that differ in one field: all hundred pairs equally often.
    const auto weights = distribution::weighted(std::vector<float>(10, 0.1f));
    const auto pairs = distribution::weighted(std::vector<float>(100, 0.01f));
    constexpr std::size_t draws = augur::testing::unless_sanitized(40000, 10000);
    const auto independent = [&](auto first, auto second) {
        std::vector<std::size_t> counts(100);
        for (std::size_t position = 0; position < draws; ++position) {
            ++counts[10 * first(position) + second(position)];
        }
        return excess(counts, pairs, draws) < 4.5;
    };
    const auto draw = [&](std::uint64_t seed, std::size_t shift, purpose why, std::size_t round) {
        return [&weights, seed, shift, why, round](std::size_t position) {
            return philox_chooser(seed).choose(weights, {position + shift, why, round});
        };
    };
    const auto base = draw(1, 0, purpose::draft, 0);
    BOOST_TEST(!independent(base, base));
    for (const purpose why : purposes) {
        if (why != purpose::draft) BOOST_TEST(independent(base, draw(1, 0, why, 0)));
    }
    for (const std::size_t shift : {1u, 2u, 4096u}) BOOST_TEST(independent(base, draw(1, shift, purpose::draft, 0)));
    for (const std::size_t round : {1u, 2u, 4096u}) BOOST_TEST(independent(base, draw(1, 0, purpose::draft, round)));
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{2}, (std::uint64_t{1} << 32) + 1}) {
        BOOST_TEST(independent(base, draw(seed, 0, purpose::draft, 0)));
    }
    const auto in_a_tree = [&](std::size_t node, std::size_t sibling) {
        return [&weights, node, sibling](std::size_t position) {
            return philox_chooser(1).choose(weights, {position, purpose::draft, 0, node, sibling});
        };
    };
    BOOST_TEST(!independent(base, in_a_tree(0, 0)));
    for (const std::size_t other : {1u, 2u, 100u}) {
        BOOST_TEST(independent(base, in_a_tree(other, 0)));
        BOOST_TEST(independent(base, in_a_tree(0, other)));
        BOOST_TEST(independent(in_a_tree(0, other), in_a_tree(other, 0)));
    }
    const auto race = [&](std::size_t shift) {
        return [&weights, shift](std::size_t position) {
            return philox_chooser(1).exponential_race(weights, position + shift);
        };
    };
    BOOST_TEST(independent(base, race(0)));
    BOOST_TEST(independent(race(0), race(1)));
}

BOOST_AUTO_TEST_CASE(every_place_of_a_tree_has_a_name_of_its_own_and_chains_have_the_one_they_had) {
    std::set<augur::random::philox_counter> seen;
    for (std::size_t node = 0; node < 40; ++node) {
        for (std::size_t sibling = 0; sibling < 40; ++sibling) {
            for (const purpose why : purposes) {
                const auto counter = augur::random::counter_of({7, why, 3, node, sibling}, 0);
                const bool is_new = seen.insert(counter).second;
                // The noise of a race belongs to the position, wherever in the tree it is asked for.
                BOOST_TEST(is_new == (why != purpose::exponential_race || (node == 0 && sibling == 0)));
            }
        }
    }
    const std::size_t most_nodes = (std::size_t{1} << 20) - 1, most_siblings = 4095;
    BOOST_TEST(seen.insert(augur::random::counter_of({7, purpose::draft, 3, most_nodes, most_siblings}, 0)).second);
    for (const purpose why : purposes) {
        const augur::random::philox_counter before{5, static_cast<std::uint32_t>(why), 7, 3};
        BOOST_TEST((augur::random::counter_of({7, why, 3}, 5) == before));
    }
}

/// Writes down under which names it is asked.
struct noting_chooser {
    std::vector<draw_key>* names;
    std::size_t choose(const augur::Weights auto&, draw_key key) { return names->push_back(key), 0; }
    bool flip(double, draw_key key) { return names->push_back(key), true; }
    std::size_t exponential_race(const augur::Weights auto& weights, std::size_t position) {
        names->push_back({position, purpose::exponential_race, 0});
        return weights.size() - 1;
    }
};

BOOST_AUTO_TEST_CASE(draws_are_named_by_position_round_node_and_sibling) {
    std::vector<draw_key> names;
    noting_chooser chooser{&names};
    const auto row = distribution::weighted({1, 2, 3});
    augur::position_draws draws(chooser, 5, 2, 3);
    draws.flip(0.5, purpose::accept);
    draws.at_sibling(1);
    draws.choose(row, purpose::correction);
    draws.exponential_race(row);
    const std::vector<draw_key> expected{
        {5, purpose::accept, 2, 3, 0}, {5, purpose::correction, 2, 3, 1}, {5, purpose::exponential_race, 0, 0, 0}};
    BOOST_TEST((names == expected));
    augur::position_draws chain(chooser, 5, 2);
    chain.flip(0.5, purpose::accept);
    BOOST_TEST((names.back() == draw_key{5, purpose::accept, 2}));
}

BOOST_AUTO_TEST_CASE(a_race_that_is_run_once_is_remembered_across_siblings) {
    std::vector<draw_key> names;
    noting_chooser chooser{&names};
    augur::position_draws draws(chooser, 5, 2);
    const auto row = distribution::weighted({1, 2, 3});
    BOOST_TEST(draws.exponential_race_once(row) == 2u);
    draws.at_sibling(1);
    BOOST_TEST(draws.exponential_race_once(row) == 2u);
    BOOST_TEST(names.size() == 1u);
    draws.exponential_race(row);
    BOOST_TEST(names.size() == 2u);
    augur::position_draws other(chooser, 6, 2);
    BOOST_TEST(other.exponential_race_once(distribution::point(1, 3)) == 1u);  // nothing to race
    BOOST_TEST(names.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_race_is_the_first_arrival_of_all_its_clocks) {
    std::mt19937 random(7);
    for (std::size_t position = 0; position < augur::testing::unless_sanitized(3000u, 1000u); ++position) {
        auto weights = random_weights(random, 1 + random() % 200);
        if (position % 3 == 0) {  // peaked, as the rows of language models are: most clocks cannot win
            for (float& weight : weights) weight *= std::exp(-static_cast<float>(random() % 60));
        }
        const auto row = distribution::weighted(weights);
        const std::uint64_t seed = (std::uint64_t{random()} << 32) | random();
        BOOST_TEST(philox_chooser(seed).exponential_race(row, position) == naive_race(row, seed, position));
    }
    constexpr std::size_t flat_rows = augur::testing::unless_sanitized(20u, 5u);  // each clock of which is late
    for (std::size_t position = 0; position < flat_rows; ++position) {
        const auto flat = distribution::weighted(std::vector<float>(100000, 1e-5f));
        BOOST_TEST(philox_chooser(7).exponential_race(flat, position) == naive_race(flat, 7, position));
    }
}

/// The last clock of a chunk wins by a millionth, so early that whole steps of 2^-24 in its number are too coarse.
BOOST_AUTO_TEST_CASE(a_race_is_won_however_closely) {
    constexpr std::size_t size = 64, first = 3, last = 63;
    constexpr std::uint64_t seed = 7;
    const augur::random::philox_key key{7, 0};
    std::size_t found = 0;
    for (std::size_t position = 0; position < 40000; ++position) {
        const augur::random::chunk_of_words words(0, position, key);
        if (words[last] >> 8 >= 5000) continue;
        ++found;
        const auto late = [&](std::size_t clock) {
            return -std::log1p(-augur::random::open_unit_interval(words[clock]));
        };
        std::vector<float> weights(size, 1e-30f);
        weights[first] = 1e-3f;
        const double time = late(first) / static_cast<double>(weights[first]);
        weights[last] = static_cast<float>(late(last) / time * (1 + 1e-6));
        BOOST_TEST(philox_chooser(seed).exponential_race(distribution::weighted(weights), position) == last);
    }
    BOOST_TEST(found > 5u);
}

BOOST_AUTO_TEST_CASE(a_race_does_not_see_the_scale_of_its_weights) {
    std::mt19937 random(8);
    const philox_chooser chooser(8);
    for (std::size_t position = 0; position < 1000; ++position) {
        const auto weights = random_weights(random, 1 + random() % 50);
        const auto row = distribution::weighted(weights);
        for (const float scale : {0x1p-60f, 0.3f, 3.0f, 0x1p60f}) {
            auto scaled = weights;
            for (float& weight : scaled) weight *= scale;
            BOOST_TEST(chooser.exponential_race(distribution::weighted(scaled), position) ==
                       chooser.exponential_race(row, position));
        }
    }
}

BOOST_AUTO_TEST_CASE(close_weights_agree_as_often_as_shared_exponential_clocks_promise) {
    // Of two distributions at total variation d, raced on the same clocks, both have the same winner with probability
    // at least (1-d)/(1+d) (Bavarian et al. 2016, "The optimality of correlated sampling").
    std::mt19937 random(9);
    for (const float distance : {0.0f, 0.01f, 0.1f, 0.5f, 2.0f}) {
        const auto weights = random_weights(random, 20);
        auto nearby = weights;
        for (float& weight : nearby) weight *= std::exp(distance * (static_cast<float>(random() % 2001) / 1000 - 1));
        const auto a = distribution::weighted(weights);
        const auto b = distribution::weighted(nearby);
        constexpr std::size_t draws = 20000;
        std::size_t agreed = 0;
        for (std::size_t position = 0; position < draws; ++position) {
            const philox_chooser chooser(9);
            agreed += chooser.exponential_race(a, position) == chooser.exponential_race(b, position);
        }
        const double d = total_variation(a, b);
        const double promised = (1 - d) / (1 + d);
        const double deviation = std::sqrt(promised * (1 - promised) / draws);
        BOOST_TEST(static_cast<double>(agreed) / draws >= promised - 4 * deviation, "total variation " << d);
        if (distance == 0) BOOST_TEST(agreed == draws);
    }
}

BOOST_AUTO_TEST_CASE(weights_of_any_size_are_drawn_from) {
    const philox_chooser chooser(10);
    const float subnormal = std::numeric_limits<float>::denorm_min();
    std::vector<float> weights(1001, subnormal);
    weights[500] = 1;
    const auto mixed = distribution::weighted(weights);
    const auto tiny = distribution::weighted(std::vector<float>(1001, 1e-38f));
    const auto huge = distribution::weighted(std::vector<float>(1001, std::numeric_limits<float>::max()));
    std::vector<std::size_t> blocks(11);
    for (std::size_t position = 0; position < 1000; ++position) {
        const draw_key key{position, purpose::draft, 0};
        BOOST_TEST(chooser.choose(mixed, key) == 500u);
        BOOST_TEST(chooser.exponential_race(mixed, position) == 500u);
        BOOST_TEST(chooser.choose(tiny, key) == chooser.choose(huge, key));
        BOOST_TEST(chooser.exponential_race(tiny, position) == chooser.exponential_race(huge, position));
        ++blocks[chooser.exponential_race(tiny, position) / 100];
    }
    for (std::size_t block = 0; block < 10; ++block) BOOST_TEST(blocks[block] > 50u);
}

/// Weights that are no distribution.
struct any_weights {
    const distribution& of;
    std::size_t size() const { return of.size(); }
    double operator[](std::size_t i) const { return of[i]; }
    double total() const { return of.total(); }
};

BOOST_AUTO_TEST_CASE(bound_to_a_position_the_answers_are_the_same) {
    std::mt19937 random(11);
    const auto weights = distribution::weighted(random_weights(random, 30));
    philox_chooser chooser(11);
    for (std::size_t position = 0; position < 100; ++position) {
        augur::position_draws draws(chooser, position, 3);
        for (const purpose why : purposes) {
            BOOST_TEST(draws.choose(weights, why) == chooser.choose(weights, {position, why, 3}));
            BOOST_TEST(draws.flip(0.4, why) == chooser.flip(0.4, {position, why, 3}));
        }
        BOOST_TEST(draws.exponential_race(weights) == chooser.exponential_race(weights, position));
        BOOST_TEST(draws.exponential_race(any_weights{weights}) == chooser.exponential_race(weights, position));
        BOOST_TEST(draws.exponential_race(distribution::point(5, 30)) == 5u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
