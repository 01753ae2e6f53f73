#pragma once
// The last draft layer, with trainable low-rank updates that only the draft path uses.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "augur/train/matrix.hpp"
#include "augur/train/state_norm.hpp"
#include "augur/train/updated_projection.hpp"
#include "augur/train/weight_matrix.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// A layer's matrices, outputs by inputs, and the weights of the norm before its feed-forward part; ones where none.
template <WeightMatrix Base>
struct layer_projections {
    Base attention_output, gate, up, down;
    std::span<const float> norm_weight{};
};

/// From layer inputs (LayerInputModel), a column each, to states after the layer: what it attended to, through its
/// output projection, added to the state that entered it; then its feed-forward part. Of these four projections each
/// has a low-rank update, which starts as nothing; queries, keys and values have none, so that they, and with them all
/// that is cached, are the verifier's.
/// The updates lie in an array of somebody else's, from `offset` on.
template <WeightMatrix Base>
class draft_layer {
 public:
    using scalar = typename Base::scalar;
    using parameter_vector = vector<scalar>;
    using batch_type = columns<scalar>;
    using projection = updated_projection<Base>;

    /// What backward needs of a forward.
    struct pass {
        typename projection::pass attention_output, gate, up, down;
        train::state_norm<scalar> unit;
        batch_type gated, gate_derivative, raised;  ///< silu(g), its gradient, and what it is multiplied by
        batch_type state;                           ///< after the layer
    };

    /// Throws where the matrices do not fit each other, or the rank none of them.
    draft_layer(layer_projections<Base> from, std::size_t rank, double epsilon, std::size_t offset)
        : attention_output_{std::move(from.attention_output)},
          gate_{std::move(from.gate)},
          up_{std::move(from.up)},
          down_{std::move(from.down)},
          norm_weight_(norm_weights<scalar>(from.norm_weight, width(), "draft_layer")),
          epsilon_(epsilon),
          layout_(offset) {
        check(rank);
        layout_.place(attention_output_, rank, "attention_output.from_rank", "attention_output.to_rank");
        layout_.place(gate_, rank, "gate.from_rank", "gate.to_rank");
        layout_.place(up_, rank, "up.from_rank", "up.to_rank");
        layout_.place(down_, rank, "down.from_rank", "down.to_rank");
    }

    std::size_t width() const { return attention_output_.base.classes(); }
    std::size_t attended() const { return attention_output_.base.width(); }
    std::size_t layer_input_size() const { return attended() + width(); }
    /// Numbers that are learned.
    std::size_t size() const { return layout_.size(); }
    std::array<head_block, 8> blocks() const {
        return {attention_output_.from_rank,
                attention_output_.to_rank,
                gate_.from_rank,
                gate_.to_rank,
                up_.from_rank,
                up_.to_rank,
                down_.from_rank,
                down_.to_rank};
    }

    /// As they are at first: `from_rank` is 0.
    void begin(parameter_vector& values, std::uint64_t seed) const {
        begin_updates(values, seed, 0, {&attention_output_, &gate_, &up_, &down_});
    }

    pass forward(const parameter_vector& values, const batch_type& layer_inputs) const {
        pass activations;
        activations.state = layer_inputs.bottomRows(detail::index(width()));
        activations.state += attention_output_.forward(values, layer_inputs.topRows(detail::index(attended())),
                                                       activations.attention_output);
        activations.unit = {activations.state, norm_kind::rms, epsilon_};
        batch_type normalised = activations.unit.unit;
        normalised.array().colwise() *= norm_weight_.array();
        const batch_type g = gate_.forward(values, normalised, activations.gate);
        activations.raised = up_.forward(values, std::move(normalised), activations.up);
        const batch_type share = (1 + (-g.array()).exp()).inverse();
        activations.gated = g.cwiseProduct(share);
        activations.gate_derivative = share.array() * (1 + g.array() * (1 - share.array()));
        activations.state +=
            down_.forward(values, activations.gated.cwiseProduct(activations.raised), activations.down);
        return activations;
    }

    /// Writes the gradient of a loss by the updates, given that by each state after the layer. Where `grad_attended` is
    /// given, by what was attended to, too.
    void backward(const parameter_vector& values, const pass& activations, const batch_type& grad_state,
                  parameter_vector& gradient, batch_type* grad_attended = nullptr) const {
        const batch_type grad_inner = down_.back_to_input(values, activations.down, grad_state, gradient);
        const batch_type grad_raised = grad_inner.cwiseProduct(activations.gated);
        const batch_type grad_gate =
            grad_inner.cwiseProduct(activations.raised).cwiseProduct(activations.gate_derivative);
        batch_type grad_normalised = up_.back_to_input(values, activations.up, grad_raised, gradient);
        grad_normalised += gate_.back_to_input(values, activations.gate, grad_gate, gradient);
        grad_normalised.array().colwise() *= norm_weight_.array();
        const batch_type grad_middle = grad_state + activations.unit.backward(grad_normalised, norm_kind::rms);
        if (grad_attended == nullptr) {
            attention_output_.back(values, activations.attention_output, grad_middle, gradient);
        } else {
            *grad_attended =
                attention_output_.back_to_input(values, activations.attention_output, grad_middle, gradient);
        }
    }

 private:
    void check(std::size_t rank) const {
        const auto fits = [](const char* what, std::size_t rows, std::size_t width, const Base& of) {
            if (of.classes() == rows && of.width() == width) return;
            detail::fail("draft_layer: ", what, " is ", of.classes(), " by ", of.width(), ", not ", rows, " by ",
                         width);
        };
        const std::size_t inner = gate_.base.classes();
        fits("gate", inner, width(), gate_.base);
        fits("up", inner, width(), up_.base);
        fits("down", width(), inner, down_.base);
        const std::size_t most = std::min({width(), attended(), inner});
        if (rank == 0 || rank > most) {
            detail::fail("draft_layer: layer_rank is ", rank, "; it must be between 1 and ", most);
        }
    }
    projection attention_output_, gate_, up_, down_;
    parameter_vector norm_weight_;
    double epsilon_;
    update_layout layout_;
};

}  // namespace augur::train
