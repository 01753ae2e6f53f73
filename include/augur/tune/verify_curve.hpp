#pragma once
// Measures the time of a verify pass by its number of rows. See docs/tune/verify_curve.md.

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "augur/detail/stopwatch.hpp"
#include "augur/model/concepts.hpp"
#include "augur/types/error.hpp"

namespace augur::tune {

/// The stopping rule of a measurement.
struct patience {
    std::size_t repetitions = 2;  ///< of each number of rows, after a first that warms up; at least 1
    double seconds = std::numeric_limits<double>::infinity();  ///< after these no further round begins
};

/// A sequence of this text: of a model that has `make_blank_sequence(tokens)`, without a prefill.
template <Model M>
sequence_t<M> sequence_behind(const M& model, std::span<const token> text) {
    if constexpr (requires { model.make_blank_sequence(text.size()); }) {
        return model.make_blank_sequence(text.size());
    } else {
        auto sequence = model.make_sequence();
        if constexpr (ScoresLastRows<M>) {
            model.extend(sequence, text, 0);
        } else if (!text.empty()) {
            model.extend(sequence, text);
        }
        return sequence;
    }
}

/// Seconds of one pass over the tokens, which the sequence has not afterwards.
template <Model M>
double one_pass_seconds(const M& model, sequence_t<M>& sequence, std::span<const token> tokens) {
    const std::size_t before = model.length(sequence);
    const augur::detail::stopwatch watch;
    model.extend(sequence, tokens);
    const double taken = watch.seconds();
    model.truncate(sequence, before);
    return taken;
}

/// Median seconds (of two in the middle, the lesser) of a pass over each of these numbers of rows, behind `context`
/// tokens, each after another over as many: what that leaves in the caches is as in a text. They take turns, so that a
/// disturbance meets all of them. Where patience ends with the first round, which has no pass before, that one counts.
/// Throws if there is a 0 among the rows, or more than the model's context holds. Cost: 2 repetitions + 1 passes of
/// each, a prefill (see sequence_behind), one sequence.
template <Model M>
std::vector<double> pass_seconds(const M& model, std::span<const std::size_t> rows, std::size_t context,
                                 patience until = {}) {
    const std::size_t room = model.context_length();
    for (const std::size_t count : rows) {
        if (count > 0 && context <= room && count <= room - context) continue;
        augur::detail::fail("a pass of ", count, " rows after ", context,
                            " tokens cannot be timed: it must have at least 1, and the context is ", room);
    }
    if (until.repetitions == 0) augur::detail::fail("repetitions are 0; a median needs at least 1");
    std::vector<token> text(std::max(context, rows.empty() ? 0 : *std::max_element(rows.begin(), rows.end())));
    for (std::size_t i = 0; i < text.size(); ++i) {  // without meaning: what a pass costs does not depend on them
        text[i] = static_cast<token>((i * 7919 + 13) % model.vocabulary_size());
    }
    auto sequence = sequence_behind(model, std::span<const token>(text).first(context));
    std::vector<std::vector<double>> times(rows.size());
    const auto pass = [&](std::size_t count) {
        return one_pass_seconds(model, sequence, std::span<const token>(text).first(count));
    };
    const augur::detail::stopwatch since;
    for (std::size_t round = 0; round <= until.repetitions; ++round) {
        if (round > 0 && since.seconds() > until.seconds) break;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (round > 0) pass(rows[i]);
            if (round == 1) times[i].clear();
            times[i].push_back(pass(rows[i]));
        }
    }
    std::vector<double> medians;
    for (auto& of : times) {
        const auto middle = of.begin() + static_cast<std::ptrdiff_t>((of.size() - 1) / 2);
        std::nth_element(of.begin(), middle, of.end());
        medians.push_back(*middle);
    }
    return medians;
}

/// Passes over one row until they get no faster, for so many seconds at most: large caches take several to hold the
/// weights.
template <Model M>
void warm_up(const M& model, double seconds) {
    auto sequence = model.make_sequence();
    const token first[] = {0};
    double best = std::numeric_limits<double>::infinity();
    const augur::detail::stopwatch since;
    for (int no_faster = 0; no_faster < 3 && since.seconds() < seconds; ++no_faster) {
        const double taken = one_pass_seconds(model, sequence, first);
        if (taken < 0.97 * best) no_faster = -1;
        best = std::min(best, taken);
    }
}

/// Seconds of passes or rounds that do more and more, without what disturbed them: that only adds, and one takes no
/// longer than another that does all that it does and more. So each becomes the least from it on.
inline void calm(std::span<double> seconds) {
    for (std::size_t i = seconds.size(); i-- > 1;) seconds[i - 1] = std::min(seconds[i - 1], seconds[i]);
}

/// Seconds of a pass over 1, 2, ..., `most` rows behind `context` tokens, as policy::cost_aware takes them: measured
/// where the number is a power of two or the last, between them on the line, and never falling (calm). Fewer where the
/// model's context is shorter. Behind a text rows cost more than in an empty sequence (sequence_behind).
template <Model M>
std::vector<double> verify_curve(const M& model, std::size_t most, patience until = {.repetitions = 2, .seconds = 0.2},
                                 std::size_t context = 0) {
    if (context >= model.context_length()) {
        augur::detail::fail("a curve behind ", context, " tokens cannot be timed: the context is ",
                            model.context_length());
    }
    most = std::min<std::size_t>(most, model.context_length() - context);
    std::vector<std::size_t> rows;
    for (std::size_t count = 1; count < most; count *= 2) rows.push_back(count);
    rows.push_back(most);
    warm_up(model, until.seconds);
    auto measured = pass_seconds(model, rows, context, until);
    calm(measured);
    std::vector<double> curve{measured.front()};
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const double step = (measured[i] - measured[i - 1]) / static_cast<double>(rows[i] - rows[i - 1]);
        for (std::size_t count = rows[i - 1] + 1; count <= rows[i]; ++count) {
            curve.push_back(measured[i] - step * static_cast<double>(rows[i] - count));
        }
    }
    return curve;
}

}  // namespace augur::tune
