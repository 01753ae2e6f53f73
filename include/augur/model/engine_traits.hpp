#pragma once
// The common interface of engines that a program chooses between at run time.

#include <concepts>

#include "augur/model/concepts.hpp"
#include "augur/types/scores.hpp"

namespace augur::model {

/// What every engine that an erased_model may hold must have: then the erased model has it, too.
enum class engine_traits : unsigned { none = 0, bitwise_rows = 1, hidden_states = 2, both = 3, layers = 4, all = 7 };

constexpr bool includes(engine_traits traits, engine_traits some) {
    return (static_cast<unsigned>(some) & ~static_cast<unsigned>(traits)) == 0;
}

/// Shows hidden states in memory that the host reads, row after row.
template <class M>
concept ShowsStatesOnHost = HiddenStateModel<M> && requires(const M& model, const sequence_t<M>& sequence) {
    { model.hidden(sequence) } -> std::convertible_to<scores>;
};

/// What an erased_model can hold.
template <class M, engine_traits T>
concept Erasable = Model<M> &&(!includes(T, engine_traits::hidden_states) ||
                               ShowsStatesOnHost<M>)&&(!includes(T, engine_traits::layers) ||
                                                       (SplitModel<M> && BatchModel<M> && ShowsStatesOnHost<M>));

}  // namespace augur::model
