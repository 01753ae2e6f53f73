#pragma once
// The attention of the last draft layer, with trainable low-rank updates that only the draft path uses.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/train/matrix.hpp"
#include "augur/train/state_norm.hpp"
#include "augur/train/updated_projection.hpp"
#include "augur/train/weight_matrix.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// A layer's matrices, outputs by inputs, and the weights of the norm before its attention; ones where none. Outputs
/// are heads of `head_size` numbers; queries are grouped, as many heads of them to each of keys and values. In each
/// head of queries and keys neighbours (2i, 2i + 1) turn by frequencies[i] radians a position; the others do not turn.
template <WeightMatrix Base>
struct attention_projections {
    Base query, key, value;
    std::size_t head_size = 0;
    std::span<const double> frequencies{};
    std::span<const float> norm_weight{};
};

/// Of texts, one after the other, what a row attends to: the columns of its text up to its own.
struct attending_row {
    std::size_t first = 0, own = 0;
};

/// From the states that enter a layer to what each row attended to, before the output projection: causal attention over
/// the whole text before it. Queries, keys and values have a low-rank update each, which starts as nothing.
/// A gradient is that of the loss by the updates with all states held fixed: through the row's own query, key and
/// value, and through keys and values of every position before it, which the present updates make, too. Nothing is held
/// constant but the states, which are the verifier's.
/// The updates lie in an array of somebody else's, from `offset` on.
template <WeightMatrix Base>
class draft_attention {
 public:
    using scalar = typename Base::scalar;
    using parameter_vector = vector<scalar>;
    using batch_type = columns<scalar>;
    using projection = updated_projection<Base>;

    /// What backward needs of a forward.
    struct pass {
        typename projection::pass query, key, value;
        batch_type queries, keys, values;  ///< queries and keys turned to their positions
        std::vector<batch_type> weights;   ///< of each row: positions by heads of queries
        std::vector<attending_row> rows;
        batch_type attended;
    };

    /// Keys and values of a text, position by position.
    /// Memory: (width + 4 * key_size()) numbers a position: its state, and keys and values with and without updates, so
    /// that new updates cost no product of the whole matrices.
    struct sequence {
        std::vector<float> states;
        std::vector<scalar> fixed_keys, fixed_values, keys, values;
        std::uint64_t made_by = 0;  ///< the numbers that keys and values are of
    };

    /// Throws where the matrices do not fit each other, or the rank none of them.
    draft_attention(attention_projections<Base> from, std::size_t rank, double epsilon, std::size_t offset)
        : query_{std::move(from.query)},
          key_{std::move(from.key)},
          value_{std::move(from.value)},
          head_size_(from.head_size),
          frequencies_(from.frequencies.begin(), from.frequencies.end()),
          norm_weight_(norm_weights<scalar>(from.norm_weight, width(), "draft_attention")),
          epsilon_(epsilon),
          layout_(offset) {
        check(rank);
        layout_.place(query_, rank, "query.from_rank", "query.to_rank");
        layout_.place(key_, rank, "key.from_rank", "key.to_rank");
        layout_.place(value_, rank, "value.from_rank", "value.to_rank");
    }

    std::size_t width() const { return query_.base.width(); }
    std::size_t attended() const { return query_.base.classes(); }
    std::size_t key_size() const { return key_.base.classes(); }
    /// Numbers that are learned.
    std::size_t size() const { return layout_.size(); }
    std::array<head_block, 6> blocks() const {
        return {query_.from_rank, query_.to_rank, key_.from_rank, key_.to_rank, value_.from_rank, value_.to_rank};
    }

    /// As they are at first: `from_rank` is 0.
    void begin(parameter_vector& values, std::uint64_t seed) const {
        begin_updates(values, seed, 16, {&query_, &key_, &value_});  // streams before are a draft_layer's
    }

    /// `states`: of all texts, a column each; `positions` of each in its text.
    pass forward(const parameter_vector& values, const batch_type& states, std::span<const std::size_t> positions,
                 std::span<const attending_row> rows) const {
        pass activations;
        activations.rows.assign(rows.begin(), rows.end());
        batch_type in = normalised_of(states);
        batch_type own(in.rows(), detail::index(rows.size()));
        std::vector<std::size_t> at;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            own.col(detail::index(i)) = in.col(detail::index(rows[i].own));
            at.push_back(positions[rows[i].own]);
        }
        activations.queries = query_.forward(values, std::move(own), activations.query);
        turn(activations.queries, at, 1);
        activations.keys = key_.forward(values, in, activations.key);
        turn(activations.keys, positions, 1);
        activations.values = value_.forward(values, std::move(in), activations.value);
        activations.attended.resize(activations.queries.rows(), activations.queries.cols());
        activations.weights.resize(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto first = detail::index(rows[i].first), count = detail::index(rows[i].own) - first + 1;
            attend(activations.queries.col(detail::index(i)), activations.keys.middleCols(first, count),
                   activations.values.middleCols(first, count), activations.attended.col(detail::index(i)),
                   activations.weights[i]);
        }
        return activations;
    }

    /// Writes the gradient of a loss by the updates, given that by what each row attended to.
    void backward(const parameter_vector& values, const pass& activations, const batch_type& grad_attended,
                  parameter_vector& gradient) const {
        batch_type grad_query = batch_type::Zero(activations.queries.rows(), activations.queries.cols());
        batch_type grad_key = batch_type::Zero(activations.keys.rows(), activations.keys.cols());
        batch_type grad_value = batch_type::Zero(activations.values.rows(), activations.values.cols());
        std::vector<std::size_t> at, positions(static_cast<std::size_t>(activations.keys.cols()));
        for (std::size_t i = 0; i < activations.rows.size(); ++i) {
            const auto first = detail::index(activations.rows[i].first), row = detail::index(i);
            const batch_type& weights = activations.weights[i];
            at.push_back(activations.rows[i].own - activations.rows[i].first);
            for (std::size_t k = 0; k <= at.back(); ++k) positions[activations.rows[i].first + k] = k;
            for (std::size_t head = 0; head < heads(); ++head) {
                const auto q = detail::index(head * head_size_), size = detail::index(head_size_);
                const auto k = detail::index(key_head(head) * head_size_);
                const auto weight = weights.col(detail::index(head));
                const auto by = grad_attended.col(row).segment(q, size);
                parameter_vector grad_score = activations.values.block(k, first, size, weight.size()).transpose() * by;
                grad_value.block(k, first, size, weight.size()).noalias() += by * weight.transpose();
                grad_score = scale() * weight.array() * (grad_score.array() - weight.dot(grad_score));
                grad_query.col(row).segment(q, size).noalias() +=
                    activations.keys.block(k, first, size, weight.size()) * grad_score;
                grad_key.block(k, first, size, weight.size()).noalias() +=
                    activations.queries.col(row).segment(q, size) * grad_score.transpose();
            }
        }
        turn(grad_query, at, -1);
        turn(grad_key, positions, -1);
        query_.back(values, activations.query, grad_query, gradient);
        key_.back(values, activations.key, grad_key, gradient);
        value_.back(values, activations.value, grad_value, gradient);
    }

    std::size_t length(const sequence& of) const { return of.states.size() / width(); }
    void truncate(sequence& of, std::size_t length) const {
        of.states.resize(length * width());
        for (auto* each : {&of.fixed_keys, &of.fixed_values, &of.keys, &of.values}) each->resize(length * key_size());
    }
    /// States of whole positions, in order. `made_by` names `values`, by which all keys and values then are.
    void append(const parameter_vector& values, std::uint64_t made_by, sequence& to,
                std::span<const float> states) const {
        renew(values, made_by, to);
        const std::size_t first = length(to);
        to.states.insert(to.states.end(), states.begin(), states.end());
        const batch_type in = normalised_from(to, first);
        store(key_.base.product(in), to.fixed_keys);
        store(value_.base.product(in), to.fixed_values);
        write(values, to, first);
    }
    /// What the last position attends to, and then the state that it entered with: the layer input of a draft_layer.
    batch_type layer_input(const parameter_vector& values, std::uint64_t made_by, sequence& of) const {
        renew(values, made_by, of);
        const std::size_t count = length(of);
        if (count == 0) detail::fail("draft_attention: a sequence without positions attends to nothing");
        typename projection::pass unused;
        batch_type query = query_.forward(values, normalised_from(of, count - 1), unused), weights;
        const std::size_t at[] = {count - 1};
        turn(query, at, 1);
        batch_type inputs(detail::index(attended() + width()), 1);
        attend(query.col(0), of_keys(of.keys), of_keys(of.values), inputs.topRows(query.rows()).col(0), weights);
        inputs.bottomRows(detail::index(width())) = states_from(of, count - 1);
        return inputs;
    }

 private:
    std::size_t heads() const { return attended() / head_size_; }
    std::size_t key_head(std::size_t head) const { return head / (attended() / key_size()); }
    scalar scale() const { return static_cast<scalar>(1 / std::sqrt(static_cast<double>(head_size_))); }

    batch_type normalised_of(const batch_type& states) const {
        batch_type normalised = state_norm<scalar>(states, norm_kind::rms, epsilon_).unit;
        normalised.array().colwise() *= norm_weight_.array();
        return normalised;
    }
    batch_type states_from(const sequence& of, std::size_t first) const {
        const Eigen::Map<const columns<float>> all(of.states.data(), detail::index(width()), detail::index(length(of)));
        return all.rightCols(detail::index(length(of) - first)).template cast<scalar>();
    }
    batch_type normalised_from(const sequence& of, std::size_t first) const {
        return normalised_of(states_from(of, first));
    }
    auto of_keys(const std::vector<scalar>& numbers_of) const {
        return Eigen::Map<const batch_type>(numbers_of.data(), detail::index(key_size()),
                                            detail::index(numbers_of.size() / key_size()));
    }
    static void store(const batch_type& from, std::vector<scalar>& to) {
        to.insert(to.end(), from.data(), from.data() + from.size());
    }

    /// Keys and values by other updates are made anew.
    void renew(const parameter_vector& values, std::uint64_t made_by, sequence& of) const {
        if (of.made_by == made_by) return;
        of.made_by = made_by;
        of.keys.clear();
        of.values.clear();
        if (!of.states.empty()) write(values, of, 0);
    }
    /// Keys and values from position `first` on, of those without updates.
    void write(const parameter_vector& values, sequence& of, std::size_t first) const {
        const batch_type in = normalised_from(of, first);
        const auto updated = [&](const projection& by, const std::vector<scalar>& fixed) {
            batch_type written = of_keys(fixed).rightCols(in.cols());
            written.noalias() += matrix_of(values, by.from_rank) * (matrix_of(values, by.to_rank) * in);
            return written;
        };
        batch_type keys = updated(key_, of.fixed_keys);
        std::vector<std::size_t> positions;
        for (std::size_t at = first; at < length(of); ++at) positions.push_back(at);
        turn(keys, positions, 1);
        store(keys, of.keys);
        store(updated(value_, of.fixed_values), of.values);
    }

    /// `way`: 1, or -1 for back.
    void turn(batch_type& of, std::span<const std::size_t> positions, double way) const {
        for (Eigen::Index column = 0; column < of.cols(); ++column) {
            const auto position = static_cast<double>(positions[static_cast<std::size_t>(column)]);
            for (std::size_t pair = 0; pair < frequencies_.size(); ++pair) {
                const double angle = position * frequencies_[pair];
                const auto c = static_cast<scalar>(std::cos(angle)), s = static_cast<scalar>(way * std::sin(angle));
                for (std::size_t head = 0; head * head_size_ < static_cast<std::size_t>(of.rows()); ++head) {
                    scalar* const at = &of(detail::index(head * head_size_ + 2 * pair), column);
                    const scalar even = at[0], odd = at[1];
                    at[0] = even * c - odd * s;
                    at[1] = even * s + odd * c;
                }
            }
        }
    }

    template <class Query, class Keys, class Out>
    void attend(const Query& query, const Keys& keys, const Keys& values, Out&& out, batch_type& weights) const {
        const auto size = detail::index(head_size_);
        weights.resize(keys.cols(), detail::index(heads()));
        for (std::size_t head = 0; head < heads(); ++head) {
            const auto q = detail::index(head * head_size_), k = detail::index(key_head(head) * head_size_);
            auto weight = weights.col(detail::index(head));
            weight.noalias() = scale() * (keys.middleRows(k, size).transpose() * query.segment(q, size));
            const scalar largest = weight.maxCoeff();
            weight = (weight.array() - largest).exp();
            weight /= weight.sum();
            out.segment(q, size).noalias() = values.middleRows(k, size) * weight;
        }
    }

    void check(std::size_t rank) const {
        const std::size_t size = head_size_, wide = attended();
        if (key_.base.width() != width() || value_.base.width() != width() || value_.base.classes() != key_size()) {
            detail::fail("draft_attention: queries, keys and values of states of ", width(), ", ", key_.base.width(),
                         " and ", value_.base.width(), " numbers, and ", key_size(), " numbers of keys, but ",
                         value_.base.classes(), " of values");
        }
        if (size == 0 || wide % size != 0 || key_size() % size != 0 || wide % key_size() != 0) {
            detail::fail("draft_attention: heads of ", size, " numbers do not divide queries of ", wide,
                         " and keys of ", key_size());
        }
        if (2 * frequencies_.size() > size) {
            detail::fail("draft_attention: ", frequencies_.size(), " pairs turn, but heads have ", size, " numbers");
        }
        const std::size_t most = std::min(width(), key_size());
        if (rank == 0 || rank > most) {
            detail::fail("draft_attention: attention_rank is ", rank, "; it must be between 1 and ", most);
        }
    }
    projection query_, key_, value_;
    std::size_t head_size_;
    std::vector<double> frequencies_;
    parameter_vector norm_weight_;
    double epsilon_;
    update_layout layout_;
};

}  // namespace augur::train
