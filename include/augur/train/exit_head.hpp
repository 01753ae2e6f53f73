#pragma once
// A trainable head on the hidden states after some layers. See docs/train/exit_head.md.

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "augur/train/first_numbers.hpp"
#include "augur/train/head_base.hpp"
#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/normed.hpp"
#include "augur/train/teachable.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// z = scale * W_exit * Norm(h) + bias, W_exit being `Base` and what is learned beside it (head_options). Models
/// draft::ExitHead and Teachable. Copies share the base. The numbers change through assign and swap alone; nobody may
/// be in row() then.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: row(), a product of the base with one state; forward() with as many; backward() two more of that kind where
/// norm or state are learned, else none.
/// Source: DVI, notes 1 and 7.
template <HeadBase Base>
class exit_head : public head_on_base<Base> {
    using base_class = head_on_base<Base>;

 public:
    using typename base_class::numbers;
    using typename base_class::samples;
    using typename base_class::scalar;
    using options_type = head_options;
    static constexpr bool learns = true;

    /// What backward needs of a forward.
    struct pass {
        train::normed<scalar> unit;
        samples normed, low, state, product, logits;
    };

    /// Throws where base, norm or tokens do not fit.
    exit_head(Base base, const head_place& place, const head_options& chosen = {})
        : base_class("exit_head", std::move(base), place),
          layer_(place.layer),
          options_(chosen),
          layout_(chosen, base_.classes(), base_.width()) {
        check_norm(place);
        fixed_norm_ = numbers::Ones(detail::index(base_.width()));
        for (std::size_t i = 0; i < place.norm_weight.size(); ++i) {
            fixed_norm_[detail::index(i)] = static_cast<scalar>(place.norm_weight[i]);
        }
        if (chosen.weight_norm) row_squares_ = base_.row_squares();
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

    void assign(const numbers& values) {
        if (values.size() != values_.size()) {
            detail::fail("exit_head: it has ", values_.size(), " parameters, not ", values.size());
        }
        values_ = values;
        refresh();
    }
    /// The numbers of two heads of one kind change places, at no cost.
    void swap(exit_head& other) {
        if (other.values_.size() != values_.size()) {
            detail::fail("exit_head: cannot swap heads with ", values_.size(), " and ", other.values_.size(),
                         " parameters");
        }
        values_.swap(other.values_);
        row_norms_.swap(other.row_norms_);
    }

    /// Logits of the whole vocabulary after one state; -infinity for a token without a class.
    void row(std::span<const float> hidden, std::span<float> out) const {
        if (hidden.size() != base_.width() || out.size() != this->vocabulary_size()) {
            detail::fail("exit_head: it makes ", this->vocabulary_size(), " logits of a state of ", base_.width(),
                         " numbers, not ", out.size(), " of ", hidden.size());
        }
        this->write_row(forward(base_class::column_of(hidden)).logits, out);
    }

    /// Of states, a column each: logits of the classes, a column each.
    pass forward(const samples& states, const asked_rows& = {}) const {
        pass made;
        made.unit = {states, options_.norm, options_.epsilon};
        made.normed = made.unit.unit;
        if (options_.norm != norm_kind::none) {
            made.normed.array().colwise() *= norm_weights().array();
            if (layout_.norm_bias.size() != 0) made.normed.colwise() += block(layout_.norm_bias);
        }
        made.state = made.normed;
        if (layout_.down.size() != 0) made.low = matrix_of(layout_.down) * made.normed;
        if (options_.update == update_kind::state) made.state.noalias() += matrix_of(layout_.up) * made.low;
        if (options_.update == update_kind::full) {
            made.product = matrix_of(layout_.full) * made.state;
        } else {
            made.product = base_.product(made.state);
        }
        if (options_.update == update_kind::output) made.product.noalias() += matrix_of(layout_.up) * made.low;
        made.logits = made.product;
        if (options_.weight_norm) made.logits.array().colwise() *= lengths().array();
        if (layout_.scale.size() == 1) {
            made.logits *= block(layout_.scale)[0];
        } else if (layout_.scale.size() != 0) {
            made.logits.array().colwise() *= block(layout_.scale).array();
        }
        if (layout_.bias.size() != 0) made.logits.colwise() += block(layout_.bias);
        return made;
    }

    /// The slope of a loss by each learned number, given that by each logit. Where `by_states` is given, by the states,
    /// too.
    numbers backward(const pass& made, const samples& by_logit, samples* by_states = nullptr) const {
        numbers slope = numbers::Zero(values_.size());
        if (layout_.bias.size() != 0) train::block(slope, layout_.bias) = by_logit.rowwise().sum();
        samples by_product = by_logit;
        if (layout_.scale.size() != 0) back_through_scale(made, by_logit, by_product, slope);
        numbers by_norm;
        if (options_.weight_norm) {
            const numbers by_row = by_product.cwiseProduct(made.product).rowwise().sum();
            const auto gain = block(layout_.gain).array();
            train::block(slope, layout_.gain) = by_row.array() / row_norms_.array();
            by_norm = -by_row.array() * gain / row_norms_.array().square();
            by_product.array().colwise() *= lengths().array();
        }
        back_through_weights(made, by_product, slope, by_states);
        if (options_.weight_norm) back_through_norms(by_norm, slope);
        return slope;
    }

 private:
    using base_class::base_;
    using base_class::values_;

    void check_norm(const head_place& place) const {
        const std::size_t width = base_.width();
        if (!place.norm_weight.empty() && place.norm_weight.size() != width) {
            detail::fail("exit_head: the norm has ", place.norm_weight.size(), " weights, but hidden states have ",
                         width, " numbers");
        }
    }

    numbers initial() const {
        numbers made = numbers::Zero(detail::index(layout_.size));
        if (layout_.norm_weight.size() != 0) train::block(made, layout_.norm_weight) = fixed_norm_;
        fill_uniform(made, layout_.down, options_.seed, 0);
        if (layout_.full.size() != 0) {
            const matrix<scalar> dense = base_.dense();
            train::block(made, layout_.full) = Eigen::Map<const numbers>(dense.data(), dense.size());
        }
        if (layout_.gain.size() != 0) train::block(made, layout_.gain) = row_squares_.cwiseSqrt();
        if (layout_.scale.size() != 0) train::block(made, layout_.scale).setOnes();
        return made;
    }

    /// What is kept of the numbers so that rows need not compute it.
    void refresh() {
        if (!options_.weight_norm) return;
        numbers squares = row_squares_;
        if (options_.update == update_kind::full) squares = matrix_of(layout_.full).rowwise().squaredNorm();
        if (options_.update == update_kind::output) {
            const auto up = matrix_of(layout_.up);
            const samples crossed = base_.product(matrix_of(layout_.down).transpose());
            squares +=
                2 * up.cwiseProduct(crossed).rowwise().sum() + (up * down_gram()).cwiseProduct(up).rowwise().sum();
        }
        row_norms_ = squares.cwiseMax(scalar(1e-20)).cwiseSqrt();
    }

    void back_through_scale(const pass& made, const samples& by_logit, samples& by_product, numbers& slope) const {
        samples before = made.product;
        if (options_.weight_norm) before.array().colwise() *= lengths().array();
        const auto each = by_logit.cwiseProduct(before);
        if (layout_.scale.size() == 1) {
            train::block(slope, layout_.scale)[0] = each.sum();
            by_product *= block(layout_.scale)[0];
        } else {
            train::block(slope, layout_.scale) = each.rowwise().sum();
            by_product.array().colwise() *= block(layout_.scale).array();
        }
    }

    void back_through_weights(const pass& made, const samples& by_product, numbers& slope, samples* by_states) const {
        const bool norm_learns = layout_.norm_weight.size() != 0, goes_on = norm_learns || by_states != nullptr;
        samples by_state, by_normed;
        if (options_.update == update_kind::full) {
            train::matrix_of(slope, layout_.full).noalias() = by_product * made.state.transpose();
            if (goes_on) by_state = matrix_of(layout_.full).transpose() * by_product;
        } else if (goes_on || options_.update == update_kind::state) {
            by_state = base_.transposed(by_product);
        }
        if (goes_on) by_normed = by_state;
        if (layout_.up.size() != 0) {
            const samples& by_update = options_.update == update_kind::state ? by_state : by_product;
            train::matrix_of(slope, layout_.up).noalias() = by_update * made.low.transpose();
            const samples by_low = matrix_of(layout_.up).transpose() * by_update;
            train::matrix_of(slope, layout_.down).noalias() = by_low * made.normed.transpose();
            if (goes_on) by_normed.noalias() += matrix_of(layout_.down).transpose() * by_low;
        }
        if (norm_learns) {
            train::block(slope, layout_.norm_weight) = by_normed.cwiseProduct(made.unit.unit).rowwise().sum();
            if (layout_.norm_bias.size() != 0) train::block(slope, layout_.norm_bias) = by_normed.rowwise().sum();
        }
        if (by_states == nullptr) return;
        if (options_.norm != norm_kind::none) by_normed.array().colwise() *= norm_weights().array();
        *by_states = made.unit.back(by_normed, options_.norm);
    }

    /// Through the lengths of W_exit's rows, which weight norm divides by.
    void back_through_norms(const numbers& by_norm, numbers& slope) const {
        const numbers share = by_norm.array() / row_norms_.array();
        if (options_.update == update_kind::full) {
            train::matrix_of(slope, layout_.full) += share.asDiagonal() * matrix_of(layout_.full);
        } else if (options_.update == update_kind::output) {
            const auto up = matrix_of(layout_.up);
            const samples crossed = base_.product(matrix_of(layout_.down).transpose());
            const samples weighed = share.asDiagonal() * up;
            train::matrix_of(slope, layout_.up) += share.asDiagonal() * (crossed + up * down_gram());
            train::matrix_of(slope, layout_.down) +=
                base_.transposed(weighed).transpose() + (weighed.transpose() * up) * matrix_of(layout_.down);
        }
    }

    matrix<scalar> down_gram() const { return matrix_of(layout_.down) * matrix_of(layout_.down).transpose(); }
    numbers norm_weights() const {
        return layout_.norm_weight.size() != 0 ? numbers(block(layout_.norm_weight)) : fixed_norm_;
    }
    numbers lengths() const { return block(layout_.gain).array() / row_norms_.array(); }

    auto block(const head_block& at) const { return train::block(values_, at); }
    auto matrix_of(const head_block& at) const { return train::matrix_of(values_, at); }

    std::size_t layer_;
    head_options options_;
    head_layout layout_;
    numbers fixed_norm_, row_squares_, row_norms_;
};

}  // namespace augur::train
