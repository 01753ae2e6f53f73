#pragma once
// The law suite of AcceptanceCriterion in wide vocabularies: exact, for few tokens of each row have weight.

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/accept/walk.hpp"
#include "augur/random/chooser.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/law_chooser.hpp"
#include "augur/testing/promise.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_rounds.hpp"
#include "augur/testing/wide_rows.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/verdict.hpp"

namespace augur::testing {

/// Every law is a function of one wide round that says what is wrong, or nothing.
template <class Criterion, class DraftDistribution>
class wide_criterion_cases {
 public:
    static constexpr bool judges_trees = !ReturnsVerdict<Criterion, DraftDistribution>;
    static constexpr std::size_t kinds = judges_trees ? wide_inputs::chains + wide_inputs::trees : wide_inputs::chains;

    /// Those in which each place is drafted, where it is possible and where it is not.
    static std::vector<std::size_t> kinds_of_places() {
        std::vector<std::size_t> places{0, 1, 3};
        for (std::size_t i = 0; judges_trees && i < wide_inputs::windows; i += 2)
            places.push_back(wide_inputs::chains + i);
        return places;
    }

    /// `greedy`: the settings that it takes are.
    wide_criterion_cases(const Criterion& criterion, bool greedy) : criterion_(criterion), greedy_(greedy) {}

    std::string keeps_its_promise(choices& from) const {
        return each_greedy_row(some_round(from), [&](const wide_round& round) {
            if constexpr (promises_text<guarantee>) {
                return every_text(round);
            } else {
                return every_law(round, from.tolerance());
            }
        });
    }

    std::string never_an_impossible_token(choices& from) const {
        const wide_round round = some_round(from);
        std::string found;
        each_path(round, [&](const wide_draft& draft, law_chooser&, const std::vector<token>& text, double) {
            for (std::size_t i = 0; i < text.size() && found.empty(); ++i) {
                if (round.row_after(std::span(text).first(i)).weight(text[i]) > 0) continue;
                found = augur::detail::message("in a vocabulary of ", round.vocabulary, ", gives token ", text[i],
                                               ", which is impossible there, in ", describe(text), ", drafted ",
                                               describe(draft.tokens));
            }
        });
        return said(round, found);
    }

 private:
    using guarantee = guarantee_of<Criterion>;
    using storage = accept::walk_storage<sparse_transform, Criterion>;
    static constexpr bool drawn = std::is_same_v<DraftDistribution, distribution>;

    wide_round some_round(choices& from) const {
        wide_round round = wide_inputs::some_round(from, kinds, drawn, promises_text<guarantee>);
        if (!std::is_same_v<DraftDistribution, point_mass>) round.raced = false;
        if constexpr (drawn && draft::with_replacement<typename augur::detail::token_selector_for<Criterion>::type>) {
            round.replacement = true;
        }
        return round;
    }

    static std::string said(const wide_round& round, const std::string& found) {
        return found.empty() ? found : found + " (" + round.described() + ')';
    }

    /// Where decoding is greedy each token of the round is the most probable once.
    template <class Law>
    std::string each_greedy_row(const wide_round& round, const Law& law) const {
        if (!greedy_) return said(round, law(round));
        for (std::size_t i = 0; i < round.first.entries.size(); ++i) {
            wide_round sure = round;
            sure.first.entries[i].weight = 16;
            for (sparse_row& row : sure.after) row.entries[i % row.entries.size()].weight = 16;
            if (const std::string found = law(sure); !found.empty()) return said(sure, found);
        }
        return "";
    }

    /// By coins of its own: the law of all texts, of each draft alone where it is certain.
    std::string every_law(const wide_round& round, double tolerance) const {
        wide_round::text_law expected, got;
        round.extend(expected, {}, 1);
        const bool apart = !drawn && !round.raced;
        std::map<std::vector<token>, wide_round::text_law> by_draft;
        each_path(round, [&](const wide_draft& draft, law_chooser&, const std::vector<token>& text, double p) {
            round.extend(by_draft[apart ? draft.tokens : std::vector<token>{}], text, p);
        });
        for (const auto& [draft, law] : by_draft) {
            const std::string found = difference(round, expected, law, tolerance);
            if (!found.empty()) return found + (apart ? ", drafted " + describe(draft) : "");
        }
        return "";
    }

    /// By the noise of the positions: on all of it the text of plain decoding.
    std::string every_text(const wide_round& round) const {
        std::string found;
        const sparse_transform transform{round.vocabulary, greedy_};
        each_path(round, [&](const wide_draft& draft, law_chooser& chooser, const std::vector<token>& got, double) {
            std::vector<token> expected;
            distribution row;
            while (expected.size() < got.size()) {
                transform.apply(round.row_after(expected), prefix(std::vector<token>{0}), row);
                position_draws draws(chooser, 1 + expected.size(), 0);
                expected.push_back(static_cast<token>(draws.exponential_race(row)));
            }
            if (got == expected || !found.empty()) return;
            found = augur::detail::message("in a vocabulary of ", round.vocabulary, ", with the same noise, expected ",
                                           describe(expected), " and got ", describe(got), ", drafted ",
                                           describe(draft.tokens));
        });
        return found;
    }

    /// `see(draft, chooser, text, probability)` on every path: what is accepted and the token that follows.
    template <class See>
    void each_path(const wide_round& round, const See& see) const {
        storage kept;
        proposal<DraftDistribution> proposed;
        const auto judge = [&](const wide_draft& draft, const enumerating_chooser& path) {
            law_chooser chooser(path);
            const std::vector<token> text = judged(round, proposed, chooser, kept);
            see(draft, chooser, text, draft.probability * path.probability());
            return std::vector<token>{};
        };
        if (round.raced) {
            enumerate([&](const enumerating_chooser& path) {
                const wide_draft draft = race(round, path);
                draft.propose(round.vocabulary, proposed);
                return judge(draft, path);
            });
            return;
        }
        each_draft<DraftDistribution>(round, {}, [&](const wide_draft& draft) {
            draft.propose(round.vocabulary, proposed);
            const auto decode = [&](const enumerating_chooser& path) { return judge(draft, path); };
            try {
                enumerate(decode, 10'000'000, enumerating_chooser(round.followed()));
            } catch (const cannot_follow&) {  // too many clocks: other rounds have fewer
            }
        });
    }

    wide_draft race(const wide_round& round, law_chooser chooser) const {
        distribution row;
        round.drafted.fill(row, round.vocabulary);
        const auto drafted = static_cast<token>(chooser.exponential_race(row, 1));
        return {.tokens = {drafted}, .parents = {after_prefix}, .rows = {round.drafted}, .probability = 1};
    }

    /// The accepted path and the token that follows.
    std::vector<token> judged(const wide_round& round, const proposal<DraftDistribution>& proposed,
                              law_chooser& chooser, storage& kept) const {
        std::vector<const sparse_row*> rows{&round.first};
        for (const token t : proposed.tokens()) rows.push_back(&round.row_after(t));
        struct by_row {
            const std::vector<const sparse_row*>& rows;
            const sparse_row& operator[](std::size_t i) const { return *rows[i]; }
        };
        prefix before(std::vector<token>{0});
        verdict decided;
        const sparse_transform transform{round.vocabulary, greedy_};
        accept::walk(criterion_, proposed, by_row{rows}, transform, before, chooser, 0, kept, decided);
        std::vector<token> text;
        for (std::size_t i = 0; i < decided.accepted; ++i) text.push_back(proposed.tokens()[decided.node(i)]);
        if (decided.invalid_row()) {
            augur::detail::fail("in a vocabulary of ", round.vocabulary, ", ends after ", describe(text),
                                ", where the target can be drawn from");
        }
        text.push_back(decided.next);
        return text;
    }

    const Criterion& criterion_;
    bool greedy_;
};

namespace detail {
template <class DraftDistribution, class Criterion>
void check_wide_rows(report& r, const Criterion& criterion, const transform::settings& plain, const effort& tries,
                     const std::string& drafts) {
    using c = wide_criterion_cases<Criterion, DraftDistribution>;
    const c cases(criterion, plain.temperature.value == 0);
    if constexpr (promises_equality<guarantee_of<Criterion>>) {
        check_wide(r, "keeps its promise in wide rows" + drafts, tries, every_kind(c::kinds),
                   [&](choices& from) { return cases.keeps_its_promise(from); });
    } else {
        check_wide(r, "never an impossible token in wide rows" + drafts, tries, c::kinds_of_places(),
                   [&](choices& from) { return cases.never_an_impossible_token(from); });
    }
}
}  // namespace detail

}  // namespace augur::testing
