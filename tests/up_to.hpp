#pragma once
// Options of decoding, as most tests want them.

#include <cstddef>

#include "augur/decode/generate.hpp"

namespace augur::testing {

/// At most so many tokens, at this temperature.
inline decode::options up_to(std::size_t tokens, float temperature = 1) {
    decode::options chosen;
    chosen.stop.max_tokens = tokens;
    chosen.sampling.temperature.value = temperature;
    return chosen;
}

}  // namespace augur::testing
