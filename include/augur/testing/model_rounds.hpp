#pragma once
// The law suite of models over several rounds: whatever was done with a sequence, it continues like a fresh one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/model/run.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/model_inputs.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// Every law is a function of one random input that says what is wrong with it, or nothing.
template <Model M>
class model_round_cases : public model_inputs<M> {
    using typename model_inputs<M>::tree;

 public:
    using model_inputs<M>::model_inputs;

    /// A second tree, a chain after a kept path, a rewind behind one, layers after a rewind: what a round leaves behind
    /// may be met by the next one only.
    std::string rounds_equal_fresh(choices& from) const {
        played now = begun(from);
        std::string found;
        for (std::size_t rounds = from.between(2, 6); rounds > 0 && found.empty(); --rounds) found = any(from, now);
        if constexpr (SplitModel<M>) {
            if (found.empty() && now.waiting > 0) found = deep(from, now);
        }
        return found.empty() ? chain(from, now, 1) : found;
    }

    /// Through all layers, or through others than those of the positions that wait.
    std::string waiting_refuses_others(choices& from) const requires SplitModel<M> {
        played now = begun(from);
        std::string found = shallow(from, now, 3);
        const std::vector<token> one(1);
        const std::vector<std::int32_t> parents(1, -1);
        const std::size_t other = now.split > 1 ? 1 : 2;
        const auto refuses = [&](const char* what, const auto& append) {
            if (!found.empty()) return;
            try {
                append();
                found = now.where + ": " + what + " did not throw";
            } catch (const std::exception&) {
                found = wrong_size(now);
                if (!found.empty()) found += augur::detail::message(", after a refused ", what);
            }
        };
        refuses("extend", [&] { model_.extend(now.sequence, one); });
        refuses("pass", [&] { model::run<M>(model_, {.sequence = &now.sequence, .tokens = one}); });
        if (other <= model_.layer_count()) {
            refuses("pass to another layer",
                    [&] { model::run<M>(model_, {.sequence = &now.sequence, .tokens = one, .to_layer = other}); });
        }
        if constexpr (TreeModel<M>) {
            refuses("tree",
                    [&] { model::run<M>(model_, {.sequence = &now.sequence, .tokens = one, .parents = parents}); });
        }
        return found.empty() ? deep(from, now) : found;
    }

 private:
    using model_inputs<M>::extend;
    using model_inputs<M>::joined;
    using model_inputs<M>::model_;
    using model_inputs<M>::rewound;
    using model_inputs<M>::some_tokens;
    using model_inputs<M>::some_tree;
    using model_inputs<M>::wrong;

    static constexpr std::size_t most_nodes = 4;  ///< of a tree, and more than a chain's tokens

    /// A sequence, what it should hold, and what was done with it.
    struct played {
        sequence_t<M> sequence;
        std::vector<token> text;
        std::string where;
        std::size_t waiting = 0;  ///< of its last tokens
        std::size_t split = 0;    ///< layers that these have been through
    };
    struct answers {
        row_copies rows, states;
    };

    played begun(choices& from) const {
        played round{.sequence = model_.make_sequence(), .text = some_tokens(from, {1, 3, 16}, 8), .where = {}};
        extend(round.sequence, round.text, 0);
        round.where = "after " + describe(round.text);
        return round;
    }

    std::string any(choices& from, played& now) const {
        const bool fits = now.text.size() + most_nodes < model_.context_length();
        if (!fits || from.below(4) == 3) return rewind(from, now);
        if constexpr (SplitModel<M>) {
            if (now.waiting > 0) return from.below(3) < 2 ? deep(from, now) : shallow(from, now, 3);
            if (from.below(TreeModel<M> ? 3 : 2) == 1) return shallow(from, now, 3);
        }
        return from.below(3) < (TreeModel<M> ? 1 : 2) ? chain(from, now, 3) : branched(from, now);
    }

    std::string rewind(choices& from, played& now) const {
        const std::size_t length = now.text.size(), finished = length - now.waiting;
        const std::size_t left = length - std::min(rewound(from, length), length);
        model_.truncate(now.sequence, left);
        now.text.resize(left);
        now.waiting = left - std::min(left, finished);
        now.where += augur::detail::message("; truncated to ", left);
        return wrong_size(now);
    }

    std::string chain(choices& from, played& now, std::size_t most) const {
        const auto tokens = some_tokens(from, {1, most, most});
        const std::size_t first = now.text.size();
        now.text = joined(std::move(now.text), tokens);
        const bool extends = from.below(2) == 0;
        now.where += (extends ? "; extended by " : "; a pass of ") + describe(tokens);
        const row_copies got =
            extends ? extend(now.sequence, tokens)
                    : copy_of(model::run<M>(
                          model_, {.sequence = &now.sequence, .tokens = tokens, .states = HiddenStateModel<M>}));
        return compared(now, fresh_last(now.text, now.text.size() - first), got, HiddenStateModel<M>);
    }

    /// A tree, of which then a path is kept, or nothing is done with it.
    std::string branched(choices& from, played& now) const {
        constexpr bool shows = TreeModel<M> && HiddenStateModel<M>;
        const tree drawn = some_tree(from, now.text, {1, most_nodes, most_nodes});
        const std::size_t nodes = drawn.nodes.size();
        const std::size_t rows = from.one_of({nodes, from.below(nodes + 1)});
        const pass<sequence_t<M>> asked{
            .sequence = &now.sequence, .tokens = drawn.nodes, .parents = drawn.parents, .rows = rows, .states = shows};
        const auto got = copy_of(model::run<M>(model_, asked));
        now.where += augur::detail::message("; a tree of ", describe(drawn.nodes), " with parents ",
                                            describe(drawn.parents), ", ", rows, " rows");
        answers expected;
        for (std::size_t i = shows ? 0 : nodes - rows; i < nodes; ++i) {
            const answers alone = fresh_last(drawn.text_of(i), 1);
            if (i >= nodes - rows) append(expected.rows, alone.rows);
            append(expected.states, alone.states);
        }
        const std::string found = compared(now, expected, got, shows);
        if (!found.empty() || from.below(4) == 3) return found;
        const auto path = drawn.path_to(static_cast<std::int32_t>(from.below(nodes + 1)) - 1);
        const std::size_t kept = model::keep(model_, asked, path);
        for (const std::size_t node : std::span(path).first(kept)) now.text.push_back(drawn.nodes[node]);
        now.where += ", keeping " + describe(std::span(path).first(kept));
        return wrong_size(now);
    }

    std::string shallow(choices& from, played& now, std::size_t most) const requires SplitModel<M> {
        const auto tokens = some_tokens(from, {1, most, most});
        const std::size_t layers = std::max<std::size_t>(model_.layer_count(), 2);
        if (now.waiting == 0) now.split = from.between(1, layers - 1);
        model::run<M>(model_, {.sequence = &now.sequence, .tokens = tokens, .to_layer = now.split});
        now.text = joined(std::move(now.text), tokens);
        now.waiting += tokens.size();
        now.where += "; " + describe(tokens) + " through layers to " + std::to_string(now.split);
        return wrong_size(now);
    }

    std::string deep(choices& from, played& now) const requires SplitModel<M> {
        const std::size_t finished = std::exchange(now.waiting, 0);
        const std::size_t rows = from.one_of({finished, from.below(finished + 1)});
        const auto got = copy_of(
            model::run<M>(model_, {.sequence = &now.sequence, .rows = rows, .from_layer = now.split, .states = true}));
        now.where += augur::detail::message("; the other layers, ", rows, " rows");
        answers expected = fresh_last(now.text, finished);
        expected.rows = last_of(expected.rows, rows);
        return compared(now, expected, got, true);
    }

    /// What a fresh sequence shows of the last `count` tokens of a text.
    answers fresh_last(const std::vector<token>& text, std::size_t count) const {
        answers said;
        if constexpr (HiddenStateModel<M>) {
            said.states = last_of(this->hidden_of(text, &said.rows), count);
            said.rows = last_of(said.rows, count);
        } else {
            said.rows = this->fresh(text, count);
        }
        return said;
    }

    std::string compared(const played& now, const answers& expected, const row_copies& got, bool states) const {
        std::string found = wrong_size(now);
        if (found.empty()) found = wrong(expected.rows, got, now.where);
        if constexpr (HiddenStateModel<M>) {
            if (found.empty() && states) {
                found = wrong(expected.states, copy_of(model_.hidden(now.sequence)), now.where, ", states");
            }
        }
        return found;
    }

    std::string wrong_size(const played& now) const {
        const auto length = static_cast<std::size_t>(model_.length(now.sequence));
        if (length != now.text.size()) {
            return augur::detail::message(now.where, ": length is ", length, ", not ", now.text.size());
        }
        if constexpr (SplitModel<M>) {
            const auto waiting = static_cast<std::size_t>(model_.waiting(now.sequence));
            if (waiting != now.waiting) {
                return augur::detail::message(now.where, ": ", waiting, " positions wait, not ", now.waiting);
            }
        }
        return "";
    }
};

}  // namespace augur::testing
