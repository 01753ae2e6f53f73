#pragma once
// Adapts what a user passes as a drafter (a model, a layer, heads, a drafter) to a Drafter.

#include <type_traits>
#include <utility>

#include "augur/draft/calls.hpp"
#include "augur/draft/draft_model.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/draft/eagle.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/draft/heads.hpp"
#include "augur/draft/self_speculation.hpp"
#include "augur/model/concepts.hpp"
#include "augur/types/token_selector.hpp"

namespace augur {

/// A scheme that can draft for a better model: `as_stage()` is the drafter (scheme/speculator.hpp).
template <class Named>
concept BecomesStage = requires(Named&& named) {
    std::forward<Named>(named).as_stage();
};

namespace draft {

/// A drafter, or one that awaits its token selector: itself; a scheme becomes a stage, a model a draft_model, a layer
/// on the target's hidden states an eagle, heads on them heads, and an exit head self_speculation. Lvalues are
/// referred to, rvalues are kept; drafters are copied.
template <class Named>
auto named(Named&& what) {
    using type = std::remove_cvref_t<Named>;
    if constexpr (Drafter<type> || AwaitsSelector<type>) {
        return type(std::forward<Named>(what));
    } else if constexpr (BecomesStage<Named>) {
        return std::forward<Named>(what).as_stage();
    } else if constexpr (Model<type>) {
        return draft_model<Named>(std::forward<Named>(what));
    } else if constexpr (FusedModel<type>) {
        return eagle<Named>(std::forward<Named>(what));
    } else if constexpr (DraftHeads<type>) {
        return heads<Named>(std::forward<Named>(what));
    } else if constexpr (ExitHead<type> || AttendingHead<type>) {
        return self_speculation<Named>(std::forward<Named>(what));
    } else {
        return type(std::forward<Named>(what));  // whoever needs a drafter says what this one lacks
    }
}

template <class Named>
using named_t = decltype(draft::named(std::declval<Named>()));

/// The same as a drafter, by `TokenSelector` where it has no token selector of its own.
template <class TokenSelector, class Named>
auto drafter_of(Named&& what) {
    if constexpr (AwaitsSelector<named_t<Named>>) {
        return draft::named(std::forward<Named>(what)).with_selector(TokenSelector{});
    } else {
        return draft::named(std::forward<Named>(what));
    }
}

template <class TokenSelector, class Named>
using drafter_of_t = decltype(draft::drafter_of<TokenSelector>(std::declval<Named>()));

}  // namespace draft
}  // namespace augur
