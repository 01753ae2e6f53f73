#pragma once
// An exit head for tests.

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include "augur/draft/exit_head.hpp"

namespace augur::testing {

/// On the states of a pass_mock: its own row, changed by `noise` times something that depends on the state and the
/// token; only the first `kept` tokens have a logit.
struct exit_mock {
    std::size_t vocabulary, after = 1, layers = 4;
    float noise = 1;
    std::size_t kept = vocabulary;

    std::size_t layer() const { return after; }
    std::size_t vocabulary_size() const { return vocabulary; }
    std::size_t hidden_size() const { return vocabulary; }
    void row(std::span<const float> hidden, std::span<float> out) const {
        for (std::size_t i = 0; i < vocabulary; ++i) {
            const float own = hidden[(i + layers - after) % vocabulary];
            out[i] = i < kept ? own + noise * std::sin(5 * own + 3 * static_cast<float>(i))
                              : -std::numeric_limits<float>::infinity();
        }
    }
};
static_assert(draft::ExitHead<exit_mock>);

}  // namespace augur::testing
