#pragma once
// A decoder on the CPU whose inputs are embeddings fused with hidden states.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "augur/llama/host_model.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// Of one layer as a rule. Const and safe to share, as host_model is. Its hidden states are as wide as those it takes.
class fused_layer {
 public:
    /// The weights have a fusion; else it throws.
    fused_layer(config c, weights w, const load_options& options) : model_(std::move(c), std::move(w), options) {
        if (!model_.parameters().fuses()) augur::detail::fail("a model without a fusion takes no hidden states");
    }

    const host_model& model() const { return model_; }
    std::size_t width() const { return model_.hidden_size(); }

    /// Which inputs hidden() shows the states of.
    enum class shown { rows, all };

    /// Appends the tokens with their states; returns a row of logits for each of the last `last`. As
    /// host_model::extend.
    scores extend(sequence& s, std::span<const token> tokens, std::span<const float> states, std::size_t last,
                  shown what = shown::rows) const {
        check(tokens, states);
        return model_.append({.sequence = &s, .tokens = tokens, .rows = last, .states = what == shown::all},
                             states.data());
    }
    /// The same of a tree, whose inputs are not appended.
    scores extend_tree(sequence& s, std::span<const token> tokens, std::span<const float> states,
                       std::span<const std::int32_t> parents, std::size_t last) const {
        check(tokens, states);
        return model_.append({.sequence = &s, .tokens = tokens, .parents = parents, .rows = last}, states.data());
    }

 private:
    void check(std::span<const token> tokens, std::span<const float> states) const {
        if (states.size() == tokens.size() * width()) return;
        augur::detail::fail(tokens.size(), " tokens with hidden states of ", width(), " numbers need ",
                            tokens.size() * width(), " of them, but there are ", states.size());
    }

    host_model model_;
};

}  // namespace augur::llama
