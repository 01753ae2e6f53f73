#pragma once
// Records the keys that a chooser was asked for, and refuses one that is asked for twice.

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "augur/random/words_of.hpp"
#include "augur/types/draw_key.hpp"
#include "augur/types/error.hpp"

namespace augur::testing {

/// "position 3, node 0, sibling 0, purpose accept, round 1"; a stage inside others adds "of level 2" to the purpose
/// (random/nested_chooser.hpp).
struct described_key {
    draw_key key;

    friend std::ostream& operator<<(std::ostream& out, const described_key& d) {
        constexpr std::string_view names[] = {"race", "draft", "accept", "correction"};
        const auto why = static_cast<std::uint32_t>(d.key.why);
        out << "position " << d.key.position << ", node " << d.key.node << ", sibling " << d.key.sibling;
        out << ", purpose " << names[why % std::size(names)];
        if (why >= std::size(names)) out << " of level " << why / std::size(names);
        return out << ", round " << d.key.round;
    }
};

/// One question to a chooser.
struct asked_name {
    enum class question { choose, flip, race };

    draw_key key{};
    question what = question::choose;
    std::size_t among = 0;   ///< weights, of a choice or a race
    double probability = 0;  ///< of true, of a coin

    static asked_name choice(draw_key key, std::size_t among) { return {key, question::choose, among, 0}; }
    static asked_name coin(draw_key key, double probability) { return {key, question::flip, 2, probability}; }
    static asked_name exponential_race(std::size_t position, std::size_t among) {
        return {{position, purpose::exponential_race, 0}, question::race, among, 0};
    }

    /// Whether the production generator would answer both with the same number. Races of one position share their noise
    /// on purpose, and are no such pair.
    bool shares_number_with(const asked_name& other) const {
        if (what == question::race && other.what == question::race) return false;
        return random::counter_of(key, 0) == random::counter_of(other.key, 0);
    }

    friend std::ostream& operator<<(std::ostream& out, const asked_name& asked) {
        if (asked.what == question::flip) return out << "flip(" << asked.probability << ')';
        return out << (asked.what == question::race ? "race" : "choose") << " among " << asked.among << " weights";
    }
};

/// Throws augur::error: the second question has the name of the first, or one that the generator cannot tell from it.
[[noreturn]] inline void refuse_second_question(const asked_name& first, const asked_name& second) {
    const std::string other = first.key == second.key ? "" : augur::detail::message(" at ", described_key{first.key});
    augur::detail::fail("the random number of ", described_key{second.key}, " is asked for twice: first by ", first,
                        other, ", then by ", second,
                        "; in production both are one number, so give one of them another purpose or round, or in a "
                        "tree another node or sibling");
}

}  // namespace augur::testing
