#pragma once
// Runs a Llama's passes over a sequence in device memory, as launches that need neither tokens nor length on the host.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "augur/backend/device/send.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/device/cache.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/device/forward.hpp"
#include "augur/llama/device/rows.hpp"
#include "augur/llama/device/weights.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::llama::device {

/// Where the tokens at *first, *first + 1, ... of a text stand in the sequence that has it: a row each.
struct place_text {
    static constexpr unsigned threads = 64;

    const token* text;
    const std::uint32_t* first;
    const std::byte* const* blocks;
    std::uint32_t count;
    row_place* rows;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        team.each([&](unsigned thread) {
            for (std::uint32_t i = thread; i < count; i += threads) {
                const std::uint32_t at = *first + i;
                row_place place;
                place.blocks = blocks;
                place.position = place.slot = static_cast<std::int32_t>(at);
                place.id = text[at];
                rows[i] = place;
            }
        });
    }
};

/// Keeps the state of the token at *at, as number *at - *from. One block.
struct keep_state {
    static constexpr unsigned threads = 256;

    const float* state;
    std::size_t width;
    const std::uint32_t *at, *from;
    float* kept;

    static constexpr std::size_t shared_bytes() { return 0; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        float* const to = kept + (*at - *from) * width;
        team.each([&](unsigned thread) {
            for (std::size_t i = thread; i < width; i += threads) to[i] = state[i];
        });
    }
};

/// One sequence of a model, with memory for all that it will hold and passes of its own. Models ResidentModel
/// (decode/device/loop_drafter.hpp) and ResidentSplitModel (split_draft.hpp there): after construction nothing is
/// allocated, and launch() is launches alone, so that it can be recorded. Rows are those of device_model, bit for bit.
/// Refers to the system's memory of shared weights.
template <class Element, kernels::System S, device_format F = device_format::elements>
class resident {
 public:
    static constexpr bool bitwise_rows = true;
    using weights_type = weights_on_device<Element, S, F>;

    /// For texts of at most `capacity` tokens, 1 to the model's context. `most_rows`: of a launch.
    resident(const S& on, const config& c, std::shared_ptr<const weights_type> from, std::size_t capacity,
             std::size_t most_rows)
        : parts_(std::make_unique<parts>(on, c, std::move(from))), capacity_(capacity), most_rows_(most_rows) {
        if (capacity == 0 || capacity > c.context) {
            augur::detail::fail("a resident text of ", capacity, " tokens in a context of ", c.context);
        }
        if (most_rows == 0 || most_rows > kernels::most_columns) {
            augur::detail::fail("a launch of ", most_rows, " rows; it takes 1 to ", kernels::most_columns);
        }
        if (c.layers > parts_->weight->layers().size()) {
            augur::detail::fail("a model of ", c.layers, " layers cannot have weights of ",
                                parts_->weight->layers().size());
        }
        // Rows beyond the end of a text are computed, too, where a launch is for more rows than there are: they need
        // slots.
        longest_ = capacity + most_rows;
        parts_->cache.reserve(longest_);
        parts_->pass.reserve(kernels::most_columns, longest_);
        parts_->logits = kernels::buffer<float, S>(on, most_rows * c.vocabulary);
        parts_->hidden = kernels::buffer<float, S>(on, most_rows * c.width);
        parts_->states = kernels::buffer<float, S>(on, most_rows * c.width);
        on.clear(parts_->states.data(), parts_->states.memory_bytes());  // deep launches read more than were kept
    }

    /// With the weights of a model.
    resident(const device_model<Element, S, F>& of, std::size_t capacity, std::size_t most_rows)
        : resident(of.system(), of.configuration(), of.shared_weights(), capacity, most_rows) {}

    const S& system() const { return parts_->on; }
    std::size_t vocabulary_size() const { return parts_->settings.vocabulary; }
    const std::string& vocabulary_fingerprint() const { return parts_->settings.vocabulary_fingerprint; }
    std::size_t capacity() const { return capacity_; }
    std::size_t most_rows() const { return most_rows_; }
    std::size_t layer_count() const { return parts_->settings.layers; }
    std::size_t hidden_size() const { return parts_->settings.width; }
    std::size_t memory_bytes() const {
        return parts_->cache.memory_bytes() + parts_->logits.memory_bytes() + parts_->hidden.memory_bytes() +
               parts_->states.memory_bytes();
    }

    /// Launches the rows of the tokens at *first ... *first + count - 1 of a text in the system's memory; keys and
    /// values of those before are there, and theirs are afterwards. The last `last` rows of logits are made. 1 <= count
    /// <= most_rows.
    void launch(const token* text, const std::uint32_t* first, std::size_t count, std::size_t last) const {
        auto& pass = begin(text, first, count);
        pass.run_all();
        pass.run_head(pass.state(), last, parts_->hidden.data(), parts_->logits.data());
    }

    /// See ResidentSplitModel: 1 <= layers < layer_count().
    void launch_shallow(const token* text, const std::uint32_t* at, const std::uint32_t* from,
                        std::size_t layers) const {
        auto& pass = begin(text, at, 1);
        pass.embed(pass.state());
        pass.run_layers(0, layers, pass.state());
        parts_->on.launch(1, keep_state{pass.state(), hidden_size(), at, from, parts_->states.data()});
    }
    /// Of the last shallow launch, until the next launch.
    const float* state() const { return parts_->pass.state(); }
    void launch_deep(const token* text, const std::uint32_t* from, std::size_t count, std::size_t layers) const {
        auto& pass = begin(text, from, count);
        pass.run_layers(layers, layer_count(), parts_->states.data());
        pass.run_head(parts_->states.data(), count, parts_->hidden.data(), parts_->logits.data());
    }

    /// Rows x vocabulary of the last launch that made any.
    const float* logits() const { return parts_->logits.data(); }

    /// Keys and values of the text's first `count` tokens, in as few passes as they fill. The host counts.
    void fill(const token* text, std::size_t count) const {
        const kernels::buffer<std::uint32_t, S> first(parts_->on, 1);
        constexpr std::size_t most = kernels::most_columns;
        for (std::size_t done = 0; done < count; done += most) {
            const auto at = static_cast<std::uint32_t>(done);
            kernels::send(parts_->on, first.data(), std::span(&at, 1));
            launch(text, first.data(), std::min(most, count - done), 0);
        }
        parts_->on.wait();  // before the word goes
    }

 private:
    /// On the heap, for its addresses must not change when this is moved.
    struct parts {
        using pass_type = forward_pass<Element, S, F>;

        parts(const S& system, const config& c, std::shared_ptr<const weights_type> from)
            : on(system), settings(c), weight(std::move(from)), pass(on, settings, *weight), cache(on, pass.layout()) {}

        S on;
        config settings;
        std::shared_ptr<const weights_type> weight;
        pass_type pass;
        kv_cache<Element, S> cache;
        kernels::buffer<float, S> logits, hidden, states;
    };

    /// Launches what says where these rows are.
    auto& begin(const token* text, const std::uint32_t* first, std::size_t count) const {
        auto& pass = parts_->pass;
        parts_->on.launch(1, place_text{text, first, parts_->cache.blocks(), static_cast<std::uint32_t>(count),
                                        pass.begin_there(count, longest_)});
        return pass;
    }

    std::unique_ptr<parts> parts_;
    std::size_t capacity_, most_rows_;
    std::size_t longest_ = 0;
};

}  // namespace augur::llama::device
