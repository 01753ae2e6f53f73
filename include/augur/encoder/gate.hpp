#pragma once
// A cascade of encoders that stops where neighbouring encoders' features agree.

#include <array>
#include <bitset>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/encoder/alignment.hpp"
#include "augur/encoder/feature_divergence.hpp"
#include "augur/types/error.hpp"
#include "augur/types/guarantee.hpp"

namespace augur::encoder {

/// Turns inputs of its own type into features.
/// Define: operator()(const Input&) const -> features.
/// Laws:   always as many numbers.
template <class E, class Input>
concept Encoder = requires(const E& encoder, const Input& input) {
    { encoder(input) } -> std::convertible_to<features>;
};

/// Strict at first (0.3), relaxed at last (0.5), evenly between; a single link is the first. Meant for cosine_distance.
/// Source: the defaults of PyramidSD's cross-modal cascade, tau_Q and tau_T.
inline std::vector<double> recommended_thresholds(std::size_t links) {
    std::vector<double> thresholds(links);
    for (std::size_t i = 0; i < links; ++i) {
        thresholds[i] = i == 0 ? 0.3 : std::lerp(0.3, 0.5, static_cast<double>(i) / static_cast<double>(links - 1));
    }
    return thresholds;
}

struct gate_options {
    /// One per link, the largest divergence that agrees: finite, 0 or more, in any order. None: the recommended ones.
    std::vector<double> thresholds;
};

/// The result of one input.
template <std::size_t Stages>
struct gate_result {
    features accepted;                ///< mapped to where the last encoder's features lie
    std::size_t exit = 0;             ///< the encoder whose features they are
    std::bitset<Stages> ran;          ///< encoders that ran
    std::vector<double> divergences;  ///< of the links that were looked at, first to last
};

/// Counts over many inputs. The caller's; a gate keeps none.
template <std::size_t Stages>
struct gate_statistics {
    std::array<std::size_t, Stages> exits{};  ///< inputs by the encoder whose features were accepted
    std::array<std::size_t, Stages> runs{};   ///< runs of each encoder

    void add(const gate_result<Stages>& result) {
        ++exits[result.exit];
        for (std::size_t i = 0; i < Stages; ++i) runs[i] += result.ran[i];
    }
};

/// Encoders from cheapest to best, an alignment between each and the next. `Parts` are encoder, alignment, encoder,
/// ..., encoder, by value, or `T&` by reference. Immutable. Link i compares the features of encoder i, aligned, with
/// those of encoder i + 1; they agree where the divergence is at most the link's threshold, so never where it is NaN.
/// An encoder that does not run leaves its input untouched.
/// Effect on what is decoded from the features: nothing is promised. The last encoder's features pass unchanged,
/// whatever they are.
/// Errors: features that differ in size across a link, when they are compared; nothing else of its own once it is
/// constructed.
/// Cost: the encoders that ran; per link looked at one alignment and O(features); the alignments above the exit.
/// Source: the cross-modal cascade after Byun et al. 2025, "PyramidSD"; any number of encoders is ours.
template <FeatureDivergence D, class... Parts>
class gate {
    static_assert(sizeof...(Parts) >= 3 && sizeof...(Parts) % 2 == 1,
                  "augur::gated: name an encoder, then an alignment and an encoder for every link");

 public:
    static constexpr std::size_t stages = (sizeof...(Parts) + 1) / 2;
    using divergence_type = D;
    using parts_type = std::tuple<detail::owned_or_borrowed<Parts>...>;
    using result_type = gate_result<stages>;
    using statistics_type = gate_statistics<stages>;
    using guarantee = guarantee::none;

    /// Throws where thresholds or alignments do not fit.
    explicit gate(parts_type parts, gate_options options = {})
        : parts_(std::move(parts)), options_(std::move(options)) {
        if (options_.thresholds.empty()) options_.thresholds = recommended_thresholds(stages - 1);
        check_thresholds();
        check_alignments(std::make_index_sequence<stages - 1>());
    }

    /// The same with other options.
    gate with(gate_options options) const { return gate(parts_, std::move(options)); }

    const gate_options& options() const { return options_; }

    /// Encoder 0, then 1: where link 0 agrees, 0's features are accepted and nothing further runs. Else encoder 2, and
    /// so on to the last, whose features are accepted where no link agreed.
    template <class... Inputs>
    result_type first_agreement(const Inputs&... inputs) const {
        return until_agreement(kept::lower, inputs...);
    }

    /// The same encoders run, but of the two that agreed the upper one's features are accepted, for they are there.
    template <class... Inputs>
    result_type first_confirmation(const Inputs&... inputs) const {
        return until_agreement(kept::upper, inputs...);
    }

    /// Encoder 0's features are accepted where every link agrees, for which all encoders have to run. At the first link
    /// that does not, the last encoder's are.
    template <class... Inputs>
    result_type as_published(const Inputs&... inputs) const {
        static_assert(sizeof...(Inputs) == stages, "augur::gate: name one input for every encoder");
        const std::tuple<const Inputs&...> all(inputs...);
        result_type result;
        features aligned = align<0>(encode<0>(result, all));
        features latest = encode<1>(result, all);
        if (agree<0>(result, aligned, latest) && rest_agrees<1>(result, latest, all)) {
            accept(result, 0, lift<1>(std::move(aligned)));
        } else {
            accept(result, stages - 1, result.ran[stages - 1] ? std::move(latest) : encode<stages - 1>(result, all));
        }
        return result;
    }

 private:
    template <std::size_t P>
    using part = typename std::tuple_element_t<P, parts_type>::type;

    template <std::size_t I>
    const auto& encoder() const {
        return std::get<2 * I>(parts_).get();
    }
    template <std::size_t I>
    const auto& alignment() const {
        return std::get<2 * I + 1>(parts_).get();
    }

    void check_thresholds() const {
        const auto& given = options_.thresholds;
        if (given.size() != stages - 1) {
            detail::fail("gate: ", stages, " encoders have ", stages - 1, " links, but ", given.size(),
                         " thresholds are given");
        }
        for (std::size_t i = 0; i < given.size(); ++i) {
            if (!(given[i] >= 0 && std::isfinite(given[i]))) {
                detail::fail("gate: the threshold of link ", i, " is ", given[i], "; it must be finite, and 0 or more");
            }
        }
    }

    template <std::size_t... I>
    void check_alignments(std::index_sequence<I...>) const {
        static_assert((Alignment<part<2 * I + 1>> && ...),
                      "augur::gated: between two encoders stands an alignment, a callable from features to features");
        (check_alignment<I>(), ...);
    }
    template <std::size_t I>
    void check_alignment() const {
        if constexpr (I + 2 < stages) {
            if constexpr (SizedAlignment<part<2 * I + 1>> && SizedAlignment<part<2 * I + 3>>) {
                if (alignment<I>().to_size() != alignment<I + 1>().from_size()) {
                    detail::fail("gate: the alignment of link ", I, " makes ", alignment<I>().to_size(),
                                 " numbers, but that of link ", I + 1, " reads ", alignment<I + 1>().from_size());
                }
            }
        }
    }

    template <std::size_t I, class Inputs>
    features encode(result_type& result, const Inputs& inputs) const {
        static_assert(Encoder<part<2 * I>, std::remove_cvref_t<std::tuple_element_t<I, Inputs>>>,
                      "augur::gate: an encoder is called with its input and gives features; a const one has to do");
        result.ran.set(I);
        return encoder<I>()(std::get<I>(inputs));
    }

    template <std::size_t I>
    features align(const features& of) const {
        return alignment<I>()(of);
    }

    /// From where the features of encoder I lie to where the last one's do.
    template <std::size_t I>
    features lift(features of) const {
        if constexpr (I + 1 == stages) {
            return of;
        } else {
            return lift<I + 1>(align<I>(of));
        }
    }

    template <std::size_t I>
    bool agree(result_type& result, const features& aligned, const features& next) const {
        if (aligned.size() != next.size()) {
            detail::fail("gate: at link ", I, " the aligned features have ", aligned.size(),
                         " numbers, but those of encoder ", I + 1, " have ", next.size());
        }
        result.divergences.push_back(D::between(next, aligned));
        return result.divergences.back() <= options_.thresholds[I];
    }

    static void accept(result_type& result, std::size_t exit, features accepted) {
        result.exit = exit;
        result.accepted = std::move(accepted);
    }

    /// Of two encoders that agree, whose features are accepted.
    enum class kept { lower, upper };

    template <class... Inputs>
    result_type until_agreement(kept of_two, const Inputs&... inputs) const {
        static_assert(sizeof...(Inputs) == stages, "augur::gate: name one input for every encoder");
        const std::tuple<const Inputs&...> all(inputs...);
        result_type result;
        features lowest = encode<0>(result, all);
        climb<0>(of_two, result, std::move(lowest), all);
        return result;
    }

    /// No link below encoder I agreed.
    template <std::size_t I, class Inputs>
    void climb(kept of_two, result_type& result, features current, const Inputs& inputs) const {
        if constexpr (I + 1 == stages) {
            accept(result, I, std::move(current));
        } else {
            features aligned = align<I>(current);
            features next = encode<I + 1>(result, inputs);
            if (!agree<I>(result, aligned, next)) {
                climb<I + 1>(of_two, result, std::move(next), inputs);
            } else if (of_two == kept::lower) {
                accept(result, I, lift<I + 1>(std::move(aligned)));
            } else {
                accept(result, I + 1, lift<I + 1>(std::move(next)));
            }
        }
    }

    /// Whether link I and those above it agree. `latest` are the features of encoder I, then of the last one that ran.
    template <std::size_t I, class Inputs>
    bool rest_agrees(result_type& result, features& latest, const Inputs& inputs) const {
        if constexpr (I + 1 == stages) {
            return true;
        } else {
            const features aligned = align<I>(latest);
            latest = encode<I + 1>(result, inputs);
            return agree<I>(result, aligned, latest) && rest_agrees<I + 1>(result, latest, inputs);
        }
    }

    parts_type parts_;
    gate_options options_;
};

}  // namespace augur::encoder

namespace augur {

/// gated(cheapest, alignment, next, alignment, ..., best): encoders and the maps between their features. Lvalues are
/// referred to, rvalues are kept. `gated<encoder::relative_distance>(...)` compares by another divergence. Throws where
/// alignments do not fit each other.
template <encoder::FeatureDivergence D = encoder::cosine_distance, class... Parts>
requires(sizeof...(Parts) >= 3 && sizeof...(Parts) % 2 == 1) auto gated(Parts&&... parts) {
    using gate = encoder::gate<D, Parts...>;
    return gate(typename gate::parts_type(detail::owned_or_borrowed<Parts>(std::forward<Parts>(parts))...));
}

}  // namespace augur
