#pragma once
// A head for tests that attends to all positions before.

#include <cstddef>
#include <span>
#include <vector>

#include "augur/draft/exit_head.hpp"
#include "draft/exit_mock.hpp"

namespace augur::testing {

/// On the states of a pass_mock: the row of an exit_mock, changed by what all positions before had in their first
/// place, the earlier the less.
struct attending_mock {
    exit_mock exit;

    struct sequence_type {
        std::vector<float> states;
    };

    std::size_t layer() const { return exit.layer(); }
    std::size_t vocabulary_size() const { return exit.vocabulary_size(); }
    std::size_t hidden_size() const { return exit.hidden_size(); }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& of) const { return of.states.size() / hidden_size(); }
    void truncate(sequence_type& of, std::size_t length) const { of.states.resize(length * hidden_size()); }
    void append(sequence_type& to, std::span<const float> states) const {
        to.states.insert(to.states.end(), states.begin(), states.end());
    }
    std::span<const float> states(const sequence_type& of) const { return of.states; }
    void row(sequence_type& of, std::span<float> out) const {
        exit.row(std::span(of.states).last(hidden_size()), out);
        float before = 0;
        for (std::size_t at = 0; at < of.states.size(); at += hidden_size()) before = (before + of.states[at]) / 2;
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += before * static_cast<float>(i);
    }
};
static_assert(draft::AttendingHead<attending_mock> && !draft::AttendingHead<exit_mock>);

}  // namespace augur::testing
