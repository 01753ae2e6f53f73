#pragma once
// Measures beta(tau): the share of positions where two models' distributions are within tau. See docs/tune/beta.md.

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "augur/measure/divergence.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/distribution.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/token.hpp"

namespace augur::tune {

/// The divergence D between the target's row and the draft's at each position of `text` after its first `given` tokens,
/// transformed by these settings; infinite where a row cannot be drawn from. The text is anyone's, as a prompt with its
/// continuation. Throws where `given` is 0 or all of the text, vocabularies differ in size or fingerprint, or the text
/// does not fit a context. Cost: a pass of both models over the text, in parts of 32 rows; two transforms per position.
template <measure::Divergence D = measure::total_variation, Model Target, Model Draft>
std::vector<double> divergences_along(const Target& target, const Draft& draft, std::span<const token> text,
                                      std::size_t given, transform::settings sampling = {}) {
    if (given == 0 || given >= text.size()) {
        augur::detail::fail("of a text of ", text.size(), " tokens ", given,
                            " are given; it must be 1 at least, and leave some to look at");
    }
    if (target.vocabulary_size() != draft.vocabulary_size()) {
        augur::detail::fail("rows are compared over one vocabulary, but the target has ", target.vocabulary_size(),
                            " tokens and the draft ", draft.vocabulary_size());
    }
    augur::detail::check_same_tokens("models whose rows are compared", "the target",
                                     augur::detail::vocabulary_fingerprint_of(target), "the draft",
                                     augur::detail::vocabulary_fingerprint_of(draft));
    const std::size_t room = std::min(target.context_length(), draft.context_length());
    if (text.size() > room + 1) {
        augur::detail::fail("a text of ", text.size(), " tokens does not fit a context of ", room);
    }
    constexpr std::size_t most_rows = 32;
    const transform::pipeline transform(std::move(sampling), target.vocabulary_size());
    model::cached_sequence<Target> of_target(target);
    model::cached_sequence<Draft> of_draft(draft);
    prefix before(text.first(given));
    distribution own, other;
    std::vector<double> found;
    for (std::size_t begin = given; begin < text.size();) {
        const std::size_t count = std::min(most_rows, text.size() - begin);
        const auto read = text.first(begin + count - 1);
        const auto targets = of_target.score(read, count);
        const auto drafts = of_draft.score(read, count);
        for (std::size_t i = 0; i < count; ++i) {
            transform.apply(targets[i], before, own);
            transform.apply(drafts[i], before, other);
            found.push_back(measure::divergence<D>(own, other));
            before.push(text[begin + i]);
        }
        begin += count;
    }
    return found;
}

/// beta(tau): of each threshold, the share of the divergences that are at most so large. Throws where there is none.
inline std::vector<double> shares_within(std::span<const double> divergences, std::span<const double> thresholds) {
    if (divergences.empty()) augur::detail::fail("there is no divergence to compare with a threshold");
    std::vector<double> shares;
    for (const double threshold : thresholds) {
        const auto within = std::count_if(divergences.begin(), divergences.end(),
                                          [threshold](double divergence) { return divergence <= threshold; });
        shares.push_back(static_cast<double>(within) / static_cast<double>(divergences.size()));
    }
    return shares;
}

}  // namespace augur::tune
