#pragma once
// The law suites of Model's refinements: last rows, trees, hidden states, split passes, batches.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/model/run.hpp"
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
        const auto tokens = at_once(some_tokens(from, {1, 6, wide_pass}));
        const std::size_t last = from.below(tokens.size() + 1);
        auto sequence = model_.make_sequence();
        const auto got = copy_of(model_.extend(sequence, tokens, last));
        if (model_.length(sequence) != tokens.size()) return said(tokens, "length ", model_.length(sequence));
        return wrong(last_of(fresh(tokens), last), got, "the last ", last, " of ", describe(tokens));
    }

    std::string a_pass_equals_extend(choices& from) const {
        const auto before = some_tokens(from, {1, 3, long_text}, 6);
        const auto tokens = some_tokens(from, {1, 6, wide_pass}, before.size());
        const std::size_t rows = from.below(tokens.size() + 1);
        auto sequence = model_.make_sequence();
        extend(sequence, before, 0);
        const auto got = copy_of(model::run<M>(model_, {.sequence = &sequence, .tokens = tokens, .rows = rows}));
        const auto text = joined(before, tokens);
        const std::string where =
            augur::detail::message(describe(before), ", then a pass of ", describe(tokens), " with ", rows, " rows");
        if (model_.length(sequence) != text.size())
            return where + ": length is " + std::to_string(model_.length(sequence));
        return wrong(fresh(text, rows), got, where);
    }

    std::string tree_rows_equal_their_paths(choices& from) const {
        const tree drawn = some_tree(from);
        const std::size_t nodes = drawn.nodes.size(), rows = from.one_of({nodes, from.below(nodes + 1)});
        auto sequence = model_.make_sequence();
        extend(sequence, drawn.before, 0);
        const auto got = copy_of(model::run<M>(
            model_, {.sequence = &sequence, .tokens = drawn.nodes, .parents = drawn.parents, .rows = rows}));
        if (model_.length(sequence) != drawn.before.size()) {
            return drawn.described() + ": length is " + std::to_string(model_.length(sequence));
        }
        row_copies expected;
        for (std::size_t i = nodes - rows; i < nodes; ++i) append(expected, fresh(drawn.text_of(i), 1));
        return wrong(expected, got, drawn.described(), ", rows of the last ", rows);
    }

    /// By what the model keeps, and by extending by the rest.
    std::string keep_leaves_the_path(choices& from) const {
        const tree drawn = some_tree(from);
        const auto path = drawn.path_to(static_cast<std::int32_t>(from.below(drawn.nodes.size() + 1)) - 1);
        auto sequence = model_.make_sequence();
        extend(sequence, drawn.before, 0);
        const pass<sequence_t<M>> asked{
            .sequence = &sequence, .tokens = drawn.nodes, .parents = drawn.parents, .rows = 0};
        model::run<M>(model_, asked);
        const std::size_t kept = model::keep(model_, asked, path);
        const auto more = some_tokens(from, {1, 2});
        const std::string where = drawn.described() + ", keeping " + describe(path);
        if (model_.length(sequence) != drawn.before.size() + kept) {
            return where + ": length is " + std::to_string(model_.length(sequence));
        }
        std::vector<token> rest;
        for (const std::size_t node : std::span(path).subspan(kept)) rest.push_back(drawn.nodes[node]);
        rest.insert(rest.end(), more.begin(), more.end());
        std::vector<token> text = drawn.before;
        for (const std::size_t node : path) text.push_back(drawn.nodes[node]);
        const auto got = extend(sequence, rest, more.size());
        return wrong(fresh(joined(text, more), more.size()), got, where, ", then ", describe(more));
    }

    /// Of a model's own `keep`: paths that are none, of a tree that another has replaced, and after the sequence has
    /// changed.
    std::string wrong_paths_are_refused(choices& from) const requires KeepsPaths<M> {
        const auto tokens = some_tokens(from, {2, 4});
        const std::vector<token> nodes(3);
        const std::vector<std::int32_t> parents{-1, 0, 0};  // a node with two children
        using path = std::vector<std::size_t>;
        const auto score = [&](sequence_t<M>& sequence, std::size_t count) {
            model::run<M>(model_, {.sequence = &sequence,
                                   .tokens = std::span(nodes).first(count),
                                   .parents = std::span(parents).first(count),
                                   .rows = 0});
        };
        struct wrong_path {
            const char* what;
            path kept;
            std::size_t next = 0;  ///< nodes of a tree that is scored after the first
        };
        for (const wrong_path& each : {wrong_path{"keep of a child without its parent", {1}},
                                       {"keep of two siblings", {0, 1, 2}},
                                       {"keep of a node twice", {0, 0}},
                                       {"keep of a node that there is not", {0, 3}},
                                       {"keep of a tree that another replaced", {0, 1}, 1}}) {
            std::string found = refused(tokens, each.what, [&](sequence_t<M>& sequence) {
                score(sequence, nodes.size());
                if (each.next > 0) score(sequence, each.next);
                model_.keep(sequence, each.kept);
            });
            if (!found.empty()) return found;
        }
        return refused(tokens, "keep after the sequence was cut", [&](sequence_t<M>& sequence) {
            extend(sequence, std::vector<token>{0}, 0);
            score(sequence, nodes.size());
            model_.truncate(sequence, tokens.size());
            model_.keep(sequence, path{0});
        });
    }

    /// Chains, now and then trees, of several sequences, some rows of each.
    std::string passes_together_equal_each_alone(choices& from) const {
        const std::size_t members = from.between(2, 4);
        const bool all_chains = from.below(4) != 3;  // else a model without trees runs them one by one
        std::vector<tree> drawn;
        std::vector<sequence_t<M>> sequences;
        std::vector<pass<sequence_t<M>>> passes;
        row_copies expected, got;
        std::string where = "run together";
        for (std::size_t i = 0; i < members; ++i) {
            drawn.push_back(some_tree(from));
            sequences.push_back(model_.make_sequence());
            extend(sequences[i], drawn[i].before, 0);
            if (!all_chains && from.below(2) != 0) continue;
            drawn[i].nodes = some_tokens(from, {1, 3, wide_pass}, drawn[i].before.size());
            drawn[i].parents.resize(drawn[i].nodes.size());
            std::iota(drawn[i].parents.begin(), drawn[i].parents.end(), -1);
        }
        std::vector<bool> chains;
        for (std::size_t i = 0; i < members; ++i) {
            const tree& own = drawn[i];
            chains.push_back(all_chains || (from.below(2) == 0 && own.is_chain()));
            const std::size_t nodes = own.nodes.size(), rows = from.one_of({nodes, nodes, from.below(nodes + 1)});
            passes.push_back({.sequence = &sequences[i], .tokens = own.nodes, .rows = rows});
            if (!chains[i]) passes[i].parents = own.parents;
            for (std::size_t node = nodes - rows; node < nodes; ++node) append(expected, fresh(own.text_of(node), 1));
            where += (i == 0 ? ": " : "; ") + own.described() + augur::detail::message(", ", rows, " rows");
        }
        std::vector<model::pass_rows<M>> results(members);
        model::run<M>(model_, passes, results);
        for (const auto& rows : results) append(got, copy_of(rows));
        for (std::size_t i = 0; i < members; ++i) {
            const std::size_t length = drawn[i].before.size() + (chains[i] ? drawn[i].nodes.size() : 0);
            if (model_.length(sequences[i]) == length) continue;
            return augur::detail::message(where, ": length ", i, " is ", model_.length(sequences[i]), ", not ", length);
        }
        return wrong(expected, got, where);
    }

    /// Nothing of a run is done when one of its passes is wrong.
    std::string wrong_passes_are_refused(choices& from) const {
        const auto tokens = some_tokens(from, {2, 4});
        const std::vector<std::int32_t> forward{-1, 1}, backward{-2, 0}, few{-1};
        const std::vector<token> two(2);
        auto apart = model_.make_sequence(), any = model_.make_sequence();
        using asked = pass<sequence_t<M>>;
        struct wrong_pass {
            const char* what;
            asked second;
        };
        std::vector<wrong_pass> wrong_passes{
            {"a pass with a token that follows itself", {.sequence = &any, .tokens = two, .parents = forward}},
            {"a pass with a token that follows the one before the last",
             {.sequence = &any, .tokens = two, .parents = backward}},
            {"a pass with one parent of two", {.sequence = &any, .tokens = two, .parents = few}},
            {"a pass for three rows of two", {.sequence = &any, .tokens = two, .rows = 3}},
            {"a pass through layers beyond the last", {.sequence = &any, .tokens = two, .to_layer = 1u << 20}},
            {"a pass on the sequence of another", {.sequence = &apart, .tokens = two}},
            {"a pass without a sequence", {.sequence = nullptr, .tokens = two}}};
        const std::vector<token> over(std::min<std::size_t>(model_.context_length(), 1u << 20) + 1);
        if (over.size() > model_.context_length()) {
            wrong_passes.push_back({"a pass past the context", {.sequence = &any, .tokens = over, .rows = 1}});
        }
        for (const wrong_pass& each : wrong_passes) {
            std::string found = refused(tokens, each.what, [&](sequence_t<M>& sequence) {
                std::vector<asked> passes{{.sequence = &apart, .tokens = two}, each.second};
                if (passes[1].sequence == &any) passes[1].sequence = &sequence;
                std::vector<model::pass_rows<M>> results(2);
                model::run<M>(model_, passes, results);
            });
            if (!found.empty()) return found;
            if (model_.length(apart) == 0) continue;
            return said(tokens, each.what, ", refused, left its neighbour with a length of ", model_.length(apart));
        }
        return "";
    }

    std::string hidden_rows_equal_recomputation(choices& from) const {
        const auto tokens = at_once(some_tokens(from, {2, 6, wide_pass}));
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

    std::string states_of_a_pass_equal_those_of_extend(choices& from) const {
        const auto tokens = at_once(some_tokens(from, {2, 6, wide_pass}));
        const std::size_t first = from.between(1, tokens.size() - 1), rows = from.below(first + 1);
        const auto expected = hidden_of(tokens);
        auto parts = model_.make_sequence();
        const auto part = std::span(tokens).first(first);
        const auto states =
            copy_of(model::run<M>(model_, {.sequence = &parts, .tokens = part, .rows = rows, .states = true}));
        row_copies got = copy_of(model_.hidden(parts));
        const std::string where = augur::detail::message("states of ", describe(tokens), " in a pass of the first ",
                                                         first, " with ", rows, " rows");
        std::string found = wrong(fresh(part, rows), states, where, ", its rows");
        if (!found.empty()) return found;
        model_.extend(parts, std::span(tokens).subspan(first));
        append(got, copy_of(model_.hidden(parts)));
        return wrong(expected, got, where);
    }

    std::string states_of_a_tree_equal_those_of_its_paths(choices& from) const {
        const tree drawn = some_tree(from);
        const std::size_t nodes = drawn.nodes.size(), rows = from.below(nodes + 1);
        auto sequence = model_.make_sequence();
        extend(sequence, drawn.before, 0);
        const auto shown = copy_of(model::run<M>(
            model_,
            {.sequence = &sequence, .tokens = drawn.nodes, .parents = drawn.parents, .rows = rows, .states = true}));
        const auto got = copy_of(model_.hidden(sequence));
        row_copies expected, states;
        for (std::size_t i = 0; i < nodes; ++i) {
            const auto text = drawn.text_of(i);
            append(states, last_of(hidden_of(text), 1));
            if (i >= nodes - rows) append(expected, fresh(text, 1));
        }
        const std::string where = augur::detail::message(drawn.described(), ", with states and ", rows, " rows");
        std::string found = wrong(expected, shown, where);
        return found.empty() ? wrong(states, got, where, ", its states") : found;
    }

    std::string split_equals_whole(choices& from) const {
        const auto before = some_tokens(from, {1, 3, long_text}, 6);
        const auto a = at_once(some_tokens(from, {1, 3, wide_pass}, before.size() + 3));
        const auto b = at_once(some_tokens(from, {0, 3, wide_pass}, before.size() + a.size()));
        const std::size_t split = from.between(1, std::max<std::size_t>(model_.layer_count(), 2) - 1);
        const std::size_t waiting = a.size() + b.size(), rows = from.one_of({waiting, from.below(waiting + 1)});
        auto sequence = model_.make_sequence();
        extend(sequence, before, 0);
        for (const auto& part : {a, b}) {
            if (part.empty()) continue;
            model::run<M>(model_, {.sequence = &sequence, .tokens = part, .to_layer = split});
        }
        const auto text = joined(joined(before, a), b);
        const std::string where = augur::detail::message(describe(before), ", then ", describe(a), " and ", describe(b),
                                                         " split after layer ", split, ", rows of the last ", rows);
        if (model_.waiting(sequence) != waiting || model_.length(sequence) != text.size()) {
            return augur::detail::message(where, ": ", model_.waiting(sequence), " positions wait of ",
                                          model_.length(sequence));
        }
        const auto got =
            copy_of(model::run<M>(model_, {.sequence = &sequence, .rows = rows, .from_layer = split, .states = true}));
        if (model_.waiting(sequence) != 0) return where + ": positions still wait";
        const std::string found = wrong(fresh(text, rows), got, where);
        if (!found.empty()) return found;
        return wrong(last_of(hidden_of(text), waiting), copy_of(model_.hidden(sequence)), where, ", states");
    }

 private:
    using model_inputs<M>::at_once;
    using model_inputs<M>::extend;
    using model_inputs<M>::fresh;
    using model_inputs<M>::hidden_of;
    using model_inputs<M>::joined;
    using model_inputs<M>::model_;
    using model_inputs<M>::refused;
    using model_inputs<M>::said;
    using model_inputs<M>::some_tokens;
    using model_inputs<M>::some_tree;
    using model_inputs<M>::wrong;
};

}  // namespace augur::testing
