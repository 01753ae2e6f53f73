#pragma once
// The DeviceVerifier concept: models that verify on the device that computes their rows.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/concept.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"
#include "augur/types/verdict.hpp"

namespace augur {

/// A proposal as those who judge it elsewhere are given it: nodes, and the rows that they were drawn from, unless they
/// are certain. A view.
class judged_proposal {
 public:
    judged_proposal(const proposal<point_mass>& of) : nodes_(&of) {}
    judged_proposal(const proposal<distribution>& of) : nodes_(&of), drawn_(&of) {}

    std::size_t size() const { return nodes_->size(); }
    std::span<const token> tokens() const { return nodes_->tokens(); }
    /// Empty where they are a chain.
    std::span<const std::int32_t> parents() const { return nodes_->parents(); }
    bool is_chain() const { return nodes_->is_chain(); }
    bool is_certain() const { return drawn_ == nullptr; }
    /// That node i was drawn from, where they are not certain.
    const distribution& row(std::size_t i) const { return *(*drawn_)[i].row; }

 private:
    const detail::drafted_nodes* nodes_;
    const proposal<distribution>* drawn_ = nullptr;
};

/// Judges what was drafted after one sequence of a model, round by round.
/// Define: `explicit operator bool`: whether it can, with the settings that it was made for (bring rows to the
///         host otherwise); `takes_trees()`: whether it judges trees, too;
///         `judge(asked, before, proposed, round, verdict)`: runs the pass, which extends its sequence by what that
///         lacks of the committed text `before` and by what is proposed, or leaves a tree waiting there, and makes
///         proposed.size() + 1 rows; overwrites the verdict with accept::walk's;
///         `rows(sequence)`: the rows that it judged, brought to the host, until the sequence is extended;
///         `entropy_nats(sequence, row)`: measure::entropy_nats of one of them, which is not brought.
/// Law:    verdicts are accept::walk's on the model's own rows, with transform::pipeline and the same chooser.
template <class R, class M>
concept DeviceVerifier = std::movable<R> &&
    requires(R& device_verifier, sequence_t<M>& sequence, const pass<sequence_t<M>>& asked, const prefix& before,
             const judged_proposal& proposed, std::size_t count, verdict& out) {
    static_cast<bool>(std::as_const(device_verifier));
    { std::as_const(device_verifier).takes_trees() } -> std::same_as<bool>;
    { device_verifier.judge(asked, before, proposed, count, out) } -> std::same_as<void>;
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
