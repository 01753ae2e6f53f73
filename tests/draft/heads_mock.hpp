#pragma once
// Draft heads for tests.

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <vector>

#include "augur/testing/models.hpp"
#include "augur/types/scores.hpp"

namespace augur::testing {

/// Rows that depend on the state and the head, and on the tokens if it sees them, as Hydra's do.
struct heads_mock {
    struct workspace_type {
        std::vector<float> row;
    };
    function_model rows;
    bool sees_tokens = true;
    std::size_t count = 3;

    std::size_t vocabulary_size() const { return rows.vocabulary_size(); }
    std::size_t hidden_size() const { return rows.vocabulary_size(); }
    std::size_t head_count() const { return count; }
    bool see_tokens() const { return sees_tokens; }
    workspace_type make_workspace() const { return {}; }
    logit_row row(workspace_type& workspace, std::span<const float> state, std::span<const token> tokens,
                  std::size_t head) const {
        BOOST_TEST_REQUIRE(tokens.size() == head + 1);
        std::vector<token> seen{static_cast<token>(head)};
        if (sees_tokens) seen.insert(seen.end(), tokens.begin(), tokens.end());
        workspace.row.resize(vocabulary_size());
        rows.fill_row(seen, workspace.row);
        for (std::size_t i = 0; i < state.size(); ++i) workspace.row[i] += state[state.size() - 1 - i] / 2;
        return workspace.row;
    }
};

}  // namespace augur::testing
