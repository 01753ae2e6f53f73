#include "augur/draft/draw_next.hpp"

#include <augur/draft/context.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <memory>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_draw_next)

struct fixture {
    prefix before{std::vector<token>{1}};
    transform::pipeline transform{{}, 3};
    random::philox_chooser chooser{0};
    policy::fixed_length four{4};
    draft::context<policy::fixed_length, random::philox_chooser> context{before, transform, chooser, four, {}, 10};
    std::vector<float> row{0, 2, 0};
    std::vector<float> impossible = std::vector<float>(3, -std::numeric_limits<float>::infinity());
    distribution spare;
};

BOOST_FIXTURE_TEST_CASE(a_draft_distribution_keeps_the_row_that_the_token_was_drawn_from, fixture) {
    proposal<distribution> proposed;
    const token drawn = draft::draw_next(draft::sampled{}, row, context, proposed, spare);
    BOOST_TEST(proposed.size() == 1u);
    BOOST_TEST(proposed.tokens()[0] == drawn);
    distribution wanted;
    transform.apply(row, before, wanted);
    for (std::size_t t = 0; t < 3; ++t) BOOST_TEST((*proposed[0].row)[t] == wanted[t]);
    BOOST_TEST(spare.empty());  // made in its place
}

BOOST_FIXTURE_TEST_CASE(a_point_mass_keeps_the_token_alone, fixture) {
    proposal<point_mass> proposed;
    BOOST_TEST(draft::draw_next(draft::argmax{}, row, context, proposed, spare) == 1);
    BOOST_TEST(proposed.tokens()[0] == 1);
    BOOST_TEST(spare.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_certain_token_can_keep_its_row, fixture) {
    proposal<mode_of_row> proposed;
    BOOST_TEST(draft::draw_next(draft::argmax_with_row{}, row, context, proposed, spare) == 1);
    distribution wanted;
    transform.apply(row, before, wanted);
    for (std::size_t t = 0; t < 3; ++t) BOOST_TEST((*proposed[0].row)[t] == wanted[t]);
    BOOST_TEST(proposed[0].probability(1) == 1);
    BOOST_TEST(proposed[0].probability(0) == 0);
    BOOST_TEST(spare.empty());
}

BOOST_FIXTURE_TEST_CASE(siblings_are_drawn_without_those_before_unless_the_selector_replaces_them, fixture) {
    const std::vector<float> nearly_certain{0, 50, 0};
    proposal<distribution> without, with;
    for (std::size_t sibling = 0; sibling < 2; ++sibling) {
        draft::draw_next(draft::sampled{}, nearly_certain, context, without, spare, after_prefix, sibling);
        draft::draw_next(draft::sampled_with_replacement{}, nearly_certain, context, with, spare, after_prefix,
                         sibling);
    }
    BOOST_TEST(without.tokens()[0] == 1);
    BOOST_TEST(without.tokens()[1] != 1);
    BOOST_TEST(without[1].row->probability(1) == 0);
    for (std::size_t sibling = 0; sibling < 2; ++sibling) {
        BOOST_TEST(with.tokens()[sibling] == 1);
        BOOST_TEST(with[sibling].row->probability(1) > 0.9);
    }
}

BOOST_FIXTURE_TEST_CASE(nothing_is_added_where_nothing_can_be_drawn, fixture) {
    proposal<point_mass> points;
    proposal<distribution> rows;
    BOOST_TEST(draft::draw_next(draft::argmax{}, impossible, context, points, spare) == no_token);
    BOOST_TEST(draft::draw_next(draft::sampled{}, impossible, context, rows, spare) == no_token);
    BOOST_TEST(points.size() == 0u);
    BOOST_TEST(rows.size() == 0u);
    BOOST_TEST(draft::draw_next(draft::sampled{}, row, context, rows, spare) != no_token);
    BOOST_TEST(rows.size() == 1u);  // what failed left nothing behind
}

BOOST_FIXTURE_TEST_CASE(a_sibling_is_drawn_from_what_those_before_it_leave, fixture) {
    proposal<distribution> proposed;
    std::vector<token> drawn;
    for (std::size_t sibling = 0; sibling < 3; ++sibling) {
        drawn.push_back(draft::draw_next(draft::sampled{}, row, context, proposed, spare, after_prefix, sibling));
        const distribution& stated = *proposed[sibling].row;
        double left = 0;
        for (std::size_t t = 0; t < 3; ++t) left += stated[t];
        BOOST_TEST(stated.total() == left);
        for (std::size_t i = 0; i < sibling; ++i) BOOST_TEST(stated.probability(drawn[i]) == 0);
        BOOST_TEST(stated.probability(drawn[sibling]) > 0);
    }
    BOOST_TEST(proposed[2].probability(drawn[2]) == 1);  // the last that is left
    BOOST_TEST(draft::draw_next(draft::sampled{}, row, context, proposed, spare, after_prefix, 3) == no_token);
    BOOST_TEST(proposed.size() == 3u);
    BOOST_TEST(!proposed.is_chain());
}

BOOST_FIXTURE_TEST_CASE(siblings_by_argmax_are_the_largest_in_order, fixture) {
    row = {1, 3, 2};
    proposal<point_mass> proposed;
    std::vector<token> picked;
    for (std::size_t sibling = 0; sibling < 3; ++sibling) {
        picked.push_back(draft::draw_next(draft::argmax{}, row, context, proposed, spare, after_prefix, sibling));
    }
    BOOST_TEST(picked == (std::vector<token>{1, 2, 0}), boost::test_tools::per_element());
    // Beneath another parent all are there again.
    BOOST_TEST(draft::draw_next(draft::argmax{}, row, context, proposed, spare, 1, 0) == 1);
    BOOST_TEST(proposed.parent(3) == 1);
}

BOOST_FIXTURE_TEST_CASE(at_a_node_the_prefix_is_the_path_to_it, fixture) {
    proposal<point_mass> proposed;
    proposed.push(0, after_prefix);
    proposed.push(2, after_prefix);
    proposed.push(1, 0);
    proposed.push(2, 1);
    const auto tokens_at = [&](std::int32_t node) {
        const draft::at_node path(context, proposed, node);
        const auto tokens = context.prefix().tokens();
        return std::vector<token>(tokens.begin(), tokens.end());
    };
    BOOST_TEST(tokens_at(after_prefix) == (std::vector<token>{1}), boost::test_tools::per_element());
    BOOST_TEST(tokens_at(1) == (std::vector<token>{1, 2}), boost::test_tools::per_element());
    BOOST_TEST(tokens_at(2) == (std::vector<token>{1, 0, 1}), boost::test_tools::per_element());
    BOOST_TEST(tokens_at(3) == (std::vector<token>{1, 2, 2}), boost::test_tools::per_element());
    BOOST_TEST(before.size() == 1u);
    BOOST_TEST(before.counts().size() == 1u);
}

/// A drafter that keeps its source and its token selector, and nothing else.
template <class Source, class TokenSelector>
struct kind {
    Source source;
    TokenSelector token_selector;
    kind(Source from, TokenSelector by) : source(std::forward<Source>(from)), token_selector(by) {}
};

static_assert(draft::AwaitsSelector<draft::awaiting_selector<kind, int&>> && !draft::AwaitsSelector<int>);

BOOST_AUTO_TEST_CASE(what_awaits_its_selector_refers_to_lvalues_and_gives_rvalues_away) {
    int lying = 0;
    const draft::awaiting_selector<kind, int&> referring(lying);
    BOOST_TEST(&referring.with_selector(draft::argmax{}).source == &lying);
    draft::awaiting_selector<kind, std::unique_ptr<int>> keeping(std::make_unique<int>(7));
    const auto drawing = std::move(keeping).with_selector(draft::sampled{});
    static_assert(std::is_same_v<decltype(drawing.token_selector), draft::sampled>);
    BOOST_TEST(*drawing.source == 7);
}

BOOST_AUTO_TEST_SUITE_END()
