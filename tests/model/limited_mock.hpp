#pragma once
// A mock whose runs are bound as an engine's are, and whose rows end with the next run of any sequence.

#include <algorithm>
#include <augur/model/limits.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/tree/leaves.hpp>
#include <augur/types/error.hpp>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// Refuses what goes beyond its limits, and counts what it is asked for. Rows of a run overwrite those of the one
/// before, in one place, when `rows_end_with_next_run`.
class limited_mock : public augur::testing::pass_mock<augur::pass_features::trees | augur::pass_features::batches> {
 public:
    using base = augur::testing::pass_mock<augur::pass_features::trees | augur::pass_features::batches>;
    struct counts_type {
        std::size_t runs = 0, passes = 0, tokens = 0, largest = 0, trees = 0;
    };

    limited_mock(augur::testing::function_model of, augur::pass_limits most)
        : base(std::move(of)), most_(most), shared_(std::make_shared<shared>()) {}

    augur::pass_limits limits() const { return most_; }
    const counts_type& counts() const { return shared_->counts; }
    void reset() const { shared_->counts = {}; }

    augur::scores extend(sequence_type& s, std::span<const augur::token> tokens, std::size_t last) const {
        const pass_type one{.sequence = &s, .tokens = tokens, .rows = last};
        run(std::span(&one, 1));
        const std::vector<float>& rows = most_.rows_end_with_next_run ? shared_->rows : s.rows;
        return {rows.data(), last, vocabulary_size()};
    }
    augur::scores extend(sequence_type& s, std::span<const augur::token> tokens) const {
        return extend(s, tokens, tokens.size());
    }
    augur::scattered_scores run(std::span<const pass_type> asked) const {
        check_limits(asked);
        const augur::scattered_scores made = base::run(asked);
        if (!most_.rows_end_with_next_run) return made;
        std::fill(shared_->rows.begin(), shared_->rows.end(), std::numeric_limits<float>::quiet_NaN());
        shared_->rows.resize(std::max<std::size_t>(shared_->rows.size(), made.size() * vocabulary_size()));
        shared_->places.clear();
        for (std::size_t i = 0; i < made.size(); ++i) {
            float* const row = shared_->rows.data() + i * vocabulary_size();
            std::copy(made[i].begin(), made[i].end(), row);
            shared_->places.push_back(row);
        }
        return {shared_->places.data(), made.size(), vocabulary_size()};
    }

 private:
    struct shared {
        std::vector<float> rows = std::vector<float>(1 << 14);  // it never moves: what is stale is NaN
        std::vector<const float*> places;
        counts_type counts;
    };

    void check_limits(std::span<const pass_type> asked) const {
        using augur::fail;
        std::size_t tokens = 0;
        for (const pass_type& each : asked) {
            tokens += each.tokens.size();
            if (!includes(most_.features, each.needs())) fail("limited_mock: a tree, which it does not run");
            if (each.parents.empty()) continue;
            const augur::tree::leaves leaves(each.tokens.size(), each.parents);
            ++shared_->counts.trees;
            if (each.tokens.size() > most_.most_tree_nodes) fail("limited_mock: ", each.tokens.size(), " nodes");
            if (leaves.size() > most_.most_leaves) fail("limited_mock: ", leaves.size(), " leaves");
        }
        if (asked.size() > 1 && !includes(most_.features, augur::pass_features::batches)) fail("limited_mock: a batch");
        if (tokens > most_.most_tokens_of_a_pass) fail("limited_mock: ", tokens, " tokens");
        ++shared_->counts.runs;
        shared_->counts.passes += asked.size();
        shared_->counts.tokens += tokens;
        shared_->counts.largest = std::max(shared_->counts.largest, tokens);
    }

    augur::pass_limits most_;
    std::shared_ptr<shared> shared_;
};
