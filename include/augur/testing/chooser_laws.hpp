#pragma once
// The law suite of Chooser, in narrow and in wide rows.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "augur/random/chooser.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_rows.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/draw_key.hpp"

namespace augur::testing {

/// Every law is a function of one random input that says what is wrong, or nothing.
template <Chooser C>
class chooser_law_cases {
 public:
    static constexpr std::size_t windows = 9;

    explicit chooser_law_cases(const C& chooser) : chooser_(chooser) {}

    /// Nor where one token alone has weight.
    std::string never_without_weight(choices& from) const {
        row candidates = some_row(from);
        const std::size_t round = from.below(1000);
        std::string found = only_possible(candidates, round);
        const auto all = candidates.few.entries;
        for (std::size_t i = 0; i < all.size() && found.empty(); ++i) {
            candidates.few.entries = {all[i]};
            candidates.few.fill(candidates.weights, candidates.weights.size());
            found = only_possible(candidates, round);
        }
        return found;
    }

    std::string equal_arguments_equal_answers(choices& from) const {
        const row candidates = some_row(from), other = some_row(from);
        const draw_key key{from.below(1000), purpose::draft, from.below(100)};
        C chooser = chooser_;
        const auto expected = answers(chooser, candidates, key);
        answers(chooser, other, {key.position + 1, purpose::accept, key.round});
        C copy = chooser_;
        for (C* each : {&chooser, &copy}) {
            const auto got = answers(*each, candidates, key);
            if (got != expected)
                return candidates.said("answers ", describe(expected), ", and the next time ", describe(got));
        }
        return "";
    }

    /// How often each token is drawn, within seven standard deviations of its share: by other positions each time.
    std::string each_as_often_as_its_weight(choices& from) const {
        const row candidates = some_row(from);
        const std::size_t first = 10'000 * from.below(1000), draws = candidates.few.entries.size() > 3 ? 3000 : 600;
        C chooser = chooser_;
        std::vector<double> chosen(candidates.few.entries.size()), won = chosen;
        for (std::size_t i = 0; i < draws; ++i) {
            ++chosen[candidates.place(chooser.choose(candidates.weights, draw_key{first + i, purpose::draft, 0}))];
            ++won[candidates.place(chooser.exponential_race(candidates.weights, first + i))];
        }
        const double total = candidates.few.total(candidates.weights.size());
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            const double share = static_cast<double>(candidates.few.entries[i].weight) / total;
            const double n = static_cast<double>(draws), spread = 7 * std::sqrt(n * share * (1 - share)) + 1;
            for (const auto& [count, what] : {std::pair(chosen[i], " is chosen "), std::pair(won[i], " wins ")}) {
                if (std::abs(count - n * share) <= spread) continue;
                return candidates.said("token ", candidates.few.entries[i].id, what, count, " times of ", draws,
                                       ", not about ", n * share, " times");
            }
        }
        return "";
    }

    /// Who wins among many wins among any of these, too: one noise for the position.
    std::string a_winner_wins_among_fewer(choices& from) const {
        const row candidates = some_row(from);
        C chooser = chooser_;
        for (std::size_t position = 1000 * from.below(1000), end = position + 20; position < end; ++position) {
            const auto winner = static_cast<token>(chooser.exponential_race(candidates.weights, position));
            std::vector<token> left;
            for (const sparse_row::entry& each : candidates.few.entries) {
                if (each.id != winner && from.below(2) == 1) left.push_back(each.id);
            }
            distribution fewer;
            candidates.few.without(left).fill(fewer, candidates.weights.size());
            const auto again = static_cast<token>(chooser.exponential_race(fewer, position));
            if (again == winner) continue;
            return candidates.said("at position ", position, " token ", winner, " wins, but ", again, " without ",
                                   describe(left));
        }
        return "";
    }

 private:
    struct row {
        sparse_row few;
        distribution weights;

        std::size_t place(std::size_t index) const {
            for (std::size_t i = 0; i < few.entries.size(); ++i) {
                if (static_cast<std::size_t>(few.entries[i].id) == index) return i;
            }
            return 0;  // never_without_weight says so
        }
        bool possible(std::size_t index) const {
            return index < weights.size() && few.weight(static_cast<token>(index)) > 0;
        }
        template <class... What>
        std::string said(const What&... what) const {
            return augur::detail::message("in a vocabulary of ", weights.size(), ", ", what..., " (weights ",
                                          few.described(), ')');
        }
    };

    std::string only_possible(const row& candidates, std::size_t round) const {
        C chooser = chooser_;
        for (std::size_t position = 0; position < 20; ++position) {
            const draw_key key{position, purpose::draft, round};
            const auto chosen = static_cast<std::size_t>(chooser.choose(candidates.weights, key));
            const auto won =
                static_cast<std::size_t>(chooser.exponential_race(candidates.weights, position + 20 * round));
            if (!candidates.possible(chosen)) return candidates.said("chooses token ", chosen, ", which has no weight");
            if (!candidates.possible(won))
                return candidates.said("lets token ", won, " win a race, which has no weight");
            if (chooser.flip(0, key)) return "a coin comes true at probability 0";
            if (!chooser.flip(1, key)) return "a coin comes false at probability 1";
        }
        return "";
    }

    /// A few neighbours among the far places of a vocabulary, or all.
    row some_row(choices& from) const {
        const std::size_t vocabulary = wide_vocabularies[from.below(wide_vocabularies.size())];
        const std::size_t window = from.below(windows);
        const auto places = far_places(vocabulary);
        row candidates;
        candidates.few = some_weights(from, window + 1 == windows ? places : some_places(places, 2 * window, 3));
        candidates.few.fill(candidates.weights, vocabulary);
        return candidates;
    }

    static std::vector<std::size_t> answers(C& chooser, const row& of, draw_key key) {
        return {chooser.choose(of.weights, key), chooser.exponential_race(of.weights, key.position),
                std::size_t{chooser.flip(0.5, key)}};
    }

    const C& chooser_;
};

/// Checks the laws that Chooser states, and that tokens are drawn as often as their weights say, on few tokens of rows
/// of 100 tokens and more, up to `tries.widest`: around the numbers at which ids are cut and vectors end. Of a chooser
/// that answers by the names of its numbers. Cost: tens of thousands of draws.
template <Chooser C>
report chooser_laws(const C& chooser, const effort& tries = {}) {
    report r{"chooser_laws"};
    using c = chooser_law_cases<C>;
    const c cases(chooser);
    const auto law = [&](const char* name, auto member) {
        check_wide(r, name, tries, every_kind(c::windows), [&](choices& from) { return (cases.*member)(from); });
    };
    law("never an index without weight, nor a coin against certainty", &c::never_without_weight);
    law("equal arguments, equal answers", &c::equal_arguments_equal_answers);
    law("each as often as its weight says", &c::each_as_often_as_its_weight);
    law("who wins a race wins it among fewer", &c::a_winner_wins_among_fewer);
    return r;
}

}  // namespace augur::testing
