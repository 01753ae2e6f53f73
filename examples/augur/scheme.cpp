#include "scheme.hpp"

#include <algorithm>
#include <array>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/io/files/quote.hpp>
#include <augur/io/files/regular_file.hpp>
#include <cmath>
#include <string_view>
#include <utility>
#include <variant>

#include "chain_rules.hpp"
#include "limits.hpp"
#include "lossy.hpp"
#include "option_schemes.hpp"
#include "options.hpp"
#include "tree_rules.hpp"
#include "trees.hpp"

namespace augur::program {

any_criterion criterion_of(const std::string& name) {
    if (name == "exact") return accept::exact{};
    if (name == "rejection_sampling") return accept::rejection_sampling{};
    if (name == "block") return accept::block{};
    if (name == "coupled") return accept::coupled{};
    detail::fail("--accept ", io::quote(name),
                 " is unknown; valid are exact, rejection_sampling, block, coupled; with trees traversal, "
                 "multipath_block, typical; with fsd and psd_* fuzzy_greedy");
}

policy::learned_bins learned_bins_of(const scheme_options& chosen) {
    if (chosen.length || chosen.max_k) {
        detail::fail(chosen.length ? "--length" : "--max-k", " is ", *(chosen.length ? chosen.length : chosen.max_k),
                     ", but with --learn-bins the lengths are --bin-lengths");
    }
    return of_option("--bins and --bin-lengths", [&] {
        return policy::learned_bins{chosen.bin_edges_nats, chosen.bin_lengths};
    });
}

bool by_other_signal(const scheme_options& chosen) {
    const std::string& signal = chosen.signal;
    if (signal.empty() || signal == "draft_entropy") return false;
    const bool is_eaad = chosen.scheme == "eaad";
    if (signal == "target_entropy" && !chosen.learn_bins) return true;
    if (is_eaad && chosen.learn_bins && signal == "target_entropy") {
        detail::fail("--signal is target_entropy, but --learn-bins learns bins of the draft's entropy");
    }
    if (!is_eaad && (signal == "path_value" || signal == "acceptance")) return true;
    detail::fail("--signal ", io::quote(signal), " is unknown with ", chosen.scheme, "; valid are draft_entropy, ",
                 is_eaad ? "target_entropy" : "target_entropy, path_value, acceptance");
}

any_signal::any any_signal::made(const scheme_options& chosen) {
    if (chosen.scheme == "eaad") return bins_of<policy::entropy_form::exact, policy::entropy_of::target>(chosen);
    if (chosen.signal == "path_value") return hysteresis_of<path_value>(chosen);
    if (chosen.signal == "acceptance") return hysteresis_of<acceptance>(chosen);
    return hysteresis_of<target_entropy>(chosen);
}

any_signal::any_signal(const scheme_options& chosen) : chosen_(made(chosen)) {}

policy::confidence_stop stop_of(const scheme_options& chosen) {
    if (chosen.thresholds.size() != 1) {
        detail::fail("scheme '", chosen.scheme, "' takes one threshold, but --thresholds has ",
                     chosen.thresholds.size());
    }
    return of_option("--thresholds and --length", [&] {
        return policy::confidence_stop({.threshold = chosen.thresholds.front(), .max_tokens = chosen.length.value()});
    });
}

namespace {

void check_criterion(const std::string& name, const transform::settings& sampling) {
    const auto check = [&](const auto& criterion) {
        if constexpr (requires { criterion.check(sampling); }) criterion.check(sampling);
    };
    of_option("--accept " + name, [&] { std::visit(check, criterion_of(name)); });
}

void check_scheme(const std::string& name) {
    constexpr std::array<std::string_view, 17> valid = {
        "plain",      "lookup", "forced", "suffix", "hybrid", "merged", "sd",       "eaad", "eaad_as_published",
        "hysteresis", "medusa", "hydra",  "entmtp", "eagle",  "mtp",    "kangaroo", "dvi"};
    if (std::find(valid.begin(), valid.end(), name) == valid.end()) {
        detail::fail(
            "--scheme ", io::quote(name),
            " is unknown; valid are auto, plain, lookup, forced, suffix, hybrid, merged, sd, eaad, eaad_as_published, "
            "hysteresis, medusa, hydra, entmtp, eagle, mtp, kangaroo, dvi, fsd, fsd_as_published, psd_a, "
            "psd_a_as_published, "
            "psd_f, psd_f_as_published, cascade, ead");
    }
}

void check_divergence_temperature(float temperature, const std::string& accept) {
    if (!(temperature > 0) || std::isinf(temperature)) {
        detail::fail("--divergence-temperature is ", temperature, "; it must be above 0 and finite");
    }
    if (accept != "fuzzy_greedy") {
        detail::fail("--divergence-temperature is ", temperature,
                     ", but only --accept fuzzy_greedy compares rows at it");
    }
}

/// What `auto` is with these files.
std::string scheme_for(const checkpoint_files& named) {
    if (named.contains("ngram")) return "hybrid";
    for (const char* kind : {"eagle", "hydra", "medusa"}) {
        if (named.contains(kind)) return kind;
    }
    return named.contains("draft") ? "eaad" : "auto";
}

/// Options of the schemes kangaroo and dvi, and that no other is given them.
scheme_options resolve_exits(scheme_options chosen) {
    const bool learns = chosen.scheme == "dvi";
    if (chosen.untrained && (learns || !chosen.adapter.empty())) {
        detail::fail("--untrained is for kangaroo without an adapter",
                     learns ? "; dvi starts untrained where there is no --adapter" : "");
    }
    if (learns || chosen.scheme == "kangaroo") {
        if (chosen.exit_layer == std::size_t{0}) detail::fail("--exit-layer is 0; it must be at least 1");
        if (learns && !chosen.length && chosen.thresholds.empty()) return chosen;
        if (!chosen.length) chosen.length = policy::confidence_stop_options{}.max_tokens;
        if (chosen.thresholds.empty()) chosen.thresholds = {policy::confidence_stop_options{}.threshold};
        static_cast<void>(stop_of(chosen));
        return chosen;
    }
    if (chosen.exit_layer) {
        detail::fail("--exit-layer is ", *chosen.exit_layer, ", but the scheme is ", io::quote(chosen.scheme),
                     "; only kangaroo and dvi draft with the model's first layers");
    }
    if (chosen.untrained) {
        detail::fail("--untrained is for kangaroo, but the scheme is ", io::quote(chosen.scheme));
    }
    if (!chosen.adapter.empty() && chosen.scheme != "medusa" && chosen.scheme != "hydra" && chosen.scheme != "eagle") {
        detail::fail("--adapter is ", chosen.adapter, ", but the scheme is ", io::quote(chosen.scheme),
                     "; kangaroo, dvi, medusa, hydra and eagle draft with one");
    }
    return chosen;
}

/// What EAAD's page leaves open is chosen as there, and what makes it another scheme is refused.
scheme_options resolve_as_published(scheme_options chosen, const transform::settings& sampling) {
    if (chosen.accept.empty()) chosen.accept = "exact";
    if (chosen.accept != "exact") {
        detail::fail("scheme 'eaad_as_published' accepts by exact match, but --accept is ", io::quote(chosen.accept),
                     "; use --scheme eaad");
    }
    if (sampling.temperature.value != 0) {
        detail::fail(
            "scheme 'eaad_as_published' accepts by exact match, which changes the distribution above "
            "temperature 0, but --temperature is ",
            sampling.temperature.value, "; use --scheme eaad");
    }
    if (chosen.learn_bins) detail::fail("scheme 'eaad_as_published' has fixed bins; use --learn-bins with eaad");
    if (!chosen.length && !chosen.max_k) chosen.max_k = policy::eaad_as_published().max_k();
    return chosen;
}

}  // namespace

std::vector<std::string> members_used_by(const std::string& scheme) {
    if (scheme == "hybrid") return {"ngram", "eagle"};
    if (scheme.starts_with("psd")) return {"draft", "qualifier"};
    constexpr std::array<std::string_view, 8> with_draft = {
        "sd", "eaad", "eaad_as_published", "hysteresis", "fsd", "fsd_as_published", "cascade", "ead"};
    if (std::find(with_draft.begin(), with_draft.end(), scheme) != with_draft.end()) return {"draft"};
    if (scheme == "entmtp") return {"hydra", "medusa", "eagle", "draft"};
    if (scheme == "merged") return {"eagle", "draft", "hydra", "medusa"};
    if (scheme == "kangaroo") return {"exit"};
    if (scheme == "medusa" || scheme == "hydra" || scheme == "eagle" || scheme == "mtp") {
        return {scheme};
    }
    return {};
}

scheme_options resolve(scheme_options chosen, const transform::settings& sampling, std::size_t drafts,
                       const checkpoint_files& named) {
    const bool by_auto = chosen.scheme == "auto";
    if (by_auto) chosen.scheme = scheme_for(named);
    if (chosen.scheme != "auto" && !is_lossy(chosen.scheme)) check_scheme(chosen.scheme);
    if (chosen.scheme == "forced" && !chosen.has_grammar) {
        detail::fail("scheme 'forced' drafts what a grammar leaves no choice about, but there is no grammar; ",
                     "augur generate and augur chat have one with --grammar or --json-schema");
    }
    check_given(chosen, by_auto);
    if (chosen.scheme == "merged" && !chosen.tree && !chosen.dynamic) chosen.automatic_tree = true;
    if (chosen.divergence_temperature) check_divergence_temperature(*chosen.divergence_temperature, chosen.accept);
    check_trees(chosen);
    chosen = resolve_exits(std::move(chosen));
    if (is_lossy(chosen.scheme)) return resolve_lossy(std::move(chosen), sampling, drafts);
    if (chosen.scheme == "eaad_as_published") chosen = resolve_as_published(std::move(chosen), sampling);
    if (chosen.length && chosen.max_k) {
        detail::fail("--length is ", *chosen.length, " and --max-k ", *chosen.max_k,
                     "; both are the most tokens of a round: give one of them");
    }
    if (chosen.accept.empty()) chosen.accept = sampling.temperature.value == 0 ? "exact" : "coupled";
    drafts_trees(chosen) ? check_tree_criterion(chosen, sampling) : check_criterion(chosen.accept, sampling);
    const std::vector<std::string> used = members_used_by(chosen.scheme);
    if (drafts > 1 && std::find(used.begin(), used.end(), "draft") != used.end()) {
        detail::fail("scheme '", chosen.scheme, "' takes one draft model, but --draft was given ", drafts, " times");
    }
    const bool by_hysteresis = chosen.scheme == "hysteresis";
    if (!chosen.length && (chosen.scheme == "sd" || by_hysteresis)) chosen.length = 4;
    const bool by_signal = by_other_signal(chosen);
    if (by_hysteresis && chosen.thresholds.empty()) {
        const bool is_share = chosen.signal == "path_value" || chosen.signal == "acceptance";  // more is longer
        chosen.thresholds = is_share ? std::vector{0.6, 0.4} : std::vector{1.5, 2.5};
    }
    if (by_signal) static_cast<void>(any_signal(chosen));
    if (by_hysteresis && !by_signal) static_cast<void>(hysteresis_of(chosen));
    of_option("--bins and --bin-lengths", [&] { static_cast<void>(bins_of(chosen)); });
    if (chosen.learn_bins) static_cast<void>(learned_bins_of(chosen));
    of_option("--lookup-min and --lookup-max",
              [&] { static_cast<void>(draft::prompt_lookup(chosen.lookup_min, chosen.lookup_max)); });
    if ((chosen.scheme == "hybrid" || chosen.scheme == "merged") && chosen.lookup_max < 2) {
        detail::fail("--lookup-max is ", chosen.lookup_max, ", but ", chosen.scheme,
                     " looks for n-grams of 2 tokens and more");
    }
    return chosen;
}

std::string auto_scheme(const scheme_options& chosen) {
    return chosen.lookup_max >= 2 ? "hybrid" : "lookup";
}

void load_bank(scheme_options& into, const io::bank_identity& here) {
    if (into.bank_path.empty()) return;
    try {
        const std::string text = io::read_text(into.bank_path, most::line.bytes);
        into.bank = io::parse_bank(text, into.bank_path, most::line);
        io::check_bank(*into.bank, here, into.bank_path);
    } catch (const error& problem) {
        detail::fail("--bank: ", problem.what());
    }
    if (into.automatic_tree) into.tree = into.bank->trees.shape(into.bank->trees.fastest());
    if (into.scheme != "entmtp") return;
    const io::bank_file& bank = *into.bank;
    if (into.thresholds.empty() && feature_of(into).name != bank.feature) {
        detail::fail("--tree-feature is ", into.tree_feature, ", but the threshold of --bank ", into.bank_path,
                     " is of ", bank.feature, "; give --thresholds");
    }
    if (!into.thresholds.empty() && bank.conservative == bank.aggressive && !by_ladder(into)) {
        detail::fail("--thresholds is given, but --bank ", into.bank_path, " has one tree, so that nothing switches");
    }
}

bool drafts_what_pays(const scheme_options& resolved) {
    constexpr std::array<std::string_view, 8> by_cost = {"lookup", "forced", "suffix", "hybrid",
                                                         "eagle",  "mtp",    "medusa", "hydra"};
    return !resolved.length && !drafts_trees(resolved) &&
           std::find(by_cost.begin(), by_cost.end(), resolved.scheme) != by_cost.end();
}

}  // namespace augur::program
