#include "augur/backend/device/accept_chain.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/fuzzy.hpp"
#include "augur/accept/judge.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/rejection_then_fuzzy.hpp"
#include "augur/backend/device/round.hpp"
#include "augur/draft/drawing.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "transform/rows.hpp"

namespace device = augur::backend::device;
namespace accept = augur::accept;
using augur::distribution;
using augur::point_mass;
using augur::prefix;
using augur::token;
using augur::transform::settings;
using device::played_system;

namespace {

/// A criterion of a user's own, in no more words than on the host: what is likely enough under the target stands, and so does its
/// favourite.
struct likely_enough {
    using guarantee = augur::guarantee::minimum_probability;
    using drawing = augur::draft::sampled;

    double least = 0.05;

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Claim>
    AUGUR_HOST_DEVICE augur::decision judge(const auto& target, const augur::drafted_token<Claim>& drafted,
                                            auto& draws) const {
        if (target.probability(drafted.id) >= least || target.mode() == drafted.id) return augur::decision::accept();
        return augur::decision::replace_with(draw(target, draws));
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, augur::purpose::correction));
    }
};

/// Races what is left over, for the noise of weights that are no row.
struct residual_race {
    using guarantee = augur::guarantee::none;
    using drawing = augur::draft::sampled;

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Claim>
    AUGUR_HOST_DEVICE augur::decision judge(const auto& target, const augur::drafted_token<Claim>& drafted,
                                            auto& draws) const {
        const accept::residual_weights left(target, drafted, 0.5);
        if (!(left.total() > 0)) return augur::decision::accept();
        return augur::decision::replace_with(static_cast<token>(draws.race(left)));
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, augur::purpose::correction));
    }
};

std::vector<float> random_row(std::mt19937& random, std::size_t size) {
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

std::vector<float> invalid_row(std::mt19937& random, std::size_t size) {
    auto row = random_row(random, size);
    const std::size_t kind = random() % 3;
    if (kind == 0) return std::vector<float>(size, -rows::infinity);
    row[random() % size] = kind == 1 ? rows::infinity : rows::not_a_number;
    return row;
}

/// One round: the target's rows after some prefix, and what was drafted, as a criterion on the host sees it and as a kernel does.
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

    device::certain_chain certain_on_device() const { return {certain.tokens().data(), certain.size()}; }
    device::drawn_chain drawn_on_device() const {
        return {drawn.tokens().data(), drawn.size(), weights.data(), totals.data()};
    }

    void draft(const distribution& row, token id) {
        certain.push(id);
        for (std::size_t i = 0; i < vocabulary; ++i) weights.push_back(static_cast<float>(row[i]));
        totals.push_back(row.total());
        drawn.push(id, row);
    }
};

/// A draft's row is the target's, more or less disturbed.
std::vector<float> disturbed(std::mt19937& random, const std::vector<float>& target) {
    auto row = target;
    const auto noise = rows::normal(random, row.size(), static_cast<float>(random() % 3) / 2);
    for (std::size_t t = 0; t < row.size(); ++t) row[t] = row[t] < rows::infinity ? row[t] + noise[t] : noise[t];
    return row;
}

template <class Drawing>
one_round random_round(std::mt19937& random, std::size_t vocabulary, const settings& chosen, Drawing drawing) {
    one_round made{.vocabulary = vocabulary,
                   .seed = std::uint64_t{random()} << 32 | random(),
                   .number = random() % 3,
                   .chosen = chosen,
                   .before = prefix(rows::tokens(random, random() % 9, vocabulary)),
                   .target = {},
                   .certain = {},
                   .drawn = {},
                   .weights = {},
                   .totals = {}};
    const augur::transform::pipeline transform(chosen, vocabulary);
    const augur::random::philox_chooser chooser(made.seed);
    const std::size_t drafted = random() % 9, invalid = random() % 5 == 0 ? random() % (drafted + 1) : drafted + 1;
    for (std::size_t i = 0; i <= drafted; ++i) {
        const auto row = i == invalid ? invalid_row(random, vocabulary) : random_row(random, vocabulary);
        made.target.insert(made.target.end(), row.begin(), row.end());
        if (i == drafted) break;
        distribution drawn_from = transform(disturbed(random, row), made.before);
        if (drawn_from.empty()) drawn_from = distribution::point(0, vocabulary);
        augur::position_draws draws(chooser, made.before.size() + i, made.number);
        made.draft(drawn_from, drawing.pick(drawn_from, draws));
    }
    return made;
}

/// How often each outcome was seen: a comparison that always sees the same one says little.
struct outcomes {
    std::size_t accepted = 0, corrected = 0, bonus = 0, invalid = 0;
};

template <class Criterion>
void check_judgement(const Criterion& criterion, one_round& played, const auto& proposed, const auto& on_device,
                     outcomes& seen) {
    const augur::scores scores(played.target.data(), proposed.size() + 1, played.vocabulary);
    const augur::transform::pipeline transform(played.chosen, played.vocabulary);
    const augur::random::philox_chooser chooser(played.seed);
    const augur::verdict expected =
        accept::judge(criterion, proposed, scores, transform, played.before, chooser, played.number);
    for (const bool backwards : {false, true}) {
        const device::round_judge<Criterion, played_system> judge({backwards}, played.vocabulary, 9, played.chosen,
                                                                  played.seed, criterion);
        judge.judge(played.target.data(), on_device, played.before.size(), played.number);
        const augur::verdict made = judge.result();
        BOOST_TEST(made.drafted == expected.drafted);
        BOOST_TEST(made.accepted == expected.accepted);
        BOOST_TEST(made.next == expected.next);
        BOOST_TEST(judge.decided()->valid == (expected.invalid_row() ? 0u : 1u));
    }
    const bool all = expected.accepted == proposed.size();
    seen.accepted += expected.accepted;
    seen.invalid += expected.invalid_row();
    seen.bonus += !proposed.empty() && all && !expected.invalid_row();
    seen.corrected += !all && !expected.invalid_row();
}

/// Rounds of every kind, judged on both sides, with the draft's rows and with certainty.
template <class Criterion>
void check_parity(const Criterion& criterion, const std::vector<float>& temperatures) {
    std::mt19937 random(7);
    outcomes seen;
    for (const std::size_t vocabulary : {2u, 255u, 257u, 5000u}) {
        const int repeats = vocabulary < 5000 ? 60 : 25;
        for (int repeat = 0; repeat < repeats; ++repeat) {
            settings chosen;
            chosen.temperature.value = temperatures[random() % temperatures.size()];
            one_round played = random_round(random, vocabulary, chosen, typename Criterion::drawing{});
            BOOST_TEST_CONTEXT(vocabulary << " logits, repeat " << repeat) {
                check_judgement(criterion, played, played.certain, played.certain_on_device(), seen);
                check_judgement(criterion, played, played.drawn, played.drawn_on_device(), seen);
            }
        }
    }
    BOOST_TEST(seen.accepted > 100u);
    BOOST_TEST(seen.corrected > 50u);
    BOOST_TEST(seen.bonus > 10u);
    BOOST_TEST(seen.invalid > 10u);
}

/// Greedy now and then; one that changes nothing; others.
const std::vector<float> sampled{1, 1, 0.7f, 1.6f, 0};

template <class Criterion = accept::coupled>
std::string refusal(const settings& chosen, std::size_t vocabulary = 5, std::size_t most_rows = 9) {
    try {
        const device::round_judge<Criterion, played_system> judge({}, vocabulary, most_rows, chosen, 1);
    } catch (const augur::error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backend_accept_chain)

static_assert(device::KernelCriterion<accept::fuzzy<augur::measure::kl>> && device::KernelCriterion<likely_enough>);

BOOST_AUTO_TEST_CASE(exact) {
    check_parity(accept::exact{}, {0});
}

BOOST_AUTO_TEST_CASE(rejection_sampling) {
    check_parity(accept::rejection_sampling{}, sampled);
}

BOOST_AUTO_TEST_CASE(coupled) {
    check_parity(accept::coupled{}, sampled);
}

BOOST_AUTO_TEST_CASE(fuzzy) {
    check_parity(accept::fuzzy<augur::measure::jensen_shannon>{0.1}, sampled);
    check_parity(accept::fuzzy<augur::measure::total_variation>{0.3}, sampled);
    check_parity(accept::fuzzy<augur::measure::hellinger>{0.3}, sampled);
    check_parity(accept::fuzzy<augur::measure::reverse_kl>{0.5}, sampled);
}

BOOST_AUTO_TEST_CASE(rejection_then_fuzzy) {
    check_parity(accept::rejection_then_fuzzy<augur::measure::kl>{0.2}, sampled);
}

BOOST_AUTO_TEST_CASE(a_criterion_of_a_user) {
    check_parity(likely_enough{}, sampled);
}

BOOST_AUTO_TEST_CASE(residuals_can_be_raced) {
    std::mt19937 random(8);
    outcomes seen;
    for (int repeat = 0; repeat < 100; ++repeat) {
        one_round played = random_round(random, 700, {}, augur::draft::sampled{});
        check_judgement(residual_race{}, played, played.certain, played.certain_on_device(), seen);
        check_judgement(residual_race{}, played, played.drawn, played.drawn_on_device(), seen);
    }
    BOOST_TEST(seen.corrected > 100u);
}

/// Two logits so near each other that both weigh 1: of weights the first is the largest, of logits the second.
BOOST_AUTO_TEST_CASE(the_mode_is_that_of_the_weights) {
    for (const std::size_t last : {1u, 300u}) {
        one_round played{.vocabulary = last + 1,
                         .seed = 1,
                         .number = 0,
                         .chosen = {},
                         .before = {},
                         .target = {},
                         .certain = {},
                         .drawn = {},
                         .weights = {},
                         .totals = {}};
        played.target.assign(2 * played.vocabulary, -4.0f);
        played.target[0] = 0.0f;
        played.target[last] = 1e-9f;
        played.draft(distribution::point(0, played.vocabulary), 0);
        outcomes seen;
        check_judgement(likely_enough{0.9}, played, played.certain, played.certain_on_device(), seen);
        BOOST_TEST(seen.accepted == 1u);
    }
}

/// The workspace of one object serves longer and shorter rounds after each other.
BOOST_AUTO_TEST_CASE(rounds_leave_nothing_to_those_after_them) {
    std::mt19937 random(9);
    const device::round_judge<accept::rejection_sampling, played_system> judge({}, 600, 9, {}, 5);
    for (int repeat = 0; repeat < 50; ++repeat) {
        const one_round played = random_round(random, 600, {}, augur::draft::sampled{});
        judge.judge(played.target.data(), played.drawn_on_device(), played.before.size(), played.number);
        const augur::verdict first = judge.result();
        const device::round_judge<accept::rejection_sampling, played_system> fresh({}, 600, 9, {}, 5);
        fresh.judge(played.target.data(), played.drawn_on_device(), played.before.size(), played.number);
        BOOST_TEST(first.accepted == fresh.result().accepted);
        BOOST_TEST(first.next == fresh.result().next);
    }
}

BOOST_AUTO_TEST_CASE(settings_beyond_the_temperature_are_refused) {
    const auto is_set = [](const std::string& name) {
        return "device::round_judge knows the temperature only, but settings." + name +
               " is set; use device::pipeline with accept::judge";
    };
    BOOST_TEST(refusal({.bias = {{{1, 2.0f}}}}) == is_set("bias"));
    BOOST_TEST(refusal({.penalties = {.presence = 0.5f}}) == is_set("penalties"));
    BOOST_TEST(refusal({.mask = [](std::span<float>, const prefix&) {}}) == is_set("mask"));
    BOOST_TEST(refusal({.top_k = {4}}) == is_set("top_k"));
    BOOST_TEST(refusal({.top_p = {0.9f}}) == is_set("top_p"));
    BOOST_TEST(refusal({.min_p = {0.1f}}) == is_set("min_p"));
    BOOST_TEST(refusal({.top_k = {5}}).empty());  // of five tokens
    BOOST_TEST(refusal({.temperature = {-1}}) == "temperature is -1; it must be 0 (greedy) or positive and finite");
    BOOST_TEST(refusal({}, 0) == "the vocabulary size is 0; there is nothing to draw from");
    BOOST_TEST(refusal({}, 5, 0) == "a round judges 1 row or more, but most_rows is 0");
    BOOST_TEST(refusal<accept::exact>({}).find("the temperature must be 0, but it is 1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(longer_drafts_than_there_is_room_for_are_refused) {
    const device::round_judge<accept::coupled, played_system> judge({}, 300, 3, {}, 1);
    const std::vector<token> tokens(3);
    const std::vector<float> logits(1200);
    judge.judge(logits.data(), device::certain_chain{tokens.data(), 2}, 0, 0);
    BOOST_CHECK_EXCEPTION(judge.judge(logits.data(), device::certain_chain{tokens.data(), 3}, 0, 0), augur::error,
                          [](const augur::error& e) {
                              return std::string(e.what()) == "a round of at most 3 rows cannot judge 3 drafted tokens";
                          });
}

BOOST_AUTO_TEST_CASE(memory_is_taken_once) {
    const device::round_judge<accept::coupled, played_system> sampling({}, 300, 3, {}, 1);
    const std::size_t scans = 6 * sizeof(augur::detail::row_scan);
    BOOST_TEST(sampling.memory_bytes() == scans + 6 * sizeof(double) + 16);
    const device::round_judge<accept::exact, played_system> greedy({}, 300, 3, {.temperature = {0}}, 1);
    BOOST_TEST(greedy.memory_bytes() == scans + 16);
}

BOOST_AUTO_TEST_SUITE_END()
