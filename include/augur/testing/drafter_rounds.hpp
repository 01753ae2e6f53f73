#pragma once
// The law suite of drafters over several rounds: rejected drafts leave no trace.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "augur/draft/calls.hpp"
#include "augur/random/chooser.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_proposals.hpp"
#include "augur/testing/drafter_inputs.hpp"
#include "augur/testing/law_chooser.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/topology.hpp"

namespace augur::testing {

/// Every law is a function of one random input that says what is wrong, or nothing.
template <Drafter D, class Target, bool Trees>
class drafter_round_cases : public drafter_inputs<D, Target, Trees> {
    using typename drafter_inputs<D, Target, Trees>::request;

 public:
    using typename drafter_inputs<D, Target, Trees>::draft_distribution;
    using drafter_inputs<D, Target, Trees>::drafter_inputs;

    std::string after_on_commit_like_fresh(choices& from) const {
        played now = some_rounds(from);
        return unlike_fresh(now);
    }

    /// It was dropped after the draft, or after the target had verified.
    std::string abandoned_leaves_no_trace(choices& from) const {
        played now = some_rounds(from);
        const std::string counts = counts_of(now.state);
        const auto lost = propose_in(now);
        if (from.below(2) == 1) now.target.verify(now.asked.before, lost);
        draft::abandon(drafter_, now.state);
        now.history += " proposed " + described_proposal(lost) + ", abandoned;";
        const std::string after = counts_of(now.state);
        if (after != counts) {
            return now.asked.described() + ", having" + now.history + " reports " + after + " instead of " + counts;
        }
        return unlike_fresh(now);
    }

 private:
    using inputs = drafter_inputs<D, Target, Trees>;
    using inputs::drafter_;
    using inputs::propose;
    using inputs::propose_fresh;
    using inputs::some_request;
    using inputs::target_;
    using inputs::vocabulary_;

    struct played {
        request asked;
        law_chooser chooser;
        typename D::state_type state;
        typename Target::follower target;
        std::string history{};
    };

    proposal<draft_distribution> propose_in(played& now) const {
        return propose(now.state, now.target, now.asked, now.chooser, now.asked.policy());
    }

    /// A prefix, and in a quarter of the inputs eight rounds after it, else up to three: as far as the context goes.
    played some_rounds(choices& from) const {
        request asked = some_request(from);
        const law_chooser chooser = random::philox_chooser(from.below(1000));
        played now{asked, chooser, drafter_.make_state(), typename Target::follower(target_)};
        now.target.prefill(drafter_, now.state, now.asked.before);
        const std::size_t few = from.below(4), longest = target_.context_length();
        for (std::size_t round = from.below(4) == 3 ? 8 : few; round > 0; --round) {
            if (now.asked.before.size() + 2 * (asked.budget + 1) > longest) break;
            play(from, now);
        }
        return now;
    }

    void play(choices& from, played& now) const {
        const auto proposed = propose_in(now);
        prefix& before = now.asked.before;
        now.target.verify(before, proposed);
        std::size_t accepted = 0;
        for (std::size_t node = 0, most = from.below(proposed.size() + 1); node < proposed.size() && accepted < most;
             ++accepted) {
            before.push(proposed.tokens()[node]);
            node = parents::next_child(proposed.parents(), proposed.size(), static_cast<std::int32_t>(node), node + 1);
        }
        before.push(from.tokens(1, 1, vocabulary_)[0]);
        now.target.on_commit(drafter_, now.state, before);
        now.history += augur::detail::message(" proposed ", described_proposal(proposed), ", accepted ", accepted, ';');
    }

    std::string unlike_fresh(played& now) const {
        const auto expected = propose_fresh(now.asked, now.chooser);
        const std::string found = difference(expected, propose_in(now));
        if (found.empty()) return found;
        return now.asked.described() + (now.history.empty() ? ":" : ", having" + now.history) + ' ' + found;
    }

    /// Rounds, drafted and accepted tokens of the stages inside.
    std::string counts_of(const typename D::state_type& state) const {
        std::vector<stage_statistics> counts(draft::stages_in<D>);
        draft::report(drafter_, state, counts);
        std::string text;
        for (const stage_statistics& each : counts) {
            text +=
                augur::detail::message(text.empty() ? "" : ", ", each.rounds, '/', each.drafted, '/', each.accepted);
        }
        return text;
    }
};

}  // namespace augur::testing
