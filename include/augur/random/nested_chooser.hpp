#pragma once
// The random streams of a stage inside another.

#include <cstddef>
#include <cstdint>

#include "augur/random/chooser.hpp"

namespace augur {

/// The same chooser with keys of its own: purposes of an inner stage are none of the outer one's, level by level. The
/// noise of a race belongs to the position alone, and is shared by all levels.
template <Chooser C>
class nested_chooser {
 public:
    explicit nested_chooser(C& outer) : outer_(&outer) {}

    std::size_t choose(const Weights auto& weights, draw_key key) { return outer_->choose(weights, inner(key)); }
    bool flip(double probability, draw_key key) { return outer_->flip(probability, inner(key)); }
    std::size_t exponential_race(const Weights auto& weights, std::size_t position) {
        return outer_->exponential_race(weights, position);
    }

    C& outer() const { return *outer_; }

 private:
    static constexpr std::uint32_t purposes = 4;
    static_assert(static_cast<std::uint32_t>(purpose::correction) < purposes);

    static draw_key inner(draw_key key) {
        key.why = static_cast<purpose>(static_cast<std::uint32_t>(key.why) + purposes);
        return key;
    }

    C* outer_;
};

/// The chooser that all levels share.
template <Chooser C>
C& outermost(C& chooser) {
    return chooser;
}
template <Chooser C>
auto& outermost(nested_chooser<C>& chooser) {
    return outermost(chooser.outer());
}

}  // namespace augur
