#pragma once
// A frozen matrix with a trainable low-rank update (LoRA), and the parameter layout of several.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "augur/train/initialisation.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/weight_matrix.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// A frozen matrix W with a trainable low-rank update: W + from_rank to_rank.
template <WeightMatrix Base>
struct updated_projection {
    using parameter_vector = vector<typename Base::scalar>;
    using batch_type = columns<typename Base::scalar>;

    Base base;
    head_block from_rank{}, to_rank{};  ///< outputs by rank, rank by inputs

    /// What backward needs of a forward.
    struct pass {
        batch_type in, low;
    };

    batch_type forward(const parameter_vector& values, batch_type in, pass& activations) const {
        batch_type out = base.product(in);
        activations.low = matrix_of(values, to_rank) * in;
        out.noalias() += matrix_of(values, from_rank) * activations.low;
        activations.in = std::move(in);
        return out;
    }

    /// Writes the gradient by both factors; returns that by `low`.
    batch_type back(const parameter_vector& values, const pass& activations, const batch_type& grad_output,
                    parameter_vector& gradient) const {
        train::matrix_of(gradient, from_rank).noalias() = grad_output * activations.low.transpose();
        batch_type grad_low = matrix_of(values, from_rank).transpose() * grad_output;
        train::matrix_of(gradient, to_rank).noalias() = grad_low * activations.in.transpose();
        return grad_low;
    }
    /// The same, and returns the gradient by what came in.
    batch_type back_to_input(const parameter_vector& values, const pass& activations, const batch_type& grad_output,
                             parameter_vector& gradient) const {
        const batch_type grad_low = back(values, activations, grad_output, gradient);
        batch_type grad_input = base.transposed(grad_output);
        grad_input.noalias() += matrix_of(values, to_rank).transpose() * grad_low;
        return grad_input;
    }
};

/// The layout of updates in an array that the caller owns: one after the other, from `offset` on.
class update_layout {
 public:
    explicit update_layout(std::size_t offset) : first_(offset), end_(offset) {}

    /// The names must outlive it.
    template <WeightMatrix Base>
    void place(updated_projection<Base>& of, std::size_t rank, std::string_view from_rank, std::string_view to_rank) {
        of.from_rank = {from_rank, end_, of.base.classes(), rank, true};
        end_ += of.from_rank.size();
        of.to_rank = {to_rank, end_, rank, of.base.width(), true};
        end_ += of.to_rank.size();
    }
    /// Numbers of all of them.
    std::size_t size() const { return end_ - first_; }

 private:
    std::size_t first_, end_;
};

/// Updates that change nothing: `from_rank` is 0. Each `to_rank` has a stream of its own, after `stream`.
template <WeightMatrix Base>
void begin_updates(vector<typename Base::scalar>& values, std::uint64_t seed, std::uint32_t stream,
                   std::initializer_list<const updated_projection<Base>*> of) {
    for (const updated_projection<Base>* each : of) {
        block(values, each->from_rank).setZero();
        fill_uniform(values, each->to_rank, seed, ++stream);
    }
}

/// A norm's weights; ones where there are none. Throws where there are others than `width`.
template <class Scalar>
vector<Scalar> norm_weights(std::span<const float> from, std::size_t width, std::string_view who) {
    vector<Scalar> weights = vector<Scalar>::Ones(detail::index(width));
    if (from.empty()) return weights;
    if (from.size() != width) {
        detail::fail(who, ": the norm has ", from.size(), " weights, but states have ", width, " numbers");
    }
    for (std::size_t i = 0; i < width; ++i) weights[detail::index(i)] = static_cast<Scalar>(from[i]);
    return weights;
}

}  // namespace augur::train
