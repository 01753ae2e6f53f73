#pragma once
// A criterion whose answers are checked before they are used as indices.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "augur/accept/concept.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/error.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"
#include "augur/types/verdict.hpp"

namespace augur::testing {

namespace detail {

inline void require_token(token given, std::size_t vocabulary) {
    if (given >= 0 && static_cast<std::size_t>(given) < vocabulary) return;
    augur::detail::fail("gives token ", given, " of a vocabulary of ", vocabulary);
}

/// The token that follows a whole draft: none, or one of the vocabulary.
void require_next(token given, const auto& targets) {
    if (given == no_token || targets[0].empty()) return;
    require_token(given, targets[0].size());
}

/// The first node follows the prefix, and each other the one before it.
void require_path(const std::vector<std::size_t>& path, const ChainProposal auto& proposed) {
    std::int32_t before = after_prefix;
    for (const std::size_t node : path) {
        if (node >= proposed.size()) {
            augur::detail::fail("path ", describe(path), ": node ", node, " of ", proposed.size(), " drafted");
        }
        const std::int32_t parent = parents::of(parents_of(proposed), node);
        if (parent != before) {
            augur::detail::fail("path ", describe(path), ": node ", node, " follows ", parent, ", not ", before);
        }
        before = static_cast<std::int32_t>(node);
    }
}

template <class Criterion>
struct checks_draw : Criterion {
    explicit checks_draw(const Criterion& criterion) : Criterion(criterion) {}

    token draw(const auto& target, auto& draws) const requires requires(const Criterion& inside) {
        { inside.draw(target, draws) } -> std::convertible_to<token>;
    }
    {
        const token given = static_cast<const Criterion&>(*this).draw(target, draws);
        if constexpr (requires { target.size(); }) require_token(given, target.size());
        return given;
    }
};

template <class Criterion>
struct checks_block : Criterion {
    using Criterion::Criterion;

    verdict judge_block(const auto& targets, const auto& proposed, const auto& draws) const requires
        requires(const Criterion& inside) {
        { inside.judge_block(targets, proposed, draws) } -> std::same_as<verdict>;
    }
    {
        const verdict decided = static_cast<const Criterion&>(*this).judge_block(targets, proposed, draws);
        require_path(decided.path, proposed);
        if (decided.accepted > proposed.size()) {
            augur::detail::fail("accepts ", decided.accepted, " of ", proposed.size(), " drafted");
        }
        if (!decided.path.empty() && decided.accepted != decided.path.size()) {
            augur::detail::fail("accepts ", decided.accepted, " on the path ", describe(decided.path));
        }
        if (!targets.empty()) require_next(decided.next, targets);
        return decided;
    }
};

template <class Criterion>
struct checks_tree : Criterion {
    using Criterion::Criterion;

    token judge_tree(const auto& targets, const auto& proposed, const auto& draws, std::vector<std::size_t>& path,
                     auto&... kept) const requires requires(const Criterion& inside) {
        { inside.judge_tree(targets, proposed, draws, path, kept...) } -> std::same_as<token>;
    }
    {
        const token next = static_cast<const Criterion&>(*this).judge_tree(targets, proposed, draws, path, kept...);
        require_path(path, proposed);
        require_next(next, targets);
        return next;
    }
};

template <class Criterion>
using with_checked_block =
    std::conditional_t<ReturnsVerdict<Criterion, point_mass> || ReturnsVerdict<Criterion, distribution>,
                       checks_block<Criterion>, Criterion>;
template <class Criterion>
using with_checked_tree = std::conditional_t<JudgesTrees<Criterion, point_mass> || JudgesTrees<Criterion, distribution>,
                                             checks_tree<Criterion>, Criterion>;

template <class Criterion>
struct checked_criterion : std::type_identity<with_checked_tree<with_checked_block<checks_draw<Criterion>>>> {};
template <class Criterion>
requires std::is_final_v<Criterion>
struct checked_criterion<Criterion> : std::type_identity<Criterion> {
};

}  // namespace detail

/// Answers as `Criterion`, and throws augur::error where an answer is no place: a token outside the vocabulary, more
/// tokens than were drafted, a path that does not lead from the prefix from node to node. A final class is only itself.
template <class Criterion>
using checked_criterion = typename detail::checked_criterion<Criterion>::type;

}  // namespace augur::testing
