#pragma once
// A model of a few lines for loops on a device: rows of hashed numbers, made by a kernel of what it cached, not of the
// text.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "augur/backend/device/send.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/team.hpp"
#include "augur/random/philox.hpp"
#include "augur/testing/models.hpp"
#include "augur/types/token.hpp"

namespace resident_mock {

namespace device = augur::backend::device;
using augur::token;

/// How rows come about: of the last three tokens. `sharp`: how far apart logits are. At `invalid` tokens a NaN is among
/// them.
struct law {
    std::uint32_t seed = 1;
    float sharp = 3;
    std::uint32_t shared = 0;  ///< of 8: how much of it is of `seed`; the rest is common to all seeds
    std::size_t invalid = std::numeric_limits<std::size_t>::max();

    AUGUR_HOST_DEVICE float logit(const token* before, std::size_t count, std::size_t of) const {
        std::uint32_t words[3] = {7, 7, 7};
        for (std::size_t i = 0; i < 3 && i < count; ++i) {
            words[i] = static_cast<std::uint32_t>(before[count - 1 - i]);
        }
        const auto number = [&](std::uint32_t key) {
            const auto bits =
                augur::random::philox4x32({words[0], words[1], words[2], static_cast<std::uint32_t>(of)}, {key, 5});
            return static_cast<float>(bits[0] >> 8) * 0x1.0p-24f;
        };
        if (count == invalid && of == 3) return std::numeric_limits<float>::quiet_NaN();
        const float own = static_cast<float>(shared) / 8;
        return sharp * (own * number(seed) + (1 - own) * number(0));
    }
};

struct make_rows {
    static constexpr unsigned threads = 64;

    law by;
    const token* text;
    const std::uint32_t* first;
    std::size_t count, last, vocabulary;
    token* cache;
    float* logits;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            if (thread == 0) {
                for (std::size_t i = 0; i < count; ++i) cache[*first + i] = text[*first + i];
            }
        });
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < last * vocabulary; i += threads) {
                const std::size_t row = count - last + i / vocabulary;
                logits[i] = by.logit(cache, *first + row + 1, i % vocabulary);
            }
        });
    }
};

/// Models ResidentModel.
template <device::System S>
class model_on {
 public:
    static constexpr bool bitwise_rows = true;

    model_on(law by, std::size_t vocabulary, std::size_t capacity, std::size_t most_rows, S on = {})
        : law_(by),
          vocabulary_(vocabulary),
          capacity_(capacity),
          most_rows_(most_rows),
          on_(on),
          cache_(on, capacity + most_rows),
          logits_(on, most_rows * vocabulary),
          counted_(on, 1) {}

    const S& system() const { return on_; }
    std::size_t vocabulary_size() const { return vocabulary_; }
    std::size_t capacity() const { return capacity_; }
    std::size_t most_rows() const { return most_rows_; }
    const float* logits() const { return logits_.data(); }
    void launch(const token* text, const std::uint32_t* first, std::size_t count, std::size_t last) const {
        on_.launch(1, make_rows{law_, text, first, count, last, vocabulary_, cache_.data(), logits_.data()});
    }
    void fill(const token* text, std::size_t count) const {
        for (std::uint32_t i = 0; i < count; ++i) {
            device::send(on_, counted_.data(), std::span<const std::uint32_t>(&i, 1));
            launch(text, counted_.data(), 1, 0);
        }
    }

    /// The same on the host, as decode::generate takes it.
    augur::testing::function_model on_host() const {
        return {vocabulary_, capacity_, [by = law_](std::span<const token> before, std::span<float> row) {
                    for (std::size_t i = 0; i < row.size(); ++i) row[i] = by.logit(before.data(), before.size(), i);
                }};
    }

 private:
    law law_;
    std::size_t vocabulary_, capacity_, most_rows_;
    S on_;
    device::buffer<token, S> cache_;
    device::buffer<float, S> logits_;
    device::buffer<std::uint32_t, S> counted_;
};

using model = model_on<device::emulated_system>;

}  // namespace resident_mock
