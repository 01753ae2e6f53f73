#pragma once
// The law suite of AcceptanceCriterion on random small rows, by exact enumeration.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/accept/walk.hpp"
#include "augur/draft/draft_model.hpp"
#include "augur/random/chooser.hpp"
#include "augur/testing/checked_criterion.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/criterion_inputs.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/law_chooser.hpp"
#include "augur/testing/promise.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/tree_round.hpp"
#include "augur/testing/wide_criterion_laws.hpp"
#include "augur/types/guarantee.hpp"

namespace augur::testing {

/// The laws for drafts of `DraftDistribution`. Every law is a function of one random input that says what is wrong, or
/// nothing.
template <class Criterion, class DraftDistribution>
class criterion_law_cases {
 public:
    /// `plain`: settings that the criterion takes.
    criterion_law_cases(const Criterion& criterion, const transform::settings& plain)
        : criterion_(criterion), plain_(plain) {}

    /// A draft model over random tables, random transforms, every branch.
    template <class TokenSelector>
    std::string keeps_its_promise(choices& from) const {
        constexpr bool drawn = std::is_same_v<TokenSelector, sampled_or_certain>;
        const drafted_decoding decoding(from, promises_text<guarantee> ? 2 : 3, drawn, criterion_, plain_);
        const auto target = markov_model(decoding.target);
        using drafter = draft::draft_model<function_model, TokenSelector>;
        TokenSelector token_selector;
        if constexpr (drawn) token_selector = decoding.token_selector;
        const auto scheme = speculate(drafter(markov_model(decoding.draft), token_selector), target,
                                      sized_policy{decoding.size, decoding.prompt.size()}, criterion_);
        const std::string found =
            broken_promise(scheme, decoding.prompt, decoding.chosen, 10'000'000, from.tolerance());
        return found.empty() ? found : decoding.described() + ": " + found;
    }

    std::string never_an_impossible_token(choices& from) const {
        const block drawn(from, false, draws_rows);
        return on_every_branch(drawn, [&](const verdict& decided, const auto& proposed) {
            for (std::size_t i = 0; i < decided.accepted; ++i) {
                if (possible(drawn, i, proposed.tokens()[i])) continue;
                return augur::detail::message("accepts token ", proposed.tokens()[i], " at ", i);
            }
            if (possible(drawn, decided.accepted, decided.next)) return std::string();
            return augur::detail::message("gives token ", decided.next, " after ", decided.accepted, " accepted");
        });
    }

    /// A tree of up to four tokens, two of which are siblings at least, on every branch.
    template <class TokenSelector>
    std::string keeps_its_promise_among_siblings(choices& from) const {
        const tree_round round = some_tree(from);
        storage_of_walks storage;
        use<TokenSelector>(storage, from, round);
        const std::string found = broken_promise(criterion_, round, TokenSelector{}, from.tolerance(), storage);
        return found.empty() ? found : described(round) + ": " + found;
    }

    template <class TokenSelector>
    std::string no_impossible_sibling(choices& from) const {
        const tree_round round = some_tree(from);
        storage_of_walks storage;
        use<TokenSelector>(storage, from, round);
        std::string found;
        enumerate([&](const enumerating_chooser& chooser) {
            const std::vector<token> text = round.text(criterion_, TokenSelector{}, chooser, storage);
            const auto impossible = round.impossible(text);
            if (impossible && found.empty()) {
                found = augur::detail::message(described(round), ": gives token ", *impossible, " in ", describe(text));
            }
            return text;
        });
        return found;
    }

    std::string stays_within_the_rows(choices& from) const {
        const block drawn(from, true, draws_rows);
        return on_every_branch(drawn, [&](const verdict& decided, const auto&) {
            if (decided.drafted != drawn.length() || decided.accepted > drawn.invalid) {
                return augur::detail::message("accepts ", decided.accepted, " of ", decided.drafted, " tokens, of ",
                                              drawn.length(), " drafted");
            }
            if (decided.invalid_row() == (decided.accepted == drawn.invalid)) return std::string();
            return augur::detail::message("gives token ", decided.next, " after ", decided.accepted, " accepted");
        });
    }

    std::string equal_arguments_equal_decisions(choices& from) const {
        const block drawn(from, false, draws_rows);
        const law_chooser chooser = random::philox_chooser(from.below(1000));
        const Criterion copy = criterion_;
        const verdict expected = decide(criterion_, drawn, chooser).first;
        for (const Criterion* each : {&criterion_, &copy}) {
            const verdict got = decide(*each, drawn, chooser).first;
            if (got.accepted == expected.accepted && got.next == expected.next) continue;
            return augur::detail::message(described(drawn), ": accepts ", expected.accepted, " then gives ",
                                          expected.next, ", and the next time accepts ", got.accepted, " then gives ",
                                          got.next);
        }
        return "";
    }

 private:
    using guarantee = guarantee_of<Criterion>;
    using block = judged_block;
    using storage_of_walks = accept::walk_storage<transform::pipeline, Criterion>;
    static constexpr bool draws_rows = std::is_same_v<DraftDistribution, distribution>;
    static constexpr bool greedy = std::is_same_v<guarantee, augur::guarantee::same_greedy_text>;

    /// One case in sixteen has more than three tokens.
    tree_round some_tree(choices& from) const {
        const bool wide = from.below(16) == 15;
        const std::size_t vocabulary = wide ? from.one_of<std::size_t>({5, 9}) : from.between(2, 3);
        const auto target = uneven_table(from, vocabulary);
        const auto draft = uneven_table(from, vocabulary);
        tree_round round{markov_model(target), markov_model(draft), some_siblings(from, vocabulary)};
        round.replacement = from.below(2) == 1;
        round.sampling = settings_for(from, criterion_, vocabulary, plain_);
        if (wide) round.prompt = {1};
        from.note([&] { return described(round); });
        return round;
    }

    /// What the criterion keeps has been used in an earlier round of the text, over another tree.
    template <class TokenSelector>
    void use(storage_of_walks& storage, choices& from, const tree_round& round) const {
        if constexpr (KeepsStorage<Criterion>) {
            tree_round earlier = round;
            earlier.shape = some_siblings(from, round.target.vocabulary_size());
            earlier.prompt = {1};
            earlier.text(criterion_, TokenSelector{}, random::philox_chooser(from.below(1000)), storage);
        }
    }

    static std::string described(const tree_round& round) {
        std::string text = "target";
        for (const function_model* each : {&round.target, &round.draft}) {
            for (token last = 0; last < static_cast<token>(each->vocabulary_size()); ++last) {
                text += " " + describe(round.row(*each, std::span<const token>(&last, 1)));
            }
            if (each == &round.target) text += ", draft";
        }
        return text + " (logits by the last token), prompt " + describe(round.prompt) + ", parents " +
               describe(round.shape.parents()) + (round.replacement ? " with replacement, " : ", ") +
               describe_settings(round.sampling);
    }

    static std::string described(const block& drawn) {
        return drawn.described(std::is_same_v<DraftDistribution, point_mass>);
    }
    static bool possible(const block& drawn, std::size_t row, token t) { return drawn.possible(row, t, greedy); }

    std::pair<verdict, proposal<DraftDistribution>> decide(const Criterion& criterion, const block& drawn,
                                                           law_chooser chooser) const {
        row_copies rows;
        for (const auto& weights : drawn.targets) {
            std::vector<float>& row = rows.emplace_back();
            for (double weight : weights) row.push_back(logit_of(weight));
        }
        prefix before(std::vector<token>{0});
        proposal<DraftDistribution> proposed;
        for (std::size_t i = 0; i < drawn.length(); ++i) push(proposed, drawn, i, chooser);
        const transform::pipeline transform(plain_, rows[0].size());
        const verdict decided = accept::walk(criterion, proposed, rows, transform, before, chooser, 0);
        return {decided, std::move(proposed)};
    }

    static void push(proposal<point_mass>& proposed, const block& drawn, std::size_t i, auto&) {
        proposed.push(drawn.points[i]);
    }
    static void push(proposal<distribution>& proposed, const block& drawn, std::size_t i, auto& chooser) {
        const distribution row = drawn.draft_row(i);
        const std::size_t picked = chooser.choose(row, draw_key{1 + i, purpose::draft, 0});
        proposed.push(static_cast<token>(picked), row);
    }
    static void push(proposal<mode_of_row>& proposed, const block& drawn, std::size_t i, auto&) {
        mode_of_row row{distribution::weighted({drawn.drafts[i].begin(), drawn.drafts[i].end()})};
        const token picked = row.mode();
        proposed.push(picked, std::move(row));
    }

    template <class Wrong>
    std::string on_every_branch(const block& drawn, const Wrong& wrong) const {
        std::string found;
        enumerate([&](const enumerating_chooser& chooser) {
            const auto [decided, proposed] = decide(criterion_, drawn, chooser);
            const std::string what = wrong(decided, proposed);
            if (!what.empty() && found.empty()) {
                found = described(drawn) + ", drafted " + describe(proposed.tokens()) + ": " + what;
            }
            return std::vector<token>{};
        });
        return found;
    }

    const Criterion& criterion_;
    const transform::settings& plain_;
};

namespace detail {
/// It asks for a row beside each token that is certain.
template <class Criterion>
inline constexpr bool measures_rows_of_points =
    std::is_same_v<typename augur::detail::token_selector_for<Criterion>::type::draft_distribution_type, mode_of_row>;

template <class DraftDistribution, class Criterion>
void check_siblings(report& r, const auto& law, const std::string& drafts) {
    using c = criterion_law_cases<Criterion, DraftDistribution>;
    using drawn =
        std::conditional_t<draft::with_replacement<typename augur::detail::token_selector_for<Criterion>::type>,
                           draft::sampled_with_replacement, draft::sampled>;
    using of_rows = std::conditional_t<std::is_same_v<DraftDistribution, distribution>, drawn, draft::argmax_with_row>;
    using token_selector = std::conditional_t<std::is_same_v<DraftDistribution, point_mass>, draft::argmax, of_rows>;
    if constexpr (ReturnsVerdict<Criterion, DraftDistribution>) {
        r.skip("siblings" + drafts, "it judges whole chains");
    } else {
        law("no impossible token among siblings", &c::template no_impossible_sibling<token_selector>);
        if constexpr (promises_equality<guarantee_of<Criterion>>) {
            law("keeps its promise among siblings", &c::template keeps_its_promise_among_siblings<token_selector>);
            if constexpr (std::is_same_v<DraftDistribution, point_mass>) {
                law("keeps its promise among siblings with shared noise",
                    &c::template keeps_its_promise_among_siblings<draft::shared_noise>);
            }
        }
    }
}

template <class DraftDistribution, class Criterion>
void check_criterion(report& r, const Criterion& criterion, const effort& tries, const std::string& drafts) {
    using c = criterion_law_cases<Criterion, DraftDistribution>;
    const auto plain = accepted_settings(criterion);
    if (!plain) return r.skip("every law" + drafts, "its check refuses all settings that were tried");
    const c cases(criterion, *plain);
    const auto law = [&](const std::string& name, auto member) {
        check(r, name + drafts, tries, [&](choices& from) { return (cases.*member)(from); });
    };
    law("never an impossible token", &c::never_an_impossible_token);
    law("ends where the target cannot be drawn from", &c::stays_within_the_rows);
    law("equal arguments, equal decisions", &c::equal_arguments_equal_decisions);
    if constexpr (!promises_equality<guarantee_of<Criterion>>) {
        r.skip("keeps its promise" + drafts,
               std::string("its guarantee is no equality: ") + std::string(guarantee_of<Criterion>::name));
    } else if constexpr (std::is_same_v<DraftDistribution, distribution>) {
        law("keeps its promise", &c::template keeps_its_promise<sampled_or_certain>);
    } else if constexpr (std::is_same_v<DraftDistribution, mode_of_row>) {
        law("keeps its promise", &c::template keeps_its_promise<draft::argmax_with_row>);
    } else {
        law("keeps its promise", &c::template keeps_its_promise<draft::argmax>);
        law("keeps its promise with shared noise", &c::template keeps_its_promise<draft::shared_noise>);
    }
    check_siblings<DraftDistribution, Criterion>(r, law, drafts);
    check_wide_rows<DraftDistribution>(r, criterion, *plain, tries, drafts);
}
}  // namespace detail

/// Checks every law, for each draft distribution that the criterion understands. "keeps its promise" is exact: total
/// variation 1e-12 at most, or the very text, over random tables with zeros and ties, lengths and transforms; "among
/// siblings" over trees of up to four tokens, whose siblings are drawn with and without replacement (with it only, for
/// criteria whose token selector has that), under the random numbers' names of production; what the criterion keeps
/// from round to round has been used in other rounds before. For criteria that promise no equality neither is checked.
/// An answer that is no place in the draft or the vocabulary breaks the law in which it is given, with what it says.
/// Tried are vocabularies of 2 to 4 tokens with drafts of up to 3, and now and then (criterion_inputs.hpp) one drafted
/// token of 5, 9 or 17, or 4 to 6 of two; two or three siblings of 5, or two of 9; and, in laws of their own ("in wide
/// rows"), 100, 300, 33,000 and 140,000 tokens up to `tries.widest`, of which a few have weight (wide_rounds.hpp). In
/// some chains of drawn drafts draft rows are points, whatever the target's are, as behind draft::fallback or a
/// `certain` link of a cascade. Settings that its `check` refuses are left out; one that refuses all is not checked.
/// Cost: less than a millisecond per case and law, on average, and that of some 4,000 judgements in wide rows.
template <StatesGuarantee Criterion>
report criterion_laws(const Criterion& criterion, const effort& tries = {.cases = 500}) {
    if constexpr (!AcceptanceCriterion<Criterion>) {
        using draft_distribution = typename augur::detail::token_selector_for<Criterion>::type::draft_distribution_type;
        static_assert(augur::detail::check_criterion<Criterion, draft_distribution>::done);
    }
    const checked_criterion<Criterion> checked(criterion);
    report r{"criterion_laws"};
    if constexpr (AcceptanceCriterionFor<Criterion, distribution>) {
        detail::check_criterion<distribution>(r, checked, tries, " (drawn drafts)");
    }
    if constexpr (AcceptanceCriterionFor<Criterion, point_mass>) {
        detail::check_criterion<point_mass>(r, checked, tries, " (point masses)");
    }
    if constexpr (detail::measures_rows_of_points<Criterion> && AcceptanceCriterionFor<Criterion, mode_of_row>) {
        detail::check_criterion<mode_of_row>(r, checked, tries, " (most probable tokens with their rows)");
    }
    return r;
}

}  // namespace augur::testing
