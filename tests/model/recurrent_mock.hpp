#pragma once
// A mock with recurrent memory: it appends tokens, saves and loads states, and cannot forget a token.

#include <augur/model/check_passes.hpp>
#include <augur/model/concepts.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

/// What a recurrent mock was asked for, over all sequences.
struct recurrent_counts {
    std::size_t passes = 0;  ///< forward passes, a batch as one
    std::size_t tokens = 0;  ///< that they ran
    std::size_t saves = 0, loads = 0;
};

/// Only what SavesSequences asks for: no truncate, a row for each token. A sequence owns its memory: it is moved, not
/// copied.
class recurrent_mock {
 public:
    struct sequence_type {
        std::unique_ptr<augur::testing::mock_sequence> memory;
    };
    static constexpr bool bitwise_rows = true;

    explicit recurrent_mock(augur::testing::function_model of)
        : of_(std::move(of)), counts_(std::make_shared<recurrent_counts>()) {}

    const recurrent_counts& counts() const { return *counts_; }
    void reset() const { *counts_ = {}; }

    std::size_t vocabulary_size() const { return of_.vocabulary_size(); }
    std::size_t context_length() const { return of_.context_length(); }
    sequence_type make_sequence() const { return {std::make_unique<augur::testing::mock_sequence>()}; }
    std::size_t length(const sequence_type& s) const { return s.memory->tokens.size(); }
    augur::scores extend(sequence_type& s, std::span<const augur::token> tokens) const {
        ++counts_->passes;
        counts_->tokens += tokens.size();
        return of_.extend(*s.memory, tokens);
    }
    std::vector<augur::token> save(const sequence_type& s) const {
        ++counts_->saves;
        return s.memory->tokens;
    }
    void load(sequence_type& s, const std::vector<augur::token>& state) const {
        ++counts_->loads;
        s.memory->tokens = state;
    }

 protected:
    augur::testing::function_model of_;
    std::shared_ptr<recurrent_counts> counts_;
};

/// The same in batches, of so many tokens at most.
class recurrent_batch_mock : public recurrent_mock {
 public:
    static constexpr augur::pass_features passes = augur::pass_features::batches;

    explicit recurrent_batch_mock(augur::testing::function_model of, augur::pass_limits most = {})
        : recurrent_mock(std::move(of)), most_(most) {}

    augur::pass_limits limits() const { return most_; }
    augur::scores extend(sequence_type& s, std::span<const augur::token> tokens, std::size_t last) const {
        check(tokens.size());
        const augur::scores all = recurrent_mock::extend(s, tokens);
        return {all[all.size() - last].data(), last, vocabulary_size()};
    }
    augur::scores extend(sequence_type& s, std::span<const augur::token> tokens) const {
        return extend(s, tokens, tokens.size());
    }
    std::vector<std::vector<float>> run(std::span<const augur::pass<sequence_type>> asked) const {
        std::size_t tokens = 0;
        for (const auto& each : asked) tokens += each.tokens.size();
        check(tokens);
        std::vector<std::vector<float>> rows;
        for (const auto& each : asked) {
            const augur::scores all = recurrent_mock::extend(*each.sequence, each.tokens);
            for (std::size_t i = all.size() - each.wanted(); i < all.size(); ++i) {
                rows.emplace_back(all[i].begin(), all[i].end());
            }
        }
        counts_->passes -= asked.size() - 1;
        return rows;
    }

 private:
    void check(std::size_t tokens) const {
        if (tokens > most_.most_tokens_of_a_pass) augur::fail("recurrent_batch_mock: ", tokens, " tokens");
    }

    augur::pass_limits most_;
};
