#include "augur/decode/device/kernel_lookup.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/device/generate.hpp>
#include <augur/decode/device/loop.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sstream>
#include <vector>

#include "decode/device/resident_mock.hpp"

using namespace augur;
using backend::device::buffer, backend::device::emulated_system;
using decode::device::kernel_lookup, decode::device::loop_as;

BOOST_AUTO_TEST_SUITE(decode_kernel_lookup)

static_assert(decode::device::shows_all_of(signals::match_length | signals::target_entropy, signals::match_length));
static_assert(!decode::device::shows_all_of(signals::draft_entropy, signals::match_length));
static_assert(!decode::device::shows_all_of(signals::match_length, signals::draft_entropy | signals::draft_confidence));

namespace {

/// As long as the match is, and no longer than it may be: asked by kernels.
struct as_long_as_the_match {
    static constexpr signals_read reads{.required = signals::match_length};

    AUGUR_HOST_DEVICE std::size_t length(const observation& seen) const {
        return seen.match_length < 4 ? 2 * seen.match_length - 1 : 7;
    }
};

/// Would draft without knowing its match, or not at all, whatever the match.
struct at_odd_lengths {
    static constexpr signals_read reads{.available = signals::match_length};

    AUGUR_HOST_DEVICE std::size_t length(const observation& seen) const {
        if (includes(seen.pending, signals::match_length)) return seen.prefix_length % 2;
        return 3 + seen.match_length;
    }
};

/// Of a round that has begun after this text, by a kernel and by the host.
template <class Policy>
void check_draft(const std::vector<token>& text, const draft::prompt_lookup<>& lookup, const Policy& policy,
                 std::size_t budget) {
    using state_type = decode::device::loop_state<Policy>;
    prefix before(text);
    const transform::pipeline transform({}, 100);
    random::philox_chooser chooser(0);
    const observation seen{.prefix_length = text.size()};
    draft::context context(before, transform, chooser, policy, seen, budget, signals::match_length);
    auto memory = lookup.make_state();
    const auto expected = draft::propose(lookup, memory, context);
    for (const bool backwards : {false, true}) {
        const emulated_system on{backwards};
        state_type s{.policy = policy};
        s.length = static_cast<std::uint32_t>(text.size());
        s.asks.begin(policy, seen, budget, signals::match_length);
        std::vector<token> padded = text;
        padded.resize(text.size() + budget, 99);
        const buffer<token, emulated_system> there(on, std::span<const token>(padded));
        const buffer<state_type, emulated_system> state(on, std::span<const state_type>(&s, 1));
        on.launch(1, decode::device::look_up<state_type>{state.data(), there.data(),
                                                         static_cast<std::uint32_t>(lookup.min_n()),
                                                         static_cast<std::uint32_t>(lookup.max_n())});
        const state_type after = state.on_host().front();
        const std::vector<token> tokens = there.on_host();
        const auto got = std::span<const token>(tokens).subspan(text.size(), after.drafted);
        BOOST_TEST(got == expected.tokens(), boost::test_tools::per_element());
        BOOST_TEST(after.asks.seen().match_length == context.seen().match_length);
    }
}

/// Of few kinds, so that it repeats itself, with a stretch of it copied to its end.
std::vector<token> repetitive(std::uint32_t seed, std::size_t size, std::uint32_t kinds) {
    std::vector<token> text;
    for (std::uint32_t i = 0; i < size; ++i) {
        text.push_back(static_cast<token>(random::philox4x32({i, 0, 0, 0}, {seed, 3})[0] % kinds));
    }
    for (std::size_t i = 0; i < seed % 7; ++i) text.push_back(text[size / 3 + i]);
    return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_kernel_drafts_what_the_host_drafts) {
    std::size_t texts = 0;
    for (const std::size_t size : {1u, 2u, 3u, 9u, 40u, 255u, 256u, 257u, 700u}) {
        for (std::uint32_t seed = 0; seed < 12; ++seed) {
            const auto text = repetitive(seed, size, 2 + 3 * (seed % 3) + (seed == 11 ? 300 : 0));
            for (const auto& lookup : {draft::prompt_lookup(), draft::prompt_lookup(2, 3), draft::prompt_lookup(1, 1),
                                       draft::prompt_lookup(3, 64)}) {
                check_draft(text, lookup, policy::fixed_length{6}, 20);
                check_draft(text, lookup, as_long_as_the_match{}, 9);
                check_draft(text, lookup, at_odd_lengths{}, 20);
                ++texts;
            }
            check_draft(text, draft::prompt_lookup(), policy::fixed_length{0}, 20);
        }
    }
    BOOST_TEST(texts == 9u * 12 * 4);
    check_draft({1, 2, 3, 1, 2}, draft::prompt_lookup(2, 4), policy::fixed_length{7}, 20);  // goes round
    std::vector<token> tied = {1, 2, 1, 3};  // the latest sixteen are eight for each, one more or less for 2
    for (int i = 0; i < 15; ++i) tied.insert(tied.end(), {1, i < 8 ? 2 : 3});
    tied.push_back(1);
    check_draft(tied, draft::prompt_lookup(1, 1), policy::fixed_length{1}, 20);
}

namespace {

struct run_check {
    resident_mock::law target_law{1, 6, 2};
    decode::options chosen{};
    std::vector<token> prompt = {3, 1, 4, 1, 5, 3, 1};
    std::size_t capacity = 90;

    template <class Policy, class Criterion>
    auto operator()(const draft::prompt_lookup<>& lookup, const Policy& policy, const Criterion& criterion) const {
        const resident_mock::model target(target_law, 6, capacity, 8);
        const auto target_here = target.on_host();
        const auto expected =
            decode::generate<any_guarantee>(speculate(lookup, target_here, policy, criterion), prompt, chosen);
        decode::device::speculation_loop loop(target, kernel_lookup(lookup), policy, criterion, chosen.sampling, 7);
        for (const loop_as how : {loop_as::whole, loop_as::rounds, loop_as::launches}) {
            const auto got = decode::device::generate<any_guarantee>(loop, prompt, chosen, how);
            BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
            BOOST_TEST((got.finish == expected.finish));
            const auto &a = got.counts.stages.back(), &b = expected.counts.stages.back();
            BOOST_TEST(a.rounds == b.rounds);
            BOOST_TEST(a.drafted == b.drafted);
            BOOST_TEST(a.accepted == b.accepted);
            BOOST_TEST((got.counts.origins == expected.counts.origins));
        }
        return expected.counts.stages.back();
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(loops_write_what_generate_writes) {
    run_check check;
    check.chosen.timed = false;
    std::size_t accepted = 0, drafted = 0;
    const auto add = [&](const auto& counts) {
        accepted += counts.accepted;
        drafted += counts.drafted;
    };
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        check.chosen.seed = seed;
        check.target_law.seed = 1 + static_cast<std::uint32_t>(seed);
        for (const auto& lookup : {draft::prompt_lookup(), draft::prompt_lookup(2, 3)}) {
            check.chosen.stop.max_tokens = 40 + 30 * seed;  // the last ends with the context
            check.chosen.sampling = {.temperature = {0}};
            add(check(lookup, policy::fixed_length{5}, accept::exact{}));
            check.chosen.sampling = {.temperature = {0.3f}};
            add(check(lookup, as_long_as_the_match{}, accept::coupled{}));
            check.chosen.sampling.penalties = {.repetition = 1.1f, .presence = 0.1f, .frequency = 0.05f};
            check.chosen.sampling.top_k.k = 3;
            add(check(lookup, policy::fixed_length{7}, accept::rejection_sampling{}));
        }
    }
    BOOST_TEST(accepted > 100u);
    BOOST_TEST(drafted > accepted);
}

BOOST_AUTO_TEST_CASE(it_prints_and_compares) {
    std::ostringstream out;
    out << kernel_lookup(draft::prompt_lookup(2, 5));
    BOOST_TEST(out.str() == "kernel_lookup{prompt_lookup{.min_n=2, .max_n=5}}");
    BOOST_TEST((kernel_lookup() == kernel_lookup(draft::prompt_lookup())));
    BOOST_TEST((kernel_lookup() != kernel_lookup(draft::prompt_lookup(2, 5))));
}

BOOST_AUTO_TEST_SUITE_END()
