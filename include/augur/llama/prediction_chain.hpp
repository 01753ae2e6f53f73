#pragma once
// Several layers for multi-token prediction, of which each drafts one token.
// See docs/llama/draft_checkpoints.md.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/llama/fused_layer.hpp"
#include "augur/llama/sequence.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::llama {

/// The inputs of a prediction_chain, and what each of its layers has of them.
class chain_sequence {
    friend class prediction_chain;

    /// Of all inputs: `known_` with the target's states, then drafted ones.
    std::vector<token> tokens_{};
    std::size_t known_ = 0;
    std::vector<sequence> caches_{};            ///< one for each layer
    std::vector<std::vector<float>> states_{};  ///< that each layer made, of all its inputs
    std::vector<float> rows_{}, shown_{};       ///< of the last run
    std::size_t count_ = 0;                     ///< of these rows
};

/// As DeepSeek-V3 defines them: input i of layer k (from 0) is the state of layer k - 1 at position i, or of the target
/// where k is 0, and the k-th token after the one that the target's state comes with. So layer k makes the row of the
/// (k + 1)-th drafted token; the last layer goes on with its own state. All inputs before the drafted ones are true. A
/// FusedTreeModel with bitwise rows. Its own hidden states end with a number more than the target's: after how many
/// drafted tokens they are. Cost: a row of drafted token m is a pass of one layer over at most m inputs; what layers
/// made of the text is kept, in floats. Trees are run one path at a time.
class prediction_chain {
 public:
    explicit prediction_chain(std::vector<fused_layer> layers) : layers_(std::move(layers)) {}

    const fused_layer& first() const { return layers_.front(); }
    std::size_t width() const { return first().width(); }
    std::size_t hidden_size() const { return width() + 1; }
    std::size_t memory_bytes() const {
        std::size_t total = 0;
        for (const fused_layer& each : layers_) total += each.model().memory_bytes();
        return total;
    }

    chain_sequence make_sequence() const {
        chain_sequence made;
        for (const fused_layer& each : layers_) made.caches_.push_back(each.model().make_sequence());
        made.states_.resize(layers_.size());
        return made;
    }
    std::size_t length(const chain_sequence& s) const { return s.tokens_.size(); }

    void truncate(chain_sequence& s, std::size_t length) const {
        augur::model::check_cut(s.tokens_.size(), length);
        s.tokens_.resize(length);
        s.known_ = std::min(s.known_, length);
        for (std::size_t k = 0; k < layers_.size(); ++k) {
            const std::size_t kept = std::min(inputs_of(s, k), inputs_held(s, k));
            layers_[k].model().truncate(s.caches_[k], kept);
            s.states_[k].resize(kept * width());
        }
    }

    /// See FusedModel: states of the target's size before drafted ones, or its own. Throws, and changes nothing, where
    /// they are in another order, or for what host_model::extend throws for.
    scores extend(chain_sequence& s, std::span<const token> tokens, std::span<const float> states,
                  std::size_t last) const {
        const std::size_t before = s.tokens_.size();
        check(s, tokens, states, last);
        s.rows_.clear();
        s.shown_.clear();
        s.count_ = 0;
        try {
            if (states.size() == tokens.size() * width()) {
                follow(s, tokens, states, last);
            } else {
                draft(s, tokens, last);
            }
        } catch (...) {
            truncate(s, before);
            throw;
        }
        return rows_of(s);
    }

    scores extend_tree(chain_sequence& s, std::span<const token> tokens, std::span<const float> states,
                       std::span<const std::int32_t> parents, std::size_t last) const {
        if (parents.size() != tokens.size() || last > tokens.size()) {
            augur::detail::fail("a tree of ", tokens.size(), " inputs with ", parents.size(), " parents and ", last,
                                " rows");
        }
        const std::size_t before = s.tokens_.size();
        std::vector<float> rows, shown;
        for (std::size_t i = tokens.size() - last; i < tokens.size(); ++i) {
            extend_path(s, tokens, states, parents, i);
            rows.insert(rows.end(), s.rows_.begin(), s.rows_.end());
            shown.insert(shown.end(), s.shown_.begin(), s.shown_.end());
            truncate(s, before);
        }
        s.rows_ = std::move(rows);
        s.shown_ = std::move(shown);
        s.count_ = last;
        return rows_of(s);
    }

    /// Of the rows of the last run.
    scores hidden(const chain_sequence& s) const { return {s.shown_.data(), s.count_, hidden_size()}; }

 private:
    std::size_t drafted(const chain_sequence& s) const { return s.tokens_.size() - s.known_; }
    std::size_t inputs_held(const chain_sequence& s, std::size_t k) const { return s.states_[k].size() / width(); }

    /// That layer k has once all inputs were run.
    std::size_t inputs_of(const chain_sequence& s, std::size_t k) const {
        const std::size_t ahead = drafted(s), known = s.known_;
        if (ahead < k) return known > k - ahead ? known - (k - ahead) : 0;
        return known + (k + 1 == layers_.size() ? ahead - k : 0);
    }

    scores rows_of(const chain_sequence& s) const {
        return {s.rows_.data(), s.count_, first().model().vocabulary_size()};
    }

    void check(const chain_sequence& s, std::span<const token> tokens, std::span<const float> states,
               std::size_t last) const {
        using augur::detail::fail;
        const std::size_t count = tokens.size(), ahead = drafted(s), context = first().model().context_length();
        if (last > count) fail(last, " rows were asked for, but there are ", count, " tokens");
        if (s.tokens_.size() + count > context) {
            fail(s.tokens_.size(), " inputs and ", count, " more exceed the context of ", context);
        }
        const bool is_own = states.size() == count * hidden_size();
        if (!is_own && states.size() != count * width()) {
            fail(count, " tokens with hidden states of ", width(), " numbers, or of ", hidden_size(),
                 " where they are its own, but there are ", states.size());
        }
        if (!is_own && ahead > 0) fail("a state of the target after ", ahead, " drafted tokens");
        if (is_own && count > 0 && s.known_ == 0) fail("a drafted token without a state of the target before it");
        for (std::size_t i = 0; is_own && i < count; ++i) {
            const auto after = static_cast<std::size_t>(states[(i + 1) * hidden_size() - 1]);
            if (after != ahead + i) fail("the state after ", after, " drafted tokens, but there are ", ahead + i);
        }
    }

    /// Runs the layer over more inputs, and keeps their states; the rows of the last `rows` are the run's last.
    void run(chain_sequence& s, std::size_t k, std::span<const token> tokens, std::span<const float> states,
             std::size_t rows) const {
        const scores made = layers_[k].extend(s.caches_[k], tokens, states, rows, fused_layer::shown::all);
        const scores all = layers_[k].model().hidden(s.caches_[k]);
        s.states_[k].insert(s.states_[k].end(), all[0].data(), all[0].data() + all.size() * width());
        for (std::size_t i = 0; i < rows; ++i) {
            s.rows_.insert(s.rows_.end(), made[i].begin(), made[i].end());
            const auto state = all[all.size() - rows + i];
            s.shown_.insert(s.shown_.end(), state.begin(), state.end());
            s.shown_.push_back(static_cast<float>(drafted(s)));
        }
        s.count_ += rows;
    }

    /// Layer k over the inputs that it lacks, whose states the layer before has.
    void catch_up(chain_sequence& s, std::size_t k, std::size_t rows) const {
        const std::size_t held = inputs_held(s, k), missing = inputs_of(s, k) - held;
        if (missing == 0) return;
        run(s, k, std::span(s.tokens_).subspan(held + k, missing),
            std::span(s.states_[k - 1]).subspan(held * width(), missing * width()), rows);
    }

    void follow(chain_sequence& s, std::span<const token> tokens, std::span<const float> states,
                std::size_t last) const {
        if (tokens.empty()) return;
        run(s, 0, tokens, states,
            last);  // which refuses tokens outside the vocabulary
        s.tokens_.insert(s.tokens_.end(), tokens.begin(), tokens.end());
        s.known_ += tokens.size();
        for (std::size_t k = 1; k < layers_.size(); ++k) catch_up(s, k, 0);
    }

    void draft(chain_sequence& s, std::span<const token> tokens, std::size_t last) const {
        const std::size_t end = layers_.size() - 1;
        std::vector<float> own;
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            s.tokens_.push_back(tokens[i]);
            const std::size_t rows = i + last >= tokens.size() ? 1 : 0;
            if (drafted(s) <= end) {
                catch_up(s, drafted(s), rows);
            } else {
                own.assign(s.states_[end].end() - static_cast<std::ptrdiff_t>(width()), s.states_[end].end());
                run(s, end, tokens.subspan(i, 1), own, rows);
            }
        }
    }

    /// The path to node `end` of a tree, and its row.
    void extend_path(chain_sequence& s, std::span<const token> tokens, std::span<const float> states,
                     std::span<const std::int32_t> parents, std::size_t end) const {
        std::vector<std::size_t> path;
        for (auto at = static_cast<std::int32_t>(end); at >= 0; at = parents[static_cast<std::size_t>(at)]) {
            path.push_back(static_cast<std::size_t>(at));
            if (parents[path.back()] >= at) augur::detail::fail("input ", at, " follows ", parents[path.back()]);
        }
        std::reverse(path.begin(), path.end());
        const std::size_t size = tokens.empty() ? 0 : states.size() / tokens.size();
        std::vector<token> along;
        std::vector<float> with;
        for (const std::size_t i : path) {
            along.push_back(tokens[i]);
            const auto state = states.subspan(i * size, size);
            with.insert(with.end(), state.begin(), state.end());
        }
        extend(s, along, with, 1);
    }

    std::vector<fused_layer> layers_;
};

}  // namespace augur::llama
