#pragma once
// The switching scheme: several models take turns at decoding, a SwitchingPolicy decides which.

#include <algorithm>
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
/// Effect on the distribution: each token is the writing model's; next to the last model's text nothing is promised.
/// Cost: one pass of the writing model per token, or per round of drafts; O(vocabulary) for the entropy.
/// Source: Simonds 2025, "Entropy Adaptive Decoding", algorithm 1.
template <SwitchingPolicy Policy, class... Held>
class switching_scheme {
    static_assert(sizeof...(Held) >= 2, "augur::switched: name two models or more, cheapest first, then the policy");
    static_assert((Model<typename detail::owned_or_borrowed<Held>::type> && ...));

 public:
    using policy_type = Policy;
    using models_type = std::tuple<detail::owned_or_borrowed<Held>...>;
    using caches_type = std::tuple<model::cached_sequence<typename detail::owned_or_borrowed<Held>::type>...>;
    using guarantee = guarantee::none;

    switching_scheme(models_type models, Policy policy, switching_options options = {})
        : models_(std::move(models)), policy_(std::move(policy)), options_(options) {
        if (policy_.models() != sizeof...(Held)) {
            detail::fail("switched: the policy chooses between ", policy_.models(), " models, but ", sizeof...(Held),
                         " are given");
        }
        if (options_.first >= sizeof...(Held)) {
            detail::fail("switched: model ", options_.first, " is to start, but there are ", sizeof...(Held),
                         ", from 0 on");
        }
        std::apply([](const auto&... each) { check(each.get()...); }, models_);
    }

    /// The same with other options.
    switching_scheme with(switching_options options) const { return {models_, policy_, options}; }

    const Policy& policy() const { return policy_; }
    const switching_options& options() const { return options_; }
    /// What all models share.
    std::size_t vocabulary_size() const { return std::get<0>(models_).get().vocabulary_size(); }
    /// The shortest of all models'.
    std::size_t context_length() const {
        const auto shortest = [](const auto&... each) {
            return std::min({static_cast<std::size_t>(each.get().context_length())...});
        };
        return std::apply(shortest, models_);
    }
    caches_type make_caches() const {
        return std::apply([](const auto&... each) { return caches_type(each.get()...); }, models_);
    }

 private:
    static void check(const auto& first, const auto&... others) {
        std::size_t index = 0, known = 0;
        std::string tokens = detail::vocabulary_fingerprint_of(first);  // of model `known`
        const void* const seen[] = {std::addressof(first), std::addressof(others)...};
        const auto differs = [&](const auto& other) {
            ++index;
            if (other.vocabulary_size() != first.vocabulary_size()) {
                detail::fail("switched: the models must share a vocabulary, but model 0 has ", first.vocabulary_size(),
                             " tokens and model ", index, " has ", other.vocabulary_size());
            }
            std::string more = detail::vocabulary_fingerprint_of(other);
            detail::check_same_tokens("switched: the models", "model " + std::to_string(known), tokens,
                                      "model " + std::to_string(index), more);
            if (!tokens.empty()) return;
            tokens = std::move(more);
            known = index;
        };
        (differs(others), ...);
        detail::check_distinct("switched", seen);
    }

    models_type models_;
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
template <class... Held, class Arguments, std::size_t... I>
auto switching_of(Arguments arguments, std::index_sequence<I...>) {
    using policy_type = std::remove_cvref_t<std::tuple_element_t<sizeof...(I), Arguments>>;
    using scheme = switching::switching_scheme<policy_type, std::tuple_element_t<I, std::tuple<Held...>>...>;
    return scheme(typename scheme::models_type(owned_or_borrowed<std::tuple_element_t<I, std::tuple<Held...>>>(
                      std::forward<std::tuple_element_t<I, Arguments>>(std::get<I>(arguments)))...),
                  std::get<sizeof...(I)>(std::move(arguments)));
}
}  // namespace detail

/// switched(cheapest, ..., best, policy), of models of one vocabulary; of others, switching/bridged.hpp. Models given
/// as lvalues are referred to, rvalues are kept.
template <class... ModelsThenPolicy>
requires(sizeof...(ModelsThenPolicy) >= 3 &&
         !switching::begins_with_a_speaker<ModelsThenPolicy...>) auto switched(ModelsThenPolicy&&... arguments) {
    return detail::switching_of<ModelsThenPolicy...>(
        std::forward_as_tuple(std::forward<ModelsThenPolicy>(arguments)...),
        std::make_index_sequence<sizeof...(ModelsThenPolicy) - 1>());
}

}  // namespace augur
