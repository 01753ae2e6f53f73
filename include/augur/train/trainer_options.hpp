#pragma once
// When a trainer learns, from what, and how much time that may take. See docs/train/trainer.md.

#include <cstddef>
#include <functional>

#include "augur/train/adam_w.hpp"
#include "augur/train/losses.hpp"
#include "augur/train/replay.hpp"

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

}  // namespace augur::train
