#pragma once
// The bundled decoder on a device. See docs/llama/device.md.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/backend/device/device_verifier.hpp"
#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/llama/checks.hpp"
#include "augur/llama/device/device_passes.hpp"
#include "augur/llama/device/forward.hpp"
#include "augur/llama/device/sequence.hpp"
#include "augur/llama/device/weights.hpp"
#include "augur/llama/rotary.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::llama::device {

/// A dense decoder with activations and caches in `Element` (bfloat16 or binary16), weights too or in q8_0 or q4_0,
/// sums in float32, on a System. Models every refinement of augur::Model with bitwise rows: a row depends on the tokens
/// up to it, not on how many rows are computed with it, in which sequences, trees, parts or batches; within numerics
/// where long passes go through wide_products (products.hpp). Rows come to the host; logits() are where they were made.
/// Const and safe to share: sequences of several threads take turns. A model outlives its sequences.
template <class Element, kernels::System S, device_format F = device_format::elements, class Products = skinny_products>
class device_model {
 public:
    static constexpr bool bitwise_rows = Products::bitwise_rows;
    using weights_type = weights_on_device<Element, S, F>;
    using sequence_type = sequence<Element, S>;
    using pass_type = pass<sequence_type>;
    static constexpr pass_features passes = every_pass_feature;

    /// `context_length`: to allow less than the model's own; 0 means the model's own. The weights are copied.
    device_model(const S& on, const config& c, const weights& from, std::size_t context_length = 0,
                 Products products = {})
        : device_model(on, with_rotary_factors(c, context_length),
                       std::make_shared<const weights_type>(on, with_rotary_factors(c, context_length), from),
                       context_length, std::move(products)) {}

    /// Of weights that models share. They were made for this configuration, but that it may have their first layers
    /// only.
    device_model(const S& on, const config& c, std::shared_ptr<const weights_type> from, std::size_t context_length = 0,
                 Products products = {})
        : parts_(std::make_unique<parts>(on, c, std::move(from), context_length, std::move(products))) {
        const std::size_t there = parts_->weight->layers().size();
        if (c.layers > there) augur::detail::fail("a model of ", c.layers, " layers cannot have weights of ", there);
    }

    /// A copy of a model that was loaded on the host.
    template <class Host>
    requires requires(const Host& from) {
        { from.configuration() } -> std::convertible_to<const config&>;
        { from.parameters() } -> std::convertible_to<const weights&>;
    }
    device_model(const S& on, const Host& from, Products products = {})
        : device_model(on, from.configuration(), from.parameters(), from.context_length(), std::move(products)) {}

    const config& configuration() const { return parts_->settings; }
    std::size_t vocabulary_size() const { return parts_->settings.vocabulary; }
    const std::string& vocabulary_fingerprint() const { return parts_->settings.vocabulary_fingerprint; }
    std::size_t context_length() const { return parts_->passes.context_length(); }
    std::size_t hidden_size() const { return parts_->settings.width; }
    std::size_t layer_count() const { return parts_->settings.layers; }
    /// Of the weights, which other models may share, and of what wide products keep.
    std::size_t memory_bytes() const { return parts_->weight->memory_bytes() + products().memory_bytes(); }
    const Products& products() const { return parts_->passes.forward().products(); }
    const S& system() const { return parts_->on; }
    /// For others to share.
    const std::shared_ptr<const weights_type>& shared_weights() const { return parts_->weight; }

    sequence_type make_sequence() const { return {parts_->on, parts_->passes.forward().layout()}; }
    std::size_t length(const sequence_type& s) const { return s.length_; }

    /// See host_model::extend.
    scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        extend_there(s, tokens, last);
        if (last == 0) parts_->passes.wait();  // as for rows, so that what it took can be timed
        return rows(s);
    }
    scores extend(sequence_type& s, std::span<const token> tokens) const { return extend(s, tokens, tokens.size()); }

    /// See host_model::run. Passes through the same layers are in as few launches as their rows fill.
    scattered_scores run(std::span<const pass_type> asked) const {
        if (asked.empty()) return {};
        parts_->passes.run(asked);
        std::vector<const float*>& places = asked[0].sequence->places_;
        places.clear();
        for (const pass_type& each : asked) {
            const scores own = rows(*each.sequence);
            for (std::size_t row = 0; row < own.size(); ++row) places.push_back(own[row].data());
        }
        if (places.empty()) parts_->passes.wait();
        return {places.data(), places.size(), vocabulary_size()};
    }
    /// Appends a path of the tree that was run last.
    void keep(sequence_type& s, std::span<const std::size_t> path) const { parts_->passes.keep(s, path); }
    std::size_t waiting(const sequence_type& s) const { return s.waiting_.size(); }

    /// Appends the tokens, and leaves the rows of the last `last` on the device: logits(). Launches kernels and waits
    /// for none.
    void extend_there(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        run_there({.sequence = &s, .tokens = tokens, .rows = last});
    }
    /// Any pass, of which the rows stay there.
    void run_there(const pass_type& asked) const { parts_->passes.run(std::span(&asked, 1)); }
    /// Rows x vocabulary, in the system's memory.
    const float* logits(const sequence_type& s) const { return s.logits_.data(); }
    /// The same brought to the host.
    scores rows(const sequence_type& s) const { return parts_->passes.here(s.logits_); }
    /// For decode::step: with it rows stay on the device (round/device_verifier.hpp).
    template <kernels::DeviceCriterion Criterion>
    auto make_device_verifier(const Criterion& criterion, const transform::settings& chosen,
                              const random::philox_chooser& by) const {
        return kernels::device_verifier<device_model, Criterion>(*this, criterion, chosen, by);
    }

    /// See host_model::hidden.
    scores hidden(const sequence_type& s) const { return parts_->passes.here(s.hidden_); }

    /// Forgets everything after the first `length` tokens, exactly. Throws if there are fewer.
    void truncate(sequence_type& s, std::size_t length) const {
        augur::model::check_cut(s.length_, length);
        const std::size_t finished = s.length_ - s.waiting_.size();
        s.waiting_.shrink(std::min(s.waiting_.size(), length - std::min(length, finished)));
        s.length_ = length;
    }

 private:
    using passes_type = device_passes<Element, S, F, Products>;

    /// On the heap, for its addresses must not change when the model is moved.
    struct parts {
        parts(const S& system, const config& c, std::shared_ptr<const weights_type> from, std::size_t context,
              Products products)
            : on(system),
              settings(c),
              weight(std::move(from)),
              passes(on, settings, *weight, checked_context(context, settings.context), std::move(products)) {}

        S on;
        config settings;
        std::shared_ptr<const weights_type> weight;
        passes_type passes;
    };

    std::unique_ptr<parts> parts_;
};

}  // namespace augur::llama::device
