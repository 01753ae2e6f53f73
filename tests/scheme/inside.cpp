#include "augur/scheme/inside.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/fuzzy_greedy.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/decode/generate.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <limits>
#include <vector>

#include "accept/bush.hpp"
#include "up_to.hpp"

BOOST_AUTO_TEST_SUITE(scheme_inside)

using namespace augur;
using accept::rejection_sampling;
using policy::fixed_length;
using testing::bush;
using testing::up_to;

namespace {

const auto a = testing::hashed_model(3, 1, 1), b = testing::hashed_model(3, 2, 1), c = testing::hashed_model(3, 3, 1);
const std::vector<token> prompt{1, 0};
const fixed_length two{2};

/// Of all rounds of links over trees: how many accepted a node that is not its parent's first child.
std::size_t second_siblings = 0;

/// A length, and a look at what became of the round.
struct watched_length {
    std::size_t length(const observation&) const { return 2; }
    void watch(const auto& view) noexcept {
        const auto parents = view.proposed.parents();
        for (const std::size_t node : view.decided.path) {
            const bool first = parents::next_child(parents, view.proposed.size(), parents[node], 0) == node;
            second_siblings += first ? 0 : 1;
        }
    }
};

/// What drafts for c: a tree of a's, judged by b.
template <class TokenSelector, class Middle, class Criterion>
auto inner(const bush<TokenSelector>& tree, const Middle& middle, Criterion criterion) {
    return speculate(tree, middle, watched_length{}, criterion);
}

template <class TokenSelector, class Criterion>
void exact_above(Criterion inside, auto above, std::vector<std::int32_t> shape, std::size_t tokens,
                 float temperature = 1) {
    const bush<TokenSelector> tree{a, std::move(shape)};
    const auto broken = [&](const auto& middle) {
        second_siblings = 0;
        const std::string found = testing::broken_promise(speculate(inner(tree, middle, inside), c, two, above), prompt,
                                                          up_to(tokens, temperature));
        BOOST_TEST(found == "");
        if (temperature > 0) BOOST_TEST(second_siblings > 0u);  // at 0 a row has one token
    };
    broken(b);
    broken(testing::tree_mock(b));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lossless_last_link_makes_all_lossless) {
    const std::vector<std::int32_t> pair{-1, -1}, deep{-1, -1, 0};
    exact_above<draft::sampled>(rejection_sampling{}, rejection_sampling{}, pair, 2);
    exact_above<draft::sampled>(rejection_sampling{}, rejection_sampling{}, deep, 3);
    exact_above<draft::sampled>(accept::fuzzy<measure::total_variation>{0.05}, rejection_sampling{}, pair, 2);
    exact_above<draft::sampled>(accept::rejection_then_fuzzy<measure::kl>{0.01}, rejection_sampling{}, pair, 2);
    exact_above<draft::sampled>(accept::traversal{}, rejection_sampling{}, pair, 2);
    exact_above<draft::sampled_with_replacement>(accept::multipath_block{}, rejection_sampling{}, pair, 2);
    exact_above<draft::argmax>(rejection_sampling{}, rejection_sampling{}, deep, 3);
    exact_above<draft::argmax>(accept::fuzzy<measure::total_variation>{0.05}, rejection_sampling{}, pair, 2);
    exact_above<draft::argmax>(accept::coupled{}, rejection_sampling{}, deep, 3);
    exact_above<draft::argmax>(accept::coupled{}, accept::coupled{}, deep, 3);
    exact_above<draft::argmax>(accept::exact{}, accept::exact{}, deep, 6, 0);
    exact_above<draft::argmax>(accept::exact{}, rejection_sampling{}, deep, 6, 0);
}

/// Whatever a fuzzy rule does with the first sibling, the row of the tokens is the one that is stated.
BOOST_AUTO_TEST_CASE(fuzzy_rules_of_any_threshold) {
    for (const double threshold : {0.0, 0.15, 0.6, std::numeric_limits<double>::infinity()}) {
        const bush<draft::sampled> tree{a, {-1, -1, 0}};
        const auto scheme =
            speculate(inner(tree, b, accept::fuzzy<measure::total_variation>{threshold}), c, two, rejection_sampling{});
        BOOST_TEST(testing::broken_promise(scheme, prompt, up_to(2)) == "");
    }
}

BOOST_AUTO_TEST_CASE(a_link_over_trees_is_a_drafter) {
    const bush<draft::sampled> drawn{a, {-1, -1, 0, 0}};
    const bush<draft::argmax> best{a, {-1, -1, 0, 0}};
    const auto keeps = [](const auto& drafter) {
        const auto r = testing::drafter_laws(drafter, {.cases = 40});
        BOOST_TEST(r.kept(), r);
    };
    keeps(inner(drawn, b, rejection_sampling{}).as_stage());
    keeps(inner(drawn, b, accept::fuzzy<measure::total_variation>{0.3}).as_stage());
    keeps(inner(drawn, b, accept::traversal{}).as_stage());
    keeps(inner(best, b, accept::coupled{}).as_stage());
    keeps(inner(best, testing::tree_mock(b), rejection_sampling{}).as_stage());
}

/// More of a tree than of its first path is accepted, and the link's model computes each token once.
BOOST_AUTO_TEST_CASE(siblings_are_worth_something) {
    const auto wide = testing::hashed_model(16, 4, 2), middle = testing::hashed_model(16, 5, 2);
    const auto rounds = [&](std::vector<std::int32_t> shape) {
        const bush<draft::argmax> tree{wide, std::move(shape)};
        const auto target = testing::hashed_model(16, 6, 2);
        const auto scheme = speculate(speculate(tree, testing::tree_mock(middle), two, accept::coupled{}), target,
                                      fixed_length{4}, accept::coupled{});
        const auto decoded = decode::generate(scheme, prompt, up_to(200));
        const auto expected = decode::generate(plain(target), prompt, up_to(200));
        BOOST_TEST(decoded.tokens == expected.tokens, boost::test_tools::per_element());
        return decoded.counts.stages[0].rounds;
    };
    BOOST_TEST(rounds({-1, -1, -1, -1, -1, -1, 0, 0, 0}) < rounds({-1, 0}));
}

BOOST_AUTO_TEST_SUITE_END()
