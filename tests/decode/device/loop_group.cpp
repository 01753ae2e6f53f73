#include "augur/decode/device/loop_group.hpp"

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/device/generate_together.hpp>
#include <augur/decode/device/kernel_lookup.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "decode/device/group_mock.hpp"

using namespace augur;
using backend::device::emulated_system;
using decode::device::kernel_lookup, decode::device::loop_as, decode::device::speculation_group;
using resident_mock::law;

BOOST_AUTO_TEST_SUITE(decode_loop_group)

namespace {

/// Learns, so that texts must have policies of their own.
struct learner {
    std::size_t drafted = 0, accepted = 0;

    AUGUR_HOST_DEVICE std::size_t length(const observation& seen) const {
        return (2 * accepted > drafted ? 5 : 2) + seen.last_accepted % 2;
    }
    AUGUR_HOST_DEVICE void learn(const outcome& happened) {
        drafted += happened.drafted;
        accepted += happened.accepted;
    }
    bool operator==(const learner&) const = default;
};

const std::vector<std::vector<token>> prompts{{3, 1, 4}, {1}, {2, 2, 5, 0, 6, 2, 2}};
const std::vector<std::span<const token>> views{prompts[0], prompts[1], prompts[2]};

struct run_check {
    law target_law{1, 4, 2}, draft_law{2, 4, 2};
    decode::options chosen{};
    std::size_t capacity = 60;

    /// Beside each text by itself on the host: `scheme_of(target)`, and `drafts_on(system)` for the texts there.
    template <class Policy, class Criterion>
    std::size_t compare(const Policy& policy, const Criterion& criterion, const auto& scheme_of,
                        const auto& drafts_on) const {
        const resident_mock::model single(target_law, 7, capacity, 8);
        const auto target_here = single.on_host();
        const auto scheme = scheme_of(target_here);
        std::size_t accepted = 0;
        for (const bool backwards : {false, true}) {
            const emulated_system on{backwards};
            const resident_mock::group target(target_law, 4, 7, capacity, 8, on);  // one more than there are texts
            const auto drafts = drafts_on(on);
            speculation_group group(target, drafts, policy, criterion, chosen.sampling, 7);
            for (const loop_as how : {loop_as::whole, loop_as::rounds, loop_as::launches}) {
                const auto got = decode::device::generate_together<any_guarantee>(group, views, chosen, how);
                std::size_t longest = 0;
                BOOST_TEST_REQUIRE(got.size() == 3u);
                for (std::size_t i = 0; i < got.size(); ++i) {
                    decode::options own = chosen;
                    own.seed = chosen.seed + i;
                    const auto expected = decode::generate<any_guarantee>(scheme, views[i], own);
                    BOOST_TEST(got[i].tokens == expected.tokens, boost::test_tools::per_element());
                    BOOST_TEST((got[i].finish == expected.finish));
                    BOOST_TEST(got[i].seed == expected.seed);
                    BOOST_TEST((got[i].written == expected.written));
                    const auto &a = got[i].counts.stages.back(), &b = expected.counts.stages.back();
                    BOOST_TEST(a.rounds == b.rounds);
                    BOOST_TEST(a.drafted == b.drafted);
                    BOOST_TEST(a.accepted == b.accepted);
                    if constexpr (std::equality_comparable<Policy>) BOOST_TEST((got[i].policy == expected.policy));
                    longest = std::max(longest, b.rounds);
                    accepted += a.accepted;
                }
                BOOST_TEST(target.passes() == longest);  // one for all of them
            }
        }
        return accepted;
    }

    template <class Policy, class Criterion>
    std::size_t with_models(const Policy& policy, const Criterion& criterion) const {
        const resident_mock::model draft(draft_law, 7, capacity, 2);
        const auto draft_here = draft.on_host();
        return compare(
            policy, criterion, [&](const auto& target) { return speculate(draft_here, target, policy, criterion); },
            [&](const emulated_system& on) {
                std::vector<resident_mock::model> out;
                for (int i = 0; i < 3; ++i) out.emplace_back(draft_law, 7, capacity, 2, on);
                return out;
            });
    }
    template <class Policy, class Criterion>
    std::size_t with_lookup(const Policy& policy, const Criterion& criterion) const {
        const draft::prompt_lookup lookup(1, 3);
        return compare(
            policy, criterion, [&](const auto& target) { return speculate(lookup, target, policy, criterion); },
            [&](const emulated_system&) { return std::vector(3, kernel_lookup(lookup)); });
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_text_is_what_it_is_alone) {
    run_check check;
    check.chosen.timed = false;
    std::size_t accepted = 0;
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
        check.chosen.seed = 10 * seed;
        check.chosen.stop.max_tokens = seed == 0 ? 25 : 1000;  // the second ends with the context
        check.chosen.sampling = {.temperature = {0}};
        accepted += check.with_models(policy::fixed_length{5}, accept::exact{});
        accepted += check.with_lookup(learner{}, accept::exact{});
        check.chosen.sampling = {.temperature = {0.7f}};
        accepted += check.with_models(learner{}, accept::coupled{});
        check.chosen.sampling.penalties = {.repetition = 1.2f, .presence = 0.2f, .frequency = 0.1f};
        accepted += check.with_models(policy::fixed_length{3}, accept::rejection_sampling{});
    }
    BOOST_TEST(accepted > 100u);
}

BOOST_AUTO_TEST_CASE(texts_end_one_by_one) {
    run_check check;
    check.chosen.timed = false;
    check.chosen.sampling = {.temperature = {0.8f}};
    check.chosen.stop.max_tokens = 40;
    for (const token stop : {0, 3, 6}) {
        check.chosen.stop.stop_tokens = {stop};
        check.with_models(policy::fixed_length{4}, accept::coupled{});
    }
    check.target_law.invalid = 20;  // all at the same length, but after unlike rounds
    check.with_lookup(policy::fixed_length{4}, accept::coupled{});
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
    const resident_mock::group target({}, 2, 7, 40, 4);
    const auto refuses = [](const auto& make, const std::string& text) {
        BOOST_CHECK_EXCEPTION(make(), error, [&](const error& e) { return std::string(e.what()) == text; });
    };
    const auto group_of = [&](std::size_t texts, std::size_t most) {
        return speculation_group(target, std::vector(texts, kernel_lookup()), policy::fixed_length{3},
                                 accept::coupled{}, transform::settings{}, most);
    };
    refuses([&] { group_of(0, 3); }, "a group of 0 texts, but its target takes 1 to 2");
    refuses([&] { group_of(3, 3); }, "a group of 3 texts, but its target takes 1 to 2");
    refuses([&] { group_of(2, 4); }, "drafts of 4 tokens need launches of 8 rows of the target, but they take 4");
}

BOOST_AUTO_TEST_SUITE_END()
