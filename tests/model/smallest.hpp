#pragma once
// The smallest model of each concept: what an engine has to offer, and nothing else. Every row counts tokens: the token
// that follows n tokens is n modulo the vocabulary.

#include <augur/model/concepts.hpp>
#include <vector>

namespace smallest {

struct model {
    using sequence_type = std::vector<augur::token>;

    std::size_t vocabulary_size() const { return 8; }
    std::size_t context_length() const { return 64; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.size(); }

    augur::scores extend(sequence_type& s, std::span<const augur::token> tokens) const {
        rows.assign(tokens.size() * 8, 0.0f);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            s.push_back(tokens[i]);
            rows[i * 8 + s.size() % 8] = 1;
        }
        return {rows.data(), tokens.size(), 8};
    }
    void truncate(sequence_type& s, std::size_t length) const { s.resize(length); }

    mutable std::vector<float> rows;  // one sequence at a time: enough for the smallest
};

struct tree_model : model {
    augur::scores extend_tree(sequence_type& s, std::span<const augur::token> tokens,
                              std::span<const std::int32_t> parents) const {
        std::vector<std::size_t> depths(tokens.size());
        rows.assign(tokens.size() * 8, 0.0f);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            depths[i] = parents[i] < 0 ? 1 : depths[static_cast<std::size_t>(parents[i])] + 1;
            rows[i * 8 + (s.size() + depths[i]) % 8] = 1;
        }
        nodes.assign(tokens.begin(), tokens.end());
        return {rows.data(), tokens.size(), 8};
    }
    void keep(sequence_type& s, std::span<const std::size_t> path) const {
        for (std::size_t node : path) s.push_back(nodes[node]);
    }

    mutable std::vector<augur::token> nodes;
};

struct hidden_state_model : model {
    std::size_t hidden_size() const { return 8; }
    augur::scores hidden(const sequence_type&) const { return {rows.data(), rows.size() / 8, 8}; }
};

struct prefilling_model : hidden_state_model {
    augur::scores extend_states(sequence_type& s, std::span<const augur::token> tokens) const {
        extend(s, tokens);
        return hidden(s);
    }
};

struct split_model : hidden_state_model {
    std::size_t layer_count() const { return 2; }
    augur::scores extend_shallow(sequence_type& s, std::span<const augur::token> tokens, std::size_t) const {
        return extend(s, tokens);
    }
    augur::scores extend_deep(sequence_type& s, std::size_t) const { return hidden(s); }
};

struct batch_model : model {
    augur::scores extend_batch(std::span<const augur::batch_item<sequence_type>> items) const {
        std::vector<float> all;
        for (const auto& item : items) {
            extend(*item.sequence, item.tokens);
            all.insert(all.end(), rows.begin(), rows.end());
        }
        rows = std::move(all);
        return {rows.data(), rows.size() / 8, 8};
    }
};

}  // namespace smallest
