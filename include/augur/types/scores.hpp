#pragma once
// What a model says: rows of logits, one per scored token.

#include <cstddef>
#include <span>

namespace augur {

/// One row of logits, float32, as long as the vocabulary. A non-owning view.
using logit_row = std::span<const float>;

/// Rows of logits that a model wrote into memory it owns, row-major, `size() x vocabulary_size()`.
/// Valid until the next call that extends the same sequence.
class scores {
 public:
    scores() = default;
    scores(const float* data, std::size_t rows, std::size_t vocabulary_size)
        : data_(data), rows_(rows), vocabulary_size_(vocabulary_size) {}

    std::size_t size() const { return rows_; }
    std::size_t vocabulary_size() const { return vocabulary_size_; }
    logit_row operator[](std::size_t row) const { return {data_ + row * vocabulary_size_, vocabulary_size_}; }
    logit_row back() const { return (*this)[rows_ - 1]; }

 private:
    const float* data_ = nullptr;
    std::size_t rows_ = 0;
    std::size_t vocabulary_size_ = 0;
};

/// Rows that lie in several places, as those of several sequences do. A view of pointers to them.
class scattered_scores {
 public:
    scattered_scores() = default;
    scattered_scores(const float* const* rows, std::size_t size, std::size_t vocabulary_size)
        : rows_(rows), size_(size), vocabulary_size_(vocabulary_size) {}

    std::size_t size() const { return size_; }
    std::size_t vocabulary_size() const { return vocabulary_size_; }
    logit_row operator[](std::size_t row) const { return {rows_[row], vocabulary_size_}; }
    logit_row back() const { return (*this)[size_ - 1]; }

 private:
    const float* const* rows_ = nullptr;
    std::size_t size_ = 0;
    std::size_t vocabulary_size_ = 0;
};

}  // namespace augur
