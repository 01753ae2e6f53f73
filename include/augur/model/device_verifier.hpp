#pragma once
// Models that verify where their rows are made.

#include <concepts>
#include <cstddef>
#include <span>
#include <utility>

#include "augur/model/concepts.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"
#include "augur/types/verdict.hpp"

namespace augur {

/// Judges what was drafted after one sequence of a model, round by round.
/// Define: `explicit operator bool`: whether it can, with the settings that it was made for (bring rows to the
///         host otherwise);
///         `prepare(before, drafted)`: is told of the committed text, after which so many tokens were drafted, before
///         each judgement;
///         `judge(sequence, missing, speculative, drafted, round)`: extends the sequence by what it
///         lacks of the speculative text, and returns accept::walk's verdict on the text's last `drafted` tokens;
///         `rows(sequence)`: the drafted + 1 rows that it judged, brought to the host, until the sequence is extended;
///         `entropy_nats(sequence, row)`: measure::entropy_nats of one of them, which is not brought.
/// Law:    verdicts are accept::walk's on the model's own rows, with transform::pipeline and the same chooser.
template <class R, class M>
concept DeviceVerifier = std::movable<R> &&
    requires(R& device_verifier, sequence_t<M>& sequence, std::span<const token> missing, std::size_t count,
             const prefix& speculative) {
    static_cast<bool>(std::as_const(device_verifier));
    device_verifier.prepare(speculative, count);
    { device_verifier.judge(sequence, missing, speculative, count, count) } -> std::same_as<verdict>;
    { device_verifier.rows(sequence) } -> std::convertible_to<scores>;
    { device_verifier.entropy_nats(sequence, count) } -> std::convertible_to<double>;
};

/// `model.make_device_verifier(criterion, settings, chooser)`: for models whose rows are made where the host does not
/// read them. Models: llama::device::device_model.
template <class M, class Criterion>
concept VerifiesOnDevice = Model<M> && requires(const M& model, const Criterion& criterion,
                                                const transform::settings& chosen, const random::philox_chooser& by) {
    { model.make_device_verifier(criterion, chosen, by) } -> DeviceVerifier<M>;
};

}  // namespace augur
