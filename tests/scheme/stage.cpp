#include "augur/scheme/stage.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <initializer_list>

#include "model/counted_in.hpp"

using namespace augur;
using policy::fixed_length;

BOOST_AUTO_TEST_SUITE(scheme_stage)

namespace {

const auto small = testing::hashed_model(3, 1, 1), middle = testing::hashed_model(3, 2, 1);

using sampling = draft::draft_model<const testing::function_model&, draft::sampled>;

template <class Criterion, class Policy = fixed_length>
auto stage(Criterion criterion, Policy policy = Policy{2}) {
    return scheme::stage<sampling, const testing::function_model&, Policy, Criterion>(sampling(small), middle, policy,
                                                                                      criterion);
}

template <class D>
void keeps(const D& drafter) {
    const auto r = testing::drafter_laws(drafter, {.cases = 40});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == 11u, r);
}

}  // namespace

static_assert(Drafter<decltype(stage(accept::rejection_sampling{}))>);
static_assert(shows_rows<decltype(stage(accept::rejection_sampling{}))>);

BOOST_AUTO_TEST_CASE(laws) {
    keeps(stage(accept::rejection_sampling{}));
    keeps(stage(accept::rejection_sampling{}, policy::entropy_bins({0.8}, {2, 1})));
    keeps(stage(accept::rejection_sampling{}, policy::target_entropy_bins({0.8}, {2, 1})));
    for (const double threshold : {0.0, 0.1, 0.5, std::numeric_limits<double>::infinity()}) {
        keeps(stage(accept::fuzzy<measure::kl>{threshold}));
        keeps(stage(accept::rejection_then_fuzzy<measure::total_variation>{threshold}));
    }
}

BOOST_AUTO_TEST_CASE(laws_with_whole_blocks_and_with_what_is_certain) {
    keeps(stage(accept::block{}));
    keeps(stage(accept::block{}, policy::entropy_bins({0.8}, {2, 1})));
    keeps(stage(accept::coupled{}));
    static_assert(LeavesNothingOpen<accept::exact> && LeavesNothingOpen<accept::coupled>);
    static_assert(!LeavesNothingOpen<accept::rejection_sampling> && !LeavesNothingOpen<accept::block>);
    static_assert(StandsInside<accept::coupled, point_mass> && !KnowsWhatItDrewFrom<accept::coupled, point_mass>);
    static_assert(KnowsWhatItDrewFrom<accept::block, distribution> && KnowsWhatItDrewFrom<accept::block, point_mass>);
}

BOOST_AUTO_TEST_CASE(a_block_ends_where_the_model_has_no_row) {
    const testing::function_model broken(3, 64, [](std::span<const token> tokens, std::span<float> row) {
        std::fill(row.begin(), row.end(), tokens.size() < 5 ? 0.0f : std::numeric_limits<float>::quiet_NaN());
    });
    using on_broken = scheme::stage<sampling, const testing::function_model&, fixed_length, accept::block>;
    const on_broken drafter(sampling(small), broken, fixed_length{2}, {});
    const transform::pipeline pipeline({}, 3);
    const fixed_length above{9};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto state = drafter.make_state();
        prefix before(std::vector<token>{1, 2, 0});
        random::philox_chooser chooser(seed);
        draft::context context(before, pipeline, chooser, above, {}, 20, shown_by<on_broken>);
        const auto proposed = draft::propose(drafter, state, context);
        BOOST_TEST(proposed.size() == 2u);
        BOOST_TEST(state.now.counts.rounds <= 2u);  // and is not asked for again
        for (const token t : proposed.tokens()) BOOST_TEST((0 <= t && t < 3));
    }
}

BOOST_AUTO_TEST_CASE(a_drafter_that_is_certain_may_begin) {
    const draft::prompt_lookup lookup(1, 2);
    using on_lookup = scheme::stage<draft::prompt_lookup<>, const testing::function_model&, fixed_length,
                                    accept::fuzzy<measure::total_variation>>;
    keeps(on_lookup(lookup, middle, fixed_length{2}, accept::fuzzy<measure::total_variation>{0.7}));
}

BOOST_AUTO_TEST_CASE(what_the_model_excludes_is_claimed_as_it_is_drawn) {
    // Within the threshold, but the verifier excludes what the drafter may draw: a part of each token is the
    // verifier's.
    const accept::fuzzy<measure::total_variation> rule{0.9};
    const auto target = distribution::weighted({3, 1, 0});
    const auto drawn = distribution::weighted({1, 1, 2});
    distribution mixed;
    const distribution& from = rule.drawn_from(target, drafted_token<distribution>{0, &drawn}, mixed);
    BOOST_TEST(&from == &mixed);
    BOOST_TEST(from.probability(0) == 0.625, boost::test_tools::tolerance(1e-7));
    BOOST_TEST(from.probability(1) == 0.375, boost::test_tools::tolerance(1e-7));
    BOOST_TEST(from.probability(2) == 0);
    const accept::fuzzy<measure::total_variation> strict{0.4};
    BOOST_TEST(&strict.drawn_from(target, drafted_token<distribution>{0, &drawn}, mixed) == &target);
    const auto inside = distribution::weighted({1, 1, 0});
    BOOST_TEST(&rule.drawn_from(target, drafted_token<distribution>{0, &inside}, mixed) == &inside);
    BOOST_TEST(rule.drawn_from(target, drafted_token<point_mass>{1}, mixed).probability(1) == 1);
    BOOST_TEST(&rule.drawn_from(target, drafted_token<point_mass>{2}, mixed) == &target);
}

template <class Criterion>
void rounds_go_on(const testing::counting_model<testing::function_model>& counted) {
    using stage_of_two =
        scheme::stage<sampling, const testing::counting_model<testing::function_model>&, fixed_length, Criterion>;
    const stage_of_two two_at_a_time(sampling(small), counted, fixed_length{2}, {});
    auto state = two_at_a_time.make_state();
    prefix before(std::vector<token>{1, 2, 0});
    const transform::pipeline pipeline({}, 3);
    random::philox_chooser chooser(5);
    for (const std::size_t wanted : {1u, 2u, 7u}) {
        const fixed_length above{wanted};
        draft::context context(before, pipeline, chooser, above, {.round = wanted}, 20,
                               shown_by<decltype(two_at_a_time)>);
        state.now.counts = {};
        counted.reset();
        const auto proposed = draft::propose(two_at_a_time, state, context);
        BOOST_TEST(proposed.size() == wanted);
        BOOST_TEST(state.now.counts.rounds == counted.counts().calls);
        BOOST_TEST(state.now.counts.accepted <= state.now.counts.drafted);
        BOOST_TEST(state.now.counts.drafted <= 2 * state.now.counts.rounds);
        // Each round adds a token of the model's, unless the last one was cut before it.
        const std::size_t written = state.now.counts.accepted + state.now.counts.rounds;
        BOOST_TEST((written == wanted || written == wanted + 1));
        BOOST_TEST(before.size() == 3u);
    }
}

BOOST_AUTO_TEST_CASE(rounds_inside_go_on_until_enough_tokens_stand) {
    const testing::counting_model counted(middle);
    rounds_go_on<accept::rejection_sampling>(counted);
    rounds_go_on<accept::block>(counted);
    rounds_go_on<accept::coupled>(counted);
}

/// Keeps what it was told.
struct remembering {
    struct round {
        observation seen;
        outcome happened;
    };
    std::shared_ptr<std::vector<round>> told = std::make_shared<std::vector<round>>();

    std::size_t length(const observation&) const { return 2; }
    void learn(const outcome& happened) { told->push_back({happened.decided_on, happened}); }
};

BOOST_AUTO_TEST_CASE(its_policy_is_told_of_the_round_before) {
    const remembering policy;
    const auto drafter = stage(accept::rejection_sampling{}, policy);
    auto state = drafter.make_state();
    prefix before(std::vector<token>{1, 2, 0});
    const transform::pipeline pipeline({}, 3);
    random::philox_chooser chooser(5);
    const fixed_length above{9};
    draft::context context(before, pipeline, chooser, above, {}, 20, shown_by<decltype(drafter)>);
    draft::propose(drafter, state, context);
    const auto& told = *policy.told;
    BOOST_TEST_REQUIRE(told.size() > 3u);
    std::size_t accepted = 0;
    for (std::size_t i = 0; i + 1 < told.size(); ++i) {
        const auto& [seen, happened] = told[i];
        const observation& next = told[i + 1].seen;
        BOOST_TEST(next.last_drafted == happened.drafted);
        BOOST_TEST(next.last_accepted == happened.accepted);
        BOOST_TEST(next.prefix_length == seen.prefix_length + happened.accepted + 1);
        BOOST_TEST(next.round == seen.round + 1);
        accepted += happened.accepted;
    }
    BOOST_TEST(accepted > 0u);
    BOOST_TEST(told[0].seen.prefix_length == 3u);
    BOOST_TEST(told[0].seen.last_drafted == 0u);
}

/// Keeps what it was shown, and what it should be shown next of the row that a round's last token came from.
struct looking_at_the_target {
    static constexpr signals_read reads{.required = signals::target_entropy | signals::target_confidence};
    struct round {
        observation seen;
        std::size_t drafted;
        time_spent seconds;
        double entropy_nats, confidence;
    };
    std::shared_ptr<std::vector<round>> told = std::make_shared<std::vector<round>>();

    std::size_t length(const observation&) const { return 2; }
    void watch(const auto& view) {
        const std::size_t row = view.decided.next == no_token ? view.decided.accepted - 1 : view.decided.accepted;
        told->push_back({view.decided_on, view.decided.drafted, view.seconds, measure::entropy_nats(view.rows[row]),
                         measure::confidence(measure::moments(view.rows[row]))});
    }
};

/// What a stage's policy is shown in drafts, each of which is committed or abandoned.
auto shown_in_drafts(const auto& drafter, auto& state, std::initializer_list<bool> commits) {
    prefix before(std::vector<token>{1, 2, 0});
    const transform::pipeline pipeline({}, 3);
    random::philox_chooser chooser(5);
    const fixed_length above{7};
    std::size_t round = 0;
    for (const bool commit : commits) {
        draft::context context(before, pipeline, chooser, above, {.round = round++}, 20,
                               shown_by<std::remove_cvref_t<decltype(drafter)>>);
        draft::propose(drafter, state, context);
        commit ? drafter.on_commit(state, before) : drafter.abandon(state);
    }
    return *drafter.policy().told;
}

BOOST_AUTO_TEST_CASE(its_policy_is_shown_the_row_that_the_last_token_came_from) {
    const auto drafter = stage(accept::rejection_sampling{}, looking_at_the_target{});
    auto state = drafter.make_state();
    const auto told = shown_in_drafts(drafter, state, {true, true, true});
    BOOST_TEST_REQUIRE(told.size() > 6u);
    BOOST_TEST(std::isnan(told[0].seen.target_entropy_nats));
    BOOST_TEST(std::isnan(told[0].seen.target_confidence));
    for (std::size_t i = 1; i < told.size(); ++i) {
        BOOST_TEST(told[i].seen.target_entropy_nats == told[i - 1].entropy_nats);
        BOOST_TEST(told[i].seen.target_confidence == told[i - 1].confidence);
        BOOST_TEST(told[i].seen.last_drafted == told[i - 1].drafted);  // in the first round of a later draft, too
        BOOST_TEST(told[i].seconds.accept > 0);
    }
}

/// A clock inside would make what it decides another in each run.
BOOST_AUTO_TEST_CASE(its_policy_is_shown_a_millisecond_for_each_part_where_a_decoding_is_not_timed) {
    const auto inner = stage(accept::rejection_sampling{}, looking_at_the_target{});
    const scheme::stage<std::remove_cv_t<decltype(inner)>, const testing::function_model&, fixed_length,
                        accept::rejection_sampling>
        outer(inner, small, fixed_length{3}, {});
    const auto told = inner.policy().told;
    const auto run = [&](bool timed) {
        told->clear();
        decode::options chosen;
        chosen.stop.max_tokens = 30;
        chosen.timed = timed;
        decode::generate(speculate(outer, small, fixed_length{6}, accept::rejection_sampling{}),
                         std::vector<token>{1, 2, 0}, chosen);
        std::size_t untimed = 0;
        for (const auto& round : *told) {
            untimed += round.seconds.draft == 1e-3 && round.seconds.verify == 1e-3 && round.seconds.accept == 1e-3;
        }
        BOOST_TEST_REQUIRE(told->size() > 3u);
        return untimed;
    };
    const std::size_t untimed = run(false);
    BOOST_TEST(untimed == told->size());
    BOOST_TEST(run(true) == 0u);
}

BOOST_AUTO_TEST_CASE(its_policy_is_shown_no_signal_that_it_did_not_ask_for) {
    const remembering policy;
    const auto drafter = stage(accept::rejection_sampling{}, policy);
    auto state = drafter.make_state();
    for (const auto& round : shown_in_drafts(drafter, state, {true, true})) {
        BOOST_TEST(std::isnan(round.seen.target_entropy_nats));
        BOOST_TEST(std::isnan(round.seen.target_confidence));
    }
}

BOOST_AUTO_TEST_CASE(an_abandoned_draft_leaves_what_its_policy_is_shown) {
    const auto drafter = stage(accept::rejection_sampling{}, looking_at_the_target{});
    auto state = drafter.make_state();
    shown_in_drafts(drafter, state, {true});
    const observation kept = state.now.seen;
    const std::size_t rounds = drafter.policy().told->size();
    const auto told = shown_in_drafts(drafter, state, {false, true});
    std::vector<observation> first;  // of each of the two drafts
    for (std::size_t i = rounds; i < told.size(); ++i) {
        if (told[i].seen.prefix_length == 3) first.push_back(told[i].seen);
    }
    BOOST_TEST_REQUIRE(first.size() == 2u);
    for (const observation& seen : first) {
        BOOST_TEST(seen.last_drafted == kept.last_drafted);
        BOOST_TEST(seen.last_accepted == kept.last_accepted);
        BOOST_TEST(seen.target_entropy_nats == kept.target_entropy_nats);
    }
    BOOST_TEST(told.back().entropy_nats != kept.target_entropy_nats);
}

BOOST_AUTO_TEST_CASE(where_its_context_ends_it_proposes_what_it_can) {
    const auto narrow = testing::hashed_model(3, 4, 1, 6);
    const scheme::stage<sampling, const testing::function_model&, fixed_length, accept::rejection_sampling>
        stage_of_six(sampling(small), narrow, fixed_length{2}, {});
    for (const std::size_t length : {4u, 6u, 7u}) {
        auto state = stage_of_six.make_state();
        prefix before(std::vector<token>(length, 1));
        const transform::pipeline pipeline({}, 3);
        random::philox_chooser chooser(1);
        const fixed_length above{9};
        draft::context context(before, pipeline, chooser, above, {}, 20, shown_by<decltype(stage_of_six)>);
        BOOST_TEST(draft::propose(stage_of_six, state, context).size() == (length > 6 ? 0u : 7 - length));
    }
}

BOOST_AUTO_TEST_CASE(a_prompt_that_fills_its_context_is_prefilled) {
    const auto narrow = testing::hashed_model(3, 4, 1, 6);
    const scheme::stage<sampling, const testing::function_model&, fixed_length, accept::rejection_sampling>
        stage_of_six(sampling(small), narrow, fixed_length{2}, {});
    for (const std::size_t length : {5u, 6u, 7u}) {
        auto state = stage_of_six.make_state();
        draft::prepare(stage_of_six, state, prefix(std::vector<token>(length, 1)));
        BOOST_TEST(state.cache.tokens().size() == (length > 6 ? 0 : length - 1));
    }
}

BOOST_AUTO_TEST_CASE(another_vocabulary_is_refused) {
    const auto other = testing::hashed_model(4, 1);
    using of = scheme::stage<sampling, const testing::function_model&, fixed_length, accept::rejection_sampling>;
    BOOST_CHECK_EXCEPTION(of(sampling(small), other, fixed_length{2}, {}), error, [](const error& e) {
        return std::string(e.what()).find("3 tokens and the next 4") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(a_model_may_count_in_other_integers) {
    using counted = counted_in<unsigned long long>;
    const counted verifies(middle);
    const scheme::stage<sampling, const counted&, fixed_length, accept::rejection_sampling> drafter(
        sampling(small), verifies, fixed_length{2}, accept::rejection_sampling{});
    keeps(drafter);
}

BOOST_AUTO_TEST_SUITE_END()
