#include "augur/draft/concept.hpp"

#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/testing/law_of.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <mutex>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_concept)

/// The smallest drafter: the last token, again and again.
struct echo {
    struct state_type {};
    using claim_type = point_mass;

    state_type make_state() const { return {}; }
    proposal<point_mass> propose(state_type&, auto& context) const {
        proposal<point_mass> proposed;
        while (context.wants_more(proposed.size())) proposed.push(context.prefix().tokens().back());
        return proposed;
    }
    void follow(state_type&, const prefix&) const {}
};

static_assert(Drafter<echo> && !shows_rows<echo>);

struct without_follow {
    struct state_type {};
    using claim_type = point_mass;
    state_type make_state() const;
    proposal<point_mass> propose(state_type&, auto&) const { return {}; }
};
static_assert(MakesDraftState<without_follow> && ReturnsProposal<without_follow>);
static_assert(!FollowsPrefix<without_follow> && !Drafter<without_follow>);

/// Says that its tokens were drawn from rows, and has none to show.
struct wrong_claim : echo {
    using claim_type = distribution;
};
static_assert(MakesDraftState<wrong_claim> && FollowsPrefix<wrong_claim>);
static_assert(!ReturnsProposal<wrong_claim> && !Drafter<wrong_claim>);

struct without_claim {
    struct state_type {};
    state_type make_state() const;
    proposal<point_mass> propose(state_type&, auto&) const { return {}; }
    void follow(state_type&, const prefix&) const;
};
static_assert(!ReturnsProposal<without_claim> && !Drafter<without_claim>);

struct returns_tokens : echo {
    std::vector<token> propose(state_type&, auto&) const { return {}; }
};
static_assert(!ReturnsProposal<returns_tokens> && !Drafter<returns_tokens>);

struct state_that_cannot_move : echo {
    using state_type = std::mutex;
    state_type make_state() const;
    proposal<point_mass> propose(state_type&, auto&) const { return {}; }
    void follow(state_type&, const prefix&) const;
};
static_assert(ReturnsProposal<state_that_cannot_move> && FollowsPrefix<state_that_cannot_move>);
static_assert(!MakesDraftState<state_that_cannot_move> && !Drafter<state_that_cannot_move>);

const std::vector<token> prompt{1, 0};

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

    const auto made =
        decode::generate(speculate(echo{}, model, policy::fixed_length{3}, accept::exact{}), prompt, chosen);
    BOOST_TEST(made.tokens == decode::generate(plain(model), prompt, chosen).tokens);
    BOOST_TEST(made.counts.stages[0].accepted > 0u);
    BOOST_TEST(made.counts.stages[0].accepted < made.counts.stages[0].drafted);
}

BOOST_AUTO_TEST_CASE(the_smallest_drafter_keeps_the_distribution) {
    const auto target = testing::hashed_model(3, 1);
    decode::options chosen;
    chosen.stop.max_tokens = 4;
    const auto scheme = speculate(echo{}, target, policy::fixed_length{2}, accept::rejection_sampling{});
    BOOST_TEST(testing::total_variation(testing::law_of(testing::plain_sampling(target), prompt, chosen),
                                        testing::law_of(scheme, prompt, chosen)) < 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
