#include "augur/policy/learned_state.hpp"

#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/decode/step.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

using namespace augur;
using policy::learned_state;
using chain_policy = policy::cost_aware<>;
using tree_policy = policy::cost_aware<draft_shape::tree>;

BOOST_AUTO_TEST_SUITE(policy_learned_state)

const auto close_to = boost::test_tools::tolerance(1e-12);

/// Passes that take as long as `pass` says; the first `stands` tokens of each draft are accepted.
struct world {
    std::function<double(std::size_t rows)> pass;
    std::size_t stands = 0;
    double token_seconds = 0.05;

    outcome round(const observation& seen, std::size_t length) const {
        const std::size_t accepted = std::min(length, stands);
        return {seen, length, accepted, token_seconds * static_cast<double>(length), pass(length + 1)};
    }
};

/// A text of so many tokens: the drafted lengths, and what it took.
struct text {
    std::vector<std::size_t> lengths{};
    double seconds = 0;

    std::size_t longest_of_late() const { return *std::max_element(lengths.end() - 5, lengths.end()); }
    /// Rounds before the one from which on nothing but this is drafted.
    std::size_t exploring(std::size_t settled) const {
        std::size_t last = 0;
        for (std::size_t i = 0; i < lengths.size(); ++i) last = lengths[i] == settled ? last : i + 1;
        return last;
    }
};

text write(chain_policy& policy, const world& in, std::size_t tokens, std::size_t match = 3) {
    text result;
    for (std::size_t written = 0; written < tokens;) {
        const observation seen{.match_length = match};
        const outcome happened = in.round(seen, policy.plan(seen).length);
        policy.learn(happened);
        result.lengths.push_back(happened.drafted);
        result.seconds += happened.draft_seconds + happened.verify_seconds;
        written += happened.accepted + 1;
    }
    return result;
}

double gentle(std::size_t rows) {
    return 1 + 0.1 * static_cast<double>(rows - 1);
}

BOOST_AUTO_TEST_CASE(a_second_text_explores_in_fewer_rounds_where_drafts_pay) {
    const world in{gentle, 5};
    chain_policy first;
    const text before = write(first, in, 200);
    const std::size_t settled = before.lengths.back();
    BOOST_TEST(settled >= 5u);
    chain_policy fresh, second({}, first.learned());
    const text again = write(fresh, in, 32), then = write(second, in, 32);
    BOOST_TEST(again.exploring(settled) >= 3u);
    BOOST_TEST(then.exploring(settled) < again.exploring(settled));
    BOOST_TEST(then.lengths.front() >= 4u);
    BOOST_TEST(then.seconds < again.seconds);
}

BOOST_AUTO_TEST_CASE(a_second_text_spends_less_where_drafts_do_not_pay) {
    const world in{[](std::size_t rows) { return 1 + 0.4 * static_cast<double>(rows - 1); }, 0};
    chain_policy first;
    write(first, in, 64);
    chain_policy fresh, second({}, first.learned());
    const text again = write(fresh, in, 15), then = write(second, in, 15);  // before anything is tried again
    BOOST_TEST(again.seconds > 15.5);
    BOOST_TEST(then.seconds < 15.5);
}

BOOST_AUTO_TEST_CASE(costs_that_changed_are_learned_anew) {
    const auto steep = [](std::size_t rows) { return 1 + 2.0 * static_cast<double>(rows - 1); };
    chain_policy of_gentle, of_steep, of_slow;
    write(of_gentle, {gentle, 5}, 200);
    write(of_steep, {steep, 5, 2.0}, 200);
    write(of_slow, {[](std::size_t rows) { return 20 * gentle(rows); }, 5, 1.0}, 200);
    // Rows became dear: what that costs is bounded as ever.
    chain_policy dearer({}, of_gentle.learned());
    BOOST_TEST(dearer.plan({.match_length = 3}).length > 0u);
    const text lost = write(dearer, {steep, 0, 2.0}, 200);
    BOOST_TEST(std::count_if(lost.lengths.begin(), lost.lengths.end(), [](std::size_t n) { return n > 1; }) <= 2);
    BOOST_TEST(lost.seconds < 200 + steep(11) + 10 * 2 + 5);
    BOOST_TEST(dearer.plan({.match_length = 3}).length <= 1u);
    // Rows became cheap, or the machine twenty times as fast or slow.
    const world cheap{gentle, 5};
    for (const chain_policy* stale : {&of_steep, &of_slow}) {
        chain_policy cheaper({}, stale->learned());
        write(cheaper, cheap, 400);
        BOOST_TEST(write(cheaper, cheap, 200).longest_of_late() >= 5u);
        BOOST_TEST(cheaper.verify_seconds(1) == 1.0, boost::test_tools::tolerance(0.05));
    }
    chain_policy slower({}, of_gentle.learned());
    const world slow{[](std::size_t rows) { return 20 * gentle(rows); }, 5, 1.0};
    write(slower, slow, 600);
    BOOST_TEST(write(slower, slow, 200).longest_of_late() >= 5u);
    BOOST_TEST(slower.verify_seconds(1) == 20.0, boost::test_tools::tolerance(0.1));
}

BOOST_AUTO_TEST_CASE(acceptance_that_changed_is_learned_anew) {
    chain_policy of_bad, of_good;
    write(of_bad, {gentle, 0}, 300);
    write(of_good, {gentle, 10}, 300);
    chain_policy better({}, of_bad.learned()), worse({}, of_good.learned());
    write(better, {gentle, 10}, 64);
    BOOST_TEST(better.plan({.match_length = 3}).length >= 5u);
    BOOST_TEST(write(worse, {gentle, 0}, 64).seconds < 64 + 6);
    BOOST_TEST(worse.plan({.match_length = 3}).length <= 1u);
}

BOOST_AUTO_TEST_CASE(figures_come_back_with_less_weight) {
    chain_policy first({.max_length = 2});
    for (int i = 0; i < 100; ++i) first.learn({{.source = 1, .match_length = 2}, 2, 1, 0.5, 3});
    const learned_state known = first.learned();
    const auto& group = known.accepted[12 + 2];
    BOOST_TEST(group.size() == 1u);
    BOOST_TEST(group[0].judged == 20.0, boost::test_tools::tolerance(0.01));
    BOOST_TEST(known.accepted[12 + 3][0].accepted == 0.0);  // a token makes the match longer
    BOOST_TEST(known.drafting[1].mean == 0.25);
    BOOST_TEST(known.passes[2].mean == 3.0);
    const learned_state again = chain_policy({.max_length = 2}, known).learned();
    BOOST_TEST(again.accepted[12 + 2][0].judged == 8.0, close_to);
    BOOST_TEST(again.accepted[12 + 2][0].accepted == 8.0, close_to);
    BOOST_TEST(again.accepted[12 + 3][0].judged == 8.0, close_to);
    BOOST_TEST((again.accepted[2][0] == policy::counted{}));
    BOOST_TEST((again.drafting[1] == policy::timed{0.25, 4}));
    BOOST_TEST((again.passes[2] == policy::timed{3, 4}));
    BOOST_TEST((chain_policy({.max_length = 2}, again).learned() == again));
    BOOST_TEST(!again.empty());
    BOOST_TEST(learned_state().empty());
    BOOST_TEST((chain_policy({.max_length = 2}, {}).learned() == chain_policy({.max_length = 2}).learned()));
}

BOOST_AUTO_TEST_CASE(rows_that_were_looked_at_keep_their_shares) {
    chain_policy first;
    observation seen;
    for (int i = 0; i < 90; ++i) {
        seen.first_draft_entropy_nats = i % 3 == 0 ? 4.0 : 0.1;
        first.learn({seen, 0, 0, 0.1, 1});
    }
    const learned_state known = first.learned(), again = chain_policy({}, known).learned();
    BOOST_TEST(known.looks[7] > 8.0);
    BOOST_TEST(again.looks[7] + again.looks[11] == 8.0, close_to);
    BOOST_TEST(again.looks[7] / again.looks[11] == known.looks[7] / known.looks[11], close_to);
    BOOST_TEST(again.looks[12 + 7] == 0.0);
}

BOOST_AUTO_TEST_CASE(what_was_learned_goes_before_a_curve) {
    chain_policy first({.verify_seconds = {1, 1, 1, 1}});
    first.learn({{}, 1, 0, 0, 1.05});  // as was said
    const chain_policy second({.verify_seconds = {7, 7, 7, 7}}, first.learned());
    BOOST_TEST(second.verify_seconds(1) > 1.0);
    BOOST_TEST(second.verify_seconds(1) < 1.1);
    learned_state without = first.learned();
    without.passes.clear();
    BOOST_TEST(chain_policy({.verify_seconds = {7, 7, 7, 7}}, without).verify_seconds(1) == 7.0);
}

BOOST_AUTO_TEST_CASE(an_untimed_text_teaches_no_costs) {
    chain_policy first;
    first.learn({{.match_length = 1}, 0, 0, 0, 0});
    first.learn({{.match_length = 1}, 1, 1, 1e-12, 0});
    const learned_state known = first.learned();
    for (const auto& each : known.passes) BOOST_TEST((each == policy::timed{}));
    BOOST_TEST((known.drafting[0] == policy::timed{}));
    BOOST_TEST(chain_policy({}, known).plan({.match_length = 8}).length == 0u);  // a plain pass is measured first
    BOOST_TEST(chain_policy({}, known).acceptance({.match_length = 1}, 0) >
               chain_policy().acceptance({.match_length = 1}, 0));
}

BOOST_AUTO_TEST_CASE(what_no_clock_can_have_measured_is_not_kept) {
    using policy::timed;
    for (const double seconds : {1e-10, 2e4, std::numeric_limits<double>::infinity()}) {
        BOOST_TEST((policy::figures::kept({seconds, 1}) == timed{}), seconds);
    }
    for (const double seconds : {1e-9, 1.0, 1e4}) {
        BOOST_TEST((policy::figures::kept({seconds, 1}) == timed{seconds, 1}), seconds);
    }
    chain_policy slow;
    slow.learn({{}, 0, 0, 0, 2e4});
    BOOST_CHECK_NO_THROW(chain_policy({}, slow.learned()));
}

struct round_of_a_node {
    proposal<point_mass> proposed{};
    verdict decided{};
    double draft_seconds;
    outcome result() const { return {{}, 1, 1, draft_seconds, 1}; }
};
round_of_a_node a_node(double draft_seconds) {
    round_of_a_node round{.draft_seconds = draft_seconds};
    round.proposed.push(0);
    round.decided.path.push_back(0);
    round.decided.drafted = round.decided.accepted = 1;
    return round;
}

/// One that takes twenty times as long as in an earlier text is believed at first; from then on it may be disturbed.
BOOST_AUTO_TEST_CASE(the_first_draft_here_is_believed_and_later_ones_may_be_disturbed) {
    const auto seconds_after = [](auto policy, auto&& learn) {
        policy::timed known = policy.learned().drafting[0];
        for (const double seconds : {1.0, 50.0}) {
            learn(policy, seconds);
            // At first it counts as it is, then as twice the usual.
            const double counts = known.mean < 1e-1 ? seconds : 2 * known.mean;
            const double weight = 0.5 * known.weight + 1;
            known = {known.mean + (counts - known.mean) / weight, weight};
            BOOST_TEST(policy.learned().drafting[0].mean == known.mean, close_to);
        }
    };
    chain_policy chains({.memory = 0.5});
    chains.learn({{}, 1, 1, 0.05, 1});
    seconds_after(chain_policy({.memory = 0.5}, chains.learned()), [](chain_policy& policy, double seconds) {
        policy.learn({{}, 1, 1, seconds, 1});
    });
    tree_policy trees({.memory = 0.5});
    const auto show = [](tree_policy& policy, double seconds) { policy.watch(a_node(seconds)); };
    show(trees, 0.05);
    seconds_after(tree_policy({.memory = 0.5}, trees.learned()), show);
}

/// What watchers need of a round in which the first child was accepted down to a depth.
struct made_up_round {
    proposal<point_mass> proposed{};
    verdict decided{};
    outcome result() const { return {{}, decided.drafted, decided.accepted, 0.01, gentle(decided.drafted + 1)}; }
};

std::vector<std::size_t> write_trees(tree_policy& policy, std::size_t rounds) {
    std::vector<std::size_t> sizes;
    for (std::size_t i = 0; i < rounds; ++i) {
        const topology plan = *policy.plan({}).tree;
        made_up_round round;
        for (std::size_t node = 0; node < plan.size(); ++node) round.proposed.push(0, plan.parents()[node]);
        std::size_t child = 0;
        for (auto parent = after_prefix; child < plan.size(); parent = static_cast<std::int32_t>(child)) {
            child = parents::next_child(plan.parents(), plan.size(), parent, 0);
            if (child < plan.size()) round.decided.path.push_back(child);
        }
        round.decided.drafted = plan.size();
        round.decided.accepted = round.decided.path.size();
        policy.watch(round);
        sizes.push_back(plan.size());
    }
    return sizes;
}

BOOST_AUTO_TEST_CASE(trees_begin_where_the_text_before_ended) {
    const policy::cost_aware_options<draft_shape::tree> options{.max_nodes = 12, .max_depth = 6};
    tree_policy first(options);
    const auto sizes = write_trees(first, 100);
    BOOST_TEST(sizes.front() == 0u);
    BOOST_TEST(sizes.back() >= 6u);
    tree_policy fresh(options), second(options, first.learned());
    BOOST_TEST(write_trees(second, 1).front() > write_trees(fresh, 2).back());
    BOOST_TEST(second.verify_seconds(1) == 1.0, boost::test_tools::tolerance(0.1));
    const learned_state again = tree_policy(options, first.learned()).learned();
    BOOST_TEST(first.learned().accepted[0][0].judged > 30.0);
    BOOST_TEST(again.accepted[0][0].judged == 16.0, close_to);
    BOOST_TEST(again.accepted[0][0].accepted == 16.0, close_to);
    BOOST_TEST(again.drafting[0].weight == 4.0);
    BOOST_TEST((tree_policy(options, again).learned() == again));
}

BOOST_AUTO_TEST_CASE(a_decoding_begins_with_what_another_learned) {
    const auto target = testing::hashed_model(3, 5);
    const std::vector<token> prompt{0, 1, 0, 1};
    const auto session_of = [&](const learned_state& before) {
        const auto scheme = speculate(draft::prompt_lookup(1, 4), target, chain_policy({}, before), accept::exact{});
        decode::session s(scheme, prompt, {.temperature = {0}}, {.max_tokens = 40}, random::philox_chooser(0));
        std::size_t drafted_first = 0;
        while (s.finished == finish_reason::running) {
            decode::step(scheme, s);
            if (s.counts.rounds() == 1) drafted_first = s.last.decided.drafted;
        }
        return std::pair(drafted_first, s.policy.learned());
    };
    const auto [first, known] = session_of({});
    BOOST_TEST(first == 0u);
    BOOST_TEST(known.passes[0].mean > 0);
    learned_state cheap = known;  // the clock of this machine is left out of the test
    for (auto& pass : cheap.passes) pass = {1, 4};
    for (auto& each : cheap.drafting) each = {};
    BOOST_TEST(session_of(cheap).first > 0u);
}

BOOST_AUTO_TEST_CASE(what_nobody_can_have_learned_is_refused_with_its_value) {
    const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
    const auto refuses = [](const std::function<void(learned_state&)>& change, const std::string& expected) {
        learned_state known = chain_policy().learned();
        change(known);
        BOOST_CHECK_EXCEPTION(chain_policy({}, known), error, [&](const error& e) {
            BOOST_TEST(std::string(e.what()).find(expected) != std::string::npos, e.what());
            return true;
        });
    };
    for (const double bad : {nan, inf, -1.0, 1e5, 1e-10}) {
        const std::string value = augur::detail::message(" of ", bad, " seconds");
        refuses([&](learned_state& k) { k.passes[3] = {bad, 1}; }, "a pass" + value);
        refuses([&](learned_state& k) { k.drafting[1] = {bad, 0}; }, "a drafted token" + value);
    }
    for (const double bad : {nan, inf, -1.0, 1e10}) {
        refuses([&](learned_state& k) { k.passes[0] = {1, bad}; }, augur::detail::message("the weight ", bad));
        refuses([&](learned_state& k) { k.accepted[5] = {{0, bad}}; }, augur::detail::message("of ", bad, " judged"));
        refuses([&](learned_state& k) { k.looks[9] = bad; }, augur::detail::message("met ", bad, " times"));
    }
    for (const double bad : {nan, inf, -1.0, 2.5}) {
        refuses(
            [&](learned_state& k) {
                k.accepted[5] = {{1, 2}, {bad, 2}};
            },
            augur::detail::message(bad, " tokens accepted"));
    }
    refuses([](learned_state& k) { k.accepted[0].resize(17); }, "17 positions of a draft, but there are 16");
    refuses([](learned_state& k) { k.accepted.pop_back(); }, "47 groups of drafts, but there are 48");
    refuses([](learned_state& k) { k.looks.clear(); }, "0 groups of rows, but there are 48");
    refuses([](learned_state& k) { k.drafting.resize(5); }, "5 drafters, but there are 4");
    BOOST_CHECK_THROW(tree_policy({}, chain_policy().learned()), error);
    BOOST_CHECK_THROW(chain_policy({}, tree_policy().learned()), error);
    BOOST_CHECK_THROW(tree_policy({.max_depth = 3}, tree_policy().learned()), error);
    BOOST_CHECK_NO_THROW(chain_policy({}, chain_policy().learned()));
    learned_state longer = chain_policy().learned();
    longer.passes.resize(40, {1, 1});  // of more rows than this policy asks for
    BOOST_CHECK_NO_THROW(chain_policy({}, longer));
}

BOOST_AUTO_TEST_CASE(no_time_that_was_measured_is_refused) {
    learned_state of = chain_policy().learned();
    of.passes[1] = {0, 4};
    BOOST_CHECK_THROW(chain_policy({}, of), error);
    of.passes[1] = {0, 0};
    chain_policy({}, of);
}

BOOST_AUTO_TEST_SUITE_END()
