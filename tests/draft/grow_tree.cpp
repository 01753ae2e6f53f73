#include "augur/draft/grow_tree.hpp"

#include <algorithm>
#include <augur/draft/draw_next.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/compare_proposals.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <sstream>

#include "draft/looking_ahead.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_grow_tree)

/// Rows of a model without weights, of nodes up to a depth. Writes down which were asked for.
struct row_source {
    testing::function_model model;
    std::size_t deepest = 100;
    std::vector<std::vector<std::int32_t>>* asked = nullptr;

    struct state_type {};

    template <class DraftDistribution, class See>
    flow::task rows_after(state_type&, auto& context, const proposal<DraftDistribution>& tree,
                          std::span<const std::int32_t> nodes, const See& see) const {
        if (asked != nullptr) asked->push_back({nodes.begin(), nodes.end()});
        std::vector<float> row(model.vocabulary_size());
        for (const std::int32_t node : nodes) {
            const draft::at_node path(context, tree, node);
            model.fill_row(context.prefix().tokens(), row);
            if (parents::depth_of(tree.parents(), node) <= deepest) see(node, row);
        }
        co_return;
    }
};

struct fixture {
    prefix before{std::vector<token>{2, 0, 1}};
    transform::settings chosen{};
    random::philox_chooser chooser{5};
    draft::tree_work work{};
    row_source::state_type state{};

    template <class Policy>
    proposal<point_mass> grown(const row_source& source, const draft::dynamic_tree& limits, const Policy& policy) {
        const transform::pipeline transform(chosen, source.model.vocabulary_size());
        draft::context context(before, transform, chooser, policy, observation{}, 100);
        proposal<point_mass> drafted;
        flow::runner(draft::grow_by_value(limits, source, state, context, drafted, work)).finish();
        return drafted;
    }
    proposal<point_mass> filled(const row_source& source, const auto& policy) {
        const transform::pipeline transform(chosen, source.model.vocabulary_size());
        draft::context context(before, transform, chooser, policy, observation{}, 100, signals::draft_confidence);
        proposal<point_mass> drafted;
        distribution spare;
        flow::runner(draft::fill_picked(draft::argmax{}, source, state, context, drafted, work, spare)).finish();
        return drafted;
    }
};

using path = std::vector<token>;

/// The paths of a proposal's nodes.
std::vector<path> paths_of(const proposal<point_mass>& of) {
    std::vector<path> paths;
    for (std::size_t node = 0; node < of.size(); ++node) {
        path to = of.parent(node) < 0 ? path{} : paths[static_cast<std::size_t>(of.parent(node))];
        to.push_back(of.tokens()[node]);
        paths.push_back(to);
    }
    return paths;
}

/// The tokens after a path, the most probable first, with their probabilities.
std::vector<std::pair<double, token>> children(const testing::function_model& model, path text, const path& to) {
    text.insert(text.end(), to.begin(), to.end());
    std::vector<float> row(model.vocabulary_size());
    model.fill_row(text, row);
    double sum = 0;
    for (const float logit : row) sum += std::exp(double{logit});
    std::vector<std::pair<double, token>> found;
    for (std::size_t t = 0; t < row.size(); ++t)
        found.emplace_back(std::exp(double{row[t]}) / sum, static_cast<token>(t));
    std::sort(found.begin(), found.end(), [](auto a, auto b) { return a.first > b.first; });
    return found;
}

/// Siblings are there in the order of their values, after the text of the fixture.
void siblings_are_ranks(const testing::function_model& model, const proposal<point_mass>& proposed) {
    const auto paths = paths_of(proposed);
    std::map<std::int32_t, std::size_t> rank;
    for (std::size_t node = 0; node < proposed.size(); ++node) {
        path parent = paths[node];
        parent.pop_back();
        BOOST_TEST(children(model, {2, 0, 1}, parent)[rank[proposed.parent(node)]++].second == paths[node].back());
    }
}

/// EAGLE-2's tree by its definition: the paths that are drafted.
std::vector<path> by_definition(const testing::function_model& model, const path& text, const draft::dynamic_tree& of) {
    std::vector<std::pair<double, path>> all, level{{1.0, {}}};
    for (std::size_t depth = 0; depth < of.depth; ++depth) {
        std::vector<std::pair<double, path>> next;
        for (const auto& [value, to] : level) {
            const auto after = children(model, text, to);
            for (std::size_t rank = 0; rank < std::min(of.top_k, after.size()); ++rank) {
                path longer = to;
                longer.push_back(after[rank].second);
                next.emplace_back(value * after[rank].first, longer);
            }
        }
        all.insert(all.end(), next.begin(), next.end());
        std::stable_sort(next.begin(), next.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
        next.resize(std::min(next.size(), of.top_k));
        level = next;
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    all.resize(std::min(all.size(), of.nodes));
    std::vector<path> paths;
    for (const auto& each : all) paths.push_back(each.second);
    std::sort(paths.begin(), paths.end());
    return paths;
}

BOOST_FIXTURE_TEST_CASE(the_dynamic_tree_is_the_definitions, fixture) {
    std::size_t branching = 0, deep = 0, cut = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const row_source source{testing::hashed_model(6, seed, seed % 2 == 0 ? 1.0f : 4.0f)};
        const draft::dynamic_tree limits{1 + seed % 4, 1 + seed % 3, 1 + seed % 11};
        const auto proposed = grown(source, limits, policy::fixed_length{9});
        auto paths = paths_of(proposed);
        BOOST_TEST(testing::longest_path(proposed) <= limits.depth);
        branching += proposed.is_chain() ? 0 : 1;
        deep += testing::longest_path(proposed) > 2 ? 1 : 0;
        cut += proposed.size() == limits.nodes ? 1 : 0;
        std::sort(paths.begin(), paths.end());
        BOOST_TEST((paths == by_definition(source.model, {2, 0, 1}, limits)));
    }
    BOOST_TEST((branching > 10 && deep > 10 && cut > 10));
}

BOOST_FIXTURE_TEST_CASE(siblings_are_there_in_the_order_of_their_values, fixture) {
    const row_source source{testing::hashed_model(6, 3)};
    const auto proposed = grown(source, {3, 3, 20}, policy::fixed_length{9});
    BOOST_TEST(proposed.size() == 20u);
    siblings_are_ranks(source.model, proposed);
}

BOOST_FIXTURE_TEST_CASE(equal_values_go_to_the_shallower_then_the_earlier, fixture) {
    // One token is certain, so that the chain of it has the value 1 at every depth; of the others none is possible.
    const row_source certain{testing::function_model(3, 99, [](std::span<const token>, std::span<float> row) {
        std::fill(row.begin(), row.end(), -INFINITY);
        row[1] = 0;
    })};
    const auto chain = grown(certain, {4, 2, 3}, policy::fixed_length{9});
    BOOST_TEST((chain.is_chain() && chain.size() == 3u));
    // All are equal: of a depth's nodes the first are expanded, and the shallow ones are drafted.
    const row_source even{testing::function_model(
        3, 99, [](std::span<const token>, std::span<float> row) { std::fill(row.begin(), row.end(), 0.0f); })};
    const auto proposed = grown(even, {3, 2, 5}, policy::fixed_length{9});
    const std::vector<token> tokens{0, 1, 0, 1, 0};
    const std::vector<std::int32_t> parents{-1, -1, 0, 0, 1};
    BOOST_TEST(proposed.tokens() == std::span<const token>(tokens), boost::test_tools::per_element());
    BOOST_TEST(proposed.parents() == std::span<const std::int32_t>(parents), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(values_are_of_what_bias_and_mask_leave, fixture) {
    // Token 0 would be certain. Without it 1 has four times the weight of 2.
    const row_source source{testing::markov_model({{.96, .032, .008}, {.96, .032, .008}, {.96, .032, .008}})};
    chosen.mask = [](std::span<float> logits, const prefix&) { logits[0] = -INFINITY; };
    chosen.temperature.value = 0;
    const auto proposed = grown(source, {3, 2, 4}, policy::fixed_length{9});
    const std::vector<token> tokens{1, 2, 1, 1};  // .8, .2, .64, .512; not .16
    const std::vector<std::int32_t> parents{-1, -1, 0, 2};
    BOOST_TEST(proposed.tokens() == std::span<const token>(tokens), boost::test_tools::per_element());
    BOOST_TEST(proposed.parents() == std::span<const std::int32_t>(parents), boost::test_tools::per_element());
}

/// Wants so many depths, by what it is shown of the rows.
struct recorder {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    std::vector<std::pair<std::size_t, double>>* shown;
    std::size_t depths = 2;
    std::size_t length(const observation& seen) const {
        shown->emplace_back(seen.drafted, seen.path_value);
        return depths;
    }
};

BOOST_FIXTURE_TEST_CASE(the_policy_sees_the_row_after_the_best_node_of_each_depth, fixture) {
    const row_source source{testing::hashed_model(6, 3)};
    std::vector<std::pair<std::size_t, double>> shown;
    const auto proposed = grown(source, {5, 3, 20}, recorder{&shown});
    BOOST_TEST(testing::longest_path(proposed) == 2u);
    BOOST_TEST(shown.size() == 2u);
    const path text{2, 0, 1};
    const auto first = children(source.model, text, {});
    const auto second = children(source.model, text, {first[0].second});
    BOOST_TEST((shown[0].first == 0u && shown[1].first == 1u));
    BOOST_TEST(shown[0].second == first[0].first, boost::test_tools::tolerance(1e-6));
    BOOST_TEST(shown[1].second == first[0].first * second[0].first, boost::test_tools::tolerance(1e-6));
    shown.clear();
    BOOST_TEST(grown(source, {5, 3, 20}, recorder{&shown, 0}).empty());
}

BOOST_FIXTURE_TEST_CASE(rows_that_are_left_out_or_hold_no_numbers_have_no_children, fixture) {
    const row_source shallow{testing::hashed_model(6, 3), 1};
    BOOST_TEST(testing::longest_path(grown(shallow, {5, 2, 20}, policy::fixed_length{9})) == 2u);
    const row_source broken{testing::function_model(4, 99, [](std::span<const token> text, std::span<float> row) {
        std::fill(row.begin(), row.end(), 0.0f);
        if (text.size() > 3) row[2] = text.back() == 0 ? NAN : 1.0f;
    })};
    const auto proposed = grown(broken, {2, 2, 20}, policy::fixed_length{9});
    const std::vector<std::int32_t> parents{-1, -1, 1, 1};
    BOOST_TEST(proposed.parents() == std::span<const std::int32_t>(parents), boost::test_tools::per_element());
    BOOST_TEST(grown(row_source{testing::function_model(3, 9,
                                                        [](std::span<const token>, std::span<float> row) {
                                                            std::fill(row.begin(), row.end(), -INFINITY);
                                                        })},
                     {2, 2, 20}, policy::fixed_length{9})
                   .empty());
}

BOOST_FIXTURE_TEST_CASE(a_plan_is_filled_depth_by_depth, fixture) {
    std::vector<std::vector<std::int32_t>> asked;
    const row_source source{testing::hashed_model(6, 3), 100, &asked};
    // Depth first: 0 and its child, that one's children; then a second tree.
    const auto proposed = filled(source, policy::tree_static(topology{-1, 0, 1, 1, -1, 4, -1}));
    const std::vector<std::int32_t> parents{-1, -1, -1, 0, 1, 3, 3};
    BOOST_TEST(proposed.parents() == std::span<const std::int32_t>(parents), boost::test_tools::per_element());
    // Leaves need no row.
    BOOST_TEST((asked == std::vector<std::vector<std::int32_t>>{{-1}, {0, 1}, {3}}));
    siblings_are_ranks(source.model, proposed);
}

BOOST_FIXTURE_TEST_CASE(what_a_row_does_not_offer_is_left_out_with_what_is_beneath, fixture) {
    const row_source two{testing::markov_model({{1, 1, 0}, {1, 0, 0}, {1, 1, 0}})};
    // The prefix ends in 1: one child. After it, 0: two; after these one each.
    const auto proposed = filled(two, policy::tree_static(topology{-1, -1, 0, 0, 0, 1, 2, 3, 3, 4}));
    const std::vector<std::int32_t> parents{-1, 0, 0, 1, 2};
    BOOST_TEST(proposed.parents() == std::span<const std::int32_t>(parents), boost::test_tools::per_element());
    const std::vector<token> tokens{0, 0, 1, 0, 0};
    BOOST_TEST(proposed.tokens() == std::span<const token>(tokens), boost::test_tools::per_element());
}

/// Plans a tree by the first row, and counts how often it is asked.
struct planner {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    static constexpr draft_shape plans = draft_shape::tree;
    augur::topology sure, unsure;
    std::size_t* asked;
    draft_plan plan(const observation& seen) const {
        ++*asked;
        return {.tree = seen.draft_confidence > .5 ? &sure : &unsure};
    }
};

BOOST_FIXTURE_TEST_CASE(a_tree_is_planned_once_with_the_first_row, fixture) {
    const row_source even{testing::function_model(
        3, 99, [](std::span<const token>, std::span<float> row) { std::fill(row.begin(), row.end(), 0.0f); })};
    const row_source certain{testing::function_model(
        3, 99, [](std::span<const token>, std::span<float> row) { row[0] = 9, row[1] = 1, row[2] = 0; })};
    std::size_t asked = 0;
    BOOST_TEST(filled(certain, planner{topology{-1, 0, 1, 1}, topology{-1}, &asked}).size() == 4u);
    BOOST_TEST(filled(even, planner{topology{-1, 0, 1, 1}, topology{-1}, &asked}).size() == 1u);
    BOOST_TEST(filled(even, planner{topology{-1, 0, 1, 1}, topology(), &asked}).empty());
    BOOST_TEST(asked == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_policy_that_looks_ahead_is_shown_the_chain_and_its_rows_are_asked_for_once, fixture) {
    std::vector<std::vector<std::int32_t>> rows_asked;
    const row_source source{testing::hashed_model(6, 3), 100, &rows_asked};
    const row_source shallow{testing::hashed_model(6, 3), 1};
    const auto shapes = {topology{-1, -1, 0, 0, 1, 2}, topology{-1, -1, 1, 2}, topology{-1}, topology()};
    for (const topology& shape : shapes) {
        for (const std::size_t rows : {2u, 3u, 6u}) {
            std::vector<observation> asked;
            const testing::looking_ahead policy{&shape, &asked, rows};
            const auto proposed = filled(source, policy);
            const std::size_t shown = shape.size() == 0 ? 1 : rows;  // no node is wanted: the draft ends
            BOOST_TEST_REQUIRE(asked.size() == (shown > 1 ? 2u : 1u));
            BOOST_TEST(asked.back().drafted == shown - 1);
            const auto row = [&](const path& to) { return children(source.model, {2, 0, 1}, to).front(); };
            path chain;
            double value = 1;
            for (std::size_t i = 0; i < shown; ++i) {
                const auto [probability, best] = row(chain);
                value *= probability;
                chain.push_back(best);
            }
            BOOST_TEST(asked.back().path_value == value, boost::test_tools::tolerance(1e-6));
            const auto expected = filled(source, policy::tree_static(shape));
            BOOST_TEST((testing::difference(expected, proposed) == ""));
            BOOST_TEST(proposed.size() == shape.size());
        }
    }
    // Three rows of the chain, then those that are none of it.
    rows_asked.clear();
    std::vector<observation> asked;
    filled(source, testing::looking_ahead{shapes.begin(), &asked, 3});
    BOOST_TEST((rows_asked == std::vector<std::vector<std::int32_t>>{{-1}, {0}, {1}, {1}}));
    // Where rows end it is asked with what there was.
    asked.clear();
    const auto proposed = filled(shallow, testing::looking_ahead{shapes.begin(), &asked, 3});
    BOOST_TEST((asked.size() == 2u && asked[1].drafted == 1u && asked[1].pending == signals::none));
    BOOST_TEST((testing::difference(filled(shallow, policy::tree_static(*shapes.begin())), proposed) == ""));
}

BOOST_FIXTURE_TEST_CASE(a_length_is_a_chain_of_the_best, fixture) {
    const row_source source{testing::hashed_model(6, 3)};
    for (const std::size_t length : {0u, 1u, 4u}) {
        const auto proposed = filled(source, policy::fixed_length{length});
        BOOST_TEST((proposed.is_chain() && proposed.size() == length));
    }
}

/// Believes in squares, goes on after so many nodes of a depth, and keeps so many of all.
struct weighing : growth_budget {
    using notes = std::vector<std::pair<std::size_t, std::vector<float>>>;  ///< depths, and values
    static constexpr draft_shape plans = draft_shape::grown_tree;
    std::size_t after, kept;
    notes* asked;

    weighing(std::size_t goes_on, std::size_t keeps, notes* into = nullptr)
        : after(goes_on), kept(keeps), asked(into) {}
    draft_plan plan(const observation&) const { return {.length = 4, .grow = this}; }
    float worth(float probability) const override { return probability * probability; }
    std::size_t expand(const observation& seen, std::span<const float> values) const override {
        if (asked != nullptr) asked->push_back({seen.drafted, {values.begin(), values.end()}});
        return after;
    }
    std::size_t keep(const observation& seen, std::span<const float> values) const override {
        if (asked != nullptr) asked->push_back({seen.drafted, {values.begin(), values.end()}});
        return kept;
    }
};
static_assert(SpeculationPolicy<weighing>);

BOOST_AUTO_TEST_CASE(a_policy_that_weighs_nodes_says_how_far_and_how_many) {
    const testing::function_model model = testing::hashed_model(6, 3);
    std::vector<std::vector<std::int32_t>> rows;
    const row_source source{.model = model, .asked = &rows};
    fixture f;
    std::vector<std::pair<std::size_t, std::vector<float>>> asked;
    const auto proposed = f.grown(source, {.depth = 3, .top_k = 2, .nodes = 5}, weighing{1, 3, &asked});
    BOOST_TEST(proposed.size() == 3u);
    BOOST_TEST(rows.size() == 3u);  // of depths, each after one node
    for (const auto& level : rows) BOOST_TEST(level.size() == 1u);
    BOOST_REQUIRE(asked.size() == 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        BOOST_TEST(asked[i].first == i + 1);
        BOOST_TEST(std::is_sorted(asked[i].second.rbegin(), asked[i].second.rend()));
        BOOST_TEST(asked[i].second.size() == (i < 2 ? 2u : 5u));
    }
    const auto first = children(model, {2, 0, 1}, {});
    BOOST_REQUIRE(proposed.confidences().size() == 3u);
    BOOST_TEST(std::abs(double{proposed.confidences()[0]} - first[0].first) < 1e-6);
    BOOST_TEST(std::abs(double{asked[0].second[0]} - first[0].first * first[0].first) < 1e-6);
    BOOST_TEST(f.grown(source, {.depth = 3, .top_k = 2, .nodes = 5}, weighing{0, 9}).size() == 2u);
    BOOST_TEST(f.grown(source, {.depth = 3, .top_k = 2, .nodes = 5}, weighing{2, 0}).empty());
}

struct overconfident : weighing {
    using weighing::weighing;
    float worth(float) const override { return 2; }
};

BOOST_AUTO_TEST_CASE(no_node_is_worth_more_than_its_parent) {
    const row_source source{.model = testing::hashed_model(6, 3)};
    fixture f;
    const auto proposed = f.grown(source, {.depth = 3, .top_k = 2, .nodes = 4}, overconfident{2, 4});
    BOOST_TEST(proposed.size() == 4u);
    std::size_t first = 0;
    for (std::size_t node = 0; node < proposed.size(); ++node) first += proposed.parent(node) == after_prefix ? 1 : 0;
    BOOST_TEST(first == 2u);
}

BOOST_AUTO_TEST_CASE(limits_of_nothing_are_refused_and_printed) {
    BOOST_CHECK_EXCEPTION((draft::dynamic_tree{5, 0, 3}.check()), error, [](const error& e) {
        return std::string(e.what()) == "dynamic_tree: depth is 5, top_k 0, nodes 3; each has to be at least 1";
    });
    BOOST_CHECK_THROW((draft::dynamic_tree{0, 1, 3}.check()), error);
    BOOST_CHECK_THROW((draft::dynamic_tree{1, 1, 0}.check()), error);
    draft::dynamic_tree{1, 1, 1}.check();
    std::ostringstream out;
    out << draft::dynamic_tree{};
    BOOST_TEST(out.str() == "dynamic_tree{.depth=5, .top_k=4, .nodes=12}");
}

BOOST_AUTO_TEST_SUITE_END()
