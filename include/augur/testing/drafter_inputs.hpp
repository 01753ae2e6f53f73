#pragma once
// Random inputs of drafters, and what they propose to them.

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

/// A policy that needs `Needed`, wants a fixed length, and counts how often it is asked.
template <signals Needed>
struct asked_policy {
    static constexpr signals needs = Needed;
    std::size_t tokens = 0;
    std::size_t* times = nullptr;

    std::size_t length(const observation&) const {
        ++*times;
        return tokens;
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

    request some_request(choices& from) const {
        request made;
        made.before = prefix(from.tokens(1, 6, vocabulary_));
        made.room = from.below(4);
        made.sampling = random_settings(from, vocabulary_);
        if (branches<D>) made.wanted = some_topology(from);
        from.note([&] { return made.described(); });
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

    /// `see(proposal, probability)` on every branch of the drafter's randomness.
    template <class See>
    void each_proposal(request& asked, const See& see) const {
        enumerate([&](const enumerating_chooser& chooser) {
            const auto proposed = propose_fresh(asked, chooser);
            see(proposed, chooser.probability());
            return std::vector<token>{};
        });
    }

    const D& drafter_;
    std::size_t vocabulary_;
    Target target_;
};

}  // namespace augur::testing
