#include "augur/round/judged_round.hpp"

#include <algorithm>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/context.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/flow/frames.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <concepts>
#include <cstddef>
#include <vector>

#include "accept/bush.hpp"

BOOST_AUTO_TEST_SUITE(round_judged_round)

using namespace augur;

namespace {

/// What a round showed its judge: the rows, by their largest logit.
struct seen_round {
    std::vector<token> drafted, best;
    time_spent seconds;
};

/// A round of a drafter after a prompt, over a target, without a session.
template <Drafter D, Model M>
seen_round round_of(const D& drafter, const M& target, std::vector<token> prompt, std::size_t length) {
    prefix before(std::move(prompt));
    const transform::pipeline plain({}, target.vocabulary_size());
    random::philox_chooser chooser(3);
    const policy::fixed_length policy{length};
    flow::frames frames;
    model::cached_sequence<M> cache(target);
    auto state = drafter.make_state();
    draft::context context(before, plain, chooser, policy, {.prefix_length = before.size()}, length, shown_by<D>,
                           &frames);
    context.be_timed(false);
    proposal<typename D::draft_distribution_type> proposed;
    augur::detail::stopwatch watch(false);
    seen_round seen;
    auto judge = [&](const auto& rows) {
        seen.drafted.assign(proposed.tokens().begin(), proposed.tokens().end());
        for (std::size_t i = 0; i <= proposed.size(); ++i) {
            const logit_row row = rows[i];
            seen.best.push_back(static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin()));
        }
    };
    flow::runner run(
        rounds::judged_round<branches<D>>(drafter, state, context, cache, proposed, watch, seen.seconds, judge));
    run.finish();
    BOOST_TEST(before.size() == context.prefix().size());
    return seen;
}

token best_after(const testing::function_model& model, std::vector<token> text) {
    std::vector<float> row(model.vocabulary_size());
    model.fill_row(text, row);
    return static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin());
}

const auto small = testing::hashed_model(6, 1, 2), large = testing::hashed_model(6, 2, 2);
const std::vector<token> prompt{1, 4, 2};

}  // namespace

BOOST_AUTO_TEST_CASE(a_chain_is_scored_in_one_pass) {
    const testing::counting_model counted(large);
    const auto seen =
        round_of(draft::draft_model<const testing::function_model&, draft::argmax>(small), counted, prompt, 3);
    BOOST_TEST(seen.drafted.size() == 3u);
    BOOST_TEST(seen.best.size() == 4u);
    std::vector<token> text = prompt;
    for (std::size_t i = 0; i < seen.best.size(); ++i) {
        BOOST_TEST(seen.best[i] == best_after(large, text));
        if (i < seen.drafted.size()) text.push_back(seen.drafted[i]);
    }
    BOOST_TEST(counted.counts().calls == 1u);
    BOOST_TEST(seen.seconds.draft == 0.001);
    BOOST_TEST(seen.seconds.verify == 0.001);
}

BOOST_AUTO_TEST_CASE(a_trees_rows_follow_its_paths) {
    const testing::bush<draft::argmax> tree{small, {-1, -1, 0, 1}};
    const auto check = [&](const auto& target) {
        const auto seen = round_of(tree, target, prompt, 2);
        BOOST_TEST(seen.drafted.size() == 4u);
        const auto text = [&](std::vector<std::size_t> nodes) {
            std::vector<token> all = prompt;
            for (const std::size_t node : nodes) all.push_back(seen.drafted[node]);
            return all;
        };
        const std::vector<std::vector<std::size_t>> paths{{}, {0}, {1}, {0, 2}, {1, 3}};
        for (std::size_t row = 0; row < paths.size(); ++row) {
            BOOST_TEST(seen.best[row] == best_after(large, text(paths[row])));
        }
    };
    check(large);
    check(testing::tree_mock(large));
}

BOOST_AUTO_TEST_CASE(a_tree_loses_what_the_context_has_no_place_for) {
    const auto cramped = testing::hashed_model(6, 2, 2, 6);
    const auto seen = round_of(testing::bush<draft::argmax>{small, {-1, -1, -1, -1, 0}}, cramped, prompt, 2);
    BOOST_TEST(seen.drafted.size() == 3u);
    BOOST_TEST(seen.best.size() == 4u);
}

/// The proposal that a criterion is given has the type of a chain where that is all there can be.
BOOST_AUTO_TEST_CASE(chains_are_judged_as_chains) {
    using as_chain = decltype(rounds::as_judged<false, accept::rejection_sampling>(proposal<distribution>()));
    using as_tree = decltype(rounds::as_judged<true, accept::rejection_sampling>(proposal<distribution>()));
    static_assert(!Branches<std::remove_cvref_t<as_chain>>);
    static_assert(Branches<std::remove_cvref_t<as_tree>>);
}

BOOST_AUTO_TEST_SUITE_END()
