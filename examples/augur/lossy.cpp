#include "lossy.hpp"

#include <algorithm>
#include <array>
#include <augur/io/files/quote.hpp>
#include <string_view>

#include "link_rules.hpp"
#include "lossy_rules.hpp"
#include "options.hpp"

namespace augur::program {
namespace {

/// Draft models, of schemes that take a fixed number.
std::size_t smaller_models(const std::string& scheme) {
    return scheme.starts_with("psd") ? 2 : 1;
}
bool takes_any_number(const std::string& scheme) {
    return scheme == "cascade" || scheme == "ead";
}

/// "a,b", in parts.
std::vector<std::string> split(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t comma = std::min(text.find(',', from), text.size());
        parts.push_back(text.substr(from, comma - from));
        from = comma + 1;
    }
    return parts;
}

bool has_threshold(const std::string& rule) {
    return rule != "rejection_sampling";
}

/// The rule of each link, cheapest first. Of a cascade one rule is for all links.
std::vector<std::string> rules_of(const scheme_options& chosen, std::size_t links) {
    if (chosen.scheme == "cascade") {
        const std::vector<std::string> named = split(chosen.accept);
        if (named.size() == 1) return std::vector(links, named.front());
        if (named.size() != links) {
            detail::fail("--accept names ", named.size(), " rules, ", io::quote(chosen.accept),
                         ", but the cascade has ", links, " links, one after each --draft");
        }
        return named;
    }
    std::vector<std::string> rules(links, chosen.accept);
    if (chosen.scheme.starts_with("psd_a") && chosen.accept != greedy_rule) rules.front() = "rejection_sampling";
    return rules;
}

/// Of the links that have one, in order; psd_a's first, greedily, is 0.
std::size_t thresholds_wanted(const scheme_options& chosen, std::size_t links) {
    if (chosen.scheme == "ead") return links;
    if (chosen.scheme.starts_with("psd_a")) return 1;
    const auto rules = rules_of(chosen, links);
    return static_cast<std::size_t>(std::count_if(rules.begin(), rules.end(), has_threshold));
}

/// Where the user names none. The qualifier's before the target's.
std::vector<double> first_thresholds(const scheme_options& chosen, std::size_t links) {
    if (chosen.scheme == "ead" && links == 1) return {0.25};
    if (chosen.scheme.starts_with("psd_f")) return {0.4, 0.5};
    if (chosen.scheme.starts_with("fsd") || chosen.scheme.starts_with("psd_a")) return {0.5};
    return {};
}

void check_thresholds(const scheme_options& chosen, std::size_t links) {
    const std::size_t wanted = thresholds_wanted(chosen, links);
    if (chosen.thresholds.size() != wanted) {
        detail::fail("--thresholds holds ", chosen.thresholds.size(), " numbers; scheme '", chosen.scheme, "' takes ",
                     wanted, takes_any_number(chosen.scheme) ? detail::message(" with ", links, " draft models") : "");
    }
    if (chosen.scheme == "ead") {
        return of_option("--thresholds, --window and --dwell", [&] { static_cast<void>(turns_of(chosen)); });
    }
    static_cast<void>(with_divergence(chosen.divergence, []<class D>() { return D::maximum; }));
    of_option("--thresholds", [&] {
        for (const double threshold : chosen.thresholds) {
            static_cast<void>(link_rule("fuzzy", chosen.divergence, threshold));
        }
    });
}

/// Of a cascade as many as there are draft models; unset: 4 for each.
void settle_lengths(scheme_options& chosen, std::size_t links) {
    if (chosen.lengths.empty() && chosen.scheme == "cascade") chosen.lengths.assign(links, 4);
    if (chosen.lengths.empty() && is_as_published(chosen.scheme)) chosen.lengths = {15, 25};
    if (chosen.lengths.empty()) chosen.lengths = {1, 2};
    if (chosen.lengths.size() != links) {
        detail::fail("--lengths holds ", chosen.lengths.size(), " numbers; ",
                     chosen.scheme == "cascade" ? detail::message("it takes ", links, ", one for each --draft")
                                                : "it takes two, for draft and qualifier");
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
    if (chosen.scheme == "cascade") return chosen.accept.empty() ? "rejection_sampling" : chosen.accept;
    const std::string own = is_as_published(chosen.scheme) ? "fuzzy" : "rejection_then_fuzzy";
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

void check_draft_models(const scheme_options& chosen, std::size_t drafts) {
    if (takes_any_number(chosen.scheme)) {
        if (drafts <= most_draft_models) return;
        detail::fail("scheme '", chosen.scheme, "' takes at most ", most_draft_models,
                     " draft models, but --draft was given ", drafts, " times");
    }
    const std::size_t smaller = smaller_models(chosen.scheme);
    if (drafts > smaller) {
        detail::fail("scheme '", chosen.scheme, "' takes ",
                     smaller == 2 ? "a draft and a qualifier" : "one smaller model", ", but --draft was given ", drafts,
                     " times");
    }
}

}  // namespace

std::vector<link_choice> links_of(const scheme_options& resolved) {
    const std::size_t links = resolved.scheme.starts_with("fsd") ? 1 : resolved.lengths.size();
    std::vector<link_choice> all;
    std::size_t used = resolved.thresholds.size() - thresholds_wanted(resolved, links);
    const bool leaves_first = resolved.scheme.starts_with("psd_a");
    for (const std::string& rule : rules_of(resolved, links)) {
        const bool has_none = !has_threshold(rule) || (leaves_first && all.empty());
        all.push_back({rule, has_none ? 0 : resolved.thresholds.at(used++)});
    }
    return all;
}

switching::rolling_entropy turns_of(const scheme_options& chosen) {
    return switching::rolling_entropy(
        {.thresholds_bits = chosen.thresholds, .window = chosen.window, .dwell = chosen.dwell});
}

bool is_lossy(const std::string& scheme) {
    constexpr std::array<std::string_view, 8> all = {"fsd",   "fsd_as_published",   "psd_a",   "psd_a_as_published",
                                                     "psd_f", "psd_f_as_published", "cascade", "ead"};
    return std::find(all.begin(), all.end(), scheme) != all.end();
}

scheme_options resolve_lossy(scheme_options chosen, const transform::settings& sampling, std::size_t drafts) {
    chosen.accept = rule_of(chosen, sampling);
    check_draft_models(chosen, drafts);
    const std::size_t links =
        takes_any_number(chosen.scheme) ? std::max<std::size_t>(drafts, 1) : smaller_models(chosen.scheme);
    if (chosen.scheme == "cascade") {
        for (const std::string& rule : rules_of(chosen, links)) static_cast<void>(link_rule(rule, "", 0));
    }
    if (chosen.thresholds.empty()) chosen.thresholds = first_thresholds(chosen, links);
    check_thresholds(chosen, links);
    if (chosen.scheme.starts_with("psd") || chosen.scheme == "cascade") settle_lengths(chosen, links);
    if (!chosen.length && chosen.scheme == "fsd") chosen.length = 2;
    if (!chosen.length && chosen.scheme == "fsd_as_published") chosen.length = 15;
    if (chosen.divergence.empty() && chosen.scheme != "ead") chosen.divergence = measure::total_variation::name;
    if (!chosen.divergence_temperature && chosen.accept == greedy_rule) chosen.divergence_temperature = 1.0f;
    return chosen;
}

bool is_exact_at_temperature_0(const scheme_options& resolved) {
    return is_lossy(resolved.scheme) && !takes_any_number(resolved.scheme) && resolved.accept != greedy_rule;
}

}  // namespace augur::program
