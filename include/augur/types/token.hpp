#pragma once
// The token id type.

#include <cstdint>

namespace augur {

/// A vocabulary index. Negative values never name a token; `no_token` marks the absence of one.
using token = std::int32_t;

inline constexpr token no_token = -1;

}  // namespace augur
