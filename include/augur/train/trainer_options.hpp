#pragma once
// The options of the online trainer: when to train, on what, and within which share of time. See docs/train/trainer.md.

#include <cstddef>
#include <functional>

#include "augur/train/adam_w.hpp"
#include "augur/train/losses.hpp"
#include "augur/train/replay.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

struct trainer_options {
    loss_options losses{};
    adam_w_options steps{};
    replay_options replay{};
    std::size_t batch = 32;           ///< samples of an update
    std::size_t least = 64;           ///< samples before the first
    std::size_t every = 8;            ///< committed tokens between two
    double share = 0.05;              ///< of the decoding time that may go into learning; infinity: unbounded
    bool background = false;          ///< updates are made by a thread of their own
    bool idle = false;                ///< updates are made by catch_up() alone, when nobody waits for a token
    std::function<double()> clock{};  ///< seconds, from any start; none: the wall's
};

/// Throws, with the value, where one is out of its range or two contradict each other.
inline void check(const trainer_options& chosen) {
    const auto positive = [](const char* what, std::size_t value) {
        if (value == 0) detail::fail("trainer: ", what, " is 0; it must be 1 or more");
    };
    positive("batch", chosen.batch);
    positive("least", chosen.least);
    positive("every", chosen.every);
    if (chosen.least > chosen.replay.capacity) {
        detail::fail("trainer: least is ", chosen.least, ", but the ring holds ", chosen.replay.capacity);
    }
    if (chosen.batch > chosen.replay.capacity) {
        detail::fail("trainer: batch is ", chosen.batch, ", but the ring holds ", chosen.replay.capacity);
    }
    if (chosen.idle && chosen.background)
        detail::fail("trainer: with idle, updates are deferred and the background thread has none");
    if (!(chosen.share >= 0)) detail::fail("trainer: share is ", chosen.share, "; it must be 0 or more");
}

}  // namespace augur::train
