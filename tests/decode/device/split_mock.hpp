#pragma once
// A resident model whose layers are launched in two parts, and a head on its states: numbers are hashed from states
// alone, which are made of what the first part cached.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "decode/device/resident_mock.hpp"

namespace resident_mock {

inline constexpr std::size_t state_size = 4;  ///< the last three tokens, and how many there are

AUGUR_HOST_DEVICE inline float logit_of(const law& by, const float* state, std::size_t of) {
    const auto count = static_cast<std::size_t>(state[3]);
    token before[3] = {};
    const std::size_t shown = count < 3 ? count : 3;
    for (std::size_t i = 0; i < shown; ++i) before[i] = static_cast<token>(state[shown - 1 - i]);
    if (count == by.invalid && of == 3) return std::numeric_limits<float>::quiet_NaN();
    return by.logit(before, shown, of);
}

struct make_state {
    static constexpr unsigned threads = 32;

    const token* text;
    const std::uint32_t *at, *from;
    token* cache;
    std::uint32_t* taken;  ///< tokens that went through the first part
    float *state, *kept;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            ++*taken;
            cache[*at] = text[*at];
            for (std::uint32_t i = 0; i < 3; ++i) state[i] = i <= *at ? static_cast<float>(cache[*at - i]) : 0;
            state[3] = static_cast<float>(*at + 1);
            for (std::size_t i = 0; i < state_size; ++i) kept[(*at - *from) * state_size + i] = state[i];
        });
    }
};

struct make_rows_of_states {
    static constexpr unsigned threads = 64;

    law by;
    const float* states;
    std::size_t count, vocabulary;
    float* logits;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < count * vocabulary; i += threads) {
                logits[i] = logit_of(by, states + i / vocabulary * state_size, i % vocabulary);
            }
        });
    }
};

/// Models ResidentSplitModel.
template <device::System S>
class split_model_on : public model_on<S> {
 public:
    split_model_on(law by, std::size_t vocabulary, std::size_t capacity, std::size_t most_rows, S on = {})
        : model_on<S>(by, vocabulary, capacity, most_rows, on),
          law_(by),
          shallow_(on, capacity + most_rows),
          taken_(on, 1),
          state_(on, state_size),
          kept_(on, most_rows * state_size),
          logits_(on, most_rows * vocabulary) {
        on.clear(kept_.data(), kept_.memory_bytes());
        on.clear(taken_.data(), taken_.memory_bytes());
    }

    std::size_t layer_count() const { return 4; }
    std::size_t hidden_size() const { return state_size; }
    const float* state() const { return state_.data(); }
    const float* logits() const { return logits_.data(); }
    void launch_shallow(const token* text, const std::uint32_t* at, const std::uint32_t* from, std::size_t) const {
        this->system().launch(1,
                              make_state{text, at, from, shallow_.data(), taken_.data(), state_.data(), kept_.data()});
    }
    void launch_deep(const token*, const std::uint32_t*, std::size_t count, std::size_t) const {
        this->system().launch(1,
                              make_rows_of_states{law_, kept_.data(), count, this->vocabulary_size(), logits_.data()});
    }
    /// Of whole launches the first part caches what it takes, too.
    void fill(const token* text, std::size_t count) const {
        this->system().copy(shallow_.data(), text, count * sizeof(token));
    }
    void launch(const token*, const std::uint32_t*, std::size_t, std::size_t) const {
        augur::detail::fail("a whole pass of a model that is to be launched in two parts");
    }
    /// Tokens that went through the first part since this was asked.
    std::uint32_t taken() const {
        const std::uint32_t so_far = taken_.on_host().front();
        this->system().clear(taken_.data(), taken_.memory_bytes());
        return so_far;
    }

 private:
    law law_;
    device::buffer<token, S> shallow_;
    device::buffer<std::uint32_t, S> taken_;
    device::buffer<float, S> state_, kept_, logits_;
};

/// Models ResidentHead.
class head {
 public:
    head(law by, std::size_t vocabulary, std::size_t layer = 1, std::size_t hidden = state_size,
         device::emulated_system on = {})
        : law_(by), vocabulary_(vocabulary), layer_(layer), hidden_(hidden), on_(on), logits_(on, vocabulary) {}

    std::size_t layer() const { return layer_; }
    std::size_t vocabulary_size() const { return vocabulary_; }
    std::size_t hidden_size() const { return hidden_; }
    void launch(const float* state) const {
        on_.launch(1, make_rows_of_states{law_, state, 1, vocabulary_, logits_.data()});
    }
    const float* logits() const { return logits_.data(); }

 private:
    law law_;
    std::size_t vocabulary_, layer_, hidden_;
    device::emulated_system on_;
    device::buffer<float, device::emulated_system> logits_;
};

using split_model = split_model_on<device::emulated_system>;

}  // namespace resident_mock
