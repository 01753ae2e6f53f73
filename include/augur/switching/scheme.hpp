#pragma once
// The switching scheme: several models take turns at decoding, a SwitchingPolicy decides which.

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/distinct.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/switching/concept.hpp"
#include "augur/switching/speaker.hpp"
#include "augur/types/error.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/statistics.hpp"

namespace augur::switching {

struct switching_options {
    std::size_t first = 0;         ///< the model that begins; 0 is the cheapest
    std::size_t draft_length = 0;  ///< tokens that the model before drafts for the one that writes; 0 means none
    bool keep_warm = false;        ///< every model reads every token at once, instead of when its turn comes
};

/// One model writes each token from its own row, through the transform and with the position's noise; a policy looks at
/// the entropy of the row, in bits and before any transform, and says who writes the next. Immutable; sessions hold all
/// state, and refer to the models, which do not move when this does. A model whose turn comes reads what it missed in
/// the pass that makes its first row. With `draft_length` the model before it drafts meanwhile; then the text is the
/// same, for a drafted token is accepted only where the writer would have written it and still been the writer.
/// With a codec for each model they need not share a vocabulary: each writes and reads in tokens of its own, after a
/// prompt and through a transform of its own. A switch then waits while the text ends inside what can still become a
/// code point, but not once bytes that came meanwhile show that others are no UTF-8; the policy counts as if it had
/// taken place. One that cannot take place, by the codec or the context, is dropped and counted, and the policy told as
/// if it had been undone.
/// Effect on the distribution: each token is the writing model's; next to the last model's text nothing is promised.
/// Cost: one pass of the writing model per token, or per round of drafts; O(vocabulary) for the entropy; at a switch
/// the codec's.
/// Source: Simonds 2025, "Entropy Adaptive Decoding", algorithm 1, and section 3.1 for models of different
/// architectures.
template <SwitchingPolicy Policy, class... Speakers>
class switching_scheme {
    static constexpr std::size_t models = sizeof...(Speakers);
    static_assert(models >= 2, "augur::switched: name two models or more, cheapest first, then the policy");
    static_assert((Speakers::has_codec && ...) || !(Speakers::has_codec || ...),
                  "augur::switched: a model without a codec cannot read what one with a codec writes; give all of them "
                  "one, spoken(model, codec), or none");

 public:
    /// Models hand each other text, instead of tokens.
    static constexpr bool has_codecs = (Speakers::has_codec && ...);

    using policy_type = Policy;
    using speakers_type = std::tuple<Speakers...>;
    /// What decoding starts from.
    using prompt_type = std::conditional_t<has_codecs, std::array<opening, models>, std::span<const token>>;
    using caches_type = std::tuple<model::cached_sequence<typename Speakers::model_type>...>;
    using guarantee = guarantee::none;

    switching_scheme(speakers_type speakers, Policy policy)
        : switching_scheme(std::make_shared<const speakers_type>(std::move(speakers)), std::move(policy), {}) {}

    /// The same with other options.
    switching_scheme with(switching_options options) const { return {speakers_, policy_, options}; }

    const Policy& policy() const { return policy_; }
    const switching_options& options() const { return options_; }
    const speakers_type& speakers() const { return *speakers_; }
    /// What all models share.
    std::size_t vocabulary_size() const requires(!has_codecs) {
        return std::get<0>(*speakers_).model().vocabulary_size();
    }
    /// The shortest of all models'.
    std::size_t context_length() const requires(!has_codecs) {
        const auto shortest = [](const auto&... each) {
            return std::min({static_cast<std::size_t>(each.model().context_length())...});
        };
        return std::apply(shortest, *speakers_);
    }
    /// What a token that a model wrote adds to the text.
    std::string bytes_of(std::size_t model, token t) const requires(has_codecs) {
        if (model >= models)
            detail::fail("switched: model ", model, " wrote nothing: there are ", models, ", from 0 on");
        std::string bytes;
        std::size_t index = 0;
        const auto look = [&](const auto& each) {
            if (index++ == model) bytes = each.bytes_of(t);
        };
        std::apply([&](const auto&... all) { (look(all), ...); }, *speakers_);
        return bytes;
    }
    caches_type make_caches() const {
        return std::apply([](const auto&... each) { return caches_type(each.model()...); }, *speakers_);
    }

 private:
    switching_scheme(std::shared_ptr<const speakers_type> speakers, Policy policy, switching_options options)
        : speakers_(std::move(speakers)), policy_(std::move(policy)), options_(options) {
        if (policy_.models() != models) {
            detail::fail("switched: the policy chooses between ", policy_.models(), " models, but ", models,
                         " are given");
        }
        if (options_.first >= models) {
            detail::fail("switched: model ", options_.first, " is to start, but there are ", models, ", from 0 on");
        }
        if constexpr (has_codecs) {
            if (options_.draft_length > 0 || options_.keep_warm) {
                detail::fail("switched: a draft of ", options_.draft_length, " tokens, keep_warm=", options_.keep_warm,
                             ": models with codecs do not read each other's tokens, and take text at switches only; "
                             "ask for 0 and false");
            }
        } else {
            std::apply([](const auto&... each) { check_vocabularies(each.model()...); }, *speakers_);
        }
        const auto check = [](const auto&... each) {
            const void* const seen[] = {std::addressof(each.model())...};
            detail::check_distinct("switched", seen);
        };
        std::apply(check, *speakers_);
    }

    static void check_vocabularies(const auto& first, const auto&... others) {
        std::size_t index = 0, known = 0;
        std::string tokens = detail::vocabulary_fingerprint_of(first);  // of model `known`
        const auto differs = [&](const auto& other) {
            ++index;
            if (other.vocabulary_size() != first.vocabulary_size()) {
                detail::fail("switched: the models must share a vocabulary, but model 0 has ", first.vocabulary_size(),
                             " tokens and model ", index, " has ", other.vocabulary_size(),
                             "; models with codecs, spoken(model, codec), need not");
            }
            std::string more = detail::vocabulary_fingerprint_of(other);
            detail::check_same_tokens("switched: the models", "model " + std::to_string(known), tokens,
                                      "model " + std::to_string(index), more);
            if (!tokens.empty()) return;
            tokens = std::move(more);
            known = index;
        };
        (differs(others), ...);
    }

    std::shared_ptr<const speakers_type> speakers_;  // sessions refer to them, wherever the scheme is moved
    Policy policy_;
    switching_options options_;
};

/// The numbers of parameters that wrote the tokens, on average, over the last model's: the parameter ratio of EAD's
/// table 1.
inline double parameter_ratio(std::span<const model_statistics> models, std::span<const double> parameters) {
    if (models.size() != parameters.size() || models.empty()) {
        augur::detail::fail("parameter_ratio: ", models.size(), " models, but ", parameters.size(),
                            " numbers of parameters");
    }
    double written = 0;
    double weighted = 0;
    for (std::size_t i = 0; i < models.size(); ++i) {
        written += static_cast<double>(models[i].written);
        weighted += static_cast<double>(models[i].written) * parameters[i];
    }
    return written > 0 ? weighted / written / parameters.back() : 0;
}

}  // namespace augur::switching

namespace augur {

namespace detail {

template <class Given>
auto speaker_of(Given&& given) {
    if constexpr (switching::is_speaker<std::remove_cvref_t<Given>>) {
        return std::remove_cvref_t<Given>(std::forward<Given>(given));
    } else {
        return switching::speaker<Given>(owned_or_borrowed<Given>(std::forward<Given>(given)));
    }
}
template <class... Speakers, class Policy>
auto switching_of(std::tuple<Speakers...> speakers, Policy policy) {
    return switching::switching_scheme<Policy, Speakers...>(std::move(speakers), std::move(policy));
}

}  // namespace detail

/// switched(cheapest, ..., best, policy), each a model, or each a spoken(model, codec, end tokens). Models given as
/// lvalues are referred to, rvalues are kept.
template <class... ModelsThenPolicy>
requires(sizeof...(ModelsThenPolicy) >= 3) auto switched(ModelsThenPolicy&&... arguments) {
    constexpr std::size_t models = sizeof...(ModelsThenPolicy) - 1;
    auto all = std::forward_as_tuple(std::forward<ModelsThenPolicy>(arguments)...);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return detail::switching_of(std::make_tuple(detail::speaker_of(std::get<I>(std::move(all)))...),
                                    std::get<models>(std::move(all)));
    }
    (std::make_index_sequence<models>());
}

}  // namespace augur
