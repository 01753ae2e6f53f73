#include "augur/testing/scheme_laws.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

#include "every_law.hpp"
#include "sanitized.hpp"
#include "wrong_criteria.hpp"

using namespace augur;
using testing::scheme_laws;

BOOST_AUTO_TEST_SUITE(testing_scheme_laws)

const auto target = testing::hashed_model(3, 1);
const auto drafter = testing::hashed_model(3, 2);

decode::options sampling(float temperature = 1, std::size_t max_tokens = 2) {
    decode::options chosen;
    chosen.sampling.temperature.value = temperature;
    chosen.stop.max_tokens = max_tokens;
    return chosen;
}

template <class Scheme>
void keeps(const Scheme& scheme, const decode::options& chosen, std::size_t laws = 9) {
    const auto r = scheme_laws(scheme, chosen);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == laws, r);
}

BOOST_AUTO_TEST_CASE(the_librarys_schemes_keep_them) {
    const policy::fixed_length two{2};
    keeps(plain(target), sampling());
    keeps(plain(target), sampling(0));
    keeps(testing::plain_sampling(target), sampling());
    keeps(speculate(drafter, target, two, accept::rejection_sampling{}), sampling(1, 3));
    keeps(speculate(drafter, target, two, accept::block{}), sampling(0.7f, 3));
    keeps(speculate(drafter, target, two, accept::coupled{}), sampling());
    keeps(speculate(drafter, target, two, accept::exact{}), sampling(0, 6));
    const draft::prompt_lookup lookup(1, 2);
    keeps(speculate(lookup, target, two, accept::rejection_sampling{}), sampling(1, 3));
    keeps(speculate(lookup, target, two, accept::block{}), sampling(1, 3));
    keeps(speculate(lookup, target, two, accept::coupled{}), sampling());
    keeps(speculate(lookup, target, two, accept::exact{}), sampling(0, 6));
}

BOOST_AUTO_TEST_CASE(so_do_schemes_of_every_policy) {
    const policy::entropy_bins bins({0.8}, {3, 1});
    keeps(speculate(drafter, target, bins, accept::coupled{}), sampling());
    keeps(speculate(drafter, target, bins, accept::rejection_sampling{}), sampling(1, 3), 8);
    const policy::target_entropy_bins target_bins({0.8}, {3, 1});
    keeps(speculate(draft::prompt_lookup(1, 2), target, target_bins, accept::exact{}), sampling(0, 6));
    keeps(speculate(draft::prompt_lookup(1, 2), target, policy::cost_aware{}, accept::exact{}), sampling(0, 6));
}

BOOST_AUTO_TEST_CASE(and_with_transforms_that_look_back) {
    auto chosen = sampling(0.8f, 3);
    chosen.sampling.penalties = {1.4f, 0.3f, 0.6f};
    chosen.sampling.top_k.k = 2;
    keeps(speculate(drafter, target, policy::fixed_length{2}, accept::rejection_sampling{}), chosen);
}

/// Forgets one token too few.
struct forgets_too_little : testing::function_model {
    forgets_too_little() : testing::function_model(target) {}
    void truncate(testing::mock_sequence& s, std::size_t length) const {
        if (length > 1 && length < s.tokens.size()) std::swap(s.tokens[length - 1], s.tokens[length]);
        s.tokens.resize(length);
    }
};

/// Gives up where it should correct.
struct gives_up : accept::block {
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(std::span<const distribution> targets, const Proposal& proposed, const Draws& draws) const {
        verdict decided = accept::block::judge_block(targets, proposed, draws);
        if (decided.accepted < proposed.size()) decided.next = no_token;
        return decided;
    }
};

/// Does not say how much was drafted.
struct says_plain : accept::block {
    template <ChainProposal Proposal, class Draws>
    verdict judge_block(std::span<const distribution> targets, const Proposal& proposed, const Draws& draws) const {
        verdict decided = accept::block::judge_block(targets, proposed, draws);
        decided.drafted = 0;
        return decided;
    }
};

/// Proposes what it was told to when it saw the first prefix.
struct stale : draft::prompt_lookup<> {
    using state_type = std::vector<token>;
    stale() : prompt_lookup(1, 2) {}
    state_type make_state() const { return {}; }
    void prepare(state_type&, const prefix&) const {}
    void propose(state_type& state, auto& context, proposal<point_mass>& proposed) const {
        if (state.empty()) state.assign(context.prefix().tokens().begin(), context.prefix().tokens().end());
        for (std::size_t i = 0; i < state.size() && context.wants_more(i); ++i) proposed.push(state[i]);
    }
    void on_commit(state_type&, const prefix&) const {}
};

BOOST_AUTO_TEST_CASE(every_law_is_broken_by_a_wrong_scheme) {
    const policy::fixed_length two{2};
    every_law::watch all;
    all.holds(scheme_laws(speculate(drafter, target, two, accept::rejection_sampling{}), sampling()));
    const auto no_residual = scheme_laws(speculate(drafter, target, two, wrong::no_residual{}), sampling());
    all.breaks(no_residual, "keeps its promise");
    all.breaks(no_residual, "a limit cuts the text and changes nothing before it");
    all.breaks(no_residual, "a stop token cuts the text and changes nothing before it");
    all.breaks(scheme_laws(speculate(drafter, forgets_too_little{}, two, accept::exact{}), sampling(0)),
               "every cache equals one rebuilt from the prefix");
    all.breaks(scheme_laws(speculate(drafter, target, two, gives_up{}), sampling()),
               "every round commits, at most one token more than were drafted");
    all.breaks(scheme_laws(speculate(drafter, target, two, says_plain{}), sampling()), "statistics add up");
    all.breaks(scheme_laws(speculate(drafter, target, two, wrong::two_coins{}), sampling()),
               "no random number is asked for twice");
    all.breaks(scheme_laws(speculate(drafter, target, two, wrong::remembers{}), sampling()),
               "equal seeds, equal texts");
    all.breaks(scheme_laws(speculate(stale{}, target, two, accept::exact{}), sampling(0)),
               "the drafter proposes what a fresh one would");
}

BOOST_AUTO_TEST_CASE(a_scheme_without_a_guarantee_keeps_the_other_laws) {
    struct anything : accept::coupled {
        using guarantee = augur::guarantee::none;
    };
    const auto r = scheme_laws(speculate(drafter, target, policy::fixed_length{2}, anything{}), sampling());
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.size() == 1u);
    BOOST_TEST(r.checked.size() == 6u);
}

/// Promises nothing, so that no enumeration sees that its two coins are one.
struct two_coins_and_no_promise : wrong::two_coins {
    using guarantee = augur::guarantee::none;
};

BOOST_AUTO_TEST_CASE(a_name_asked_for_twice_is_found_without_a_promise_too) {
    const auto r =
        scheme_laws(speculate(drafter, target, policy::fixed_length{2}, two_coins_and_no_promise{}), sampling());
    BOOST_TEST(r.breaks("no random number is asked for twice"), r);
}

BOOST_AUTO_TEST_CASE(a_coupled_scheme_over_many_tokens_is_no_longer_than_over_few) {
    const auto large = testing::hashed_model(256, 1);
    const auto small = testing::hashed_model(256, 2);
    auto chosen = sampling(1, 3);
    chosen.sampling.top_k.k = 2;
    const auto r = scheme_laws(speculate(small, large, policy::fixed_length{2}, accept::coupled{}), chosen,
                               {.cases = testing::unless_sanitized<std::size_t>(20, 2)});
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_SUITE_END()
