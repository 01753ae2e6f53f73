#pragma once
// Several sequences of a resident_mock: rows made by one kernel of what each has cached.

#include <cstddef>
#include <cstdint>

#include "augur/decode/device/loop_group.hpp"
#include "decode/device/resident_mock.hpp"

namespace resident_mock {

struct make_rows_of_texts {
    static constexpr unsigned threads = 64;

    law by;
    const augur::decode::device::text_place* texts;
    std::size_t size, count, vocabulary, stride;
    token* caches;
    float* logits;
    std::uint32_t* passes;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            if (thread != 0) return;
            ++*passes;
            for (std::size_t i = 0; i < size * count; ++i) {
                const auto& of = texts[i / count];
                const std::size_t at = *of.first + i % count;
                caches[i / count * stride + at] = of.text[at];
            }
        });
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < size * count * vocabulary; i += threads) {
                const std::size_t row = i / vocabulary, number = row / count;
                logits[i] = by.logit(caches + number * stride, *texts[number].first + row % count + 1, i % vocabulary);
            }
        });
    }
};

/// Models ResidentGroup.
class group {
 public:
    static constexpr bool bitwise_rows = true;

    group(law by, std::size_t size, std::size_t vocabulary, std::size_t capacity, std::size_t most_rows,
          device::emulated_system on = {})
        : law_(by),
          size_(size),
          vocabulary_(vocabulary),
          capacity_(capacity),
          most_rows_(most_rows),
          on_(on),
          caches_(on, size * stride()),
          logits_(on, size * most_rows * vocabulary),
          passes_(on, 1) {
        on.clear(passes_.data(), passes_.memory_bytes());
    }

    const device::emulated_system& system() const { return on_; }
    std::size_t size() const { return size_; }
    std::size_t vocabulary_size() const { return vocabulary_; }
    std::size_t capacity() const { return capacity_; }
    std::size_t most_rows() const { return most_rows_; }
    const float* logits() const { return logits_.data(); }
    void launch(const augur::decode::device::text_place* texts, std::size_t count) const {
        on_.launch(1, make_rows_of_texts{law_, texts, size_, count, vocabulary_, stride(), caches_.data(),
                                         logits_.data(), passes_.data()});
    }
    void fill(std::size_t number, const token* text, std::size_t count) const {
        on_.copy(caches_.data() + number * stride(), text, count * sizeof(token));
    }
    /// Launches since this was asked.
    std::uint32_t passes() const {
        const std::uint32_t so_far = passes_.on_host().front();
        on_.clear(passes_.data(), passes_.memory_bytes());
        return so_far;
    }

 private:
    std::size_t stride() const { return capacity_ + most_rows_; }

    law law_;
    std::size_t size_, vocabulary_, capacity_, most_rows_;
    device::emulated_system on_;
    device::buffer<token, device::emulated_system> caches_;
    device::buffer<float, device::emulated_system> logits_;
    device::buffer<std::uint32_t, device::emulated_system> passes_;
};
static_assert(augur::decode::device::ResidentGroup<group>);

}  // namespace resident_mock
