#include "augur/draft/concept.hpp"

#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <mutex>
#include <string_view>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_concept)

/// The smallest drafter: the last token, again and again.
struct echo {
    struct state_type {};
    using draft_distribution_type = point_mass;

    state_type make_state() const { return {}; }
    void propose(state_type&, auto& context, proposal<point_mass>& out) const {
        while (context.wants_more(out.size())) out.push(context.prefix().tokens().back());
    }
    void on_commit(state_type&, const prefix&) const {}
};

static_assert(Drafter<echo> && !shows_rows<echo>);

struct without_follow {
    struct state_type {};
    using draft_distribution_type = point_mass;
    state_type make_state() const;
    void propose(state_type&, auto&, proposal<point_mass>&) const {}
};
static_assert(MakesDraftState<without_follow> && FillsProposal<without_follow>);
static_assert(!HearsCommits<without_follow> && !Drafter<without_follow>);

/// Says that its tokens were drawn from rows, and has none to show.
struct wrong_distribution : echo {
    using draft_distribution_type = distribution;
};
static_assert(MakesDraftState<wrong_distribution> && HearsCommits<wrong_distribution>);
static_assert(!FillsProposal<wrong_distribution> && !Drafter<wrong_distribution>);

struct without_distribution {
    struct state_type {};
    state_type make_state() const;
    void propose(state_type&, auto&, proposal<point_mass>&) const {}
    void on_commit(state_type&, const prefix&) const;
};
static_assert(!FillsProposal<without_distribution> && !Drafter<without_distribution>);

struct fills_tokens : echo {
    void propose(state_type&, auto&, std::vector<token>&) const {}
};
static_assert(!FillsProposal<fills_tokens> && !Drafter<fills_tokens>);

struct returns_a_proposal : echo {
    proposal<point_mass> propose(state_type&, auto&) const { return {}; }
};
static_assert(!FillsProposal<returns_a_proposal> && !Drafter<returns_a_proposal>);

struct state_that_cannot_move : echo {
    using state_type = std::mutex;
    state_type make_state() const;
    void propose(state_type&, auto&, proposal<point_mass>&) const {}
    void on_commit(state_type&, const prefix&) const;
};
static_assert(FillsProposal<state_that_cannot_move> && HearsCommits<state_that_cannot_move>);
static_assert(!MakesDraftState<state_that_cannot_move> && !Drafter<state_that_cannot_move>);

const std::vector<token> prompt{1, 0};

/// The smallest drafter on the target's states: a token that depends on the last of them. Keeps all, to be compared.
struct follows_states {
    using state_type = std::vector<std::vector<float>>;
    using draft_distribution_type = point_mass;

    state_type make_state() const { return {}; }
    void propose(state_type& states, auto& context, proposal<point_mass>& out) const {
        if (states.empty() || !context.wants_more(0)) return;
        const auto& last = states.back();
        out.push(static_cast<token>(std::max_element(last.begin(), last.end()) - last.begin()));
    }
    void on_commit(state_type& states, const prefix& committed, const auto& hidden) const {
        BOOST_TEST_REQUIRE(hidden.first() == states.size());
        BOOST_TEST_REQUIRE(hidden.first() + hidden.size() < committed.size());
        for (std::size_t i = 0; i < hidden.size(); ++i) states.emplace_back(hidden[i].begin(), hidden[i].end());
    }
};

static_assert(Drafter<follows_states> && ReadsStates<follows_states> && !HearsCommits<follows_states>);
static_assert(!ReadsStates<echo>);

BOOST_AUTO_TEST_CASE(the_smallest_drafter_decodes) {
    // Token 0 is always followed by itself: nothing is rejected.
    const auto constant = testing::scripted_model(4, {});
    const auto model = testing::hashed_model(3, 4);
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 40;
    const auto sure =
        decode::generate(speculate(echo{}, constant, policy::fixed_length{3}, accept::exact{}), prompt, chosen);
    BOOST_TEST(sure.counts.acceptance() == 1.0);
    BOOST_TEST(sure.counts.rounds() == 10u);

    const auto decoded =
        decode::generate(speculate(echo{}, model, policy::fixed_length{3}, accept::exact{}), prompt, chosen);
    BOOST_TEST(decoded.tokens == decode::generate(plain(model), prompt, chosen).tokens);
    BOOST_TEST(decoded.counts.stages[0].accepted > 0u);
    BOOST_TEST(decoded.counts.stages[0].accepted < decoded.counts.stages[0].drafted);
}

BOOST_AUTO_TEST_CASE(the_smallest_drafter_keeps_the_distribution) {
    const auto target = testing::hashed_model(3, 1);
    decode::options chosen;
    chosen.stop.max_tokens = 4;
    const auto scheme = speculate(echo{}, target, policy::fixed_length{2}, accept::rejection_sampling{});
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen),
                                        testing::text_distribution_of(scheme, prompt, chosen)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(the_smallest_drafter_on_states_keeps_the_distribution) {
    const testing::hidden_state_mock target(testing::hashed_model(3, 1));
    decode::options chosen;
    chosen.stop.max_tokens = 4;
    const auto scheme = speculate(follows_states{}, target, policy::fixed_length{2}, accept::rejection_sampling{});
    for (const std::vector<token>& after : {std::vector<token>{2}, prompt}) {
        BOOST_TEST(
            testing::total_variation(testing::text_distribution_of(testing::plain_sampling(target), after, chosen),
                                     testing::text_distribution_of(scheme, after, chosen)) < 1e-12);
    }
}

BOOST_AUTO_TEST_CASE(states_are_shown_of_every_committed_token_but_the_last) {
    const testing::hidden_state_mock target(testing::hashed_model(4, 6, 1, 2000));
    const auto scheme = speculate(follows_states{}, target, policy::fixed_length{2}, accept::exact{});
    for (const std::size_t length : {1u, 2u, 700u}) {  // the last in two parts
        const std::vector<token> text(length, 3);
        decode::session session(scheme, text, {.temperature = {0}}, {.max_tokens = 30}, random::philox_chooser(0));
        bool accepted = false, rejected = false;
        do {
            auto fresh = target.make_sequence();
            const auto known = session.committed.tokens().first(session.committed.size() - 1);
            const auto expected = target.extend(fresh, known);
            BOOST_TEST_REQUIRE(session.drafter_state.size() == expected.size());
            for (std::size_t i = 0; i < expected.size(); ++i) {
                BOOST_TEST_REQUIRE(
                    std::equal(expected[i].begin(), expected[i].end(), session.drafter_state[i].begin()));
            }
            const auto& decided = decode::step(scheme, session).decided;
            (decided.accepted > 0 ? accepted : rejected) = true;
        } while (session.finished == finish_reason::running);
        BOOST_TEST((accepted && rejected));
    }
}

struct of_three_numbers : follows_states {
    std::size_t hidden_size() const { return 3; }
};

BOOST_AUTO_TEST_CASE(states_of_another_size_are_refused) {
    const testing::hidden_state_mock target(testing::hashed_model(4, 1));
    BOOST_CHECK_EXCEPTION(speculate(of_three_numbers{}, target, policy::fixed_length{2}, accept::exact{}), error,
                          [](const error& e) {
                              return std::string_view(e.what()) ==
                                     "the drafter reads hidden states of 3 numbers, but the target's have 4";
                          });
}

BOOST_AUTO_TEST_SUITE_END()
