#pragma once
// The concept of trainable drafters: their parameters as one array. See docs/train/trainable.md.

#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <vector>

#include "augur/train/matrix.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// The inputs of a batch's rows beside their states; empty where the state is all there is.
struct asked_rows {
    std::vector<std::size_t> heads;  ///< the head that guesses, row by row
    std::vector<token> after;        ///< the tokens after the state: context_size() of each row
    /// Of heads that attend (draft::AttendingHead): states of whole texts, position by position; and of each row its
    /// text among these and its position there, where its state lies.
    std::vector<std::vector<float>> sequences{};
    std::vector<std::size_t> sequence{}, position{};
};

/// Heads that a trainer trains, whatever they draft for: rows of logits from hidden states, differentiable by
/// parameters that lie in one array.
/// Define: scalar, options_type, pass with `logits` (classes by rows); vocabulary_size(), hidden_size(),
///         context_size(), tokens() (of each class; empty: the vocabulary), options(), values(), assign(values),
///         swap(other), blocks() (a range of head_block, which says what decays), forward(states, asked) and
///         backward(pass, grad_logits), the gradient of a loss by each parameter, given that by each logit.
///         Optional: alpha(); base(), layout() (CanBeClamped).
/// Laws:   backward is exact; forward is a pure function of values and inputs, and gives the very rows that draft;
///         assign and swap alone change values, and are called between rounds; copies learn apart.
/// Models: state_head, layer_head, attending_head, draft_heads.
template <class H>
concept Trainable = std::copyable<H> && requires(H& changed, const H& head, const typename H::pass& activations,
                                                 const columns<typename H::scalar>& in, const asked_rows& asked) {
    requires std::equality_comparable<typename H::options_type>;
    { head.vocabulary_size() } -> std::convertible_to<std::size_t>;
    { head.hidden_size() } -> std::convertible_to<std::size_t>;
    { head.context_size() } -> std::convertible_to<std::size_t>;
    { head.tokens() } -> std::convertible_to<std::span<const token>>;
    { head.options() } -> std::convertible_to<const typename H::options_type&>;
    { head.values() } -> std::convertible_to<const vector<typename H::scalar>&>;
    { head.blocks() } -> std::ranges::contiguous_range;
    { head.forward(in, asked) } -> std::same_as<typename H::pass>;
    { activations.logits } -> std::convertible_to<const columns<typename H::scalar>&>;
    { head.backward(activations, in) } -> std::convertible_to<vector<typename H::scalar>>;
    changed.assign(head.values());
    changed.swap(changed);
};

}  // namespace augur::train
