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
#include "augur/accept/fuzzy_greedy.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/rejection_then_fuzzy.hpp"
#include "augur/accept/walk.hpp"
#include "augur/backend/device/round.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token_selector.hpp"
#include "backend/device/random_rounds.hpp"

namespace device = augur::backend::device;
namespace accept = augur::accept;
using augur::distribution;
using augur::point_mass;
using augur::prefix;
using augur::token;
using augur::transform::settings;
using device::emulated_system;
using namespace rounds;

namespace {

/// Forwards and backwards.
const std::vector<emulated_system> emulated{{false}, {true}};

/// Races what is left over, for the noise of weights that are no row.
struct residual_race {
    using guarantee = augur::guarantee::none;
    using token_selector = augur::draft::sampled;

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool accepts(const auto& target, const augur::drafted_token<DraftDistribution>& drafted,
                                   auto& /*draws*/) const {
        return target.probability(drafted.id) >= 0.5;
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE auto after_rejection(const auto& target,
                                           const augur::drafted_token<DraftDistribution>& drafted) const {
        return accept::residual(target, drafted);
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution, class Row>
    AUGUR_HOST_DEVICE token draw(const accept::residual_weights<DraftDistribution, Row>& left, auto& draws) const {
        return static_cast<token>(draws.exponential_race(left));
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, augur::purpose::correction));
    }
};

template <class Criterion = accept::coupled>
std::string refusal(const settings& chosen, std::size_t vocabulary = 5, std::size_t most_rows = 9) {
    try {
        const device::round_judge<Criterion, emulated_system> judge({}, vocabulary, most_rows, chosen, 1);
    } catch (const augur::error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backend_accept_chain)

static_assert(device::KernelCriterion<accept::fuzzy<augur::measure::kl>> && device::KernelCriterion<likely_enough>);
static_assert(!device::KernelCriterion<accept::fuzzy_greedy<augur::measure::kl>>);  // it judges no drawn rows

BOOST_AUTO_TEST_CASE(exact) {
    check_parity(emulated, accept::exact{}, {0});
}

BOOST_AUTO_TEST_CASE(rejection_sampling) {
    check_parity(emulated, accept::rejection_sampling{}, sampled);
}

BOOST_AUTO_TEST_CASE(coupled) {
    check_parity(emulated, accept::coupled{}, sampled);
}

BOOST_AUTO_TEST_CASE(fuzzy) {
    check_parity(emulated, accept::fuzzy<augur::measure::jensen_shannon>{0.1}, sampled);
    check_parity(emulated, accept::fuzzy<augur::measure::total_variation>{0.3}, sampled);
    check_parity(emulated, accept::fuzzy<augur::measure::hellinger>{0.3}, sampled);
    check_parity(emulated, accept::fuzzy<augur::measure::reverse_kl>{0.5}, sampled);
}

BOOST_AUTO_TEST_CASE(rejection_then_fuzzy) {
    check_parity(emulated, accept::rejection_then_fuzzy<augur::measure::kl>{0.2}, sampled);
}

BOOST_AUTO_TEST_CASE(a_criterion_of_a_user) {
    check_parity(emulated, likely_enough{}, sampled);
}

BOOST_AUTO_TEST_CASE(residuals_can_be_raced) {
    std::mt19937 random(8);
    outcomes seen;
    for (int repeat = 0; repeat < 100; ++repeat) {
        one_round round = random_round(random, 700, {}, augur::draft::sampled{});
        check_judgement(emulated, residual_race{}, round, round.certain, seen);
        check_judgement(emulated, residual_race{}, round, round.drawn, seen);
    }
    BOOST_TEST(seen.corrected > 100u);
}

/// Two logits so near each other that both weigh 1: of weights the first is the largest, of logits the second.
BOOST_AUTO_TEST_CASE(the_mode_is_that_of_the_weights) {
    for (const std::size_t last : {1u, 300u}) {
        one_round round{.vocabulary = last + 1,
                        .seed = 1,
                        .number = 0,
                        .chosen = {},
                        .before = {},
                        .target = {},
                        .certain = {},
                        .drawn = {},
                        .weights = {},
                        .totals = {}};
        round.target.assign(2 * round.vocabulary, -4.0f);
        round.target[0] = 0.0f;
        round.target[last] = 1e-9f;
        round.draft(distribution::point(0, round.vocabulary), 0);
        outcomes seen;
        check_judgement(emulated, likely_enough{0.9}, round, round.certain, seen);
        BOOST_TEST(seen.accepted == 1u);
    }
}

/// One prefix after another, with what was drafted and rejected forgotten: penalties count what each has.
BOOST_AUTO_TEST_CASE(one_judge_follows_any_prefix) {
    std::mt19937 random(10);
    const settings chosen{.penalties = {.repetition = 1.3f, .presence = 0.4f, .frequency = 0.2f}, .top_p = {0.9f}};
    device::round_judge<accept::rejection_sampling, emulated_system> judge({}, 300, 9, chosen, 5);
    const augur::transform::pipeline transform(chosen, 300);
    for (int repeat = 0; repeat < 50; ++repeat) {
        one_round round = random_round(random, 300, chosen, augur::draft::sampled{});
        const round_on_device<emulated_system> there({}, round);
        judge.on_commit(round.before);
        judge.on_draft(round.before, round.drawn.tokens());
        judge.judge(round.target.data(), there.chain(round.drawn), round.before.size(), round.number);
        const augur::scores scores(round.target.data(), round.drawn.size() + 1, 300);
        const augur::random::philox_chooser chooser(5);
        const augur::verdict expected = accept::walk(accept::rejection_sampling{}, round.drawn, scores, transform,
                                                     round.before, chooser, round.number);
        BOOST_TEST(judge.result().accepted == expected.accepted);
        BOOST_TEST(judge.result().next == expected.next);
    }
}

/// Logits so near each other that both weigh 1: top-p leaves the first of them, and so does min-p, though it is not the
/// largest.
BOOST_AUTO_TEST_CASE(something_stays_of_a_row_whose_largest_logit_is_cut) {
    one_round round{.vocabulary = 2,
                    .seed = 1,
                    .number = 0,
                    .chosen = {.top_p = {0.5f}, .min_p = {1}},
                    .before = {},
                    .target = {0.0f, 1e-9f, 0.0f, 1e-9f},
                    .certain = {},
                    .drawn = {},
                    .weights = {},
                    .totals = {}};
    round.draft(distribution::point(0, round.vocabulary), 0);
    outcomes seen;
    check_judgement(emulated, accept::rejection_sampling{}, round, round.certain, seen);
    check_judgement(emulated, accept::coupled{}, round, round.drawn, seen);
    BOOST_TEST(seen.invalid == 0u);
}

/// The workspace of one object serves longer and shorter rounds after each other.
BOOST_AUTO_TEST_CASE(rounds_leave_nothing_to_those_after_them) {
    std::mt19937 random(9);
    const device::round_judge<accept::rejection_sampling, emulated_system> judge({}, 600, 9, {}, 5);
    for (int repeat = 0; repeat < 50; ++repeat) {
        const one_round round = random_round(random, 600, {}, augur::draft::sampled{});
        const round_on_device<emulated_system> there({}, round);
        judge.judge(round.target.data(), there.chain(round.drawn), round.before.size(), round.number);
        const augur::verdict first = judge.result();
        const device::round_judge<accept::rejection_sampling, emulated_system> fresh({}, 600, 9, {}, 5);
        fresh.judge(round.target.data(), there.chain(round.drawn), round.before.size(), round.number);
        BOOST_TEST(first.accepted == fresh.result().accepted);
        BOOST_TEST(first.next == fresh.result().next);
    }
}

BOOST_AUTO_TEST_CASE(what_a_kernel_cannot_do_is_refused) {
    BOOST_TEST(refusal({.mask = [](std::span<float>, const prefix&) {}}).empty());
    BOOST_TEST(
        refusal({.bias = {{{1, 2.0f}}}, .penalties = {.presence = 0.5f}, .top_k = {4}, .top_p = {0.9f}}).empty());
    BOOST_TEST(refusal({.bias = {{{5, 2.0f}}}}) == "logit bias names token 5, but the vocabulary has 5");
    BOOST_TEST(refusal({.temperature = {-1}}) == "temperature is -1; it must be 0 (greedy) or positive and finite");
    BOOST_TEST(refusal({}, 0) == "the vocabulary size is 0; there is nothing to draw from");
    BOOST_TEST(refusal({}, 5, 0) == "a round judges 1 row or more, but most_rows is 0");
    BOOST_TEST(refusal<accept::exact>({}).find("the temperature must be 0, but it is 1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(longer_drafts_than_there_is_room_for_are_refused) {
    const device::round_judge<accept::coupled, emulated_system> judge({}, 300, 3, {}, 1);
    const std::vector<token> tokens(3);
    const std::vector<float> logits(1200);
    judge.judge(logits.data(), device::certain_chain{tokens.data(), 2}, 0, 0);
    BOOST_CHECK_EXCEPTION(judge.judge(logits.data(), device::certain_chain{tokens.data(), 3}, 0, 0), augur::error,
                          [](const augur::error& e) {
                              return std::string(e.what()) == "a round of at most 3 rows cannot judge 3 drafted tokens";
                          });
}

BOOST_AUTO_TEST_CASE(memory_is_taken_once) {
    const device::round_judge<accept::coupled, emulated_system> sampling({}, 300, 3, {}, 1);
    const std::size_t chunks = 6 * (sizeof(augur::detail::row_scan) + sizeof(double));
    const std::size_t rows = 3 * (sizeof(augur::detail::row_scan) + sizeof(device::part_of_pass) +
                                  sizeof(device::row_outcome) + sizeof(device::tree_outcome));
    const std::size_t greedily =
        chunks + rows + 4 * sizeof(std::uint32_t) + sizeof(device::chain_verdict) + sizeof(device::tree_verdict);
    BOOST_TEST(sampling.memory_bytes() == greedily + (6 + 3) * sizeof(double));
    const device::round_judge<accept::exact, emulated_system> greedy({}, 300, 3, {.temperature = {0}, .top_k = {5}}, 1);
    BOOST_TEST(greedy.memory_bytes() == greedily);
    const device::round_judge<accept::coupled, emulated_system> cutting({}, 300, 3, {.top_k = {5}}, 1);
    const std::size_t ranked = sizeof(device::last_ranked) + device::most_digits * sizeof(std::uint64_t);
    BOOST_TEST(cutting.memory_bytes() == sampling.memory_bytes() + 3 * (sizeof(device::row_cut) + ranked));
    const device::round_judge<accept::coupled, emulated_system> floored({}, 300, 3, {.min_p = {0.1f}}, 1);
    BOOST_TEST(floored.memory_bytes() == sampling.memory_bytes() + 3 * sizeof(device::row_cut));
}

BOOST_AUTO_TEST_SUITE_END()
