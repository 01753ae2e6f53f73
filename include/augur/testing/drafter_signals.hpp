#pragma once
// The law suite of the signals that drafters show to a policy, and of the lengths that follow.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/random/chooser.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_proposals.hpp"
#include "augur/testing/drafter_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// A policy that needs `Needed`, wants a fixed length, and counts how often it is asked.
template <signals Needed>
struct asked_policy {
    static constexpr signals_read reads{.required = Needed};
    std::size_t tokens = 0;
    std::size_t* times = nullptr;

    std::size_t length(const observation&) const {
        ++*times;
        return tokens;
    }
};

/// One that wants more as long as what it is shown of a row, or of a match, is good enough.
template <signals Needed>
struct policy_by_signals {
    static constexpr signals_read reads{.required = Needed};
    double least_confidence = 0;
    double most_entropy_nats = std::numeric_limits<double>::infinity();
    std::size_t least_match = 0;

    std::size_t length(const observation& seen) const {
        bool more = true;
        if constexpr (includes(Needed, signals::draft_confidence)) {
            more = seen.draft_confidence >= least_confidence && seen.draft_entropy_nats <= most_entropy_nats;
        }
        if constexpr (includes(Needed, signals::match_length)) more = more && seen.match_length >= least_match;
        return more ? 100 : seen.drafted;
    }
    std::string described() const {
        return augur::detail::message(", a policy that wants a confidence of ", least_confidence, ", up to ",
                                      most_entropy_nats, " nats and matches of ", least_match);
    }
};

/// One that wants a fixed length, and keeps what it was shown of the row after each number of tokens.
struct recording_policy {
    struct shown {
        double confidence = 0;
        double entropy_nats = 0;
        bool seen = false;
    };
    static constexpr signals_read reads{.required = signals::draft_entropy | signals::draft_confidence};
    std::size_t tokens = 0;
    std::vector<shown>* rows = nullptr;

    std::size_t length(const observation& now) const {
        if (now.drafted >= rows->size()) rows->resize(now.drafted + 1);
        (*rows)[now.drafted] = {now.draft_confidence, now.draft_entropy_nats, true};
        return tokens;
    }
};

/// Every law is a function of one random input that says what is wrong, or nothing.
template <Drafter D, class Target, bool Trees>
class drafter_signal_cases : public drafter_inputs<D, Target, Trees> {
    using typename drafter_inputs<D, Target, Trees>::request;

 public:
    using typename drafter_inputs<D, Target, Trees>::draft_distribution;
    using drafter_inputs<D, Target, Trees>::drafter_inputs;

    /// A stage shows its model's rows, and proposes those of its drafter where its rule lets these through.
    static constexpr bool shows_what_it_draws_from =
        shows_rows<D> && !std::same_as<draft_distribution, point_mass> && draft::stages_in<D> == 0;

    std::string length_is_blind(choices& from) const {
        request asked = some_enumerable(from);
        return length_by_value(asked, asked.policy(), "");
    }

    /// By any threshold, as of a drafter that shows the row after the token that it then drops.
    std::string length_by_signals_is_blind(choices& from) const {
        request asked = some_enumerable(from);
        if (from.below(4) > 0) asked.sampling = {};  // so that there are several tokens to draw
        policy_by_signals<shown_by<D>> policy;
        const double part = static_cast<double>(from.below(20)) / 20;
        if (from.below(2) == 0) {
            policy.least_confidence = part;
        } else {
            policy.most_entropy_nats = (1 - part) * std::log(static_cast<double>(vocabulary_));
        }
        policy.least_match = from.below(4);
        return length_by_value(asked, policy, policy.described());
    }

    /// Of a chain by logits as they are: what the policy was shown is what the draft row says.
    std::string shown_rows_are_drawn_from(choices& from) const {
        request asked = some_request(from);
        asked.sampling = {};
        asked.sampling.temperature.value = 1;
        std::vector<recording_policy::shown> rows;
        const auto got =
            propose_fresh(asked, random::philox_chooser(from.below(1000)), recording_policy{asked.budget, &rows});
        for (std::size_t i = 0; got.is_chain() && i < std::min(got.size(), rows.size()); ++i) {
            if (!rows[i].seen) continue;
            const distribution& stated = *got[i].row;
            const double confidence = stated.probability(stated.mode()), entropy = measure::entropy_nats(stated);
            const double rounding = std::max(1e-4, from.tolerance());
            if (std::abs(confidence - rows[i].confidence) < rounding &&
                std::abs(entropy - rows[i].entropy_nats) < rounding) {
                continue;
            }
            return augur::detail::message(asked.described(), ": proposes ", described_proposal(got),
                                          " and shows a row of confidence ", rows[i].confidence, " and ",
                                          rows[i].entropy_nats, " nats at ", i, ", but its draft row has ", confidence,
                                          " and ", entropy);
        }
        return "";
    }

    template <signals Needed>
    std::string signals_are_shown(choices& from) const {
        request asked = some_request(from);
        std::size_t times = 0;
        const asked_policy<Needed> policy{asked.budget, &times};
        const auto got = propose_fresh(asked, random::philox_chooser(from.below(1000)), policy);
        const std::size_t least = Needed == signals::match_length ? (got.empty() ? 0 : 1) : longest_path(got);
        if (times >= least) return "";
        return augur::detail::message(asked.described(), ": proposes ", describe(got.tokens()),
                                      ", but asked the policy ", times, " times");
    }

 private:
    using inputs = drafter_inputs<D, Target, Trees>;
    using inputs::each_proposal;
    using inputs::propose_fresh;
    using inputs::some_enumerable;
    using inputs::some_request;
    using inputs::vocabulary_;

    static constexpr std::int32_t ended = -2;

    std::string length_by_value(request& asked, const auto& policy, const std::string& by) const {
        std::map<first_nodes, std::set<std::int32_t>> seen;  // after these nodes: the parents of the next, or the end
        each_proposal(asked, policy, [&](const proposal<draft_distribution>& proposed, double) {
            for (std::size_t i = 0; i <= proposed.size(); ++i) {
                seen[first_nodes(proposed, i)].insert(i == proposed.size() ? ended : proposed.parent(i));
            }
        });
        for (const auto& [before, next] : seen) {
            if (next.size() == 1) continue;
            const std::string what =
                next.contains(ended) ? " it ends or drafts on" : " it drafts beneath one node or another";
            return asked.described() + by + ": after " + describe(before.tokens) + what +
                   ", depending on the token that it has drawn";
        }
        return "";
    }
};

template <Drafter D, class Target, bool Trees>
void check_signals(const drafter_law_checker& law, const drafter_signal_cases<D, Target, Trees>& cases) {
    using c = drafter_signal_cases<D, Target, Trees>;
    law.enumerated("the length does not depend on the value of a drawn token", cases, &c::length_is_blind);
    if constexpr (shown_by<D> != signals::none) {
        law.enumerated("nor does it where the policy reads what is shown", cases, &c::length_by_signals_is_blind);
    }
    if constexpr (shows_rows<D>) {
        law("each row is shown to the policy", cases, &c::template signals_are_shown<signals::draft_entropy>);
    }
    if constexpr (c::shows_what_it_draws_from) {
        law("a shown row is the one that the token was drawn from", cases, &c::shown_rows_are_drawn_from);
    }
    if constexpr (shows_matches<D>) {
        law("matches are shown to the policy", cases, &c::template signals_are_shown<signals::match_length>);
    }
}

}  // namespace augur::testing
