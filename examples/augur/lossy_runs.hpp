#pragma once
// Cascades, and models that take turns, on any engine: instantiated once for each.

#include <augur/model/any_model.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/switching/step.hpp>
#include <augur/tune/divergence_meter.hpp>
#include <augur/tune/turns.hpp>
#include <cstddef>
#include <deque>
#include <tuple>
#include <utility>
#include <vector>

#include "link_rules.hpp"
#include "lossy_rules.hpp"
#include "run_scheme.hpp"

namespace augur::program {

template <class Criterion, measure::Divergence D>
inline constexpr bool only_measures<tune::divergence_meter<Criterion, D>> = true;

/// Runs a scheme whose last link has this criterion, and measures how far from the target its text is drawn, if that is
/// asked for.
run_result run_measured(const auto& scheme, const auto& target, const run_request& request, const auto& last) {
    if (!request.measures_divergence) return run_scheme(scheme, request);
    tune::divergence_meter meter(last, request.options.sampling, target.vocabulary_size());
    run_result result = run_scheme(scheme, request, meter);
    result.divergence = meter.divergence();
    return result;
}

/// The rules of a resolved scheme's links, of one type.
template <class Rule>
std::vector<Rule> rules_of(const scheme_options& resolved) {
    std::vector<Rule> rules;
    for (const link_choice& each : links_of(resolved)) {
        if constexpr (std::is_same_v<Rule, greedy_link_rule>) {
            rules.emplace_back(resolved.divergence, each.threshold);
        } else {
            rules.emplace_back(each.rule, resolved.divergence, each.threshold);
        }
    }
    return rules;
}

/// fsd and psd_*: two or three models.
template <class Rule>
run_result run_pyramid(const scheme_options& resolved, const auto& target, const auto& drafters,
                       const run_request& request) {
    using scheme::model_link;
    const std::vector<Rule> rules = rules_of<Rule>(resolved);
    const Rule& last = rules.back();
    if (rules.size() == 1) {
        const model_link by_draft{policy::fixed_length{*resolved.length}, last};
        return run_measured(cascaded(*drafters.draft, by_draft, target), target, request, last);
    }
    const model_link first{policy::fixed_length{resolved.lengths[0]}, rules.front()};
    const model_link by_qualifier{policy::fixed_length{resolved.lengths[1]}, last};
    if (!is_as_published(resolved.scheme)) {
        return run_measured(cascaded(*drafters.draft, first, *drafters.qualifier, by_qualifier, target), target,
                            request, last);
    }
    // Not measured: its rows are not those that tokens were drawn from.
    return run_scheme(cascaded_as_published(*drafters.draft, first, *drafters.qualifier, by_qualifier, target),
                      request);
}

/// The draft models of a scheme that takes any number of them, cheapest first, whatever their engine.
template <class Drafters>
std::vector<model::any_model> all_models(const Drafters& drafters, const auto& target) {
    std::vector<model::any_model> all;
    const auto add = [&all](const auto& one) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(one)>, model::any_model>) {
            all.push_back(one.lent());
        } else {
            all.emplace_back(one);
        }
    };
    add(*drafters.draft);
    for (const auto& each : drafters.more) add(*each);
    add(target);
    return all;
}

run_result run_turns(const scheme_options& resolved, const auto& target, const auto& drafters,
                     const run_request& request) {
    if (request.bridge != nullptr) return run_bridged_turns(resolved, all_models(drafters, target), request);
    const switching::switching_options options{.draft_length = resolved.length.value_or(0)};
    const auto decode = [&](const auto&... models) {
        const auto scheme = switched(models..., turns_of(resolved)).with(options);
        run_result result = run_scheme(scheme, request);
        if (request.measures_divergence) {
            result.divergence = tune::divergence_of_turns(scheme, request.prompt, result.ids, request.options.sampling);
        }
        return result;
    };
    if (drafters.more.empty()) return decode(*drafters.draft, target);
    return run_many_turns(resolved, all_models(drafters, target), request);
}

/// As run_lossy: on any engine.
run_result run_lossy_on(const scheme_options& resolved, const auto& target, const auto& drafters,
                        const run_request& request) {
    if (resolved.scheme == "ead") return run_turns(resolved, target, drafters, request);
    if (resolved.scheme == "cascade") return run_cascade(resolved, all_models(drafters, target), request);
    if (resolved.accept != greedy_rule) return run_pyramid<link_rule>(resolved, target, drafters, request);
    run_request compared = request;
    compared.options.sampling.temperature.value = *resolved.divergence_temperature;
    return run_pyramid<greedy_link_rule>(resolved, target, drafters, compared);
}

}  // namespace augur::program
