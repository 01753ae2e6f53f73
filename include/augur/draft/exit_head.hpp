#pragma once
// A head on a model's own hidden states after some of its layers: what self-speculation drafts with.

#include <concepts>
#include <cstddef>
#include <span>

#include "augur/model/concepts.hpp"
#include "augur/types/error.hpp"

namespace augur::draft {

/// Guesses the next token from the hidden state that a token has after the first `layer()` layers of a model, as these
/// leave it: what the model's last norm does, the head does itself. `head.row(hidden, out)` fills `out`,
/// vocabulary_size() logits, from `hidden`, hidden_size() numbers; a token that the head leaves out has -infinity.
/// Define: layer(), vocabulary_size(), hidden_size(), row(hidden, out) const.
///         Optional: vocabulary_fingerprint() (HasVocabularyFingerprint).
/// Laws:   equal states, equal rows, bit for bit, until its weights change, which they may between rounds only;
///         several sequences may ask one head, one after the other.
/// Smallest: tests/draft/exit_mock.hpp.
template <class H>
concept ExitHead = HasVocabularySize<H> &&
    requires(const H& head, std::span<const float> hidden, std::span<float> out) {
    { head.layer() } -> std::convertible_to<std::size_t>;
    { head.hidden_size() } -> std::convertible_to<std::size_t>;
    { head.row(hidden, out) } -> std::same_as<void>;
};

/// Throws unless the head reads hidden states of this model, after layers that leave others to verify with.
void check_exit_sizes(const auto& head, const auto& target) {
    const std::size_t layer = head.layer(), layers = target.layer_count();
    if (layer == 0 || layer >= layers) {
        augur::detail::fail("the exit head reads hidden states after ", layer, " layers; of a target of ", layers,
                            " it must be those after 1 to ", layers - 1);
    }
    if (head.hidden_size() != target.hidden_size()) {
        augur::detail::fail("the exit head reads hidden states of ", head.hidden_size(),
                            " numbers, but the target's have ", target.hidden_size());
    }
}

/// The same of heads and models of the host.
template <ExitHead H, SplitModel M>
void check_exit(const H& head, const M& target) {
    check_exit_sizes(head, target);
}

}  // namespace augur::draft
