#pragma once
// The law suite of SpeculationPolicy.

#include <cstddef>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

#include "augur/accept/rejection_sampling.hpp"
#include "augur/decode/generate.hpp"
#include "augur/draft/draft_model.hpp"
#include "augur/draft/fallback.hpp"
#include "augur/draft/prompt_lookup.hpp"
#include "augur/policy/concept.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/models.hpp"
#include "augur/testing/promise.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/random_observations.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_policy_laws.hpp"

namespace augur::testing {

/// A policy whose clock is made up: it learns the same from the same tokens, so that its decodings can be enumerated.
template <SpeculationPolicy Policy>
struct clockless : Policy {
    explicit clockless(const Policy& policy) : Policy(policy) {}

    void learn(outcome happened) {
        happened.draft_seconds = 0.01 * static_cast<double>(happened.drafted);
        happened.verify_seconds = 1 + 0.05 * static_cast<double>(happened.drafted);
        policy::learn<Policy>(*this, happened);
    }
};

/// A final class cannot be given another clock.
template <SpeculationPolicy Policy>
using clockless_t = std::conditional_t<std::is_final_v<Policy>, Policy, clockless<Policy>>;

/// Every law is a function of one random input that says what is wrong, or nothing.
template <SpeculationPolicy Policy>
class policy_law_cases {
 public:
    explicit policy_law_cases(const Policy& policy) : policy_(policy) {}

    std::string equal_observations_equal_lengths(choices& from) const {
        const observation seen = noted(from, some_observation(from, declared));
        const Policy copy = policy_;
        const auto expected = plan_of(policy_, seen);
        for (const Policy* each : {&policy_, &copy}) {
            const auto got = plan_of(*each, seen);
            if (got != expected)
                return described(seen) +
                       augur::detail::message(": ", described_plan(expected), ", then ", described_plan(got));
        }
        return "";
    }

    std::string every_observation_has_an_answer(choices& from) const {
        using limits = std::numeric_limits<double>;
        const observation seen =
            noted(from, some_observation(from, declared,
                                         {limits::quiet_NaN(), limits::infinity(), -limits::infinity(), -1.0, 0.0,
                                          limits::max(), limits::denorm_min()}));
        const auto first = plan_of(policy_, seen);
        const auto second = plan_of(policy_, seen);
        return first == second ? ""
                               : described(seen) + augur::detail::message(": ", described_plan(first), ", then ",
                                                                          described_plan(second));
    }

    std::string plans_are_of_the_declared_shape(choices& from) const {
        const observation seen = noted(from, some_observation(from, declared));
        try {
            policy::check_shape<Policy>(policy::answer(policy_, seen));
        } catch (const error& found) {
            return found.what();
        }
        return "";
    }

    std::string equal_pasts_equal_lengths(choices& from) const requires LearnsFromOutcomes<Policy> {
        Policy one = policy_;
        Policy other = policy_;
        std::string past;
        for (std::size_t i = from.below(6); i > 0; --i) {
            const outcome happened = some_outcome(from, declared, past);
            one.learn(happened);
            other.learn(happened);
        }
        const observation seen = noted(from, some_observation(from, declared));
        const auto expected = plan_of(one, seen);
        const auto got = plan_of(other, seen);
        if (got == expected) return "";
        return described(seen) + augur::detail::message(", having learned", past, ": ", described_plan(expected),
                                                        " and ", described_plan(got));
    }

    std::string a_copy_learns_apart(choices& from) const requires LearnsFromOutcomes<Policy> {
        const observation seen = noted(from, some_observation(from, declared));
        const auto expected = plan_of(policy_, seen);
        Policy copy = policy_;
        std::string past;
        for (std::size_t i = from.below(65); i > 0; --i) copy.learn(some_outcome(from, declared, past));
        const auto got = plan_of(policy_, seen);
        if (got == expected) return "";
        return described(seen) + augur::detail::message(": ", described_plan(expected), ", and ", described_plan(got),
                                                        " once a copy has learned", past);
    }

    /// What is not declared is not shown: a decoding would decide on NaN or 0 where this observation says something.
    std::string undeclared_signals_change_nothing(choices& from) const {
        for (const signals each : all_signals) {
            if (includes(declared, each)) continue;
            if (const std::string found = reads(each, from); !found.empty()) return found;
        }
        return "";
    }

    /// Where a signal that is read if available is pending, 0 ends the draft before it is known. Of many policies and
    /// observations one must go on, or none may draft once it is known.
    std::string waits_for(signals used, const effort& tries) const {
        std::string lost;
        for (std::size_t i = 0; i < 8 * tries.cases; ++i) {
            choices from(tries.seed * 1'000'003 + i);
            std::string past;
            const Policy policy = some_policy(from, past);
            observation seen = before_drafting(from);
            const auto plan = plan_of(policy, seen);
            if (!is_empty(plan) && lost.empty()) lost = described_plan(plan) + " on " + described(seen);
            hide(seen, used);
            seen.pending = used;
            if (!is_empty(plan_of(policy, seen))) return "";
        }
        if (lost.empty()) return lost;
        return augur::detail::message("it reads ", name_of(used),
                                      ", but answers 0 wherever that is pending, which ends the "
                                      "draft before it is known; then it would have been ",
                                      lost);
    }

    /// What it answers, as far as it shows anything: with all that it declared known, and before drafting or, for the
    /// next token alone, where some are drafted.
    struct answers {
        bool drafts = false;
        bool one_more = false;  ///< drafted + 1, where something is drafted
        bool further = false;   ///< more than that
    };
    void ask(choices& from, answers& given) const {
        std::string past;
        const Policy policy = some_policy(from, past);
        observation seen = before_drafting(from);
        given.drafts |= !is_empty(plan_of(policy, seen));
        if constexpr (shape_of<Policy> == draft_shape::chain) {
            const auto answered = [&] {
                const std::size_t length = plan_of(policy, seen).length;
                given.one_more |= seen.drafted > 0 && length == seen.drafted + 1;
                given.further |= length > seen.drafted + 1;
            };
            answered();
            seen.drafted = 1 + some_count(from, 5);
            from.note([&] { return described(seen); });
            answered();
        }
    }

    std::string keeps_the_distribution(choices& from) const {
        const std::size_t vocabulary = from.between(2, 3);
        decode::options chosen;
        chosen.stop.max_tokens = from.between(1, 3);
        const auto target_rows = random_table(from, vocabulary);
        const auto draft_rows = random_table(from, vocabulary);
        const auto prompt = from.tokens(1, 4, vocabulary);
        const auto target = markov_model(target_rows);
        const auto drafted_by = [&](auto&& drafter) {
            const auto scheme = speculate(std::forward<decltype(drafter)>(drafter), target,
                                          clockless_t<Policy>(policy_), accept::rejection_sampling{});
            return broken_promise(scheme, prompt, chosen, 10'000'000, from.tolerance());
        };
        std::string found;
        if constexpr (shape_of<Policy> != draft_shape::chain) {
            const auto tree = draft::draft_model(markov_model(draft_rows)).with_selector(draft::argmax{});
            if constexpr (includes(signals_of<Policy>, signals::match_length)) {
                found = drafted_by(draft::fallback(draft::prompt_lookup(1, 2), tree));
            } else {
                found = drafted_by(tree);
            }
        } else if constexpr (!includes(required_signals<Policy>, signals::match_length)) {
            found = drafted_by(markov_model(draft_rows));
        }
        if constexpr (shape_of<Policy> == draft_shape::chain && includes(signals_of<Policy>, signals::match_length)) {
            if (found.empty()) found = drafted_by(draft::prompt_lookup(1, 2));
        }
        if (found.empty()) return found;
        return augur::detail::message("target ", describe_table(target_rows), ", draft ", describe_table(draft_rows),
                                      ", prompt ", describe(prompt), ", at most ", chosen.stop.max_tokens, ": ", found);
    }

 private:
    static constexpr signals declared = signals_of<Policy>;

    static observation noted(choices& from, const observation& seen) {
        from.note([&] { return described(seen); });
        return seen;
    }

    /// A copy that has learned something, where it does.
    Policy some_policy(choices& from, std::string& past) const {
        Policy learned = policy_;
        if constexpr (LearnsFromOutcomes<Policy>) {
            for (std::size_t i = from.below(20); i > 0; --i) learned.learn(some_outcome(from, declared, past));
        }
        return learned;
    }

    /// With all that the policy declared known, and nothing drafted.
    static observation before_drafting(choices& from) {
        observation seen = noted(from, some_observation(from, declared));
        seen.round = from.below(100);
        seen.drafted = 0;
        seen.first_draft_entropy_nats = seen.draft_entropy_nats;
        seen.pending = signals::none;
        for (const signals each : all_signals) {
            if (!includes(declared, each)) hide(seen, each);
        }
        return seen;
    }

    /// One undeclared signal, there or not, in the present and in all that was learned.
    std::string reads(signals hidden, choices& from) const {
        Policy shown = policy_;
        Policy again = policy_;
        Policy blind = policy_;
        std::string past;
        if constexpr (LearnsFromOutcomes<Policy>) {
            for (std::size_t i = from.below(6); i > 0; --i) {
                outcome happened = some_outcome(from, declared, past);
                shown.learn(happened);
                again.learn(happened);
                hide(happened.decided_on, hidden);
                blind.learn(happened);
            }
        }
        const observation known = noted(from, some_observation(from, declared));
        observation seen = known;
        const auto expected = plan_of(shown, seen);
        if (plan_of(again, seen) != expected) return "";  // it is not the signal: other laws say what is wrong
        hide(seen, hidden);
        const auto got = plan_of(blind, seen);
        if (got == expected) return "";
        return augur::detail::message("it reads ", name_of(hidden),
                                      ", which it does not declare in `reads`: in a decoding its answer is ",
                                      described_plan(got), ", not ", described_plan(expected), ", on ",
                                      described(known), past.empty() ? "" : ", having learned", past);
    }

    const Policy& policy_;
};

namespace detail {
/// Of a policy that is asked before the draft's signals are known: one that needs none of them.
template <SpeculationPolicy Policy>
void check_waiting(report& r, const policy_law_cases<Policy>& cases, const effort& tries) {
    constexpr signals of_draft = signals::draft_entropy | signals::draft_confidence | signals::match_length;
    if constexpr (!includes(required_signals<Policy>, of_draft) && includes(signals_of<Policy>, of_draft)) {
        const effort once{.seed = tries.seed, .cases = 1, .shrinks = 0};
        check(r, "what is used is waited for", once, [&](choices&) {
            std::string found;
            for (const signals each : all_signals) {
                if (!found.empty() || !includes(signals_of<Policy> & of_draft, each)) continue;
                found = cases.waits_for(each, tries);
            }
            return found;
        });
    }
}

/// What is no fault, but may be a surprise. A policy that throws meanwhile breaks a law.
template <SpeculationPolicy Policy>
void note_answers(report& r, const policy_law_cases<Policy>& cases, const effort& tries) {
    if (!r.broken.empty()) return;
    typename policy_law_cases<Policy>::answers given;
    report asked;
    const effort often{.seed = tries.seed, .cases = 8 * tries.cases, .shrinks = tries.shrinks};
    check(asked, "every observation has an answer", often, [&](choices& from) {
        cases.ask(from, given);
        return std::string();
    });
    r.broken = std::move(asked.broken);
    if (!r.broken.empty()) return;
    if (!given.drafts) r.note("drafts nothing", "0 on every observation that was tried, whatever it had learned");
    if (given.one_more && !given.further) {
        r.note("never wants more than one token more",
               "on every observation that was tried it answers at most drafted + 1, which ends the draft after that "
               "token: what it answers is the number of tokens in all, so to go on it has to answer more");
    }
}
}  // namespace detail

/// Checks every law on random observations and outcomes: the same answers to the same, no signal read that is not
/// declared, none that is used and never waited for. Decodings with sampled drafts (of policies that plan trees, with
/// trees of the best tokens; for policies on matches, with n-gram drafts) have to keep plain sampling's distribution
/// exactly, whatever the policy learns meanwhile; that is not checked of a final class that learns. A form of its own
/// for entropy must see all of rows of up to 140,000 tokens. Counts of rounds and tokens are small as a rule, and now
/// and then 8 to 2^20. A policy that never drafts is noted, as is one that never wants more than one token more.
template <SpeculationPolicy Policy>
report policy_laws(const Policy& policy, const effort& tries = {}) {
    report r{"policy_laws"};
    using c = policy_law_cases<Policy>;
    const c cases(policy);
    const auto law = [&](const char* name, auto member) {
        check(r, name, tries, [&](choices& from) { return (cases.*member)(from); });
    };
    law("equal observations, equal lengths", &c::equal_observations_equal_lengths);
    law("every observation has an answer", &c::every_observation_has_an_answer);
    law("plans are of the declared shape", &c::plans_are_of_the_declared_shape);
    if constexpr (LearnsFromOutcomes<Policy>) {
        law("a copy learns apart", &c::a_copy_learns_apart);
        law("equal pasts, equal lengths", &c::equal_pasts_equal_lengths);
    }
    effort often = tries;
    often.cases *= 8;
    check(r, "undeclared signals change nothing", often,
          [&](choices& from) { return cases.undeclared_signals_change_nothing(from); });
    detail::check_waiting(r, cases, tries);
    if constexpr (std::is_final_v<Policy> && LearnsFromOutcomes<Policy>) {
        r.skip("the distribution is kept", "a final class learns by the true clock, so no decoding can be repeated");
    } else {
        law("the distribution is kept", &c::keeps_the_distribution);
    }
    detail::check_wide_signals<Policy>(r, tries);
    detail::note_answers(r, cases, tries);
    return r;
}

}  // namespace augur::testing
