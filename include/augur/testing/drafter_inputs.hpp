#pragma once
// Random inputs of drafters, and what they propose to them.

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "augur/draft/concept.hpp"
#include "augur/draft/context.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/followed_target.hpp"
#include "augur/testing/law_chooser.hpp"
#include "augur/testing/random_inputs.hpp"
#include "augur/testing/report.hpp"

namespace augur::testing {

/// A policy that wants a tree.
struct wants_tree {
    augur::topology wanted;
    const augur::topology& topology(const observation&) const { return wanted; }
};

/// Checks laws, which are members of `cases`, into a report.
struct drafter_law_checker {
    report& into;
    const effort& tries;
    std::size_t vocabulary = 0;

    void operator()(const char* name, const auto& cases, auto member) const {
        check(into, name, tries, [&](choices& from) { return (cases.*member)(from); });
    }
    /// One that takes every draft.
    void enumerated(const char* name, const auto& cases, auto member) const {
        if (vocabulary <= 8) return (*this)(name, cases, member);
        into.skip(name, "a vocabulary of " + std::to_string(vocabulary) + " is too large to enumerate");
    }
};

/// What a drafter is asked, after prefixes of a target that it may follow.
template <Drafter D, class Target>
class drafter_inputs {
 public:
    using claim = typename D::claim_type;

    drafter_inputs(const D& drafter, std::size_t vocabulary_size, const Target& target)
        : drafter_(drafter), vocabulary_(vocabulary_size), target_(target) {}

 protected:
    static constexpr std::size_t short_prefix = 6, long_prefix = 40;

    /// What a drafter is asked to continue.
    struct request {
        prefix before;
        transform::settings sampling;
        std::size_t room = 0;
        topology wanted{};  ///< by the policy, of a drafter that branches; else it wants all there is room for

        std::string described() const {
            return augur::detail::message("prefix ", describe(before.tokens()), ", room for ", room,
                                          branches<D> ? ", parents " + describe(wanted.parents()) : "", ", ",
                                          describe_settings(sampling));
        }
        auto policy() const {
            if constexpr (branches<D>) {
                return wants_tree{wanted};
            } else {
                return policy::fixed_length{100};
            }
        }
    };

    /// In one input of eight after a long text.
    request some_request(choices& from, std::size_t most_room = 8) const {
        request made;
        const std::size_t context = target_.context_length();
        const std::size_t longest = from.below(8) == 7 ? std::min(long_prefix, context / 2) : short_prefix;
        made.before = prefix(from.tokens(1, longest, vocabulary_));
        made.room = from.below(std::min(most_room, context - made.before.size() - 1) + 1);
        made.sampling = random_settings(from, vocabulary_);
        if (branches<D>) made.wanted = some_topology(from);
        from.note([&] { return made.described(); });
        return made;
    }
    /// One whose drafts are few enough to take every one of them.
    request some_enumerable(choices& from) const {
        request made = some_request(from, 3);
        if (made.before.size() > short_prefix) made.room = std::min<std::size_t>(made.room, 1);
        return made;
    }

    proposal<claim> propose(typename D::state_type& state, typename Target::follower& target, request& asked,
                            law_chooser chooser, const auto& policy, std::size_t round = 0) const {
        const transform::pipeline transform(asked.sampling, vocabulary_);
        draft::context context(asked.before, transform, chooser, policy,
                               observation{.round = round, .prefix_length = asked.before.size()}, asked.room,
                               signals::none, nullptr, target.template lent<D>());
        return draft::propose(drafter_, state, context);
    }
    proposal<claim> propose_fresh(request& asked, law_chooser chooser, const auto& policy,
                                  std::size_t round = 0) const {
        auto state = drafter_.make_state();
        typename Target::follower target(target_);
        target.prefill(drafter_, state, asked.before);
        return propose(state, target, asked, chooser, policy, round);
    }
    proposal<claim> propose_fresh(request& asked, law_chooser chooser) const {
        return propose_fresh(asked, chooser, asked.policy());
    }

    /// `see(proposal, probability)` on every branch of the drafter's randomness, with this policy.
    template <class See>
    void each_proposal(request& asked, const auto& policy, const See& see) const {
        enumerate([&](const enumerating_chooser& chooser) {
            const auto proposed = propose_fresh(asked, chooser, policy);
            see(proposed, chooser.probability());
            return std::vector<token>{};
        });
    }

    const D& drafter_;
    std::size_t vocabulary_;
    Target target_;
};

}  // namespace augur::testing
