#include "lossy.hpp"

#include <augur/io/files/quote.hpp>

#include "lossy_rules.hpp"
#include "options.hpp"

namespace augur::program {
namespace {

/// Where the user names none. The qualifier's before the target's.
std::vector<double> first_thresholds(const std::string& scheme) {
    if (scheme == "ead") return {0.25};
    return scheme.starts_with("psd_f") ? std::vector{0.4, 0.5} : std::vector{0.5};
}

void check_thresholds(const scheme_options& chosen) {
    const std::size_t wanted = first_thresholds(chosen.scheme).size();
    if (chosen.thresholds.size() != wanted) {
        detail::fail("--thresholds holds ", chosen.thresholds.size(), " numbers; scheme '", chosen.scheme, "' takes ",
                     wanted);
    }
    if (chosen.scheme == "ead") {
        return of_option("--thresholds, --window and --dwell", [&] { static_cast<void>(turns_of(chosen)); });
    }
    of_option("--thresholds", [&] {
        for (const double threshold : chosen.thresholds) static_cast<void>(fuzzy(threshold));
    });
}

void check_lengths(const scheme_options& chosen) {
    if (chosen.lengths.size() != 2) {
        detail::fail("--lengths holds ", chosen.lengths.size(), " numbers; it takes two, for draft and qualifier");
    }
    for (const std::size_t length : chosen.lengths) {
        if (length == 0) detail::fail("--lengths holds 0; a model proposes at least 1 token");
    }
}

/// Which rule a scheme has: the one that is asked for, else its own.
std::string rule_of(const scheme_options& chosen, const transform::settings& sampling) {
    if (chosen.scheme == "ead") {
        if (!chosen.accept.empty()) {
            detail::fail("--accept is ", io::quote(chosen.accept), ", but scheme 'ead' verifies nothing");
        }
        return "none";
    }
    const std::string own = chosen.scheme == published_scheme ? "fuzzy" : "rejection_then_fuzzy";
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

switching::rolling_entropy turns_of(const scheme_options& chosen) {
    return switching::rolling_entropy(
        {.thresholds_bits = chosen.thresholds, .window = chosen.window, .dwell = chosen.dwell});
}

bool is_lossy(const std::string& scheme) {
    return scheme == "fsd" || scheme == "psd_a" || scheme == "psd_f" || scheme == published_scheme || scheme == "ead";
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

}  // namespace augur::program
