#pragma once
// Checks that the optional members by which a model offers passes fit together: a misspelled one is refused, not
// ignored.

#include "augur/detail/optional_member.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"

namespace augur::model {

/// Refuses optional members that cannot be called, in one sentence each.
template <Model M>
struct pass_members {
    static constexpr bool promises(pass_features some) { return includes(pass_features_of<M>, some); }

    static_assert(!augur::detail::HasMemberRun<M> || RunsPasses<M>,
                  "augur::model: this model's run must be callable as model.run(std::span<const "
                  "augur::pass<sequence_type>>) const and return rows of logits");
    static_assert(!augur::detail::HasMemberPasses<M> || SaysPassFeatures<M>,
                  "augur::model: this model's passes must be static constexpr augur::pass_features passes = ...");
    static_assert(!SaysPassFeatures<M> || RunsPasses<M>,
                  "augur::model: this model says what passes its run can do, but it has no run");
    static_assert(
        !augur::detail::HasMemberKeep<M> || KeepsPaths<M>,
        "augur::model: this model's keep must be callable as model.keep(sequence, std::span<const std::size_t> "
        "path) const and return nothing");
    static_assert(!augur::detail::HasMemberLimits<M> || HasPassLimits<M>,
                  "augur::model: this model's limits must be callable as augur::pass_limits limits() const");
    static_assert(includes(every_pass_feature, pass_features_of<M>),
                  "augur::model: this model promises pass features that do not exist");
    static_assert(!promises(pass_features::trees) || KeepsPaths<M>,
                  "augur::model: a model with pass_features::trees must have keep(sequence, path)");
    static_assert(!promises(pass_features::states) || HiddenStateModel<M>,
                  "augur::model: a model with pass_features::states must have hidden_size() and hidden(sequence)");
    static_assert(!promises(pass_features::layers) || (HiddenStateModel<M> && CountsWaiting<M>),
                  "augur::model: a model with pass_features::layers must have layer_count(), waiting(sequence), "
                  "hidden_size() and hidden(sequence)");

    static constexpr bool value = true;
};

template <Model M>
inline constexpr bool sound_pass_members = pass_members<M>::value;

}  // namespace augur::model
