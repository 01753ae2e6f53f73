#pragma once
// A model's sequence with the tokens that it holds, so that it can be moved to any prefix.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/flow/task.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/hidden_states.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/pass_work.hpp"
#include "augur/model/run.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/text_follower.hpp"

namespace augur::model {

/// The tokens [0, size) of a sequence are known, so rewinding is never a matter of counting: whatever was speculated
/// before, the cache is truncated to what it shares with the tokens asked about, and extended by the rest. What it
/// shares with a prefix is found in time that does not depend on its length (text_follower).
template <Model M>
class cached_sequence {
 public:
    explicit cached_sequence(const M& model) : model_(&model), sequence_(model.make_sequence()) {}

    const M& model() const { return *model_; }
    const sequence_t<M>& sequence() const { return sequence_; }
    std::span<const token> tokens() const { return tokens_; }

    class asked;
    class asked_tree;

    /// co_await ask(tokens, rows): the last `rows` rows (1 <= rows <= tokens.size()), as model::pass_rows; the cache
    /// then holds exactly `tokens`. Cost: one pass over what the cache lacks, at least `rows`. Where the model throws,
    /// or the round ends while it waits, the cache stays usable.
    /// Where the positions asked for wait (advance), it is one over the layers that they lack.
    asked ask(const prefix_tokens& tokens, std::size_t rows) { return asked(*this, pass_for(tokens, rows), rows); }

    /// The same at once.
    pass_rows<M> score(const prefix_tokens& tokens, std::size_t rows) {
        if constexpr (SplitModel<M>) {
            if (can_join(tokens)) run_once(advance_pass(tokens, layers_));
        }
        return last_of(run_once(pass_for(tokens, rows)), rows);
    }

    /// co_await advance(tokens, layers): runs the first `layers` layers only, of what the cache lacks, at least of the
    /// last token, whose state is then the last of model().hidden(sequence()). The cache holds exactly `tokens`; these
    /// positions wait for ask(), which finishes all of them from their states, or for whatever else is done with the
    /// cache, which forgets them.
    asked advance(const prefix_tokens& tokens, std::size_t layers) requires SplitModel<M> {
        return asked(*this, advance_pass(tokens, layers), 0);
    }
    /// co_await join(tokens): the same, through the same layers, where positions wait that `tokens` goes on after; else
    /// nothing.
    asked join(const prefix_tokens& tokens) requires SplitModel<M> {
        return can_join(tokens) ? advance(tokens, layers_) : asked(*this, {.sequence = &sequence_}, 0, false);
    }
    /// Positions at the end that wait for their other layers.
    std::size_t waiting() const {
        if constexpr (SplitModel<M>) {
            return model_->waiting(sequence_);
        } else {
            return 0;
        }
    }

    /// co_await ask_tree(tokens, nodes, parents): rows of the last of `tokens` and of each node, whose parent is a node
    /// before it or -1, the last token; or of the last `rows` nodes only. The cache holds neither what it lacked of
    /// `tokens` nor nodes until keep(). In one pass where M runs such a tree (runs_tree); else path by path (run.hpp).
    asked_tree ask_tree(const prefix_tokens& tokens, std::span<const token> nodes,
                        std::span<const std::int32_t> parents, std::size_t rows = all_rows) {
        return asked_tree(*this, tokens, nodes, parents, std::min(rows, nodes.size() + 1));
    }
    /// After ask_tree: holds its tokens and these nodes, a path from the root. Where it went path by path nothing is
    /// held more than before, and what is lacking is computed again when it is asked for.
    void keep(std::span<const std::size_t> path) {
        kept_.clear();
        states_known_ = false;
        if constexpr (TreeModel<M>) {
            if (!tree_waits_) return;
            const std::size_t before = tokens_.size(), chain = tree_tokens_.size() - tree_size_;
            for (std::size_t i = 0; i < chain; ++i) kept_.push_back(i);
            for (std::size_t node : path) kept_.push_back(chain + node);
            make_room(kept_.size());
            model_->keep(sequence_, kept_);
            for (std::size_t place : kept_) tokens_.push_back(tree_tokens_[place]);
            states_at_ = before;
            states_known_ = tree_states_;  // else those of the last rows only
        }
    }

    /// What ask() asks for of `tokens` and the drafted ones after them, or ask_tree() where these have parents: by
    /// `run(pass)`.
    template <class Run>
    void run_by(const prefix_tokens& tokens, std::span<const token> drafted, std::span<const std::int32_t> parents,
                const Run& run) {
        const std::size_t rows = drafted.size() + 1;
        pass<sequence_t<M>> wanted = tree_pass(tokens, drafted, parents, rows);
        wanted.rows = rows;
        tree_states_ = PrefillsStates<M>;
        if (parents.empty()) {
            wanted.parents = {};
            wanted.states = false;
        }
        run(std::as_const(wanted));
        if (parents.empty()) hold(tree_tokens_);
    }

    /// Makes the cache hold exactly `tokens`, without asking for rows.
    void fill(const prefix_tokens& tokens) {
        forget_waiting();
        rewind(tokens);
        const auto missing = tokens.subspan(tokens_.size());
        if (!missing.empty()) run_once({.sequence = &sequence_, .tokens = missing, .rows = 0});
    }

    /// The same, and `see(states)` for each part of what was missing, in order. No row of logits is made where the
    /// model can do without. From here on the states of whatever is computed are made, if need be with rows.
    template <class See>
    void fill(const prefix_tokens& tokens, const See& see) requires HiddenStateModel<M> {
        is_seen_ = true;
        forget_waiting();
        rewind(tokens);
        while (tokens_.size() < tokens.size()) {
            const auto part = tokens.subspan(tokens_.size(), states_at_once(tokens.size() - tokens_.size()));
            run_once({.sequence = &sequence_, .tokens = part, .rows = 0, .states = true});
            see(states(tokens_.size()));
        }
    }

    /// The same by two passes for each part: `see` is shown the states after the first `layers` layers.
    template <class See>
    void fill(const prefix_tokens& tokens, std::size_t layers, const See& see) requires SplitModel<M> {
        forget_waiting();
        rewind(tokens);
        while (tokens_.size() < tokens.size()) {
            const std::size_t first = tokens_.size(), count = states_at_once(tokens.size() - first);
            layers_ = layers;
            run_once({.sequence = &sequence_, .tokens = tokens.subspan(first, count), .to_layer = layers});
            see(hidden_states(first, model_->hidden(sequence_), count));
            run_once({.sequence = &sequence_, .rows = 0, .from_layer = layers});
        }
    }

    /// The states that the last pass made, of those of its tokens that are still held and lie before `end`: of those
    /// too that the cache lacked, where M is a PrefillsStates or fill() has shown states before. None after a tree that
    /// M computed path by path, or a chain that was longer than its passes; then they come with the next chain.
    auto states(std::size_t end) const requires HiddenStateModel<M> {
        auto rows = model_->hidden(sequence_);
        const std::size_t held = std::min(tokens_.size(), end);
        if (!states_known_) return hidden_states(held, std::move(rows), 0);
        if (!kept_.empty()) {
            const std::size_t count = std::max(held, states_at_) - states_at_;
            return hidden_states(states_at_, std::move(rows), std::min(count, kept_.size()), kept_);
        }
        const std::size_t first = states_at_ - rows.size();
        return hidden_states(first, std::move(rows), std::max(held, first) - first);
    }

    /// Nodes and leaves of a tree after `tokens` that one pass takes beside those that the cache lacks of them.
    tree_room room_for_tree(const prefix_tokens& tokens) {
        if constexpr (!HasPassLimits<M>) return {};
        const std::size_t shared = follower_.shared(tokens_, tokens);
        return model::room_for_tree(*model_, tokens.size() - std::min(shared, tokens.size() - 1));
    }

    /// Storage for so many tokens beside the model's own.
    void reserve(std::size_t tokens) { tokens_.reserve(tokens); }

    /// Forgets whatever is not a prefix of `tokens`.
    void rewind(const prefix_tokens& tokens) { cut(follower_.shared(tokens_, tokens)); }

 private:
    /// Bounds the memory that a long prompt's states take.
    static constexpr std::size_t most_states = 512;
    std::size_t most_in_pass() const { return limits_of(*model_).most_tokens_of_a_pass; }
    std::size_t states_at_once(std::size_t tokens) const { return std::min({tokens, most_states, most_in_pass()}); }

    /// The model may hold more than is known of: where it threw, or memory failed behind its back.
    void cut(std::size_t length) {
        tokens_.resize(length);
        follower_.cut(length);
        if (model_->length(sequence_) != length) model_->truncate(sequence_, length);
    }

    /// What is missing of `tokens`, the last `rows` at least.
    std::span<const token> rewind_for(const prefix_tokens& tokens, std::size_t rows) {
        forget_waiting();
        rewind(tokens.first(tokens.size() - rows));
        return tokens.subspan(tokens_.size());
    }

    pass<sequence_t<M>> pass_for(const prefix_tokens& tokens, std::size_t rows) {
        if constexpr (SplitModel<M>) {
            const std::size_t waits = waiting(), longer = std::max(tokens.size(), tokens_.size());
            if (waits >= rows && follower_.shared(tokens_, tokens) == longer) {
                return {.sequence = &sequence_, .rows = rows, .from_layer = layers_, .states = waits > rows};
            }
        }
        const auto missing = rewind_for(tokens, rows);
        return {.sequence = &sequence_,
                .tokens = missing,
                .rows = rows_for(rows, missing.size()),
                .states = PrefillsStates<M> && missing.size() > rows && missing.size() <= most_in_pass()};
    }

    /// Whether passes make the states of all their tokens.
    bool makes_states() const { return PrefillsStates<M> || is_seen_; }
    /// A model that cannot be asked for states shows those of the rows it makes: then more rows are asked for than are
    /// wanted.
    std::size_t rows_for(std::size_t wanted, std::size_t tokens) const {
        return is_seen_ && !PrefillsStates<M> ? tokens : wanted;
    }
    static pass_rows<M> last_of(pass_rows<M> all, std::size_t rows) {
        all.drop(all.size() - rows);
        return all;
    }

    pass<sequence_t<M>> advance_pass(const prefix_tokens& tokens, std::size_t layers) {
        if (layers != layers_) forget_waiting();
        rewind(tokens.first(tokens.size() - 1));
        layers_ = layers;
        return {.sequence = &sequence_, .tokens = tokens.subspan(tokens_.size()), .to_layer = layers};
    }

    bool can_join(const prefix_tokens& tokens) {
        return waiting() > 0 && tokens_.size() < tokens.size() && follower_.shared(tokens_, tokens) == tokens_.size();
    }

    void forget_waiting() {
        if (const std::size_t waits = waiting(); waits > 0) cut(tokens_.size() - waits);
    }

    pass_rows<M> run_once(const pass<sequence_t<M>>& wanted) {
        pass_rows<M> result;
        model::run<M, false>(*model_, {&wanted, 1}, {&result, 1});
        hold(wanted.tokens);
        return result;
    }

    void make_room(std::size_t added) {
        const std::size_t needed = tokens_.size() + added;
        if (needed > tokens_.capacity()) tokens_.reserve(std::max(needed, 2 * tokens_.capacity()));
    }

    void hold(std::span<const token> added) {
        states_known_ = false;
        tokens_.insert(tokens_.end(), added.begin(), added.end());
        kept_.clear();
        states_at_ = tokens_.size();
        states_known_ = waiting() == 0 && added.size() <= most_in_pass();
    }

    pass<sequence_t<M>> tree_pass(const prefix_tokens& tokens, std::span<const token> nodes,
                                  std::span<const std::int32_t> parents, std::size_t rows) {
        const auto missing = rewind_for(tokens, 1);
        const auto chain = static_cast<std::int32_t>(missing.size());
        tree_tokens_.assign(missing.begin(), missing.end());
        tree_tokens_.insert(tree_tokens_.end(), nodes.begin(), nodes.end());
        tree_size_ = nodes.size();
        states_known_ = false;
        tree_states_ = makes_states();
        tree_parents_.clear();
        for (std::int32_t i = 0; i < chain; ++i) tree_parents_.push_back(i - 1);
        for (std::int32_t parent : parents) tree_parents_.push_back(chain + parent);
        pass<sequence_t<M>> wanted{
            .sequence = &sequence_, .tokens = tree_tokens_, .parents = tree_parents_, .rows = rows};
        tree_waits_ = runs_tree(*model_, wanted);
        if (tree_waits_) wanted.rows = rows_for(rows, tree_tokens_.size());
        wanted.states = tree_waits_ && PrefillsStates<M>;
        return wanted;
    }

    const M* model_;
    sequence_t<M> sequence_;
    std::vector<token> tokens_;
    text_follower follower_;
    std::size_t layers_ = 0;     // that those have been through that wait
    std::size_t states_at_ = 0;  // tokens after the last pass; before it, where it was a tree's that was kept
    bool states_known_ = false;  // of tokens that are held
    bool is_seen_ = false;       // somebody looks at states
    std::vector<token> tree_tokens_;
    std::vector<std::int32_t> tree_parents_;
    std::size_t tree_size_ = 0;
    bool tree_states_ = false;       // made by its pass
    bool tree_waits_ = false;        // in the model
    std::vector<std::size_t> kept_;  // places in the last pass, if a path of it was kept
};

/// What ask(), advance() and join() return: awaited once, at once.
template <Model M>
class cached_sequence<M>::asked : public pass_work<M> {
 public:
    asked(cached_sequence& cache, const pass<sequence_t<M>>& wanted, std::size_t rows, bool is_needed = true)
        : pass_work<M>(*cache.model_, wanted, std::false_type()),
          cache_(cache),
          rows_wanted_(rows),
          is_needed_(is_needed) {}

    bool await_ready() const noexcept { return !is_needed_; }
    void await_suspend(flow::task::handle by) noexcept { by.promise().stop(*this, by); }
    pass_rows<M> await_resume() {
        if (!is_needed_) return {};
        this->check();
        cache_.hold(this->asked_pass().tokens);
        return last_of(std::move(this->rows_), rows_wanted_);
    }

 private:
    cached_sequence& cache_;
    std::size_t rows_wanted_;
    bool is_needed_;
};

/// What ask_tree() returns.
template <Model M>
class cached_sequence<M>::asked_tree : public pass_work<M> {
 public:
    asked_tree(cached_sequence& cache, const prefix_tokens& tokens, std::span<const token> nodes,
               std::span<const std::int32_t> parents, std::size_t rows)
        : pass_work<M>(*cache.model_, cache.tree_pass(tokens, nodes, parents, rows)), rows_wanted_(rows) {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(flow::task::handle by) noexcept { by.promise().stop(*this, by); }
    pass_rows<M> await_resume() {
        this->check();
        return last_of(std::move(this->rows_), rows_wanted_);
    }

 private:
    std::size_t rows_wanted_;
};

}  // namespace augur::model
