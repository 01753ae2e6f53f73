#pragma once
// The law suite of Drafter.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/draft/context.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/random/chooser.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_proposals.hpp"
#include "augur/testing/drafter_inputs.hpp"
#include "augur/testing/drafter_rounds.hpp"
#include "augur/testing/drafter_signals.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/followed_target.hpp"
#include "augur/testing/law_chooser.hpp"
#include "augur/testing/named_once.hpp"
#include "augur/testing/next_weight.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_drafter_laws.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/draw_key.hpp"
#include "augur/types/error.hpp"

namespace augur::testing {

/// Every law is a function of one random input that says what is wrong, or nothing.
template <Drafter D, class Target, bool Trees>
class drafter_law_cases : public drafter_inputs<D, Target, Trees> {
    using typename drafter_inputs<D, Target, Trees>::request;

 public:
    using typename drafter_inputs<D, Target, Trees>::draft_distribution;
    using drafter_inputs<D, Target, Trees>::drafter_inputs;

    std::string no_more_than_is_wanted(choices& from) const {
        request asked = some_request(from);
        const std::size_t policy_wants = from.below(10);
        const auto got =
            propose_fresh(asked, random::philox_chooser(from.below(1000)), policy::fixed_length{policy_wants});
        if (longest_path(got) > std::min(asked.budget, policy_wants)) {
            return augur::detail::message(asked.described(), ", policy wants ", policy_wants, ": proposes ",
                                          described_proposal(got));
        }
        if (!drafts_trees<D, policy::fixed_length> && !got.is_chain()) {
            return augur::detail::message(asked.described(), ": proposes ", described_proposal(got),
                                          " for a length, and does not say static constexpr bool branches = true");
        }
        for (token t : got.tokens()) {
            if (t >= 0 && static_cast<std::size_t>(t) < vocabulary_) continue;
            return augur::detail::message(asked.described(), ": proposes ", describe(got.tokens()),
                                          " with a vocabulary of ", vocabulary_);
        }
        return "";
    }

    /// The nodes of a topology that fits, or fewer.
    std::string no_more_than_the_tree_that_is_wanted(choices& from) const {
        request asked = some_request(from);
        const wants_tree policy{some_topology(from)};
        const topology fits = policy.wanted.within(asked.budget);
        const auto got = propose_fresh(asked, random::philox_chooser(from.below(1000)), policy);
        if (longest_path(got) <= fits.depth() && got.size() <= fits.size()) return "";
        return augur::detail::message(asked.described(), ", policy wants a tree with parents ",
                                      describe(policy.wanted.parents()), ": proposes ", described_proposal(got));
    }

    std::string the_prefix_is_left_alone(choices& from) const {
        request asked = some_request(from);
        const std::string expected = described_prefix(asked.before);
        propose_fresh(asked, random::philox_chooser(from.below(1000)));
        const std::string got = described_prefix(asked.before);
        return got == expected ? "" : asked.described() + ": left it as " + got + " instead of " + expected;
    }

    /// Where several rows can be proposed after the same tokens, as by who is certain once the noise is known, each for
    /// itself.
    std::string draft_rows_are_drawn_from(choices& from) const {
        request asked = some_enumerable(from);
        struct place {
            double total = 0;
            std::map<token, double> drawn;
        };
        std::map<std::pair<first_nodes, draft_row>, place> places;
        std::size_t size = vocabulary_;
        each_proposal(asked, asked.policy(), [&](const proposal<draft_distribution>& proposed, double probability) {
            for (std::size_t i = 0; i < proposed.size(); ++i) {
                if (proposed[i].row->size() != vocabulary_) size = proposed[i].row->size();
                first_nodes before(proposed, i);
                before.parents.push_back(proposed.parent(i));
                place& at = places[{std::move(before), draft_row_of(proposed[i])}];
                at.total += probability;
                at.drawn[proposed.tokens()[i]] += probability;
            }
        });
        if (size != vocabulary_) {
            return augur::detail::message(asked.described(), ": proposes a row of ", size, " in a vocabulary of ",
                                          vocabulary_);
        }
        for (auto& [row_after, at] : places) {
            const auto& [before, stated] = row_after;
            for (const auto& [t, p] : stated) at.drawn.try_emplace(t, 0.0);
            for (const auto& [t, p] : at.drawn) {
                const double drawn = p / at.total, said = draft_probability_for(stated, t);
                if (std::abs(drawn - said) < from.tolerance()) continue;
                return augur::detail::message(asked.described(), ": after ", describe(before.tokens), " token ", t,
                                              " is drawn with probability ", drawn, ", but its row says ", said);
            }
        }
        return "";
    }

    /// A token that was drawn by noise which the next round meets again, as by a race at its position, is no draw of
    /// its draft row: a criterion of drafts that are drawn anew would then lose the distribution.
    std::string tokens_are_drawn_anew_in_each_round(choices& from) const {
        request asked = some_enumerable(from);
        asked.budget = std::min<std::size_t>(1, asked.budget);
        std::map<std::pair<draft_row, draft_row>, std::map<std::pair<token, token>, double>> pairs;
        enumerate([&](const enumerating_chooser& chooser) {
            const auto first = propose_fresh(asked, chooser), second = propose_fresh(asked, chooser, asked.policy(), 1);
            if (!first.empty() && !second.empty()) {
                pairs[{draft_row_of(first[0]), draft_row_of(second[0])}][{first[0].id, second[0].id}] +=
                    chooser.probability();
            }
            return std::vector<token>{};
        });
        for (const auto& [stated, drawn] : pairs) {
            double total = 0;
            for (const auto& [pair, probability] : drawn) total += probability;
            for (const auto& [pair, probability] : drawn) {
                const double expected =
                    draft_probability_for(stated.first, pair.first) * draft_probability_for(stated.second, pair.second);
                if (std::abs(probability / total - expected) < from.tolerance()) continue;
                return augur::detail::message(asked.described(), ": draws token ", pair.first, ", and ", pair.second,
                                              " in the round after, with probability ", probability / total,
                                              ", but independent draws of the draft rows do with ", expected);
            }
        }
        return "";
    }

    /// A draft by the numbers that judge it is not judged by chance: tokens would be accepted because they were drawn.
    std::string numbers_that_judge_are_left(choices& from) const {
        request asked = some_request(from);
        named_once<random::philox_chooser> once(random::philox_chooser(from.below(1000)));
        const auto got = propose_fresh(asked, once);
        const distribution any = distribution::weighted({1, 1});
        const auto after = [&](std::int32_t parent) {
            return position_draws(once, asked.before.size() + parents::depth_of(got.parents(), parent), 0,
                                  parents::aside(got.parents(), parent));
        };
        try {
            for (auto node = after_prefix; node < static_cast<std::int32_t>(got.size()); ++node) {
                after(node).choose(any, purpose::correction);
            }
            for (std::size_t node = 0, sibling = 0; node < got.size(); ++node, sibling = 0) {
                for (std::size_t i = 0; i < node; ++i) sibling += got.parent(i) == got.parent(node) ? 1 : 0;
                auto coin = after(got.parent(node));
                coin.at_sibling(sibling);
                coin.flip(0.5, purpose::accept);
            }
        } catch (const error& twice) {
            return augur::detail::message(asked.described(), ": proposes ", described_proposal(got),
                                          " by a number that judges it: ", twice.what());
        }
        return "";
    }

    std::string draft_rows_have_the_token_as_their_mode(choices& from) const {
        request asked = some_request(from);
        const auto got = propose_fresh(asked, random::philox_chooser(from.below(1000)));
        for (std::size_t i = 0; i < got.size(); ++i) {
            if (got[i].row->mode() == got[i].id) continue;
            return augur::detail::message(asked.described(), ": picks token ", got[i].id, " at ", i,
                                          ", but the most probable in its row is ", got[i].row->mode());
        }
        return "";
    }

    std::string draft_rows_are_transformed(choices& from) const {
        request asked = some_request(from);
        const auto banned = static_cast<token>(from.below(vocabulary_));
        asked.sampling.bias.added = {{banned, -std::numeric_limits<float>::infinity()}};
        const auto got = propose_fresh(asked, random::philox_chooser(from.below(1000)));
        for (std::size_t i = 0; i < got.size(); ++i) {
            const double probability = got[i].row->probability(banned);
            if (!(probability > 0)) continue;
            return augur::detail::message(asked.described(), ": token ", banned, " is banned, but the row at ", i,
                                          " states ", probability, " for it");
        }
        return "";
    }

 private:
    using inputs = drafter_inputs<D, Target, Trees>;
    using inputs::drafter_;
    using inputs::each_proposal;
    using inputs::propose_fresh;
    using inputs::some_enumerable;
    using inputs::some_request;
    using inputs::vocabulary_;

    /// Tokens and their probabilities, of those that have one.
    using draft_row = std::vector<std::pair<token, double>>;
    static draft_row draft_row_of(const auto& drafted) {
        draft_row row;
        for (std::size_t i = next_weight(*drafted.row, 0); i < drafted.row->size();
             i = next_weight(*drafted.row, i + 1)) {
            row.push_back({static_cast<token>(i), drafted.probability(static_cast<token>(i))});
        }
        return row;
    }
    static double draft_probability_for(const draft_row& row, token t) {
        const auto at = std::lower_bound(row.begin(), row.end(), std::pair(t, 0.0));
        return at != row.end() && at->first == t ? at->second : 0;
    }

    static std::string described_prefix(const prefix& before) {
        const std::map<token, token_count> counts(before.counts().begin(), before.counts().end());
        std::string text = describe(before.tokens());
        for (const auto& [t, count] : counts) {
            text += augur::detail::message(' ', t, ':', count.anywhere, '/', count.generated);
        }
        return text;
    }
};

/// Checks every law of a drafter that is asked for trees, or for chains.
template <bool Trees, Drafter D, class Target>
void check_drafts(const drafter_law_checker& law, const D& drafter, const Target& target) {
    using c = drafter_law_cases<D, Target, Trees>;
    using rounds = drafter_round_cases<D, Target, Trees>;
    const c cases(drafter, law.vocabulary, target);
    const rounds played(drafter, law.vocabulary, target);
    law("never more tokens than are wanted, all of the vocabulary", cases, &c::no_more_than_is_wanted);
    law("the prefix is left as it was", cases, &c::the_prefix_is_left_alone);
    law("after on_commit, proposals are a fresh state's", played, &rounds::after_on_commit_like_fresh);
    law("an abandoned round leaves no trace", played, &rounds::abandoned_leaves_no_trace);
    law("the numbers that judge are left to it", cases, &c::numbers_that_judge_are_left);
    if constexpr (Trees) {
        law("never more nodes than are wanted, nor deeper ones", cases, &c::no_more_than_the_tree_that_is_wanted);
    }
    if constexpr (std::same_as<typename D::draft_distribution_type, distribution>) {
        law.enumerated("a draft row is the one that the token was drawn from", cases, &c::draft_rows_are_drawn_from);
        law.enumerated("a token is drawn anew in each round", cases, &c::tokens_are_drawn_anew_in_each_round);
        law("draft rows are transformed", cases, &c::draft_rows_are_transformed);
    }
    if constexpr (std::same_as<typename D::draft_distribution_type, mode_of_row>) {
        law("the most probable token of a draft row is the one that was picked", cases,
            &c::draft_rows_have_the_token_as_their_mode);
        law("draft rows are transformed", cases, &c::draft_rows_are_transformed);
    }
    check_signals(law, drafter_signal_cases<D, Target, Trees>(drafter, law.vocabulary, target));
    check_far_out(law, wide_drafter_cases<D, Target, Trees>(drafter, law.vocabulary, target));
}

/// Checks every law on random prefixes, rooms and transforms; of one that fills trees on chains, then on trees. The
/// laws about the drafter's randomness are enumerated:
/// in a vocabulary of more than 8 with a mask that leaves few neighbours among its far places (wide_rows.hpp), at which
/// ids are cut and vectors end. A drafter with a vocabulary is known far out only where that is wide: hand the suite
/// one over testing::hashed_model(140'000, 1), too. A drafter without vocabulary_size() is told one: keep it small, so
/// that n-grams recur; one of point masses is also handed tokens of wider ones, up to `tries.widest`.
template <Drafter D, class Target = no_target>
report drafter_laws(const D& drafter, std::size_t vocabulary_size, const effort& tries = {},
                    const Target& target = {}) {
    report r{"drafter_laws"};
    const drafter_law_checker law{r, tries, vocabulary_size};
    if constexpr (!branches<D>) check_drafts<false>(law, drafter, target);
    if constexpr (branches<D> || fills_trees<D>) check_drafts<true>(law, drafter, target);
    return r;
}

/// The same for a drafter that knows its vocabulary.
template <Drafter D>
requires HasVocabularySize<D> report drafter_laws(const D& drafter, const effort& tries = {}) {
    return drafter_laws(drafter, drafter.vocabulary_size(), tries);
}

/// The same for a drafter that follows the hidden states of `target`, or drafts in its sequence.
template <Drafter D, HiddenStateModel M>
requires(ReadsStates<D> || drafts_in_target<D>) report
    drafter_laws(const D& drafter, const M& target, const effort& tries = {}) {
    return drafter_laws(drafter, target.vocabulary_size(), tries, followed_target<M>{target});
}

}  // namespace augur::testing
