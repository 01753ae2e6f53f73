#pragma once
// Everything that changes while one text is decoded.

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "augur/commit/stop_conditions.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/statistics.hpp"

namespace augur::decode {

/// One decoding by `Scheme`. Members are open to inspection between steps; steps alone change them.
template <class Scheme, Chooser C = random::philox_chooser>
struct session {
    using drafter_type = typename Scheme::drafter_type;
    using target_type = typename Scheme::target_type;

    /// Checks the prompt and the settings, then prefills: all of the prompt but its last token.
    session(const Scheme& scheme, std::span<const token> prompt, transform::settings sampling,
            commit::stop_conditions conditions, C with)
        : committed(checked(scheme, prompt)),
          target(scheme.target()),
          drafter_state(scheme.drafter().make_state()),
          policy(scheme.policy()),
          transform(std::move(sampling), scheme.target().vocabulary_size()),
          stops(std::move(conditions), scheme.target().context_length()),
          chooser(std::move(with)) {
        if constexpr (requires { scheme.criterion().check(transform.chosen()); }) {
            scheme.criterion().check(transform.chosen());
        }
        if (stops.room(0, committed.size()) == 0) finished = finish_reason::max_tokens;
        const detail::stopwatch watch;
        target.fill(committed.tokens().first(committed.size() - 1));
        if constexpr (requires { scheme.drafter().prepare(drafter_state, committed); }) {
            scheme.drafter().prepare(drafter_state, committed);
        }
        counts.seconds.prefill = watch.seconds();
    }

    prefix committed;
    model::cached_sequence<target_type> target;
    typename drafter_type::state_type drafter_state;
    typename Scheme::policy_type policy;
    transform::pipeline transform;
    commit::stop_watcher stops;
    C chooser;
    statistics counts;
    finish_reason finished = finish_reason::running;
    std::string fault;  ///< for invalid_logits: which value, where
    observation seen;   ///< what the policy will be shown at the start of the next round

 private:
    static std::span<const token> checked(const Scheme& scheme, std::span<const token> prompt) {
        const std::size_t vocabulary = scheme.target().vocabulary_size();
        const std::size_t context = scheme.target().context_length();
        if (prompt.empty()) detail::fail("the prompt is empty: decoding needs at least one token to continue");
        if (prompt.size() >= context) {
            detail::fail("the prompt has ", prompt.size(), " tokens, which leaves no room in a context of ", context);
        }
        for (std::size_t i = 0; i < prompt.size(); ++i) {
            if (prompt[i] < 0 || static_cast<std::size_t>(prompt[i]) >= vocabulary) {
                detail::fail("prompt token ", i, " is ", prompt[i], ", but the vocabulary has ", vocabulary, " tokens");
            }
        }
        return prompt;
    }
};

}  // namespace augur::decode
