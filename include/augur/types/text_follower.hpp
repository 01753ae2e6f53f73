#pragma once
// Tracks how far a copy of a prefix agrees with it, without rereading what both have had for long.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// How many tokens both begin with. Whole blocks are compared as memory.
inline std::size_t shared_length(std::span<const token> a, std::span<const token> b) {
    constexpr std::size_t block = 64;
    const std::size_t most = std::min(a.size(), b.size());
    std::size_t same = 0;
    while (most - same >= block && std::memcmp(a.data() + same, b.data() + same, block * sizeof(token)) == 0)
        same += block;
    while (same < most && a[same] == b[same]) ++same;
    return same;
}

/// Beside a copy of a prefix's tokens: remembers how many of the settled ones it has found equal. Those of another
/// prefix, or of none, are compared from the start. Cost: that of the tokens since the last commit. The result never
/// depends on what it remembers.
class text_follower {
 public:
    /// shared_length(held, tokens). Since the call before `held` has only grown, but for what cut() was told.
    std::size_t shared(std::span<const token> held, const prefix_tokens& tokens) {
        if (tokens.text() != text_) agreed_ = 0;
        const std::size_t sure = std::min({agreed_, held.size(), tokens.size()});
        const std::size_t same = sure + shared_length(held.subspan(sure), tokens.subspan(sure));
        text_ = tokens.text();
        if (text_ != 0) agreed_ = std::max(agreed_, std::min(same, tokens.settled()));
        return same;
    }
    /// No more than so many tokens are held.
    void cut(std::size_t length) { agreed_ = std::min(agreed_, length); }

 private:
    std::uint64_t text_ = 0;
    std::size_t agreed_ = 0;
};

}  // namespace augur
