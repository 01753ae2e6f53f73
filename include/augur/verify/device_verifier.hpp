#pragma once
// Verification where the target's rows are made: what comes back is a verdict.

#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/device_verifier.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/verdict.hpp"

namespace augur::verify {

/// Where rows come to the host: most models.
struct no_device_verifier {};

/// Who judges the rounds of a scheme with this chooser; claims of distributions lie on the host, so that rows must come
/// there.
template <class Scheme, class C>
struct device_verifier_for {
    using type = no_device_verifier;
};
template <class Scheme, class C>
requires(std::same_as<C, random::philox_chooser>&& std::same_as<typename Scheme::drafter_type::claim_type, point_mass>&&
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

/// verify::chain and accept::walk at once. Afterwards the sequence holds the drafted tokens too, until the commit
/// rewinds it.
template <Model M, DeviceVerifier<M> R>
verdict verify_on_device(R& device_verifier, model::cached_sequence<M>& target, prefix& before,
                         const ChainProposal auto& proposed, std::size_t round) {
    device_verifier.prepare(before, proposed.size());
    speculative_suffix speculative(before);
    for (token t : proposed.tokens()) speculative.push(t);
    const auto judge = [&](sequence_t<M>& sequence, std::span<const token> missing) {
        return device_verifier.judge(sequence, missing, before, proposed.size(), round);
    };
    return target.score_by(before.tokens(), proposed.size() + 1, judge);
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

}  // namespace augur::verify
