// Drafters that learn from the rounds they draft in, while calls and allocations fail.

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/draft/self_speculation.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/train/state_head.hpp>
#include <augur/train/trainer.hpp>
#include <augur/train/watcher.hpp>
#include <boost/test/unit_test.hpp>
#include <optional>
#include <span>
#include <vector>

#include "testing/fault_schemes.hpp"
#include "train/identity.hpp"
#include "train/while_learning.hpp"

using namespace augur;
using testing::fault_choice;

BOOST_AUTO_TEST_SUITE(testing_fault_learners)

using head_type = train::state_head<train::dense_weight_matrix<float>>;
const policy::fixed_length two{2};

/// A step whose rounds teach a trainer.
struct learning_step {
    std::optional<train::trainer<head_type>>& online;

    void operator()(const auto& scheme, auto& s, const decode::step_options& chosen, auto& watcher) const {
        train::watcher learns(*online);
        learns.attach(s);
        decode::step(scheme, s, chosen, watcher, learns);
    }
};

/// Where a call fails, all that was learned is as without it. Where memory fails in what learns, a round teaches less:
/// the text and all that the caller sees stay as they are.
template <class Criterion>
void learns_and_keeps_them(testing::fault_tally& tally, const char* what, const Criterion& criterion,
                           float temperature) {
    const auto target = testing::failing_passes<pass_features::layers>(1);
    const head_type first(testing::identity_base(testing::fault_vocabulary),
                          {.layer = 1, .vocabulary_size = testing::fault_vocabulary}, {.rank = 2});
    head_type head = first;
    std::optional<train::trainer<head_type>> online;
    const auto scheme = speculate(draft::self_speculation<head_type&, draft::sampled>(head), target, two, criterion);
    const auto chosen = fault_choice(temperature);
    const testing::fault_runs runs(scheme, testing::fault_prompt, testing::fault_places, chosen, learning_step{online});
    const auto run = [&](const testing::disturbance& by) {
        head.assign(first.values());  // each run is the first
        online.emplace(head, testing::wild_steps());
        auto trial = runs.run(by);
        const auto learned = online->state();
        for (const float each : learned.values) trial.outcome.policy += augur::detail::message(' ', each);
        trial.outcome.policy += augur::detail::message("; ", online->report().samples, ' ', learned.steps);
        return trial;
    };
    testing::fault_report found;
    const auto sound = run({});
    BOOST_TEST(online->report().samples > 0U);
    BOOST_TEST(online->state().steps > 2U);
    const auto judge = [&](const testing::fault_trial& got, testing::agreement how) {
        return got.trouble.empty() ? difference(sound.outcome, got.outcome, how) : got.trouble;
    };
    for (const bool after : {false, true}) {
        testing::fault_parts::check_all(
            found, after ? "calls, after" : "calls, before", sound.calls, chosen, run,
            [&](const auto& got) { return judge(got, testing::agreement::all); },
            [&](std::size_t i, std::size_t burst) {
                return testing::disturbance{.calls = {.first = i, .count = burst, .after = after}};
            });
    }
    testing::fault_parts::check_all(
        found, "memory", sound.allocations, chosen, run,
        [&](const auto& got) { return judge(got, testing::agreement::text); },
        [](std::size_t i, std::size_t burst) {
            return testing::disturbance{.first_allocation = i, .allocations = burst};
        });
    tally.add(what, found);
}

BOOST_AUTO_TEST_CASE(heads_that_learn_keep_them) {
    testing::fault_tally tally;
    learns_and_keeps_them(tally, "exact", accept::exact{}, 0);
    learns_and_keeps_them(tally, "coupled", accept::coupled{}, 1);
    tally.report("heads that learn", 600);
}

BOOST_AUTO_TEST_SUITE_END()
