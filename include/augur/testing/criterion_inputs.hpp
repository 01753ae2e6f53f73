#pragma once
// Random inputs of criteria: small ones as a rule, sometimes a wide vocabulary or a long draft.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/accept/concept.hpp"
#include "augur/decode/generate.hpp"
#include "augur/policy/concept.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/token.hpp"
#include "augur/types/token_selector.hpp"
#include "augur/types/topology.hpp"

namespace augur::testing {

/// Weights in {0, ..., 4}, now and then 50 or 1000, at least one above 0: zeros and ties are common, and so are tokens
/// that are nearly sure.
inline std::vector<double> uneven_weights(choices& from, std::size_t vocabulary) {
    std::vector<double> row(vocabulary);
    double total = 0;
    for (double& weight : row) {
        const std::size_t n = from.below(22);
        weight = n < 20 ? static_cast<double>(n % 5) : (n == 20 ? 50 : 1000);
        total += weight;
    }
    if (!(total > 0)) row[0] = 1;
    return row;
}

/// Tokens of a vocabulary, and how many are drafted.
struct draft_size {
    std::size_t vocabulary;
    std::size_t length;

    bool wide() const { return vocabulary > 4; }
    bool is_long() const { return length > 3; }
};

/// Whether a criterion refuses these settings: it promises nothing of them.
template <class Criterion>
bool refuses(const Criterion& criterion, const transform::settings& chosen) {
    try {
        accept::check(criterion, chosen);
    } catch (const std::exception&) {
        return true;
    }
    return false;
}

/// Rows by the last token. Where the vocabulary is wide, only the row after token 1 is: after any other follows token
/// 0.
inline std::vector<std::vector<double>> uneven_table(choices& from, std::size_t vocabulary) {
    const bool wide = draft_size{vocabulary, 1}.wide();
    std::vector<std::vector<double>> rows(vocabulary);
    for (auto& row : rows) {
        row.assign(vocabulary, 0);
        row[0] = 1;
        if (!wide || &row == &rows[1]) row = uneven_weights(from, vocabulary);
    }
    return rows;
}

/// Trees of two siblings at least, in a wide vocabulary of nothing else: two or, of few tokens, three.
inline topology some_siblings(choices& from, std::size_t vocabulary) {
    std::vector<std::int32_t> parents{after_prefix, after_prefix};
    if (vocabulary > 4) {
        if (vocabulary < 9 && from.below(2) == 1) parents.push_back(after_prefix);
        return topology(std::move(parents));
    }
    for (std::size_t more = from.below(3); more > 0; --more) {
        parents.push_back(static_cast<std::int32_t>(from.below(parents.size() + 1)) - 1);
    }
    return topology(std::move(parents));
}

/// Random ones; greedy ones where the criterion promises greedy text.
template <class Criterion>
transform::settings settings_like(choices& from, std::size_t vocabulary) {
    transform::settings chosen = random_settings(from, vocabulary);
    if (std::is_same_v<guarantee_of<Criterion>, guarantee::same_greedy_text>) chosen.temperature.value = 0;
    return chosen;
}

/// Settings that the criterion does not refuse (accept::check): no transforms at temperature 1, or, where it promises
/// greedy text or takes no other, at 0; or else the first random ones that it takes. None where it takes none of many.
template <class Criterion>
std::optional<transform::settings> accepted_settings(const Criterion& criterion) {
    for (const float temperature : {1.0f, 0.0f}) {
        transform::settings chosen;
        chosen.temperature.value = temperature;
        const bool fits = temperature == 0 || !std::is_same_v<guarantee_of<Criterion>, guarantee::same_greedy_text>;
        if (fits && !refuses(criterion, chosen)) return chosen;
    }
    choices from(std::uint64_t{1});
    for (std::size_t i = 0; i < 1000; ++i) {
        const transform::settings chosen = settings_like<Criterion>(from, 2);
        if (!refuses(criterion, chosen)) return chosen;
    }
    return std::nullopt;
}

/// Random ones that it does not refuse, or, where it refuses several, `plain`.
template <class Criterion>
transform::settings settings_for(choices& from, const Criterion& criterion, std::size_t vocabulary,
                                 const transform::settings& plain) {
    for (std::size_t i = 0; i < 16; ++i) {
        transform::settings chosen = settings_like<Criterion>(from, vocabulary);
        if (!refuses(criterion, chosen)) return chosen;
    }
    return plain;
}

/// Drafts so many tokens each round, a long draft once only: branches multiply with every round.
struct sized_policy {
    draft_size size;
    std::size_t prompt;  ///< its tokens

    std::size_t length(const observation& seen) const {
        return size.is_long() && seen.prefix_length > prompt ? 0 : size.length;
    }
};

/// One case in sixteen drafts one token of 5, 9 or 17, and one 4 to 6 tokens of two.
inline draft_size some_size(choices& from, const draft_size& least, const draft_size& most) {
    const std::size_t kind = from.below(16);
    if (kind == 14) return {from.one_of<std::size_t>({5, 9, 17}), 1};
    if (kind == 15) return {2, from.between(4, 6)};
    return {from.between(least.vocabulary, most.vocabulary), from.between(least.length, most.length)};
}

/// Puts all mass on one token. The weights, which mean nothing then, are on all others, as an earlier row's may be.
inline void put_all_on(token on, distribution& row) {
    row.refill(row.size(), [&](std::span<float> weights) {
        std::fill(weights.begin(), weights.end(), 1.0f);
        weights[static_cast<std::size_t>(on)] = 0;
    });
    row.become_point(on, row.size());
}

/// Draws as draft::sampled, or gives a point mass in the row's place: as draft::fallback does for a lookup, by the rule
/// of the largest weight, and as a cascade's `certain` link does, by the noise of the position.
struct sampled_or_certain : draft::sampled {
    enum class rows { none, some, all, raced };  ///< whose token is certain; some: with token 0 the most probable

    rows certain = rows::none;

    token pick(distribution& row, auto& draws) const {
        const token likeliest = row.mode();
        if (certain == rows::none || (certain == rows::some && likeliest != 0)) return sampled::pick(row, draws);
        const bool raced = certain == rows::raced;
        const token picked = raced ? draft::shared_noise{}.pick(row, draws) : likeliest;
        put_all_on(picked, row);
        return picked;
    }

    std::string described() const {
        constexpr const char* texts[]{"", ", certain where token 0 is its most probable one",
                                      ", certain of its most probable tokens", ", certain of what shared noise draws"};
        return texts[static_cast<std::size_t>(certain)];
    }
};

/// Three cases in sixteen have point masses.
inline sampled_or_certain some_token_selector(choices& from) {
    using rows = sampled_or_certain::rows;
    const std::size_t kind = from.below(16);
    return {{}, kind < 13 ? rows::none : static_cast<rows>(kind - 12)};
}

/// A decoding by a draft model over tables (uneven_table), under settings that the criterion does not refuse.
struct drafted_decoding {
    using table = std::vector<std::vector<double>>;

    draft_size size;
    table target;
    table draft;
    std::vector<token> prompt{1};
    decode::options chosen{};
    sampled_or_certain token_selector{};

    /// `most`: tokens of a text at most, unless a longer draft needs more. `drawn`: the draft is drawn by
    /// `token_selector`.
    /// `plain`: settings that the criterion takes.
    template <class Criterion>
    drafted_decoding(choices& from, std::size_t most, bool drawn, const Criterion& criterion,
                     const transform::settings& plain)
        : size(some_size(from, {2, 1}, {3, 3})) {
        const bool small = !size.wide() && !size.is_long();
        chosen.stop.max_tokens = small ? from.between(1, most) : size.length + 1;
        target = uneven_table(from, size.vocabulary);
        draft = uneven_table(from, size.vocabulary);
        const bool transforms = small || from.below(2) == 1;
        chosen.sampling = transforms ? settings_for(from, criterion, size.vocabulary, plain) : plain;
        if (!size.wide()) prompt = {static_cast<token>(from.below(size.vocabulary))};
        if (drawn) token_selector = some_token_selector(from);
        from.note([&] { return described(); });
    }

    std::string described() const {
        const std::string drafting = augur::detail::message(
            ", prompt ", describe(prompt), ", drafting ", size.length, " of ", chosen.stop.max_tokens, ", ",
            describe_settings(chosen.sampling), token_selector.described());
        if (!size.wide()) return "target " + describe_table(target) + ", draft " + describe_table(draft) + drafting;
        return "after token 1 target " + describe(target[1]) + ", draft " + describe(draft[1]) +
               ", after any other token 0" + drafting;
    }
};

/// A draft, and the rows to judge it by.
struct judged_block {
    std::vector<std::vector<double>> targets;
    std::vector<std::vector<double>> drafts;
    std::vector<token> points;       ///< the tokens, where they are point masses
    std::vector<bool> certain;       ///< the drafted rows that claim such a token in their place
    std::size_t invalid = SIZE_MAX;  ///< the first row that cannot be drawn from

    /// `drawn`: the tokens are drawn from rows; those of one case in four may be points.
    judged_block(choices& from, bool spoiled, bool drawn) {
        const auto [vocabulary, drafted] = some_size(from, {2, 0}, {4, 2});
        for (std::size_t i = 0; i <= drafted; ++i) targets.push_back(uneven_weights(from, vocabulary));
        for (std::size_t i = 0; i < drafted; ++i) drafts.push_back(uneven_weights(from, vocabulary));
        points = from.tokens(drafted, drafted, vocabulary);
        if (spoiled) {
            invalid = from.below(targets.size());
            targets[invalid].assign(vocabulary, 0.0);
        }
        const bool some = drawn && from.below(4) == 3;
        for (std::size_t i = 0; i < drafted; ++i) certain.push_back(some && from.below(2) == 1);
        from.note([&] { return described(false) + ", or certain tokens " + describe(points); });
    }

    std::size_t length() const { return drafts.size(); }

    distribution draft_row(std::size_t i) const {
        auto row = distribution::weighted({drafts[i].begin(), drafts[i].end()});
        if (certain[i]) put_all_on(points[i], row);
        return row;
    }

    /// Whether the target can give the token after the first `row` drafted ones; of the greedy text, whether it does.
    bool possible(std::size_t row, token t, bool greedy) const {
        const auto& weights = targets[row];
        if (t < 0 || static_cast<std::size_t>(t) >= weights.size()) return false;
        const auto index = static_cast<std::size_t>(t);
        const auto first_largest = std::max_element(weights.begin(), weights.end()) - weights.begin();
        return greedy ? static_cast<std::size_t>(first_largest) == index : weights[index] > 0;
    }

    std::string described(bool by_points) const {
        std::string text = "target " + describe_table(targets) + ", draft ";
        if (by_points) return text + describe(points);
        text += describe_table(drafts);
        for (std::size_t i = 0; i < length(); ++i) {
            if (certain[i]) text += augur::detail::message(", certain of token ", points[i], " at ", i);
        }
        return text;
    }
};

}  // namespace augur::testing
