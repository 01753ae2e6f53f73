#pragma once
// Guarantees of a decoding about its output, as types.

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>

#include "augur/detail/host_device.hpp"

namespace augur::guarantee {

namespace detail {
/// What is inside, and how far.
template <class Exact>
inline constexpr auto rounded_name = [] {
    constexpr std::string_view suffix = ", within numerics";
    std::array<char, Exact::name.size() + suffix.size()> letters{};
    std::copy(suffix.begin(), suffix.end(), std::copy(Exact::name.begin(), Exact::name.end(), letters.begin()));
    return letters;
}();
}  // namespace detail

/// Strongest first. A guarantee implies those that its comment names, and nothing else.

/// At temperature 0, the text of plain greedy decoding. Schemes that promise it refuse any other temperature.
struct same_greedy_text {
    static constexpr std::string_view name = "same text as plain greedy decoding";
};
/// The text of plain sampling with the same seed; implies the same distribution, and the same greedy text at
/// temperature 0.
struct same_seeded_text {
    static constexpr std::string_view name = "same text as plain sampling with the same seed";
};
/// The distribution of plain sampling; at temperature 0 that is the greedy text.
struct same_distribution {
    static constexpr std::string_view name = "same distribution as plain sampling";
};
/// Each token is drawn from a distribution within `bound` of the target's, in that divergence (measure/divergence.hpp).
template <class Divergence>
struct bounded_divergence {
    static constexpr std::string_view name = "bounded divergence per token";
    double bound = std::numeric_limits<double>::infinity();
};
/// Each token is the most probable one of a row within `bound` of the target's, in that divergence: its own, or
/// another. In total variation it is then at most 2 * bound less probable under the target than the most probable one.
template <class Divergence>
struct greedy_within {
    static constexpr std::string_view name = "most probable in a row of bounded divergence";
    double bound = std::numeric_limits<double>::infinity();
};
/// Each token has at least the probability `bound(entropy_nats)` under the target, by the entropy of the target's row
/// there: the more certain the row, the higher it is, up to epsilon. With 0, as where nobody says more: each token is
/// possible.
struct minimum_probability {
    static constexpr std::string_view name = "every token at least so likely under the target";
    double epsilon = 0;
    double delta = 0;

    AUGUR_HOST_DEVICE double bound(double entropy_nats) const {
        return std::min(epsilon, delta * std::exp(-entropy_nats));
    }
};
/// Nothing is promised.
struct none {
    static constexpr std::string_view name = "none";
};
/// `Exact` up to rounding: the rows of one of the models may depend on how many are computed together.
template <class Exact>
struct within_numerics {
    static constexpr std::string_view name{detail::rounded_name<Exact>.data(), detail::rounded_name<Exact>.size()};
    using exact = Exact;
};
/// Without a guarantee rounding changes nothing.
template <>
struct within_numerics<none> : none {
    using exact = none;
};

namespace detail {

template <class G>
inline constexpr bool lossless =
    std::is_same_v<G, same_greedy_text> || std::is_same_v<G, same_seeded_text> || std::is_same_v<G, same_distribution>;

/// The strongest guarantee that both imply, rounding aside.
template <class A, class B>
struct exact_meet : std::type_identity<none> {};
template <class A>
struct exact_meet<A, A> : std::type_identity<A> {};
template <class A, class B>
requires(!std::is_same_v<A, B> && lossless<A> && lossless<B>) struct exact_meet<A, B> {
    static constexpr bool greedy = std::is_same_v<A, same_greedy_text> || std::is_same_v<B, same_greedy_text>;
    using type = std::conditional_t<greedy, same_greedy_text, same_distribution>;
};
template <class A, class B>
requires(lossless<A> && !lossless<B>) struct exact_meet<A, B> : std::type_identity<B> {
};
template <class A, class B>
requires(!lossless<A> && lossless<B>) struct exact_meet<A, B> : std::type_identity<A> {
};

template <class G>
struct numerics : std::false_type {
    using exact = G;
};
template <class G>
struct numerics<within_numerics<G>> : std::true_type {
    using exact = G;
};

template <class G>
struct up_to_rounding : std::type_identity<within_numerics<G>> {};
template <>
struct up_to_rounding<none> : std::type_identity<none> {};
template <class G>
struct up_to_rounding<within_numerics<G>> : up_to_rounding<G> {};

template <class A, class B>
struct meet {
    using exact = typename exact_meet<typename numerics<A>::exact, typename numerics<B>::exact>::type;
    using type = typename std::conditional_t<numerics<A>::value || numerics<B>::value, up_to_rounding<exact>,
                                             std::type_identity<exact>>::type;
};

/// One of the above, whatever is inside.
template <class G>
inline constexpr bool stated = lossless<G> || std::is_same_v<G, minimum_probability> || std::is_same_v<G, none>;
template <class Divergence>
inline constexpr bool stated<bounded_divergence<Divergence>> = true;
template <class Divergence>
inline constexpr bool stated<greedy_within<Divergence>> = true;
template <class G>
inline constexpr bool stated<within_numerics<G>> = stated<G>;

}  // namespace detail

/// What is left of `G` where rows are rounded: within_numerics<G>, and of none nothing.
template <class G>
using up_to_rounding_t = typename detail::up_to_rounding<G>::type;

/// The guarantee of a composition of two parts.
template <class A, class B>
using meet_t = typename detail::meet<A, B>::type;

}  // namespace augur::guarantee

namespace augur {

/// One of guarantee::*: code that reads a guarantee knows what each of them means.
template <class G>
concept Guarantee = guarantee::detail::stated<G>;

/// The guarantee that a criterion or a scheme states: its member type `guarantee`.
template <class Scheme>
using guarantee_of = typename std::remove_cvref_t<Scheme>::guarantee;

/// The text's distribution, or the text itself, is that of plain decoding.
template <class T>
concept Lossless = guarantee::detail::lossless<guarantee_of<T>>;

/// The guarantee that a caller requires of generate<>: lossless (the default), or any.
struct lossless {
    template <class G>
    static constexpr bool admits = guarantee::detail::lossless<G>;
};
/// As lossless, but rows may depend on the batch they are computed in: the same up to rounding.
struct lossless_within_numerics {
    template <class G>
    static constexpr bool admits = guarantee::detail::lossless<typename guarantee::detail::numerics<G>::exact>;
};
struct any_guarantee {
    template <class G>
    static constexpr bool admits = true;
};

}  // namespace augur
