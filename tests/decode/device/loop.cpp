#include "augur/decode/device/loop.hpp"

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/measure/divergence.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/speculator.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "augur/decode/device/generate.hpp"
#include "decode/device/resident_mock.hpp"
#include "sanitized.hpp"

using namespace augur;
using backend::device::emulated_system;
using decode::device::loop_as;
using decode::device::speculation_loop;
using resident_mock::law;

namespace {

constexpr loop_as every_way[] = {loop_as::whole, loop_as::rounds, loop_as::launches};

/// A loop promises no more than its target's rows allow.
struct without_bitwise_rows : resident_mock::model {
    using resident_mock::model::model;
    static constexpr bool bitwise_rows = false;
};
template <class Target>
using promise_of =
    guarantee_of<speculation_loop<Target, resident_mock::model, policy::fixed_length, accept::rejection_sampling>>;
static_assert(std::is_same_v<promise_of<resident_mock::model>, guarantee::same_distribution>);
static_assert(
    std::is_same_v<promise_of<without_bitwise_rows>, guarantee::within_numerics<guarantee::same_distribution>>);

/// Three lengths by the entropy of each row, as a user would write it for kernels.
struct by_entropy {
    static constexpr signals_read reads{.required = signals::draft_entropy};

    AUGUR_HOST_DEVICE std::size_t length(const observation& seen) const {
        return seen.draft_entropy_nats < 1.2 ? 5 : (seen.draft_entropy_nats < 1.6 ? 2 : 0);
    }
};

/// Drafts in every third round, so that the draft falls behind, and then as the target was sure.
struct now_and_then {
    static constexpr signals_read reads{.required = signals::target_entropy};

    AUGUR_HOST_DEVICE std::size_t length(const observation& seen) const {
        if (seen.round % 3 != 0) return 0;
        return seen.target_entropy_nats < 1.5 ? 4 : 2;
    }
};

struct now_and_then_if_shown : now_and_then {
    static constexpr signals_read reads{.available = signals::target_entropy};
};

/// Learns, and looks at confidence.
struct learner {
    static constexpr signals_read reads{.required = signals::draft_confidence};

    std::size_t rounds = 0, drafted = 0, accepted = 0;
    double paths = 0;

    AUGUR_HOST_DEVICE std::size_t length(const observation& seen) const {
        const std::size_t base = seen.path_value > 0.1 ? 4 : 1;
        return base + (3 * accepted > drafted ? 2 : 0) + seen.last_accepted % 2;
    }
    AUGUR_HOST_DEVICE void learn(const outcome& happened) {
        ++rounds;
        drafted += happened.drafted;
        accepted += happened.accepted;
        if (happened.drafted > 0) paths += happened.decided_on.path_value + happened.draft_seconds;
    }
    bool operator==(const learner&) const = default;
};

void check_same(const auto& got, const auto& expected, const std::string& where) {
    BOOST_TEST_CONTEXT(where) {
        BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
        BOOST_TEST((got.finish == expected.finish));
        BOOST_TEST(got.detail == expected.detail);
        BOOST_TEST((got.written == expected.written));
        const auto& a = got.counts.stages.back();
        const auto& b = expected.counts.stages.back();
        BOOST_TEST(a.rounds == b.rounds);
        BOOST_TEST(a.drafted == b.drafted);
        BOOST_TEST(a.accepted == b.accepted);
        BOOST_TEST((got.counts.origins == expected.counts.origins));
    }
}

decode::options options_with(float temperature, std::uint64_t seed) {
    decode::options chosen{.seed = seed};
    chosen.sampling.temperature.value = temperature;
    chosen.stop.max_tokens = 50;
    chosen.timed = false;
    return chosen;
}

struct run_check {
    std::size_t vocabulary = 7;
    law target_law{1, 4, 2}, draft_law{2, 4, 2};
    std::size_t draft_capacity = 90;
    decode::options chosen = options_with(0, 1);
    std::vector<token> prompt = {3, 1, 4};

    template <class Policy, class Criterion>
    auto operator()(const Policy& policy, const Criterion& criterion, std::size_t most_drafted = 7) const {
        const auto run_on = [&](emulated_system on) {
            const resident_mock::model target(target_law, vocabulary, 90, 8, on);
            const resident_mock::model draft(draft_law, vocabulary, draft_capacity, 2, on);
            const auto target_here = target.on_host(), draft_here = draft.on_host();
            const auto scheme = speculate(draft_here, target_here, policy, criterion);
            const auto expected = decode::generate<any_guarantee>(scheme, prompt, chosen);
            speculation_loop loop(target, draft, policy, criterion, chosen.sampling, most_drafted);
            for (const loop_as how : every_way) {
                const auto got = decode::device::generate<any_guarantee>(loop, prompt, chosen, how);
                check_same(got, expected, "way " + std::to_string(static_cast<int>(how)));
                if constexpr (std::equality_comparable<Policy>) BOOST_TEST((got.policy == expected.policy));
            }
            return expected;
        };
        run_on({true});
        return run_on({false});
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(decode_loop)

BOOST_AUTO_TEST_CASE(text_and_rounds_are_those_of_generate) {
    std::size_t accepted = 0;
    for (const std::size_t vocabulary : {std::size_t{7}, augur::testing::unless_sanitized<std::size_t>(600, 90)}) {
        run_check check{.vocabulary = vocabulary};
        for (std::uint64_t seed = 0; seed < augur::testing::unless_sanitized(3u, 2u); ++seed) {
            const policy::fixed_length policy{1 + 3 * seed};
            check.chosen = options_with(0, seed);
            accepted += check(policy, accept::exact{}).counts.stages.back().accepted;
            check.chosen = options_with(0.7f, seed);
            accepted += check(policy, accept::coupled{}).counts.stages.back().accepted;
            accepted += check(policy, accept::rejection_sampling{}).counts.stages.back().accepted;
            check(policy, accept::fuzzy<measure::total_variation>{0.3});
        }
        check.chosen = options_with(0, 9);
        check(policy::fixed_length{4}, accept::rejection_sampling{});
    }
    BOOST_TEST(accepted > augur::testing::unless_sanitized(100u, 60u));
}

/// Bias, penalties and cuts, of draft and target; policies look at the models' own rows.
BOOST_AUTO_TEST_CASE(every_transform_but_the_mask) {
    run_check check{.vocabulary = augur::testing::unless_sanitized<std::size_t>(300, 70)};
    for (std::uint64_t seed = 0; seed < augur::testing::unless_sanitized(6u, 3u); ++seed) {
        check.chosen = options_with(0.9f, seed);
        auto& sampling = check.chosen.sampling;
        sampling.penalties = {.repetition = 1.3f, .presence = 0.4f, .frequency = 0.2f};
        sampling.bias.added = {{3, 1.5f}, {1, -1}, {3, 0.5f}};
        if (seed % 3 == 1) sampling.top_k.k = 5;
        if (seed % 3 == 2) sampling.top_p.p = 0.3f;
        if (seed % 2 == 1) sampling.min_p.p = 0.1f;
        check(policy::fixed_length{4}, accept::coupled{});
        check(policy::fixed_length{3}, accept::rejection_sampling{});
        sampling.temperature = {0};
        check(now_and_then{}, accept::exact{});
        const auto shown = check(now_and_then{}, accept::coupled{}).counts.stages.back().drafted;
        BOOST_TEST(check(now_and_then_if_shown{}, accept::coupled{}).counts.stages.back().drafted == shown);
    }
    check.chosen = options_with(0.9f, 2);
    check.chosen.sampling.top_k.k = 3;
    check(policy::fixed_length{4}, accept::rejection_sampling{});
    const resident_mock::model model({}, 7, 40, 4);
    check.chosen.sampling.mask = [](std::span<float>, const prefix&) {};
    const auto make = [&] {
        speculation_loop(model, model, policy::fixed_length{3}, accept::coupled{}, check.chosen.sampling, 3);
    };
    BOOST_CHECK_EXCEPTION(make(), error, [](const error& e) {
        return std::string(e.what()).find("settings.mask edits logits on the host") == 0;
    });
}

BOOST_AUTO_TEST_CASE(policies_see_what_they_see_on_the_host) {
    run_check check{.vocabulary = 7};
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        check.chosen = options_with(seed % 2 == 0 ? 0.0f : 0.9f, seed);
        const auto by = [&](const auto& policy) {
            if (seed % 2 == 0) return check(policy, accept::exact{}).counts.stages.back();
            return check(policy, accept::coupled{}).counts.stages.back();
        };
        BOOST_TEST(by(by_entropy{}).drafted > 0u);
        BOOST_TEST(by(now_and_then{}).drafted > 0u);
        BOOST_TEST(by(learner{}).accepted > 0u);
    }
}

BOOST_AUTO_TEST_CASE(drafts_are_no_longer_than_there_is_room_for) {
    run_check check;
    const policy::fixed_length long_drafts{7};
    for (const std::size_t most : {1u, 2u, 5u, 8u, 9u}) {  // the limit in the middle of drafts
        check.chosen.stop.max_tokens = most;
        BOOST_TEST(check(long_drafts, accept::exact{}).tokens.size() == most);
    }
    check.chosen.stop.max_tokens = 1000;  // the capacity ends it
    BOOST_TEST((check(long_drafts, accept::exact{}).finish == finish_reason::context));
    check.draft_capacity = 20;  // the draft's ends first
    check.chosen.stop.max_tokens = 60;
    check(long_drafts, accept::exact{});
    check.prompt.assign(25, 1);  // it never begins
    BOOST_TEST(check(long_drafts, accept::exact{}).counts.stages.back().drafted == 0u);
    check.prompt = {2};
    check(long_drafts, accept::exact{}, 7);
    check(policy::fixed_length{0}, accept::coupled{}, 0);
    check.chosen.stop.max_tokens = 0;
    BOOST_TEST(check(long_drafts, accept::exact{}).tokens.empty());
}

/// A policy that asks for more than there is memory for gets that: as if it had asked for no more.
BOOST_AUTO_TEST_CASE(drafts_are_no_longer_than_the_loop_was_made_for) {
    const resident_mock::model target({1, 4, 2}, 7, 90, 4), draft({2, 4, 2}, 7, 90, 2);
    const auto chosen = options_with(0.8f, 2);
    const auto run_with = [&](std::size_t length) {
        speculation_loop loop(target, draft, policy::fixed_length{length}, accept::coupled{}, chosen.sampling, 3);
        return decode::device::generate(loop, std::vector<token>{3, 1, 4}, chosen);
    };
    check_same(run_with(9), run_with(3), "lengths 9 and 3");
}

BOOST_AUTO_TEST_CASE(what_ends_a_text) {
    run_check check;
    check.chosen = options_with(0.8f, 3);
    const auto whole = check(policy::fixed_length{4}, accept::coupled{});
    for (const std::size_t at : {0u, 3u, 11u, 20u}) {
        check.chosen.stop.stop_tokens = {whole.tokens[at]};
        BOOST_TEST((check(policy::fixed_length{4}, accept::coupled{}).finish == finish_reason::stop_token));
    }
    check.chosen.stop.stop_tokens.clear();
    check.chosen.stop.text_of = [](token t) { return std::string(1, static_cast<char>('a' + t)); };
    check.chosen.stop.stop_strings = {
        std::string{static_cast<char>('a' + whole.tokens[12]), static_cast<char>('a' + whole.tokens[13])}};
    BOOST_TEST((check(policy::fixed_length{4}, accept::coupled{}).finish == finish_reason::stop_string));
    std::size_t shown = 0;
    check.chosen.stop.stop_strings.clear();
    check.chosen.on_token = [&](const commit::committed_token&) { return ++shown % 10 != 0; };
    BOOST_TEST((check(policy::fixed_length{4}, accept::coupled{}).finish == finish_reason::cancelled));
}

BOOST_AUTO_TEST_CASE(more_stop_tokens_than_the_device_knows) {
    run_check check{.vocabulary = augur::testing::unless_sanitized<std::size_t>(600, 70)};
    const auto whole = check(policy::fixed_length{4}, accept::coupled{});
    auto& stops = check.chosen.stop.stop_tokens;
    for (token absent = 0; stops.size() < decode::device::loop_state<policy::fixed_length>::most_stops; ++absent) {
        if (std::ranges::find(whole.tokens, absent) == whole.tokens.end()) stops.push_back(absent);
    }
    stops.push_back(whole.tokens[9]);
    BOOST_TEST((check(policy::fixed_length{4}, accept::coupled{}).finish == finish_reason::stop_token));
    stops = {static_cast<token>(check.vocabulary)};
    BOOST_CHECK_EXCEPTION(check(policy::fixed_length{4}, accept::coupled{}), augur::error, [&](const augur::error& e) {
        const std::string size = std::to_string(check.vocabulary);
        return e.what() == "stop token 0 is " + size + ", but the vocabulary has " + size + " tokens";
    });
}

BOOST_AUTO_TEST_CASE(rows_that_cannot_be_drawn_from) {
    run_check check;
    for (const std::size_t at : {3u, 9u, 14u}) {  // the target's
        check.target_law.invalid = at;
        const auto decoded = check(policy::fixed_length{4}, accept::exact{});
        BOOST_TEST((decoded.finish == finish_reason::invalid_logits));
        BOOST_TEST(decoded.detail.find("the target's logit of token 3 at position " + std::to_string(at)) == 0u);
        BOOST_TEST(decoded.tokens.size() == at - 3);
    }
    check.target_law.invalid = 1000;
    check.draft_law.invalid = 10;  // the draft's ends the draft
    check(policy::fixed_length{4}, accept::exact{});
    check(by_entropy{}, accept::exact{});
}

/// As a driver that does not take such graphs.
struct system_that_refuses : emulated_system {
    template <class Body>
    recording record(const Body& body) const {
        emulated_system::record(body);
        throw error("instantiating a graph: not supported");
    }
};

BOOST_AUTO_TEST_CASE(rounds_that_a_system_fails_to_record_are_launched_one_by_one) {
    const run_check check;
    const auto expected = check(policy::fixed_length{3}, accept::exact{});
    const resident_mock::model_on<system_that_refuses> target(check.target_law, check.vocabulary, 90, 8);
    const resident_mock::model_on<system_that_refuses> draft(check.draft_law, check.vocabulary, 90, 2);
    for (const loop_as how : every_way) {
        speculation_loop loop(target, draft, policy::fixed_length{3}, accept::exact{}, check.chosen.sampling, 7);
        check_same(decode::device::generate(loop, check.prompt, check.chosen, how), expected, "refused");
        const std::string says = "rounds are not recorded, but launched one by one: instantiating a graph";
        BOOST_TEST(loop.refusal().starts_with(how == loop_as::launches ? "" : says));
        BOOST_TEST(loop.refusal().empty() == (how == loop_as::launches));
    }
}

BOOST_AUTO_TEST_CASE(no_round_follows_the_one_that_runs_when_it_is_cancelled) {
    const run_check check;
    const resident_mock::model target(check.target_law, check.vocabulary, 90, 8);
    const resident_mock::model draft(check.draft_law, check.vocabulary, 90, 2);
    for (const bool cancelled : {false, true}) {
        speculation_loop loop(target, draft, policy::fixed_length{3}, accept::coupled{}, {}, 7);
        loop.start(check.prompt, 80, {}, 1);
        if (cancelled) loop.cancel();
        loop.launch(loop_as::whole);
        loop.wait();
        BOOST_TEST((loop.rounds() == 1) == cancelled);
    }
}

/// Runs, and shows nothing.
struct silent_loop {
    std::size_t rounds() const { return 2; }
    bool idle() const { return false; }
    static decode::device::round_note note(std::size_t) { return {.valid = 1}; }
    static const token* tokens() { return nullptr; }
};

BOOST_AUTO_TEST_CASE(the_host_waits_for_a_round_so_long_and_no_longer) {
    const silent_loop loop;
    const std::vector<token> prompt{1};
    decode::device::watched_text text(prompt, {.max_tokens = 9}, 7, 90);
    const commit::token_sink sink;
    decode::device::loop_follower follower(loop, text, sink);
    BOOST_CHECK_NO_THROW(follower.await(0));  // two rounds are there
    follower.catch_up();
    BOOST_CHECK_EXCEPTION(follower.await(0.01), error, [](const error& e) {
        return std::string(e.what()) ==
               "a loop on a device showed no round for 0.01 s, after 2 rounds; waited for the next one";
    });
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
    const resident_mock::model target({}, 7, 40, 4), draft({}, 7, 40, 1), other({}, 8, 40, 4), longer({}, 7, 41, 4);
    const auto refuses = [](const auto& make, const std::string& text) {
        BOOST_CHECK_EXCEPTION(make(), error, [&](const error& e) { return std::string(e.what()).find(text) == 0; });
    };
    const policy::fixed_length four{4};
    const transform::settings greedy{.temperature = {0}};
    const auto loop_of = [&](const auto& a, const auto& b, const auto& chosen, std::size_t most) {
        return [&, most] { speculation_loop(a, b, four, accept::exact{}, chosen, most); };
    };
    refuses(loop_of(target, other, greedy, 3), "draft and target must share a vocabulary, but the draft has 8 tokens");
    struct marked : resident_mock::model {
        using resident_mock::model::model;
        std::string vocabulary_fingerprint() const { return mark; }
        std::string mark{};
    };
    marked one({}, 7, 40, 4), same({}, 7, 40, 4), another({}, 7, 40, 4);
    one.mark = same.mark = "aa";
    another.mark = "bb";
    refuses(loop_of(one, another, greedy, 3),
            "draft and target must share a vocabulary, but the tokens of the draft have the fingerprint bb and those "
            "of the target aa");
    BOOST_CHECK_NO_THROW(loop_of(one, same, greedy, 3)());
    BOOST_CHECK_NO_THROW(loop_of(one, target, greedy, 3)());
    refuses(loop_of(target, target, greedy, 4),
            "drafts of 4 tokens need launches of 8 rows of the target, but they take 4");
    refuses(loop_of(target, draft, greedy, 3),
            "drafts of 3 tokens need launches of 2 rows of the draft, but they take 1");
    refuses(loop_of(target, longer, greedy, 3), "the draft's text has room for 41 tokens, the target's for 40");
    refuses(loop_of(target, target, transform::settings{}, 3), "accept::exact keeps greedy text only");
    speculation_loop loop(target, target, four, accept::exact{}, greedy, 3);
    decode::options chosen;
    chosen.log_probabilities = true;
    refuses([&] { decode::device::generate(loop, std::vector<token>{1}, chosen); },
            "a loop on a device returns no log-prob");
    refuses([&] { decode::device::generate(loop, std::vector<token>(40, 1), {}); }, "the prompt has 40 tokens");
}

BOOST_AUTO_TEST_SUITE_END()
