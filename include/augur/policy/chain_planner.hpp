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
/// of it were accepted, from an allowance that grows with every gain and by a small share of the time, and the surer
/// the more of it they may lose. So the time that it loses against plain decoding is bounded, whatever the text does.
/// Where it has stopped drafting it tries again now and then, so that a text that becomes predictable is drafted for
/// again. Effect on the distribution: none. Lengths depend on the clock, so the rounds of two runs may differ; under
/// exact and coupled the text does not. Cost: O(max_length^2) per round, no randomness. Source: Leviathan et al. 2023,
/// section 3.5 (the expected improvement), with measured instead of assumed figures.
template <std::size_t Sources = 4>
class chain_planner : protected time_account {
 public:
    static constexpr signals_read reads{.available = signals::match_length | signals::draft_entropy};
    /// Drafters that are distinguished; later ones share the last's figures.
    static constexpr std::size_t most_sources = Sources;
    using time_account::allowance;
    using time_account::measures_plain;
    using time_account::verify_seconds;

    /// `before`: what one with the same max_length learned in earlier texts; its passes go before verify_seconds.
    explicit chain_planner(cost_aware_options<> options = {}, const learned_state& before = {})
        : time_account(options.terms(), options.verify_seconds), options_(std::move(options)) {
        for (source& each : sources_) {
            for (std::size_t i = 0; i < all_kinds; ++i) {
                each.kinds[i].positions.resize(is_of_matches(i) ? 1 : options_.max_length);
            }
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
        learn_match(happened);
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
        if (happened.drafted > 0 && seen.match_length == 0) learn_acceptance(from.kinds[kind_of(seen)], happened);
        end_round(happened);
    }

    /// A round in which somebody else drafted.
    void learn_pass(const outcome& happened) {
        learn_followed(happened.decided_on);
        time_account::learn_pass(happened);
    }

    /// Estimated probability that the token at `position` of a draft is accepted, given that those before it are.
    double acceptance(const observation& seen, std::size_t position) const {
        double rate = 0;
        for (std::size_t i = 0; i <= position; ++i) rate = next_rate(source_of(seen), seen, i, rate);
        return rate;
    }

 private:
    static constexpr double most_recalled = 8;    ///< tokens
    static constexpr double first_looks = 7;      ///< rows, fading, before what they show decides whether to look
    static constexpr double doubt = 3;            ///< tokens that an expectation counts as
    static constexpr double least_stake = 1e-6;   ///< tokens, and a share
    static constexpr std::size_t matches = 7;     ///< kinds by match; 0 is without any
    static constexpr std::size_t long_match = 7;  ///< tokens: of the last of these kinds
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
        std::size_t looked = 0;   ///< the round
        std::size_t longest = 0;  ///< match
        drafting_time token_seconds;
    };
    struct choice {
        std::size_t length = 0;
        double gain = 0;    ///< tokens more than what else the time would yield
        double growth = 0;  ///< of what may be lost, expected of its logarithm
    };
    /// Of which all that was drafted was accepted; a length of 0: of which nothing can be learned.
    struct followed_match {
        std::size_t source = 0, length = 0, drafted = 0;
    };

    /// Costs count as four measurements, acceptance as eight tokens, at most: a text that differs is soon believed.
    void recall(const learned_state& before) {
        check(before, {most_sources, most_sources * all_kinds, options_.max_length, most_sources * all_kinds},
              "cost_aware");
        recall_passes(before.passes);
        for (std::size_t i = 0; i < before.drafting.size(); ++i) sources_[i].token_seconds.recall(before.drafting[i]);
        for (std::size_t i = 0; i < before.accepted.size(); ++i) {
            kind& of = sources_[i / all_kinds].kinds[i % all_kinds];
            for (std::size_t at = 0; at < std::min(before.accepted[i].size(), of.positions.size()); ++at) {
                of.positions[at] = before.accepted[i][at].at_most(most_recalled);
            }
            const auto of_source = std::span(before.looks).subspan(i / all_kinds * all_kinds, all_kinds);
            const double looks = std::accumulate(of_source.begin(), of_source.end(), 0.0);
            of.share = looks > 0 ? before.looks[i] * std::min(1.0, most_recalled / looks) : 0;
        }
    }

    const source& source_of(const observation& seen) const { return sources_[std::min(seen.source, most_sources - 1)]; }

    static bool is_of_matches(std::size_t kind) { return kind > 0 && kind < matches; }

    /// Match lengths that are distinguished: 1, 2, 3, 4, 5-6, 7 and more.
    static std::size_t kind_of_match(std::size_t tokens) {
        return tokens <= 4 ? tokens : (tokens < long_match ? 5 : 6);
    }
    /// By the match's length, else the entropy; 0 where nothing is known.
    static std::size_t kind_of(const observation& seen) {
        if (seen.match_length > 0) return kind_of_match(seen.match_length);
        if (std::isnan(seen.first_draft_entropy_nats)) return 0;
        const auto above = std::upper_bound(edges.begin(), edges.end(), seen.first_draft_entropy_nats);
        return matches + static_cast<std::size_t>(above - edges.begin());
    }

    /// Acceptance of the token at `position`, after that of the one before it. A token that is accepted makes a match
    /// longer: so what is known of longer matches is known of it.
    static double next_rate(const source& from, const observation& seen, std::size_t position, double before) {
        if (seen.match_length > 0) {
            const auto tokens = static_cast<double>(seen.match_length + position);
            const kind& of = from.kinds[kind_of_match(seen.match_length + position)];
            return of.positions[0].rate((tokens - 0.5) / (tokens + 1), doubt);
        }
        if (position == 0) {
            const double entropy = seen.first_draft_entropy_nats;
            before = std::isnan(entropy) ? 1.0 / 3 : 1 / (1 + std::max(0.0, entropy));
        }
        return from.kinds[kind_of(seen)].positions[position].rate(before, doubt);
    }

    bool due(std::size_t tried) const { return rounds() - tried >= options_.probe_after; }

    /// What drafting so many takes longer than a plain round, which has looked at the row that was looked at.
    double extra_seconds(const source& from, const observation& seen, std::size_t length) const {
        const double unpaid = static_cast<double>(length) - (!std::isnan(seen.first_draft_entropy_nats) ? 1 : 0);
        return verify_seconds(length + 1) - verify_seconds(1) + from.token_seconds.figure.mean * unpaid;
    }

    choice best_choice(const source& from, const observation& seen) const {
        const std::size_t most = std::min(options_.max_length, 4 * passes().most_measured() - 3);
        choice best;
        for (std::size_t length = 1; length <= most; length += 1 + length / 16) {
            const double extra = extra_seconds(from, seen, length);
            if (!affordable(extra)) break;
            const choice next = expected(from, seen, length, extra);
            if (next.growth > best.growth) best = next;
        }
        return best;
    }

    /// Of a draft that takes so many seconds more.
    choice expected(const source& from, const observation& seen, std::size_t length, double extra) const {
        const double cost = pace() * extra;
        const double all = std::max(pace() * verify_seconds(1) * allowance(), least_stake);
        const auto logged = [&](std::size_t accepted) {
            return std::log(std::max(1 + (static_cast<double>(accepted) - cost) / all, least_stake));
        };
        choice of{.length = length, .gain = -cost};
        double rate = 0, stands = 1;
        for (std::size_t i = 0; i < length; ++i) {
            rate = next_rate(from, seen, i, rate);
            of.growth += stands * (1 - rate) * logged(i);
            stands *= rate;
            of.gain += stands;
        }
        of.growth += stands * logged(length);
        return of;
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

    /// How far the draft of a match stood; and what became of the token after the last one that stood to its end,
    /// drafted or not: this round's match is longer by it, or is not.
    void learn_match(const outcome& happened) {
        const observation& seen = happened.decided_on;
        learn_followed(seen);
        source& from = sources_[std::min(seen.source, most_sources - 1)];
        for (std::size_t i = 1; i < matches; ++i) from.kinds[i].positions[0].fade(options_.memory);
        if (seen.match_length == 0) return;
        from.longest = std::max(from.longest, seen.match_length);
        for (std::size_t i = 0; i < std::min(happened.drafted, happened.accepted + 1); ++i) {
            judge(from, seen.match_length + i, i < happened.accepted);
        }
        if (happened.accepted == happened.drafted) last_ = {seen.source, seen.match_length, happened.drafted};
    }

    void learn_followed(const observation& seen) {
        const followed_match last = std::exchange(last_, {});
        const bool searched = !measures_plain() && affordable(0);
        if (last.length == 0 || !searched || seen.source < last.source) return;
        source& from = sources_[std::min(last.source, most_sources - 1)];
        const std::size_t now = seen.source == last.source ? seen.match_length : 0;
        const std::size_t whole = last.length + last.drafted;
        const bool stood =
            now > whole || (now >= long_match && now >= from.longest);  // which may be the drafter's most
        if (stood || whole < from.longest) judge(from, whole, stood);
        if (stood && last.drafted == 0 && last.length >= long_match) earn();
    }

    void judge(source& from, std::size_t tokens, bool accepted) {
        kind& all = from.kinds[kind_of_match(tokens)];
        all.tried = rounds();
        counted& of = all.positions[0];
        of.judged += 1;
        of.accepted += accepted ? 1 : 0;
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
    followed_match last_;
};

}  // namespace augur::policy
