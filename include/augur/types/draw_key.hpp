#pragma once
// The keys of random numbers: a number is named by its purpose and position, not by how many were drawn before it.

#include <cstddef>
#include <cstdint>

namespace augur {

/// The purpose of a random number. Different purposes at one position are independent.
enum class purpose : std::uint32_t { exponential_race, draft, accept, correction };

/// Names a random number. `round` separates attempts at the same position: a drafted token that was thrown away must
/// not determine a later one. Noise that has to be shared between models and rounds is keyed with round 0. `node`
/// separates the parents of a tree that have one depth (parents::aside), `sibling` the children of one parent. Both are
/// 0 in a chain, and in races: their noise belongs to the position.
struct draw_key {
    std::size_t position = 0;
    purpose why = purpose::exponential_race;
    std::size_t round = 0;
    std::size_t node = 0;
    std::size_t sibling = 0;
    friend bool operator==(const draw_key&, const draw_key&) = default;
};

}  // namespace augur
