#include "augur/draft/self_speculation.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/confidence_stop.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "draft/exit_mock.hpp"
#include "model/smallest.hpp"
#include "sanitized.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_self_speculation)

const testing::effort tries{.cases = testing::unless_sanitized<std::size_t>(6, 1)};

using accept::coupled;
using accept::exact;
using accept::rejection_sampling;
using policy::confidence_stop;
using policy::fixed_length;
using testing::exit_mock;
using testing::split_mock;

using on_head = draft::self_speculation<const exit_mock&, draft::argmax>;
static_assert(Drafter<on_head> && !ReadsStates<on_head> && drafts_in_target<on_head> && shows_rows<on_head>);
static_assert(DraftsInTarget<on_head, split_mock> && !DraftsInTarget<on_head, testing::function_model>);
static_assert(draft::AwaitsSelector<decltype(draft::self_speculation(exit_mock{3}))>);
static_assert(drafts_in_target<draft::fallback<draft::prompt_lookup<>, on_head>>);
static_assert(!drafts_in_target<draft::prompt_lookup<>>);

const std::vector<token> prompt{2, 1, 0, 2};

transform::settings greedy() {
    return {.temperature = {0}};
}

template <class Scheme>
auto session_of(const Scheme& scheme, transform::settings sampling = greedy(), std::size_t tokens = 40,
                std::uint64_t seed = 7) {
    return decode::session<Scheme>(scheme, prompt, std::move(sampling), {.max_tokens = tokens},
                                   random::philox_chooser(seed));
}

std::vector<token> text_of(const auto& scheme, const decode::options& chosen) {
    return decode::generate<any_guarantee>(scheme, prompt, chosen).tokens;
}

// ------------------------------------------------------------------------------------------------ laws, by enumeration

template <class Target>
void keeps_the_laws(const Target& target, const exit_mock& head) {
    const auto kept = [&](const auto& scheme, decode::options chosen) {
        chosen.stop.max_tokens = 3;
        const auto r = testing::scheme_laws(scheme, chosen, tries);
        BOOST_TEST(r.kept(), r);
    };
    const fixed_length two{2};
    const confidence_stop stop({.threshold = 0.5, .max_tokens = 2, .beyond = 0}), beyond({.threshold = 0.5});
    kept(speculate(head, target, two, exact{}), {.sampling = greedy()});
    kept(speculate(head, target, stop, exact{}), {.sampling = greedy()});
    kept(speculate(head, target, two, coupled{}), {});
    kept(speculate(head, target, beyond, coupled{}), {});
    kept(speculate(head, target, two, rejection_sampling{}), {});
    kept(speculate(head, target, stop, rejection_sampling{}), {.sampling = {.temperature = {0.7f}, .top_k = {2}}});
    kept(speculate(head, target, two, accept::block{}), {});
}

BOOST_AUTO_TEST_CASE(every_law_is_kept_after_any_layer) {
    for (const std::size_t layer : {1u, 2u, 3u}) {
        const exit_mock head{.vocabulary = 3, .after = layer, .noise = 1.5f};
        keeps_the_laws(split_mock(testing::hashed_model(3, layer)), head);
    }
}

BOOST_AUTO_TEST_CASE(every_law_is_kept_by_heads_that_leave_tokens_out_and_targets_that_do_more) {
    keeps_the_laws(testing::full_mock(testing::hashed_model(3, 5)),
                   exit_mock{.vocabulary = 3, .after = 2, .noise = 1.5f, .kept = 2});
}

BOOST_AUTO_TEST_CASE(the_laws_of_drafters_are_kept) {
    const split_mock target(testing::hashed_model(3, 1));
    const exit_mock head{.vocabulary = 3, .after = 2};
    for (const auto& r : {testing::drafter_laws(draft::self_speculation(head, draft::argmax{}), target),
                          testing::drafter_laws(draft::self_speculation(head, draft::sampled{}), target),
                          testing::drafter_laws(draft::self_speculation(head, draft::shared_noise{}), target)}) {
        BOOST_TEST(r.kept(), r);
    }
}

/// Goes on while the draft's rows are sure enough, and does not know how sure others are.
struct unless_unsure {
    static constexpr signals_read reads{.available = signals::draft_confidence};
    std::size_t length(const observation& seen) const { return seen.draft_confidence < 0.6 ? seen.drafted : 2; }
};

BOOST_AUTO_TEST_CASE(beside_other_drafters_every_law_is_kept) {
    const split_mock target(testing::hashed_model(3, 1));
    const exit_mock head{.vocabulary = 3, .after = 2};
    for (const auto& r : {testing::scheme_laws(speculate(draft::fallback(head, draft::prompt_lookup{}), target,
                                                         unless_unsure{}, rejection_sampling{}),
                                               {.stop = {.max_tokens = 3}}, tries),
                          testing::scheme_laws(speculate(draft::fallback(draft::prompt_lookup{}, head), target,
                                                         fixed_length{2}, coupled{}),
                                               {.stop = {.max_tokens = 3}}, tries)}) {
        BOOST_TEST(r.kept(), r);
    }
}

/// The head drafts for the model in the middle, in that model's sequence, or for the last.
BOOST_AUTO_TEST_CASE(inside_a_cascade_every_law_is_kept) {
    const split_mock middle(testing::hashed_model(3, 1)), target(testing::hashed_model(3, 2));
    const exit_mock head{.vocabulary = 3, .after = 2};
    const auto kept = [&](const auto& scheme, const decode::options& chosen) {
        const auto r = testing::scheme_laws(scheme, chosen, tries);
        BOOST_TEST(r.kept(), r);
    };
    const scheme::model_link sampled{fixed_length{2}, rejection_sampling{}};
    const scheme::model_link same{fixed_length{2}, coupled{}};
    kept(cascaded(head, sampled, middle, sampled, target), {.stop = {.max_tokens = 3}});
    kept(cascaded(head, same, middle, same, target), {.stop = {.max_tokens = 3}});
    const scheme::model_link best{fixed_length{2}, exact{}};
    kept(cascaded(head, best, middle, best, target), {.sampling = greedy(), .stop = {.max_tokens = 3}});
}

// ---------------------------------------------------------------------------------------------- what is run, and when

/// Counts the tokens that go through each layer.
template <class Mock>
class counted : public Mock {
 public:
    using typename Mock::pass_type;
    struct counts {
        std::size_t shallow = 0, deep = 0, whole = 0, passes = 0, deep_passes = 0, fail_at = 0;
    };
    explicit counted(Mock model) : Mock(std::move(model)) {}

    auto extend(typename Mock::sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        const pass_type one{.sequence = &s, .tokens = tokens, .rows = last};
        run(std::span(&one, 1));
        return scores{s.rows.data(), last, this->vocabulary_size()};
    }
    auto extend(typename Mock::sequence_type& s, std::span<const token> tokens) const {
        return extend(s, tokens, tokens.size());
    }
    auto run(std::span<const pass_type> asked) const {
        if (++of->passes == of->fail_at) throw std::runtime_error("out of order");
        counts now = *of;
        for (const pass_type& each : asked) {
            if (each.from_layer > 0) {
                now.deep += this->waiting(*each.sequence);
                ++now.deep_passes;
            } else {
                (each.to_layer == all_layers ? now.whole : now.shallow) += each.tokens.size();
            }
        }
        const auto rows = Mock::run(asked);
        *of = now;
        return rows;
    }
    counts taken() const { return std::exchange(*of, {}); }

    std::shared_ptr<counts> of = std::make_shared<counts>();
};
static_assert(SplitModel<counted<split_mock>>);

using counted_split = counted<split_mock>;

BOOST_AUTO_TEST_CASE(inside_a_cascade_what_went_through_the_first_layers_goes_on_from_there) {
    const counted_split middle(split_mock(testing::hashed_model(9, 1)));
    const auto target = testing::hashed_model(9, 2);
    const exit_mock head{.vocabulary = 9, .after = 3, .noise = 0.4f};
    const auto scheme = cascaded(head, scheme::model_link{fixed_length{2}, exact{}}, middle,
                                 scheme::model_link{fixed_length{4}, exact{}}, target);
    auto s = session_of(scheme, greedy(), 60);
    middle.taken();
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    const auto taken = middle.taken();
    BOOST_TEST(taken.shallow > 30u);
    BOOST_TEST(taken.deep == taken.shallow);
}

BOOST_AUTO_TEST_CASE(each_layer_sees_each_token_once) {
    const counted_split target(split_mock(testing::hashed_model(9, 1)));
    const exit_mock head{.vocabulary = 9, .after = 3, .noise = 0.4f};
    const auto check = [&](const auto& policy, bool looks_beyond) {
        const auto scheme = speculate(head, target, policy, exact{});
        auto s = session_of(scheme, greedy(), 200);
        const auto prefilled = target.taken();
        BOOST_TEST(prefilled.whole == prompt.size() - 1);
        std::size_t lengths = 0, accepted = 0;
        while (s.finished == finish_reason::running) {
            const auto& did = decode::step(scheme, s);
            const auto taken = target.taken();
            const std::size_t drafted = did.proposed.size(), rows = drafted + 1;
            if (taken.whole > 0) {  // nothing was looked at: plain decoding
                BOOST_TEST((drafted == 0 && taken.whole == 1 && taken.passes == 1));
                continue;
            }
            BOOST_TEST(taken.shallow == rows);
            BOOST_TEST(taken.deep == rows);
            BOOST_TEST(taken.deep_passes == 1u);
            BOOST_TEST(taken.passes == rows + 1);
            lengths |= std::size_t{1} << drafted;
            accepted += did.decided.accepted;
        }
        BOOST_TEST(accepted > 20u);
        if (looks_beyond) BOOST_TEST(lengths > 8u);  // some drafts are short, some are long
    };
    check(fixed_length{1}, false);
    check(fixed_length{3}, false);
    check(confidence_stop({.threshold = 0.35, .max_tokens = 5, .beyond = 0}), true);
    check(confidence_stop({.threshold = 0.35, .max_tokens = 5, .beyond = 1}), true);
}

BOOST_AUTO_TEST_CASE(a_policy_that_wants_nothing_decodes_plainly) {
    const counted_split target(split_mock(testing::hashed_model(9, 1)));
    const exit_mock head{.vocabulary = 9, .after = 3};
    const auto scheme = speculate(head, target, fixed_length{0}, exact{});
    auto s = session_of(scheme);
    target.taken();
    for (int round = 0; round < 5; ++round) decode::step(scheme, s);
    const auto taken = target.taken();
    BOOST_TEST((taken.whole == 5 && taken.shallow == 0 && taken.deep == 0));
}

/// The last token committed has been through the first layers when the other drafter is asked.
BOOST_AUTO_TEST_CASE(what_another_drafter_drafts_joins_the_positions_that_wait) {
    const counted_split target(split_mock(testing::scripted_model(4, {0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1}, 1)));
    const exit_mock head{.vocabulary = 4, .after = 1, .noise = 0};
    const auto scheme = speculate(draft::fallback(head, draft::prompt_lookup{}), target, unless_unsure{}, exact{});
    const std::vector<token> text{0, 1, 2, 3, 0, 1, 2};
    decode::session<std::remove_cvref_t<decltype(scheme)>> s(scheme, text, greedy(), {.max_tokens = 6},
                                                             random::philox_chooser(0));
    target.taken();
    const auto& did = decode::step(scheme, s);
    BOOST_TEST(did.proposed.size() == 2u);
    BOOST_TEST(did.decided.accepted == 2u);
    const auto taken = target.taken();
    BOOST_TEST((taken.shallow == 3 && taken.deep == 3 && taken.deep_passes == 1 && taken.whole == 0));
}

BOOST_AUTO_TEST_CASE(rounds_inside_a_stage_see_each_token_once_too) {
    const counted_split middle(split_mock(testing::hashed_model(9, 1)));
    const split_mock target(testing::hashed_model(9, 1));
    const exit_mock head{.vocabulary = 9, .after = 3, .noise = 0.4f};
    const auto scheme = cascaded(head, scheme::model_link{fixed_length{2}, exact{}}, middle,
                                 scheme::model_link{fixed_length{6}, exact{}}, target);
    auto s = session_of(scheme);
    middle.taken();
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    const auto taken = middle.taken();
    BOOST_TEST(taken.shallow == taken.deep);
    BOOST_TEST(taken.deep > 40u);
    BOOST_TEST(taken.whole < 3u);  // where there is room for one token only
}

BOOST_AUTO_TEST_CASE(every_kind_of_text_is_that_of_plain_decoding) {
    const split_mock target(testing::hashed_model(30, 1, 2, 70));
    const exit_mock head{.vocabulary = 30, .after = 2, .noise = 0.3f};
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        decode::options chosen;
        chosen.stop.max_tokens = 100;  // the context ends it
        chosen.seed = seed;
        const confidence_stop policy({.threshold = 0.1 * static_cast<double>(seed), .max_tokens = 5});
        BOOST_TEST(text_of(speculate(head, target, policy, coupled{}), chosen) == text_of(plain(target), chosen),
                   boost::test_tools::per_element());
        chosen.sampling = greedy();
        const auto expected = text_of(plain(target), chosen);
        BOOST_TEST(expected.size() == 70 - prompt.size());
        BOOST_TEST(text_of(speculate(head, target, policy, exact{}), chosen) == expected,
                   boost::test_tools::per_element());
        chosen.stop.stop_tokens = {expected[20 + seed]};
        BOOST_TEST(text_of(speculate(head, target, policy, exact{}), chosen) == text_of(plain(target), chosen),
                   boost::test_tools::per_element());
    }
}

/// A round with what the target says of the same text.
struct compares {
    const split_mock& model;
    void watch(const auto& view) {
        const auto tokens = view.prefix.tokens();
        auto fresh = model.make_sequence();
        const auto rows = model.extend(fresh, tokens);
        for (std::size_t i = 0; i <= view.decided.accepted; ++i) {
            BOOST_TEST(std::equal(view.rows[i].begin(), view.rows[i].end(), rows[view.length_before - 1 + i].begin()));
        }
        BOOST_TEST(view.states.first() == view.length_before - 1);
        BOOST_TEST(view.states.first() + view.states.size() == tokens.size() - 1);
        for (std::size_t i = 0; i < view.states.size(); ++i) {
            BOOST_TEST(std::equal(view.states[i].begin(), view.states[i].end(),
                                  rows[view.states.first() + i].begin()));  // its head is the identity
        }
    }
};

BOOST_AUTO_TEST_CASE(watchers_are_shown_the_targets_rows_and_states) {
    const split_mock target(testing::hashed_model(9, 1));
    const exit_mock head{.vocabulary = 9, .after = 1, .noise = 0.4f};
    const auto scheme = speculate(head, target, fixed_length{3}, exact{});
    auto s = session_of(scheme);
    compares watcher{target};
    while (s.finished == finish_reason::running) decode::step(scheme, s, {}, watcher);
}

// ---------------------------------------------------------------------------------- rounds that end early, and batches

BOOST_AUTO_TEST_CASE(a_cancelled_round_can_be_repeated_with_the_same_result) {
    const split_mock target(testing::hashed_model(9, 1));
    const exit_mock head{.vocabulary = 9, .after = 3, .noise = 0.4f};
    const auto scheme = speculate(head, target, fixed_length{3}, rejection_sampling{});
    auto alone = session_of(scheme, {}, 1000), broken = session_of(scheme, {}, 1000);
    const decode::step_options chosen;
    for (std::size_t trial = 0; trial < 30; ++trial) {
        const std::size_t stops = trial % 6;  // four through the first layers, one through the others
        {
            decode::open_round round(scheme, broken, chosen);
            for (std::size_t i = 0; i < stops && !round.done(); ++i) {
                round.wanted()->run();
                if (i + 1 < stops) round.resume();
            }
            BOOST_TEST_REQUIRE(!round.done());
        }
        decode::step(scheme, alone);
        decode::step(scheme, broken);
        BOOST_TEST(broken.committed.tokens() == alone.committed.tokens(), boost::test_tools::per_element());
        BOOST_TEST(broken.target.waiting() == 0u);
        BOOST_TEST(target.length(broken.target.sequence()) == broken.target.tokens().size());
    }
}

BOOST_AUTO_TEST_CASE(a_model_that_throws_leaves_a_session_that_goes_on) {
    const counted_split target(split_mock(testing::hashed_model(9, 1)));
    const exit_mock head{.vocabulary = 9, .after = 3, .noise = 0.4f};
    const auto scheme = speculate(head, target, fixed_length{3}, exact{});
    auto alone = session_of(scheme, greedy(), 1000);
    for (int round = 0; round < 20; ++round) decode::step(scheme, alone);
    for (std::size_t at = 1; at <= 5; ++at) {  // 4 shallow passes, then the deep one
        auto s = session_of(scheme, greedy(), 1000);
        for (int round = 0; round < 20; ++round) {
            target.of->fail_at = target.of->passes + at;
            BOOST_CHECK_THROW(decode::step(scheme, s), std::runtime_error);
            decode::step(scheme, s);
        }
        BOOST_TEST(s.committed.tokens() == alone.committed.tokens(), boost::test_tools::per_element());
    }
}

template <class Target>
void a_batch_equals_each_alone(const Target& target) {
    const exit_mock head{.vocabulary = 9, .after = 3, .noise = 0.4f};
    const std::vector<std::vector<token>> all{{1}, {2, 3}, {4, 4, 4}, {5, 1}, {7, 8, 0, 1}};
    const std::vector<std::span<const token>> spans(all.begin(), all.end());
    const auto check = [&](const auto& scheme) {
        decode::options chosen{.stop = {.max_tokens = 30}, .log_probabilities = true, .timed = false};
        const auto together = decode::generate_together(scheme, spans, chosen);
        for (std::size_t i = 0; i < all.size(); ++i) {
            decode::options own = chosen;
            own.seed += i;
            const auto alone = decode::generate(scheme, all[i], own);
            BOOST_TEST(together[i].tokens == alone.tokens, boost::test_tools::per_element());
            BOOST_TEST(together[i].log_probabilities == alone.log_probabilities, boost::test_tools::per_element());
            BOOST_TEST(together[i].counts.rounds() == alone.counts.rounds());
        }
    };
    const confidence_stop policy({.threshold = 0.35, .max_tokens = 4});
    check(speculate(head, target, policy, rejection_sampling{}));
    check(speculate(head, target, policy, coupled{}));
}

BOOST_AUTO_TEST_CASE(texts_of_a_batch_are_those_of_each_alone) {
    a_batch_equals_each_alone(split_mock(testing::hashed_model(9, 1)));
    a_batch_equals_each_alone(testing::full_mock(testing::hashed_model(9, 1)));
}

/// Fails at one text of some length, in the first layers or in the others.
template <class Mock>
struct breaks : Mock {
    bool in_first;
    std::size_t at = 0;

    explicit breaks(bool first) : Mock(testing::hashed_model(5, 1)), in_first(first) {}
    auto run(std::span<const typename Mock::pass_type> asked) const {
        for (const auto& each : asked) {
            const std::size_t length = each.sequence->tokens.size() + each.tokens.size();
            if (at == 0 || length < at || (each.from_layer == 0) != in_first) continue;
            const token first = each.sequence->tokens.empty() ? each.tokens[0] : each.sequence->tokens[0];
            if (first == 3) throw std::runtime_error("out of order");
        }
        return Mock::run(asked);
    }
};

/// Of rounds whose positions are finished in one turn, what one throws ends that one alone.
template <class Mock>
void one_round_of_a_batch_fails(bool in_first) {
    breaks<Mock> target(in_first);
    const exit_mock head{.vocabulary = 5, .after = 3, .noise = 0.4f};
    const auto scheme = speculate(head, target, fixed_length{2}, exact{});
    using session = decode::session<std::remove_cvref_t<decltype(scheme)>>;
    std::vector<session> all, alone;
    for (const token first : {1, 3, 2}) {
        for (auto* of : {&all, &alone}) {
            of->emplace_back(scheme, std::vector<token>{first, 0}, greedy(), commit::stop_conditions{.max_tokens = 20},
                             random::philox_chooser(0));
        }
    }
    for (session& each : alone) {
        while (each.finished == finish_reason::running) decode::step(scheme, each);
    }
    decode::batch<std::remove_cvref_t<decltype(scheme)>> together(scheme);
    for (session& each : all) together.add(each);
    target.at = 9;
    std::size_t thrown = 0;
    for (bool more = true; more;) {
        try {
            more = together.advance();
        } catch (const std::runtime_error&) {
            ++thrown;
        }
    }
    BOOST_TEST(thrown == 1u);
    target.at = 0;
    while (all[1].finished == finish_reason::running) decode::step(scheme, all[1]);
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(all[i].committed.tokens() == alone[i].committed.tokens(), boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(what_a_model_throws_ends_one_round_alone) {
    for (const bool in_first : {false, true}) {
        one_round_of_a_batch_fails<split_mock>(in_first);
        one_round_of_a_batch_fails<testing::full_mock>(in_first);
    }
}

// ------------------------------------------------------------------------------------------------- what is refused

BOOST_AUTO_TEST_CASE(heads_that_do_not_fit_the_target_are_refused) {
    const split_mock target(testing::hashed_model(5, 1));
    const auto refused = [&](const exit_mock& head, const std::string& message) {
        const auto says = [&](const error& e) { return std::string(e.what()).find(message) != std::string::npos; };
        BOOST_CHECK_EXCEPTION(speculate(head, target, fixed_length{2}, exact{}), error, says);
        const scheme::model_link link{fixed_length{2}, exact{}};
        BOOST_CHECK_EXCEPTION(cascaded(head, link, target, link, testing::hashed_model(5, 2)), error, says);
        BOOST_CHECK_EXCEPTION(
            speculate(draft::fallback(draft::prompt_lookup{}, head), target, fixed_length{2}, exact{}), error, says);
    };
    refused({.vocabulary = 5, .after = 4}, "after 4 layers; of a target of 4");
    refused({.vocabulary = 6, .after = 2}, "6");
}

BOOST_AUTO_TEST_CASE(a_row_without_numbers_ends_the_draft) {
    struct broken : exit_mock {
        void row(std::span<const float>, std::span<float> out) const {
            std::fill(out.begin(), out.end(), std::numeric_limits<float>::quiet_NaN());
        }
    };
    const split_mock target(testing::hashed_model(5, 1));
    const broken head{exit_mock{.vocabulary = 5}};
    const auto scheme = speculate(head, target, fixed_length{3}, exact{});
    auto s = session_of(scheme);
    BOOST_TEST(decode::step(scheme, s).proposed.empty());
    BOOST_TEST(s.committed.size() == prompt.size() + 1);
    BOOST_TEST(s.target.waiting() == 0u);
}

BOOST_AUTO_TEST_CASE(what_a_head_says_of_possible_tokens_goes_with_its_rows) {
    struct head_of_one : exit_mock {  // whose rows have other logits, too, which who listens to it does not see
        std::vector<token> only{3};
        std::string vocabulary_fingerprint() const { return {}; }
        std::span<const token> possible() const { return only; }
    };
    const split_mock target(testing::hashed_model(5, 1));
    const head_of_one head{exit_mock{.vocabulary = 5}};
    const std::vector<token> wanted{3, 3, 3};
    const auto check = [&](const auto& from, transform::settings sampling) {
        const auto scheme = speculate(from, target, fixed_length{3}, coupled{});
        auto s = session_of(scheme, sampling);
        BOOST_TEST(decode::step(scheme, s).proposed.tokens() == wanted, boost::test_tools::per_element());
    };
    for (const float temperature : {0.0f, 1.0f}) {
        check(head, {.temperature = {temperature}});
        check(draft::frozen_head(head), {.temperature = {temperature}});
    }
    BOOST_TEST(draft::possible_of(exit_mock{5}).empty());
}

BOOST_AUTO_TEST_CASE(untimed_rounds_say_a_millisecond) {
    const split_mock target(testing::hashed_model(5, 1));
    const exit_mock head{.vocabulary = 5};
    const auto scheme = speculate(head, target, fixed_length{3}, exact{});
    auto s = session_of(scheme);
    const auto& did = decode::step(scheme, s, {.timed = false});
    BOOST_TEST(did.seconds.draft == 1e-3);
    BOOST_TEST(did.seconds.verify == 1e-3);
}

BOOST_AUTO_TEST_CASE(no_time_is_counted_twice) {
    struct slow : split_mock {
        using split_mock::split_mock;
        auto run(std::span<const pass_type> asked) const {
            if (asked[0].to_layer != all_layers) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return split_mock::run(asked);
        }
    };
    const slow target(testing::hashed_model(5, 1));
    const exit_mock head{.vocabulary = 5};
    const auto scheme = speculate(head, target, fixed_length{3}, exact{});
    auto s = session_of(scheme);
    const augur::detail::stopwatch watch;
    const auto spent = decode::step(scheme, s).seconds;
    const double took = watch.seconds();
    BOOST_TEST(spent.draft >= 0);
    BOOST_TEST(spent.total() <= took);
}

/// Adds up the seconds of the rounds that it was told of.
struct timed {
    struct sums {
        double draft = 0, verify = 0;
        std::size_t drafted = 0;
    };
    std::shared_ptr<sums> of = std::make_shared<sums>();

    std::size_t length(const observation&) const { return 2; }
    void learn(const outcome& happened) {
        of->draft += happened.draft_seconds;
        of->verify += happened.verify_seconds;
        of->drafted += happened.drafted;
    }
};

BOOST_AUTO_TEST_CASE(inside_a_cascade_the_first_layers_count_as_the_verifiers_time_once) {
    struct slow : split_mock {
        using split_mock::split_mock;
        auto run(std::span<const pass_type> asked) const {
            if (asked[0].to_layer != all_layers) std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return split_mock::run(asked);
        }
    };
    const slow middle(testing::hashed_model(5, 1));
    const auto target = testing::hashed_model(5, 2);
    const exit_mock head{.vocabulary = 5};
    const timed policy;
    const auto scheme = cascaded(head, scheme::model_link{policy, exact{}}, middle,
                                 scheme::model_link{fixed_length{4}, exact{}}, target);
    auto s = session_of(scheme);
    const augur::detail::stopwatch watch;
    decode::step(scheme, s);
    const double took = watch.seconds();
    BOOST_TEST(policy.of->drafted > 0u);
    BOOST_TEST(policy.of->draft >= 0);
    BOOST_TEST(policy.of->verify >= 5e-3 * static_cast<double>(policy.of->drafted));
    BOOST_TEST(policy.of->draft + policy.of->verify <= took);
}

BOOST_AUTO_TEST_CASE(the_first_layers_count_as_the_verifiers_time) {
    struct slow : split_mock {
        using split_mock::split_mock;
        auto run(std::span<const pass_type> asked) const {
            if (asked[0].to_layer != all_layers) std::this_thread::sleep_for(std::chrono::milliseconds(20));
            return split_mock::run(asked);
        }
    };
    const slow target(testing::hashed_model(5, 1));
    const exit_mock head{.vocabulary = 5};
    const auto scheme = speculate(head, target, fixed_length{3}, exact{});
    auto s = session_of(scheme);
    const auto& did = decode::step(scheme, s);
    BOOST_TEST(did.seconds.verify >= 0.08);
    BOOST_TEST(did.seconds.draft >= 0);
    BOOST_TEST(did.seconds.draft < did.seconds.verify);
    const scheme::model_link link{fixed_length{3}, exact{}};
    const auto nested = cascaded(head, link, target, link, testing::hashed_model(5, 2));
    auto inside = session_of(nested);
    BOOST_TEST(decode::step(nested, inside).seconds.draft >= 0.06);  // there the stage's model drafts
}

BOOST_AUTO_TEST_SUITE_END()
