#pragma once
// The matrix that an exit head starts from, and the products that training needs of it.

#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
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
/// Models: dense_base, packed_base.
template <class B>
concept HeadBase = std::copyable<B> && requires(const B& base, const columns<typename B::scalar>& in) {
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
class dense_base {
 public:
    using scalar = Scalar;

    /// Refers to the weights, which must outlive it and its copies.
    dense_base(std::span<const Scalar> weights, std::size_t classes, std::size_t width)
        : weights_(weights), classes_(classes), width_(width) {
        if (classes == 0 || width == 0) detail::fail("a head of ", classes, " classes by ", width, " has no weights");
        if (weights.size() != classes * width) {
            detail::fail("a head of ", classes, " classes by ", width, " has ", classes * width, " weights, not ",
                         weights.size());
        }
    }
    /// Keeps them.
    dense_base(std::vector<Scalar> weights, std::size_t classes, std::size_t width)
        : dense_base(std::make_shared<const std::vector<Scalar>>(std::move(weights)), classes, width) {}

    std::size_t classes() const { return classes_; }
    std::size_t width() const { return width_; }
    columns<Scalar> product(const columns<Scalar>& in) const { return map() * in; }
    columns<Scalar> transposed(const columns<Scalar>& in) const { return map().transpose() * in; }
    vector<Scalar> row_squares() const { return map().rowwise().squaredNorm(); }
    matrix<Scalar> dense() const { return map(); }

    /// Of these rows alone, in this order: a head over a pruned vocabulary. Copies them.
    dense_base selected(std::span<const token> tokens) const {
        std::vector<Scalar> rows;
        rows.reserve(tokens.size() * width_);
        for (const token id : tokens) {
            if (id < 0 || static_cast<std::size_t>(id) >= classes_) {
                detail::fail("token ", id, " is none of the ", classes_, " that the head has rows for");
            }
            const auto row = weights_.subspan(static_cast<std::size_t>(id) * width_, width_);
            rows.insert(rows.end(), row.begin(), row.end());
        }
        return dense_base(std::move(rows), tokens.size(), width_);
    }

 private:
    dense_base(std::shared_ptr<const std::vector<Scalar>> kept, std::size_t classes, std::size_t width)
        : dense_base(std::span<const Scalar>(*kept), classes, width) {
        kept_ = std::move(kept);
    }
    auto map() const {
        return Eigen::Map<const matrix<Scalar>>(weights_.data(), detail::index(classes_), detail::index(width_));
    }

    std::shared_ptr<const std::vector<Scalar>> kept_;
    std::span<const Scalar> weights_;
    std::size_t classes_, width_;
};

}  // namespace augur::train
