#include "augur/draft/heads.hpp"

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>

#include "draft/heads_mock.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_heads)

using testing::heads_mock;

static_assert(DraftHeads<heads_mock>);
static_assert(Drafter<draft::heads<const heads_mock&, draft::argmax>> &&
              ReadsStates<draft::heads<const heads_mock&, draft::argmax>>);
static_assert(shows_rows<draft::heads<heads_mock, draft::argmax>>);

template <class Scheme>
auto session_of(const Scheme& scheme, std::span<const token> prompt, std::size_t tokens = 1000) {
    return decode::session<Scheme>(scheme, prompt, {.temperature = {0}}, {.max_tokens = tokens},
                                   random::philox_chooser(0));
}

void drafts_from_one_state(bool sees_tokens) {
    const testing::hidden_state_mock target(testing::hashed_model(5, 1));
    const heads_mock source{testing::hashed_model(5, 2), sees_tokens};
    const auto scheme = speculate(draft::heads(source), target, policy::fixed_length{9}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
    for (int round = 0; round < 20; ++round) {
        std::vector<token> text(session.committed.tokens().begin(), session.committed.tokens().end());
        auto fresh = target.make_sequence();
        const auto state = target.extend(fresh, std::span(text).first(text.size() - 1)).back();
        std::vector<token> expected;
        auto workspace = source.make_workspace();
        for (std::size_t head = 0; head < 3; ++head) {  // as many as there are
            const auto row = source.row(workspace, state, std::span(text).last(head + 1), head);
            expected.push_back(static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin()));
            text.push_back(expected.back());
        }
        BOOST_TEST(decode::step(scheme, session).proposed.tokens() == std::span<const token>(expected),
                   boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_CASE(each_head_guesses_one_token_further_from_the_state_before_the_last_token) {
    drafts_from_one_state(false);
    drafts_from_one_state(true);
}

void keeps_the_laws(bool sees_tokens) {
    const testing::hidden_state_mock target(testing::hashed_model(3, 1));
    const heads_mock source{testing::hashed_model(3, 2), sees_tokens, 2};
    const auto r = testing::drafter_laws(draft::heads(source, draft::sampled{}), target);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == 12u, r);

    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const policy::fixed_length two{2};
    const auto scheme = speculate(source, target, two, accept::rejection_sampling{});
    static_assert(std::is_same_v<decltype(scheme)::drafter_type, draft::heads<const heads_mock&, draft::sampled>>);
    const auto found = testing::scheme_laws(scheme, chosen, {.cases = 6});
    BOOST_TEST(found.kept(), found);
    const auto promised = [&](const auto& other) {
        return testing::broken_promise(other, std::vector<token>{2, 0}, chosen);
    };
    BOOST_TEST(promised(speculate(source, target, two, accept::coupled{})) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(promised(speculate(source, target, two, accept::exact{})) == "");
}

BOOST_AUTO_TEST_CASE(every_law_is_kept) {
    keeps_the_laws(false);
    keeps_the_laws(true);
}

BOOST_AUTO_TEST_CASE(after_one_token_there_is_no_state_to_draft_from) {
    const testing::hidden_state_mock target(testing::hashed_model(5, 1));
    const heads_mock source{testing::hashed_model(5, 2)};
    const auto scheme = speculate(draft::heads(source), target, policy::fixed_length{2}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2});
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 0u);
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 2u);
}

/// The target's states at some positions, as on_commit() is given them.
struct some_states {
    std::vector<std::vector<float>> rows;
    std::size_t from;
    std::size_t size() const { return rows.size(); }
    std::size_t first() const { return from; }
    const std::vector<float>& operator[](std::size_t i) const { return rows[i]; }
};

BOOST_AUTO_TEST_CASE(a_stale_state_drafts_nothing) {
    const draft::heads<heads_mock, draft::argmax> drafter(heads_mock{testing::hashed_model(5, 2)});
    const transform::pipeline greedy({.temperature = {0}}, 5);
    random::philox_chooser chooser(0);
    const policy::fixed_length two{2};
    auto state = drafter.make_state();
    const auto drafted_after = [&](std::size_t tokens) {
        prefix before(std::vector<token>(tokens, 1));
        draft::context context(before, greedy, chooser, two, observation{}, 100, signals::draft_entropy);
        proposal<point_mass> proposed;
        drafter.propose(state, context, proposed);
        return proposed.size();
    };
    const std::vector<float> row(5, 0.5f);
    BOOST_TEST(drafted_after(1) == 0u);  // nothing was followed yet
    drafter.on_commit(state, prefix(), some_states{{row, row, row}, 0});
    BOOST_TEST(drafted_after(4) == 2u);
    for (const std::size_t tokens : {1u, 2u, 3u, 5u, 6u, 7u, 20u}) BOOST_TEST(drafted_after(tokens) == 0u, tokens);
    drafter.on_commit(state, prefix(), some_states{{}, 3});  // nothing came
    BOOST_TEST(drafted_after(4) == 2u);
    drafter.on_commit(state, prefix(), some_states{{row, row}, 3});
    BOOST_TEST(drafted_after(6) == 2u);
    BOOST_TEST(drafted_after(4) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
