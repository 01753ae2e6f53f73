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

BOOST_FIXTURE_TEST_CASE(a_claim_of_a_distribution_keeps_the_row_that_the_token_was_drawn_from, fixture) {
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

/// A drafter that keeps its source and its drawing, and nothing else.
template <class Source, class Drawing>
struct kind {
    Source source;
    Drawing drawing;
    kind(Source from, Drawing by) : source(std::forward<Source>(from)), drawing(by) {}
};

static_assert(draft::Undrawn<draft::undrawn<kind, int&>> && !draft::Undrawn<int>);

BOOST_AUTO_TEST_CASE(what_awaits_its_drawing_refers_to_lvalues_and_gives_rvalues_away) {
    int lying = 0;
    const draft::undrawn<kind, int&> referring(lying);
    BOOST_TEST(&referring.drawn_by(draft::argmax{}).source == &lying);
    draft::undrawn<kind, std::unique_ptr<int>> keeping(std::make_unique<int>(7));
    const auto made = std::move(keeping).drawn_by(draft::sampled{});
    static_assert(std::is_same_v<decltype(made.drawing), draft::sampled>);
    BOOST_TEST(*made.source == 7);
}

BOOST_AUTO_TEST_SUITE_END()
