#pragma once
// A mock for every refinement of the concept Model, over any function_model.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/testing/models.hpp"
#include "augur/types/error.hpp"

namespace augur::testing {

/// Models TreeModel. Nodes that were scored wait in the sequence for keep; length counts kept tokens only.
class tree_mock : public function_model {
 public:
    struct sequence_type : mock_sequence {
        std::vector<token> nodes;
        std::vector<std::int32_t> parents;
        std::size_t scored_at = 0;  ///< tokens before the nodes
    };

    explicit tree_mock(function_model model) : function_model(std::move(model)) {}
    sequence_type make_sequence() const { return {}; }

    scores extend_tree(sequence_type& sequence, std::span<const token> tokens,
                       std::span<const std::int32_t> parents) const {
        check_tree(sequence, tokens.size(), parents);
        sequence.nodes.assign(tokens.begin(), tokens.end());
        sequence.parents.assign(parents.begin(), parents.end());
        sequence.scored_at = sequence.tokens.size();
        sequence.rows.assign(tokens.size() * vocabulary_size(), 0.0f);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            std::vector<token> path;
            for (auto node = static_cast<std::int32_t>(i); node >= 0; node = parents[static_cast<std::size_t>(node)]) {
                path.push_back(tokens[static_cast<std::size_t>(node)]);
            }
            std::vector<token> before = sequence.tokens;
            before.insert(before.end(), path.rbegin(), path.rend());
            fill_row(before, std::span(sequence.rows).subspan(i * vocabulary_size(), vocabulary_size()));
        }
        return {sequence.rows.data(), tokens.size(), vocabulary_size()};
    }

    /// Throws, changing nothing, unless the nodes are a path of the tree scored last from where the sequence still is.
    void keep(sequence_type& sequence, std::span<const std::size_t> path) const {
        if (sequence.scored_at != sequence.tokens.size()) {
            augur::detail::fail("keep: the tree was scored after ", sequence.scored_at,
                                " tokens, but the sequence has ", sequence.tokens.size());
        }
        std::int32_t parent = -1;
        for (std::size_t node : path) {
            if (node >= sequence.nodes.size()) {
                augur::detail::fail("keep: node ", node, " of a tree of ", sequence.nodes.size());
            }
            if (sequence.parents[node] != parent) {
                augur::detail::fail("keep: node ", node, " follows node ", sequence.parents[node], ", not ", parent);
            }
            parent = static_cast<std::int32_t>(node);
        }
        for (std::size_t node : path) sequence.tokens.push_back(sequence.nodes[node]);
        sequence.nodes.clear();
    }

 private:
    void check_tree(const sequence_type& sequence, std::size_t nodes, std::span<const std::int32_t> parents) const {
        if (parents.size() != nodes)
            augur::detail::fail("extend_tree: ", nodes, " tokens, but ", parents.size(), " parents");
        for (std::size_t i = 0; i < nodes; ++i) {
            if (parents[i] < -1 || parents[i] >= static_cast<std::int32_t>(i)) {
                augur::detail::fail("extend_tree: node ", i, " follows node ", parents[i],
                                    "; it must follow an earlier one or -1");
            }
        }
        if (sequence.tokens.size() + nodes > context_length()) {
            augur::detail::fail("a sequence of ", sequence.tokens.size(), " tokens cannot grow by a tree of ", nodes,
                                " in a context of ", context_length());
        }
    }
};

static_assert(TreeModel<tree_mock>);

/// Models HiddenStateModel and PrefillsStates: the hidden states are the logits, the head is the identity.
class hidden_state_mock : public function_model {
 public:
    explicit hidden_state_mock(function_model model) : function_model(std::move(model)) {}
    std::size_t hidden_size() const { return vocabulary_size(); }
    scores hidden(const mock_sequence& sequence) const {
        return {sequence.rows.data(), sequence.rows.size() / vocabulary_size(), vocabulary_size()};
    }
    scores extend_states(mock_sequence& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens);
    }
};

static_assert(PrefillsStates<hidden_state_mock>);

/// Models FusedModel: a row depends on all tokens, as the row of `model`, and on every number of the states with them. Its
/// hidden states are the first numbers of its rows.
class fused_mock {
 public:
    struct sequence_type {
        std::vector<token> tokens;
        std::vector<float> states, rows;
    };

    /// hidden_size: at most the model's vocabulary.
    fused_mock(function_model model, std::size_t hidden_size) : model_(std::move(model)), hidden_size_(hidden_size) {}

    std::size_t vocabulary_size() const { return model_.vocabulary_size(); }
    std::size_t context_length() const { return model_.context_length(); }
    std::size_t hidden_size() const { return hidden_size_; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& sequence) const { return sequence.tokens.size(); }

    scores extend(sequence_type& sequence, std::span<const token> tokens, std::span<const float> states,
                  std::size_t last) const {
        if (states.size() != tokens.size() * hidden_size_ || last > tokens.size()) {
            augur::detail::fail("extend: ", tokens.size(), " tokens with ", states.size(), " numbers, last ", last);
        }
        if (sequence.tokens.size() + tokens.size() > context_length()) {
            augur::detail::fail("a sequence of ", sequence.tokens.size(), " tokens cannot grow by ", tokens.size(),
                                " in a context of ", context_length());
        }
        sequence.tokens.insert(sequence.tokens.end(), tokens.begin(), tokens.end());
        sequence.states.insert(sequence.states.end(), states.begin(), states.end());
        sequence.rows.assign(last * vocabulary_size(), 0.0f);
        for (std::size_t i = 0; i < last; ++i) {
            fill_row(sequence, sequence.tokens.size() - last + i + 1,
                     std::span(sequence.rows).subspan(i * vocabulary_size(), vocabulary_size()));
        }
        return {sequence.rows.data(), last, vocabulary_size()};
    }
    /// Each row's first numbers.
    std::vector<logit_row> hidden(const sequence_type& sequence) const {
        std::vector<logit_row> states;
        for (std::size_t at = 0; at < sequence.rows.size(); at += vocabulary_size()) {
            states.push_back(logit_row(sequence.rows).subspan(at, hidden_size_));
        }
        return states;
    }

    void truncate(sequence_type& sequence, std::size_t length) const {
        if (length > sequence.tokens.size()) {
            augur::detail::fail("cannot truncate a sequence of ", sequence.tokens.size(), " tokens to ", length);
        }
        sequence.tokens.resize(length);
        sequence.states.resize(length * hidden_size_);
    }

 private:
    void fill_row(const sequence_type& sequence, std::size_t length, std::span<float> row) const {
        model_.fill_row(std::span(sequence.tokens).first(length), row);
        for (std::size_t i = 0; i < length * hidden_size_; ++i) {
            for (std::size_t t = 0; t < row.size(); ++t) {
                row[t] += static_cast<float>((7 * i + 5 * t) % 11) / 20 * sequence.states[i];
            }
        }
    }

    function_model model_;
    std::size_t hidden_size_;
};

static_assert(FusedModel<fused_mock>);

/// Models SplitModel. A layer rotates the state by one place to the left; what enters the first layer is the row of logits
/// rotated to the right by all of them, so that the last layer leaves the row itself, bit for bit.
class split_mock : public function_model {
 public:
    struct sequence_type : mock_sequence {
        std::vector<float> waiting;  ///< states of the last positions, which lack the deep layers
        std::size_t split = 0;       ///< layers that these have been through
    };

    split_mock(function_model model, std::size_t layer_count)
        : function_model(std::move(model)), layer_count_(layer_count) {}

    sequence_type make_sequence() const { return {}; }
    std::size_t layer_count() const { return layer_count_; }
    std::size_t hidden_size() const { return vocabulary_size(); }
    scores hidden(const sequence_type& sequence) const { return rows(sequence.rows); }

    scores extend(sequence_type& sequence, std::span<const token> tokens) const {
        if (!sequence.waiting.empty()) {
            augur::detail::fail("extend: ", sequence.waiting.size() / vocabulary_size(),
                                " positions wait for their layers from ", sequence.split, " on");
        }
        return function_model::extend(sequence, tokens);
    }

    scores extend_shallow(sequence_type& sequence, std::span<const token> tokens, std::size_t split) const {
        check_split(sequence, split);
        function_model::extend(sequence, tokens);
        sequence.split = split;
        run_layers(sequence.rows, layer_count_ * (vocabulary_size() - 1) + split);
        sequence.waiting.insert(sequence.waiting.end(), sequence.rows.begin(), sequence.rows.end());
        return rows(sequence.rows);
    }
    scores extend_deep(sequence_type& sequence, std::size_t split) const {
        check_split(sequence, split);
        sequence.rows = std::exchange(sequence.waiting, {});
        run_layers(sequence.rows, layer_count_ - split);
        return rows(sequence.rows);
    }

    void truncate(sequence_type& sequence, std::size_t length) const {
        const std::size_t finished = sequence.tokens.size() - sequence.waiting.size() / vocabulary_size();
        function_model::truncate(sequence, length);
        const std::size_t left = length - std::min(length, finished);
        sequence.waiting.resize(std::min(sequence.waiting.size(), left * vocabulary_size()));
    }

 private:
    scores rows(const std::vector<float>& states) const {
        return {states.data(), states.size() / vocabulary_size(), vocabulary_size()};
    }

    void run_layers(std::vector<float>& states, std::size_t layers) const {
        const auto by = static_cast<std::ptrdiff_t>(layers % vocabulary_size());
        const auto size = static_cast<std::ptrdiff_t>(vocabulary_size());
        for (auto state = states.begin(); state != states.end(); state += size) {
            std::rotate(state, state + by, state + size);
        }
    }

    void check_split(const sequence_type& sequence, std::size_t split) const {
        if (split > layer_count_) augur::detail::fail("split after layer ", split, " of ", layer_count_);
        if (!sequence.waiting.empty() && sequence.split != split) {
            augur::detail::fail("split after layer ", split, ", but positions wait after layer ", sequence.split);
        }
    }

    std::size_t layer_count_;
};

static_assert(SplitModel<split_mock>);

/// Models BatchModel. The rows of a batch belong to what extend_batch returns.
class batch_mock : public function_model {
 public:
    class batch_rows {
     public:
        batch_rows(std::vector<float> values, std::size_t width) : values_(std::move(values)), width_(width) {}
        std::size_t size() const { return values_.size() / width_; }
        logit_row operator[](std::size_t i) const { return logit_row(values_).subspan(i * width_, width_); }

     private:
        std::vector<float> values_;
        std::size_t width_;
    };

    explicit batch_mock(function_model model) : function_model(std::move(model)) {}

    batch_rows extend_batch(std::span<const batch_item<mock_sequence>> items) const {
        std::vector<float> all;
        for (const auto& item : items) {
            extend(*item.sequence, item.tokens);
            all.insert(all.end(), item.sequence->rows.begin(), item.sequence->rows.end());
        }
        return {std::move(all), vocabulary_size()};
    }
};

static_assert(BatchModel<batch_mock>);

}  // namespace augur::testing
