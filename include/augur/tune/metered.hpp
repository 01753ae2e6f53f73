#pragma once
// How far from the target's rows accepted tokens were drawn. See docs/tune/metered.md.

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "augur/accept/concept.hpp"
#include "augur/accept/walk.hpp"
#include "augur/cascade/stage.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/measure/divergence.hpp"

namespace augur::tune {

/// What a metered criterion has seen.
struct meter {
    std::size_t judged = 0;  ///< drafted tokens; each settled one position of the text
    double divergence = 0;   ///< summed over these positions; where nothing was drafted it is 0
    double seconds = 0;      ///< that measuring took
};

/// Judges as `Criterion` does, and adds to a meter the divergence D between the target's row and the one that the position's token
/// is in effect drawn from (drawn_from). Over the tokens of a text: the mean distance of its distribution from the target's, for
/// the prefixes that were met. Sessions that share a meter must not run at once.
/// Guarantee, randomness: the criterion's. Cost: a pass over both rows per drafted token, more than the criterion's own.
template <class Criterion, measure::Divergence D = measure::total_variation>
class metered {
 public:
    using guarantee = typename Criterion::guarantee;
    using drawing = typename Criterion::drawing;

    metered(Criterion criterion, meter& into) : criterion_(std::move(criterion)), into_(&into) {}

    auto promised() const requires requires(const Criterion& c) { c.promised(); }
    { return criterion_.promised(); }

    template <class Claim>
    requires KnowsWhatItDrewFrom<Criterion, Claim>
    bool accepts(const auto& target, const drafted_token<Claim>& drafted, auto& draws) const {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(target)>, distribution>) measure(target, drafted);
        return criterion_.accepts(target, drafted, draws);
    }

    decltype(auto) after_rejection(const auto& target, const auto& drafted) const {
        return accept::left_after(criterion_, target, drafted);
    }

    token draw(const auto& target, auto& draws) const { return criterion_.draw(target, draws); }

    void check(const transform::settings& chosen) const { accept::check(criterion_, chosen); }

 private:
    template <class Claim>
    void measure(const distribution& target, const drafted_token<Claim>& drafted) const {
        const augur::detail::stopwatch watch;
        distribution storage;
        const distribution& from = criterion_.drawn_from(target, drafted, storage);
        ++into_->judged;
        if (&from != &target) into_->divergence += augur::measure::divergence<D>(target, from);
        into_->seconds += watch.seconds();
    }

    Criterion criterion_;
    meter* into_;
};

}  // namespace augur::tune
