#pragma once
// Any model as one that runs passes.

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"

namespace augur {

/// `model.run(passes)`: all of them, together where it can; returns their rows one after another, which stay valid until one of
/// these sequences is run again.
template <class M>
concept RunsPasses = Model<M> && requires(const M& model, std::span<const pass<sequence_t<M>>> passes) {
    { model.run(passes) } -> LogitRows;
};

namespace model {

/// What `M` returns rows as.
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

/// The rows of one pass: those that it wanted.
template <Model M>
class pass_rows {
 public:
    pass_rows() = default;
    pass_rows(made_rows_t<M> made, std::size_t first, std::size_t count)
        : made_(std::move(made)), first_(first), count_(count) {}

    std::size_t size() const { return count_; }
    logit_row operator[](std::size_t i) const { return (*made_)[first_ + i]; }

 private:
    std::optional<made_rows_t<M>> made_;
    std::size_t first_ = 0;
    std::size_t count_ = 0;
};

/// Runs passes of one model, together where it can; made[i] becomes the rows of passes[i].
template <Model M>
void run(const M& model, std::span<const pass<sequence_t<M>>> passes, std::span<pass_rows<M>> made) {
    if constexpr (RunsPasses<M>) {
        const auto rows = model.run(passes);
        std::size_t first = 0;
        for (std::size_t i = 0; i < passes.size(); ++i) {
            made[i] = pass_rows<M>(rows, first, passes[i].wanted());
            first += passes[i].wanted();
        }
    } else {
        for (std::size_t i = 0; i < passes.size(); ++i) {
            const auto& asked = passes[i];
            if constexpr (ScoresLastRows<M>) {
                made[i] = pass_rows<M>(model.extend(*asked.sequence, asked.tokens, asked.wanted()), 0, asked.wanted());
            } else {
                made[i] = pass_rows<M>(model.extend(*asked.sequence, asked.tokens),
                                       asked.tokens.size() - asked.wanted(), asked.wanted());
            }
        }
    }
}

}  // namespace model
}  // namespace augur
