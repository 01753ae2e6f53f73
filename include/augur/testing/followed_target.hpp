#pragma once
// Tells a drafter under test what is committed, with a target's hidden states or without.

#include <cstddef>
#include <limits>

#include "augur/decode/session.hpp"
#include "augur/draft/calls.hpp"
#include "augur/draft/context.hpp"
#include "augur/model/cached_sequence.hpp"
#include "augur/model/concepts.hpp"
#include "augur/round/ask.hpp"
#include "augur/types/prefix.hpp"

namespace augur::testing {

/// For drafters that follow no target: tells them what is committed.
struct no_target {
    static std::size_t context_length() { return std::numeric_limits<std::size_t>::max(); }

    struct follower {
        explicit follower(const no_target&) {}
        void prefill(const auto& drafter, auto& state, const prefix& prompt) { draft::prepare(drafter, state, prompt); }
        void verify(prefix&, const auto& /*proposed*/) {}
        template <class D>
        draft::no_target* lent() {
            return nullptr;
        }
        void on_commit(const auto& drafter, auto& state, const prefix& committed) {
            drafter.on_commit(state, committed);
        }
    };
};

/// For those that follow a target's states, or draft in its sequence: what a session does with it.
template <HiddenStateModel M>
struct followed_target {
    const M& model;

    std::size_t context_length() const { return model.context_length(); }

    struct follower {
        explicit follower(const followed_target& of) : cache(of.model) {}
        void prefill(const auto& drafter, auto& state, const prefix& prompt) {
            std::size_t shown = 0;
            decode::prefill(cache, drafter, state, prompt, shown);
        }
        /// Of a tree nothing is run: its path is when it is committed.
        void verify(prefix& before, const auto& proposed) {
            if (proposed.is_chain()) rounds::chain(cache, before, proposed);
            was_chain = proposed.is_chain();
        }
        void on_commit(const auto& drafter, auto& state, const prefix& committed) {
            if (was_chain) {
                cache.rewind(committed.tokens());
                return draft::on_commit(drafter, state, committed, cache.states(committed.size() - 1));
            }
            cache.fill(committed.tokens().first(committed.size() - 1),
                       [&](const auto& states) { draft::on_commit(drafter, state, committed, states); });
        }
        template <class D>
        auto* lent() {
            return draft::lent<D>(cache);
        }
        bool was_chain = true;
        model::cached_sequence<M> cache;
    };
};

}  // namespace augur::testing
