#pragma once
// The law suite of Drafter in wide vocabularies: the same as with few tokens in a narrow one.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/random/chooser.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_proposals.hpp"
#include "augur/testing/drafter_inputs.hpp"
#include "augur/testing/followed_target.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_rows.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// Every law is a function of one random input that says what is wrong, or nothing.
template <Drafter D, class Target, bool Trees>
class wide_drafter_cases : public drafter_inputs<D, Target, Trees> {
    using typename drafter_inputs<D, Target, Trees>::request;

 public:
    using typename drafter_inputs<D, Target, Trees>::draft_distribution;
    using drafter_inputs<D, Target, Trees>::drafter_inputs;

    /// It knows of no vocabulary, so that any token may be in its texts.
    static constexpr bool takes_any_token =
        std::same_as<draft_distribution, point_mass> && !HasVocabularySize<D> && std::same_as<Target, no_target>;

    /// One that heeds a mask that leaves the first tokens heeds one that leaves far ones.
    std::string far_masks_are_heeded_as_near_ones(choices& from) const {
        request asked = this->far_out(from);
        if (!heeds_near_masks()) return "";
        return not_heeded(asked, from.below(1000));
    }

    /// After a text of a few tokens, and after another round, the same draft as after that of other numbers.
    std::string tokens_are_treated_alike(choices& from) const {
        const std::size_t vocabulary = wide_vocabularies[from.below(wide_vocabularies.size())];
        const auto places = some_places(far_places(vocabulary), 2 * from.below(windows), few);
        const std::string found = unlike(from, places, vocabulary);
        return found.empty() ? found : augur::detail::message("in a vocabulary of ", vocabulary, ", ", found);
    }
    std::string narrow_tokens_are_treated_alike(choices& from) const {
        std::vector<token> numbers;
        for (std::size_t i = 0; i < few; ++i) numbers.push_back(static_cast<token>(3 * i + from.below(3)));
        return unlike(from, numbers, 3 * few);
    }

    static constexpr std::size_t windows = 8;

 private:
    static constexpr std::size_t few = 5;
    using inputs = drafter_inputs<D, Target, Trees>;
    using inputs::drafter_;
    using inputs::propose;
    using inputs::propose_fresh;
    using inputs::target_;

    bool heeds_near_masks() const {
        choices from(std::uint64_t{1});
        for (std::size_t i = 0; i < 8; ++i) {
            request near = this->masked(from, std::vector<token>{0, 1, 2, 3, 4, 5, 6, 7}, {1, 2, 5});
            if (!not_heeded(near, i).empty()) return false;
        }
        return true;
    }
    std::string not_heeded(request& asked, std::size_t seed) const {
        const auto got = propose_fresh(asked, random::philox_chooser(seed));
        for (const token t : got.tokens()) {
            if (std::binary_search(asked.kept.begin(), asked.kept.end(), t)) continue;
            return augur::detail::message(asked.described(), ": proposes token ", t,
                                          ", and among its first tokens none that is masked");
        }
        return "";
    }

    /// Two rounds of one text.
    struct text {
        request asked{};
        typename D::state_type state;
        typename Target::follower target;

        text(const wide_drafter_cases& of, std::vector<token> prompt, const topology& wanted)
            : state(of.drafter_.make_state()), target(of.target_) {
            asked.before = prefix(std::move(prompt));
            asked.budget = 8;
            asked.wanted = wanted;
            target.prefill(of.drafter_, state, asked.before);
        }
    };

    std::string unlike(choices& from, const std::vector<token>& numbers, std::size_t vocabulary) const {
        const auto there = [&](std::vector<token> tokens) {
            for (token& t : tokens) t = numbers[static_cast<std::size_t>(t)];
            return tokens;
        };
        const auto prompt = from.tokens(1, 12, few);
        const topology wanted = some_topology(from);
        text here(*this, prompt, wanted), far(*this, there(prompt), wanted);
        const std::size_t seed = from.below(1000);
        for (std::size_t round = 0; round < 3; ++round) {
            const auto expected = proposed(here, few, seed, round), got = proposed(far, vocabulary, seed, round);
            std::vector<token> tokens(expected.tokens().begin(), expected.tokens().end());
            if (std::any_of(tokens.begin(), tokens.end(), [](token t) { return t < 0 || t >= int{few}; })) return "";
            tokens = there(std::move(tokens));
            const bool same = std::equal(tokens.begin(), tokens.end(), got.tokens().begin(), got.tokens().end());
            if (!same || described_proposal_parents(expected) != described_proposal_parents(got)) {
                return augur::detail::message("after ", describe(far.asked.before.tokens()), " proposes ",
                                              described_proposal(got), " instead of ", describe(tokens),
                                              ": after the same text of tokens 0 to 4 it is ",
                                              described_proposal(expected));
            }
            const auto more = from.tokens(1, 3, few);
            for (const token t : more) here.asked.before.push(t);
            for (const token t : there(more)) far.asked.before.push(t);
            for (text* each : {&here, &far}) each->target.on_commit(drafter_, each->state, each->asked.before);
        }
        return "";
    }
    proposal<draft_distribution> proposed(text& of, std::size_t vocabulary, std::size_t seed, std::size_t round) const {
        const wide_drafter_cases at(drafter_, vocabulary, target_);
        return at.propose(of.state, of.target, of.asked, random::philox_chooser(seed), of.asked.policy(), round);
    }
    static std::string described_proposal_parents(const proposal<draft_distribution>& of) {
        return describe(of.parents());
    }
};

template <Drafter D, class Target, bool Trees>
void check_far_out(const drafter_law_checker& law, const wide_drafter_cases<D, Target, Trees>& cases) {
    using c = wide_drafter_cases<D, Target, Trees>;
    if (law.vocabulary >= wide_vocabularies.front()) {
        law.far_out("far masks are heeded as near ones", cases, &c::far_masks_are_heeded_as_near_ones);
    }
    if constexpr (c::takes_any_token) {
        const char* name = "tokens are treated alike, whatever their numbers";
        report narrow;
        check(narrow, name, {.seed = law.tries.seed, .cases = 50, .shrinks = 0},
              [&](choices& from) { return cases.narrow_tokens_are_treated_alike(from); });
        if (!narrow.broken.empty()) return law.into.skip(name, "it treats tokens of a narrow vocabulary differently");
        check_wide(law.into, name, law.tries, every_kind(c::windows),
                   [&](choices& from) { return cases.tokens_are_treated_alike(from); });
    } else if (law.vocabulary < wide_vocabularies.front()) {
        law.into.skip("drafts far out", augur::detail::message("its vocabulary has ", law.vocabulary,
                                                               " tokens: try one of 140,000, too"));
    }
}

}  // namespace augur::testing
