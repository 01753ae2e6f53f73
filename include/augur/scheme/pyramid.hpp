#pragma once
// PyramidSD's schemes under the paper's names.

#include <cstddef>
#include <utility>

#include "augur/accept/fuzzy.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/measure/divergence.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/scheme/cascade.hpp"
#include "augur/types/error.hpp"

namespace augur::scheme {

/// The paper's best on an RTX 4090: lengths 15 and 25, thresholds 0.4 and 0.5. With two models the draft's length and
/// the target's threshold count.
struct pyramid_options {
    std::size_t draft_length = 15;      ///< tokens that the draft proposes at a time, at least 1
    std::size_t qualifier_length = 25;  ///< tokens that the qualifier proposes at a time, at least 1
    double qualifier_threshold = 0.4;   ///< in the divergence's unit, 0 or more; psd_f alone uses it
    double target_threshold = 0.5;      ///< the same; the paper's tables have it above the qualifier's and below
};

namespace pyramid_parts {

inline const pyramid_options& checked(const pyramid_options& chosen) {
    if (chosen.draft_length == 0 || chosen.qualifier_length == 0) {
        detail::fail("pyramid: the lengths are ", chosen.draft_length, " and ", chosen.qualifier_length,
                     "; a model proposes at least 1 token");
    }
    return chosen;
}

template <measure::Divergence D>
auto fuzzy_link(std::size_t length, double threshold) {
    return scheme::model_link{policy::fixed_length{length}, accept::fuzzy<D>(threshold)};
}

/// Of draft and qualifier, then of qualifier and target.
template <measure::Divergence D>
auto fuzzy_links(const pyramid_options& chosen) {
    return std::pair(fuzzy_link<D>(checked(chosen).draft_length, chosen.qualifier_threshold),
                     fuzzy_link<D>(chosen.qualifier_length, chosen.target_threshold));
}

inline auto sampling_link(std::size_t length) {
    return scheme::model_link{policy::fixed_length{length}, accept::rejection_sampling{}};
}

}  // namespace pyramid_parts

/// Speculative decoding by two models. Lossless.
template <class Draft, class Target>
auto sd(Draft&& draft, Target&& target, const pyramid_options& chosen = {}) {
    using namespace pyramid_parts;
    return cascaded(std::forward<Draft>(draft), sampling_link(checked(chosen).draft_length),
                    std::forward<Target>(target));
}

/// Fuzzy speculative decoding by two models: each token within the target's threshold of its row.
template <measure::Divergence D = measure::total_variation, class Draft, class Target>
auto fsd(Draft&& draft, Target&& target, const pyramid_options& chosen = {}) {
    using namespace pyramid_parts;
    return cascaded(std::forward<Draft>(draft), fuzzy_link<D>(checked(chosen).draft_length, chosen.target_threshold),
                    std::forward<Target>(target));
}

/// Assisted: the qualifier samples for itself, with the draft's help; the target is fuzzy.
template <measure::Divergence D = measure::total_variation, class Draft, class Qualifier, class Target>
auto psd_a(Draft&& draft, Qualifier&& qualifier, Target&& target, const pyramid_options& chosen = {}) {
    using namespace pyramid_parts;
    return cascaded(std::forward<Draft>(draft), sampling_link(checked(chosen).draft_length),
                    std::forward<Qualifier>(qualifier), fuzzy_link<D>(chosen.qualifier_length, chosen.target_threshold),
                    std::forward<Target>(target));
}

/// Fuzzy at both. A token is judged by the row that it was drawn from (cascaded), so that the target's threshold bounds
/// each token.
template <measure::Divergence D = measure::total_variation, class Draft, class Qualifier, class Target>
auto psd_f(Draft&& draft, Qualifier&& qualifier, Target&& target, const pyramid_options& chosen = {}) {
    const auto [at_qualifier, at_target] = pyramid_parts::fuzzy_links<D>(chosen);
    return cascaded(std::forward<Draft>(draft), at_qualifier, std::forward<Qualifier>(qualifier), at_target,
                    std::forward<Target>(target));
}

/// Fuzzy at both, and the target compares its row with the qualifier's, whichever model a token was drawn from. The
/// type promises nothing; where D is a metric (total_variation, hellinger) both thresholds together bound each token,
/// the target's alone does not.
template <measure::Divergence D = measure::total_variation, class Draft, class Qualifier, class Target>
auto psd_f_as_published(Draft&& draft, Qualifier&& qualifier, Target&& target, const pyramid_options& chosen = {}) {
    const auto [at_qualifier, at_target] = pyramid_parts::fuzzy_links<D>(chosen);
    return cascaded_as_published(std::forward<Draft>(draft), at_qualifier, std::forward<Qualifier>(qualifier),
                                 at_target, std::forward<Target>(target));
}

}  // namespace augur::scheme
