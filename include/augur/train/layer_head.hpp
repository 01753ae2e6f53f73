#pragma once
// A trainable head together with the last draft layer, on the draft path alone. See docs/train/layer_head.md.

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "augur/train/draft_layer.hpp"
#include "augur/train/exit_head.hpp"
#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/weight_matrix.hpp"
#include "augur/train/with_exit.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// An exit_head on states that it makes itself: those after the last of the layers that draft, whose output, gate, up
/// and down projections have low-rank updates of `head_options::layer_rank` (draft_layer). It reads layer inputs
/// (LayerInputModel): keys, values and all earlier layers are the verifier's, nothing is cached here, and what the
/// verifier goes on from is the layer without the updates. Models draft::ExitHead and Trainable; the exit's numbers
/// come first, then the layer's. Copies share the matrices.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: beside the exit's, four products for each row, and in backward three with the transposed: the layer but for
/// its attention runs twice over each drafted token.
/// Source: DVI ("low-rank updates of the last shallow layers"); Hu et al. 2021, LoRA (arXiv 2106.09685).
template <WeightMatrix Base>
class layer_head : public with_exit<Base, head_options> {
    using base_type = with_exit<Base, head_options>;

 public:
    using base_type::values;
    using base_type::vocabulary_size;
    using typename base_type::batch_type;
    using typename base_type::exit_type;
    using typename base_type::parameter_vector;
    using typename base_type::scalar;
    using layer_type = draft_layer<Base>;
    static constexpr bool reads_layer_input = true;

    /// What backward needs of a forward.
    struct pass : exit_type::pass {
        typename layer_type::pass layer;
    };

    /// Throws where layer, base, norm or tokens do not fit.
    layer_head(layer_projections<Base> layer, Base base, const head_place& place, const head_options& chosen)
        : base_type(std::move(base), place, chosen),
          layer_(std::move(layer), chosen.layer_rank, chosen.epsilon, this->exit_parameters()) {
        if (layer_.width() != exit().hidden_size()) {
            detail::fail("layer_head: the layer makes states of ", layer_.width(), " numbers, but the head reads ",
                         exit().hidden_size());
        }
        layer_.begin(this->begin_values(layer_.size()), chosen.seed);
    }

    std::size_t hidden_size() const { return layer_.layer_input_size(); }
    std::array<head_block, 16> blocks() const { return base_type::joined(exit().blocks(), layer_.blocks()); }

    void assign(const parameter_vector& from) { this->assign_parameters(from, "layer_head"); }
    /// Swaps the parameters of two heads of one kind, at no cost.
    void swap(layer_head& other) { this->swap_parameters(other, "layer_head"); }

    /// Logits of the whole vocabulary from one layer input; -infinity for a token without a class.
    void row(std::span<const float> layer_input, std::span<float> out) const {
        if (layer_input.size() != hidden_size() || out.size() != vocabulary_size()) {
            detail::fail("layer_head: it makes ", vocabulary_size(), " logits of a layer input of ", hidden_size(),
                         " numbers, not ", out.size(), " of ", layer_input.size());
        }
        const Eigen::Map<const vector<float>> column(layer_input.data(), detail::index(layer_input.size()));
        this->exit_row(layer_.forward(values(), column.template cast<scalar>()).state, out);
    }

    /// Of layer inputs, a column each: logits of the classes, a column each.
    pass forward(const batch_type& layer_inputs, const asked_rows& asked = {}) const {
        pass activations;
        activations.layer = layer_.forward(values(), layer_inputs);
        static_cast<typename exit_type::pass&>(activations) = exit().forward(activations.layer.state, asked);
        return activations;
    }

    /// The gradient of a loss by each parameter, given that by each logit.
    parameter_vector backward(const pass& activations, const batch_type& grad_logits) const {
        parameter_vector gradient = parameter_vector::Zero(values().size());
        batch_type grad_state;
        gradient.head(exit().values().size()) = exit().backward(activations, grad_logits, &grad_state);
        layer_.backward(values(), activations.layer, grad_state, gradient);
        return gradient;
    }

 private:
    using base_type::exit;

    layer_type layer_;
};

}  // namespace augur::train
