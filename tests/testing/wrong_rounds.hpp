#pragma once
// Models that are right in their first round and wrong in a later one.

#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <span>
#include <utility>
#include <vector>

namespace wrong_rounds {

using augur::pass;
using augur::pass_features;
using augur::scores;
using augur::token;

/// A mock whose sequences remember that something was done; `after(pass)` may spoil what a pass has made.
template <class Mock>
struct remembering : Mock {
    struct sequence_type : Mock::sequence_type {
        std::size_t done = 0;
    };
    using asked_type = pass<sequence_type>;
    using Mock::Mock;
    virtual ~remembering() = default;

    sequence_type make_sequence() const { return {}; }
    augur::scattered_scores run(std::span<const asked_type> of) const {
        std::vector<pass<typename Mock::sequence_type>> asked;
        for (const asked_type& each : of) {
            asked.push_back({.sequence = each.sequence,
                             .tokens = each.tokens,
                             .parents = each.parents,
                             .rows = each.rows,
                             .from_layer = each.from_layer,
                             .to_layer = each.to_layer,
                             .states = each.states});
        }
        const auto rows = Mock::run(asked);
        for (const asked_type& each : of) after(each);
        return rows;
    }
    scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        const asked_type one{.sequence = &s, .tokens = tokens, .rows = last};
        run(std::span(&one, 1));
        return {s.rows.data(), last, this->vocabulary_size()};
    }
    scores extend(sequence_type& s, std::span<const token> tokens) const {
        return this->extend(s, tokens, tokens.size());
    }
    virtual void after(const asked_type&) const {}

 protected:
    static void spoil(std::vector<float>& numbers) {
        for (float& number : numbers) number = -number - 1;
    }
};

/// What was done: paths that were kept, ...
template <class Mock>
struct counts_keeps : remembering<Mock> {
    using remembering<Mock>::remembering;
    void keep(typename remembering<Mock>::sequence_type& s, std::span<const std::size_t> path) const {
        Mock::keep(s, path);
        if (!path.empty()) ++s.done;
    }
};
/// ... or rewinds.
template <class Mock>
struct counts_cuts : remembering<Mock> {
    using remembering<Mock>::remembering;
    void truncate(typename remembering<Mock>::sequence_type& s, std::size_t length) const {
        if (length < s.tokens.size()) ++s.done;
        Mock::truncate(s, length);
    }
};

/// A tree after a kept path has wrong rows.
struct second_tree : counts_keeps<augur::testing::tree_mock> {
    using counts_keeps::counts_keeps;
    void after(const asked_type& asked) const override {
        if (!asked.parents.empty() && asked.sequence->done > 0) spoil(asked.sequence->rows);
    }
};
/// So has a tree after a rewind.
struct tree_after_cut : counts_cuts<augur::testing::tree_mock> {
    using counts_cuts::counts_cuts;
    void after(const asked_type& asked) const override {
        if (!asked.parents.empty() && asked.sequence->done > 0) spoil(asked.sequence->rows);
    }
};
/// A rewind after a kept path leaves another token at the end.
struct cut_after_keep : counts_keeps<augur::testing::tree_mock> {
    using counts_keeps::counts_keeps;
    void truncate(sequence_type& s, std::size_t length) const {
        const std::size_t before = s.tokens.size();
        counts_keeps::truncate(s, length);
        if (s.done == 0 || length == 0 || length == before) return;
        s.tokens[length - 1] = (s.tokens[length - 1] + 1) % static_cast<token>(vocabulary_size());
    }
};
/// Hidden states are wrong after a rewind, ...
struct states_after_cut : counts_cuts<augur::testing::hidden_state_mock> {
    using counts_cuts::counts_cuts;
    void after(const asked_type& asked) const override {
        if (asked.sequence->done > 0) spoil(asked.sequence->states);
    }
};
/// ... or, of chains, after a kept path.
struct states_after_keep : counts_keeps<augur::testing::full_mock> {
    using counts_keeps::counts_keeps;
    void after(const asked_type& asked) const override {
        if (asked.parents.empty() && asked.sequence->done > 0) spoil(asked.sequence->states);
    }
};
/// The second time that positions are finished has wrong rows.
struct second_split : remembering<augur::testing::split_mock> {
    using remembering::remembering;
    void after(const asked_type& asked) const override {
        if (asked.from_layer > 0 && asked.sequence->done++ > 0) spoil(asked.sequence->rows);
    }
};
/// So have positions that are finished after a rewind.
struct split_after_cut : counts_cuts<augur::testing::split_mock> {
    using counts_cuts::counts_cuts;
    void after(const asked_type& asked) const override {
        if (asked.from_layer > 0 && asked.sequence->done > 0) spoil(asked.sequence->rows);
    }
};
/// What waits is not truncated with the tokens.
struct cut_waiting : remembering<augur::testing::split_mock> {
    using remembering::remembering;
    void truncate(sequence_type& s, std::size_t length) const {
        auto waiting = s.waiting;
        remembering::truncate(s, length);
        s.waiting = std::move(waiting);
    }
};
/// Appends while positions wait, and forgets that they do: by extend and by passes, or by those to `only` alone.
struct appends_while_waiting : remembering<augur::testing::split_mock> {
    using remembering::extend;
    using remembering::remembering;
    augur::scattered_scores run(std::span<const asked_type> of) const {
        if (appends(of[0])) of[0].sequence->waiting.clear();
        return remembering::run(of);
    }
    scores extend(sequence_type& s, std::span<const token> tokens) const {
        s.waiting.clear();
        return remembering::extend(s, tokens);
    }
    virtual bool appends(const asked_type& asked) const {
        return asked.from_layer == 0 && asked.to_layer == augur::all_layers;
    }
};

}  // namespace wrong_rounds
