// Draft trees in whole decodings: on models that run them in one pass, and on those that do not.

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/decode/resume.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/model/any_model.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <string>
#include <vector>

#include "accept/bush.hpp"
#include "model/rows_as_states.hpp"

BOOST_AUTO_TEST_SUITE(decode_trees)

using namespace augur;
using testing::bush;
using rich_model = testing::pass_mock<pass_features::trees | pass_features::states>;

/// Counts paths that leave the first children.
struct path_watch {
    std::size_t branched = 0, longest = 0, states = 0;
    void watch(const auto& view) {
        longest = std::max(longest, view.decided.accepted);
        for (std::size_t i = 0; i < view.decided.path.size(); ++i) {
            branched += view.decided.path[i] != 0 && i == 0 ? 1 : 0;
        }
        if constexpr (requires { view.states.size(); }) states += view.states.size();
    }
};

/// Every text, whichever context ends it, is plain decoding's.
void check_texts(const auto& target, const testing::function_model& small, std::size_t context) {
    const auto scheme = speculate(bush<draft::argmax>{small}, target, policy::fixed_length{4}, accept::coupled{});
    path_watch seen;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        decode::options chosen{.seed = seed};
        chosen.stop.max_tokens = 1000;
        const std::vector<token> prompt{1, static_cast<token>(seed % 5)};
        const auto decoded = decode::generate(scheme, prompt, chosen, seen);
        const auto expected = decode::generate(plain(target), prompt, chosen);
        BOOST_TEST(decoded.tokens == expected.tokens, boost::test_tools::per_element());
        BOOST_TEST((decoded.finish == finish_reason::context));
        BOOST_TEST(decoded.tokens.size() + prompt.size() == context);
        BOOST_TEST(decoded.counts.rounds() < expected.counts.rounds());
    }
    BOOST_TEST(seen.branched > 0u);
    BOOST_TEST(seen.longest >= 3u);
}

BOOST_AUTO_TEST_CASE(texts_up_to_the_end_of_the_context) {
    const auto law = testing::hashed_model(6, 1, 2, 60);
    const auto small = testing::hashed_model(6, 1, 2, 200);  // often right
    check_texts(law, small, 60);
    check_texts(testing::tree_mock(law), small, 60);
    check_texts(rich_model(law), small, 60);
}

BOOST_AUTO_TEST_CASE(laws_in_one_pass_and_path_by_path) {
    const auto law = testing::hashed_model(3, 1), small = testing::hashed_model(3, 2);
    const std::vector<token> prompt{0, 1};
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const auto plain = testing::text_distribution_of(testing::plain_sampling(law), prompt, chosen);
    const bush<draft::sampled> drafter{small, {-1, -1, 0, 0}};
    const auto distance = [&](const auto& target) {
        const auto scheme = speculate(drafter, target, policy::fixed_length{2}, accept::rejection_sampling{});
        return testing::total_variation(plain, testing::text_distribution_of(scheme, prompt, chosen));
    };
    BOOST_TEST(distance(law) < 1e-12);
    BOOST_TEST(distance(testing::tree_mock(law)) < 1e-12);
}

/// Says that it drafts chains, and does not.
struct undeclared {
    using draft_distribution_type = point_mass;
    struct state_type {};
    state_type make_state() const { return {}; }
    void propose(state_type&, auto&, proposal<point_mass>& proposed) const {
        proposed.push(1);
        proposed.push(2, after_prefix);
    }
    void on_commit(state_type&, const prefix&) const {}
};

BOOST_AUTO_TEST_CASE(a_tree_that_was_not_announced_is_refused) {
    const auto target = testing::hashed_model(6, 1);
    const auto scheme = speculate(undeclared{}, target, policy::fixed_length{2}, accept::coupled{});
    BOOST_CHECK_EXCEPTION(decode::generate(scheme, std::vector<token>{1}), error, [](const error& e) {
        return std::string(e.what()).find("of 2 the parent of node 1 is -1") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(log_probabilities_are_of_the_rows_of_the_path) {
    const auto law = testing::hashed_model(6, 1, 2, 60), small = testing::hashed_model(6, 1, 2, 200);
    decode::options chosen{.seed = 3};
    chosen.stop.max_tokens = 40;
    chosen.log_probabilities = true;
    const std::vector<token> prompt{1, 2};
    const auto expected = decode::generate(plain(law), prompt, chosen);
    const testing::tree_mock target(law);
    path_watch seen;
    const auto scheme = speculate(bush<draft::argmax>{small}, target, policy::fixed_length{4}, accept::coupled{});
    const auto decoded = decode::generate(scheme, prompt, chosen, seen);
    BOOST_TEST(seen.branched > 0u);
    BOOST_TEST(decoded.log_probabilities == expected.log_probabilities, boost::test_tools::per_element());
}

/// Two texts in one session, and what was drafted for them; the mask throws at one of its calls, once.
std::string two_texts(const auto& scheme, std::size_t fails_at, std::size_t& calls) {
    calls = 0;
    transform::settings masked;
    masked.mask = [&](std::span<float>, const prefix&) {
        if (++calls == fails_at) throw std::runtime_error("mask");
    };
    decode::session s(scheme, std::vector<token>{2, 0, 1}, masked, {.max_tokens = 12}, random::philox_chooser(5));
    std::string all;
    for (const bool further : {true, false}) {
        while (s.finished == finish_reason::running) {
            try {
                all += std::to_string(decode::step(scheme, s, {.timed = false}).proposed.size()) + ' ';
            } catch (const std::runtime_error& thrown) {
                BOOST_REQUIRE(std::string(thrown.what()) == "mask");
            }
        }
        for (const token t : s.committed.tokens()) all += std::to_string(t) + ' ';
        if (further) decode::resume(scheme, s, std::vector<token>{1, 1}, {.max_tokens = 8});
    }
    return all;
}

BOOST_AUTO_TEST_CASE(a_round_whose_mask_throws_is_repeated_with_the_same_result) {
    const auto big = testing::hashed_model(5, 1, 2, 40);
    const testing::fused_mock layer(testing::hashed_model(5, 1), 5);
    const auto checked = [&](const auto& target) {
        const auto scheme = speculate(draft::eagle(layer, draft::dynamic_tree{}), target, policy::fixed_length{3},
                                      accept::rejection_sampling{});
        std::size_t calls = 0, again = 0;
        const std::string undisturbed = two_texts(scheme, 0, calls);
        BOOST_TEST(calls > 20u);
        for (std::size_t i = 1; i <= calls; ++i) BOOST_TEST(two_texts(scheme, i, again) == undisturbed);
    };
    checked(testing::hidden_state_mock(big));
    checked(testing::full_mock(big));
    checked(trees_with_rows(big));
}

/// How much is drafted in each round, and the texts, are those on a target that is asked for states.
BOOST_AUTO_TEST_CASE(a_drafter_that_reads_states_drafts_on_targets_that_show_those_of_their_rows) {
    const auto big = testing::hashed_model(5, 1, 2, 40);
    const testing::fused_mock layer(testing::hashed_model(5, 1), 5);
    const auto drafted_on = [&](const auto& target) {
        const policy::tree_static wide{topology{-1, -1, 0, 1}};
        std::size_t calls = 0;
        return two_texts(
            speculate(draft::eagle(layer, draft::dynamic_tree{}), target, wide, accept::rejection_sampling{}), 0,
            calls);
    };
    const std::string every_round = drafted_on(testing::full_mock(big));
    BOOST_TEST(every_round.substr(0, 8) == "4 4 4 4 ");
    BOOST_TEST(drafted_on(trees_with_rows(big)) == every_round);
    const std::string every_other_round = drafted_on(testing::hidden_state_mock(big));
    BOOST_TEST(every_other_round.substr(0, 8) == "4 0 4 0 ");
    BOOST_TEST(drafted_on(chains_with_rows(big)) == every_other_round);
    using any = model::basic_any_model<>;
    BOOST_TEST(drafted_on(any(testing::full_mock(big))) == every_round);
    BOOST_TEST(drafted_on(any(trees_with_rows(big))) == every_round);
    BOOST_TEST(drafted_on(any(testing::hidden_state_mock(big))) == every_round);
    BOOST_TEST(drafted_on(any(chains_with_rows(big))) == every_round);
}

BOOST_AUTO_TEST_SUITE_END()
