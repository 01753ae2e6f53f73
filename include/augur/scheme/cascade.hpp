#pragma once
// The cascade: any number of models, from cheapest to best, with a policy and a criterion on every link.

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "augur/model/distinct.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/scheme/stage.hpp"

namespace augur {
namespace scheme {

/// A link, between two models: how many tokens the cheaper one proposes at a time, and which of them are accepted.
/// (Not `link`, which is a function of POSIX.)
template <SpeculationPolicy Policy, AcceptanceCriterion Criterion>
struct model_link {
    Policy policy;
    Criterion criterion;
};
template <class Policy, class Criterion>
model_link(Policy, Criterion) -> model_link<Policy, Criterion>;

}  // namespace scheme

namespace detail {

/// Drafter, link, model, link, model, ...: each stage drafts for the next.
template <scheme::proposed_rows ProposedRows, class Named, class Link, class Target>
auto cascade_of(Named&& drafter, Link by, Target&& target) {
    return speculate(std::forward<Named>(drafter), std::forward<Target>(target), std::move(by.policy),
                     std::move(by.criterion));
}
template <scheme::proposed_rows ProposedRows, class Named, class Link, class Middle, class... Rest>
requires(sizeof...(Rest) > 0) auto cascade_of(Named&& drafter, Link by, Middle&& middle, Rest&&... rest) {
    using policy_type = decltype(by.policy);
    using criterion_type = decltype(by.criterion);
    auto inner = drafter_for<criterion_type>(std::forward<Named>(drafter));
    using stage = scheme::stage<decltype(inner), Middle, policy_type, criterion_type, ProposedRows>;
    return cascade_of<ProposedRows>(
        stage(std::move(inner), std::forward<Middle>(middle), std::move(by.policy), std::move(by.criterion)),
        std::forward<Rest>(rest)...);
}

/// Of drafter, link, model, ...: every other part is no link.
template <class... Parts>
void check_each_once(const Parts&... parts) {
    const void* const all[] = {std::addressof(parts)...};
    std::array<const void*, sizeof...(Parts) / 2 + 1> models;
    for (std::size_t i = 0; i < models.size(); ++i) models[i] = all[2 * i];
    check_distinct("cascade", models);
}

}  // namespace detail

/// cascaded(cheapest, model_link, next, model_link, ..., best): the cheapest drafts for the next, what that one
/// accepts is its draft for the one after it, and so on; the last verifies all. The cheapest is a model or any drafter.
/// With two models it is speculate.
/// Guarantee: the last link's, whatever the others do, because each token is judged by the row that it was drawn from.
/// Models given as lvalues are referred to, rvalues are kept. Throws where two models differ in vocabulary or are one
/// and the same.
template <class... Parts>
requires(sizeof...(Parts) >= 3 && sizeof...(Parts) % 2 == 1) auto cascaded(Parts&&... parts) {
    detail::check_each_once(parts...);
    return detail::cascade_of<scheme::proposed_rows::what_it_drew>(std::forward<Parts>(parts)...);
}

/// The same with each token judged by the row of the model that proposed it, wherever it was drawn from: PyramidSD as
/// published. Guarantee: none.
template <class... Parts>
requires(sizeof...(Parts) >= 3 && sizeof...(Parts) % 2 == 1) auto cascaded_as_published(Parts&&... parts) {
    detail::check_each_once(parts...);
    return detail::cascade_of<scheme::proposed_rows::own_rows>(std::forward<Parts>(parts)...);
}

}  // namespace augur
