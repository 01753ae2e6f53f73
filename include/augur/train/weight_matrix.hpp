#pragma once
// The frozen output matrix of a head, its products for training, and the common parts of heads on it.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/train/matrix.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// A fixed matrix of classes() rows by width() columns.
/// Define: scalar; classes(), width(); product(columns) = matrix * columns; transposed(columns) = matrix^T * columns;
///         row_squares(), the squared norm of each row; dense(), all of it (for heads that train the whole matrix).
/// Laws:   immutable, cheap to copy (copies share the weights), safe to use from several threads.
/// Models: dense_weight_matrix, packed_weight_matrix.
template <class B>
concept WeightMatrix = std::copyable<B> && requires(const B& base, const columns<typename B::scalar>& in) {
    { base.classes() } -> std::same_as<std::size_t>;
    { base.width() } -> std::same_as<std::size_t>;
    { base.product(in) } -> std::convertible_to<columns<typename B::scalar>>;
    { base.transposed(in) } -> std::convertible_to<columns<typename B::scalar>>;
    { base.row_squares() } -> std::convertible_to<vector<typename B::scalar>>;
    { base.dense() } -> std::convertible_to<matrix<typename B::scalar>>;
};

/// Throws unless there is a row for each token that is listed, of the vocabulary where none is, and each token has one.
inline void check_classes(const char* who, std::span<const token> tokens, std::size_t vocabulary, std::size_t rows) {
    const std::size_t listed = tokens.empty() ? vocabulary : tokens.size();
    if (listed != rows) detail::fail(who, ": the base has ", rows, " rows, but there are ", listed, " tokens");
    std::vector<bool> seen(vocabulary);
    for (const token id : tokens) {
        if (id < 0 || static_cast<std::size_t>(id) >= vocabulary) {
            detail::fail(who, ": token ", id, " is outside a vocabulary of ", vocabulary);
        }
        if (seen[static_cast<std::size_t>(id)]) detail::fail(who, ": token ", id, " is listed twice");
        seen[static_cast<std::size_t>(id)] = true;
    }
}

/// Numbers in rows, somebody else's or its own. Products by Eigen.
template <class Scalar>
class dense_weight_matrix {
 public:
    using scalar = Scalar;

    /// Refers to the weights, which must outlive it and its copies.
    dense_weight_matrix(std::span<const Scalar> weights, std::size_t classes, std::size_t width)
        : weights_(weights), classes_(classes), width_(width) {
        if (classes == 0 || width == 0) detail::fail("a head of ", classes, " classes by ", width, " has no weights");
        if (weights.size() != classes * width) {
            detail::fail("a head of ", classes, " classes by ", width, " has ", classes * width, " weights, not ",
                         weights.size());
        }
    }
    /// Keeps them.
    dense_weight_matrix(std::vector<Scalar> weights, std::size_t classes, std::size_t width)
        : dense_weight_matrix(std::make_shared<const std::vector<Scalar>>(std::move(weights)), classes, width) {}

    std::size_t classes() const { return classes_; }
    std::size_t width() const { return width_; }
    columns<Scalar> product(const columns<Scalar>& in) const { return map() * in; }
    columns<Scalar> transposed(const columns<Scalar>& in) const { return map().transpose() * in; }
    vector<Scalar> row_squares() const { return map().rowwise().squaredNorm(); }
    matrix<Scalar> dense() const { return map(); }

    /// Of these rows alone, in this order: a head over a pruned vocabulary. Copies them.
    dense_weight_matrix selected(std::span<const token> tokens) const {
        std::vector<Scalar> rows;
        rows.reserve(tokens.size() * width_);
        for (const token id : tokens) {
            if (id < 0 || static_cast<std::size_t>(id) >= classes_) {
                detail::fail("token ", id, " is none of the ", classes_, " that the head has rows for");
            }
            const auto row = weights_.subspan(static_cast<std::size_t>(id) * width_, width_);
            rows.insert(rows.end(), row.begin(), row.end());
        }
        return dense_weight_matrix(std::move(rows), tokens.size(), width_);
    }

 private:
    dense_weight_matrix(std::shared_ptr<const std::vector<Scalar>> kept, std::size_t classes, std::size_t width)
        : dense_weight_matrix(std::span<const Scalar>(*kept), classes, width) {
        kept_ = std::move(kept);
    }
    auto map() const {
        return Eigen::Map<const matrix<Scalar>>(weights_.data(), detail::index(classes_), detail::index(width_));
    }

    std::shared_ptr<const std::vector<Scalar>> kept_;
    std::span<const Scalar> weights_;
    std::size_t classes_, width_;
};

/// Where a head sits and what it clones. Draft heads read the last states, which are normalised.
struct head_place {
    std::size_t layer = 0;                 ///< it reads hidden states after so many layers
    std::size_t vocabulary_size = 0;       ///< of the model
    std::span<const float> norm_weight{};  ///< of the model's final norm, for exits; empty: ones
    std::span<const token> tokens{};       ///< those it has classes for, row by row of the base; empty: all
    std::string vocabulary_fingerprint{};  ///< of the model; empty: unknown
};

/// What heads on a base have in common: the tokens of its rows, and the parameters that are trained beside it.
template <WeightMatrix Base>
class head_on_weight_matrix {
 public:
    using scalar = typename Base::scalar;
    using base_type = Base;
    using parameter_vector = vector<scalar>;
    using batch_type = columns<scalar>;

    std::size_t vocabulary_size() const { return vocabulary_; }
    const std::string& vocabulary_fingerprint() const { return fingerprint_; }
    std::size_t hidden_size() const { return weight_matrix_.width(); }
    std::size_t classes() const { return weight_matrix_.classes(); }
    /// The token of each class; empty where the classes are the vocabulary.
    std::span<const token> tokens() const { return tokens_; }
    /// The same as logit_row::possible: they ascend, or nothing is said.
    std::span<const token> possible() const { return ascend_ ? tokens() : std::span<const token>(); }
    const Base& weight_matrix() const { return weight_matrix_; }
    const parameter_vector& values() const { return values_; }

 protected:
    /// Throws where the base's rows are not those of the tokens.
    head_on_weight_matrix(const char* who, Base base, const head_place& place)
        : weight_matrix_(std::move(base)),
          vocabulary_(place.vocabulary_size),
          fingerprint_(place.vocabulary_fingerprint),
          tokens_(place.tokens.begin(), place.tokens.end()),
          ascend_(std::is_sorted(tokens_.begin(), tokens_.end())) {
        check_classes(who, tokens_, vocabulary_, weight_matrix_.classes());
    }

    /// One state as the batch that a row is made of.
    static batch_type column_of(std::span<const float> state) {
        return Eigen::Map<const vector<float>>(state.data(), detail::index(state.size())).template cast<scalar>();
    }
    /// The first column of the classes' logits, for the whole vocabulary; -infinity for a token without a class.
    void write_row(const batch_type& logits, std::span<float> out) const {
        if (!tokens_.empty()) std::fill(out.begin(), out.end(), -std::numeric_limits<float>::infinity());
        for (std::size_t i = 0; i < classes(); ++i) {
            const std::size_t at = tokens_.empty() ? i : static_cast<std::size_t>(tokens_[i]);
            out[at] = static_cast<float>(logits(detail::index(i), 0));
        }
    }

    Base weight_matrix_;
    std::size_t vocabulary_;
    std::string fingerprint_;
    std::vector<token> tokens_;
    bool ascend_;
    parameter_vector values_;
};

}  // namespace augur::train
