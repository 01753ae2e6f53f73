#include "scheme.hpp"

#include <algorithm>
#include <array>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/no_draft.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/io/quote.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/policy/learned_bins.hpp>
#include <cmath>
#include <string_view>
#include <utility>
#include <variant>

#include "lossy.hpp"
#include "run_scheme.hpp"

namespace augur::program {
namespace {

struct later_scheme {
    std::string_view name, needs;
};
constexpr std::array<later_scheme, 3> later_schemes = {
    {{"entmtp", "draft trees"}, {"kangaroo", "a trained exit"}, {"dvi", "a trained exit"}}};

/// Tokens that an n-gram of the table has matched at least, to be asked before a network.
constexpr std::size_t surer_than_network = 5;

using any_criterion = std::variant<accept::exact, accept::rejection_sampling, accept::block, accept::coupled>;

any_criterion criterion_of(const std::string& name) {
    if (name == "exact") return accept::exact{};
    if (name == "rejection_sampling") return accept::rejection_sampling{};
    if (name == "block") return accept::block{};
    if (name == "coupled") return accept::coupled{};
    detail::fail("--accept ", io::quote(name),
                 " is unknown; valid are exact, rejection_sampling, block, coupled; with fsd and psd_* "
                 "fuzzy_greedy");
}

void check_criterion(const std::string& name, const transform::settings& sampling) {
    const auto check = [&](const auto& criterion) {
        if constexpr (requires { criterion.check(sampling); }) criterion.check(sampling);
    };
    std::visit(check, criterion_of(name));
}

void check_scheme(const std::string& name) {
    for (const later_scheme& later : later_schemes) {
        if (name == later.name) {
            detail::fail("scheme '", name, "' is not available in this version: it needs ", later.needs);
        }
    }
    constexpr std::array<std::string_view, 8> valid = {"plain", "lookup", "hybrid", "sd",
                                                       "eaad",  "medusa", "hydra",  "eagle"};
    if (std::find(valid.begin(), valid.end(), name) == valid.end()) {
        detail::fail("scheme ", io::quote(name),
                     " is unknown; valid are auto, plain, lookup, hybrid, sd, eaad, medusa, hydra, eagle, fsd, psd_a, "
                     "psd_f, psd_f_as_published, ead");
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
std::string scheme_for(const member_files& named) {
    if (named.contains("ngram")) return "hybrid";
    for (const char* kind : {"eagle", "hydra", "medusa"}) {
        if (named.contains(kind)) return kind;
    }
    return named.contains("draft") ? "eaad" : "auto";
}

policy::learned_bins learned_bins_of(const scheme_options& chosen) {
    if (chosen.length)
        detail::fail("--length is ", *chosen.length, ", but with --learn-bins the lengths are --bin-lengths");
    return {chosen.bin_edges_nats, chosen.bin_lengths};
}

policy::entropy_bins bins_of(const scheme_options& chosen) {
    policy::entropy_bins_options limits;
    if (chosen.length) limits.max_k = *chosen.length;
    return {chosen.bin_edges_nats, chosen.bin_lengths, limits};
}

}  // namespace

std::vector<std::string> members_used_by(const std::string& scheme) {
    if (scheme == "hybrid") return {"ngram", "eagle"};
    if (scheme.starts_with("psd")) return {"draft", "qualifier"};
    if (scheme == "sd" || scheme == "eaad" || scheme == "fsd" || scheme == "ead") return {"draft"};
    if (scheme == "medusa" || scheme == "hydra" || scheme == "eagle") return {scheme};
    return {};
}

scheme_options resolve(scheme_options chosen, const transform::settings& sampling, std::size_t drafts,
                       const member_files& named) {
    if (chosen.scheme == "auto") chosen.scheme = scheme_for(named);
    if (chosen.divergence_temperature) check_divergence_temperature(*chosen.divergence_temperature, chosen.accept);
    if (is_lossy(chosen.scheme)) return resolve_lossy(std::move(chosen), sampling, drafts);
    if (chosen.accept.empty()) chosen.accept = sampling.temperature.value == 0 ? "exact" : "coupled";
    if (chosen.scheme != "auto") check_scheme(chosen.scheme);
    check_criterion(chosen.accept, sampling);
    if (drafts > 1 && (chosen.scheme == "sd" || chosen.scheme == "eaad")) {
        detail::fail("scheme '", chosen.scheme, "' takes one draft model, but --draft was given ", drafts, " times");
    }
    if (!chosen.length && chosen.scheme == "sd") chosen.length = 4;
    static_cast<void>(bins_of(chosen));
    if (chosen.learn_bins) static_cast<void>(learned_bins_of(chosen));
    static_cast<void>(draft::prompt_lookup(chosen.lookup_min, chosen.lookup_max));
    if (chosen.scheme == "hybrid" && chosen.lookup_max < 2) {
        detail::fail("--lookup-max is ", chosen.lookup_max, ", but hybrid looks for n-grams of 2 tokens and more");
    }
    return chosen;
}

std::string auto_scheme(const scheme_options& chosen) {
    return chosen.lookup_max >= 2 ? "hybrid" : "lookup";
}

bool drafts_what_pays(const scheme_options& resolved) {
    constexpr std::array<std::string_view, 5> by_cost = {"lookup", "hybrid", "eagle", "medusa", "hydra"};
    return !resolved.length && std::find(by_cost.begin(), by_cost.end(), resolved.scheme) != by_cost.end();
}

run_result run(const scheme_options& resolved, const engine& target, const members& drafters,
               const run_request& request) {
    if (is_lossy(resolved.scheme)) return run_lossy(resolved, target, drafters, request);
    const auto compose = [&](auto criterion) {
        const auto as_it_pays = [&](const auto& drafter) {
            if (!resolved.length) {
                const policy::cost_aware as_measured({.verify_seconds = request.verify_seconds});
                return run_scheme(speculate(drafter, target, as_measured, criterion), request);
            }
            return run_scheme(speculate(drafter, target, policy::fixed_length{*resolved.length}, criterion), request);
        };
        if (resolved.scheme == "lookup") {
            return as_it_pays(draft::prompt_lookup(resolved.lookup_min, resolved.lookup_max));
        }
        if (drafters.ngrams) {
            // What the text itself repeats is the better guess, unless it rests on a single token.
            const draft::prompt_lookup lookup(std::max<std::size_t>(resolved.lookup_min, 2), resolved.lookup_max);
            const std::size_t longest = drafters.ngrams->orders().longest;
            const draft::ngram_store store(*drafters.ngrams,
                                           drafters.eagle ? std::min(surer_than_network, longest) : 1);
            if (!drafters.eagle) return as_it_pays(draft::fallback(lookup, store));
            return as_it_pays(draft::fallback(lookup, store, *drafters.eagle));
        }
        if (drafters.eagle) return as_it_pays(*drafters.eagle);
        if (drafters.heads) return as_it_pays(*drafters.heads);
        if (resolved.scheme == "eaad" && resolved.learn_bins) {
            return run_scheme(speculate(*drafters.draft, target, learned_bins_of(resolved), criterion), request);
        }
        if (resolved.scheme == "eaad") {
            return run_scheme(speculate(*drafters.draft, target, bins_of(resolved), criterion), request);
        }
        if (resolved.scheme == "sd") {
            const policy::fixed_length fixed{*resolved.length};
            return run_scheme(speculate(*drafters.draft, target, fixed, criterion), request);
        }
        return run_scheme(speculate(draft::no_draft{}, target, policy::fixed_length{0}, criterion), request);
    };
    return std::visit(compose, criterion_of(resolved.accept));
}

}  // namespace augur::program
