#pragma once
// The last of the layers that draft, on a path of the draft's own, with low-rank updates that are learned.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "augur/train/first_numbers.hpp"
#include "augur/train/head_base.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/normed.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// A fixed matrix W and what is learned beside it: W + from_rank to_rank.
template <HeadBase Base>
struct updated_projection {
    using numbers = vector<typename Base::scalar>;
    using samples = columns<typename Base::scalar>;

    Base base;
    head_block from_rank{}, to_rank{};  ///< outputs by rank, rank by inputs

    /// What backward needs of a forward.
    struct pass {
        samples in, low;
    };

    samples forward(const numbers& values, samples in, pass& made) const {
        samples out = base.product(in);
        made.low = matrix_of(values, to_rank) * in;
        out.noalias() += matrix_of(values, from_rank) * made.low;
        made.in = std::move(in);
        return out;
    }

    /// Writes the slope by both factors; returns that by `low`.
    samples back(const numbers& values, const pass& made, const samples& by_out, numbers& slope) const {
        train::matrix_of(slope, from_rank).noalias() = by_out * made.low.transpose();
        samples by_low = matrix_of(values, from_rank).transpose() * by_out;
        train::matrix_of(slope, to_rank).noalias() = by_low * made.in.transpose();
        return by_low;
    }
    /// The same, and returns the slope by what came in.
    samples back_to_input(const numbers& values, const pass& made, const samples& by_out, numbers& slope) const {
        const samples by_low = back(values, made, by_out, slope);
        samples by_in = base.transposed(by_out);
        by_in.noalias() += matrix_of(values, to_rank).transpose() * by_low;
        return by_in;
    }
};

/// A layer's matrices, outputs by inputs, and the weights of the norm before its feed-forward part; ones where none.
template <HeadBase Base>
struct layer_projections {
    Base attention_output, gate, up, down;
    std::span<const float> norm_weight{};
};

/// From taps (TappedModel), a column each, to states after the layer: what it attended to, through its output
/// projection, added to the state that entered it; then its feed-forward part. Of these four projections each has a
/// low-rank update, which starts as nothing; queries, keys and values have none, so that they, and with them all that
/// is cached, are the verifier's.
/// The updates lie in an array of somebody else's, from `offset` on.
template <HeadBase Base>
class draft_layer {
 public:
    using scalar = typename Base::scalar;
    using numbers = vector<scalar>;
    using samples = columns<scalar>;
    using projection = updated_projection<Base>;

    /// What backward needs of a forward.
    struct pass {
        typename projection::pass attention_output, gate, up, down;
        train::normed<scalar> unit;
        samples gated, slope_of_gate, raised;  ///< silu(g), its slope, and what it is multiplied by
        samples state;                         ///< after the layer
    };

    /// Throws where the matrices do not fit each other, or the rank none of them.
    draft_layer(layer_projections<Base> from, std::size_t rank, double epsilon, std::size_t offset)
        : attention_output_{std::move(from.attention_output)},
          gate_{std::move(from.gate)},
          up_{std::move(from.up)},
          down_{std::move(from.down)},
          norm_weight_(numbers::Ones(detail::index(width()))),
          epsilon_(epsilon),
          offset_(offset),
          size_(offset) {
        check(from.norm_weight.size(), rank);
        for (std::size_t i = 0; i < from.norm_weight.size(); ++i) {
            norm_weight_[detail::index(i)] = static_cast<scalar>(from.norm_weight[i]);
        }
        place(attention_output_, rank, "attention_output.from_rank", "attention_output.to_rank");
        place(gate_, rank, "gate.from_rank", "gate.to_rank");
        place(up_, rank, "up.from_rank", "up.to_rank");
        place(down_, rank, "down.from_rank", "down.to_rank");
    }

    std::size_t width() const { return attention_output_.base.classes(); }
    std::size_t attended() const { return attention_output_.base.width(); }
    std::size_t tap_size() const { return attended() + width(); }
    /// Numbers that are learned.
    std::size_t size() const { return size_ - offset_; }
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
    void begin(numbers& values, std::uint64_t seed) const {
        std::uint32_t stream = 0;
        for (const projection* each : {&attention_output_, &gate_, &up_, &down_}) {
            block(values, each->from_rank).setZero();
            fill_uniform(values, each->to_rank, seed, ++stream);
        }
    }

    pass forward(const numbers& values, const samples& taps) const {
        pass made;
        made.state = taps.bottomRows(detail::index(width()));
        made.state += attention_output_.forward(values, taps.topRows(detail::index(attended())), made.attention_output);
        made.unit = {made.state, norm_kind::rms, epsilon_};
        samples normed = made.unit.unit;
        normed.array().colwise() *= norm_weight_.array();
        const samples g = gate_.forward(values, normed, made.gate);
        made.raised = up_.forward(values, std::move(normed), made.up);
        const samples share = (1 + (-g.array()).exp()).inverse();
        made.gated = g.cwiseProduct(share);
        made.slope_of_gate = share.array() * (1 + g.array() * (1 - share.array()));
        made.state += down_.forward(values, made.gated.cwiseProduct(made.raised), made.down);
        return made;
    }

    /// Writes the slope of a loss by the updates, given that by each state after the layer. Where `by_attended` is
    /// given, by what was attended to, too.
    void backward(const numbers& values, const pass& made, const samples& by_state, numbers& slope,
                  samples* by_attended = nullptr) const {
        const samples by_inner = down_.back_to_input(values, made.down, by_state, slope);
        const samples by_raised = by_inner.cwiseProduct(made.gated);
        const samples by_gate = by_inner.cwiseProduct(made.raised).cwiseProduct(made.slope_of_gate);
        samples by_normed = up_.back_to_input(values, made.up, by_raised, slope);
        by_normed += gate_.back_to_input(values, made.gate, by_gate, slope);
        by_normed.array().colwise() *= norm_weight_.array();
        const samples by_middle = by_state + made.unit.back(by_normed, norm_kind::rms);
        if (by_attended == nullptr) {
            attention_output_.back(values, made.attention_output, by_middle, slope);
        } else {
            *by_attended = attention_output_.back_to_input(values, made.attention_output, by_middle, slope);
        }
    }

 private:
    void check(std::size_t norm, std::size_t rank) const {
        const auto fits = [](const char* what, std::size_t rows, std::size_t width, const Base& of) {
            if (of.classes() == rows && of.width() == width) return;
            detail::fail("draft_layer: ", what, " is ", of.classes(), " by ", of.width(), ", not ", rows, " by ",
                         width);
        };
        const std::size_t inner = gate_.base.classes();
        fits("gate", inner, width(), gate_.base);
        fits("up", inner, width(), up_.base);
        fits("down", width(), inner, down_.base);
        if (norm != 0 && norm != width()) {
            detail::fail("draft_layer: the norm has ", norm, " weights, but states have ", width(), " numbers");
        }
        const std::size_t most = std::min({width(), attended(), inner});
        if (rank == 0 || rank > most) {
            detail::fail("draft_layer: layer_rank is ", rank, "; it must be between 1 and ", most);
        }
    }
    void place(projection& of, std::size_t rank, std::string_view from_rank, std::string_view to_rank) {
        of.from_rank = {from_rank, size_, of.base.classes(), rank, true};
        size_ += of.from_rank.size();
        of.to_rank = {to_rank, size_, rank, of.base.width(), true};
        size_ += of.to_rank.size();
    }

    projection attention_output_, gate_, up_, down_;
    numbers norm_weight_;
    double epsilon_;
    std::size_t offset_, size_;
};

}  // namespace augur::train
