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
#include <ostream>
#include <string>
#include <variant>

#include "options.hpp"
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

template <policy::entropy_form Form = policy::entropy_form::exact, policy::entropy_of Of = policy::entropy_of::draft>
policy::basic_entropy_bins<Of, Form> bins_of(const scheme_options& chosen) {
    policy::entropy_bins_options limits;
    if (chosen.length) limits.max_k = *chosen.length;
    if (chosen.max_k) limits.max_k = *chosen.max_k;
    return {chosen.bin_edges_nats, chosen.bin_lengths, limits};
}

/// Bins, or two lengths, by a signal other than the draft's entropy: one type for all of them, which has the signals of
/// all computed.
class any_signal {
    using enum policy::switched_by;

 public:
    static constexpr signals_read reads{.required = signals::target_entropy | signals::draft_confidence};

    /// Of eaad and hysteresis. Throws as they do.
    explicit any_signal(const scheme_options& chosen);

    draft_plan plan(const observation& seen) const {
        return std::visit([&](const auto& policy) { return policy.plan(seen); }, chosen_);
    }
    void learn(const outcome& happened) {
        std::visit([&](auto& policy) { policy.learn(happened); }, chosen_);
    }
    decltype(auto) visit(const auto& with) const { return std::visit(with, chosen_); }
    friend std::ostream& operator<<(std::ostream& out, const any_signal& any) {
        std::visit([&](const auto& policy) { out << policy; }, any.chosen_);
        return out;
    }

 private:
    using any = std::variant<policy::target_entropy_bins, policy::hysteresis<target_entropy>,
                             policy::hysteresis<path_value>, policy::hysteresis<acceptance>>;
    static any made(const scheme_options& chosen);

    any chosen_;
};

/// Whether the scheme is eaad or hysteresis by such a signal. Throws where it cannot be.
bool by_other_signal(const scheme_options& chosen);

using entropy_hysteresis = policy::hysteresis<policy::switched_by::draft_entropy>;
/// Throws where thresholds and length make none.
template <policy::switched_by By = policy::switched_by::draft_entropy>
policy::hysteresis<By> hysteresis_of(const scheme_options& chosen) {
    const std::vector<double>& at = chosen.thresholds;
    if (at.empty() || at.size() > 2) {
        detail::fail("scheme 'hysteresis' takes one threshold or two, but --thresholds has ", at.size());
    }
    return of_option("--thresholds and --length", [&] {
        return policy::hysteresis<By>({at.front(), at.back()}, {.long_length = chosen.length.value()});
    });
}

policy::confidence_stop stop_of(const scheme_options& chosen);

}  // namespace augur::program
