#pragma once
// Random rounds, judged on the host and on a system, for tests that compare the two.

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "augur/accept/walk.hpp"
#include "augur/backend/device/round.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token_selector.hpp"
#include "sanitized.hpp"
#include "transform/rows.hpp"

namespace rounds {

namespace device = augur::backend::device;
using augur::distribution;
using augur::point_mass;
using augur::prefix;
using augur::token;
using augur::transform::settings;

/// A criterion of a user's own, in no more words than on the host: what is likely enough under the target stands, and
/// so does its favourite.
struct likely_enough {
    using guarantee = augur::guarantee::minimum_probability;
    using token_selector = augur::draft::sampled;

    double least = 0.05;

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool accepts(const auto& target, const augur::drafted_token<DraftDistribution>& drafted,
                                   auto& /*draws*/) const {
        return target.probability(drafted.id) >= least || target.mode() == drafted.id;
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, augur::purpose::correction));
    }
};

inline std::vector<float> random_row(std::mt19937& random, std::size_t size) {
    switch (random() % 4) {
        case 0:
            return rows::coarse(random, size);
        case 1: {
            auto peaked = rows::normal(random, size, 1);
            peaked[random() % size] += 15;
            return peaked;
        }
        case 2:
            return rows::normal(random, size, 0.1f);
        default:
            return rows::normal(random, size, static_cast<float>(1 + random() % 4));
    }
}

inline std::vector<float> invalid_row(std::mt19937& random, std::size_t size) {
    auto row = random_row(random, size);
    const std::size_t kind = random() % 3;
    if (kind == 0) return std::vector<float>(size, -rows::infinity);
    row[random() % size] = kind == 1 ? rows::infinity : rows::not_a_number;
    return row;
}

/// One round: the target's rows after some prefix, and what was drafted, as a criterion on the host sees it and as a
/// kernel does.
struct one_round {
    std::size_t vocabulary;
    std::uint64_t seed;
    std::size_t number;
    settings chosen;
    prefix before;
    std::vector<float> target;
    augur::proposal<point_mass> certain;
    augur::proposal<distribution> drawn;
    std::vector<float> weights;
    std::vector<double> totals;

    void draft(const distribution& row, token id) {
        certain.push(id);
        for (std::size_t i = 0; i < vocabulary; ++i) weights.push_back(static_cast<float>(row[i]));
        totals.push_back(row.total());
        drawn.push(id, row);
    }
};

/// A draft's row is the target's, more or less disturbed.
inline std::vector<float> disturbed(std::mt19937& random, const std::vector<float>& target) {
    auto row = target;
    const auto noise = rows::normal(random, row.size(), static_cast<float>(random() % 3) / 2);
    for (std::size_t t = 0; t < row.size(); ++t) row[t] = row[t] < rows::infinity ? row[t] + noise[t] : noise[t];
    return row;
}

template <class TokenSelector>
one_round random_round(std::mt19937& random, std::size_t vocabulary, const settings& chosen,
                       TokenSelector token_selector) {
    one_round round{.vocabulary = vocabulary,
                    .seed = std::uint64_t{random()} << 32 | random(),
                    .number = random() % 3,
                    .chosen = chosen,
                    .before = prefix(rows::tokens(random, random() % 9, vocabulary)),
                    .target = {},
                    .certain = {},
                    .drawn = {},
                    .weights = {},
                    .totals = {}};
    for (const token t : rows::tokens(random, random() % 9, vocabulary + 3))
        round.before.push(t);  // some unknown to the model
    const augur::transform::pipeline transform(chosen, vocabulary);
    const augur::random::philox_chooser chooser(round.seed);
    const std::size_t drafted = random() % 9, invalid = random() % 5 == 0 ? random() % (drafted + 1) : drafted + 1;
    for (std::size_t i = 0; i <= drafted; ++i) {
        const auto row = i == invalid ? invalid_row(random, vocabulary) : random_row(random, vocabulary);
        round.target.insert(round.target.end(), row.begin(), row.end());
        if (i == drafted) break;
        distribution drawn_from = transform(disturbed(random, row), round.before);
        if (drawn_from.empty()) drawn_from = distribution::point(0, vocabulary);
        augur::position_draws draws(chooser, round.before.size() + i, round.number);
        round.draft(drawn_from, token_selector.pick(drawn_from, draws));
    }
    return round;
}

/// How often each outcome was seen: a comparison that always sees the same one says little.
struct outcomes {
    std::size_t accepted = 0, corrected = 0, bonus = 0, invalid = 0;
};

/// A round in a system's memory.
template <class System>
struct round_on_device {
    device::buffer<float, System> target, weights;
    device::buffer<token, System> tokens;
    device::buffer<double, System> totals;

    round_on_device(const System& on, const one_round& of)
        : target(on, std::span<const float>(of.target)),
          weights(on, std::span<const float>(of.weights)),
          tokens(on, of.certain.tokens()),
          totals(on, std::span<const double>(of.totals)) {}

    device::certain_chain chain(const augur::proposal<point_mass>&) const { return {tokens.data(), tokens.size()}; }
    device::drawn_chain chain(const augur::proposal<distribution>&) const {
        return {tokens.data(), tokens.size(), weights.data(), totals.data()};
    }
};

/// By the host's own walk.
template <class Criterion>
augur::verdict judged_on_host(const Criterion& criterion, auto& played, const auto& proposed) {
    const augur::scores scores(played.target.data(), proposed.size() + 1, played.vocabulary);
    const augur::transform::pipeline transform(played.chosen, played.vocabulary);
    const augur::random::philox_chooser chooser(played.seed);
    return augur::accept::walk(criterion, proposed, scores, transform, played.before, chooser, played.number);
}

template <class System, class Criterion>
void check_judgement(const std::vector<System>& systems, const Criterion& criterion, one_round& played,
                     const auto& proposed, outcomes& seen) {
    const augur::verdict expected = judged_on_host(criterion, played, proposed);
    for (const System& on : systems) {
        const round_on_device<System> there(on, played);
        device::round_judge<Criterion, System> judge(on, played.vocabulary, 9, played.chosen, played.seed, criterion);
        judge.on_commit(played.before);
        judge.on_draft(played.before, proposed.tokens());
        judge.judge(there.target.data(), there.chain(proposed), played.before.size(), played.number);
        const augur::verdict decided = judge.result();
        BOOST_TEST(decided.drafted == expected.drafted);
        BOOST_TEST(decided.accepted == expected.accepted);
        BOOST_TEST(decided.next == expected.next);
        device::chain_verdict whole;
        on.download(&whole, judge.decided(), sizeof whole);
        BOOST_TEST(whole.valid == (expected.invalid_row() ? 0u : 1u));
    }
    const bool all = expected.accepted == proposed.size();
    seen.accepted += expected.accepted;
    seen.invalid += expected.invalid_row();
    seen.bonus += !proposed.empty() && all && !expected.invalid_row();
    seen.corrected += !all && !expected.invalid_row();
}

/// Removes a part of all tokens, another one after each text, as a grammar would; after some texts all.
inline augur::transform::mask random_mask(std::uint64_t seed, std::uint64_t sixteenths) {
    return [seed, sixteenths](std::span<float> logits, const prefix& before) {
        const auto mixed = [](std::uint64_t x) { return (x ^ x >> 29) * 0x9e3779b97f4a7c15u; };
        std::uint64_t text = seed;
        for (const token t : before.tokens()) text = mixed(text + static_cast<std::uint64_t>(t) + 1);
        for (std::size_t id = 0; id < logits.size(); ++id) {
            if (text >> 60 == 0 || mixed(mixed(text + id)) >> 60 < sixteenths) logits[id] = -rows::infinity;
        }
    };
}

/// Of every kind, at temperature 1.
inline settings random_settings(std::mt19937& random, std::size_t vocabulary) {
    settings chosen;
    const auto any = [&] { return static_cast<token>(random() % vocabulary); };
    const token twice = any();  // named three times, and the order matters to the rounding
    if (random() % 3 == 0) chosen.bias.added = {{twice, 1e6f}, {any(), -2.5f}, {twice, 0.3f}, {twice, -1e6f}};
    if (random() % 8 == 0) chosen.bias.added.emplace_back(any(), -rows::infinity);
    if (random() % 3 == 0) chosen.penalties = {.repetition = 1.2f, .presence = 0.3f, .frequency = 0.1f};
    if (random() % 2 == 0) chosen.top_k.k = 1 + random() % (random() % 2 == 0 ? 20 : vocabulary + 5);
    if (random() % 2 == 0) chosen.top_p.p = static_cast<float>(50 + random() % 50) / 100;
    if (random() % 3 == 0) chosen.min_p.p = static_cast<float>(random() % 30) / 100;
    if (random() % 3 == 0) chosen.mask = random_mask(random(), 1 + random() % 8);
    return chosen;
}

/// Rounds of every kind, judged on both sides, with the draft's rows and with certainty: a third with a temperature
/// alone, the others with all that settings have.
template <class System, class Criterion>
void check_parity(const std::vector<System>& systems, const Criterion& criterion,
                  const std::vector<float>& temperatures) {
    std::mt19937 random(7);
    outcomes seen;
    constexpr unsigned few = augur::testing::unless_sanitized(1u, 4u);
    for (const std::size_t vocabulary : {1u, 2u, 17u, 255u, 257u, 5000u}) {
        const int repeats = (vocabulary < 5000 ? 90 : 36) / static_cast<int>(few);
        for (int repeat = 0; repeat < repeats; ++repeat) {
            settings chosen = repeat % 3 == 0 ? settings{} : random_settings(random, vocabulary);
            chosen.temperature.value = temperatures[random() % temperatures.size()];
            one_round played = random_round(random, vocabulary, chosen, typename Criterion::token_selector{});
            BOOST_TEST_CONTEXT(vocabulary << " logits, repeat " << repeat) {
                check_judgement(systems, criterion, played, played.certain, seen);
                check_judgement(systems, criterion, played, played.drawn, seen);
            }
        }
    }
    BOOST_TEST(seen.accepted > 100u / few);
    BOOST_TEST(seen.corrected > 50u / few);
    BOOST_TEST(seen.bonus > 10u / few);
    BOOST_TEST(seen.invalid > 10u / few);
}

/// Greedy now and then; one that changes nothing; others.
inline const std::vector<float> sampled{1, 1, 0.7f, 1.6f, 0};

}  // namespace rounds
