#include "augur/backend/device/device_verifier.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "augur/accept/block.hpp"
#include "augur/accept/coupled.hpp"
#include "augur/accept/multipath_block.hpp"
#include "augur/accept/walk.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/testing/models.hpp"
#include "backend/device/rows_on_device.hpp"

namespace device = augur::backend::device;
namespace accept = augur::accept;
using augur::token;

BOOST_AUTO_TEST_SUITE(backend_device_verifier)

/// Drafts of 0 to 9 tokens in an order that makes its memory grow and serve again.
BOOST_AUTO_TEST_CASE(verdicts_and_entropies_are_the_hosts) {
    const augur::random::philox_chooser by(77);
    const augur::transform::settings chosen{.temperature = {0.8f}};
    for (const bool backwards : {false, true}) {
        const rows_on_device::model there(augur::testing::hashed_model(300, 5, 2), {backwards});
        auto device_verifier = there.make_device_verifier(accept::coupled{}, chosen, by);
        BOOST_TEST(static_cast<bool>(device_verifier));
        std::size_t round = 0, accepted = 0;
        for (const std::size_t drafted : {1u, 0u, 4u, 2u, 9u, 3u, 9u}) {
            augur::prefix before(std::vector<token>{5, static_cast<token>(drafted), 7});
            augur::proposal<augur::point_mass> proposed;
            for (std::size_t i = 0; i < drafted; ++i) {  // mostly what the target draws itself
                auto looked = there.make_sequence();
                std::vector<token> text(before.tokens().begin(), before.tokens().end());
                text.insert(text.end(), proposed.tokens().begin(), proposed.tokens().end());
                const auto row = there.extend(looked, text, 1);
                const auto drawn = augur::transform::pipeline(chosen, 300)(row[0], before);
                proposed.push(i == 6 ? 0 : static_cast<token>(by.exponential_race(drawn, text.size())));
            }
            auto sequence = there.make_sequence();
            std::vector<token> text(before.tokens().begin(), before.tokens().end());
            text.insert(text.end(), proposed.tokens().begin(), proposed.tokens().end());
            augur::verdict got;
            const rows_on_device::model::pass_type asked{.sequence = &sequence, .tokens = text, .rows = drafted + 1};
            device_verifier.judge(asked, before, proposed, round, got);
            const augur::scores rows = device_verifier.rows(sequence);
            BOOST_TEST(rows.size() == drafted + 1);
            augur::random::philox_chooser same = by;
            const auto expected = accept::walk(accept::coupled{}, proposed, rows,
                                               augur::transform::pipeline(chosen, 300), before, same, round++);
            BOOST_TEST(got.drafted == drafted);
            BOOST_TEST(got.accepted == expected.accepted);
            BOOST_TEST(got.next == expected.next);
            accepted += got.accepted;
            for (std::size_t i = 0; i <= drafted; ++i) {
                BOOST_TEST(device_verifier.entropy_nats(sequence, i) == augur::measure::entropy_nats(rows[i]));
            }
        }
        BOOST_TEST(accepted > 10u);
    }
}

/// Before anything runs.
BOOST_AUTO_TEST_CASE(a_tree_is_refused_by_who_judges_chains) {
    const rows_on_device::model there(augur::testing::hashed_model(7, 1, 3));
    auto judge = there.make_device_verifier(accept::block{}, {}, augur::random::philox_chooser(1));
    auto sequence = there.make_sequence();
    const std::vector<token> text{5, 1, 2};
    const std::vector<std::int32_t> parents{augur::after_prefix, augur::after_prefix};
    const augur::prefix before(std::vector<token>{5});
    augur::proposal<augur::point_mass> proposed;
    for (const token id : {1, 2}) proposed.push(id, augur::after_prefix);
    augur::verdict out;
    const rows_on_device::model::pass_type asked{.sequence = &sequence, .tokens = text, .parents = parents, .rows = 3};
    BOOST_CHECK_EXCEPTION(judge.judge(asked, before, proposed, 0, out), augur::error, [](const augur::error& e) {
        return std::string(e.what()) == "a chain of drafted tokens is wanted here, but of 2 the parent of node 1 is -1";
    });
    BOOST_TEST(there.length(sequence) == 0u);
}

/// Before anything runs, as on the host; at temperature 0 it does not matter.
BOOST_AUTO_TEST_CASE(siblings_of_two_rows_are_refused_where_independent_ones_are_judged) {
    const rows_on_device::model there(augur::testing::hashed_model(3, 1, 3));
    const std::vector<token> text{2, 0, 1, 1};
    const std::vector<std::int32_t> parents{augur::after_prefix, 0, 0}, with_prefix{augur::after_prefix, 0, 1, 1};
    const augur::prefix before(std::vector<token>{2});
    const auto judged = [&](float temperature, const std::vector<float>& other) {
        auto judge = there.make_device_verifier(accept::multipath_block{}, {.temperature = {temperature}},
                                                augur::random::philox_chooser(1));
        augur::proposal<augur::distribution> proposed;
        for (std::size_t node = 0; node < parents.size(); ++node) {
            const auto row = augur::distribution::weighted(node == 2 ? other : std::vector<float>{1, 2, 3});
            proposed.push(text[node + 1], row, parents[node]);
        }
        auto sequence = there.make_sequence();
        const rows_on_device::model::pass_type asked{
            .sequence = &sequence, .tokens = text, .parents = with_prefix, .rows = 4};
        augur::verdict out;
        judge.judge(asked, before, proposed, 0, out);
        return out;
    };
    BOOST_CHECK_NO_THROW(judged(1, {1, 2, 3}));
    BOOST_CHECK_NO_THROW(judged(0, {3, 2, 1}));
    BOOST_CHECK_EXCEPTION(judged(1, {3, 2, 1}), augur::error, [](const augur::error& e) {
        return std::string(e.what()) ==
               "accept::multipath_block needs siblings that are drawn with replacement, from one row, but that of "
               "node 2 is not that of its sibling 1; draw by draft::sampled_with_replacement";
    });
}

BOOST_AUTO_TEST_SUITE_END()
