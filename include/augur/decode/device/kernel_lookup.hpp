#pragma once
// The prompt_lookup drafter for on-device decoding: searches the tokens in device memory.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <ostream>

#include "augur/backend/device/round.hpp"
#include "augur/backend/device/scan_rows.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/decode/device/loop_drafter.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/draft/prompt_lookup.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

using namespace backend::device;  // what kernels are made of

/// A place in a text, and how many of the tokens before it are those that end the text.
struct text_match {
    std::uint32_t length = 0;
    std::uint32_t place = 0;
};

/// The longer match; of two, the later one.
struct join_matches {
    AUGUR_HOST_DEVICE text_match operator()(const text_match& a, const text_match& b) const {
        return b.length > a.length || (b.length == a.length && b.place > a.place) ? b : a;
    }
};

/// Kernel: what draft::prompt_lookup does with the committed tokens. One block. Cost: a look at every token of the text
/// for each place found, at most prompt_lookup::votes of them, and one more.
template <class State>
struct look_up {
    static constexpr unsigned threads = 256;

    State* state;
    token* text;
    std::uint32_t min_n, max_n;

    static constexpr std::size_t shared_bytes() { return threads * sizeof(text_match); }

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        State s = *state;
        team.each([](unsigned) {});  // until all have read it
        if (s.asks.wanted() == 0) return;
        std::uint32_t places[votes] = {}, found = 0;
        text_match best = best_before(team, s.length, s.length);
        const std::uint32_t length = best.length;
        while (best.length == length && length >= min_n && found < votes) {
            places[found++] = best.place;
            best = best_before(team, s.length, best.place);
        }
        if (found == 0) return;
        s.asks.see_match(s.policy, length);
        s.drafted = static_cast<std::uint32_t>(s.asks.wanted());
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            std::uint32_t left[votes] = {}, count = found;
            for (std::uint32_t i = 0; i < found; ++i) left[i] = places[i];
            for (std::uint32_t i = 0; i < s.drafted; ++i) text[s.length + i] = elected(left, count, i);
            *state = s;
        });
    }

 private:
    static constexpr std::uint32_t votes = draft::prompt_lookup<>::votes;

    /// Of the places that something follows, below `end`.
    template <class Team>
    AUGUR_KERNEL text_match best_before(const Team& team, std::uint32_t size, std::uint32_t end) const {
        text_match* const slots = team.template shared<text_match>();
        team.each([&](unsigned thread) {
            text_match mine;
            for (std::uint32_t place = thread == 0 ? threads : thread; place < end; place += threads) {
                mine = join_matches{}(mine, {matching(size, place), place});
            }
            slots[thread] = mine;
        });
        return combined(team, slots, join_matches{});
    }

    AUGUR_KERNEL std::uint32_t matching(std::uint32_t size, std::uint32_t place) const {
        std::uint32_t n = 0;
        while (n < max_n && n < place && text[place - 1 - n] == text[size - 1 - n]) ++n;
        return n;
    }

    /// The token that followed most often after `drafted` others; only the places where it did are left. What is read
    /// past the end of the text is the draft itself, which stands there.
    AUGUR_KERNEL token elected(std::uint32_t* places, std::uint32_t& count, std::uint32_t drafted) const {
        token followers[votes] = {}, best = no_token;
        for (std::uint32_t i = 0; i < count; ++i) followers[i] = text[places[i] + drafted];
        std::uint32_t most = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            std::uint32_t agreeing = 0;
            for (std::uint32_t j = 0; j < count; ++j) agreeing += followers[j] == followers[i] ? 1 : 0;
            if (agreeing <= most) continue;
            most = agreeing;
            best = followers[i];
        }
        std::uint32_t left = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            if (followers[i] == best) places[left++] = places[i];
        }
        count = left;
        return best;
    }
};

/// Models LoopDrafter: one launch a round, and no memory.
template <class View>
class draft_by_lookup {
 public:
    static constexpr signals shown = signals::match_length;

    template <class Named, class Target>
    draft_by_lookup(const Named& named, const Target&, const loop_sizes&)
        : min_n_(static_cast<std::uint32_t>(named.settings().min_n())),
          max_n_(static_cast<std::uint32_t>(named.settings().max_n())) {}

    static constexpr std::size_t capacity() { return std::numeric_limits<std::size_t>::max(); }
    void start(const token*, std::size_t) const {}
    void launch(const View& in) const {
        in.on.launch(1, look_up<typename View::state_type>{in.state, in.text, min_n_, max_n_});
    }
    static certain_chain chain(const token* text) { return {text}; }

 private:
    std::uint32_t min_n_, max_n_;
};

/// draft::prompt_lookup in a speculation_loop: the same tokens, found by a kernel in the text that lies in the device's
/// memory.
/// Effect on the distribution: none. Randomness: none. Cost: look_up's; no model.
/// Source: Saxena 2023, "Prompt lookup decoding"; Yang et al. 2023, "Inference with reference".
class kernel_lookup {
 public:
    template <class View, class TokenSelector, class Target>
    using in_loop = draft_by_lookup<View>;

    explicit kernel_lookup(const draft::prompt_lookup<>& of = draft::prompt_lookup()) : settings_(of) {}

    const draft::prompt_lookup<>& settings() const { return settings_; }

    friend bool operator==(const kernel_lookup&, const kernel_lookup&) = default;
    friend std::ostream& operator<<(std::ostream& out, const kernel_lookup& d) {
        return out << "kernel_lookup{" << d.settings_ << '}';
    }

 private:
    draft::prompt_lookup<> settings_;
};

}  // namespace augur::decode::device
