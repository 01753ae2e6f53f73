#include "augur/draft/several.hpp"

#include <augur/draft/draft_model.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_several)

using model_drafter = draft::draft_model<testing::function_model, draft::argmax>;

/// A drafter of two that is silent.
struct silent_pair : draft::several<draft::prompt_lookup<>, model_drafter> {
    using draft_distribution_type = point_mass;
    struct state_type {
        std::tuple<draft::prompt_lookup<>::state_type, model_drafter::state_type> drafters;
    };

    explicit silent_pair(model_drafter second)
        : draft::several<draft::prompt_lookup<>, model_drafter>("silent_pair: its drafters", draft::prompt_lookup(),
                                                                std::move(second)) {}
    state_type make_state() const { return {make_states()}; }
    void propose(state_type&, auto& /*context*/, proposal<point_mass>&) const {}
};
static_assert(Drafter<silent_pair> && Prepares<silent_pair> && Abandons<silent_pair> && HearsCommits<silent_pair>);
static_assert(!shows_rows<silent_pair> && !shows_matches<silent_pair> && draft::stages_in<silent_pair> == 0);

BOOST_AUTO_TEST_CASE(it_is_told_and_asked_for_all_of_them) {
    const silent_pair pair(model_drafter(testing::hashed_model(7, 1), {}));
    BOOST_TEST(pair.vocabulary_size() == 7u);
    auto state = pair.make_state();
    draft::prepare(pair, state, prefix(std::vector<token>{1, 2, 3}));
    BOOST_TEST(std::get<0>(state.drafters).index.tokens().size() == 3u);
    BOOST_TEST(std::get<1>(state.drafters).tokens().size() == 2u);
    pair.on_commit(state, prefix(std::vector<token>{1, 6}));
    BOOST_TEST(std::get<1>(state.drafters).tokens().size() == 1u);
}

/// A drafter that reports so many stages of its own.
template <std::size_t Stages>
struct staged {
    using draft_distribution_type = point_mass;
    struct state_type {};
    static constexpr std::size_t stages = Stages;

    state_type make_state() const { return {}; }
    void propose(state_type&, auto& /*context*/, proposal<point_mass>&) const {}
    void on_commit(state_type&, const prefix&) const {}
    void report(const state_type&, std::span<stage_statistics> counts) const {
        BOOST_TEST_REQUIRE(counts.size() == Stages);
        for (std::size_t i = 0; i < Stages; ++i) counts[i].drafted = 10 * Stages + i;
    }
};
static_assert(draft::stages_in<staged<2>> == 2);

struct staged_pair : draft::several<staged<2>, staged<1>> {
    using draft_distribution_type = point_mass;
    struct state_type {
        std::tuple<staged<2>::state_type, staged<1>::state_type> drafters;
    };

    staged_pair() : draft::several<staged<2>, staged<1>>("staged_pair", staged<2>(), staged<1>()) {}
    state_type make_state() const { return {make_states()}; }
    void propose(state_type&, auto& /*context*/, proposal<point_mass>&) const {}
};

BOOST_AUTO_TEST_CASE(stages_inside_are_reported_in_the_order_of_its_drafters) {
    const staged_pair pair;
    BOOST_TEST(draft::stages_in<staged_pair> == 3u);
    std::vector<stage_statistics> counts(3);
    draft::report(pair, pair.make_state(), counts);
    BOOST_TEST(counts[0].drafted == 20u);
    BOOST_TEST(counts[1].drafted == 21u);
    BOOST_TEST(counts[2].drafted == 10u);
}

BOOST_AUTO_TEST_SUITE_END()
