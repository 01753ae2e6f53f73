#pragma once
// Random inputs of models: tokens and trees, mostly few, sometimes many.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/model/limits.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/report.hpp"
#include "augur/testing/row_errors.hpp"
#include "augur/testing/wide_rows.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// How many tokens a part of a text has: in five inputs of eight at most `few`, in two up to `many`, in one just
/// `many`. Products and attention often go another way from 8, 16 or 32 rows on, and caches have blocks: what is always
/// short never gets there.
struct amount {
    std::size_t least = 1;
    std::size_t few = 3;
    std::size_t many = few;
};
inline constexpr std::size_t long_text = 40;  ///< what a sequence may hold before
inline constexpr std::size_t wide_pass = 64;  ///< what one pass may append

/// Random inputs of one model, and the words for what is wrong with its answers.
template <Model M>
class model_inputs {
 public:
    model_inputs(const M& model, row_errors& errors) : model_(model), errors_(errors) {}

 protected:
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
        bool is_chain() const {
            for (std::size_t i = 0; i < parents.size(); ++i) {
                if (parents[i] != static_cast<std::int32_t>(i) - 1) return false;
            }
            return true;
        }
        std::string described() const {
            return "after " + describe(before) + " a tree of " + describe(nodes) + " with parents " + describe(parents);
        }
    };

    /// A third each: of any shape, deep (a chain with few branches), and wide (most nodes follow the root).
    tree some_tree(choices& from) const { return some_tree(from, some_tokens(from, {1, 3, 16}, 24), {1, 6, 32}); }
    tree some_tree(choices& from, std::vector<token> before, amount nodes) const {
        tree grown{.before = std::move(before), .nodes = {}, .parents = {}};
        grown.nodes = some_tokens(from, nodes, grown.before.size() + 2);
        const std::size_t shape = from.below(3);
        for (std::size_t i = 0; i < grown.nodes.size(); ++i) {
            const bool any = shape == 0 || from.below(16) == 15;
            grown.parents.push_back(static_cast<std::int32_t>(any ? from.below(i + 1) : (shape == 1 ? i : 0)) - 1);
        }
        return grown;
    }

    /// `others`: how many tokens of the context the rest of the input may take.
    std::vector<token> some_tokens(choices& from, amount wanted, std::size_t others = 0) const {
        const std::size_t context = model_.context_length();
        const std::size_t room = context > others ? context - others : 0;
        const std::size_t many = std::max(std::min(wanted.many, room), wanted.few);
        const std::size_t kind = from.below(8);
        auto tokens =
            from.tokens(kind == 7 ? many : wanted.least, kind < 5 ? wanted.few : many, model_.vocabulary_size());
        go_far_out(from, tokens);
        from.note([&] { return "tokens " + describe(tokens); });
        return tokens;
    }

    /// Half of the tokens of a wide vocabulary are those at which ids are cut and vectors end.
    void go_far_out(choices& from, std::vector<token>& tokens) const {
        if (model_.vocabulary_size() < wide_vocabularies.front()) return;
        const auto places = far_places(model_.vocabulary_size());
        for (token& t : tokens) {
            if (from.below(2) == 1) t = places[static_cast<std::size_t>(t) % places.size()];
        }
    }

    /// How many tokens a rewind takes back: as often none, one and all as any other number.
    static std::size_t rewound(choices& from, std::size_t length) {
        const std::size_t any = from.below(length + 1);
        return from.one_of({any, std::size_t{1}, std::size_t{0}, length});
    }

    static std::vector<token> joined(std::vector<token> text, std::span<const token> more) {
        text.insert(text.end(), more.begin(), more.end());
        return text;
    }

    /// Copies of the rows of the last `rows`, in as many passes as the model's limits make of them. Where the model can
    /// leave rows out no others are made.
    row_copies extend(sequence_t<M>& sequence, std::span<const token> tokens, std::size_t rows = all_rows) const {
        row_copies got;
        const std::size_t most = model::limits_of(model_).most_tokens_of_a_pass;
        for (std::size_t first = 0; first < tokens.size(); first += std::min(most, tokens.size() - first)) {
            const auto part = tokens.subspan(first, std::min(most, tokens.size() - first));
            const std::size_t after = tokens.size() - first - part.size();
            const std::size_t wanted =
                rows == all_rows ? part.size() : std::min(part.size(), rows - std::min(rows, after));
            append(got, extend_once(sequence, part, wanted));
        }
        return got;
    }
    row_copies fresh(std::span<const token> tokens, std::size_t rows = all_rows) const {
        auto sequence = model_.make_sequence();
        return extend(sequence, tokens, rows);
    }

    /// The first of them, as many as one pass has at most.
    std::vector<token> at_once(std::vector<token> tokens) const {
        tokens.resize(std::min(tokens.size(), model::limits_of(model_).most_tokens_of_a_pass));
        return tokens;
    }

 public:  // nvcc refuses a protected member that has a requires-clause
    /// The hidden states of all these tokens, and `rows`: theirs.
    row_copies hidden_of(std::span<const token> tokens, row_copies* rows = nullptr) const requires HiddenStateModel<M> {
        auto whole = model_.make_sequence();
        row_copies states;
        for (std::size_t part = 0; !tokens.empty(); tokens = tokens.subspan(part)) {
            part = std::min(tokens.size(), model::limits_of(model_).most_tokens_of_a_pass);
            const row_copies made = copy_of(model_.extend(whole, tokens.first(part)));
            append(states, copy_of(model_.hidden(std::as_const(whole))));
            if (rows != nullptr) append(*rows, made);
        }
        return states;
    }

 protected:
    /// `misuse` must throw, and leave the sequence as it was.
    template <class Misuse>
    std::string refused(std::vector<token> tokens, const std::string& what, const Misuse& misuse) const {
        auto sequence = model_.make_sequence();
        extend(sequence, tokens, 0);
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
        const auto got = extend(sequence, std::vector<token>{0});
        tokens.push_back(0);
        return wrong(fresh(tokens, 1), got, describe(tokens), ", the last after a refused ", what);
    }

    template <class... Where>
    std::string wrong(const row_copies& expected, const row_copies& got, const Where&... where) const {
        return errors_.wrong(expected, got, [&] { return augur::detail::message(where...); });
    }
    template <class... What>
    static std::string said(const std::vector<token>& tokens, const What&... what) {
        return augur::detail::message("tokens ", describe(tokens), ": ", what...);
    }

    const M& model_;
    row_errors& errors_;

 private:
    row_copies extend_once(sequence_t<M>& sequence, std::span<const token> part, std::size_t wanted) const {
        if constexpr (ScoresLastRows<M>) {
            if (wanted < part.size()) return copy_of(model_.extend(sequence, part, wanted));
        }
        row_copies all = copy_of(model_.extend(sequence, part));
        return wanted < part.size() && all.size() == part.size() ? last_of(all, wanted) : all;
    }
};

}  // namespace augur::testing
