#pragma once
// A model's scores: one row of logits per scored token.

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/detail/host_device.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// One row of logits, float32, as long as the vocabulary. A non-owning view. It may name the only tokens whose logits
/// can be above -infinity: a head over a part of the vocabulary then costs who reads its rows no more than that part.
/// All others are -infinity in the row, too, so that code that does not ask reads the same row.
class logit_row : public std::span<const float> {
 public:
    constexpr logit_row() = default;
    /// Of whatever a std::span<const float> is made of: it names no tokens. What converts to a row does so by itself.
    template <class From>
    requires(!std::derived_from<std::remove_cvref_t<From>, logit_row> &&
             std::is_convertible_v<From, std::span<const float>> &&
             !requires(const std::remove_cvref_t<From>& from) { from.operator logit_row(); }) AUGUR_HOST_DEVICE
        constexpr logit_row(From&& from)
        : span(std::forward<From>(from)) {}
    /// `possible`: ascending ids, each once. They have to stay as long as the row.
    AUGUR_HOST_DEVICE constexpr logit_row(const float* data, std::size_t size, std::span<const token> possible = {})
        : span(data, size), possible_(possible) {}

    /// The only tokens that may have a logit above -infinity; empty: any may.
    AUGUR_HOST_DEVICE constexpr std::span<const token> possible() const { return possible_; }

 private:
    std::span<const token> possible_;
};

/// A copy of a row that outlives it, with what it says of possible tokens.
struct kept_row {
    std::vector<float> logits{};
    std::span<const token> possible{};

    void assign(logit_row row) {
        logits.assign(row.begin(), row.end());
        possible = row.possible();
    }
    logit_row row() const { return {logits.data(), logits.size(), possible}; }
};

/// Rows of logits that a model wrote into memory it owns, row-major, `size() x vocabulary_size()`.
/// Valid until the next call that extends the same sequence.
class scores {
 public:
    scores() = default;
    /// `possible`: see logit_row, of all rows. It stays as long as the model.
    scores(const float* data, std::size_t rows, std::size_t vocabulary_size, std::span<const token> possible = {})
        : data_(data), rows_(rows), vocabulary_size_(vocabulary_size), possible_(possible) {}

    std::size_t size() const { return rows_; }
    std::size_t vocabulary_size() const { return vocabulary_size_; }
    std::span<const token> possible() const { return possible_; }
    logit_row operator[](std::size_t row) const {
        return {data_ + row * vocabulary_size_, vocabulary_size_, possible_};
    }
    logit_row back() const { return (*this)[rows_ - 1]; }

 private:
    const float* data_ = nullptr;
    std::size_t rows_ = 0;
    std::size_t vocabulary_size_ = 0;
    std::span<const token> possible_;
};

/// Rows that lie in several places, as those of several sequences do. A view of pointers to them.
class scattered_scores {
 public:
    scattered_scores() = default;
    scattered_scores(const float* const* rows, std::size_t size, std::size_t vocabulary_size,
                     std::span<const token> possible = {})
        : rows_(rows), size_(size), vocabulary_size_(vocabulary_size), possible_(possible) {}

    std::size_t size() const { return size_; }
    std::size_t vocabulary_size() const { return vocabulary_size_; }
    std::span<const token> possible() const { return possible_; }
    logit_row operator[](std::size_t row) const { return {rows_[row], vocabulary_size_, possible_}; }
    logit_row back() const { return (*this)[size_ - 1]; }

 private:
    const float* const* rows_ = nullptr;
    std::size_t size_ = 0;
    std::size_t vocabulary_size_ = 0;
    std::span<const token> possible_;
};

}  // namespace augur
