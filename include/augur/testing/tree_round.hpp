#pragma once
// One round over a tree with mock models: drafted, judged, and the resulting text.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "augur/accept/coupled.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/walk.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/draft/calls.hpp"
#include "augur/draft/context.hpp"
#include "augur/draft/draw_next.hpp"
#include "augur/flow/task.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/random/chooser.hpp"
#include "augur/round/judged_round.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/explain.hpp"
#include "augur/testing/law_chooser.hpp"
#include "augur/testing/models.hpp"
#include "augur/testing/promise.hpp"
#include "augur/testing/report.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/proposal.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/topology.hpp"
#include "augur/types/verdict.hpp"

namespace augur::testing {

/// A tree of this shape, drafted by one model and judged by another. Random numbers have the names that they have in
/// production.
struct tree_round {
    function_model target;
    function_model draft;
    topology shape;
    bool replacement = false;  ///< draft::sampled draws siblings with replacement
    transform::settings sampling{};
    std::vector<token> prompt{0};

    /// The texts that are compared: what a walk to the end of the longest path gives.
    std::size_t length() const { return shape.depth() + 1; }

    std::vector<float> row(const function_model& model, std::span<const token> before) const {
        std::vector<float> logits(model.vocabulary_size());
        model.fill_row(before, logits);
        return logits;
    }

    /// Drafts the nodes in the order of the shape. A node for which its siblings leave nothing is left out, with what
    /// is beneath it.
    template <class TokenSelector>
    struct drafter {
        using draft_distribution_type = typename TokenSelector::draft_distribution_type;
        static constexpr bool branches = true;
        struct state_type {};

        const tree_round& of;
        TokenSelector token_selector;

        state_type make_state() const { return {}; }
        void propose(state_type&, auto& context, proposal<draft_distribution_type>& proposed) const {
            std::vector<std::optional<std::int32_t>> numbers;
            for (std::size_t node = 0; node < of.shape.size(); ++node) {
                const std::int32_t planned = of.shape.parents()[node];
                const auto parent =
                    planned == after_prefix ? std::optional(planned) : numbers[static_cast<std::size_t>(planned)];
                const std::size_t size = proposed.size();
                if (parent) {
                    const draft::at_node path(context, proposed, *parent);
                    of.add(token_selector, context, proposed, *parent);
                }
                numbers.push_back(proposed.size() > size ? std::optional(static_cast<std::int32_t>(size))
                                                         : std::nullopt);
            }
        }
        void on_commit(state_type&, const prefix&) const {}
    };

    /// Drafts, scores and judges, as a step and a stage do (rounds::judged_round). `storage`: of the walks, earlier
    /// ones too.
    template <class Criterion, class TokenSelector>
    verdict judged(const Criterion& criterion, const TokenSelector& token_selector, law_chooser chooser,
                   proposal<typename TokenSelector::draft_distribution_type>& proposed,
                   accept::walk_storage<transform::pipeline, Criterion>& storage) const {
        const drafter<TokenSelector> drafts{*this, token_selector};
        const transform::pipeline transform(sampling, target.vocabulary_size());
        const policy::fixed_length policy{length()};
        prefix before(prompt);
        typename drafter<TokenSelector>::state_type state;
        model::cached_sequence<function_model> cache(target);
        draft::context context(before, transform, chooser, policy, {.prefix_length = before.size()}, length());
        augur::detail::stopwatch watch(false);
        time_spent seconds;
        verdict decided;
        const auto judge = [&](const auto& rows) {
            accept::walk(criterion, proposed, rows, transform, before, chooser, 0, storage, decided);
        };
        flow::runner(rounds::judged_round<true>(drafts, state, context, cache, proposed, watch, seconds, judge))
            .finish();
        return decided;
    }

    /// The accepted path, the token that follows, and what `criterion` then draws from the target.
    template <class Criterion, class TokenSelector>
    std::vector<token> text(const Criterion& criterion, const TokenSelector& token_selector, law_chooser chooser,
                            accept::walk_storage<transform::pipeline, Criterion>& storage) const {
        proposal<typename TokenSelector::draft_distribution_type> proposed;
        const verdict decided = judged(criterion, token_selector, chooser, proposed, storage);
        std::vector<token> tokens;
        for (std::size_t i = 0; i < decided.accepted; ++i) tokens.push_back(proposed.tokens()[decided.node(i)]);
        if (!decided.invalid_row()) tokens.push_back(decided.next);
        return decided.invalid_row() ? tokens : continued(criterion, tokens, chooser);
    }
    template <class Criterion, class TokenSelector>
    std::vector<token> text(const Criterion& criterion, const TokenSelector& token_selector,
                            law_chooser chooser) const {
        accept::walk_storage<transform::pipeline, Criterion> storage;
        return text(criterion, token_selector, chooser, storage);
    }

    /// The same without a draft.
    template <class Criterion>
    std::vector<token> continued(const Criterion& criterion, std::vector<token> tokens, law_chooser chooser) const {
        const transform::pipeline transform(sampling, target.vocabulary_size());
        prefix before(prompt);
        for (const token t : tokens) before.push(t);
        distribution next;
        while (tokens.size() < length()) {
            transform.apply(row(target, before.tokens()), before, next);
            if (next.empty()) break;
            position_draws draws(chooser, before.size(), 1);
            tokens.push_back(criterion.draw(next, draws));
            before.push(tokens.back());
        }
        return tokens;
    }

    /// The token of a text that the target excludes, if there is one.
    std::optional<token> impossible(const std::vector<token>& tokens) const {
        const transform::pipeline transform(sampling, target.vocabulary_size());
        prefix before(prompt);
        for (const token t : tokens) {
            if (!(transform(row(target, before.tokens()), before).probability(t) > 0)) return t;
            before.push(t);
        }
        return std::nullopt;
    }

 private:
    template <class TokenSelector>
    void add(const TokenSelector& token_selector, auto& context, auto& proposed, std::int32_t parent) const {
        std::size_t sibling = 0;
        for (std::size_t node = 0; node < proposed.size(); ++node) sibling += proposed.parent(node) == parent ? 1 : 0;
        const auto logits = row(draft, context.prefix().tokens());
        distribution spare;
        if constexpr (std::same_as<TokenSelector, draft::sampled>) {
            if (replacement) {
                draft::draw_next(draft::sampled_with_replacement{}, logits, context, proposed, spare, parent, sibling);
                return;
            }
        }
        draft::draw_next(token_selector, logits, context, proposed, spare, parent, sibling);
    }
};

/// What is wrong with a round under a criterion that promises an equality; empty where nothing is. Every branch is
/// taken, all with one storage, which earlier rounds may have used.
template <class Criterion, class TokenSelector>
std::string broken_promise(const Criterion& criterion, const tree_round& round, const TokenSelector& token_selector,
                           double tolerance, accept::walk_storage<transform::pipeline, Criterion>& storage) {
    using guarantee = guarantee_of<Criterion>;
    if constexpr (promises_text<guarantee>) {
        std::string found;
        enumerate([&](enumerating_chooser chooser) {
            const auto expected = round.continued(accept::coupled{}, {}, chooser);
            const auto got = round.text(criterion, token_selector, chooser, storage);
            if (got != expected && found.empty()) {
                found = "with the same noise, expected " + describe(expected) + " and got " + describe(got);
            }
            return got;
        });
        return found;
    } else {
        const text_distribution expected = enumerate(
            [&](enumerating_chooser chooser) { return round.continued(accept::rejection_sampling{}, {}, chooser); });
        const text_distribution got = enumerate([&](const enumerating_chooser& chooser) {
            return round.text(criterion, token_selector, chooser, storage);
        });
        std::ostringstream out;
        if (const explanation found = explain(expected, got, tolerance); !found.equal) out << found;
        return out.str();
    }
}

template <class Criterion, class TokenSelector>
std::string broken_promise(const Criterion& criterion, const tree_round& round, const TokenSelector& token_selector,
                           double tolerance = 1e-12) {
    accept::walk_storage<transform::pipeline, Criterion> storage;
    return broken_promise(criterion, round, token_selector, tolerance, storage);
}

}  // namespace augur::testing
