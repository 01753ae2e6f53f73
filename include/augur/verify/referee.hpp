#pragma once
// Verification where the target's rows are made: what comes back is a verdict.

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "augur/accept/concept.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/verdict.hpp"

namespace augur {

/// Judges what was drafted after one sequence of a model, round by round.
/// Define: `explicit operator bool`: whether it can, with the settings that it was made for (bring rows to the host otherwise);
///         `prepare(before, drafted)`: is told of the committed text, after which so many tokens were drafted, before each judgement;
///         `judge(sequence, missing, supposed, drafted, round)`: extends the sequence by what it lacks of the supposed text, and
///         returns accept::judge's verdict on the text's last `drafted` tokens;
///         `rows(sequence)`: the drafted + 1 rows that it judged, brought to the host, until the sequence is extended;
///         `entropy_nats(sequence, row)`: measure::entropy_nats of one of them, which is not brought.
/// Law:    verdicts are accept::judge's on the model's own rows, with transform::pipeline and the same chooser.
template <class R, class M>
concept Referee = std::movable<R> && requires(R& referee, sequence_t<M>& sequence, std::span<const token> missing,
                                              std::size_t count, const prefix& supposed) {
    static_cast<bool>(std::as_const(referee));
    referee.prepare(supposed, count);
    { referee.judge(sequence, missing, supposed, count, count) } -> std::same_as<verdict>;
    { referee.rows(sequence) } -> std::convertible_to<scores>;
    { referee.entropy_nats(sequence, count) } -> std::convertible_to<double>;
};

/// `model.make_referee(criterion, settings, chooser)`: for models whose rows are made where the host does not read them.
/// Models: llama::device::device_model.
template <class M, class Criterion>
concept RefereesRounds = Model<M> && requires(const M& model, const Criterion& criterion,
                                              const transform::settings& chosen, const random::philox_chooser& by) {
    { model.make_referee(criterion, chosen, by) } -> Referee<M>;
};

namespace verify {

/// Where rows come to the host: most models.
struct no_referee {};

/// Who judges the rounds of a scheme with this chooser; claims of distributions lie on the host, so that rows must come there.
template <class Scheme, class C>
struct referee_for {
    using type = no_referee;
};
template <class Scheme, class C>
requires(
    std::same_as<C, random::philox_chooser>&& std::same_as<typename Scheme::drafter_type::claim_type, point_mass>&&
        RefereesRounds<typename Scheme::target_type, typename Scheme::criterion_type>) struct referee_for<Scheme, C> {
    using type = decltype(std::declval<const typename Scheme::target_type&>().make_referee(
        std::declval<const typename Scheme::criterion_type&>(), std::declval<const transform::settings&>(),
        std::declval<const C&>()));
};

template <class Scheme, class C>
using referee_t = typename referee_for<Scheme, C>::type;
template <class Scheme, class C>
inline constexpr bool has_referee = !std::same_as<referee_t<Scheme, C>, no_referee>;

/// verify::chain and accept::judge at once. Afterwards the sequence holds the drafted tokens too, until the commit rewinds it.
template <Model M, Referee<M> R>
verdict judge_there(R& referee, model::cached_sequence<M>& target, prefix& before, const ChainProposal auto& proposed,
                    std::size_t round) {
    referee.prepare(before, proposed.size());
    supposition supposed(before);
    for (token t : proposed.tokens()) supposed.push(t);
    const auto judge = [&](sequence_t<M>& sequence, std::span<const token> missing) {
        return referee.judge(sequence, missing, before, proposed.size(), round);
    };
    return target.score_by(before.tokens(), proposed.size() + 1, judge);
}

/// The rows of the last judgement. To look at one brings them all.
template <Model M, Referee<M> R>
class rows_there {
 public:
    rows_there(R& referee, const model::cached_sequence<M>& target) : referee_(&referee), target_(&target) {}

    logit_row operator[](std::size_t i) const { return scores(referee_->rows(target_->sequence()))[i]; }
    double entropy_nats(std::size_t i) const { return referee_->entropy_nats(target_->sequence(), i); }

 private:
    R* referee_;
    const model::cached_sequence<M>* target_;
};

}  // namespace verify
}  // namespace augur
