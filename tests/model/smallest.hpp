#pragma once
// The smallest model of each concept: what an engine has to offer, and nothing else. Each keeps its laws. Every row
// counts tokens: the token that follows n tokens is n modulo the vocabulary.

#include <algorithm>
#include <augur/model/check_passes.hpp>
#include <augur/model/concepts.hpp>
#include <utility>
#include <vector>

namespace smallest {

struct sequence {
    std::vector<augur::token> tokens;
    std::vector<float> rows;            // of the last extend or run
    std::vector<augur::token> nodes;    // of the last tree
    std::vector<std::int32_t> parents;  // theirs
    std::size_t scored_at = 0;          // tokens before it
    std::vector<float> waiting;         // rows of tokens that the second layer has not seen
};

struct model {
    using sequence_type = sequence;
    static constexpr bool bitwise_rows = true;

    std::size_t vocabulary_size() const { return 8; }
    std::size_t context_length() const { return 2048; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.tokens.size(); }

    augur::scores extend(sequence_type& s, std::span<const augur::token> tokens) const {
        augur::model::check_room(s.tokens.size(), tokens.size(), context_length());
        s.rows.assign(tokens.size() * 8, 0.0f);
        for (std::size_t i = 0; i < tokens.size(); ++i) s.rows[i * 8 + (s.tokens.size() + i + 1) % 8] = 1;
        s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
        return rows_of(s);
    }
    void truncate(sequence_type& s, std::size_t length) const {
        augur::model::check_cut(s.tokens.size(), length);
        s.tokens.resize(length);
    }

 protected:
    static augur::scores rows_of(const sequence_type& s) { return {s.rows.data(), s.rows.size() / 8, 8}; }
    static augur::scores last_of(const augur::scores& rows, std::size_t count) {
        return {rows[rows.size() - count].data(), count, 8};
    }
    static void forget(sequence_type& s, std::size_t rows) {
        s.rows.erase(s.rows.begin(), s.rows.begin() + static_cast<std::ptrdiff_t>(rows * 8));
    }
};

using passes_asked = std::span<const augur::pass<sequence>>;

/// Throws unless all of a run can be done, before any of it is.
inline void check(passes_asked asked, std::size_t context, std::size_t layers = 0) {
    augur::model::check_passes(asked, layers);
    for (const auto& each : asked) {
        augur::model::check_waiting(each, each.sequence->waiting.size() / 8, 1);
        augur::model::check_room(each.sequence->tokens.size(), each.tokens.size(), context);
    }
}

struct tree_model : model {
    static constexpr augur::pass_features passes = augur::pass_features::trees;

    augur::scores run(passes_asked asked) const {
        check(asked, context_length());
        const auto& one = asked[0];
        if (one.parents.empty()) return last_of(extend(*one.sequence, one.tokens), one.wanted());
        std::vector<std::size_t> depths;
        one.sequence->rows.assign(one.tokens.size() * 8, 0.0f);
        for (std::size_t i = 0; i < one.tokens.size(); ++i) {
            depths.push_back(one.parents[i] < 0 ? 1 : depths[static_cast<std::size_t>(one.parents[i])] + 1);
            one.sequence->rows[i * 8 + (one.sequence->tokens.size() + depths[i]) % 8] = 1;
        }
        one.sequence->nodes.assign(one.tokens.begin(), one.tokens.end());
        one.sequence->parents.assign(one.parents.begin(), one.parents.end());
        one.sequence->scored_at = one.sequence->tokens.size();
        return last_of(rows_of(*one.sequence), one.wanted());
    }
    void keep(sequence_type& s, std::span<const std::size_t> path) const {
        augur::model::check_tree_end(s.scored_at, s.tokens.size());
        augur::model::check_path(path, s.parents);
        for (std::size_t node : path) s.tokens.push_back(s.nodes[node]);
        s.parents.clear();
    }
};

struct hidden_state_model : model {
    std::size_t hidden_size() const { return 8; }
    augur::scores hidden(const sequence_type& s) const { return rows_of(s); }
};

/// Its states are its rows, so it makes a row of each.
struct prefilling_model : hidden_state_model {
    static constexpr augur::pass_features passes = augur::pass_features::states;

    augur::scores run(passes_asked asked) const {
        check(asked, context_length());
        const auto& one = asked[0];
        extend(*one.sequence, one.tokens);
        if (!one.states) forget(*one.sequence, one.tokens.size() - one.wanted());
        return last_of(rows_of(*one.sequence), one.wanted());
    }
};

/// Its first layer does all; the rows wait until the second is asked for.
struct split_model : hidden_state_model {
    static constexpr augur::pass_features passes = augur::pass_features::layers | augur::pass_features::states;

    std::size_t layer_count() const { return 2; }
    std::size_t waiting(const sequence_type& s) const { return s.waiting.size() / 8; }
    augur::scores extend(sequence_type& s, std::span<const augur::token> tokens) const {
        if (waiting(s) > 0) throw augur::error("positions wait");
        return model::extend(s, tokens);
    }
    augur::scores run(passes_asked asked) const {
        check(asked, context_length(), layer_count());
        const auto& one = asked[0];
        const std::size_t computed = one.from_layer > 0 ? waiting(*one.sequence) : one.tokens.size();
        const std::size_t wanted = one.wanted(computed);
        if (one.from_layer > 0) {
            one.sequence->rows = std::exchange(one.sequence->waiting, {});
        } else {
            model::extend(*one.sequence, one.tokens);
        }
        if (one.to_layer != augur::all_layers) {
            auto& waits = one.sequence->waiting;
            waits.insert(waits.end(), one.sequence->rows.begin(), one.sequence->rows.end());
        } else if (!one.states) {
            forget(*one.sequence, computed - wanted);
        }
        return last_of(rows_of(*one.sequence), wanted);
    }
    void truncate(sequence_type& s, std::size_t length) const {
        const std::size_t finished = s.tokens.size() - waiting(s);
        model::truncate(s, length);
        s.waiting.resize(std::min(s.waiting.size(), (length - std::min(length, finished)) * 8));
    }
};

struct batch_model : model {
    static constexpr augur::pass_features passes = augur::pass_features::batches;

    std::vector<std::vector<float>> run(passes_asked asked) const {
        check(asked, context_length());
        std::vector<std::vector<float>> all;
        for (const auto& each : asked) {
            const auto rows = last_of(extend(*each.sequence, each.tokens), each.wanted());
            for (std::size_t i = 0; i < rows.size(); ++i) all.emplace_back(rows[i].begin(), rows[i].end());
        }
        return all;
    }
};

}  // namespace smallest
