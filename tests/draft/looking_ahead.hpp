#pragma once
// A policy that looks ahead, and what a drafter of trees has to show it.

#include <algorithm>
#include <augur/decode/step.hpp>
#include <augur/measure/entropy.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/compare_proposals.hpp>
#include <augur/types/observation.hpp>
#include <augur/types/topology.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <vector>

namespace augur::testing {

/// Looks at some rows of the greedy chain, and notes what it sees when it is asked.
struct looking_ahead {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    static constexpr draft_shape plans = draft_shape::tree;
    const augur::topology* answer;
    std::vector<observation>* asked;
    std::size_t rows = 3;
    draft_plan plan(const observation& seen) const {
        asked->push_back(seen);
        return {.tree = answer, .look = rows};
    }
};

/// In every round it is asked with the first row, and then once more, with the path value of `row_after(text, path)`
/// along the best tokens, of which there are at least `rows`; and the nodes are those that a policy gets which does not
/// look ahead. `scheme_of(policy)`: of the drafter.
template <class SchemeOf, class RowAfter>
void is_shown_the_greedy_chain(const SchemeOf& scheme_of, const RowAfter& row_after, const topology& shape,
                               std::size_t rows, float temperature) {
    std::vector<observation> asked;
    const auto looking = scheme_of(looking_ahead{&shape, &asked, rows});
    const auto fixed = scheme_of(policy::tree_static(shape));
    const std::vector<token> prompt{2, 1, 0};
    const auto session_of = [&](const auto& scheme) {
        return decode::session(scheme, prompt, {.temperature = {temperature}}, {.max_tokens = 1000},
                               random::philox_chooser(1));
    };
    auto session = session_of(looking);
    auto other = session_of(fixed);
    for (int round = 0; round < 20; ++round) {
        const std::vector<token> text(session.committed.tokens().begin(), session.committed.tokens().end());
        asked.clear();
        const auto& proposed = decode::step(looking, session).proposed;
        BOOST_TEST(difference(decode::step(fixed, other).proposed, proposed) == "");
        BOOST_TEST_REQUIRE(asked.size() == (rows > 1 ? 2u : 1u));
        BOOST_TEST(asked.back().drafted == rows - 1);
        BOOST_TEST((asked.back().pending == signals::none));
        double product = 1, sum = 0;
        std::vector<token> path;
        for (std::size_t depth = 0; depth < rows; ++depth) {
            const std::vector<float> row = row_after(text, path);
            product *= measure::confidence(measure::moments(row));
            sum += product;
            path.push_back(static_cast<token>(std::max_element(row.begin(), row.end()) - row.begin()));
        }
        BOOST_TEST(asked.back().path_value == product, boost::test_tools::tolerance(1e-6));
        BOOST_TEST(asked.back().path_value_sum == sum, boost::test_tools::tolerance(1e-6));
    }
}

}  // namespace augur::testing
