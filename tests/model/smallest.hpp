#pragma once
// The smallest model of each concept: what an engine has to offer, and nothing else. Each keeps its laws. Every row counts
// tokens: the token that follows n tokens is n modulo the vocabulary.

#include <algorithm>
#include <augur/model/concepts.hpp>
#include <augur/types/error.hpp>
#include <utility>
#include <vector>

namespace smallest {

struct sequence {
    std::vector<augur::token> tokens;
    std::vector<float> rows;          // of the last extend
    std::vector<augur::token> nodes;  // of the last tree
    std::vector<float> waiting;       // rows of tokens that the deep layers have not seen
};

struct model {
    using sequence_type = sequence;
    static constexpr bool bitwise_rows = true;

    std::size_t vocabulary_size() const { return 8; }
    std::size_t context_length() const { return 2048; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.tokens.size(); }

    augur::scores extend(sequence_type& s, std::span<const augur::token> tokens) const {
        if (s.tokens.size() + tokens.size() > context_length()) throw augur::error("the context is full");
        s.rows.assign(tokens.size() * 8, 0.0f);
        for (std::size_t i = 0; i < tokens.size(); ++i) s.rows[i * 8 + (s.tokens.size() + i + 1) % 8] = 1;
        s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
        return rows_of(s);
    }
    void truncate(sequence_type& s, std::size_t length) const {
        if (length > s.tokens.size()) throw augur::error("there are fewer tokens");
        s.tokens.resize(length);
    }

 protected:
    static augur::scores rows_of(const sequence_type& s) { return {s.rows.data(), s.rows.size() / 8, 8}; }
};

struct tree_model : model {
    augur::scores extend_tree(sequence_type& s, std::span<const augur::token> tokens,
                              std::span<const std::int32_t> parents) const {
        std::vector<std::size_t> depths(tokens.size());
        s.rows.assign(tokens.size() * 8, 0.0f);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            depths[i] = parents[i] < 0 ? 1 : depths[static_cast<std::size_t>(parents[i])] + 1;
            s.rows[i * 8 + (s.tokens.size() + depths[i]) % 8] = 1;
        }
        s.nodes.assign(tokens.begin(), tokens.end());
        return rows_of(s);
    }
    void keep(sequence_type& s, std::span<const std::size_t> path) const {
        for (std::size_t node : path) s.tokens.push_back(s.nodes[node]);
    }
};

struct hidden_state_model : model {
    std::size_t hidden_size() const { return 8; }
    augur::scores hidden(const sequence_type& s) const { return rows_of(s); }
};

struct prefilling_model : hidden_state_model {
    augur::scores extend_states(sequence_type& s, std::span<const augur::token> tokens) const {
        return extend(s, tokens);
    }
};

/// Its shallow layers do all; the rows wait until the deep ones are asked for.
struct split_model : hidden_state_model {
    std::size_t layer_count() const { return 2; }
    augur::scores extend_shallow(sequence_type& s, std::span<const augur::token> tokens, std::size_t) const {
        const augur::scores rows = extend(s, tokens);
        s.waiting.insert(s.waiting.end(), s.rows.begin(), s.rows.end());
        return rows;
    }
    augur::scores extend_deep(sequence_type& s, std::size_t) const {
        s.rows = std::exchange(s.waiting, {});
        return rows_of(s);
    }
    void truncate(sequence_type& s, std::size_t length) const {
        const std::size_t finished = s.tokens.size() - s.waiting.size() / 8;
        model::truncate(s, length);
        s.waiting.resize(std::min(s.waiting.size(), (length - std::min(length, finished)) * 8));
    }
};

struct batch_model : model {
    std::vector<std::vector<float>> extend_batch(std::span<const augur::batch_item<sequence_type>> items) const {
        std::vector<std::vector<float>> all;
        for (const auto& item : items) {
            const augur::scores rows = extend(*item.sequence, item.tokens);
            for (std::size_t i = 0; i < rows.size(); ++i) all.emplace_back(rows[i].begin(), rows[i].end());
        }
        return all;
    }
};

}  // namespace smallest
