#pragma once
// The laws of Model and its refinements, checked on random tokens.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// Every law below is a function of one random input that says what is wrong with it, or nothing.
template <Model M>
class model_law_cases {
 public:
    model_law_cases(const M& model, double tolerance) : model_(model), tolerance_(tolerance) {}

    std::string one_row_per_token(choices& from) const {
        auto sequence = model_.make_sequence();
        std::size_t expected = 0;
        for (int part = 0; part < 2; ++part) {
            const auto tokens = some_tokens(from, 1, 3);
            expected += tokens.size();
            const auto rows = copy_of(model_.extend(sequence, tokens));
            if (rows.size() != tokens.size()) return said(tokens, rows.size(), " rows");
            for (const auto& row : rows) {
                if (row.size() != model_.vocabulary_size()) return said(tokens, "a row of ", row.size(), " logits");
            }
            if (model_.length(sequence) != expected) {
                return said(tokens, "length ", model_.length(sequence), " instead of ", expected);
            }
        }
        return "";
    }

    std::string parts_equal_the_whole(choices& from) const {
        const auto tokens = some_tokens(from, 1, 8);
        auto sequence = model_.make_sequence();
        row_copies got;
        std::vector<std::size_t> parts;
        for (std::span<const token> rest(tokens); !rest.empty(); rest = rest.subspan(parts.back())) {
            parts.push_back(from.between(1, rest.size()));
            append(got, copy_of(model_.extend(sequence, rest.first(parts.back()))));
        }
        return wrong(fresh(tokens), got, "tokens ", describe(tokens), " in parts of ", describe(parts));
    }

    std::string truncated_equals_fresh(choices& from) const {
        auto tokens = some_tokens(from, 1, 6);
        const auto more = some_tokens(from, 1, 3);
        const std::size_t kept = from.below(tokens.size() + 1);
        auto sequence = model_.make_sequence();
        model_.extend(sequence, tokens);
        model_.truncate(sequence, kept);
        const std::string where = augur::detail::message("tokens ", describe(tokens), " truncated to ", kept,
                                                         " and extended by ", describe(more));
        if (model_.length(sequence) != kept) return where + ": length is " + std::to_string(model_.length(sequence));
        const auto got = copy_of(model_.extend(sequence, more));
        tokens.resize(kept);
        tokens.insert(tokens.end(), more.begin(), more.end());
        return wrong(last_of(fresh(tokens), more.size()), got, where);
    }

    std::string sequences_do_not_interfere(choices& from) const {
        const auto a = some_tokens(from, 1, 4);
        const auto b = some_tokens(from, 1, 4);
        auto first = model_.make_sequence();
        auto second = model_.make_sequence();
        row_copies got;
        for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
            if (i < a.size()) append(got, copy_of(model_.extend(first, std::span(a).subspan(i, 1))));
            if (i < b.size()) model_.extend(second, std::span(b).subspan(i, 1));
        }
        return wrong(fresh(a), got, "tokens ", describe(a), " in turn with ", describe(b));
    }

    std::string rows_stay_valid(choices& from) const {
        const auto a = some_tokens(from, 1, 3);
        const auto b = some_tokens(from, 1, 3);
        auto first = model_.make_sequence();
        auto second = model_.make_sequence();
        const auto rows = model_.extend(first, a);
        const row_copies before = copy_of(rows);
        model_.extend(second, b);
        return wrong(before, copy_of(rows), "rows of ", describe(a), " after another sequence ran ", describe(b));
    }

    std::string truncating_beyond_throws(choices& from) const {
        const auto tokens = some_tokens(from, 1, 4);
        const std::size_t beyond = tokens.size() + from.between(1, 3);
        return refused(tokens, augur::detail::message("truncate to ", beyond),
                       [&](auto& sequence) { model_.truncate(sequence, beyond); });
    }

    std::string extending_past_the_context_throws(choices& from) const {
        const auto tokens = some_tokens(from, 1, 4);
        const std::size_t over = model_.context_length() - tokens.size() + from.between(1, 3);
        const std::vector<token> too_many(over, 0);
        return refused(tokens, augur::detail::message("extend by ", over),
                       [&](auto& sequence) { model_.extend(sequence, too_many); });
    }

    std::string last_rows_equal_those_of_all(choices& from) const {
        const auto tokens = some_tokens(from, 1, 6);
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
        const auto more = some_tokens(from, 1, 2);
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
        const auto tokens = some_tokens(from, 2, 6);
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
        const auto tokens = some_tokens(from, 2, 6);
        const std::size_t first = from.between(1, tokens.size() - 1);
        const auto expected = hidden_of(tokens);
        auto parts = model_.make_sequence();
        row_copies got = copy_of(model_.extend_states(parts, std::span(tokens).first(first)));
        model_.extend(parts, std::span(tokens).subspan(first));
        append(got, copy_of(model_.hidden(parts)));
        return wrong(expected, got, "states of ", describe(tokens), " without rows for the first ", first);
    }

    std::string split_equals_whole(choices& from) const {
        const auto before = some_tokens(from, 1, 3);
        const auto a = some_tokens(from, 1, 3);
        const auto b = some_tokens(from, 0, 3);
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
            texts.push_back(some_tokens(from, 1, 3));
            model_.extend(sequences.back(), texts.back());
            mores.push_back(some_tokens(from, 1, 3));
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
    struct tree {
        std::vector<token> before;
        std::vector<token> nodes;
        std::vector<std::int32_t> parents;

        std::vector<std::size_t> path_to(std::int32_t node) const {
            std::vector<std::size_t> path;
            for (; node >= 0; node = parents[static_cast<std::size_t>(node)]) {
                path.insert(path.begin(), static_cast<std::size_t>(node));
            }
            return path;
        }
        std::vector<token> text_of(std::size_t node) const {
            std::vector<token> text = before;
            for (std::size_t i : path_to(static_cast<std::int32_t>(node))) text.push_back(nodes[i]);
            return text;
        }
        std::string described() const {
            return "after " + describe(before) + " a tree of " + describe(nodes) + " with parents " + describe(parents);
        }
    };

    tree some_tree(choices& from) const {
        tree made{.before = some_tokens(from, 1, 3), .nodes = some_tokens(from, 1, 6), .parents = {}};
        for (std::size_t i = 0; i < made.nodes.size(); ++i) {
            made.parents.push_back(static_cast<std::int32_t>(from.below(i + 1)) - 1);
        }
        return made;
    }

    std::vector<token> some_tokens(choices& from, std::size_t shortest, std::size_t longest) const {
        return from.tokens(shortest, longest, model_.vocabulary_size());
    }

    row_copies fresh(std::span<const token> tokens) const {
        auto sequence = model_.make_sequence();
        return copy_of(model_.extend(sequence, tokens));
    }

    /// `misuse` must throw, and leave the sequence as it was.
    template <class Misuse>
    std::string refused(std::vector<token> tokens, const std::string& what, const Misuse& misuse) const {
        auto sequence = model_.make_sequence();
        model_.extend(sequence, tokens);
        bool thrown = false;
        try {
            misuse(sequence);
        } catch (const std::exception&) {
            thrown = true;
        }
        if (!thrown) return said(tokens, what, " did not throw");
        if (model_.length(sequence) != tokens.size()) {
            return said(tokens, what, " left a length of ", model_.length(sequence));
        }
        if (tokens.size() == model_.context_length()) return "";
        const auto got = copy_of(model_.extend(sequence, std::vector<token>{0}));
        tokens.push_back(0);
        return wrong(last_of(fresh(tokens), 1), got, describe(tokens), ", the last after a refused ", what);
    }

    template <class... Where>
    std::string wrong(const row_copies& expected, const row_copies& got, const Where&... where) const {
        const std::string found = difference(expected, got, tolerance_);
        return found.empty() ? found : augur::detail::message(where..., ": ", found);
    }
    template <class... What>
    static std::string said(const std::vector<token>& tokens, const What&... what) {
        return augur::detail::message("tokens ", describe(tokens), ": ", what...);
    }

    const M& model_;
    double tolerance_;
};

/// Checks every law that `model` states by the concepts it models. Rows are compared bit for bit, or, where the model says
/// that its rows are not bitwise, to `tolerance` times 1 + the logit. Needs a context of at least 16 tokens. Cost: about 15 short passes per case.
template <Model M>
report model_laws(const M& model, const effort& tries = {}, double tolerance = 1e-3) {
    report r{"model_laws"};
    const model_law_cases<M> cases(model, has_bitwise_rows<M> ? 0 : tolerance);
    const auto law = [&](const char* name, auto member) {
        check(r, name, tries, [&](choices& from) { return (cases.*member)(from); });
    };
    using c = model_law_cases<M>;
    law("one row per new token, as long as the vocabulary", &c::one_row_per_token);
    law("extending in parts equals extending at once", &c::parts_equal_the_whole);
    law("truncating and extending equals a fresh sequence", &c::truncated_equals_fresh);
    law("sequences do not interfere", &c::sequences_do_not_interfere);
    law("rows stay valid while other sequences are extended", &c::rows_stay_valid);
    law("truncating beyond the length throws and changes nothing", &c::truncating_beyond_throws);
    if (model.context_length() <= (1u << 20)) {
        law("extending past the context throws and changes nothing", &c::extending_past_the_context_throws);
    } else {
        r.skip("extending past the context throws and changes nothing", "a context of more than 2^20 tokens");
    }
    if constexpr (ScoresLastRows<M>) {
        law("the last rows equal those of the full extend", &c::last_rows_equal_those_of_all);
    }
    if constexpr (TreeModel<M>) {
        law("a row of a tree equals its path's alone", &c::tree_rows_equal_their_paths);
        law("keep leaves the sequence as if the path had been extended", &c::keep_leaves_the_path);
    }
    if constexpr (HiddenStateModel<M>) law("hidden rows equal recomputation", &c::hidden_rows_equal_recomputation);
    if constexpr (PrefillsStates<M>) {
        law("states made without rows equal those with", &c::states_without_rows_equal_those_with);
    }
    if constexpr (SplitModel<M>) law("shallow then deep equals extend", &c::split_equals_whole);
    if constexpr (BatchModel<M>) law("batch mates do not matter", &c::batch_mates_do_not_matter);
    return r;
}

}  // namespace augur::testing
