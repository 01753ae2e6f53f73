#include "augur/decode/device/loop_drafter.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/backend/device/round.hpp>
#include <augur/decode/device/generate.hpp>
#include <augur/decode/device/loop.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/types/prefix.hpp>
#include <augur/types/proposal.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "decode/device/resident_mock.hpp"

using namespace augur;
using decode::device::loop_as, decode::device::loop_sizes, decode::device::shows_all_of;

BOOST_AUTO_TEST_SUITE(decode_loop_drafter)

namespace {

/// Kernel: the last committed token again and again, as often as is wanted.
template <class State>
struct write_again {
    static constexpr unsigned threads = 32;

    State* state;
    token* text;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            state->drafted = static_cast<std::uint32_t>(state->asks.wanted());
            for (std::uint32_t i = 0; i < state->drafted; ++i) text[state->length + i] = text[state->length - 1];
        });
    }
};

template <class View>
struct drafts_again {
    static constexpr signals shown = signals::none;

    template <class Named, class Target>
    drafts_again(const Named& named, const Target& target, const loop_sizes& sizes) : most(named.most) {
        BOOST_TEST(sizes.vocabulary == target.vocabulary_size());
        BOOST_TEST(sizes.capacity == target.capacity());
    }

    std::size_t capacity() const { return most; }
    void start(const token*, std::size_t) const {}
    void launch(const View& in) const { in.on.launch(1, write_again<typename View::state_type>{in.state, in.text}); }
    static backend::device::certain_chain chain(const token* text) { return {text}; }

    std::size_t most;
};

/// A drafter of one's own, as a user names it; of a context of `most` tokens, whose last one drafts another.
struct again {
    template <class View, class TokenSelector, class Target>
    using in_loop = drafts_again<View>;

    std::size_t most = 1000;
};

/// The same on the host.
struct again_on_host {
    using draft_distribution_type = point_mass;
    struct state_type {};

    std::size_t most = 1000;

    static state_type make_state() { return {}; }
    void on_commit(state_type&, const prefix&) const {}
    void propose(state_type&, auto& context, proposal<point_mass>& proposed) const {
        const auto text = context.prefix().tokens();
        while (text.size() + proposed.size() <= most && context.wants_more(proposed.size())) proposed.push(text.back());
    }
};

/// Of a target that likes to repeat itself.
std::size_t accepted_by(const auto& criterion, const decode::options& chosen, std::size_t most) {
    const resident_mock::model target({1, 4, 2}, 7, 60, 8);
    const auto target_there = target.on_host();
    const policy::fixed_length lengths{3};
    const std::vector<token> prompt{3, 1, 1};
    const auto expected = decode::generate<any_guarantee>(
        speculate(again_on_host{most}, target_there, lengths, criterion), prompt, chosen);
    decode::device::speculation_loop loop(target, again{most}, lengths, criterion, chosen.sampling, 7);
    for (const loop_as how : {loop_as::whole, loop_as::rounds, loop_as::launches}) {
        const auto got = decode::device::generate<any_guarantee>(loop, prompt, chosen, how);
        BOOST_TEST(got.tokens == expected.tokens, boost::test_tools::per_element());
        const auto &a = got.counts.stages.back(), &b = expected.counts.stages.back();
        BOOST_TEST(a.rounds == b.rounds);
        BOOST_TEST(a.drafted == b.drafted);
        BOOST_TEST(a.accepted == b.accepted);
        BOOST_TEST(a.drafted > 0u);
    }
    return expected.counts.stages.back().accepted;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_drafter_of_ones_own_drafts_what_it_would_on_the_host) {
    decode::options chosen;
    chosen.timed = false;
    chosen.stop.max_tokens = 40;
    std::size_t accepted = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        chosen.seed = seed;
        for (const std::size_t most : {1000u, 20u}) accepted += accepted_by(accept::coupled{}, chosen, most);
    }
    chosen.sampling.temperature.value = 0;
    accepted_by(accept::exact{}, chosen, 1000);
    BOOST_TEST(accepted > 5u);
}

BOOST_AUTO_TEST_CASE(what_a_policy_needs_of_drafts_is_shown_or_not) {
    using enum signals;
    BOOST_TEST(shows_all_of(none, none));
    BOOST_TEST(shows_all_of(target_entropy | target_confidence, none));  // the loop's own
    for (const signals one : {draft_entropy, draft_confidence, match_length}) {
        BOOST_TEST(shows_all_of(one | target_entropy, one));
        BOOST_TEST(!shows_all_of(one, without(draft_entropy | draft_confidence | match_length, one)));
    }
}

BOOST_AUTO_TEST_SUITE_END()
