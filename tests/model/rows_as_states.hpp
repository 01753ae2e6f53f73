#pragma once
// Models that show hidden states, but cannot be asked for more of them than they make rows.

#include <augur/model/concepts.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <utility>

/// Its states are the rows of the last run, and no others.
template <class Mock>
struct rows_as_states : Mock {
    explicit rows_as_states(augur::testing::function_model of) : Mock(std::move(of)) {}
    std::size_t hidden_size() const { return this->vocabulary_size(); }
    augur::scores hidden(const typename Mock::sequence_type& s) const {
        return {s.rows.data(), s.rows.size() / this->vocabulary_size(), this->vocabulary_size()};
    }
};
using chains_with_rows = rows_as_states<augur::testing::function_model>;
using trees_with_rows = rows_as_states<augur::testing::tree_mock>;
static_assert(augur::HiddenStateModel<chains_with_rows> && !augur::TreeModel<chains_with_rows>);
static_assert(augur::HiddenStateModel<trees_with_rows> && augur::TreeModel<trees_with_rows>);
static_assert(!augur::PrefillsStates<chains_with_rows> && !augur::PrefillsStates<trees_with_rows>);
