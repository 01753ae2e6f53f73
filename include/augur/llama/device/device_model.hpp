#pragma once
// The bundled Llama on a device. See docs/llama/device.md.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/device/device_verifier.hpp"
#include "augur/backend/device/element.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/llama/checks.hpp"
#include "augur/llama/device/forward.hpp"
#include "augur/llama/device/sequence.hpp"
#include "augur/llama/device/tree_paths.hpp"
#include "augur/llama/device/weights.hpp"
#include "augur/model/concepts.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::llama::device {

/// A Llama with activations and caches in `Element` (bfloat16 or binary16), weights too or in q8_0 or q4_0, sums in float32, on a
/// System. Models every refinement of augur::Model with bitwise rows: a row depends on the tokens up to it, not on how many rows are
/// computed with it, in which sequences, trees, parts or batches; within numerics where long passes go through wide_products
/// (products.hpp). Rows come to the host; logits() are where they were made.
/// Const and safe to share: sequences of several threads take turns. A model outlives its sequences.
template <class Element, kernels::System S, device_format F = device_format::elements, class Products = skinny_products>
class device_model {
 public:
    static constexpr bool bitwise_rows = Products::bitwise_rows;
    using weights_type = weights_on_device<Element, S, F>;
    using sequence_type = sequence<Element, S>;

    /// `context_length`: to allow less than the model's own; 0 means the model's own. The weights are copied.
    device_model(const S& on, const config& c, const weights& from, std::size_t context_length = 0,
                 Products products = {})
        : device_model(on, c, std::make_shared<const weights_type>(on, c, from), context_length, std::move(products)) {}

    /// Of weights that models share. They were made for this configuration, but that it may have their first layers only.
    device_model(const S& on, const config& c, std::shared_ptr<const weights_type> from, std::size_t context_length = 0,
                 Products products = {})
        : parts_(std::make_unique<parts>(on, c, std::move(from), std::move(products))),
          context_(checked_context(context_length, parts_->settings.context)) {
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
    std::size_t context_length() const { return context_; }
    std::size_t hidden_size() const { return parts_->settings.width; }
    std::size_t layer_count() const { return parts_->settings.layers; }
    /// Of the weights, which other models may share, and of what wide products keep.
    std::size_t memory_bytes() const {
        return parts_->weight->memory_bytes() + parts_->forward.products().memory_bytes();
    }
    const S& system() const { return parts_->on; }
    /// For others to share.
    const std::shared_ptr<const weights_type>& shared_weights() const { return parts_->weight; }

    sequence_type make_sequence() const { return {parts_->on, parts_->forward.layout()}; }
    std::size_t length(const sequence_type& s) const { return s.length_; }

    /// See host_model::extend.
    scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        run(s, tokens, last, true);
        if (last == 0) parts_->on.wait();  // as for rows, so that what it took can be timed
        return s.logits_.on_host(parts_->on);
    }
    scores extend(sequence_type& s, std::span<const token> tokens) const { return extend(s, tokens, tokens.size()); }

    /// See host_model::extend_states.
    scores extend_states(sequence_type& s, std::span<const token> tokens) const {
        run(s, tokens, tokens.size(), false);
        return hidden(s);
    }

    /// Appends the tokens, and leaves the rows of the last `last` on the device: logits(). Launches kernels and waits for none.
    void extend_there(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        run(s, tokens, last, true);
    }
    /// Rows x vocabulary, in the system's memory.
    const float* logits(const sequence_type& s) const { return s.logits_.data(); }
    /// The same brought to the host.
    scores rows(const sequence_type& s) const { return s.logits_.on_host(parts_->on); }
    /// For decode::step: with it rows stay on the device (verify/device_verifier.hpp).
    template <kernels::KernelCriterion Criterion>
    auto make_device_verifier(const Criterion& criterion, const transform::settings& chosen,
                              const random::philox_chooser& by) const {
        return kernels::device_verifier<device_model, Criterion>(*this, criterion, chosen, by);
    }

    /// The normalised hidden states that the rows of the last extend were computed from.
    scores hidden(const sequence_type& s) const { return s.hidden_.on_host(parts_->on); }

    /// Forgets everything after the first `length` tokens, exactly. Throws if there are fewer.
    void truncate(sequence_type& s, std::size_t length) const {
        check_truncation(s.length_, length);
        const std::size_t finished = s.length_ - s.waiting_.size();
        s.waiting_.shrink(std::min(s.waiting_.size(), length - std::min(length, finished)));
        s.length_ = length;
    }

    /// Scores a tree in one pass: parents[i] < i, or -1 for the sequence's last token. Nothing is appended before keep.
    scores extend_tree(sequence_type& s, std::span<const token> tokens, std::span<const std::int32_t> parents) const {
        check_tree(tokens, parents);
        check(s, tokens, tokens.size());
        const std::lock_guard lock(parts_->busy);
        const auto base = static_cast<std::int32_t>(s.length_);
        const tree_paths paths(parents, base);
        const kernels::buffer<std::int32_t, S> slots(parts_->on, paths.slots());
        make_room(s, tokens.size());
        std::vector<row_place>& rows = chain(s, tokens, s.length_);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i].base = base;
            rows[i].path = slots.data() + paths.begin(i);
            rows[i].position = base + static_cast<std::int32_t>(paths.length(i)) - 1;
        }
        score(s, rows, rows.size(), true);
        s.tree_.assign(parents.begin(), parents.end());
        s.tree_at_ = s.length_;
        return s.logits_.on_host(parts_->on);  // all is done before the paths go
    }

    /// Appends one root-to-node path of the tree scored last, and forgets its other nodes.
    void keep(sequence_type& s, std::span<const std::size_t> path) const {
        if (s.tree_at_ != s.length_) {
            augur::detail::fail("keep: the tree was scored after ", s.tree_at_, " tokens, but the sequence has ",
                                s.length_);
        }
        check_path(path, s.tree_);
        std::vector<std::int32_t> slots;
        for (const std::size_t node : path) slots.push_back(static_cast<std::int32_t>(s.length_ + node));
        const std::lock_guard lock(parts_->busy);
        const kernels::buffer<std::int32_t, S> uploaded(parts_->on, std::span<const std::int32_t>(slots));
        s.cache_.keep(s.length_, uploaded.data(), slots.size());
        parts_->on.wait();  // before the slots go
        s.length_ += path.size();
        s.tree_.clear();
    }

    /// Layers [0, split) of these tokens; returns the states after them.
    scores extend_shallow(sequence_type& s, std::span<const token> tokens, std::size_t split) const {
        check_split(s, split);
        check_extension(tokens, tokens.size(), s.length_, context_, vocabulary_size());
        const std::lock_guard lock(parts_->busy);
        make_room(s, tokens.size());
        s.split_ = split;
        const std::vector<row_place>& rows = chain(s, tokens, s.length_);
        float* const states = s.waiting_.append(parts_->on, tokens.size(), hidden_size());
        in_passes(rows, [&](std::size_t first, std::size_t) {
            float* const own = states + first * hidden_size();
            parts_->forward.embed(own);
            parts_->forward.run_layers(0, split, own);
        });
        float* const shown = s.hidden_.require(parts_->on, tokens.size(), hidden_size());
        parts_->on.copy(shown, states, tokens.size() * hidden_size() * sizeof(float));
        s.length_ += tokens.size();
        return s.hidden_.on_host(parts_->on);
    }

    /// Layers [split, layer_count()) of all positions that lack them; returns their rows of logits.
    scores extend_deep(sequence_type& s, std::size_t split) const {
        check_split(s, split);
        const std::lock_guard lock(parts_->busy);
        const std::size_t count = s.waiting_.size();
        const std::vector<token> unread(count);  // embeddings were looked up before
        const std::vector<row_place>& rows = chain(s, unread, s.length_ - count);
        float* const logits = s.logits_.require(parts_->on, count, vocabulary_size());
        float* const hidden = s.hidden_.require(parts_->on, count, hidden_size());
        in_passes(rows, [&](std::size_t first, std::size_t size) {
            float* const own = s.waiting_.data() + first * hidden_size();
            parts_->forward.run_layers(split, layer_count(), own);
            parts_->forward.run_head(own, size, hidden + first * hidden_size(), logits + first * vocabulary_size());
        });
        s.waiting_.shrink(0);
        return s.logits_.on_host(parts_->on);
    }

    /// Extends several sequences, each of them once, in as few passes as their rows fill.
    owned_rows extend_batch(std::span<const batch_item<sequence_type>> items) const {
        check_batch(items);
        for (const auto& item : items) check(*item.sequence, item.tokens, item.tokens.size());
        const std::lock_guard lock(parts_->busy);
        std::vector<row_place> rows;
        for (const auto& item : items) {
            make_room(*item.sequence, item.tokens.size());
            const auto& own = chain(*item.sequence, item.tokens, item.sequence->length_);
            rows.insert(rows.end(), own.begin(), own.end());
        }
        float_rows<S> logits, hidden;
        score(logits, hidden, rows, rows.size(), true);
        const float* from = hidden.data();
        for (const auto& item : items) {
            const std::size_t size = item.tokens.size();
            float* const own = item.sequence->hidden_.require(parts_->on, size, hidden_size());
            parts_->on.copy(own, from, size * hidden_size() * sizeof(float));
            from += size * hidden_size();
            item.sequence->length_ += size;
        }
        const scores all = logits.on_host(parts_->on);
        const std::size_t numbers = all.size() * vocabulary_size();
        return {numbers == 0 ? std::vector<float>() : std::vector<float>(all[0].data(), all[0].data() + numbers),
                vocabulary_size()};
    }

 private:
    /// On the heap, for its addresses must not change when the model is moved.
    struct parts {
        parts(const S& system, const config& c, std::shared_ptr<const weights_type> from, Products products)
            : on(system), settings(c), weight(std::move(from)), forward(on, settings, *weight, std::move(products)) {}

        S on;
        config settings;
        std::shared_ptr<const weights_type> weight;
        std::mutex busy;
        forward_pass<Element, S, F, Products> forward;
    };

    void run(sequence_type& s, std::span<const token> tokens, std::size_t last, bool with_logits) const {
        check(s, tokens, last);
        const std::lock_guard lock(parts_->busy);
        make_room(s, tokens.size());
        score(s, chain(s, tokens, s.length_), last, with_logits);
        s.length_ += tokens.size();
    }

    /// For so many more tokens. They take the slots of a tree that was scored before, which cannot be kept any more.
    void make_room(sequence_type& s, std::size_t tokens) const {
        s.cache_.reserve(s.length_ + tokens);
        s.tree_.clear();
    }

    /// The rows of tokens that follow the first `length` of a sequence, in storage of its own.
    std::vector<row_place>& chain(sequence_type& s, std::span<const token> tokens, std::size_t length) const {
        std::vector<row_place>& rows = s.rows_;
        rows.assign(tokens.size(), {});
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i].blocks = s.cache_.blocks();
            rows[i].position = rows[i].slot = static_cast<std::int32_t>(length + i);
            rows[i].id = tokens[i];
        }
        return rows;
    }

    /// `use(first, size)` for passes of as many rows as one takes.
    template <class Use>
    void in_passes(const std::vector<row_place>& rows, const Use& use) const {
        for (std::size_t first = 0, size = 0; first < rows.size(); first += size) {
            size = parts_->forward.products().pass_of(rows.size() - first);
            const auto now = std::span(rows).subspan(first, size);
            std::int32_t longest = 0;
            for (const row_place& row : now) longest = std::max(longest, row.position + 1);
            parts_->forward.begin(now, static_cast<std::size_t>(longest));
            use(first, size);
        }
    }

    void score(sequence_type& s, const std::vector<row_place>& rows, std::size_t last, bool with_logits) const {
        score(s.logits_, s.hidden_, rows, last, with_logits);
    }
    void score(float_rows<S>& logits, float_rows<S>& hidden, const std::vector<row_place>& rows, std::size_t last,
               bool with_logits) const {
        float* const scored = logits.require(parts_->on, with_logits ? last : 0, vocabulary_size());
        float* const states = hidden.require(parts_->on, last, hidden_size());
        const std::size_t unwanted = rows.size() - last;  // rows before the first wanted one
        in_passes(rows, [&](std::size_t first, std::size_t size) {
            parts_->forward.run_all();
            const std::size_t from = std::clamp(unwanted, first, first + size), at = from - std::min(from, unwanted);
            parts_->forward.run_head(parts_->forward.state(), first + size - from, states + at * hidden_size(),
                                     with_logits ? scored + at * vocabulary_size() : nullptr);
        });
    }

    void check(const sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        if (s.waiting_.size() > 0) {
            augur::detail::fail("extend: ", s.waiting_.size(), " positions wait for the layers after ", s.split_);
        }
        check_extension(tokens, last, s.length_, context_, vocabulary_size());
    }
    void check_split(const sequence_type& s, std::size_t split) const {
        if (split > layer_count()) augur::detail::fail("split after layer ", split, " of ", layer_count());
        if (s.waiting_.size() > 0 && s.split_ != split) {
            augur::detail::fail("split after layer ", split, ", but positions wait after layer ", s.split_);
        }
    }

    std::unique_ptr<parts> parts_;
    std::size_t context_ = 0;
};

}  // namespace augur::llama::device
