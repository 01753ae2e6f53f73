// What choosing among drafted tokens has broken: docs/conformance.md, 44 and 45.

#include <augur/draft/draft_model.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/refined_models.hpp>
#include <concepts>

#include "conformance/laws.hpp"
#include "sanitized.hpp"

using namespace augur;
using namespace augur::conformance;

BOOST_AUTO_TEST_SUITE(conformance_selection)

/// Drops a drafted token because it is improbable, after having drawn it.
struct confidence_cut {
    using inner_type = draft_by<function_model, draft::sampled>;
    using state_type = inner_type::state_type;
    using draft_distribution_type = distribution;
    inner_type inner;

    state_type make_state() const { return inner.make_state(); }
    void propose(state_type& state, auto& context, proposal<distribution>& kept) const {
        const auto drafted = draft::propose(inner, state, context);
        for (std::size_t i = 0; i < drafted.size() && drafted[i].probability(drafted[i].id) >= 0.5; ++i) {
            kept.push(drafted[i].id, *drafted[i].row);
        }
    }
    void on_commit(state_type& state, const prefix& committed) const { inner.on_commit(state, committed); }
};

/// The same cut by what the row says before anything is drawn from it: no further token where the largest is below it.
struct confidence_stop {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    std::size_t length(const observation& seen) const { return seen.draft_confidence >= 0.5 ? 2 : seen.drafted; }
};

double first_is_zero(const auto& scheme) {
    double sum = 0;
    for (const auto& [tokens, probability] : testing::text_distribution_of(scheme, prompt, sampling(2)).probability) {
        if (tokens[0] == 0) sum += probability;
    }
    return sum;
}

// Drafted tokens of low confidence were dropped, and their positions drawn from the target.
BOOST_AUTO_TEST_CASE(invariant_44_no_token_is_dropped_for_its_own_value) {
    for (const std::size_t vocabulary : {2u, 3u, 5u}) {
        for (const std::uint64_t seed : {1u, 2u, 3u}) {
            const auto target = testing::hashed_model(vocabulary, seed);
            const auto drafting = testing::hashed_model(vocabulary, seed + 10);
            check_laws(drafting, target, sampling(vocabulary == 5 ? 2 : testing::unless_sanitized<std::size_t>(4, 3)));
            if (testing::sanitized) break;
        }
    }
    const auto even = testing::markov_model({{0.5, 0.5}, {0.5, 0.5}});
    const auto uneven = testing::markov_model({{0.6, 0.4}, {0.6, 0.4}});
    const confidence_cut cut{confidence_cut::inner_type(uneven)};
    each_selecting_criterion([&](const auto& criterion) {
        // The figures of docs/conformance.md; logits are floats.
        const auto near = boost::test_tools::tolerance(1e-6);
        BOOST_TEST(first_is_zero(speculate(uneven, even, confidence_stop{}, criterion)) == 0.5, near);
        BOOST_TEST(first_is_zero(speculate(cut, even, policy::fixed_length{1}, criterion)) == 0.7, near);
    });
}

/// Draws two children of the prefix, and keeps the one that is the more probable.
struct better_of_two {
    using inner_type = draft_by<function_model, draft::sampled>;
    using state_type = inner_type::state_type;
    using draft_distribution_type = distribution;
    static constexpr bool branches = true;
    inner_type inner;
    const function_model& source;

    state_type make_state() const { return inner.make_state(); }
    void propose(state_type&, auto& context, proposal<distribution>& kept) const {
        if (!context.wants_more(0)) return;
        std::vector<float> row(source.vocabulary_size());
        source.fill_row(context.prefix().tokens(), row);
        proposal<distribution> drawn;
        distribution spare;
        draft::draw_next(draft::sampled{}, row, context, drawn, spare, after_prefix, 0);
        if (draft::draw_next(draft::sampled{}, row, context, drawn, spare, after_prefix, 1) == no_token) return;
        const distribution& first = *drawn[0].row;
        const token best = first.probability(drawn[0].id) < first.probability(drawn[1].id) ? drawn[1].id : drawn[0].id;
        kept.push(best, first);
    }
    void on_commit(state_type& state, const prefix& committed) const { inner.on_commit(state, committed); }
};

// Children were drawn, and the tree was made of the most probable of them. A tree by value is of fixed siblings.
BOOST_AUTO_TEST_CASE(invariant_45_a_tree_by_value_is_of_children_that_were_not_drawn) {
    const auto check = [](const auto& criterion, std::uint64_t seed) {
        const testing::tree_mock target(testing::hashed_model(3, seed));
        const testing::tree_mock drafting(testing::hashed_model(3, seed + 10));
        const auto by_value = draft::draft_model(drafting, draft::dynamic_tree{.depth = 2, .top_k = 2, .nodes = 4});
        static_assert(
            std::same_as<typename std::remove_cvref_t<decltype(by_value)>::draft_distribution_type, point_mass>);
        BOOST_TEST(distance(speculate(by_value, target, policy::fixed_length{2}, criterion), sampling(3)) < exactly);
        // What is drawn is verified, every node of it: its shape is known before.
        const auto drawn = draft::draft_model(drafting, draft::sampled{});
        const policy::tree_static shape(topology{-1, -1, 0, 0});
        BOOST_TEST(distance(speculate(drawn, target, shape, criterion), sampling(3)) < exactly);
        const function_model source = testing::hashed_model(3, seed + 10);
        const better_of_two wrong{better_of_two::inner_type(source), source};
        BOOST_TEST(distance(speculate(wrong, target, policy::fixed_length{1}, criterion), sampling(2)) > clearly);
    };
    for (const std::uint64_t seed : {1u, 2u}) {
        check(accept::rejection_sampling{}, seed);
        check(accept::traversal{}, seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
