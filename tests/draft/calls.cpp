#include "augur/draft/calls.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_calls)

/// Has what every drafter has, and notes what is called.
struct bare {
    using draft_distribution_type = point_mass;
    using state_type = std::string;

    state_type make_state() const { return {}; }
    void propose(state_type& state, auto&, proposal<point_mass>& out) const {
        state += 'p';
        out.push(1);
    }
    void on_commit(state_type& state, const prefix&) const { state += 'c'; }
};

struct full : bare {
    static constexpr std::size_t stages = 1;

    void prepare(state_type& state, const prefix&) const { state += 'r'; }
    void abandon(state_type& state) const { state += 'a'; }
    void report(const state_type& state, std::span<stage_statistics> counts) const { counts[0].drafted = state.size(); }
    void check(const transform::settings& chosen) const {
        if (chosen.top_k.k != 0) augur::detail::fail("full: top_k is ", chosen.top_k.k);
    }
};

template <class D>
std::string called(const D& drafter) {
    auto state = drafter.make_state();
    prefix text(std::vector<token>{3});
    const transform::pipeline transform({}, 4);
    random::philox_chooser chooser(1);
    const policy::fixed_length policy{1};
    draft::context context(text, transform, chooser, policy, {}, 1);
    draft::prepare(drafter, state, text);
    proposal<point_mass> proposed;
    proposed.push(2);
    draft::propose(drafter, state, context, proposed);
    BOOST_TEST(proposed.size() == 1u);  // in place of what it held
    BOOST_TEST(draft::propose(drafter, state, context).size() == 1u);
    draft::abandon(drafter, state);
    draft::on_commit(drafter, state, text, 0);
    return state;
}

BOOST_AUTO_TEST_CASE(optional_members_are_called_where_there_are_some) {
    BOOST_TEST(called(bare{}) == "ppc");
    BOOST_TEST(called(full{}) == "rppac");
    static_assert(draft::stages_in<bare> == 0 && draft::stages_in<full> == 1);
    std::vector<stage_statistics> counts(1);
    draft::report(full{}, "abc", counts);
    BOOST_TEST(counts[0].drafted == 3u);
    draft::check(bare{}, {.top_k = {2}});
    BOOST_CHECK_EXCEPTION(draft::check(full{}, {.top_k = {2}}), error,
                          [](const error& e) { return std::string(e.what()) == "full: top_k is 2"; });
}

BOOST_AUTO_TEST_CASE(a_target_is_lent_to_those_who_draft_in_it) {
    int target = 0;
    static_assert(std::is_same_v<decltype(draft::lent<bare>(target)), draft::no_target*>);
    BOOST_TEST((draft::lent<bare>(target) == nullptr));
}

BOOST_AUTO_TEST_SUITE_END()
