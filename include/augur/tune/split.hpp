#pragma once
// Chooses the exit layer and draft length of self-speculation. See docs/tune/split.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "augur/detail/stopwatch.hpp"
#include "augur/draft/exit_head.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/run.hpp"
#include "augur/tune/throughput.hpp"
#include "augur/tune/verify_curve.hpp"
#include "augur/types/error.hpp"

namespace augur::tune {

/// What a split after `layer` layers costs, and how often its drafts are accepted.
struct split {
    std::size_t layer = 0;
    double first_seconds = 0;            ///< of layers [0, layer) over one token
    double head_seconds = 0;             ///< of the exit head, a row
    std::vector<double> rest_seconds{};  ///< [n - 1]: of the other layers over n tokens, in one pass
    std::vector<double> acceptance{};    ///< of the token at each position of a draft, given that those before it are
};

/// A split and a length to draft, against plain decoding; layer and length 0 are plain decoding itself.
struct split_choice {
    std::size_t layer = 0, length = 0;
    double tokens_per_second = 0;
    double speedup = 1;
};

/// From passes over whole models: `pass_seconds[n - 1]` is one over n tokens, of which the output matrix takes the
/// share `output_share`, and the layers the rest, each as much as any other.
inline split proportional_split(std::size_t layer, std::size_t layers, std::span<const double> pass_seconds,
                                double output_share, double head_seconds, std::vector<double> acceptance) {
    if (layer == 0 || layer >= layers) {
        augur::detail::fail("a split after ", layer, " layers of ", layers, "; it must be after 1 to ", layers - 1);
    }
    if (!(output_share >= 0 && output_share < 1)) {
        augur::detail::fail("the output's share is ", output_share, "; it must be at least 0 and less than 1");
    }
    if (pass_seconds.empty()) augur::detail::fail("there is no pass to tell the cost of ", layer, " layers from");
    const double share = (1 - output_share) * static_cast<double>(layer) / static_cast<double>(layers);
    split parts{layer, share * pass_seconds.front(), head_seconds, {}, std::move(acceptance)};
    for (const double seconds : pass_seconds) parts.rest_seconds.push_back((1 - share) * seconds);
    return parts;
}

/// Every split with every length that its figures cover, and plain decoding, fastest first; of equals the one with
/// fewer layers, then the shorter. A round of n tokens takes n (first + head) + first + rest(n + 1) seconds and yields
/// expected_length of them: tune::throughput with the first layers and the head as the drafter, and the first layers of
/// one token and the rest as the pass. `plain_seconds`: a pass of the whole model over one token.
inline std::vector<split_choice> best_splits(std::span<const split> candidates, double plain_seconds) {
    if (!(plain_seconds > 0) || std::isinf(plain_seconds)) {
        augur::detail::fail("a plain pass takes ", plain_seconds, " seconds; it must be positive and finite");
    }
    std::vector<split_choice> choices{{0, 0, 1 / plain_seconds, 1}};
    for (const split& each : candidates) {
        if (!(each.first_seconds > 0) || !(each.head_seconds >= 0)) {
            augur::detail::fail("the split after ", each.layer, " layers takes ", each.first_seconds, " and ",
                                each.head_seconds, " seconds a token; layers must be positive, the head not negative");
        }
        for (std::size_t length = 1; length <= each.acceptance.size() && length < each.rest_seconds.size(); ++length) {
            const auto rows = static_cast<double>(length + 1);
            const double tokens = expected_length(std::span(each.acceptance).first(length));
            const verification link{.length = length,
                                    .kept = tokens / rows,
                                    .pass_seconds = each.first_seconds + each.rest_seconds[length]};
            const double speed = throughput(1 / (each.first_seconds + each.head_seconds), std::span(&link, 1));
            choices.push_back({each.layer, length, speed, speed * plain_seconds});
        }
    }
    std::stable_sort(choices.begin(), choices.end(), [](const split_choice& a, const split_choice& b) {
        if (a.speedup != b.speedup) return a.speedup > b.speedup;
        return a.layer != b.layer ? a.layer < b.layer : a.length < b.length;
    });
    return choices;
}

/// The costs of a split where this head reads, by measurement: medians of passes over the first layers of one token,
/// and over the others of 1, 2, ..., `most` tokens, behind `context` tokens. Its acceptance is the caller's to add.
/// Cost: (repetitions + 1) passes of each, a prefill, one sequence.
template <SplitModel M, draft::ExitHead H>
split measured_split(const M& model, const H& head, std::size_t most, std::size_t context = 1, patience until = {}) {
    draft::check_exit(head, model);
    const std::size_t room = model.context_length();
    if (most == 0 || context > room || most > room - context) {
        augur::detail::fail("a split cannot be timed over ", most, " tokens after ", context,
                            ": they must be at least 1, and the context is ", room);
    }
    if (until.repetitions == 0) augur::detail::fail("repetitions are 0; a median needs at least 1");
    auto sequence = model.make_sequence();
    const std::vector<token> text(std::max(context, most));
    using pass_type = pass<sequence_t<M>>;
    const auto timed = [&](const pass_type& asked) {
        const augur::detail::stopwatch watch;
        model::run(model, asked);
        return watch.seconds();
    };
    if (context > 0) timed({.sequence = &sequence, .tokens = std::span(text).first(context), .rows = 0});
    std::vector<float> row(model.vocabulary_size());
    std::vector<std::vector<double>> first(1), heads(1), rest(most);
    for (std::size_t round = 0; round <= until.repetitions; ++round) {
        for (std::size_t tokens = 1; tokens <= most; ++tokens) {
            const double shallow = timed({.sequence = &sequence,
                                          .tokens = std::span(text).first(tokens),
                                          .to_layer = std::size_t{head.layer()}});
            if (tokens == 1) {
                first[0].push_back(shallow);
                const logit_row read = draft::exit_state<H>(model, sequence);
                const augur::detail::stopwatch watch;
                head.row(read, row);
                heads[0].push_back(watch.seconds());
            }
            rest[tokens - 1].push_back(timed({.sequence = &sequence, .from_layer = std::size_t{head.layer()}}));
            model.truncate(sequence, context);
        }
    }
    const auto median = [](std::vector<double>& times) {
        times.erase(times.begin());  // it warms up
        const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
        std::nth_element(times.begin(), middle, times.end());
        return *middle;
    };
    split parts{head.layer(), median(first[0]), median(heads[0]), {}, {}};
    for (auto& times : rest) parts.rest_seconds.push_back(median(times));
    return parts;
}

}  // namespace augur::tune
