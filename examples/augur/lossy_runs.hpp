#pragma once
// Schemes that promise neither the target's text nor its distribution, on any engine: instantiated once for each.

#include <augur/accept/fuzzy_greedy.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/switching/step.hpp>
#include <augur/tune/divergence_meter.hpp>
#include <augur/tune/turns.hpp>

#include "lossy_rules.hpp"
#include "run_scheme.hpp"

namespace augur::program {

template <class Criterion, measure::Divergence D>
inline constexpr bool only_measures<tune::divergence_meter<Criterion, D>> = true;

using published_fuzzy = accept::fuzzy<measure::total_variation>;
using fuzzy_greedy = accept::fuzzy_greedy<measure::total_variation>;

run_result run_turns(const scheme_options& resolved, const auto& target, const auto& small,
                     const run_request& request) {
    const switching::switching_options options{.draft_length = resolved.length.value_or(0)};
    const auto scheme = switched(small, target, turns_of(resolved)).with(options);
    run_result result = run_scheme(scheme, request);
    if (request.measures_divergence) {
        result.divergence = tune::divergence_of_turns(scheme, request.prompt, result.ids, request.options.sampling);
    }
    return result;
}

/// Runs a scheme whose last link has this criterion, and measures how far from the target its text is drawn, if that is
/// asked for.
run_result run_measured(const auto& scheme, const auto& target, const run_request& request, const auto& last) {
    if (!request.measures_divergence) return run_scheme(scheme, request);
    tune::divergence_meter meter(last, request.options.sampling, target.vocabulary_size());
    run_result result = run_scheme(scheme, request, meter);
    result.divergence = meter.divergence();
    return result;
}

/// `inside`: the qualifier's rule where that is no fuzzy one.
template <class Rule>
run_result run_fuzzy(const scheme_options& resolved, const auto& target, const auto& drafters,
                     const run_request& request, const auto& inside) {
    using scheme::model_link;
    const Rule last(resolved.thresholds.back());
    if (resolved.scheme == "fsd") {
        const model_link by_draft{policy::fixed_length{*resolved.length}, last};
        return run_measured(cascaded(*drafters.draft, by_draft, target), target, request, last);
    }
    const policy::fixed_length by_draft{resolved.lengths[0]}, by_qualifier{resolved.lengths[1]};
    const auto with = [&](auto first) {
        return run_measured(cascaded(*drafters.draft, model_link{by_draft, first}, *drafters.qualifier,
                                     model_link{by_qualifier, last}, target),
                            target, request, last);
    };
    if (resolved.scheme == "psd_a") return with(inside);
    return with(Rule(resolved.thresholds.front()));
}

/// Not measured: its rows are not those that tokens were drawn from.
template <class Rule>
run_result run_as_published(const scheme_options& resolved, const auto& target, const auto& drafters,
                            const run_request& request) {
    using scheme::model_link;
    const model_link first{policy::fixed_length{resolved.lengths[0]}, Rule(resolved.thresholds.front())};
    const model_link last{policy::fixed_length{resolved.lengths[1]}, Rule(resolved.thresholds.back())};
    return run_scheme(cascaded_as_published(*drafters.draft, first, *drafters.qualifier, last, target), request);
}

/// As run_lossy: on any engine.
run_result run_lossy_on(const scheme_options& resolved, const auto& target, const auto& drafters,
                        const run_request& request) {
    if (resolved.scheme == "ead") return run_turns(resolved, target, *drafters.draft, request);
    if (resolved.accept != greedy_rule) {
        if (resolved.scheme == published_scheme)
            return run_as_published<published_fuzzy>(resolved, target, drafters, request);
        return run_fuzzy<fuzzy>(resolved, target, drafters, request, accept::rejection_sampling{});
    }
    run_request compared = request;
    compared.options.sampling.temperature.value = *resolved.divergence_temperature;
    if (resolved.scheme == published_scheme)
        return run_as_published<fuzzy_greedy>(resolved, target, drafters, compared);
    return run_fuzzy<fuzzy_greedy>(resolved, target, drafters, compared, fuzzy_greedy(0));
}

}  // namespace augur::program
