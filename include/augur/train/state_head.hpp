#pragma once
// A trainable head on the hidden states after some layers. See docs/train/state_head.md.

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "augur/train/head_options.hpp"
#include "augur/train/initialisation.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/state_norm.hpp"
#include "augur/train/trainable.hpp"
#include "augur/train/weight_matrix.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// z = scale * W_exit * Norm(h) + bias, W_exit being `Base` and what is learned beside it (head_options). Models
/// draft::ExitHead and Trainable. Copies share the base. The parameters change through assign and swap alone; nobody
/// may be in row() then.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: row(), a product of the base with one state; forward() with as many; backward() two more of that kind where
/// norm or state are learned, else none.
/// Source: DVI, notes 1 and 7.
template <WeightMatrix Base>
class state_head : public head_on_weight_matrix<Base> {
    using base_class = head_on_weight_matrix<Base>;

 public:
    using typename base_class::batch_type;
    using typename base_class::parameter_vector;
    using typename base_class::scalar;
    using options_type = head_options;
    static constexpr bool learns = true;

    /// What backward needs of a forward.
    struct pass {
        train::state_norm<scalar> unit;
        batch_type normalised, low, state, product, logits;
    };

    /// Throws where base, norm or tokens do not fit.
    state_head(Base base, const head_place& place, const head_options& chosen = {})
        : base_class("state_head", std::move(base), place),
          layer_(place.layer),
          options_(chosen),
          layout_(chosen, weight_matrix_.classes(), weight_matrix_.width()) {
        check_norm(place);
        fixed_norm_ = parameter_vector::Ones(detail::index(weight_matrix_.width()));
        for (std::size_t i = 0; i < place.norm_weight.size(); ++i) {
            fixed_norm_[detail::index(i)] = static_cast<scalar>(place.norm_weight[i]);
        }
        if (chosen.weight_norm) row_squares_ = weight_matrix_.row_squares();
        values_ = initial();
        refresh();
    }

    std::size_t layer() const { return layer_; }
    const head_options& options() const { return options_; }
    const head_layout& layout() const { return layout_; }
    auto blocks() const { return layout_.blocks(); }
    std::size_t context_size() const { return 0; }
    /// The global scale, the mean of those of classes, or 1.
    double alpha() const { return layout_.scale.size() == 0 ? 1 : static_cast<double>(block(layout_.scale).mean()); }

    void assign(const parameter_vector& values) {
        if (values.size() != values_.size()) {
            detail::fail("state_head: it has ", values_.size(), " parameters, not ", values.size());
        }
        values_ = values;
        refresh();
    }
    /// Swaps the parameters of two heads of one kind, at no cost.
    void swap(state_head& other) {
        if (other.values_.size() != values_.size()) {
            detail::fail("state_head: cannot swap heads with ", values_.size(), " and ", other.values_.size(),
                         " parameters");
        }
        values_.swap(other.values_);
        row_norms_.swap(other.row_norms_);
    }

    /// Logits of the whole vocabulary after one state; -infinity for a token without a class.
    void row(std::span<const float> hidden, std::span<float> out) const {
        if (hidden.size() != weight_matrix_.width() || out.size() != this->vocabulary_size()) {
            detail::fail("state_head: it makes ", this->vocabulary_size(), " logits of a state of ",
                         weight_matrix_.width(), " numbers, not ", out.size(), " of ", hidden.size());
        }
        this->write_row(forward(base_class::column_of(hidden)).logits, out);
    }

    /// Of states, a column each: logits of the classes, a column each.
    pass forward(const batch_type& states, const asked_rows& = {}) const {
        pass activations;
        activations.unit = {states, options_.norm, options_.epsilon};
        activations.normalised = activations.unit.unit;
        if (options_.norm != norm_kind::none) {
            activations.normalised.array().colwise() *= norm_weights().array();
            if (layout_.norm_bias.size() != 0) activations.normalised.colwise() += block(layout_.norm_bias);
        }
        activations.state = activations.normalised;
        if (layout_.down.size() != 0) activations.low = matrix_of(layout_.down) * activations.normalised;
        if (options_.update == update_kind::state)
            activations.state.noalias() += matrix_of(layout_.up) * activations.low;
        if (options_.update == update_kind::full) {
            activations.product = matrix_of(layout_.full) * activations.state;
        } else {
            activations.product = weight_matrix_.product(activations.state);
        }
        if (options_.update == update_kind::output)
            activations.product.noalias() += matrix_of(layout_.up) * activations.low;
        activations.logits = activations.product;
        if (options_.weight_norm) activations.logits.array().colwise() *= lengths().array();
        if (layout_.scale.size() == 1) {
            activations.logits *= block(layout_.scale)[0];
        } else if (layout_.scale.size() != 0) {
            activations.logits.array().colwise() *= block(layout_.scale).array();
        }
        if (layout_.bias.size() != 0) activations.logits.colwise() += block(layout_.bias);
        return activations;
    }

    /// The gradient of a loss by each parameter, given that by each logit. Where `grad_states` is given, by the states,
    /// too.
    parameter_vector backward(const pass& activations, const batch_type& grad_logits,
                              batch_type* grad_states = nullptr) const {
        parameter_vector gradient = parameter_vector::Zero(values_.size());
        if (layout_.bias.size() != 0) train::block(gradient, layout_.bias) = grad_logits.rowwise().sum();
        batch_type grad_product = grad_logits;
        if (layout_.scale.size() != 0) back_through_scale(activations, grad_logits, grad_product, gradient);
        parameter_vector grad_norm;
        if (options_.weight_norm) {
            const parameter_vector grad_row = grad_product.cwiseProduct(activations.product).rowwise().sum();
            const auto gain = block(layout_.gain).array();
            train::block(gradient, layout_.gain) = grad_row.array() / row_norms_.array();
            grad_norm = -grad_row.array() * gain / row_norms_.array().square();
            grad_product.array().colwise() *= lengths().array();
        }
        back_through_weights(activations, grad_product, gradient, grad_states);
        if (options_.weight_norm) back_through_norms(grad_norm, gradient);
        return gradient;
    }

 private:
    using base_class::values_;
    using base_class::weight_matrix_;

    void check_norm(const head_place& place) const {
        const std::size_t width = weight_matrix_.width();
        if (!place.norm_weight.empty() && place.norm_weight.size() != width) {
            detail::fail("state_head: the norm has ", place.norm_weight.size(), " weights, but hidden states have ",
                         width, " numbers");
        }
    }

    parameter_vector initial() const {
        parameter_vector values = parameter_vector::Zero(detail::index(layout_.size));
        if (layout_.norm_weight.size() != 0) train::block(values, layout_.norm_weight) = fixed_norm_;
        fill_uniform(values, layout_.down, options_.seed, 0);
        if (layout_.full.size() != 0) {
            const matrix<scalar> dense = weight_matrix_.dense();
            train::block(values, layout_.full) = Eigen::Map<const parameter_vector>(dense.data(), dense.size());
        }
        if (layout_.gain.size() != 0) train::block(values, layout_.gain) = row_squares_.cwiseSqrt();
        if (layout_.scale.size() != 0) train::block(values, layout_.scale).setOnes();
        return values;
    }

    /// What is kept of the numbers so that rows need not compute it.
    void refresh() {
        if (!options_.weight_norm) return;
        parameter_vector squares = row_squares_;
        if (options_.update == update_kind::full) squares = matrix_of(layout_.full).rowwise().squaredNorm();
        if (options_.update == update_kind::output) {
            const auto up = matrix_of(layout_.up);
            const batch_type crossed = weight_matrix_.product(matrix_of(layout_.down).transpose());
            squares +=
                2 * up.cwiseProduct(crossed).rowwise().sum() + (up * down_gram()).cwiseProduct(up).rowwise().sum();
        }
        row_norms_ = squares.cwiseMax(scalar(1e-20)).cwiseSqrt();
    }

    void back_through_scale(const pass& activations, const batch_type& grad_logits, batch_type& grad_product,
                            parameter_vector& gradient) const {
        batch_type before = activations.product;
        if (options_.weight_norm) before.array().colwise() *= lengths().array();
        const auto each = grad_logits.cwiseProduct(before);
        if (layout_.scale.size() == 1) {
            train::block(gradient, layout_.scale)[0] = each.sum();
            grad_product *= block(layout_.scale)[0];
        } else {
            train::block(gradient, layout_.scale) = each.rowwise().sum();
            grad_product.array().colwise() *= block(layout_.scale).array();
        }
    }

    void back_through_weights(const pass& activations, const batch_type& grad_product, parameter_vector& gradient,
                              batch_type* grad_states) const {
        const bool norm_learns = layout_.norm_weight.size() != 0, goes_on = norm_learns || grad_states != nullptr;
        batch_type grad_state, grad_normalised;
        if (options_.update == update_kind::full) {
            train::matrix_of(gradient, layout_.full).noalias() = grad_product * activations.state.transpose();
            if (goes_on) grad_state = matrix_of(layout_.full).transpose() * grad_product;
        } else if (goes_on || options_.update == update_kind::state) {
            grad_state = weight_matrix_.transposed(grad_product);
        }
        if (goes_on) grad_normalised = grad_state;
        if (layout_.up.size() != 0) {
            const batch_type& grad_update = options_.update == update_kind::state ? grad_state : grad_product;
            train::matrix_of(gradient, layout_.up).noalias() = grad_update * activations.low.transpose();
            const batch_type grad_low = matrix_of(layout_.up).transpose() * grad_update;
            train::matrix_of(gradient, layout_.down).noalias() = grad_low * activations.normalised.transpose();
            if (goes_on) grad_normalised.noalias() += matrix_of(layout_.down).transpose() * grad_low;
        }
        if (norm_learns) {
            train::block(gradient, layout_.norm_weight) =
                grad_normalised.cwiseProduct(activations.unit.unit).rowwise().sum();
            if (layout_.norm_bias.size() != 0)
                train::block(gradient, layout_.norm_bias) = grad_normalised.rowwise().sum();
        }
        if (grad_states == nullptr) return;
        if (options_.norm != norm_kind::none) grad_normalised.array().colwise() *= norm_weights().array();
        *grad_states = activations.unit.backward(grad_normalised, options_.norm);
    }

    /// Through the lengths of W_exit's rows, which weight norm divides by.
    void back_through_norms(const parameter_vector& grad_norm, parameter_vector& gradient) const {
        const parameter_vector share = grad_norm.array() / row_norms_.array();
        if (options_.update == update_kind::full) {
            train::matrix_of(gradient, layout_.full) += share.asDiagonal() * matrix_of(layout_.full);
        } else if (options_.update == update_kind::output) {
            const auto up = matrix_of(layout_.up);
            const batch_type crossed = weight_matrix_.product(matrix_of(layout_.down).transpose());
            const batch_type weighed = share.asDiagonal() * up;
            train::matrix_of(gradient, layout_.up) += share.asDiagonal() * (crossed + up * down_gram());
            train::matrix_of(gradient, layout_.down) +=
                weight_matrix_.transposed(weighed).transpose() + (weighed.transpose() * up) * matrix_of(layout_.down);
        }
    }

    matrix<scalar> down_gram() const { return matrix_of(layout_.down) * matrix_of(layout_.down).transpose(); }
    parameter_vector norm_weights() const {
        return layout_.norm_weight.size() != 0 ? parameter_vector(block(layout_.norm_weight)) : fixed_norm_;
    }
    parameter_vector lengths() const { return block(layout_.gain).array() / row_norms_.array(); }

    auto block(const head_block& at) const { return train::block(values_, at); }
    auto matrix_of(const head_block& at) const { return train::matrix_of(values_, at); }

    std::size_t layer_;
    head_options options_;
    head_layout layout_;
    parameter_vector fixed_norm_, row_squares_, row_norms_;
};

}  // namespace augur::train
