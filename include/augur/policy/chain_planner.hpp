#pragma once
// Plans the length with the highest expected throughput, by measured cost and acceptance; plain decoding is a choice.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "augur/policy/concept.hpp"
#include "augur/policy/cost_aware_options.hpp"
#include "augur/policy/learned_state.hpp"
#include "augur/policy/time_account.hpp"
#include "augur/types/observation.hpp"

namespace augur::policy {

/// Learns while decoding how long a verify pass over n rows takes with what is judged of them, how long drafting a
/// token does, and how often the token at position i of a draft is accepted: separately for each drafter
/// (draft/fallback.hpp), and for its matches' lengths or the entropy of its first row where it shows them. Each round
/// it drafts the number of tokens that gains most over plain decoding, a second being worth the tokens it yields at the
/// present pace; 0 when none does. It spends accumulated savings: drafts are only as long as it could pay for if none
/// of it were accepted, from an allowance that grows with every gain and by a small share of the time. So the time that
/// it loses against plain decoding is bounded, whatever the text does. Where it has stopped drafting it tries again now
/// and then, so that a text that becomes predictable is drafted for again. Effect on the distribution: none. Lengths
/// depend on the clock, so the rounds of two runs may differ; under exact and coupled the text does not. Cost:
/// O(max_length^2) per round, no randomness. Source: Leviathan et al. 2023, section 3.5 (the expected improvement),
/// with measured instead of assumed figures.
template <std::size_t Sources = 4>
class chain_planner : protected time_account {
 public:
    static constexpr signals_read reads{.available = signals::match_length | signals::draft_entropy};
    /// Drafters that are distinguished; later ones share the last's figures.
    static constexpr std::size_t most_sources = Sources;
    using time_account::allowance;
    using time_account::learn_pass;
    using time_account::measures_plain;
    using time_account::verify_seconds;

    /// `before`: what one with the same max_length learned in earlier texts; its passes go before verify_seconds.
    explicit chain_planner(cost_aware_options<> options = {}, const learned_state& before = {})
        : time_account(options.terms(), options.verify_seconds), options_(std::move(options)) {
        for (source& each : sources_) {
            for (kind& of : each.kinds) of.positions.resize(options_.max_length);
        }
        recall(before);
    }

    /// What the next text's policy can begin with.
    learned_state learned() const {
        learned_state all;
        all.passes = learned_passes();
        for (const source& each : sources_) {
            all.drafting.push_back(figures::kept(each.token_seconds.figure));
            for (const kind& of : each.kinds) {
                all.accepted.push_back(of.positions);
                all.looks.push_back(of.share);
            }
        }
        return all;
    }

    const cost_aware_options<>& options() const { return options_; }

    /// A length, which the round's first row or match decides.
    draft_plan plan(const observation& seen) const { return {.length = length_on(seen)}; }

    std::size_t length_on(const observation& seen) const {
        if (measures_plain()) return 0;
        if (includes(seen.pending, signals::match_length)) return affordable(0) ? options_.max_length : 0;
        const source& from = source_of(seen);
        if (includes(seen.pending, signals::draft_entropy)) return worth_a_look(from) ? options_.max_length : 0;
        const std::size_t best = best_choice(from, seen).length;
        if (best > 0 || !due(from.kinds[kind_of(seen)].tried)) return best;
        return affordable(extra_seconds(from, seen, 1)) ? 1 : 0;
    }

    void learn(const outcome& happened) noexcept {
        const observation& seen = happened.decided_on;
        source& from = sources_[std::min(seen.source, most_sources - 1)];
        const bool looked = !std::isnan(seen.first_draft_entropy_nats);
        const bool asked = seen.source > 0 || length_on(seen) > 0;  // one before it may have looked, too
        const std::size_t drafted = std::max<std::size_t>(happened.drafted, looked ? 1 : 0);
        const std::size_t rows = std::min(happened.drafted, options_.max_length) + 1;
        double seconds = passes().learn(rows, happened.row_seconds());
        if (drafted > 0) {
            const double each = happened.draft_seconds / static_cast<double>(drafted);
            seconds += from.token_seconds.learn(each, options_.memory) * static_cast<double>(drafted);
        } else if (asked) {
            lose(happened.draft_seconds);
        }
        settle(happened.accepted + 1, seconds, drafted > 0, happened.seconds());
        if (looked) learn_look(from, seen);
        if (happened.drafted > 0) learn_acceptance(from.kinds[kind_of(seen)], happened);
        end_round(happened);
    }

    /// Estimated probability that the token at `position` of a draft is accepted, given that those before it are.
    double acceptance(const observation& seen, std::size_t position) const {
        const kind& of = source_of(seen).kinds[kind_of(seen)];
        double rate = expected_before(seen);
        for (std::size_t i = 0; i <= position; ++i) rate = of.positions[i].rate(rate, doubt);
        return rate;
    }

 private:
    static constexpr double most_recalled = 8;  ///< tokens
    static constexpr double first_looks = 7;    ///< rows, fading, before what they show decides whether to look
    static constexpr double doubt = 3;          ///< tokens that an expectation counts as
    static constexpr std::size_t matches = 7;   ///< kinds by match; 0 is without any
    static constexpr std::array<double, 4> edges = {0.5, 1.5, 2.5, 3.5};  ///< nats, of kinds by entropy
    static constexpr std::size_t all_kinds = matches + edges.size() + 1;

    /// Drafts of one quality.
    struct kind {
        std::vector<counted> positions;
        std::size_t tried = 0;  ///< the round
        double share = 0;       ///< of the rows looked at, by entropy
    };
    struct source {
        std::array<kind, all_kinds> kinds;
        std::size_t looked = 0;  ///< the round
        drafting_time token_seconds;
    };
    struct choice {
        std::size_t length = 0;
        double gain = 0;  ///< tokens more than what else the time would yield
    };

    /// Costs count as four measurements, acceptance as eight tokens, at most: a text that differs is soon believed.
    void recall(const learned_state& before) {
        check(before, {most_sources, most_sources * all_kinds, options_.max_length, most_sources * all_kinds},
              "cost_aware");
        recall_passes(before.passes);
        for (std::size_t i = 0; i < before.drafting.size(); ++i) sources_[i].token_seconds.recall(before.drafting[i]);
        for (std::size_t i = 0; i < before.accepted.size(); ++i) {
            kind& of = sources_[i / all_kinds].kinds[i % all_kinds];
            for (std::size_t at = 0; at < before.accepted[i].size(); ++at) {
                of.positions[at] = before.accepted[i][at].at_most(most_recalled);
            }
            const auto of_source = std::span(before.looks).subspan(i / all_kinds * all_kinds, all_kinds);
            const double looks = std::accumulate(of_source.begin(), of_source.end(), 0.0);
            of.share = looks > 0 ? before.looks[i] * std::min(1.0, most_recalled / looks) : 0;
        }
    }

    const source& source_of(const observation& seen) const { return sources_[std::min(seen.source, most_sources - 1)]; }

    /// Match lengths that are distinguished: 1, 2, 3, 4, 5-6, 7 and more; else entropies; 0 where nothing is known.
    static std::size_t kind_of(const observation& seen) {
        if (seen.match_length > 0) return seen.match_length <= 4 ? seen.match_length : (seen.match_length <= 6 ? 5 : 6);
        if (std::isnan(seen.first_draft_entropy_nats)) return 0;
        const auto above = std::upper_bound(edges.begin(), edges.end(), seen.first_draft_entropy_nats);
        return matches + static_cast<std::size_t>(above - edges.begin());
    }

    /// Acceptance of the first token until told otherwise.
    static double expected_before(const observation& seen) {
        if (!std::isnan(seen.first_draft_entropy_nats) && seen.match_length == 0) {
            return 1 / (1 + std::max(0.0, seen.first_draft_entropy_nats));
        }
        return static_cast<double>(seen.match_length + 1) / static_cast<double>(seen.match_length + 3);
    }

    bool due(std::size_t tried) const { return rounds() - tried >= options_.probe_after; }

    /// What drafting so many takes longer than a plain round, which has looked at the row that was looked at.
    double extra_seconds(const source& from, const observation& seen, std::size_t length) const {
        const double unpaid = static_cast<double>(length) - (!std::isnan(seen.first_draft_entropy_nats) ? 1 : 0);
        return verify_seconds(length + 1) - verify_seconds(1) + from.token_seconds.figure.mean * unpaid;
    }

    choice best_choice(const source& from, const observation& seen) const {
        const kind& of = from.kinds[kind_of(seen)];
        const std::size_t most = std::min(options_.max_length, 2 * passes().most_measured() - 1);
        choice best;
        double rate = expected_before(seen);
        double stands = 1;
        double tokens = 0;
        for (std::size_t length = 1; length <= most; ++length) {
            rate = of.positions[length - 1].rate(rate, doubt);
            stands *= rate;
            tokens += stands;
            const double extra = extra_seconds(from, seen, length);
            if (!affordable(extra)) break;
            const double gain = tokens - pace() * extra;
            if (gain > best.gain) best = {length, gain};
        }
        return best;
    }

    /// Whether a row's entropy is worth a draft pass: by what each kind gains, as often as they came, once some came.
    bool worth_a_look(const source& from) const {
        const double look = from.token_seconds.figure.mean;
        if (!affordable(look)) return false;
        double gain = 0;
        double shares = 0;
        for (std::size_t i = 0; i <= edges.size(); ++i) {
            const double share = from.kinds[matches + i].share;
            if (!(share > 0)) continue;
            const double low = i == 0 ? 0 : edges[i - 1];
            const double typical = i < edges.size() ? (low + edges[i]) / 2 : low + 1;
            gain += share * best_choice(from, {.first_draft_entropy_nats = typical}).gain;
            shares += share;
        }
        return shares < first_looks || gain > shares * pace() * look || due(from.looked);
    }

    void learn_look(source& from, const observation& seen) {
        for (kind& each : from.kinds) each.share *= options_.memory;
        from.kinds[kind_of(seen)].share += 1;
        from.looked = rounds();
    }

    void learn_acceptance(kind& of, const outcome& happened) {
        of.tried = rounds();
        for (std::size_t i = 0; i < options_.max_length; ++i) {
            counted& at = of.positions[i];
            at.fade(options_.memory);  // what was not tried is forgotten, too, so that it is tried again
            if (i >= happened.drafted || i > happened.accepted) continue;
            at.judged += 1;
            at.accepted += i < happened.accepted ? 1 : 0;
        }
    }

    cost_aware_options<> options_;
    std::array<source, most_sources> sources_;
};

}  // namespace augur::policy
