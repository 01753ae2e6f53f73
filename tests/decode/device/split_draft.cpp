#include "augur/decode/device/split_draft.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/device/generate.hpp>
#include <augur/decode/device/loop.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "decode/device/split_mock.hpp"

using namespace augur;
using backend::device::emulated_system;
using decode::device::loop_as, decode::device::speculation_loop, decode::device::split_draft;
using resident_mock::law;

BOOST_AUTO_TEST_SUITE(decode_split_draft)

static_assert(decode::device::ResidentSplitModel<resident_mock::split_model>);
static_assert(!decode::device::ResidentSplitModel<resident_mock::model>);
static_assert(decode::device::ResidentHead<resident_mock::head>);

namespace {

/// By the entropy of each row; the last row looked at often yields no token.
struct by_entropy {
    static constexpr signals_read reads{.required = signals::draft_entropy};

    AUGUR_HOST_DEVICE std::size_t length(const observation& seen) const {
        return seen.draft_entropy_nats < 1.2 ? 5 : (seen.draft_entropy_nats < 1.6 ? 2 : 0);
    }
};

/// Drafts in every third round.
struct now_and_then {
    AUGUR_HOST_DEVICE std::size_t length(const observation& seen) const { return seen.round % 3 == 0 ? 4 : 0; }
};

struct run_check {
    law target_law{1, 4, 2}, head_law{2, 4, 2};
    decode::options chosen{};
    std::vector<token> prompt = {3, 1, 4};
    std::size_t most_drafted = 7;

    /// A head on states that say what the text's last tokens are drafts as a model of them would.
    template <class Policy, class Criterion>
    auto operator()(const Policy& policy, const Criterion& criterion) const {
        const resident_mock::model target_as_whole(target_law, 7, 90, 8), draft(head_law, 7, 90, 2);
        const auto target_here = target_as_whole.on_host(), draft_here = draft.on_host();
        const auto expected =
            decode::generate<any_guarantee>(speculate(draft_here, target_here, policy, criterion), prompt, chosen);
        for (const bool backwards : {false, true}) {
            const emulated_system on{backwards};
            const resident_mock::split_model target(target_law, 7, 90, 8, on);
            const resident_mock::head head(head_law, 7, 1, resident_mock::state_size, on);
            speculation_loop loop(target, split_draft(head), policy, criterion, chosen.sampling, most_drafted);
            for (const loop_as how : {loop_as::whole, loop_as::rounds, loop_as::launches}) {
                const auto got = decode::device::generate<any_guarantee>(loop, prompt, chosen, how);
                BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
                BOOST_TEST((got.finish == expected.finish));
                BOOST_TEST(got.detail == expected.detail);
                const auto &a = got.counts.stages.back(), &b = expected.counts.stages.back();
                BOOST_TEST(a.rounds == b.rounds);
                BOOST_TEST(a.drafted == b.drafted);
                BOOST_TEST(a.accepted == b.accepted);
                // of each round the last committed token and the drafted ones, once each
                BOOST_TEST(target.taken() == a.drafted + a.rounds);
            }
        }
        return expected;
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_first_layer_runs_twice_and_texts_are_those_of_generate) {
    run_check check;
    check.chosen.timed = false;
    check.chosen.stop.max_tokens = 50;
    std::size_t accepted = 0, drafted = 0;
    const auto add = [&](const auto& decoded) {
        accepted += decoded.counts.stages.back().accepted;
        drafted += decoded.counts.stages.back().drafted;
    };
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        check.chosen.seed = seed;
        check.head_law.seed = 2 + static_cast<std::uint32_t>(seed);
        check.chosen.sampling = {.temperature = {0}};
        add(check(policy::fixed_length{1 + 3 * seed}, accept::exact{}));
        add(check(by_entropy{}, accept::exact{}));
        check.chosen.sampling = {.temperature = {0.7f}};
        add(check(policy::fixed_length{5}, accept::coupled{}));
        add(check(now_and_then{}, accept::coupled{}));
        check.chosen.sampling.penalties = {.repetition = 1.2f, .presence = 0.2f, .frequency = 0.1f};
        check.chosen.sampling.top_k.k = 5;
        add(check(by_entropy{}, accept::rejection_sampling{}));
    }
    BOOST_TEST(accepted > 100u);
    BOOST_TEST(drafted > accepted);
    check.chosen.stop.max_tokens = 1000;
    BOOST_TEST((check(policy::fixed_length{7}, accept::coupled{}).finish == finish_reason::context));
    check.chosen.stop.max_tokens = 20;
    check.most_drafted = 0;  // plain decoding is the two parts, too
    BOOST_TEST(check(policy::fixed_length{0}, accept::coupled{}).tokens.size() == 20u);
}

BOOST_AUTO_TEST_CASE(rows_that_cannot_be_drawn_from) {
    run_check check;
    check.chosen.sampling = {.temperature = {0}};
    check.chosen.stop.max_tokens = 30;
    check.head_law.invalid = 10;  // the head's ends the draft
    check(policy::fixed_length{4}, accept::exact{});
    check(by_entropy{}, accept::exact{});
    check.target_law.invalid = 14;
    BOOST_TEST((check(policy::fixed_length{4}, accept::exact{}).finish == finish_reason::invalid_logits));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
    const resident_mock::split_model target({}, 7, 40, 4);
    const auto refuses = [&](const resident_mock::head& head, const std::string& text) {
        const auto make = [&] {
            speculation_loop(target, split_draft(head), policy::fixed_length{3}, accept::coupled{}, {}, 3);
        };
        BOOST_CHECK_EXCEPTION(make(), error, [&](const error& e) { return std::string(e.what()) == text; });
    };
    refuses({{}, 7, 0},
            "the exit head reads hidden states after 0 layers; of a target of 4 it must be those after 1 to 3");
    refuses({{}, 7, 4},
            "the exit head reads hidden states after 4 layers; of a target of 4 it must be those after 1 to 3");
    refuses({{}, 7, 1, 5}, "the exit head reads hidden states of 5 numbers, but the target's have 4");
    refuses({{}, 8, 1}, "draft and target must share a vocabulary, but the draft has 8 tokens and the target 7");
}

BOOST_AUTO_TEST_SUITE_END()
