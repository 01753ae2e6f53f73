#pragma once
// The draft context: the prefix, transform, random numbers and policy of one proposal.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "augur/draft/concept.hpp"
#include "augur/flow/frames.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/model/limits.hpp"
#include "augur/policy/concept.hpp"
#include "augur/policy/plan_query.hpp"
#include "augur/random/chooser.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/observation.hpp"
#include "augur/types/plan.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/topology.hpp"

namespace augur::draft {

/// In one fallback.
inline constexpr std::size_t most_drafters = 15;

/// Of a context: the drafter does not draft in the target's sequence.
struct no_target {};

/// The prefix, the transform, randomness, and the policy's answer to "one more?"; and the target's sequence, for who
/// drafts in it (draft::lent). Lives for one round.
template <SpeculationPolicy Policy, Chooser C, class Target>
class context {
 public:
    using policy_type = Policy;

    /// `budget`: the most tokens that could still be committed before the last one of the round. `shown`: the signals
    /// that the drafter will show. `frames`: for drafters that are coroutines; its own where there are none.
    /// `target`: for drafters that draft in it.
    context(augur::prefix& before, const transform::pipeline& transform, C& chooser, const Policy& policy,
            observation seen, std::size_t budget, signals shown = signals::none, flow::frames* frames = nullptr,
            Target* target = nullptr)
        : before_(before),
          transform_(transform),
          chooser_(chooser),
          policy_(policy),
          start_(seen),
          budget_(budget),
          frames_(frames),
          target_(target),
          committed_(before.size()) {
        query_.begin(policy_, start_, budget_, shown);
        check_plan();
    }

    /// For drafters that are made of several: what follows is number `source`'s draft, from the start. `chain`: it is
    /// one, even where the policy plans a tree.
    void begin(std::size_t source, signals shown, bool chain = false) {
        ++turn_;
        is_chain_ = chain;
        observation start = start_;
        start.source = source;
        query_.begin(policy_, start, budget_, shown);
        check_plan();
    }

    /// For drafters that make one tree together, before the next of them begins: what a policy that looks ahead saw of
    /// the chain holds for the whole tree, until another chain is shown.
    void keep_chain() {
        if (query_.looked_ahead()) {
            start_.path_value = query_.seen().path_value;
            start_.path_value_sum = query_.seen().path_value_sum;
        }
    }

    /// The committed tokens; a drafter may push speculative tokens and must take them back (types/prefix.hpp).
    augur::prefix& prefix() { return before_; }

    /// The tree that the policy wants, as far as there is room for its paths and one pass takes its nodes and leaves
    /// (the first ones): the parents of its nodes. Empty where it
    /// wants a length: a chain of wanted() tokens. To be asked once rows_ahead() rows are shown, or as many of
    /// them as there are; stays until the policy is asked again.
    std::span<const std::int32_t> plan() {
        const topology* const whole = query_.plan(policy_).tree;
        check_plan();
        if (whole == nullptr || is_chain_) return {};
        const std::size_t fits = parents::fitting(whole->parents(), whole->size(), room_.nodes, room_.leaves);
        if (whole->depth() <= budget_ && fits == whole->size()) return whole->parents();
        if (cut_.depth() != budget_ || cut_from_ != whole) {
            cut_ = whole->within(budget_).first(room_.nodes, room_.leaves);
        }
        cut_from_ = whole;
        return cut_.parents();
    }

    /// Rows of the draft's greedy chain that the policy looks at before it plans a tree: the one after the prefix, the
    /// one after its best token, and so on. To be shown in this order by wants_more(drafted, row).
    std::size_t rows_ahead() const { return query_.rows_ahead(); }

    /// Whether another token is wanted after `drafted` of them (in a tree: on its path), as far as can be told without
    /// the draft's row.
    bool wants_more(std::size_t drafted) const { return drafted < query_.wanted(); }

    /// The same once the row that the token would be drawn from is known. Computes the signals that the policy needs
    /// and asks it, if it needs any. A row that holds NaN or infinity counts as one of maximum entropy.
    bool wants_more(std::size_t drafted, logit_row row) {
        if (query_.looks_at_row(drafted)) see(drafted, row);
        return wants_more(drafted);
    }

    /// Of a tree that the draft's own rows suggest (draft::dynamic_tree): what the probability that the drafter gives a
    /// token after its parent is worth; no more than 1, or a node would be worth more than its parent.
    float worth(float probability) const {
        const growth_budget* const grow = query_.planned().grow;
        return grow == nullptr ? probability : std::min(1.0f, grow->worth(probability));
    }
    /// After how many of its deepest nodes, at this depth, it is to grow, by their values, the largest first.
    std::size_t wants_after(std::size_t depth, std::span<const float> values) {
        const growth_budget* const grow = query_.planned().grow;
        return grow == nullptr ? values.size() : grow->expand(query_.see_depth(depth), values);
    }
    /// Once it has grown to this depth: how many of its nodes are to be drafted, the best ones.
    std::size_t wants_of(std::size_t depth, std::span<const float> values) {
        const growth_budget* const grow = query_.planned().grow;
        return std::min(room_.nodes, grow == nullptr ? values.size() : grow->keep(query_.see_depth(depth), values));
    }

    /// Whether the plan asks for a tree that grows by value, as far as can be told so far.
    bool wants_growth() const {
        return shape_of<Policy> == draft_shape::grown_tree && !is_chain_ &&
               (query_.planned().grow != nullptr || !query_.is_answered());
    }

    /// For drafters that match n-grams: see policy::plan_query::see_match.
    void matched(std::size_t length) {
        query_.see_match(policy_, length);
        check_plan();
    }

    /// The transformed distribution of the token after the prefix, speculative tokens included.
    void distribution_of(logit_row row, distribution& out) const { transform_.apply(row, before_, out); }

    /// Randomness of the position after the prefix, speculative tokens included. What a drafter drew that then had
    /// nothing to say does not fix what the next one draws.
    position_draws<C> draws() { return {chooser_, before_.size(), round()}; }

    /// The same of a tree's: for child number `sibling` of the node `parent` (after_prefix: of the prefix), wherever
    /// the prefix stands.
    position_draws<C> draws(const auto& proposed, std::int32_t parent, std::size_t sibling) {
        const auto parents = parents_of(proposed);
        position_draws<C> drawn(chooser_, committed_ + parents::depth_of(parents, parent), round(),
                                parents::aside(parents, parent));
        drawn.at_sibling(sibling);
        return drawn;
    }

    /// For a stage inside another: what its own context is made of.
    const transform::pipeline& transform() const { return transform_; }
    C& chooser() { return chooser_; }
    /// Which rounds of a stage are inside this one: the same for no other drafter of the round.
    std::size_t rounds_inside() const { return start_.round * (most_drafters + 1) + turn_; }
    /// Tokens that are wanted in all, of a tree on its longest path, as far as can be told so far.
    std::size_t wanted() const { return query_.wanted(); }

    /// For coroutines that are given this context.
    flow::frames& frames() { return frames_ != nullptr ? *frames_ : own_frames_; }

    /// The target's sequence (model::cached_sequence), for the round.
    Target& target() requires(!std::same_as<Target, no_target>) { return *target_; }
    /// Whether what is inside may look at the clock, or counts each part of a round as a millisecond.
    bool timed() const { return timed_; }
    /// What the verifier takes of a tree in one pass: plans are cut to it.
    void fit_trees(const model::tree_room& room) { room_ = room; }
    void be_timed(bool timed) { timed_ = timed; }
    /// Whether the round stops for an allotment of rows (round/allotment.hpp) before it is verified.
    bool shares_passes() const { return shares_passes_; }
    void share_passes(bool shares) { shares_passes_ = shares; }
    /// Time that the drafter has spent on layers that the target would run in any case: it is the verifier's.
    void count_as_verifying(double seconds) { verifying_ += seconds; }
    double verifying_seconds() const { return timed_ ? verifying_ : 0; }

    /// What the policy saw last.
    const observation& seen() const { return query_.seen(); }

 private:
    /// Of its numbers: another for each drafter that has begun.
    std::size_t round() const { return start_.round + (turn_ << turn_bit); }

    /// Computes the signals that the policy needs, and asks it.
    void see(std::size_t drafted, logit_row row) {
        double entropy_nats = 0, confidence = 0;
        if constexpr (includes(signals_of<Policy>, signals::draft_entropy)) {
            entropy_nats = policy::entropy_nats<Policy>(row);
        }
        if constexpr (includes(signals_of<Policy>, signals::draft_confidence)) {
            confidence = measure::confidence(measure::moments(row));
        }
        query_.see_row(policy_, drafted, entropy_nats, confidence);
        check_plan();
    }

    /// Throws where the policy's answer is of another shape than it declares; where AUGUR_CHECK_SIGNALS is defined,
    /// also where it reads a signal that it does not declare.
    void check_plan() const {
        policy::check_shape<Policy>(query_.planned());
#ifdef AUGUR_CHECK_SIGNALS
        if (query_.is_answered()) policy::check_signals(policy_, query_.seen(), query_.planned());
#endif
    }

    static constexpr std::size_t turn_bit = 50;  ///< of a round's number; no decoding has so many

    augur::prefix& before_;
    const transform::pipeline& transform_;
    C& chooser_;
    const Policy& policy_;
    observation start_;
    std::size_t budget_;
    flow::frames* frames_;
    flow::frames own_frames_{};
    Target* target_;
    model::tree_room room_{};
    double verifying_ = 0;
    bool timed_ = true;
    bool shares_passes_ = false;
    std::size_t committed_;  ///< tokens before the draft
    topology cut_;           ///< of the plan, where it is too deep
    const topology* cut_from_ = nullptr;
    std::size_t turn_ = 0;  ///< drafters that have begun, where there are several
    bool is_chain_ = false;
    policy::plan_query<Policy> query_;
};

/// The policy of a context: `policy_of<decltype(context)>`.
template <class Context>
using policy_of = typename std::remove_cvref_t<Context>::policy_type;

/// Whether the policy of a context plans trees, and not lengths: `plans_trees<decltype(context)>`.
template <class Context>
inline constexpr bool plans_trees = shape_of<policy_of<Context>> == draft_shape::tree;

}  // namespace augur::draft
