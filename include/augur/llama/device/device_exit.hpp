#pragma once
// Exit heads on a device, for self-speculation. See docs/llama/device.md.

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "augur/backend/device/system.hpp"
#include "augur/backend/device/tiles.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/device/dense_rows.hpp"
#include "augur/llama/device/device_model.hpp"
#include "augur/llama/device/rows.hpp"
#include "augur/llama/device/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::llama::device {

/// logits = output * norm(h), of the state h after some of a model's layers, with the model's output, which is shared,
/// and its norm or another. Models draft::ExitHead and decode::device::ResidentHead: its rows are those of a
/// device_model of these layers with this norm, bit for bit. One state at a time; callers of row() take turns.
template <class Element, kernels::System S, device_format F = device_format::elements>
class device_exit {
 public:
    using weights_type = weights_on_device<Element, S, F>;

    /// After `layer` layers. An empty norm stands for the model's own. Throws where a norm has another size.
    template <class Products>
    device_exit(const device_model<Element, S, F, Products>& of, std::size_t layer, std::span<const float> norm = {})
        : parts_(std::make_unique<parts>(of.system(), of.configuration(), of.shared_weights(), norm)), layer_(layer) {}

    std::size_t layer() const { return layer_; }
    std::size_t vocabulary_size() const { return parts_->settings.vocabulary; }
    const std::string& vocabulary_fingerprint() const { return parts_->settings.vocabulary_fingerprint; }
    std::size_t hidden_size() const { return parts_->settings.width; }

    /// Launches the row of a state in the system's memory, of hidden_size() floats; and nothing else.
    void launch(const float* state) const {
        const parts& p = *parts_;
        const auto& output = p.weight->head();
        const norm_rows<Element> rows{state, p.norm(), p.settings.width, p.normed.data(),
                                      kernels::tile_layout::padded(p.settings.width)};
        p.on.launch(1, rms_norm<Element>{rows, p.settings.norm_epsilon});
        multiply_head(p.on, output, p.normed.data(), 1, p.logits.data(), head_rule(p.settings));
    }
    /// Of the last launch, in the system's memory.
    const float* logits() const { return parts_->logits.data(); }

    /// See draft::ExitHead. Throws unless both have their sizes.
    void row(std::span<const float> hidden, std::span<float> out) const {
        if (hidden.size() != hidden_size() || out.size() != vocabulary_size()) {
            augur::detail::fail("an exit head makes ", vocabulary_size(), " logits of a state of ", hidden_size(),
                                " numbers, not ", out.size(), " of ", hidden.size());
        }
        const std::lock_guard lock(parts_->busy);
        parts_->on.upload(parts_->state.data(), hidden.data(), hidden.size_bytes());
        launch(parts_->state.data());
        parts_->on.download(out.data(), logits(), out.size_bytes());
    }

 private:
    /// On the heap, for it has a lock.
    struct parts {
        parts(const S& system, const config& c, std::shared_ptr<const weights_type> from, std::span<const float> own)
            : on(system),
              settings(c),
              weight(std::move(from)),
              own_norm(on, own),
              state(on, c.width),
              logits(on, c.vocabulary),
              normed(on, kernels::tile_layout::padded(c.width)) {
            if (!own.empty() && own.size() != c.width) {
                augur::detail::fail("an exit head's norm has ", own.size(), " numbers, but the model's states have ",
                                    c.width);
            }
            on.clear(normed.data(), normed.memory_bytes());  // what fills up stays zero
        }

        const float* norm() const { return own_norm.size() == 0 ? weight->final_norm() : own_norm.data(); }

        S on;
        config settings;
        std::shared_ptr<const weights_type> weight;
        kernels::buffer<float, S> own_norm, state, logits;
        kernels::buffer<Element, S> normed;
        std::mutex busy;
    };

    std::unique_ptr<parts> parts_;
    std::size_t layer_;
};

template <class Element, kernels::System S, device_format F, class Products, class... Norm>
device_exit(const device_model<Element, S, F, Products>&, std::size_t, const Norm&...) -> device_exit<Element, S, F>;

}  // namespace augur::llama::device
