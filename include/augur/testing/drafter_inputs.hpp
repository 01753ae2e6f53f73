#pragma once
// Random inputs of drafters, and their proposals.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/draft/context.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/followed_target.hpp"
#include "augur/testing/law_chooser.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/wide_rows.hpp"

namespace augur::testing {

/// A policy that wants a tree.
struct wants_tree {
    static constexpr draft_shape plans = draft_shape::tree;
    topology wanted;
    draft_plan plan(const observation&) const { return {.tree = &wanted}; }
};

/// Checks laws, which are members of `cases`, into a report.
struct drafter_law_checker {
    report& into;
    const effort& tries;
    std::size_t vocabulary = 0;

    void operator()(const char* name, const auto& cases, auto member) const {
        check(into, name, tries, [&](choices& from) { return (cases.*member)(from); });
    }
    /// One that takes every draft: in a wide vocabulary, of few tokens at each of its far places.
    void enumerated(const char* name, const auto& cases, auto member) const {
        if (vocabulary <= enumerable_vocabulary) return (*this)(name, cases, member);
        far_out(name, cases, member);
    }
    void far_out(const char* name, const auto& cases, auto member) const {
        if (vocabulary > tries.widest) {
            return into.skip(name, augur::detail::message("a vocabulary of ", vocabulary,
                                                          " is wider than what was allowed, ", tries.widest));
        }
        check_windows(into, name, tries, [&](choices& from) { return (cases.*member)(from); });
    }

    static constexpr std::size_t enumerable_vocabulary = 8;
};

/// What a drafter is asked, after prefixes of a target that it may follow: for trees, or all chains.
template <Drafter D, class Target, bool Trees>
class drafter_inputs {
 public:
    using draft_distribution = typename D::draft_distribution_type;

    drafter_inputs(const D& drafter, std::size_t vocabulary_size, const Target& target)
        : drafter_(drafter), vocabulary_(vocabulary_size), target_(target) {}

 protected:
    static constexpr std::size_t short_prefix = 6, long_prefix = 40;
    static constexpr std::size_t most_far_out = 10'000;  ///< paths; more are taken where a mask is not kept

    /// What a drafter is asked to continue.
    struct request {
        prefix before;
        transform::settings sampling;
        std::size_t budget = 0;
        topology wanted{};  ///< by the policy, where it plans trees; else it wants all there is room for
        std::size_t vocabulary = 0;
        std::vector<token> kept{};  ///< the only tokens that a mask leaves; empty: there is no such mask

        std::string described() const {
            return augur::detail::message(
                "prefix ", describe(before.tokens()), ", room for ", budget,
                Trees ? ", parents " + describe(wanted.parents()) : "", ", ",
                kept.empty()
                    ? describe_settings(sampling)
                    : augur::detail::message("temperature ", sampling.temperature.value, ", in a vocabulary of ",
                                             vocabulary, " all tokens masked but ", describe(kept)));
        }
        auto policy() const {
            if constexpr (Trees) {
                return wants_tree{wanted};
            } else {
                return policy::fixed_length{100};
            }
        }
    };

    /// In one input of eight after a long text.
    request some_request(choices& from, std::size_t most_budget = 8) const {
        request asked;
        const std::size_t context = target_.context_length();
        const std::size_t longest = from.below(8) == 7 ? std::min(long_prefix, context / 2) : short_prefix;
        asked.before = prefix(from.tokens(1, longest, vocabulary_));
        asked.budget = from.below(std::min(most_budget, context - asked.before.size() - 1) + 1);
        asked.sampling = random_settings(from, vocabulary_);
        if (Trees) asked.wanted = some_topology(from);
        from.note([&] { return asked.described(); });
        return asked;
    }
    /// In a wide vocabulary, which has more tokens than can all be drafted: of a few neighbours among its far places
    /// (wide_rows.hpp), after a text of such.
    request far_out(choices& from) const {
        const auto places = far_places(vocabulary_);
        return masked(from, places, far_window(vocabulary_, from.below(far_windows)));
    }
    request masked(choices& from, std::span<const token> texts, std::vector<token> kept) const {
        request asked;
        asked.vocabulary = vocabulary_;
        std::vector<token> before = from.tokens(1, short_prefix, texts.size());
        for (token& t : before) t = texts[static_cast<std::size_t>(t)];
        asked.before = prefix(std::move(before));
        asked.kept = std::move(kept);
        asked.sampling.mask = leaves_few{asked.kept};
        asked.sampling.temperature.value = from.one_of({1.0f, 1.7f, 0.5f});
        asked.budget = std::min<std::size_t>(2, target_.context_length() - asked.before.size() - 1);
        if (Trees) asked.wanted = some_topology(from, 3);
        from.note([&] { return asked.described(); });
        return asked;
    }
    /// One whose drafts are few enough to take every one of them.
    request some_enumerable(choices& from) const {
        if (vocabulary_ > drafter_law_checker::enumerable_vocabulary) return far_out(from);
        request asked = some_request(from, 3);
        if (asked.before.size() > short_prefix) asked.budget = std::min<std::size_t>(asked.budget, 1);
        return asked;
    }

    proposal<draft_distribution> propose(typename D::state_type& state, typename Target::follower& target,
                                         request& asked, law_chooser chooser, const auto& policy,
                                         std::size_t round = 0) const {
        const transform::pipeline transform(asked.sampling, vocabulary_);
        draft::context context(asked.before, transform, chooser, policy,
                               observation{.round = round, .prefix_length = asked.before.size()}, asked.budget,
                               signals::none, nullptr, target.template lent<D>());
        return draft::propose(drafter_, state, context);
    }
    proposal<draft_distribution> propose_fresh(request& asked, law_chooser chooser, const auto& policy,
                                               std::size_t round = 0) const {
        auto state = drafter_.make_state();
        typename Target::follower target(target_);
        target.prefill(drafter_, state, asked.before);
        return propose(state, target, asked, chooser, policy, round);
    }
    proposal<draft_distribution> propose_fresh(request& asked, law_chooser chooser) const {
        return propose_fresh(asked, chooser, asked.policy());
    }

    /// `see(proposal, probability)` on every branch of the drafter's randomness, with this policy.
    template <class See>
    void each_proposal(request& asked, const auto& policy, const See& see) const {
        const auto decode = [&](const enumerating_chooser& chooser) {
            const auto proposed = propose_fresh(asked, chooser, policy);
            see(proposed, chooser.probability());
            return std::vector<token>{};
        };
        enumerate(decode, asked.kept.empty() ? 10'000'000 : most_far_out);
    }

    const D& drafter_;
    std::size_t vocabulary_;
    Target target_;
};

}  // namespace augur::testing
