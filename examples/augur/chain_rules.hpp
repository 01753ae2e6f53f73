#pragma once
// For the sources that compose schemes of chains: what judges them, and what says how long they are.

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/policy/confidence_stop.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/hysteresis.hpp>
#include <augur/policy/learned_bins.hpp>
#include <string>
#include <variant>

#include "planned.hpp"
#include "scheme.hpp"

namespace augur::program {

using any_criterion = std::variant<accept::exact, accept::rejection_sampling, accept::block, accept::coupled>;

/// What `--accept` names. Throws where the name is unknown.
any_criterion criterion_of(const std::string& name);

/// The length that pays, or the one that was named.
class planned_length : public planned<policy::fixed_length, policy::cost_aware<>> {
 public:
    static constexpr signals_read reads = policy::cost_aware<>::reads;

    planned_length(const scheme_options& resolved, const run_request& request)
        : planned(resolved.length
                      ? planned(policy::fixed_length{*resolved.length})
                      : planned(policy::cost_aware<>({.verify_seconds = request.verify_seconds}, request.known))) {}

    draft_plan plan(const observation& seen) const {
        return std::visit([&](const auto& policy) { return policy::answer(policy, seen); }, chosen());
    }
    void learn(const outcome& happened) {
        if (auto* const learns = paying()) learns->learn(happened);
    }
};

policy::learned_bins learned_bins_of(const scheme_options& chosen);

template <policy::entropy_form Form = policy::entropy_form::exact>
policy::basic_entropy_bins<policy::entropy_of::draft, Form> bins_of(const scheme_options& chosen) {
    policy::entropy_bins_options limits;
    if (chosen.length) limits.max_k = *chosen.length;
    if (chosen.max_k) limits.max_k = *chosen.max_k;
    return {chosen.bin_edges_nats, chosen.bin_lengths, limits};
}

using entropy_hysteresis = policy::hysteresis<policy::switched_by::draft_entropy>;
entropy_hysteresis hysteresis_of(const scheme_options& chosen);

policy::confidence_stop stop_of(const scheme_options& chosen);

}  // namespace augur::program
