#include "augur/draft/own_sequence.hpp"

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/decode/resume.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/draft/self_speculation.hpp>
#include <augur/policy/confidence_stop.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <utility>
#include <vector>

#include "draft/attending_mock.hpp"
#include "sanitized.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(draft_own_sequence)
using namespace augur;
using policy::fixed_length;
using testing::attending_mock;
using testing::split_mock;

using on_head = draft::self_speculation<const attending_mock&, draft::argmax>;
static_assert(Drafter<on_head> && DraftsInTarget<on_head, split_mock> && FillsTarget<on_head, split_mock>);
static_assert(!FillsTarget<draft::self_speculation<const testing::exit_mock&, draft::argmax>, split_mock>);
static_assert(draft::AwaitsSelector<decltype(draft::self_speculation(attending_mock{{3}}))>);

const testing::effort tries{.cases = testing::unless_sanitized<std::size_t>(5, 1)};

attending_mock head_after(std::size_t layer, std::size_t vocabulary = 3) {
    return {{.vocabulary = vocabulary, .after = layer, .noise = 1.5F}};
}
transform::settings greedy() {
    return {.temperature = {0}};
}

BOOST_AUTO_TEST_CASE(every_law_is_kept_after_any_layer) {
    for (const std::size_t layer : {1u, 2u, 3u}) {
        const split_mock target(testing::hashed_model(3, layer));
        const attending_mock head = head_after(layer);
        const auto kept = [&](const auto& scheme, const transform::settings& sampling) {
            const auto r = testing::scheme_laws(scheme, {.sampling = sampling, .stop = {.max_tokens = 3}}, tries);
            BOOST_TEST(r.kept(), r);
        };
        kept(speculate(head, target, fixed_length{2}, accept::exact{}), greedy());
        kept(speculate(head, target, policy::confidence_stop({.threshold = 0.5}), accept::coupled{}), {});
        kept(speculate(head, target, fixed_length{2}, accept::rejection_sampling{}), {});
        kept(speculate(head, target, fixed_length{2}, accept::block{}), {});
    }
}

BOOST_AUTO_TEST_CASE(the_laws_of_drafters_are_kept) {
    const split_mock target(testing::hashed_model(3, 1));
    const attending_mock head = head_after(2);
    for (const auto& r : {testing::drafter_laws(draft::self_speculation(head, draft::argmax{}), target),
                          testing::drafter_laws(draft::self_speculation(head, draft::sampled{}), target)}) {
        BOOST_TEST(r.kept(), r);
    }
}

BOOST_AUTO_TEST_CASE(beside_other_drafters_and_inside_a_cascade_every_law_is_kept) {
    const split_mock middle(testing::hashed_model(3, 1)), target(testing::hashed_model(3, 2));
    const attending_mock head = head_after(2);
    const auto kept = [&](const auto& scheme) {
        const auto r = testing::scheme_laws(scheme, {.stop = {.max_tokens = 3}}, tries);
        BOOST_TEST(r.kept(), r);
    };
    kept(speculate(draft::fallback(draft::prompt_lookup{}, head), target, fixed_length{2}, accept::coupled{}));
    const scheme::model_link sampled{fixed_length{2}, accept::rejection_sampling{}};
    kept(cascaded(head, sampled, middle, sampled, target));
}

/// Counts the tokens that go through some layers, and through the others.
struct counting_mock : split_mock {
    using split_mock::split_mock;
    scattered_scores run(std::span<const pass_type> asked) const {
        for (const pass_type& each : asked) {
            if (each.from_layer == 0) shallow += each.tokens.size();
            if (each.to_layer == all_layers)
                deep += each.from_layer == 0 ? each.tokens.size() : waiting(*each.sequence);
        }
        return split_mock::run(asked);
    }
    mutable std::size_t shallow = 0, deep = 0;
};

/// After so many layers, of a cache that has seen nothing else.
std::vector<float> states_after(const split_mock& target, std::span<const token> tokens, std::size_t layers) {
    auto sequence = target.make_sequence();
    const split_mock::pass_type one{.sequence = &sequence, .tokens = tokens, .to_layer = layers};
    target.run(std::span(&one, 1));
    return sequence.states;
}

/// Whether the own sequence, from first to last, is that of the text, which goes on after it by `lacking` tokens.
template <class Scheme, class Session, class State>
bool holds_the_text(const Scheme& scheme, const Session& s, const State& state, const attending_mock& head) {
    const auto shown = state.own.text(head).states;
    const std::size_t held = s.last.decided.drafted - s.last.decided.accepted;  // of another text
    const std::size_t sure = std::min(state.own.size() - std::min(held, state.own.size()), s.committed.size() - 1);
    const auto expected = states_after(scheme.target(), s.committed.tokens().first(sure), head.layer());
    return sure + 1 >= s.committed.size() && std::equal(expected.begin(), expected.end(), shown.begin());
}

constexpr std::size_t vocabulary = 7;
std::vector<token> long_prompt(std::size_t length) {
    std::vector<token> tokens;
    for (std::size_t i = 0; i < length; ++i) tokens.push_back(static_cast<token>((3 * i + i / 5) % vocabulary));
    return tokens;
}

BOOST_AUTO_TEST_CASE(the_own_sequence_is_that_of_the_text_whatever_was_rejected) {
    const counting_mock target(testing::hashed_model(vocabulary, 4));
    const attending_mock head = head_after(2, vocabulary);
    const auto scheme = speculate(on_head(head), target, fixed_length{3}, accept::exact{});
    for (const std::size_t length : {1u, 9u, 900u}) {  // a long prompt is filled in by parts
        target.shallow = target.deep = 0;
        decode::session s(scheme, long_prompt(length), greedy(), {.max_tokens = 30}, random::philox_chooser(1));
        BOOST_TEST(s.drafter_state.own.size() == length - 1);
        BOOST_TEST(target.shallow == length - 1);  // once
        BOOST_TEST(target.deep == length - 1);
        const auto number = s.drafter_state.own.text(head).number;
        std::size_t rejected = 0;
        while (s.finished == finish_reason::running) {
            const std::size_t before = target.shallow;
            decode::step(scheme, s, {.timed = false});
            BOOST_TEST(target.shallow - before == s.last.decided.drafted + 1);  // nothing again
            BOOST_TEST(holds_the_text(scheme, s, s.drafter_state, head));
            rejected += s.last.decided.drafted - s.last.decided.accepted;
        }
        BOOST_TEST(rejected > 5U);
        BOOST_TEST(s.drafter_state.own.text(head).number == number);
    }
}

BOOST_AUTO_TEST_CASE(what_the_target_computed_without_it_is_filled_in) {
    const counting_mock target(testing::hashed_model(vocabulary, 4));
    const attending_mock head = head_after(2, vocabulary);
    const auto scheme = speculate(on_head(head), target, fixed_length{3}, accept::exact{});
    decode::session s(scheme, long_prompt(9), greedy(), {.max_tokens = 12}, random::philox_chooser(1));
    for (int i = 0; i < 2; ++i) decode::step(scheme, s, {.timed = false});
    s.target.fill(s.committed.tokens());  // by whole passes
    decode::step(scheme, s, {.timed = false});
    BOOST_TEST(holds_the_text(scheme, s, s.drafter_state, head));
    s.drafter_state = scheme.drafter().make_state();  // it knows nothing, the target all
    decode::step(scheme, s, {.timed = false});
    BOOST_TEST(holds_the_text(scheme, s, s.drafter_state, head));
    s.target.rewind({});  // the target knows nothing, it all
    decode::step(scheme, s, {.timed = false});
    BOOST_TEST(holds_the_text(scheme, s, s.drafter_state, head));
    while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false});
    const std::vector<token> more{1, 1, 5};
    const std::size_t before = target.shallow;
    decode::resume(scheme, s, more, {.max_tokens = 12});
    BOOST_TEST(target.shallow - before <= more.size() + 3);
    decode::step(scheme, s, {.timed = false});
    BOOST_TEST(holds_the_text(scheme, s, s.drafter_state, head));
}

BOOST_AUTO_TEST_CASE(what_was_rejected_is_forgotten_where_a_text_goes_on) {
    const split_mock target(testing::hashed_model(vocabulary, 4));
    const attending_mock head = head_after(2, vocabulary);
    const auto scheme = speculate(on_head(head), target, fixed_length{3}, accept::exact{});
    decode::session s(scheme, long_prompt(9), greedy(), {.max_tokens = 40}, random::philox_chooser(1));
    std::size_t cut = 0;
    for (int round = 0; round < 12; ++round) {
        decode::step(scheme, s, {.timed = false});
        if (s.last.decided.drafted < s.last.decided.accepted + 2) continue;
        ++cut;
        decode::resume(scheme, s, {}, {.max_tokens = 40});
        BOOST_TEST_REQUIRE(s.drafter_state.own.size() == s.committed.size() - 1);
        const auto expected = states_after(target, s.committed.tokens().first(s.committed.size() - 1), head.layer());
        const auto shown = s.drafter_state.own.text(head).states;
        BOOST_TEST(std::equal(expected.begin(), expected.end(), shown.begin(), shown.end()));
    }
    BOOST_TEST(cut > 2u);
}

BOOST_AUTO_TEST_CASE(where_another_drafter_goes_on_its_positions_are_filled_in_later) {
    const split_mock target(testing::hashed_model(vocabulary, 4));
    const attending_mock head = head_after(2, vocabulary);
    using lookup = draft::prompt_lookup<>;
    const auto scheme =
        speculate(draft::fallback(lookup{2, 3}, on_head(head)), target, fixed_length{3}, accept::exact{});
    decode::session s(scheme, long_prompt(30), greedy(), {.max_tokens = 60}, random::philox_chooser(1));
    while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false});
    const auto plain_text = decode::generate<any_guarantee>(plain(target), long_prompt(30),
                                                            {.sampling = greedy(), .stop = {.max_tokens = 60}});
    BOOST_TEST(s.committed.generated() == std::span<const token>(plain_text.tokens), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_copy_and_a_text_that_goes_on_otherwise_are_others) {
    const split_mock target(testing::hashed_model(vocabulary, 4));
    const attending_mock head = head_after(2, vocabulary);
    draft::own_sequence own(head);
    model::cached_sequence cache(target);
    const std::vector<token> text{1, 2, 3, 4}, other{1, 5, 3, 4, 2};
    const auto go_on = [&](std::span<const token> tokens) {
        own.begin_round(head, tokens, cache);
        cache.fill(tokens, head.layer(),
                   [&](const auto& states) { own.take(head, tokens.first(states.first() + states.size()), states); });
        return own.text(head).number;
    };
    const auto first = go_on(std::span(text).first(2));
    BOOST_TEST(go_on(text) == first);
    const draft::own_sequence copy = own;
    BOOST_TEST(copy.text(head).number != first);
    BOOST_TEST(own.text(head).number == first);
    draft::own_sequence moved = std::move(own);
    BOOST_TEST(moved.text(head).number == first);
    own = std::move(moved);
    BOOST_TEST(go_on(std::span(text).first(3)) != first);
    const auto shorter = own.text(head).number;
    BOOST_TEST(go_on(other) != shorter);
    const auto expected = states_after(target, other, head.layer());
    BOOST_TEST(std::equal(expected.begin(), expected.end(), own.text(head).states.begin()));
}

BOOST_AUTO_TEST_CASE(a_head_must_fit_its_target) {
    const split_mock target(testing::hashed_model(3, 1));
    BOOST_TEST(testing::refuses(
        [&] { static_cast<void>(speculate(head_after(2, 4), target, fixed_length{2}, accept::exact{})); }, "4"));
    BOOST_TEST(testing::refuses(
        [&] { static_cast<void>(speculate(head_after(4), target, fixed_length{2}, accept::exact{})); }, "1 to 3"));
}

BOOST_AUTO_TEST_SUITE_END()
