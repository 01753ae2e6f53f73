#include <boost/test/unit_test.hpp>
#include <random>
#include <string>
#include <vector>

#include "augur/accept/block.hpp"
#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/fuzzy.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/rejection_then_fuzzy.hpp"
#include "augur/accept/walk.hpp"
#include "augur/backend/device/chooser.hpp"
#include "augur/backend/device/divergence.hpp"
#include "augur/backend/device/pipeline.hpp"
#include "augur/backend/device/residual.hpp"
#include "augur/testing/named_once.hpp"
#include "augur/types/drawing.hpp"
#include "augur/types/scores.hpp"
#include "device/parity.hpp"

namespace device = augur::backend::device;
namespace accept = augur::accept;
using augur::distribution;
using augur::point_mass;
using augur::prefix;
using augur::token;
using augur::transform::settings;

namespace {

/// One round, in both memories: the target's rows after some prefix, and what was drafted, with the rows of the draft.
struct round {
    std::size_t size;
    std::size_t drafted;
    std::vector<float> target;
    prefix before;

    round(std::mt19937& random, bool with_invalid_row)
        : size(parity::random_size(random)), drafted(random() % 5), before(rows::tokens(random, 6, size)) {
        const std::size_t invalid = with_invalid_row ? random() % (drafted + 1) : drafted + 1;
        for (std::size_t i = 0; i <= drafted; ++i) {
            const auto row = i == invalid ? parity::invalid_row(random, size) : parity::random_row(random, size);
            target.insert(target.end(), row.begin(), row.end());
        }
    }

    /// A draft's row: the target's, more or less disturbed.
    std::vector<float> draft_row(std::mt19937& random, std::size_t i) const {
        std::vector<float> row(target.begin() + static_cast<std::ptrdiff_t>(i * size),
                               target.begin() + static_cast<std::ptrdiff_t>((i + 1) * size));
        const auto noise = rows::normal(random, size, static_cast<float>(random() % 3) / 2);
        for (std::size_t t = 0; t < size; ++t) row[t] = row[t] < rows::infinity ? row[t] + noise[t] : noise[t];
        return row;
    }
};

/// What both sides drafted: the same tokens, with rows where the claim has rows.
struct drafts {
    augur::proposal<point_mass> certain;
    augur::proposal<distribution> on_host;
    augur::proposal<device::distribution<>> on_device;
};

/// A chain, or the same tokens and rows in the places of a tree.
template <class Drawing>
drafts draw_drafts(const round& played, const settings& chosen, Drawing drawing, std::mt19937& random,
                   std::uint64_t seed, bool tree) {
    const augur::transform::pipeline host(chosen, played.size);
    const device::pipeline on_device(chosen, played.size);
    const augur::random::philox_chooser chooser(seed);
    const device::chooser device_chooser(seed);
    drafts made;
    prefix before = played.before;
    for (std::size_t i = 0; i < played.drafted; ++i) {
        const auto row = played.draft_row(random, i);
        distribution drawn_from = host(row, before);
        auto there = on_device(parity::row_of(parity::upload(row)), before);
        if (drawn_from.empty()) drawn_from = distribution::point(0, played.size), there.become_point(0, played.size);
        augur::position_draws draws(chooser, before.size(), seed % 4);
        augur::position_draws device_draws(device_chooser, before.size(), seed % 4);
        const token id = drawing.pick(drawn_from, draws);
        BOOST_TEST(drawing.pick(there, device_draws) == id);
        const auto parent = static_cast<std::int32_t>(tree ? random() % (i + 1) : i) - 1;
        made.certain.push(id, parent);
        made.on_host.push(id, std::move(drawn_from), parent);
        made.on_device.push(id, std::move(there), parent);
        before.push(id);
    }
    return made;
}

/// How often each outcome was seen: a comparison that always sees the same one says little.
struct outcomes {
    std::size_t accepted = 0;
    std::size_t corrected = 0;
    std::size_t bonus = 0;
    std::size_t invalid = 0;
};

template <class Criterion>
void check_judgement(const Criterion& criterion, const round& played, const settings& chosen, const auto& host_draft,
                     const auto& device_draft, std::uint64_t seed, outcomes& seen) {
    const augur::scores host_rows(played.target.data(), played.drafted + 1, played.size);
    const auto uploaded = parity::upload(played.target);
    const device::rows device_rows(device::address(uploaded), played.drafted + 1, played.size);
    augur::testing::named_once chooser(augur::random::philox_chooser{seed});
    augur::testing::named_once device_chooser(device::chooser{seed});  // asks as little twice as the host
    prefix before = played.before;
    const augur::transform::pipeline transform(chosen, played.size);
    const augur::verdict expected =
        accept::walk(criterion, host_draft, host_rows, transform, before, chooser, seed % 4);
    const device::pipeline device_transform(chosen, played.size);
    const augur::verdict made =
        accept::walk(criterion, device_draft, device_rows, device_transform, before, device_chooser, seed % 4);
    BOOST_TEST(made.drafted == expected.drafted);
    BOOST_TEST(made.accepted == expected.accepted);
    BOOST_TEST(made.next == expected.next);
    BOOST_TEST(made.path == expected.path, boost::test_tools::per_element());
    seen.accepted += expected.accepted;
    seen.invalid += expected.invalid_row();
    const bool all = expected.accepted == played.drafted;
    seen.bonus += played.drafted > 0 && all && !expected.invalid_row();
    seen.corrected += !all && !expected.invalid_row();
}

/// Rounds of every kind, judged in both memories, with the claim that the criterion's way of drafting makes and with
/// certainty.
template <class Criterion>
void check_parity(const Criterion& criterion, bool greedy, bool tree = false) {
    std::mt19937 random(greedy ? 1 : 2);
    outcomes seen;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        const round played(random, seed % 6 == 5);
        settings chosen;
        if (greedy || seed % 9 == 0) chosen.temperature.value = 0;
        if (seed % 3 == 1) chosen.penalties = {.repetition = 1.1f, .presence = 0.2f};
        if (seed % 5 == 2) chosen.top_p.p = 0.9f;
        if (seed % 7 == 3) chosen.top_k.k = 1 + random() % 20;
        const drafts drawn = draw_drafts(played, chosen, typename Criterion::drawing{}, random, seed, tree);
        check_judgement(criterion, played, chosen, drawn.certain, drawn.certain, seed, seen);
        check_judgement(criterion, played, chosen, drawn.on_host, drawn.on_device, seed, seen);
    }
    BOOST_TEST(seen.accepted > 100u);
    BOOST_TEST(seen.corrected > 100u);
    BOOST_TEST(seen.bonus > (tree ? 0u : 50u));
    BOOST_TEST(seen.invalid > 20u);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(device_criteria)

BOOST_AUTO_TEST_CASE(exact) {
    check_parity(accept::exact{}, true);
}

BOOST_AUTO_TEST_CASE(rejection_sampling) {
    check_parity(accept::rejection_sampling{}, false);
}

BOOST_AUTO_TEST_CASE(siblings) {
    check_parity(accept::exact{}, true, true);
    check_parity(accept::rejection_sampling{}, false, true);
    check_parity(accept::coupled{}, false, true);
    check_parity(accept::rejection_then_fuzzy<augur::measure::total_variation>{0.2}, false, true);
}

BOOST_AUTO_TEST_CASE(block) {
    check_parity(accept::block{}, false);
}

BOOST_AUTO_TEST_CASE(coupled) {
    check_parity(accept::coupled{}, false);
}

BOOST_AUTO_TEST_CASE(fuzzy) {
    check_parity(accept::fuzzy<augur::measure::jensen_shannon>{0.1}, false);
}

BOOST_AUTO_TEST_CASE(rejection_then_fuzzy) {
    check_parity(accept::rejection_then_fuzzy<augur::measure::kl>{0.2}, false);
}

BOOST_AUTO_TEST_SUITE_END()
