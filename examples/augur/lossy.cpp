#include "lossy.hpp"

#include <augur/accept/fuzzy_greedy.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/cascade/cascade.hpp>
#include <augur/decode/switching.hpp>
#include <augur/io/quote.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/rolling_entropy.hpp>
#include <augur/tune/divergence_meter.hpp>
#include <augur/tune/turns.hpp>

#include "run_scheme.hpp"

namespace augur::program {
namespace {

/// By total variation: finite, too, where a draft knows a part of the vocabulary only.
using fuzzy = accept::rejection_then_fuzzy<measure::total_variation>;
using published_fuzzy = accept::fuzzy<measure::total_variation>;
using fuzzy_greedy = accept::fuzzy_greedy<measure::total_variation>;

constexpr std::string_view published = "psd_f_as_published", greedy_rule = "fuzzy_greedy";

/// Where the user names none. The qualifier's before the target's.
std::vector<double> first_thresholds(const std::string& scheme) {
    if (scheme == "ead") return {0.25};
    return scheme.starts_with("psd_f") ? std::vector{0.4, 0.5} : std::vector{0.5};
}

policy::rolling_entropy turns_of(const scheme_options& chosen) {
    return policy::rolling_entropy(
        {.thresholds_bits = chosen.thresholds, .window = chosen.window, .dwell = chosen.dwell});
}

void check_thresholds(const scheme_options& chosen) {
    const std::size_t wanted = first_thresholds(chosen.scheme).size();
    if (chosen.thresholds.size() != wanted) {
        detail::fail("--thresholds holds ", chosen.thresholds.size(), " numbers; scheme '", chosen.scheme, "' takes ",
                     wanted);
    }
    if (chosen.scheme == "ead") return static_cast<void>(turns_of(chosen));
    for (const double threshold : chosen.thresholds) static_cast<void>(fuzzy(threshold));
}

void check_lengths(const scheme_options& chosen) {
    if (chosen.lengths.size() != 2) {
        detail::fail("--lengths holds ", chosen.lengths.size(), " numbers; there are two, of draft and qualifier");
    }
    for (const std::size_t length : chosen.lengths) {
        if (length == 0) detail::fail("--lengths holds 0; a model proposes at least 1 token");
    }
}

run_result run_turns(const scheme_options& resolved, const engine& target, const llama::host_model& small,
                     const run_request& request) {
    const cascade::switching_options options{.draft_length = resolved.length.value_or(0)};
    const auto scheme = switching(small, target, turns_of(resolved)).with(options);
    run_result made = run_scheme(scheme, request);
    if (request.measures_divergence) {
        made.divergence = tune::divergence_of_turns(scheme, request.prompt, made.ids, request.options.sampling);
    }
    return made;
}

/// Runs a scheme whose last link has this criterion, and measures how far from the target its text is drawn, if that is
/// asked for.
run_result run_measured(const auto& scheme, const engine& target, const run_request& request, const auto& last) {
    if (!request.measures_divergence) return run_scheme(scheme, request);
    tune::divergence_meter meter(last, request.options.sampling, target.vocabulary_size());
    run_result made = run_scheme(scheme, request, meter);
    made.divergence = meter.divergence();
    return made;
}

/// `inside`: the qualifier's rule where that is no fuzzy one.
template <class Rule>
run_result run_fuzzy(const scheme_options& resolved, const engine& target, const members& drafters,
                     const run_request& request, const auto& inside) {
    using cascade::model_link;
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
run_result run_as_published(const scheme_options& resolved, const engine& target, const members& drafters,
                            const run_request& request) {
    using cascade::model_link;
    const model_link first{policy::fixed_length{resolved.lengths[0]}, Rule(resolved.thresholds.front())};
    const model_link last{policy::fixed_length{resolved.lengths[1]}, Rule(resolved.thresholds.back())};
    return run_scheme(cascaded_as_published(*drafters.draft, first, *drafters.qualifier, last, target), request);
}

/// Which rule a scheme has: the one that is asked for, else its own.
std::string rule_of(const scheme_options& chosen, const transform::settings& sampling) {
    if (chosen.scheme == "ead") {
        if (!chosen.accept.empty()) {
            detail::fail("--accept is ", io::quote(chosen.accept), ", but scheme 'ead' verifies nothing");
        }
        return "none";
    }
    const std::string own = chosen.scheme == published ? "fuzzy" : "rejection_then_fuzzy";
    if (chosen.accept.empty() || chosen.accept == own) return own;
    if (chosen.accept != greedy_rule) {
        detail::fail("--accept is ", io::quote(chosen.accept), ", but scheme '", chosen.scheme,
                     "' has rules of its own: valid are ", own, ", ", greedy_rule);
    }
    if (sampling.temperature.value != 0) {
        detail::fail("--accept ", greedy_rule, " is for temperature 0, but that is ", sampling.temperature.value);
    }
    return std::string(greedy_rule);
}

}  // namespace

bool is_lossy(const std::string& scheme) {
    return scheme == "fsd" || scheme.starts_with("psd") || scheme == "ead";
}

scheme_options resolve_lossy(scheme_options chosen, const transform::settings& sampling, std::size_t drafts) {
    chosen.accept = rule_of(chosen, sampling);
    const std::size_t smaller = chosen.scheme.starts_with("psd") ? 2 : 1;
    if (drafts > smaller) {
        detail::fail("scheme '", chosen.scheme, "' takes ",
                     smaller == 2 ? "a draft and a qualifier" : "one smaller model", ", but --draft was given ", drafts,
                     " times");
    }
    if (chosen.thresholds.empty()) chosen.thresholds = first_thresholds(chosen.scheme);
    check_thresholds(chosen);
    check_lengths(chosen);
    if (!chosen.length && chosen.scheme == "fsd") chosen.length = 2;
    if (!chosen.divergence_temperature && chosen.accept == greedy_rule) chosen.divergence_temperature = 1.0f;
    return chosen;
}

bool is_exact_at_temperature_0(const scheme_options& resolved) {
    return is_lossy(resolved.scheme) && resolved.scheme != "ead" && resolved.accept != greedy_rule;
}

run_result run_lossy(const scheme_options& resolved, const engine& target, const members& drafters,
                     const run_request& request) {
    if (resolved.scheme == "ead") return run_turns(resolved, target, *drafters.draft, request);
    if (resolved.accept != greedy_rule) {
        if (resolved.scheme == published) return run_as_published<published_fuzzy>(resolved, target, drafters, request);
        return run_fuzzy<fuzzy>(resolved, target, drafters, request, accept::rejection_sampling{});
    }
    run_request compared = request;
    compared.options.sampling.temperature.value = *resolved.divergence_temperature;
    if (resolved.scheme == published) return run_as_published<fuzzy_greedy>(resolved, target, drafters, compared);
    return run_fuzzy<fuzzy_greedy>(resolved, target, drafters, compared, fuzzy_greedy(0));
}

}  // namespace augur::program
