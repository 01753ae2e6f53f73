#pragma once
// The law suite of a whole decoding scheme.

#include <algorithm>
#include <cstddef>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "augur/decode/generate.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_proposals.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/explain.hpp"
#include "augur/testing/law_chooser.hpp"
#include "augur/testing/named_once.hpp"
#include "augur/testing/promise.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/text_distribution_of.hpp"
#include "augur/testing/wide_rows.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"

namespace augur::testing {

/// The distribution of the texts cut as `cut(tokens)` says.
template <class Cut>
text_distribution cut_text_distribution(const text_distribution& of, const Cut& cut) {
    text_distribution law{.probability = {}, .paths = of.paths};
    for (const auto& [tokens, probability] : of.probability) law.probability[cut(tokens)] += probability;
    return law;
}

/// Texts of its tokens cannot all be enumerated.
template <class Scheme>
bool is_wide(const Scheme& scheme) {
    return scheme.target().vocabulary_size() >= wide_vocabularies.front();
}

/// Every law is a function of one random input that says what is wrong, or nothing.
template <class Scheme>
class scheme_law_cases {
 public:
    /// `chosen`: the transforms, and the most tokens of a text that is enumerated.
    scheme_law_cases(const Scheme& scheme, const decode::options& chosen) : scheme_(scheme), chosen_(chosen) {}

    std::string keeps_its_promise(choices& from) const {
        const auto prompt = some_prompt(from);
        decode::options chosen = chosen_;
        chosen.stop.max_tokens = from.between(1, chosen_.stop.max_tokens);
        const std::string found = broken_promise(scheme_, prompt, chosen, 10'000'000, from.tolerance());
        return found.empty() ? found : where(prompt, chosen) + ": " + found;
    }

    std::string a_limit_cuts_and_changes_nothing(choices& from) const {
        const auto prompt = some_prompt(from);
        decode::options shorter = chosen_;
        shorter.stop.max_tokens = from.between(1, std::max<std::size_t>(chosen_.stop.max_tokens, 2) - 1);
        const text_distribution expected =
            cut_text_distribution(text_distribution_of(scheme_, prompt, chosen_), [&](std::vector<token> tokens) {
                tokens.resize(std::min(tokens.size(), shorter.stop.max_tokens));
                return tokens;
            });
        return unequal(expected, text_distribution_of(scheme_, prompt, shorter), where(prompt, shorter),
                       from.tolerance());
    }

    std::string a_stop_token_cuts_and_changes_nothing(choices& from) const {
        const auto prompt = some_prompt(from);
        decode::options stopping = chosen_;
        stopping.stop.stop_tokens = from.tokens(1, 1, vocabulary());
        if (is_wide(scheme_)) stopping.stop.stop_tokens = {far_window(vocabulary(), from.below(far_windows))[0]};
        const auto until_stop = [&](std::vector<token> tokens) {
            const auto found = std::find(tokens.begin(), tokens.end(), stopping.stop.stop_tokens[0]);
            if (found != tokens.end()) tokens.erase(found + 1, tokens.end());
            return tokens;
        };
        return unequal(
            cut_text_distribution(reference(prompt), until_stop), text_distribution_of(scheme_, prompt, stopping),
            where(prompt, stopping) + ", stop token " + std::to_string(stopping.stop.stop_tokens[0]), from.tolerance());
    }

    std::string caches_equal_rebuilt_ones(choices& from) const {
        run at(*this, from);
        at.decode();
        auto& s = at.s;
        const auto tokens = s.committed.tokens();
        const auto cached = s.target.tokens();
        if (scheme_.target().length(s.target.sequence()) != cached.size() || cached.size() > tokens.size() ||
            !std::equal(cached.begin(), cached.end(), tokens.begin())) {
            return at.described() + ": the target's cache holds " + describe(cached) + " after " + describe(tokens);
        }
        auto sequence = scheme_.target().make_sequence();
        const auto expected = last_of(copy_of(scheme_.target().extend(sequence, tokens)), 1);
        const auto got = last_of(copy_of(s.target.score(tokens, 1)), 1);
        const double tolerance = has_bitwise_rows<typename Scheme::target_type> ? 0 : 1e-3;
        const std::string found = difference(expected, got, tolerance);
        return found.empty() ? found : at.described() + ", after " + describe(tokens) + ": " + found;
    }

    std::string drafter_equals_a_fresh_one(choices& from) const {
        run at(*this, from);
        at.decode();
        auto& s = at.s;
        if (s.finished != finish_reason::running) return "";
        auto fresh = scheme_.drafter().make_state();
        model::cached_sequence rebuilt(scheme_.target());
        std::size_t shown = 0;
        decode::prefill(rebuilt, scheme_.drafter(), fresh, s.committed, shown);
        const auto expected = propose(s, fresh, rebuilt);
        const std::string found = difference(expected, propose(s, s.drafter_state, s.target));
        return found.empty() ? found : at.described() + ", after " + describe(s.committed.tokens()) + ": " + found;
    }

    std::string every_round_commits(choices& from) const {
        run at(*this, from);
        std::string found;
        at.each_step([&](const auto& record) {
            const std::size_t committed = record.committed.size();
            if (committed > 0 && committed <= record.proposed.size() + 1) return;
            found =
                augur::detail::message(at.described(), ": a round commits ", committed, " tokens of ",
                                       record.proposed.size(), " drafted, after ", describe(at.s.committed.tokens()));
        });
        return found;
    }

    std::string statistics_add_up(choices& from) const {
        run at(*this, from);
        stage_statistics seen;
        std::size_t plain_rounds = 0;
        at.each_step([&](const auto& record) {
            const auto& committed = record.committed;
            seen.add(record.proposed.size(),
                     static_cast<std::size_t>(std::count_if(committed.begin(), committed.end(),
                                                            [](auto& t) { return t.from == origin::accepted; })));
            plain_rounds += record.proposed.empty() ? 1 : 0;
        });
        const statistics& counts = at.s.counts;
        const stage_statistics& stage = counts.stages.back();
        const auto disagree = [&](const char* what, std::size_t a, std::size_t b) {
            return a == b ? std::string() : augur::detail::message(at.described(), ": ", what, ' ', a, ", but ", b);
        };
        for (const std::string& found :
             {disagree("tokens committed", counts.committed(), at.s.committed.generated().size()),
              disagree("rounds", stage.rounds, seen.rounds), disagree("tokens drafted", stage.drafted, seen.drafted),
              disagree("tokens accepted", stage.accepted, seen.accepted),
              disagree("accepted by origin", counts.count(origin::accepted), stage.accepted),
              disagree("plain tokens", counts.count(origin::plain), plain_rounds)}) {
            if (!found.empty()) return found;
        }
        return "";
    }

    std::string no_number_is_asked_for_twice(choices& from) const {
        const auto prompt = some_prompt(from);
        decode::options chosen = without_clock(chosen_);
        chosen.stop.max_tokens = 3 * longer;
        const law_chooser chooser = named_once(random::philox_chooser(from.below(1000)));
        decode::generate_with<any_guarantee>(chooser, scheme_, prompt, chosen);
        return "";  // what is wrong is thrown
    }

    std::string equal_seeds_equal_texts(choices& from) const {
        const auto prompt = some_prompt(from);
        decode::options chosen = chosen_;
        chosen.stop.max_tokens = longer;
        chosen.seed = from.below(1000);
        const law_chooser chooser = random::philox_chooser(chosen.seed);
        const auto once = decode::generate_with<any_guarantee>(chooser, scheme_, prompt, chosen).tokens;
        const auto again = decode::generate_with<any_guarantee>(chooser, scheme_, prompt, chosen).tokens;
        if (once == again) return "";
        return augur::detail::message(where(prompt, chosen), ", seed ", chosen.seed, ": ", describe(once), ", then ",
                                      describe(again));
    }

 private:
    static constexpr std::size_t longer = 12;  ///< tokens of a text that is not enumerated

    /// A decoding with production randomness, stopped after some rounds.
    struct run {
        run(const scheme_law_cases& in, choices& from)
            : cases(in),
              prompt(in.some_prompt(from)),
              seed(from.below(1000)),
              rounds(from.below(longer)),
              s(in.scheme_, prompt, in.chosen_.sampling, commit::stop_conditions{.max_tokens = longer},
                random::philox_chooser(seed)) {}

        template <class See>
        void each_step(const See& see) {
            for (std::size_t i = 0; i < rounds && s.finished == finish_reason::running; ++i) {
                see(decode::step(cases.scheme_, s));
            }
        }
        void decode() {
            each_step([](const auto&) {});
        }
        std::string described() const {
            return augur::detail::message("prompt ", describe(prompt), ", seed ", seed, ", ", rounds, " rounds");
        }

        const scheme_law_cases& cases;
        std::vector<token> prompt;
        std::size_t seed;
        std::size_t rounds;
        decode::session<Scheme, law_chooser> s;
    };

    auto propose(auto& s, auto& state, auto& target) const {
        prefix before = s.committed;
        draft::context context(before, s.transform, s.chooser, s.policy, s.seen, longer,
                               shown_by<typename Scheme::drafter_type>, nullptr,
                               draft::lent<typename Scheme::drafter_type>(target));
        return draft::propose(scheme_.drafter(), state, context);
    }

    text_distribution reference(std::span<const token> prompt) const {
        if constexpr (promises_text<guarantee_of<Scheme>>) {
            return text_distribution_of(plain(scheme_.target()), prompt, chosen_);
        } else {
            return text_distribution_of(plain_sampling(scheme_.target()), prompt, chosen_);
        }
    }

    std::size_t vocabulary() const { return scheme_.target().vocabulary_size(); }

    std::vector<token> some_prompt(choices& from) const {
        auto prompt = from.tokens(1, 4, vocabulary());
        if (is_wide(scheme_)) {
            const auto places = far_places(vocabulary());
            for (token& t : prompt) t = places[static_cast<std::size_t>(t) % places.size()];
        }
        from.note([&] { return "prompt " + describe(prompt); });
        return prompt;
    }
    static std::string unequal(const text_distribution& expected, const text_distribution& got, const std::string& at,
                               double tolerance) {
        const explanation found = explain(expected, got, tolerance);
        if (found.equal) return "";
        std::ostringstream out;
        out << at << ": " << found;
        return out.str();
    }
    static std::string where(const std::vector<token>& prompt, const decode::options& chosen) {
        return augur::detail::message("prompt ", describe(prompt), ", at most ", chosen.stop.max_tokens, " tokens");
    }

    const Scheme& scheme_;
    const decode::options& chosen_;
};

namespace detail {
/// A law whose texts are enumerated, in a wide vocabulary.
template <class Scheme, class Member>
void check_masked_scheme(report& r, const char* name, const Scheme& scheme, const decode::options& chosen,
                         const effort& tries, Member member) {
    const std::size_t vocabulary = scheme.target().vocabulary_size();
    if (vocabulary > tries.widest) {
        return r.skip(name, augur::detail::message("a vocabulary of ", vocabulary, " is wider than what was allowed, ",
                                                   tries.widest));
    }
    check_windows(r, name, tries, [&](choices& from) {
        const leaves_few few{far_window(vocabulary, from.below(far_windows))};
        decode::options masked = chosen;
        masked.sampling.mask = [few, also = chosen.sampling.mask](std::span<float> logits, const prefix& before) {
            if (also) also(logits, before);
            few(logits, before);
        };
        const std::string found = (scheme_law_cases<Scheme>(scheme, masked).*member)(from);
        if (found.empty()) return found;
        return augur::detail::message("in a vocabulary of ", vocabulary, ", all tokens masked but ", describe(few.kept),
                                      ": ", found);
    });
}
}  // namespace detail

/// Checks every law on random prompts, with the transforms of `chosen`. Texts of up to chosen.stop.max_tokens tokens
/// are enumerated: keep them at 2 or 3, vocabulary and length at 2 to 4. The laws on texts are for schemes whose
/// guarantee is an equality. At temperature 0 where the guarantee is the greedy text.
///
/// Of a target of 100 tokens and more, texts are enumerated under a mask that leaves a few neighbours among its far
/// places (wide_rows.hpp), if `tries.widest` allows its vocabulary.
template <class Scheme>
report scheme_laws(const Scheme& scheme, const decode::options& chosen, const effort& tries = {.cases = 20}) {
    report r{"scheme_laws"};
    using c = scheme_law_cases<Scheme>;
    const c cases(scheme, chosen);
    const auto law = [&](const char* name, auto member) {
        check(r, name, tries, [&](choices& from) { return (cases.*member)(from); });
    };
    const auto enumerated = [&](const char* name, auto member) {
        if (!is_wide(scheme)) return law(name, member);
        detail::check_masked_scheme(r, name, scheme, chosen, tries, member);
    };
    if constexpr (promises_equality<guarantee_of<Scheme>>) {
        enumerated("keeps its promise", &c::keeps_its_promise);
        enumerated("a limit cuts the text and changes nothing before it", &c::a_limit_cuts_and_changes_nothing);
        enumerated("a stop token cuts the text and changes nothing before it",
                   &c::a_stop_token_cuts_and_changes_nothing);
    } else {
        r.skip("keeps its promise",
               std::string("its guarantee is no equality: ") + std::string(guarantee_of<Scheme>::name));
    }
    law("every cache equals one rebuilt from the prefix", &c::caches_equal_rebuilt_ones);
    law("every round commits, at most one token more than were drafted", &c::every_round_commits);
    law("statistics add up", &c::statistics_add_up);
    law("no random number is asked for twice", &c::no_number_is_asked_for_twice);
    if constexpr (LearnsFromOutcomes<typename Scheme::policy_type> && !promises_text<guarantee_of<Scheme>>) {
        r.skip("equal seeds, equal texts", "its policy may learn from the clock");
    } else {
        law("equal seeds, equal texts", &c::equal_seeds_equal_texts);
    }
    law("the drafter proposes what a fresh one would", &c::drafter_equals_a_fresh_one);
    return r;
}

}  // namespace augur::testing
