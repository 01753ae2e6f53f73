#pragma once
// One round in a wide vocabulary: drafted, judged and drawn, from rows in which few tokens have weight.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/testing/choices.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_rows.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/token.hpp"
#include "augur/types/topology.hpp"

namespace augur::testing {

/// In place of transform::pipeline: rows are what they are, or points, where decoding is greedy.
struct sparse_transform {
    using distribution_type = distribution;
    std::size_t vocabulary = 0;
    bool greedy = false;

    void apply(const sparse_row& row, const prefix&, distribution& out) const {
        if (greedy) return out.become_point(row.mode(), vocabulary);
        row.fill(out, vocabulary);
    }
};

/// What a round is about.
struct wide_round {
    std::size_t vocabulary = 0;
    std::vector<std::int32_t> parents{after_prefix};
    sparse_row first{};               ///< the target's, after the prefix
    std::vector<sparse_row> after{};  ///< the target's, one of them after each token
    sparse_row drafted{};             ///< the draft's, at each place of the tree
    bool replacement = false;         ///< siblings are drawn with replacement
    bool raced = false;               ///< drafts are drawn by the noise of the position
    bool few_are_followed = false;    ///< there are too many tokens with weight: those of the entries are looked at

    std::size_t length() const { return topology(parents).depth() + 1; }
    const sparse_row& row_after(token t) const { return after[static_cast<std::size_t>(t) % after.size()]; }
    const sparse_row& row_after(std::span<const token> text) const {
        return text.empty() ? first : row_after(text.back());
    }

    /// The branches of choices to take; none: all.
    std::vector<std::size_t> followed() const {
        std::vector<std::size_t> places;
        if (!few_are_followed) return places;
        for (const sparse_row::entry& each : first.entries) places.push_back(static_cast<std::size_t>(each.id));
        return places;
    }

    std::string described() const {
        std::string text = augur::detail::message("a vocabulary of ", vocabulary, ", target ", first.described());
        for (const sparse_row& row : after) text += " then " + row.described();
        return text + ", draft " + drafted.described() + (raced ? " by shared noise" : "") + ", parents " +
               describe(parents) + (replacement ? " with replacement" : "");
    }

    using text_law = std::map<std::vector<token>, double>;

    /// Adds what the target makes of a text, to its end.
    void extend(text_law& into, const std::vector<token>& text, double probability) const {
        if (text.size() >= length()) {
            into[text] += probability;
            return;
        }
        const sparse_row& row = row_after(text);
        const double total = row.total(vocabulary);
        for (const sparse_row::entry& each : row.entries) {
            if (!(each.weight > 0)) continue;
            std::vector<token> more = text;
            more.push_back(each.id);
            extend(into, more, probability * static_cast<double>(each.weight) / total);
        }
    }
};

/// Which token of the vocabulary two laws differ in first; empty where they are equal.
inline std::string difference(const wide_round& of, const wide_round::text_law& expected,
                              const wide_round::text_law& got, double tolerance) {
    for (std::size_t length = 1; length <= of.length(); ++length) {
        wide_round::text_law here;
        for (const auto& [text, p] : expected) here[{text.begin(), text.begin() + static_cast<int>(length)}] -= p;
        for (const auto& [text, p] : got) {
            const std::vector<token> start(text.begin(), text.begin() + static_cast<int>(length));
            if (!of.few_are_followed || here.contains(start)) here[start] += p;
        }
        const auto worst = std::max_element(here.begin(), here.end(), [](const auto& a, const auto& b) {
            return std::abs(a.second) < std::abs(b.second);
        });
        if (worst == here.end() || std::abs(worst->second) <= tolerance) continue;
        double right = 0;
        for (const auto& [text, p] : expected) {
            if (std::equal(worst->first.begin(), worst->first.end(), text.begin())) right += p;
        }
        return augur::detail::message("in a vocabulary of ", of.vocabulary, ", token ", worst->first.back(), " after ",
                                      describe(std::span(worst->first).first(length - 1)), " has probability ",
                                      right + worst->second, " instead of ", right);
    }
    return "";
}

/// One draft of a round: tokens, and with what probability they are drawn, and from what.
struct wide_draft {
    std::vector<token> tokens{};
    std::vector<std::int32_t> parents{};
    std::vector<sparse_row> rows{};
    double probability = 1;

    /// Of the children of a node.
    std::vector<token> siblings(std::int32_t parent) const {
        std::vector<token> ids;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (parents[i] == parent) ids.push_back(tokens[i]);
        }
        return ids;
    }

    template <class DraftDistribution>
    void propose(std::size_t vocabulary, proposal<DraftDistribution>& proposed) const {
        proposed.clear();
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if constexpr (std::is_same_v<DraftDistribution, point_mass>) {
                proposed.push(tokens[i], parents[i]);
            } else {
                DraftDistribution& row = proposed.next_row();
                rows[i].fill(row, vocabulary);
                proposed.complete(tokens[i], parents[i]);
            }
        }
    }
};

/// Every draft that can be drawn in a round; where tokens are certain, every one that could be.
template <class DraftDistribution, class See>
void each_draft(const wide_round& round, const wide_draft& so_far, const See& see) {
    if (so_far.tokens.size() == round.parents.size()) return see(so_far);
    const std::int32_t parent = round.parents[so_far.tokens.size()];
    const sparse_row row = round.replacement ? round.drafted : round.drafted.without(so_far.siblings(parent));
    const double total = row.total(round.vocabulary);
    for (const sparse_row::entry& each : row.entries) {
        if (!(each.weight > 0)) continue;
        wide_draft more = so_far;
        more.tokens.push_back(each.id);
        more.parents.push_back(parent);
        more.rows.push_back(row);
        if constexpr (std::is_same_v<DraftDistribution, distribution>) {
            more.probability *= static_cast<double>(each.weight) / total;
        } else if constexpr (std::is_same_v<DraftDistribution, mode_of_row>) {
            for (auto& of : more.rows.back().entries) of.weight = of.id == each.id ? 8.0f : of.weight;
        }
        each_draft<DraftDistribution>(round, more, see);
    }
}

/// The kinds of rounds that are tried, of a chain and of siblings. "Windows" are neighbours among the far places, each
/// two places after the one before.
class wide_inputs {
 public:
    static constexpr std::size_t windows = 8;
    static constexpr std::size_t chains = 6 + windows;
    static constexpr std::size_t trees = windows + windows / 2 + windows;

    /// `kinds`: how many there are. `can_replace`: siblings that are drawn can be the same token. `races`: rows are
    /// raced, which so many tokens cannot be.
    static wide_round some_round(choices& from, std::size_t kinds, bool can_replace, bool races) {
        wide_round round;
        round.vocabulary = wide_vocabularies[from.below(wide_vocabularies.size())];
        const std::size_t kind = from.below(kinds);
        const auto places = far_places(round.vocabulary);
        for (std::size_t i = 0; i < 2; ++i) {
            round.after.push_back(some_weights(
                from, kind < 2 ? every_other(places, i + kind) : some_places(places, from.below(places.size()), 3)));
        }
        if (kind < chains) {
            chain(from, round, kind, places, races);
        } else {
            siblings(from, round, kind - chains, places);
            round.replacement = can_replace && from.below(2) == 1;
        }
        from.note([&] { return round.described(); });
        return round;
    }

 private:
    /// Tokens are drafted in turn too often and not often enough, now and then those that the other excludes.
    static void weigh(choices& from, wide_round& round, std::span<const token> tokens, std::size_t parity) {
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            const std::size_t rare = from.below(8);
            const float few = rare == 6 ? 0x1p-6f : static_cast<float>(from.between(1, 2));
            const float less = rare == 7 ? 0.0f : few;
            const float more = static_cast<float>(from.between(3, 4));
            const bool over = (i + parity) % 2 == 0;
            round.first.entries.push_back({tokens[i], over ? less : more});
            round.drafted.entries.push_back({tokens[i], over ? more : less});
        }
    }
    static std::vector<token> every_other(std::span<const token> places, std::size_t parity) {
        std::vector<token> picked;
        for (std::size_t i = parity % 2; i < places.size(); i += 2) picked.push_back(places[i]);
        return picked;
    }
    /// The places and others, `count` together: more than a short list holds.
    static std::vector<token> many(std::size_t vocabulary, std::span<const token> places, std::size_t count) {
        std::vector<token> picked(places.begin(), places.end());
        count = std::min(count, vocabulary);
        for (std::size_t i = 0; picked.size() < count; ++i) {
            const auto t =
                static_cast<token>(i * (vocabulary / count) % vocabulary + i * (vocabulary / count) / vocabulary);
            if (std::find(picked.begin(), picked.end(), t) == picked.end()) picked.push_back(t);
        }
        std::sort(picked.begin(), picked.end());
        return picked;
    }

    static void chain(choices& from, wide_round& round, std::size_t kind, std::span<const token> places, bool races) {
        const auto window = some_places(places, from.below(places.size()), 3);
        const bool few = round.vocabulary > 1000;
        if (kind < 2) return weigh(from, round, places, kind);
        if (kind < 4 && !few && !races) return weigh(from, round, many(round.vocabulary, places, 128), kind);
        if (kind == 2) {
            round.first = some_weights(from, many(round.vocabulary, places, races ? 40 : 48));
            round.drafted = some_weights(from, window);
        } else if (kind == 3) {
            round.first = some_weights(from, window);
            round.drafted = some_weights(from, many(round.vocabulary, places, races ? 40 : 48));
        } else if (kind == 4) {  // all tokens have some weight, unless that is too many to race
            round.first = some_weights(from, places);
            round.drafted = some_weights(from, window);
            round.few_are_followed = !races;
            if (!races) round.first.others = 0x1p-6f;
        } else if (kind == 5) {
            round.raced = true;
            weigh(from, round, window, 1);
        } else {
            round.parents = {after_prefix, 0};
            levels(from, round, some_places(places, 2 * (kind - 6), 3), kind);
        }
    }

    /// Two siblings of five tokens, so that each is once drafted too often and once not; three of four; a tree of two
    /// levels.
    static void siblings(choices& from, wide_round& round, std::size_t kind, std::span<const token> places) {
        round.parents = {after_prefix, after_prefix};
        if (kind < windows) return weigh(from, round, some_places(places, 2 * kind, 5), kind);
        kind -= windows;
        if (kind < windows / 2) {
            round.parents = {after_prefix, after_prefix, after_prefix};
            return weigh(from, round, some_places(places, 4 * kind, 4), kind);
        }
        round.parents = {after_prefix, after_prefix, 0, 1};
        levels(from, round, some_places(places, 2 * kind, 2), kind);
    }

    /// Where more than one token is drafted the target can give it at each place.
    static void levels(choices& from, wide_round& round, std::span<const token> tokens, std::size_t parity) {
        weigh(from, round, tokens, parity);
        for (sparse_row& row : round.after) row = some_weights(from, tokens);
    }
};

}  // namespace augur::testing
