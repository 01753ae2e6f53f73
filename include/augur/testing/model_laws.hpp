#pragma once
// The law suite of Model and its refinements, on random tokens.

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/model/concepts.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/run.hpp"
#include "augur/testing/choices.hpp"
#include "augur/testing/compare_rows.hpp"
#include "augur/testing/model_inputs.hpp"
#include "augur/testing/model_rounds.hpp"
#include "augur/testing/refined_model_laws.hpp"
#include "augur/testing/report.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

/// Every law of Model is a function of one random input that says what is wrong with it, or nothing.
template <Model M>
class model_law_cases : public model_inputs<M> {
 public:
    using model_inputs<M>::model_inputs;

    std::string one_row_per_token(choices& from) const {
        auto sequence = model_.make_sequence();
        std::size_t expected = 0;
        for (int part = 0; part < 2; ++part) {
            const auto tokens = some_tokens(from, {1, 3, part == 0 ? long_text : wide_pass}, part == 0 ? 3 : expected);
            expected += tokens.size();
            const auto rows = extend(sequence, tokens);
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
        const auto tokens = some_tokens(from, {1, 8, wide_pass});
        auto sequence = model_.make_sequence();
        row_copies got;
        std::vector<std::size_t> parts;
        for (std::span<const token> rest(tokens); !rest.empty(); rest = rest.subspan(parts.back())) {
            parts.push_back(from.between(1, rest.size()));
            append(got, extend(sequence, rest.first(parts.back())));
        }
        return wrong(fresh(tokens), got, "tokens ", describe(tokens), " in parts of ", describe(parts));
    }

    /// Several times in turn: a rewind may leave something that only a later one meets.
    std::string truncated_equals_fresh(choices& from) const {
        auto tokens = some_tokens(from, {1, 6, long_text}, 9);
        auto sequence = model_.make_sequence();
        extend(sequence, tokens, 0);
        std::string where = "tokens " + describe(tokens);
        for (std::size_t rewinds = from.between(1, 3); rewinds > 0; --rewinds) {
            const std::size_t kept = tokens.size() - rewound(from, tokens.size());
            const auto more = some_tokens(from, {1, 3, wide_pass}, kept + 3 * rewinds);
            model_.truncate(sequence, kept);
            where += augur::detail::message(" truncated to ", kept, " and extended by ", describe(more));
            if (model_.length(sequence) != kept) {
                return where + ": length is " + std::to_string(model_.length(sequence));
            }
            const auto got = extend(sequence, more);
            tokens.resize(kept);
            tokens.insert(tokens.end(), more.begin(), more.end());
            std::string found = wrong(fresh(tokens, more.size()), got, where);
            if (!found.empty()) return found;
        }
        return "";
    }

    std::string sequences_do_not_interfere(choices& from) const {
        const auto a = some_tokens(from, {1, 4, long_text});
        const auto b = some_tokens(from, {1, 4, long_text});
        auto first = model_.make_sequence();
        auto second = model_.make_sequence();
        row_copies got;
        const auto part_of = [&](std::span<const token> text, std::size_t done) {
            return text.subspan(done, from.between(1, text.size() - done));
        };
        for (std::size_t of_a = 0, of_b = 0; of_a < a.size() || of_b < b.size();) {
            if (of_a < a.size()) {
                const auto part = part_of(a, of_a);
                append(got, extend(first, part));
                of_a += part.size();
            }
            if (of_b < b.size()) {
                const auto part = part_of(b, of_b);
                extend(second, part, 0);
                of_b += part.size();
            }
        }
        return wrong(fresh(a), got, "tokens ", describe(a), " in turn with ", describe(b));
    }

    /// While another sequence is extended; or cut, where rows end with the next run of any.
    std::string rows_stay_valid(choices& from) const {
        const pass_limits most = model::limits_of(model_);
        const auto a = this->at_once(some_tokens(from, {1, 3, wide_pass}));
        const auto b = some_tokens(from, {1, 3, wide_pass});
        auto first = model_.make_sequence();
        auto second = model_.make_sequence();
        if (most.rows_end_with_next_run) extend(second, b, 0);
        const auto rows = model_.extend(first, a);
        const row_copies before = copy_of(rows);
        if (!most.rows_end_with_next_run) {
            extend(second, b, 0);
            return wrong(before, copy_of(rows), "rows of ", describe(a), " after another sequence ran ", describe(b));
        }
        auto third = model_.make_sequence();
        model_.truncate(second, model_.length(second) - 1);
        return wrong(before, copy_of(rows), "rows of ", describe(a), " after another sequence of ", describe(b),
                     " was cut by one");
    }

    /// As large as the limits allow: what model::run asks for may not be refused.
    std::string largest_passes_are_run(choices&) const requires HasPassLimits<M> {
        const pass_limits most = model_.limits();
        const std::size_t room = std::min(model_.context_length() - 1, largest_pass);
        const std::size_t count = std::min(most.most_tokens_of_a_pass, room);
        auto sequence = model_.make_sequence();
        const std::vector<token> tokens(std::max({count, room, std::size_t{1}}));
        model::run<M>(model_, {.sequence = &sequence, .tokens = std::span(tokens).first(count), .rows = 0});
        if (model_.length(sequence) != count) return augur::detail::message("length ", model_.length(sequence));
        if (!model::supports(model_, pass_features::trees)) return "";
        model_.truncate(sequence, 1);
        const std::size_t leaves = std::min({most.most_leaves, most.most_tree_nodes, count, room - 1});
        const std::vector<std::int32_t> parents(leaves, -1);
        model::run<M>(model_, {.sequence = &sequence,
                               .tokens = std::span(tokens).first(leaves),
                               .parents = parents,
                               .rows = std::min<std::size_t>(leaves, 1)});
        return "";
    }

    std::string truncating_beyond_throws(choices& from) const {
        const auto tokens = some_tokens(from, {1, 4, long_text});
        const std::size_t beyond = tokens.size() + from.between(1, 3);
        return refused(tokens, augur::detail::message("truncate to ", beyond),
                       [&](auto& sequence) { model_.truncate(sequence, beyond); });
    }

    /// In passes of up to 1024 tokens.
    std::string whole_context_fits() const {
        const std::size_t context = model_.context_length();
        auto sequence = model_.make_sequence();
        for (std::size_t length = 0; length < context; length = model_.length(sequence)) {
            const std::vector<token> tokens(std::min<std::size_t>(1024, context - length));
            extend(sequence, tokens, 0);
            if (model_.length(sequence) == length + tokens.size()) continue;
            return augur::detail::message(length, " tokens, extended by ", tokens.size(), ": length is ",
                                          model_.length(sequence));
        }
        return "";
    }

    std::string extending_past_the_context_throws(choices& from) const {
        const auto tokens = some_tokens(from, {1, 4, long_text});
        const std::size_t over = model_.context_length() - tokens.size() + from.between(1, 3);
        const std::vector<token> too_many(over, 0);
        return refused(tokens, augur::detail::message("extend by ", over),
                       [&](auto& sequence) { model_.extend(sequence, too_many); });
    }

 private:
    static constexpr std::size_t largest_pass = 1024;  ///< that is tried

    using model_inputs<M>::extend;
    using model_inputs<M>::fresh;
    using model_inputs<M>::model_;
    using model_inputs<M>::refused;
    using model_inputs<M>::rewound;
    using model_inputs<M>::said;
    using model_inputs<M>::some_tokens;
    using model_inputs<M>::wrong;
};

/// Tokens of a context that a sequence is filled with to see whether it is there.
inline constexpr std::size_t longest_text = 1u << 14;

/// Goes on beyond its least number of cases for a tenth of a second in all.
inline constexpr effort a_tenth_of_a_second{.seconds = 0.1};

/// Checks every law that `model` states by the concepts it models, and that model::run makes passes of it: by its own
/// run, or of what it has. Rows are compared bit for bit, or, where the model says that its rows are not bitwise, to
/// `tolerance` times 1 + the logit. A law that holds but for rounding beyond that (row_errors) is reported so and not
/// kept, with the largest error: this tells a quantised engine from a wrong one. Needs a context of at least 16 tokens;
/// texts are up to 40 and passes up to 64 tokens long where it allows that.
/// By default each law is checked on 50 inputs, and on further ones of the same sequence until its share of a tenth of
/// a second has passed. So a model that keeps the laws is found to keep them on any machine; one that breaks a law on
/// rare inputs may be found out on a fast one only. `model_laws(model, {.cases = 1000})` takes as many inputs
/// everywhere. Cost: about 15 passes per case, and a text as long as the context, if that is at most `longest_text`; no
/// rows that nobody reads, if the model can leave them out. `tries.progress` is told each law that has been checked.
template <Model M>
report model_laws(const M& model, const effort& tries = a_tenth_of_a_second, double tolerance = 1e-3) {
    report r{"model_laws"};
    row_errors errors(has_bitwise_rows<M> ? 0 : tolerance);
    constexpr bool shows_trees = TreeModel<M> && HiddenStateModel<M>;
    using c = model_law_cases<M>;
    using refined = refined_model_law_cases<M>;
    using rounds = model_round_cases<M>;
    const c cases(model, errors);
    const refined more(model, errors);
    const rounds played(model, errors);
    effort each = tries;
    each.seconds /= static_cast<double>(13 + ScoresLastRows<M> + TreeModel<M> + 2 * HiddenStateModel<M> + shows_trees +
                                        2 * SplitModel<M>);
    const auto law = [&](const char* name, const auto& of, auto member) {
        errors.begin();
        check(r, name, each, [&](choices& from) { return (of.*member)(from); });
        if (!errors.rounding().empty() && !r.breaks(name)) r.rounded.push_back({name, errors.rounding()});
    };
    law("one row per new token, as long as the vocabulary", cases, &c::one_row_per_token);
    law("extending in parts equals extending at once", cases, &c::parts_equal_the_whole);
    law("truncating and extending equals a fresh sequence", cases, &c::truncated_equals_fresh);
    law("sequences do not interfere", cases, &c::sequences_do_not_interfere);
    if (model::limits_of(model).rows_end_with_next_run) {
        r.skip("rows stay valid while other sequences are extended", "the model says that they end with the next run");
        law("rows stay valid until the next run", cases, &c::rows_stay_valid);
    } else {
        law("rows stay valid while other sequences are extended", cases, &c::rows_stay_valid);
    }
    if constexpr (HasPassLimits<M>) {
        check(r, "a pass may be as large as the limits say", {.cases = 1},
              [&](choices& from) { return cases.largest_passes_are_run(from); });
    }
    law("truncating beyond the length throws and changes nothing", cases, &c::truncating_beyond_throws);
    if (model.context_length() <= longest_text) {
        check(r, "a sequence can have all tokens of the context", {.cases = 1},
              [&](choices&) { return cases.whole_context_fits(); });
    } else {
        r.skip("a sequence can have all tokens of the context",
               "a context of more than " + std::to_string(longest_text) + " tokens");
    }
    if (model.context_length() <= (1u << 20)) {
        law("extending past the context throws and changes nothing", cases, &c::extending_past_the_context_throws);
    } else {
        r.skip("extending past the context throws and changes nothing", "a context of more than 2^20 tokens");
    }
    if constexpr (ScoresLastRows<M>) {
        law("the last rows equal those of the full extend", more, &refined::last_rows_equal_those_of_all);
    }
    law("a pass equals extend", more, &refined::a_pass_equals_extend);
    law("a row of a tree equals its path's alone", more, &refined::tree_rows_equal_their_paths);
    law("keep leaves the sequence as if the path had been extended", more, &refined::keep_leaves_the_path);
    if constexpr (TreeModel<M>) {
        const model::tree_room room = model::room_for_tree(model);
        if (model::supports(model, pass_features::trees) && room.nodes > 3 && room.leaves > 1) {
            law("keep of a wrong path throws and changes nothing", more, &refined::wrong_paths_are_refused);
        } else {
            r.skip("keep of a wrong path throws and changes nothing", "by its limits the model runs no such trees");
        }
    }
    law("passes run together equal each alone", more, &refined::passes_together_equal_each_alone);
    law("a run with a wrong pass throws and changes nothing", more, &refined::wrong_passes_are_refused);
    if constexpr (HiddenStateModel<M>) {
        law("hidden rows equal recomputation", more, &refined::hidden_rows_equal_recomputation);
        law("states of a pass equal those of extend", more, &refined::states_of_a_pass_equal_those_of_extend);
    }
    if constexpr (shows_trees) {
        law("states of a tree equal those of its paths", more, &refined::states_of_a_tree_equal_those_of_its_paths);
    }
    if constexpr (SplitModel<M>) {
        law("shallow then deep equals extend", more, &refined::split_equals_whole);
        law("appending while positions wait throws and changes nothing", played, &rounds::waiting_refuses_others);
    }
    law("several rounds equal a fresh sequence", played, &rounds::rounds_equal_fresh);
    r.largest_error = errors.largest();
    return r;
}

}  // namespace augur::testing
