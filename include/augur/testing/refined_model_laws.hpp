#pragma once
// The laws of what a model may offer beyond Model: last rows, trees, hidden states, split passes, batches.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/model_inputs.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// Every law is a function of one random input that says what is wrong with it, or nothing.
template <Model M>
class refined_model_law_cases : public model_inputs<M> {
    using typename model_inputs<M>::tree;

 public:
    using model_inputs<M>::model_inputs;

    std::string last_rows_equal_those_of_all(choices& from) const {
        const auto tokens = some_tokens(from, {1, 6, wide_pass});
        const std::size_t last = from.below(tokens.size() + 1);
        auto sequence = model_.make_sequence();
        const auto got = copy_of(model_.extend(sequence, tokens, last));
        if (model_.length(sequence) != tokens.size()) return said(tokens, "length ", model_.length(sequence));
        return wrong(last_of(fresh(tokens), last), got, "the last ", last, " of ", describe(tokens));
    }

    std::string tree_rows_equal_their_paths(choices& from) const {
        const tree drawn = some_tree(from);
        auto sequence = model_.make_sequence();
        model_.extend(sequence, drawn.before);
        const auto got = copy_of(model_.extend_tree(sequence, drawn.nodes, drawn.parents));
        row_copies expected;
        for (std::size_t i = 0; i < drawn.nodes.size(); ++i) append(expected, last_of(fresh(drawn.text_of(i)), 1));
        return wrong(expected, got, drawn.described());
    }

    std::string keep_leaves_the_path(choices& from) const {
        const tree drawn = some_tree(from);
        const auto path = drawn.path_to(static_cast<std::int32_t>(from.below(drawn.nodes.size() + 1)) - 1);
        auto sequence = model_.make_sequence();
        model_.extend(sequence, drawn.before);
        model_.extend_tree(sequence, drawn.nodes, drawn.parents);
        model_.keep(sequence, path);
        const auto more = some_tokens(from, {1, 2});
        std::vector<token> text = drawn.before;
        for (std::size_t node : path) text.push_back(drawn.nodes[node]);
        const std::string where = drawn.described() + ", keeping " + describe(path);
        if (model_.length(sequence) != text.size()) {
            return where + ": length is " + std::to_string(model_.length(sequence));
        }
        text.insert(text.end(), more.begin(), more.end());
        return wrong(last_of(fresh(text), more.size()), copy_of(model_.extend(sequence, more)), where, ", then ",
                     describe(more));
    }

    /// The hidden states of these tokens, extended at once.
    row_copies hidden_of(const std::vector<token>& tokens) const {
        auto whole = model_.make_sequence();
        model_.extend(whole, tokens);
        return copy_of(model_.hidden(whole));
    }

    std::string hidden_rows_equal_recomputation(choices& from) const {
        const auto tokens = some_tokens(from, {2, 6, wide_pass});
        const std::size_t first = from.between(1, tokens.size() - 1);
        const auto expected = hidden_of(tokens);
        auto parts = model_.make_sequence();
        model_.extend(parts, std::span(tokens).first(first));
        row_copies got = copy_of(model_.hidden(parts));
        model_.extend(parts, std::span(tokens).subspan(first));
        append(got, copy_of(model_.hidden(parts)));
        if (expected.size() != tokens.size()) return said(tokens, expected.size(), " hidden rows");
        if (expected[0].size() != model_.hidden_size()) return said(tokens, expected[0].size(), " hidden values");
        return wrong(expected, got, "hidden rows of ", describe(tokens), " in parts of ", first, " and the rest");
    }

    std::string states_without_rows_equal_those_with(choices& from) const {
        const auto tokens = some_tokens(from, {2, 6, wide_pass});
        const std::size_t first = from.between(1, tokens.size() - 1);
        const auto expected = hidden_of(tokens);
        auto parts = model_.make_sequence();
        row_copies got = copy_of(model_.extend_states(parts, std::span(tokens).first(first)));
        model_.extend(parts, std::span(tokens).subspan(first));
        append(got, copy_of(model_.hidden(parts)));
        return wrong(expected, got, "states of ", describe(tokens), " without rows for the first ", first);
    }

    std::string split_equals_whole(choices& from) const {
        const auto before = some_tokens(from, {1, 3, long_text}, 6);
        const auto a = some_tokens(from, {1, 3, wide_pass}, before.size() + 3);
        const auto b = some_tokens(from, {0, 3, wide_pass}, before.size() + a.size());
        const std::size_t split = from.between(1, std::max<std::size_t>(model_.layer_count(), 2) - 1);
        auto sequence = model_.make_sequence();
        model_.extend(sequence, before);
        model_.extend_shallow(sequence, a, split);
        if (!b.empty()) model_.extend_shallow(sequence, b, split);
        const auto got = copy_of(model_.extend_deep(sequence, split));
        std::vector<token> text = before;
        text.insert(text.end(), a.begin(), a.end());
        text.insert(text.end(), b.begin(), b.end());
        return wrong(last_of(fresh(text), a.size() + b.size()), got, describe(before), ", then ", describe(a), " and ",
                     describe(b), " split after layer ", split);
    }

    std::string batch_mates_do_not_matter(choices& from) const {
        const std::size_t members = from.between(1, 4);
        std::vector<sequence_t<M>> sequences;
        std::vector<std::vector<token>> texts;
        std::vector<std::vector<token>> mores;
        row_copies expected;
        for (std::size_t i = 0; i < members; ++i) {
            sequences.push_back(model_.make_sequence());
            texts.push_back(some_tokens(from, {1, 3, long_text}, 3));
            model_.extend(sequences.back(), texts.back());
            mores.push_back(some_tokens(from, {1, 3, wide_pass}, texts.back().size()));
            texts.back().insert(texts.back().end(), mores.back().begin(), mores.back().end());
            append(expected, last_of(fresh(texts.back()), mores.back().size()));
        }
        std::vector<batch_item<sequence_t<M>>> items;
        for (std::size_t i = 0; i < members; ++i) items.push_back({&sequences[i], mores[i]});
        const auto got = copy_of(model_.extend_batch(items));
        std::string where;
        for (const auto& text : texts) where += (where.empty() ? "batch of " : ", ") + describe(text);
        return wrong(expected, got, where);
    }

 private:
    using model_inputs<M>::fresh;
    using model_inputs<M>::model_;
    using model_inputs<M>::said;
    using model_inputs<M>::some_tokens;
    using model_inputs<M>::some_tree;
    using model_inputs<M>::wrong;
};

}  // namespace augur::testing
