#pragma once
// The rows of one pass, whatever type a model returns.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"

namespace augur::model {

/// The type that `M` returns rows as.
template <Model M>
struct made_rows {
    using type = decltype(std::declval<const M&>().extend(std::declval<sequence_t<M>&>(), std::span<const token>()));
};
template <ScoresLastRows M>
requires(!RunsPasses<M>) struct made_rows<M> {
    using type = decltype(std::declval<const M&>().extend(std::declval<sequence_t<M>&>(), std::span<const token>(),
                                                          std::size_t()));
};
template <RunsPasses M>
struct made_rows<M> {
    using type = decltype(std::declval<const M&>().run(std::span<const pass<sequence_t<M>>>()));
};
template <Model M>
using made_rows_t = std::remove_cvref_t<typename made_rows<M>::type>;

/// The rows of one pass: those that it wanted. They stay valid until its sequence is run or extended again.
template <Model M>
class pass_rows {
    /// Views, and small values that own their numbers, are copied; others are shared by the passes of a run.
    static constexpr bool are_view = std::is_trivially_copyable_v<made_rows_t<M>>;

 public:
    using held_type =
        std::conditional_t<are_view, std::optional<made_rows_t<M>>, std::shared_ptr<const made_rows_t<M>>>;

    pass_rows() = default;
    pass_rows(made_rows_t<M> rows, std::size_t first, std::size_t count) { refer(held(std::move(rows)), first, count); }

    std::size_t size() const { return count_; }
    logit_row operator[](std::size_t i) const {
        if (made_) return (*made_)[first_ + i];
        if (lent_ == nullptr) return {copies_.data() + (first_ + i) * width_, width_, possible_};
        return {lent_ + i * width_, width_, possible_};
    }

    static held_type held(made_rows_t<M> rows) {
        if constexpr (are_view) {
            return rows;
        } else {
            return std::make_shared<const made_rows_t<M>>(std::move(rows));
        }
    }
    /// Becomes `count` rows of these from `first` on. Where they are a view of numbers that lie together, only the
    /// numbers have to stay: what tells where the rows of a whole run lie may be of another pass.
    void refer(const held_type& rows, std::size_t first, std::size_t count) {
        first_ = first;
        count_ = count;
        if (are_view && count > 0 && lie_together(*rows)) {
            const logit_row row = (*rows)[first];
            made_.reset();
            lent_ = row.data();
            width_ = row.size();
            possible_ = row.possible();
        } else {
            made_ = rows;
            lent_ = nullptr;
        }
    }
    /// Forgets the first so many.
    void drop(std::size_t rows) {
        if (lent_ != nullptr) lent_ += rows * width_;
        first_ += rows;
        count_ -= rows;
    }
    /// Becomes `count` rows of `width` numbers of its own; returns where they are.
    std::span<float> own(std::size_t count, std::size_t width) {
        copies_.resize(count * width);
        made_.reset();
        lent_ = nullptr;
        possible_ = {};
        first_ = 0;
        count_ = count;
        width_ = width;
        return copies_;
    }
    /// Copies what lies elsewhere, so that it stays whatever is run. Which tokens are possible is kept where the rows
    /// lie together; else any are.
    void keep() {
        if (count_ == 0 || (lent_ == nullptr && !made_)) return;
        const pass_rows from = *this;
        const std::size_t width = from[0].size();
        float* out = own(count_, width).data();
        for (std::size_t i = 0; i < count_; ++i) out = std::copy_n(from[i].begin(), width, out);
        if (from.lent_ != nullptr) possible_ = from.possible_;
    }

    std::size_t expected = 0;              ///< rows of the run that is under way
    std::vector<float>* states = nullptr;  ///< where those of a tree go that is run path by path; null: nowhere

 private:
    /// Within themselves, as in an array, not in memory of the sequence.
    static bool lie_inside(const made_rows_t<M>& rows, logit_row row) {
        const std::less<const void*> before{};
        return !before(row.data(), std::addressof(rows)) && before(row.data(), std::addressof(rows) + 1);
    }
    bool lie_together(const made_rows_t<M>& rows) const {
        const logit_row row = rows[first_];
        if (lie_inside(rows, row)) return false;
        for (std::size_t i = 1; i < count_; ++i) {
            const logit_row other = rows[first_ + i];
            if (other.data() != row.data() + i * row.size()) return false;
            if (other.possible().data() != row.possible().data()) return false;
            if (other.possible().size() != row.possible().size()) return false;
        }
        return true;
    }

    held_type made_{};
    const float* lent_ = nullptr;
    std::size_t first_ = 0, count_ = 0, width_ = 0;
    std::span<const token> possible_;
    std::vector<float> copies_;
};

}  // namespace augur::model
