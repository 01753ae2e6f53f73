#pragma once
// Rows of wide vocabularies in which few tokens have weight, placed around the ids where chunks and vectors end.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/testing/choices.hpp"
#include "augur/testing/models.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// Tokens of the rows that suites try by default: no multiple of a vector's or a chunk's length, beyond ids of one byte
/// and of two.
inline constexpr std::array<std::size_t, 4> wide_vocabularies{100, 300, 33'000, 140'000};

/// Ascending: 0, 40, both sides of 64, 128, 256, 2^15 and 2^16, the last, and what the last is once it is cut to a byte
/// or to 16 bits; those of them that the vocabulary has.
inline std::vector<token> far_places(std::size_t vocabulary) {
    const std::size_t last = vocabulary - 1;
    std::vector<token> places;
    for (const std::size_t each :
         {std::size_t{0}, std::size_t{40}, std::size_t{63}, std::size_t{64}, std::size_t{127}, std::size_t{128},
          std::size_t{255}, std::size_t{256}, std::size_t{32'767}, std::size_t{32'768}, std::size_t{65'535},
          std::size_t{65'536}, last, last % 256, last % 65'536}) {
        if (each < vocabulary) places.push_back(static_cast<token>(each));
    }
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

/// So many places in their order, from one on, the first again after the last: windows of neighbours.
inline std::vector<token> some_places(std::span<const token> places, std::size_t first, std::size_t count) {
    std::vector<token> tokens;
    for (std::size_t i = 0; i < std::min(count, places.size()); ++i)
        tokens.push_back(places[(first + i) % places.size()]);
    std::sort(tokens.begin(), tokens.end());
    return tokens;
}

/// A row of a wide vocabulary: tokens with their weights, ascending, and one weight for each of all the others. Weights
/// are small multiples of a power of 2, so that their sums are exact.
struct sparse_row {
    struct entry {
        token id;
        float weight;
    };
    std::vector<entry> entries{};
    float others = 0;

    double weight(token t) const {
        const auto at = std::lower_bound(entries.begin(), entries.end(), t,
                                         [](const entry& each, token than) { return each.id < than; });
        return static_cast<double>(at != entries.end() && at->id == t ? at->weight : others);
    }
    double total(std::size_t vocabulary) const {
        double sum = static_cast<double>(others) * static_cast<double>(vocabulary - entries.size());
        for (const entry& each : entries) sum += static_cast<double>(each.weight);
        return sum;
    }
    /// The first of the largest weights.
    token mode() const {
        return std::max_element(entries.begin(), entries.end(),
                                [](const entry& a, const entry& b) { return a.weight < b.weight; })
            ->id;
    }
    bool has_weight() const {
        return others > 0 || std::any_of(entries.begin(), entries.end(), [](const entry& e) { return e.weight > 0; });
    }
    sparse_row without(std::span<const token> some) const {
        sparse_row rest = *this;
        for (entry& each : rest.entries) {
            if (std::find(some.begin(), some.end(), each.id) != some.end()) each.weight = 0;
        }
        return rest;
    }

    /// Cost: that of the few, unless the others have weight.
    void fill(distribution& out, std::size_t vocabulary) const {
        if (others > 0) {
            out.refill(vocabulary, [&](std::span<float> weights) {
                std::fill(weights.begin(), weights.end(), others);
                for (const entry& each : entries) weights[static_cast<std::size_t>(each.id)] = each.weight;
            });
            return;
        }
        out.refill_few(vocabulary, [&](augur::detail::selection& some) {
            some.kept.clear();
            for (const entry& each : entries) {
                if (each.weight > 0) some.kept.push_back({each.weight, static_cast<std::size_t>(each.id)});
            }
        });
    }
    /// As a model gives it.
    void fill_logits(std::span<float> row) const {
        std::fill(row.begin(), row.end(), logit_of(static_cast<double>(others)));
        for (const entry& each : entries) {
            row[static_cast<std::size_t>(each.id)] = logit_of(static_cast<double>(each.weight));
        }
    }

    /// "{0: 2, 65536: 1}".
    std::string described() const {
        std::string text = "{";
        for (const entry& each : entries) {
            text += augur::detail::message(text.size() > 1 ? ", " : "", each.id, ": ", each.weight);
        }
        return text + (others > 0 ? augur::detail::message(", others: ", others, '}') : "}");
    }
};

/// Weights 1 to 4 of these tokens, all different from 0.
inline sparse_row some_weights(choices& from, std::span<const token> tokens) {
    sparse_row row;
    for (const token t : tokens) row.entries.push_back({t, static_cast<float>(from.between(1, 4))});
    return row;
}

/// The numbers below `count`, or every so manyth of them.
inline std::vector<std::size_t> every_kind(std::size_t count, std::size_t step = 1) {
    std::vector<std::size_t> kinds;
    for (std::size_t i = 0; i < count; i += step) kinds.push_back(i);
    return kinds;
}

/// Checks a law on wide inputs: of each of these kinds, at each of the vocabularies that `tries` allows.
/// `law(choices&)` takes the place of its vocabulary in wide_vocabularies from its first choice, and the kind from its
/// second.
template <class Law>
void check_wide(report& into, const std::string& name, const effort& tries, const std::vector<std::size_t>& kinds,
                const Law& law) {
    if (tries.widest < wide_vocabularies.front()) return;
    into.checked.push_back(name);
    effort few = tries;
    few.shrinks = std::min<std::size_t>(tries.shrinks, 40);
    for (std::size_t width = 0; width < wide_vocabularies.size() && wide_vocabularies[width] <= tries.widest; ++width) {
        for (const std::size_t kind : kinds) {
            choices drawn({width, kind}, tries.seed * 1'000'003 + 100 * width + kind);
            const std::string label = augur::detail::message("kind ", kind, " of wide rows");
            if (detail::check_case(into, name, few, std::move(drawn), label, law)) return;
        }
    }
}

/// Windows of neighbours among the far places of one vocabulary, each beginning two places after the one before.
inline constexpr std::size_t far_windows = 8;
inline std::vector<token> far_window(std::size_t vocabulary, std::size_t window) {
    return some_places(far_places(vocabulary), 2 * window, 3);
}

/// Checks a law in a wide vocabulary that is given: `law(choices&)` takes the window from its first choice.
template <class Law>
void check_windows(report& into, const std::string& name, const effort& tries, const Law& law) {
    into.checked.push_back(name);
    effort few = tries;
    few.shrinks = std::min<std::size_t>(tries.shrinks, 40);
    for (std::size_t window = 0; window < far_windows; ++window) {
        const std::string label = augur::detail::message("window ", window, " of far tokens");
        if (detail::check_case(into, name, few, choices({window}, tries.seed * 1'000'003 + window), label, law)) return;
    }
}

/// A mask that leaves some tokens.
struct leaves_few {
    std::vector<token> kept;  ///< ascending

    void operator()(std::span<float> logits, const prefix&) const {
        std::size_t next = 0;
        for (std::size_t t = 0; t < logits.size(); ++t) {
            if (next < kept.size() && static_cast<std::size_t>(kept[next]) == t) {
                ++next;
            } else {
                logits[t] = -std::numeric_limits<float>::infinity();
            }
        }
    }
};

}  // namespace augur::testing
