#pragma once
// Mocks of Model's refinements, over any function_model.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/model/check_passes.hpp"
#include "augur/model/concepts.hpp"
#include "augur/testing/models.hpp"
#include "augur/types/error.hpp"

namespace augur::testing {

/// Runs passes with these features. Hidden states are the logits, the head is the identity. A layer rotates the state
/// by one place to the left; what enters the first layer is the row of logits rotated to the right by all of them, so
/// that the last layer leaves the row itself, bit for bit. Models TreeModel, SplitModel, PrefillsStates and BatchModel,
/// as F says.
template <pass_features F>
class pass_mock : public function_model {
 public:
    static constexpr pass_features passes = F;

    struct sequence_type : mock_sequence {
        std::vector<float> states;          ///< of the last run
        std::vector<token> nodes;           ///< tokens of a tree, which wait for keep
        std::vector<std::int32_t> parents;  ///< theirs
        std::size_t scored_at = 0;          ///< tokens before the nodes
        std::vector<float> waiting;         ///< states of the last positions, which lack layers
        std::size_t split = 0;              ///< layers that these have been through
        std::vector<const float*> places;   ///< of all rows of a run that began with this sequence
    };
    using pass_type = pass<sequence_type>;

    explicit pass_mock(function_model model, std::size_t layer_count = 4)
        : function_model(std::move(model)), layer_count_(layer_count) {}

    sequence_type make_sequence() const { return {}; }
    std::size_t layer_count() const { return layer_count_; }

    std::size_t hidden_size() const requires(includes(F, pass_features::states) || includes(F, pass_features::layers)) {
        return vocabulary_size();
    }
    scores hidden(const sequence_type& sequence) const
        requires(includes(F, pass_features::states) || includes(F, pass_features::layers)) {
        return {sequence.states.data(), sequence.states.size() / vocabulary_size(), vocabulary_size()};
    }
    std::size_t waiting(const sequence_type& sequence) const { return sequence.waiting.size() / vocabulary_size(); }

    scores extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        const pass_type one{.sequence = &sequence, .tokens = tokens, .rows = last};
        pass_mock::run(std::span(&one, 1));
        return {sequence.rows.data(), last, vocabulary_size()};
    }
    scores extend(sequence_type& sequence, std::span<const token> tokens) const {
        return pass_mock::extend(sequence, tokens, tokens.size());
    }

    scattered_scores run(std::span<const pass_type> asked) const {
        check(asked);
        std::vector<results> all;
        for (const pass_type& each : asked) all.push_back(results_of(each));
        std::vector<const float*> places;
        for (std::size_t i = 0; i < asked.size(); ++i) {
            commit(asked[i], std::move(all[i]));
            const std::vector<float>& rows = asked[i].sequence->rows;
            for (std::size_t at = 0; at < rows.size(); at += vocabulary_size()) places.push_back(rows.data() + at);
        }
        if (asked.empty()) return {};
        std::vector<const float*>& kept = asked[0].sequence->places = std::move(places);
        return {kept.data(), kept.size(), vocabulary_size()};
    }

    /// Throws, changing nothing, unless it is a path of the tree scored last from where the sequence still is.
    void keep(sequence_type& sequence, std::span<const std::size_t> path) const {
        model::check_tree_end(sequence.scored_at, sequence.tokens.size());
        model::check_path(path, sequence.parents);
        for (const std::size_t node : path) sequence.tokens.push_back(sequence.nodes[node]);
        sequence.nodes.clear();
        sequence.parents.clear();
    }

    void truncate(sequence_type& sequence, std::size_t length) const {
        const std::size_t finished = sequence.tokens.size() - waiting(sequence);
        function_model::truncate(sequence, length);
        const std::size_t left = length - std::min(length, finished);
        sequence.waiting.resize(std::min(sequence.waiting.size(), left * vocabulary_size()));
    }

 private:
    struct results {
        std::vector<float> rows, states, waiting;
    };

    void check(std::span<const pass_type> asked) const {
        model::check_passes(asked, layer_count_);
        if (asked.size() > 1 && !includes(F, pass_features::batches)) {
            augur::detail::fail("run: ", asked.size(), " passes for a mock that runs one");
        }
        for (const pass_type& each : asked) {
            if (!includes(F, each.needs())) augur::detail::fail("run: a pass that this mock does not run");
            const sequence_type& sequence = *each.sequence;
            model::check_waiting(each, waiting(sequence), sequence.split);
            model::check_room(sequence.tokens.size(), each.tokens.size(), context_length());
        }
    }

    results results_of(const pass_type& asked) const {
        const std::size_t size = vocabulary_size(), to = asked.to_layer == all_layers ? layer_count_ : asked.to_layer;
        results result;
        if (asked.from_layer > 0) {
            result.states = asked.sequence->waiting;
            run_layers(result.states, to - asked.from_layer);
        } else {
            const bool every = asked.states || asked.to_layer != all_layers;
            result.states = rows_after(asked, every ? asked.tokens.size() : asked.wanted());
            run_layers(result.states, layer_count_ * (size - 1) + to);
        }
        if (asked.to_layer != all_layers) {
            if (asked.from_layer == 0) result.waiting = asked.sequence->waiting;
            result.waiting.insert(result.waiting.end(), result.states.begin(), result.states.end());
            return result;
        }
        const auto wanted = static_cast<std::ptrdiff_t>(asked.wanted(result.states.size() / size) * size);
        result.rows.assign(result.states.end() - wanted, result.states.end());
        if (!asked.states) result.states = result.rows;
        return result;
    }

    /// Of the last `count` tokens.
    std::vector<float> rows_after(const pass_type& asked, std::size_t count) const {
        std::vector<float> rows(count * vocabulary_size());
        for (std::size_t i = 0; i < count; ++i) {
            const auto last = static_cast<std::int32_t>(asked.tokens.size() - count + i);
            std::vector<token> path;
            for (std::int32_t node = last; node >= 0; node = parent_of(asked, node)) {
                path.push_back(asked.tokens[static_cast<std::size_t>(node)]);
            }
            std::vector<token> before = asked.sequence->tokens;
            before.insert(before.end(), path.rbegin(), path.rend());
            fill_row(before, std::span(rows).subspan(i * vocabulary_size(), vocabulary_size()));
        }
        return rows;
    }
    static std::int32_t parent_of(const pass_type& asked, std::int32_t node) {
        return asked.parents.empty() ? node - 1 : asked.parents[static_cast<std::size_t>(node)];
    }

    static void commit(const pass_type& asked, results result) {
        sequence_type& sequence = *asked.sequence;
        sequence.rows = std::move(result.rows);
        sequence.states = std::move(result.states);
        sequence.waiting = std::move(result.waiting);
        if (asked.to_layer != all_layers) sequence.split = asked.to_layer;
        sequence.nodes.clear();
        sequence.parents.assign(asked.parents.begin(), asked.parents.end());
        sequence.scored_at = sequence.tokens.size();
        std::vector<token>& to = asked.parents.empty() ? sequence.tokens : sequence.nodes;
        to.insert(to.end(), asked.tokens.begin(), asked.tokens.end());
    }

    void run_layers(std::vector<float>& states, std::size_t layers) const {
        const auto by = static_cast<std::ptrdiff_t>(layers % vocabulary_size());
        const auto size = static_cast<std::ptrdiff_t>(vocabulary_size());
        for (auto state = states.begin(); state != states.end(); state += size) {
            std::rotate(state, state + by, state + size);
        }
    }

    std::size_t layer_count_;
};

using tree_mock = pass_mock<pass_features::trees>;
using hidden_state_mock = pass_mock<pass_features::states>;
using split_mock = pass_mock<pass_features::layers>;
using batch_mock = pass_mock<pass_features::batches>;
/// All of it.
using full_mock = pass_mock<every_pass_feature>;

/// Models FusedModel: a row depends on all tokens, as the row of `model`, and on every number of the states with them.
/// Its hidden states are the first numbers of its rows.
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
        model::check_room(sequence.tokens.size(), tokens.size(), context_length());
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
        model::check_cut(sequence.tokens.size(), length);
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

/// Models FusedTreeModel.
struct fused_tree_mock : fused_mock {
    using fused_mock::fused_mock;

    scores extend_tree(sequence_type& sequence, std::span<const token> tokens, std::span<const float> states,
                       std::span<const std::int32_t> parents, std::size_t last) const {
        if (states.size() != tokens.size() * hidden_size() || parents.size() != tokens.size() || last > tokens.size() ||
            sequence.tokens.size() + tokens.size() > context_length()) {
            augur::detail::fail("extend_tree: ", tokens.size(), " tokens with ", parents.size(), " parents and ",
                                states.size(), " numbers after ", sequence.tokens.size(), ", last ", last);
        }
        std::vector<float> rows;
        for (std::size_t i = tokens.size() - last; i < tokens.size(); ++i) {
            std::vector<std::size_t> path;
            for (auto at = static_cast<std::int32_t>(i); at >= 0; at = parents[path.back()]) {
                path.push_back(static_cast<std::size_t>(at));
            }
            sequence_type alone = sequence;
            for (std::size_t at = path.size(); at-- > 0;) {
                extend(alone, tokens.subspan(path[at], 1), states.subspan(path[at] * hidden_size(), hidden_size()), 1);
            }
            rows.insert(rows.end(), alone.rows.begin(), alone.rows.end());
        }
        sequence.rows = std::move(rows);
        return {sequence.rows.data(), last, vocabulary_size()};
    }
};

}  // namespace augur::testing
