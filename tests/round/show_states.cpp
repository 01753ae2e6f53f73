#include "augur/round/show_states.hpp"

#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(round_show_states)

/// Keeps every state that it is shown, in order.
struct keeper {
    using state_type = std::vector<std::vector<float>>;

    void on_commit(state_type& state, const prefix& committed, const auto& states) const {
        BOOST_TEST_REQUIRE(states.first() == state.size());
        BOOST_TEST(states.first() + states.size() < committed.size());
        for (std::size_t i = 0; i < states.size(); ++i) state.emplace_back(states[i].begin(), states[i].end());
    }
};

/// Of all tokens but the last, each once, whatever was drafted after them.
BOOST_AUTO_TEST_CASE(each_committed_token_is_shown_once) {
    const auto source = testing::hashed_model(6, 1);
    const testing::hidden_state_mock model(source);
    model::cached_sequence cache(model);
    keeper::state_type seen;
    std::size_t shown = 0;
    const std::vector<token> text{1, 2, 3, 4, 5, 0, 2};
    for (const std::size_t length : {3u, 4u, 7u}) {
        std::vector<token> tokens = text;
        tokens.resize(length);
        rounds::show_states(cache, keeper{}, seen, prefix(tokens), shown);
        BOOST_TEST(shown == length - 1);
        BOOST_TEST(seen.size() == length - 1);
        tokens.insert(tokens.end(), {5, 5});  // drafted, and not committed
        cache.score(prefix(tokens).tokens(), 1);
    }
    std::vector<float> row(6);
    for (std::size_t i = 0; i < seen.size(); ++i) {
        source.fill_row(std::span(text).first(i + 1), row);
        BOOST_TEST(seen[i] == row, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
