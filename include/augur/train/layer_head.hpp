#pragma once
// A trainable head together with the last draft layer, on the draft path alone. See docs/train/layer_head.md.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "augur/train/draft_layer.hpp"
#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/state_head.hpp"
#include "augur/train/weight_matrix.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// A state_head on states that it makes itself: those after the last of the layers that draft, whose output, gate, up
/// and down projections have low-rank updates of `head_options::layer_rank` (draft_layer). It reads layer inputs
/// (LayerInputModel): keys, values and all earlier layers are the verifier's, nothing is cached here, and what the
/// verifier goes on from is the layer without the updates. Models draft::ExitHead and Trainable; the state head's
/// numbers come first, then the layer's. Copies share the matrices.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: beside the state head's, four products for each row, and in backward three with the transposed: the layer but
/// for its attention runs twice over each drafted token.
/// Source: DVI ("low-rank updates of the last shallow layers"); Hu et al. 2021, LoRA (arXiv 2106.09685).
template <WeightMatrix Base>
class layer_head {
 public:
    using scalar = typename Base::scalar;
    using parameter_vector = vector<scalar>;
    using batch_type = columns<scalar>;
    using options_type = head_options;
    using state_head_type = state_head<Base>;
    using layer_type = draft_layer<Base>;
    static constexpr bool learns = true;
    static constexpr bool reads_layer_input = true;

    /// What backward needs of a forward.
    struct pass : state_head_type::pass {
        typename layer_type::pass layer;
    };

    /// Throws where layer, base, norm or tokens do not fit.
    layer_head(layer_projections<Base> layer, Base base, const head_place& place, const head_options& chosen)
        : layer_head("layer_head", std::move(layer), std::move(base), place, chosen) {}

    std::size_t layer() const { return head_.layer(); }
    std::size_t vocabulary_size() const { return head_.vocabulary_size(); }
    const std::string& vocabulary_fingerprint() const { return head_.vocabulary_fingerprint(); }
    std::size_t hidden_size() const { return layer_.layer_input_size(); }
    std::size_t context_size() const { return 0; }
    std::size_t classes() const { return head_.classes(); }
    std::span<const token> tokens() const { return head_.tokens(); }
    std::span<const token> possible() const { return head_.possible(); }
    const head_options& options() const { return options_; }
    const parameter_vector& values() const { return values_; }
    /// Of the state head: its matrix, and where its numbers lie, which is where they lie among all.
    const Base& weight_matrix() const { return head_.weight_matrix(); }
    const head_layout& layout() const { return head_.layout(); }
    double alpha() const { return head_.alpha(); }
    std::array<head_block, 16> blocks() const {
        std::array<head_block, 16> all{};
        const auto of_head = head_.blocks(), of_layer = layer_.blocks();
        std::copy(of_layer.begin(), of_layer.end(), std::copy(of_head.begin(), of_head.end(), all.begin()));
        return all;
    }

    void assign(const parameter_vector& values) {
        if (values.size() != values_.size()) {
            detail::fail(who_, ": it has ", values_.size(), " parameters, not ", values.size());
        }
        values_ = values;
        head_.assign(values.head(head_.values().size()));
    }
    /// Swaps the parameters of two heads of one kind, at no cost.
    void swap(layer_head& other) {
        if (other.values_.size() != values_.size()) {
            detail::fail(who_, ": cannot swap heads with ", values_.size(), " and ", other.values_.size(),
                         " parameters");
        }
        head_.swap(other.head_);
        values_.swap(other.values_);
    }

    /// Logits of the whole vocabulary from one layer input; -infinity for a token without a class.
    void row(std::span<const float> layer_input, std::span<float> out) const {
        if (layer_input.size() != hidden_size() || out.size() != vocabulary_size()) {
            detail::fail("layer_head: it makes ", vocabulary_size(), " logits of a layer input of ", hidden_size(),
                         " numbers, not ", out.size(), " of ", layer_input.size());
        }
        const Eigen::Map<const vector<float>> column(layer_input.data(), detail::index(layer_input.size()));
        row_of_state(layer_.forward(values_, column.template cast<scalar>()).state, out);
    }

    /// Of layer inputs, a column each: logits of the classes, a column each.
    pass forward(const batch_type& layer_inputs, const asked_rows& = {}) const {
        pass activations;
        activations.layer = layer_.forward(values_, layer_inputs);
        static_cast<typename state_head_type::pass&>(activations) = head_.forward(activations.layer.state);
        return activations;
    }

    /// The gradient of a loss by each parameter, given that by each logit. Where `grad_attended` is given, by what was
    /// attended to, too.
    parameter_vector backward(const pass& activations, const batch_type& grad_logits,
                              batch_type* grad_attended = nullptr) const {
        parameter_vector gradient = parameter_vector::Zero(values_.size());
        batch_type grad_state;
        gradient.head(head_.values().size()) = head_.backward(activations, grad_logits, &grad_state);
        layer_.backward(values_, activations.layer, grad_state, gradient, grad_attended);
        return gradient;
    }

 protected:
    /// For `who`, a head that appends parameters of its own to values_.
    layer_head(const char* who, layer_projections<Base> layer, Base base, const head_place& place,
               const head_options& chosen)
        : who_(who),
          options_(chosen),
          head_(std::move(base), place, of_states(chosen)),
          layer_(std::move(layer), chosen.layer_rank, chosen.epsilon, static_cast<std::size_t>(head_.values().size())) {
        if (layer_.width() != head_.hidden_size()) {
            detail::fail(who, ": the layer makes states of ", layer_.width(), " numbers, but the head reads ",
                         head_.hidden_size());
        }
        values_.resize(head_.values().size() + detail::index(layer_.size()));
        values_.head(head_.values().size()) = head_.values();
        layer_.begin(values_, chosen.seed);
    }

    const layer_type& last_layer() const { return layer_; }
    void row_of_state(const batch_type& state, std::span<float> out) const {
        const vector<float> column = state.col(0).template cast<float>();
        head_.row({column.data(), head_.hidden_size()}, out);
    }

    parameter_vector values_;  ///< all: the state head's are a copy of its own

 private:
    static head_options of_states(head_options chosen) {
        chosen.layer_rank = 0;
        return chosen;
    }

    const char* who_;
    head_options options_;
    state_head_type head_;
    layer_type layer_;
};

}  // namespace augur::train
