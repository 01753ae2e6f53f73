#pragma once
// Measures how far texts of switching models are from the best model's. See docs/tune/turns.md.

#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/measure/divergence.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/round/ask.hpp"
#include "augur/switching/scheme.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/prefix.hpp"

namespace augur::tune {

/// The divergence D between the last model's row and the row of the model that wrote, summed over a text that the
/// scheme made of the prompt with these settings. All models read the text in one pass each and the turns are taken
/// again, which rows that do not depend on the batch make exact. Throws where the prompt is empty, or prompt and text
/// do not fit a model's context. Cost: a pass of every model, rows * vocabulary numbers for each of them, two
/// transforms per token.
template <measure::Divergence D = measure::total_variation, class Policy, class... Speakers>
requires(!switching::switching_scheme<Policy, Speakers...>::has_codecs) double divergence_of_turns(
    const switching::switching_scheme<Policy, Speakers...>& scheme, std::span<const token> prompt,
    std::span<const token> text, transform::settings sampling) {
    if (prompt.empty()) augur::detail::fail("the text of an empty prompt cannot be read again");
    if (prompt.size() + text.size() > scheme.context_length() + 1) {
        augur::detail::fail("a prompt of ", prompt.size(), " tokens and a text of ", text.size(),
                            " do not fit a context of ", scheme.context_length());
    }
    if (text.empty()) return 0;
    std::vector<token> all(prompt.begin(), prompt.end());
    all.insert(all.end(), text.begin(), text.end());
    const auto read = std::span<const token>(all).first(all.size() - 1);
    auto caches = scheme.make_caches();
    const auto rows = std::apply([&](auto&... cache) { return std::tuple(cache.score(read, text.size())...); }, caches);
    const auto row_of = [&](std::size_t model, std::size_t i) {
        logit_row found;
        const auto pick = [&]<std::size_t... M>(std::index_sequence<M...>) {
            ((M == model ? void(found = std::get<M>(rows)[i]) : void()), ...);
        };
        pick(std::index_sequence_for<Speakers...>());
        return found;
    };
    const transform::pipeline transform(std::move(sampling), scheme.vocabulary_size());
    Policy policy = scheme.policy();
    std::size_t writer = scheme.options().first;
    prefix before(prompt);
    distribution own, best;
    double sum = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const logit_row row = row_of(writer, i);
        if (writer + 1 < sizeof...(Speakers)) {
            transform.apply(row, before, own);
            transform.apply(row_of(sizeof...(Speakers) - 1, i), before, best);
            sum += measure::divergence<D>(best, own);
        }
        writer = policy.next_model(writer, measure::entropy_bits(row));
        before.push(text[i]);
    }
    return sum;
}

}  // namespace augur::tune
