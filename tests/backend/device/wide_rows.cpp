// What kernels make of rows of up to 140,000 tokens, around the numbers at which ids are cut and vectors end: as on the
// host, whose criteria are judged there by testing::criterion_laws (known bug 78).

#include "augur/testing/wide_rows.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/fuzzy.hpp"
#include "augur/accept/multipath_block.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/traversal.hpp"
#include "augur/accept/typical.hpp"
#include "augur/backend/device/round.hpp"
#include "augur/backend/device/row_masks.hpp"
#include "augur/transform/pipeline.hpp"
#include "backend/device/random_rounds.hpp"
#include "backend/device/random_trees.hpp"
#include "sanitized.hpp"
#include "transform/rows.hpp"

namespace device = augur::backend::device;
namespace accept = augur::accept;
using augur::distribution;
using augur::token;
using augur::transform::settings;
using device::emulated_system;

BOOST_AUTO_TEST_SUITE(backend_wide_rows)

/// Forwards and backwards.
const std::vector<emulated_system> emulated{{false}, {true}};

std::vector<token> window(std::mt19937& random, std::size_t vocabulary) {
    const auto places = augur::testing::far_places(vocabulary);
    return augur::testing::some_places(places, random() % places.size(), 4);
}

/// Few logits, with ties; all others impossible, or far below.
std::vector<float> far_row(std::mt19937& random, std::size_t vocabulary, const std::vector<token>& tokens) {
    std::vector<float> row(vocabulary, random() % 3 == 0 ? -12.0f : -rows::infinity);
    for (const token t : tokens) row[static_cast<std::size_t>(t)] = static_cast<float>(random() % 4) / 2;
    return row;
}

/// Of every kind, about these tokens.
settings far_settings(std::mt19937& random, const std::vector<token>& tokens, float temperature) {
    settings chosen;
    chosen.temperature.value = temperature;
    const token one = tokens[random() % tokens.size()], other = tokens[random() % tokens.size()];
    if (random() % 3 == 0) chosen.bias.added = {{one, 1.5f}, {other, -0.5f}};
    if (random() % 3 == 0) chosen.penalties = {.repetition = 1.2f, .presence = 0.3f, .frequency = 0.1f};
    if (random() % 3 == 0) chosen.top_k.k = 1 + random() % 4;
    if (random() % 3 == 0) chosen.top_p.p = 0.7f;
    if (random() % 4 == 0) chosen.min_p.p = 0.3f;
    if (random() % 3 == 0 && one != other) {
        chosen.mask = [one](std::span<float> logits, const augur::prefix&) {
            logits[static_cast<std::size_t>(one)] = -rows::infinity;
        };
    }
    return chosen;
}

augur::prefix far_text(std::mt19937& random, const std::vector<token>& tokens) {
    augur::prefix text(std::vector<token>{tokens[random() % tokens.size()]});
    for (int i = 0; i < 4; ++i) text.push(tokens[random() % tokens.size()]);
    return text;
}

/// What a draft draws from, and where nothing is left one of the tokens.
distribution drafted_from(std::mt19937& random, const settings& chosen, std::size_t vocabulary,
                          const augur::prefix& before, const std::vector<token>& tokens) {
    auto row = augur::transform::pipeline(chosen, vocabulary)(far_row(random, vocabulary, tokens), before);
    return row.empty() ? distribution::point(tokens[random() % tokens.size()], vocabulary) : row;
}

std::size_t repeats(std::size_t vocabulary) {
    return vocabulary < 1000 ? augur::testing::unless_sanitized(12u, 4u) : augur::testing::unless_sanitized(3u, 1u);
}

template <class Criterion>
void check_chains(const Criterion& criterion, float temperature) {
    std::mt19937 random(5);
    rounds::outcomes seen;
    for (const std::size_t vocabulary : augur::testing::wide_vocabularies) {
        for (std::size_t repeat = 0; repeat < repeats(vocabulary); ++repeat) {
            const auto tokens = window(random, vocabulary);
            const settings chosen = far_settings(random, tokens, temperature);
            rounds::one_round played{.vocabulary = vocabulary,
                                     .seed = random(),
                                     .number = random() % 3,
                                     .chosen = chosen,
                                     .before = far_text(random, tokens),
                                     .target = {},
                                     .certain = {},
                                     .drawn = {},
                                     .weights = {},
                                     .totals = {}};
            const augur::random::philox_chooser chooser(played.seed);
            for (std::size_t i = 0; i <= 2; ++i) {
                const auto row = far_row(random, vocabulary, tokens);
                played.target.insert(played.target.end(), row.begin(), row.end());
                if (i == 2) break;
                const auto from = drafted_from(random, chosen, vocabulary, played.before, tokens);
                augur::position_draws draws(chooser, played.before.size() + i, played.number);
                played.draft(from, typename Criterion::token_selector{}.pick(from, draws));
            }
            BOOST_TEST_CONTEXT(vocabulary << " logits, repeat " << repeat) {
                rounds::check_judgement(emulated, criterion, played, played.certain, seen);
                rounds::check_judgement(emulated, criterion, played, played.drawn, seen);
            }
        }
    }
    BOOST_TEST(seen.accepted > 0u);
    BOOST_TEST(seen.corrected > 0u);
    BOOST_TEST(seen.bonus > 0u);
}

template <class Criterion>
void check_bushes(const Criterion& criterion) {
    std::mt19937 random(6);
    trees::outcomes seen;
    for (const std::size_t vocabulary : augur::testing::wide_vocabularies) {
        for (std::size_t repeat = 0; repeat < repeats(vocabulary); ++repeat) {
            const auto tokens = window(random, vocabulary);
            const settings chosen = far_settings(random, tokens, 1);
            trees::one_tree played{.vocabulary = vocabulary,
                                   .seed = random(),
                                   .number = random() % 3,
                                   .chosen = chosen,
                                   .before = far_text(random, tokens),
                                   .target = far_row(random, vocabulary, tokens),
                                   .certain = {},
                                   .drawn = {}};
            const augur::random::philox_chooser chooser(played.seed);
            const auto from = drafted_from(random, chosen, vocabulary, played.before, tokens);
            const bool again = augur::draft::with_replacement<typename Criterion::token_selector>;
            distribution left = from;
            for (std::size_t sibling = 0; sibling < 3 && !left.empty(); ++sibling) {
                augur::position_draws draws(chooser, played.before.size(), played.number);
                draws.at_sibling(sibling);
                const token picked = typename Criterion::token_selector{}.pick(left, draws);
                played.certain.push(picked, augur::after_prefix);
                played.drawn.push(picked, left, augur::after_prefix);
                const auto row = far_row(random, vocabulary, tokens);
                played.target.insert(played.target.end(), row.begin(), row.end());
                if (!again) left.exclude(picked);
            }
            BOOST_TEST_CONTEXT(vocabulary << " logits, repeat " << repeat) {
                if constexpr (augur::AcceptanceCriterionFor<Criterion, augur::point_mass>) {
                    trees::check_tree(emulated, criterion, played, played.certain, seen);
                }
                trees::check_tree(emulated, criterion, played, played.drawn, seen);
            }
        }
    }
    BOOST_TEST(seen.trees > 0u);
    BOOST_TEST(seen.accepted > 0u);
}

BOOST_AUTO_TEST_CASE(chains_are_judged_as_on_the_host) {
    check_chains(accept::exact{}, 0);
    check_chains(accept::rejection_sampling{}, 1);
    check_chains(accept::coupled{}, 0.8f);
    check_chains(accept::fuzzy<augur::measure::total_variation>{0.2}, 1);
}

BOOST_AUTO_TEST_CASE(siblings_are_judged_as_on_the_host) {
    check_bushes(accept::rejection_sampling{});
    check_bushes(accept::coupled{});
    check_bushes(accept::traversal{});
    check_bushes(accept::multipath_block{});
    check_bushes(accept::typical{});
}

BOOST_AUTO_TEST_CASE(bits_of_a_mask_are_those_of_far_tokens) {
    for (const std::size_t vocabulary : augur::testing::wide_vocabularies) {
        const auto places = augur::testing::far_places(vocabulary);
        for (const token place : places) {
            const augur::transform::mask mask = [place](std::span<float> logits, const augur::prefix&) {
                logits[static_cast<std::size_t>(place)] = -rows::infinity;
            };
            device::row_masks<emulated_system> masks({}, mask, vocabulary, 2);
            masks.skip(0);
            masks.ask(1, augur::prefix(std::vector<token>{0}));
            masks.upload({}, 2);
            const device::removed_tokens removed{masks.bits() + device::removed_tokens::words_in(vocabulary)};
            std::size_t wrong = 0;
            for (std::size_t id = 0; id < vocabulary; ++id) {
                const bool expected = id == static_cast<std::size_t>(place);
                wrong += removed.contains(id) != expected || masks.allows(1, static_cast<token>(id)) == expected;
            }
            BOOST_TEST(wrong == 0u, wrong << " tokens of " << vocabulary << ", without " << place);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
