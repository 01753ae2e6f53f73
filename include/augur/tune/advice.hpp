#pragma once
// Predicts a scheme's speedup under other costs than those it was measured with. docs/tune/advise.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "augur/tune/verify_curve.hpp"
#include "augur/types/error.hpp"

namespace augur::tune {

/// Chains that were drafted over one text: in how many rounds there was a token at each position, and how often it was
/// accepted (and so all before it).
struct drafted_chains {
    std::size_t rounds = 0;
    std::vector<std::size_t> drafted{}, accepted{};

    std::size_t longest() const { return drafted.size(); }
    /// Tokens of a round where drafts have `most` tokens at most.
    double tokens_per_round(std::size_t most) const {
        double tokens = static_cast<double>(rounds);
        for (std::size_t i = 0; i < std::min(most, longest()); ++i) tokens += static_cast<double>(accepted[i]);
        return tokens / static_cast<double>(rounds);
    }
};

/// Throws, with the values, what no decoding can have done.
inline void check(const drafted_chains& text, std::string_view origin) {
    if (text.rounds == 0) augur::detail::fail(origin, ": there are 0 rounds");
    if (text.accepted.size() != text.drafted.size()) {
        augur::detail::fail(origin, ": ", text.drafted.size(), " positions were drafted, but ", text.accepted.size(),
                            " judged");
    }
    std::size_t before = text.rounds, accepted = text.rounds;
    for (std::size_t i = 0; i < text.longest(); ++i) {
        if (text.drafted[i] > before || text.accepted[i] > text.drafted[i] || text.accepted[i] > accepted) {
            augur::detail::fail(origin, ": at position ", i, " ", text.drafted[i], " were drafted and ",
                                text.accepted[i], " accepted, but before it ", before, " and ", accepted);
        }
        before = text.drafted[i];
        accepted = text.accepted[i];
    }
}

/// Times plain decoding's speed, where drafts are cut to `most` tokens. `costs[k]`: a round that drafts k tokens, in
/// plain passes; there are as many as the longest draft needs.
inline double speedup_of(const drafted_chains& text, std::span<const double> costs, std::size_t most) {
    most = std::min(most, text.longest());
    if (costs.size() <= most) {
        augur::detail::fail("costs are known of ", costs.size(), " lengths, but drafts have ", most, " tokens");
    }
    double cost = 0;
    std::size_t longer = text.rounds;
    for (std::size_t length = 0; length < most; ++length) {
        cost += static_cast<double>(longer - text.drafted[length]) * costs[length];
        longer = text.drafted[length];
    }
    cost += static_cast<double>(longer) * costs[most];
    return text.tokens_per_round(most) * static_cast<double>(text.rounds) / cost;
}

/// The middle one, or of two in the middle the mean.
inline double median_of(std::vector<double> values) {
    if (values.empty()) augur::detail::fail("there is no median of no numbers");
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Seconds of the fastest of the runs after the first, which finds the caches of another: one more where it took over a
/// tenth of a second, which little disturbs, else 2 to 8 within 30 ms. `run` returns its seconds.
template <class Run>
double fastest_after_the_first(const Run& run) {
    const double first = run();
    const int more = first > 0.1 ? 1 : static_cast<int>(std::clamp(0.03 / first, 2.0, 8.0));
    double fastest = run();
    for (int i = 1; i < more; ++i) fastest = std::min<double>(fastest, run());
    return fastest;
}

/// A figure and the interval in which it lies in nine of ten repetitions with other texts and other measurements.
struct estimate {
    double middle = 0, low = 0, high = 0;
};

namespace advice_parts {

/// The median over texts, with costs that are of each length the median over turns. `text(i)` and `turn(i)` say which
/// one is the i-th.
double median_speedup(std::span<const drafted_chains> texts, std::span<const std::vector<double>> turns,
                      std::size_t most, const auto& text, const auto& turn) {
    std::vector<const std::vector<double>*> some_turns;
    for (std::size_t i = 0; i < turns.size(); ++i) some_turns.push_back(&turns[turn(i)]);
    std::vector<double> usual, of_texts;
    for (std::size_t length = 0; length < turns[0].size(); ++length) {
        std::vector<double> all;
        for (const auto* each : some_turns) all.push_back(each->at(length));
        usual.push_back(median_of(std::move(all)));
    }
    for (std::size_t i = 0; i < texts.size(); ++i) of_texts.push_back(speedup_of(texts[text(i)], usual, most));
    return median_of(std::move(of_texts));
}

}  // namespace advice_parts

/// The median over texts of speedup_of, with costs that were measured in several turns: `turns[t][k]`, of which the
/// median counts. The interval is of differences between two samples of texts and turns with replacement (bootstrap):
/// a repetition differs from the truth, and this figure does, too. The same for equal arguments; without resamples it
/// is the figure alone.
inline estimate estimated_speedup(std::span<const drafted_chains> texts, std::span<const std::vector<double>> turns,
                                  std::size_t most, std::uint32_t resamples = 400) {
    if (texts.empty() || turns.empty()) {
        augur::detail::fail("a speedup of ", texts.size(), " texts and ", turns.size(), " turns cannot be estimated");
    }
    const auto itself = [](std::size_t i) { return i; };
    const double middle = advice_parts::median_speedup(texts, turns, most, itself, itself);
    if (resamples == 0) return {middle, middle, middle};
    std::mt19937 random(1);
    const auto any_text = [&](std::size_t) { return random() % texts.size(); };
    const auto any_turn = [&](std::size_t) { return random() % turns.size(); };
    std::vector<double> repetitions;
    for (std::uint32_t i = 0; i < resamples; ++i) {
        const double one = advice_parts::median_speedup(texts, turns, most, any_text, any_turn);
        const double other = advice_parts::median_speedup(texts, turns, most, any_text, any_turn);
        repetitions.push_back(std::max(0.0, middle + (one - other)));
    }
    std::sort(repetitions.begin(), repetitions.end());
    const std::size_t outside = repetitions.size() / 20;
    return {middle, repetitions[outside], repetitions[repetitions.size() - 1 - outside]};
}

/// Costs of lengths 0, 1, ... from some that were measured, rising: on the line between neighbours, and beyond the last
/// on that through the last two.
inline std::vector<double> interpolated(std::span<const std::size_t> lengths, std::span<const double> costs,
                                        std::size_t longest) {
    if (lengths.size() < 2 || costs.size() != lengths.size()) {
        augur::detail::fail("costs of ", costs.size(), " lengths of ", lengths.size(), " make no line");
    }
    std::vector<double> out;
    for (std::size_t length = 0; length <= longest; ++length) {
        std::size_t above = 1;
        while (above + 1 < lengths.size() && lengths[above] < length) ++above;
        const double from = static_cast<double>(lengths[above - 1]), to = static_cast<double>(lengths[above]);
        const double share = (static_cast<double>(length) - from) / (to - from);
        out.push_back(costs[above - 1] + share * (costs[above] - costs[above - 1]));
    }
    return out;
}

}  // namespace augur::tune
