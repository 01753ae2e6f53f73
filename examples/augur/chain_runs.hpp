#pragma once
// Schemes of chains, on any engine: instantiated once for each.

#include <augur/draft/fallback.hpp>
#include <augur/draft/forced.hpp>
#include <augur/draft/ngram_store.hpp>
#include <augur/draft/no_draft.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "chain_rules.hpp"
#include "run_scheme.hpp"
#include "trees.hpp"

namespace augur::program {

/// A watcher: acceptance in parts of the text of as many rounds each, at most 64 of them.
class acceptance_parts {
 public:
    void watch(const auto& view) {
        if (rounds_ == parts_.size() * rounds_a_part_) {
            if (parts_.size() == most) merge();
            parts_.emplace_back();
        }
        ++rounds_;
        parts_.back().drafted += view.decided.drafted;
        parts_.back().accepted += view.decided.accepted;
    }
    std::size_t rounds_a_part() const { return rounds_a_part_; }
    const std::vector<stage_statistics::at_position>& all() const { return parts_; }

 private:
    static constexpr std::size_t most = 64;

    /// Two become one.
    void merge() {
        for (std::size_t i = 0; i < most / 2; ++i) {
            parts_[i] = {parts_[2 * i].drafted + parts_[2 * i + 1].drafted,
                         parts_[2 * i].accepted + parts_[2 * i + 1].accepted};
        }
        parts_.resize(most / 2);
        rounds_a_part_ *= 2;
    }

    std::vector<stage_statistics::at_position> parts_{};
    std::size_t rounds_a_part_ = 1, rounds_ = 0;
};

/// Of an engine that shows hidden states or layers, to what drafts with them.
template <class Drafters>
inline constexpr bool have_networks = requires(const Drafters& all) {
    all.eagle;
};

/// The chains of one criterion on one engine: what runs is composed of what was asked for and of those that are there
/// to draft.
template <class Engine, class Drafters, class Criterion>
class chain_runs {
 public:
    chain_runs(const scheme_options& resolved, const Engine& target, const Drafters& drafters,
               const run_request& request, const Criterion& criterion)
        : resolved_(resolved), target_(target), drafters_(drafters), request_(request), criterion_(criterion) {}

    run_result run() const {
        if (resolved_.scheme == "lookup") {
            return as_it_pays(draft::prompt_lookup(resolved_.lookup_min, resolved_.lookup_max));
        }
        if (resolved_.scheme == "forced") {
            const auto& text_of = request_.options.stop.text_of;
            return as_it_pays(draft::fallback(text_of ? draft::forced(text_of) : draft::forced(),
                                              draft::prompt_lookup(resolved_.lookup_min, resolved_.lookup_max)));
        }
        if (resolved_.scheme == "suffix") {
            return run_by_suffixes(target_, planned_length(resolved_, request_), criterion_, request_);
        }
        if constexpr (have_networks<Drafters>) {
            if (auto result = by_networks()) return *std::move(result);
        }
        if (drafters_.ngrams) {
            const auto [lookup, store] = lookups_of(resolved_, *drafters_.ngrams, false);
            return as_it_pays(draft::fallback(lookup, store));
        }
        if (resolved_.scheme == "plain") return by(draft::no_draft{}, policy::fixed_length{0});
        return by_draft_model();
    }

 private:
    run_result by(const auto& drafter, const auto& policy) const {
        return run_scheme(speculate(drafter, target_, policy, criterion_), request_);
    }
    run_result as_it_pays(const auto& drafter) const { return by(drafter, planned_length(resolved_, request_)); }

    /// Nothing where none of them drafts.
    std::optional<run_result> by_networks() const {
        if (drafters_.eagle) {
            if (!drafters_.ngrams) return as_it_pays(*drafters_.eagle);
            const auto [lookup, store] = lookups_of(resolved_, *drafters_.ngrams, true);
            return as_it_pays(draft::fallback(lookup, store, *drafters_.eagle));
        }
        if (drafters_.ngrams) return std::nullopt;
        if (drafters_.heads) return as_it_pays(*drafters_.heads);
        if (drafters_.learned) return learning(*drafters_.learned);
        if (drafters_.learned_layer) return learning(*drafters_.learned_layer);
        if (drafters_.learned_attention) return learning(*drafters_.learned_attention);
        if (resolved_.scheme == "kangaroo") return by(*drafters_.exit, stop_of(resolved_));
        return std::nullopt;
    }

    run_result by_draft_model() const {
        const auto& draft = *drafters_.draft;
        if (by_other_signal(resolved_)) return by(draft, any_signal(resolved_));
        if (resolved_.scheme == "eaad" && resolved_.learn_bins) return by(draft, learned_bins_of(resolved_));
        if (resolved_.scheme == "eaad") return by(draft, bins_of(resolved_));
        if constexpr (std::is_same_v<Criterion, accept::exact>) {
            if (resolved_.scheme == "eaad_as_published") {
                return by(draft, bins_of<policy::entropy_form::offset>(resolved_));
            }
        }
        if (resolved_.scheme == "hysteresis") return by(draft, hysteresis_of(resolved_));
        return by(draft, policy::fixed_length{*resolved_.length});
    }

    run_result learning(auto& learned) const {
        if (resolved_.scheme == "kangaroo") {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(learned)>, learned_attending>) {
                return by(learned.head(), stop_of(resolved_));
            } else {
                return by(draft::frozen_head(learned.head()), stop_of(resolved_));
            }
        }
        auto learns = watcher_of(learned);
        acceptance_parts parts;
        const auto run_until = [&](const auto& until) {
            run_result result =
                run_scheme(speculate(learned.head(), target_, until, criterion_), request_, learns, parts);
            result.learner = learner_summary{learned.online().report(), parts.rounds_a_part(), parts.all()};
            return result;
        };
        if (resolved_.length) return run_until(stop_of(resolved_));
        return run_until(policy::cost_aware({.credit = untrained_credit}));
    }

    const scheme_options& resolved_;
    const Engine& target_;
    const Drafters& drafters_;
    const run_request& request_;
    const Criterion& criterion_;
};

}  // namespace augur::program
