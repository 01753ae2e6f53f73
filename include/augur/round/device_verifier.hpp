#pragma once
// Verifies on the device that computed the target's rows; only a verdict comes back.

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/device_verifier.hpp"
#include "augur/model/pass.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/verdict.hpp"

namespace augur::rounds {

/// The absence of a device verifier: rows are copied to the host, as by most models.
struct no_device_verifier {};

/// The device verifier of a scheme with this chooser.
template <class Scheme, class C>
struct device_verifier_for {
    using type = no_device_verifier;
};
template <class Scheme, class C>
requires(std::same_as<C, random::philox_chooser>&& std::constructible_from<
         judged_proposal, const proposal<typename Scheme::drafter_type::draft_distribution_type>&>&&
             VerifiesOnDevice<typename Scheme::target_type,
                              typename Scheme::criterion_type>) struct device_verifier_for<Scheme, C> {
    using type = decltype(std::declval<const typename Scheme::target_type&>().make_device_verifier(
        std::declval<const typename Scheme::criterion_type&>(), std::declval<const transform::settings&>(),
        std::declval<const C&>()));
};

template <class Scheme, class C>
using device_verifier_t = typename device_verifier_for<Scheme, C>::type;
template <class Scheme, class C>
inline constexpr bool has_device_verifier = !std::same_as<device_verifier_t<Scheme, C>, no_device_verifier>;

/// rounds::chain, or cached_sequence::ask_tree, and accept::walk at once. Afterwards the sequence holds the drafted
/// tokens of a chain too, until the commit rewinds it; a tree waits until a path of it is kept.
template <Model M, DeviceVerifier<M> R>
void verify_on_device(R& device_verifier, model::cached_sequence<M>& target, const prefix& before,
                      const judged_proposal& proposed, std::size_t round, verdict& out) {
    target.run_by(before.tokens(), proposed.tokens(), proposed.parents(), [&](const pass<sequence_t<M>>& asked) {
        device_verifier.judge(asked, before, proposed, round, out);
    });
}

/// The rows of the last judgement. To look at one brings them all.
template <Model M, DeviceVerifier<M> R>
class rows_on_device {
 public:
    rows_on_device(R& device_verifier, const model::cached_sequence<M>& target)
        : device_verifier_(&device_verifier), target_(&target) {}

    logit_row operator[](std::size_t i) const { return scores(device_verifier_->rows(target_->sequence()))[i]; }
    double entropy_nats(std::size_t i) const { return device_verifier_->entropy_nats(target_->sequence(), i); }

 private:
    R* device_verifier_;
    const model::cached_sequence<M>* target_;
};

}  // namespace augur::rounds
