#pragma once
// Hidden states of whole sequences, for heads that attend to earlier positions.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "augur/draft/own_sequence.hpp"
#include "augur/random/philox.hpp"
#include "augur/train/replay.hpp"
#include "augur/train/trainable.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// The last texts that were shown, with at most `most` positions together; the oldest gives way as a whole, and of a
/// text that is longer alone its beginning is kept.
/// Memory: width floats a position.
class sequence_states {
 public:
    sequence_states(std::size_t width, std::size_t most) : width_(width), most_(most) {}

    std::size_t positions() const { return positions_; }
    std::size_t sequences() const { return kept_.size(); }

    /// Positions [0, count) of a text; those before `sure` are what they were when it was shown before.
    void show(const draft::shown_sequence& of, std::size_t sure, std::size_t count) {
        if (of.states.size() < count * width_) {
            detail::fail("sequence_states: ", count, " positions of ", width_, " numbers were announced, not ",
                         of.states.size());
        }
        auto found =
            std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return each.number == of.number; });
        if (found == kept_.end()) {
            kept_.push_back({of.number, {}});
            found = kept_.end() - 1;
        }
        std::vector<float>& states = found->states;
        positions_ -= states.size() / width_;
        states.resize(std::min(states.size(), sure * width_));
        const std::size_t held = states.size(), end = std::max(held, std::min(count, most_) * width_);
        states.insert(states.end(), of.states.begin() + static_cast<std::ptrdiff_t>(held),
                      of.states.begin() + static_cast<std::ptrdiff_t>(end));
        positions_ += end / width_;
        while (positions_ > most_) forget_one(of.number);
    }

    /// States up to and with a position of a text; none where it is not held.
    std::span<const float> until(std::uint64_t number, std::size_t position) const {
        for (const kept& each : kept_) {
            if (each.number != number || each.states.size() < (position + 1) * width_) continue;
            return std::span(each.states).first((position + 1) * width_);
        }
        return {};
    }

 private:
    struct kept {
        std::uint64_t number;
        std::vector<float> states;
    };

    void forget_one(std::uint64_t but) {
        const auto first =
            std::find_if(kept_.begin(), kept_.end(), [&](const auto& each) { return each.number != but; });
        positions_ -= first->states.size() / width_;
        kept_.erase(first);
    }

    std::size_t width_, most_, positions_ = 0;
    std::deque<kept> kept_;
};

/// So many texts at most are in one batch, for each has to be gone through as a whole.
inline constexpr std::size_t sequences_of_a_batch = 4;

/// `count` slots for an update, with replacement, of positions whose texts are held, from as many texts as are allowed:
/// those of the first slots that the ring draws. None where these texts are gone. The same of equal rings and texts.
inline std::vector<std::size_t> draw_with_sequences(const replay& from, const sequence_states& sequences,
                                                    std::size_t count, std::size_t update, std::size_t warm_up) {
    std::vector<std::uint64_t> chosen;
    for (const std::size_t slot : from.draw(std::min(count, sequences_of_a_batch), update, warm_up)) {
        chosen.push_back(from[slot].sequence);
    }
    std::vector<std::size_t> among, slots;
    for (std::size_t slot = 0; slot < from.size(); ++slot) {
        const kept_sample of = from[slot];
        const bool is_chosen = std::find(chosen.begin(), chosen.end(), of.sequence) != chosen.end();
        if (!is_chosen || !from.may_draw(slot, update, warm_up)) continue;
        if (!sequences.until(of.sequence, of.position - 1).empty()) among.push_back(slot);
    }
    if (among.empty()) return slots;
    const std::uint64_t seed = from.options().seed;
    const random::philox_key key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
    for (std::size_t i = 0; i < count; ++i) {
        const auto words = random::philox4x32({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(update),
                                               static_cast<std::uint32_t>(update >> 32), 2},
                                              key);
        slots.push_back(among[static_cast<std::size_t>(random::unit_interval(words[0], words[1]) *
                                                       static_cast<double>(among.size()))]);
    }
    return slots;
}

/// Adds what these positions attend to. Each text is copied once, as far as it is needed.
inline void ask_with_sequences(const replay& from, std::span<const std::size_t> slots, const sequence_states& sequences,
                               asked_rows& asked) {
    std::vector<std::uint64_t> numbers;
    for (const std::size_t slot : slots) {
        const kept_sample of = from[slot];
        const auto at =
            static_cast<std::size_t>(std::find(numbers.begin(), numbers.end(), of.sequence) - numbers.begin());
        if (at == numbers.size()) {
            numbers.push_back(of.sequence);
            asked.sequences.emplace_back();
        }
        const std::span<const float> states = sequences.until(of.sequence, of.position - 1);
        std::vector<float>& copy = asked.sequences[at];
        if (copy.size() < states.size()) copy.assign(states.begin(), states.end());
        asked.sequence.push_back(at);
        asked.position.push_back(of.position - 1);
    }
}

}  // namespace augur::train
