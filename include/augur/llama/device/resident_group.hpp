#pragma once
// Runs a Llama's passes over several sequences in device memory: one launch of every kernel for all of them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/device/send.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/decode/device/loop_group.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/device/cache.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/device/forward.hpp"
#include "augur/llama/device/resident.hpp"
#include "augur/llama/device/rows.hpp"
#include "augur/llama/device/weights.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::llama::device {

/// place_text for `count` rows of each of several texts, text by text.
struct place_texts {
    static constexpr unsigned threads = 64;

    const decode::device::text_place* texts;
    const std::byte* const* const* blocks;  ///< of each text's cache
    std::uint32_t count;
    std::uint32_t all;  ///< rows
    row_place* rows;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            for (std::uint32_t i = thread; i < all; i += threads) {
                const decode::device::text_place& of = texts[i / count];
                const std::uint32_t at = *of.first + i % count;
                row_place place;
                place.blocks = blocks[i / count];
                place.position = place.slot = static_cast<std::int32_t>(at);
                place.id = of.text[at];
                rows[i] = place;
            }
        });
    }
};

/// So many sequences of a model, each as a resident has one. Models ResidentGroup (decode/device/loop_group.hpp): rows
/// are those of device_model, bit for bit, whatever the other sequences hold. The weights are read once for all.
template <class Element, kernels::System S, device_format F = device_format::elements>
class resident_group {
 public:
    static constexpr bool bitwise_rows = true;
    using weights_type = weights_on_device<Element, S, F>;

    /// For `size` texts of at most `capacity` tokens; `most_rows` of each in a launch. Rows of all: at most 64.
    resident_group(const device_model<Element, S, F>& of, std::size_t size, std::size_t capacity, std::size_t most_rows)
        : parts_(std::make_unique<parts>(of.system(), of.configuration(), of.shared_weights())),
          size_(size),
          capacity_(capacity),
          most_rows_(most_rows),
          longest_(capacity + std::max(most_rows, most_rows_of_fill)) {
        const config& c = parts_->settings;
        if (capacity == 0 || capacity > c.context) {
            augur::detail::fail("resident texts of ", capacity, " tokens in a context of ", c.context);
        }
        if (size * most_rows == 0 || size * most_rows > kernels::most_columns) {
            augur::detail::fail("a launch of ", most_rows, " rows of each of ", size, " texts; it takes 1 to ",
                                kernels::most_columns, " in all");
        }
        std::vector<const std::byte* const*> blocks;
        for (std::size_t i = 0; i < size; ++i) {
            parts_->caches.emplace_back(parts_->on, parts_->pass.layout());
            parts_->caches.back().reserve(longest_);
            blocks.push_back(parts_->caches.back().blocks());
        }
        using table = kernels::buffer<const std::byte* const*, S>;
        parts_->blocks = table(parts_->on, std::span<const std::byte* const* const>(blocks));
        parts_->pass.reserve(kernels::most_columns, longest_);
        parts_->logits = kernels::buffer<float, S>(parts_->on, size * most_rows * c.vocabulary);
        parts_->hidden = kernels::buffer<float, S>(parts_->on, size * most_rows * c.width);
    }

    const S& system() const { return parts_->on; }
    std::size_t size() const { return size_; }
    std::size_t vocabulary_size() const { return parts_->settings.vocabulary; }
    const std::string& vocabulary_fingerprint() const { return parts_->settings.vocabulary_fingerprint; }
    std::size_t capacity() const { return capacity_; }
    std::size_t most_rows() const { return most_rows_; }
    std::size_t memory_bytes() const {
        std::size_t total =
            parts_->blocks.memory_bytes() + parts_->logits.memory_bytes() + parts_->hidden.memory_bytes();
        for (const auto& each : parts_->caches) total += each.memory_bytes();
        return total;
    }

    /// See ResidentGroup. 1 <= count <= most_rows.
    void launch(const decode::device::text_place* texts, std::size_t count) const {
        auto& pass = parts_->pass;
        const std::size_t rows = size_ * count;
        parts_->on.launch(1, place_texts{texts, parts_->blocks.data(), static_cast<std::uint32_t>(count),
                                         static_cast<std::uint32_t>(rows), pass.begin_there(rows, longest_)});
        pass.run_all();
        pass.run_head(pass.state(), rows, parts_->hidden.data(), parts_->logits.data());
    }
    const float* logits() const { return parts_->logits.data(); }

    /// See resident::fill.
    void fill(std::size_t number, const token* text, std::size_t count) const {
        auto& pass = parts_->pass;
        const kernels::buffer<std::uint32_t, S> first(parts_->on, 1);
        for (std::size_t done = 0; done < count; done += most_rows_of_fill) {
            const auto at = static_cast<std::uint32_t>(done);
            const std::size_t now = std::min(most_rows_of_fill, count - done);
            kernels::send(parts_->on, first.data(), std::span(&at, 1));
            parts_->on.launch(1, place_text{text, first.data(), parts_->caches[number].blocks(),
                                            static_cast<std::uint32_t>(now), pass.begin_there(now, longest_)});
            pass.run_all();
        }
        parts_->on.wait();  // before the word goes
    }

 private:
    static constexpr std::size_t most_rows_of_fill = kernels::most_columns;

    /// On the heap, for its addresses must not change when this is moved.
    struct parts {
        using pass_type = forward_pass<Element, S, F>;

        parts(const S& system, const config& c, std::shared_ptr<const weights_type> from)
            : on(system), settings(c), weight(std::move(from)), pass(on, settings, *weight) {}

        S on;
        config settings;
        std::shared_ptr<const weights_type> weight;
        pass_type pass;
        std::vector<kv_cache<Element, S>> caches;
        kernels::buffer<const std::byte* const*, S> blocks;
        kernels::buffer<float, S> logits, hidden;
    };

    std::unique_ptr<parts> parts_;
    std::size_t size_, capacity_, most_rows_, longest_;
};

}  // namespace augur::llama::device
