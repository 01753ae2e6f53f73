#pragma once
// A model wrapper whose calls can be made to throw.

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "augur/model/concepts.hpp"
#include "augur/testing/faults.hpp"
#include "augur/types/token.hpp"

namespace augur::testing {

namespace failing_parts {

/// The members that every model has. A part that M lacks must not have its name here: a name that cannot be called is
/// refused.
template <class M>
class calls : public M {
 public:
    calls(M of, faults by) : M(std::move(of)), by_(std::move(by)) {}

 protected:
    const M& sound() const { return *this; }
    faults by_;
};

/// Sequences: of models and of layers on states.
template <class M, bool Has>
struct sequences : calls<M> {
    using calls<M>::calls;
};
template <class M>
struct sequences<M, true> : calls<M> {
    using calls<M>::calls;

    auto make_sequence() const {
        return this->by_.call("make_sequence", [&] { return this->sound().make_sequence(); });
    }
    void truncate(auto& sequence, std::size_t length) const {
        this->by_.call("truncate", [&] { this->sound().truncate(sequence, length); });
    }
    auto extend(auto& sequence, std::span<const token> tokens) const requires requires(const M& m) {
        m.extend(sequence, tokens);
    }
    {
        return this->by_.call("extend", [&] { return this->sound().extend(sequence, tokens); });
    }
    auto extend(auto& sequence, std::span<const token> tokens, std::size_t last) const requires requires(const M& m) {
        m.extend(sequence, tokens, last);
    }
    {
        return this->by_.call("extend", [&] { return this->sound().extend(sequence, tokens, last); });
    }
    auto extend(auto& sequence, std::span<const token> tokens, std::span<const float> states,
                std::size_t last) const requires requires(const M& m) {
        m.extend(sequence, tokens, states, last);
    }
    {
        return this->by_.call("extend", [&] { return this->sound().extend(sequence, tokens, states, last); });
    }
};

template <class M>
using with_sequences = sequences<M, MakesSequences<M>>;

template <class M, bool Has>
struct passes_run : with_sequences<M> {
    using with_sequences<M>::with_sequences;
};
template <class M>
struct passes_run<M, true> : with_sequences<M> {
    using with_sequences<M>::with_sequences;

    auto run(std::span<const pass<sequence_t<M>>> asked) const {
        return this->by_.call("run", [&] { return this->sound().run(asked); });
    }
};

template <class M>
inline constexpr bool runs = false;
template <Model M>
inline constexpr bool runs<M> = RunsPasses<M>;
template <class M>
using with_run = passes_run<M, runs<M>>;

template <class M, bool Has>
struct paths_kept : with_run<M> {
    using with_run<M>::with_run;
};
template <class M>
struct paths_kept<M, true> : with_run<M> {
    using with_run<M>::with_run;

    void keep(auto& sequence, std::span<const std::size_t> path) const {
        this->by_.call("keep", [&] { this->sound().keep(sequence, path); });
    }
};

template <class M>
inline constexpr bool keeps = false;
template <Model M>
inline constexpr bool keeps<M> = KeepsPaths<M>;
template <class M>
using with_keep = paths_kept<M, keeps<M>>;

template <class M, bool Has>
struct states_shown : with_keep<M> {
    using with_keep<M>::with_keep;
};
template <class M>
struct states_shown<M, true> : with_keep<M> {
    using with_keep<M>::with_keep;

    auto hidden(const auto& sequence) const {
        return this->by_.call("hidden", [&] { return this->sound().hidden(sequence); });
    }
};

template <class M>
concept shows = requires(const M& model, const sequence_t<M>& sequence) {
    model.hidden(sequence);
};
template <class M>
using with_states = states_shown<M, shows<M>>;

template <class M, bool Has>
struct trees_extended : with_states<M> {
    using with_states<M>::with_states;
};
template <class M>
struct trees_extended<M, true> : with_states<M> {
    using with_states<M>::with_states;

    auto extend_tree(auto& sequence, std::span<const token> tokens, std::span<const float> states,
                     std::span<const std::int32_t> parents, std::size_t last) const {
        return this->by_.call("extend_tree",
                              [&] { return this->sound().extend_tree(sequence, tokens, states, parents, last); });
    }
};
template <class M>
using with_trees = trees_extended<M, FusedTreeModel<M>>;

/// Rows of heads: on the target's states (DraftHeads), and of early exits (ExitHead).
template <class M, bool Has>
struct rows_of_heads : with_trees<M> {
    using with_trees<M>::with_trees;
};
template <class M>
struct rows_of_heads<M, true> : with_trees<M> {
    using with_trees<M>::with_trees;

    auto row(auto& workspace, std::span<const float> state, std::span<const token> tokens,
             std::size_t head) const requires requires(const M& m) {
        m.row(workspace, state, tokens, head);
    }
    {
        return this->by_.call("row", [&] { return this->sound().row(workspace, state, tokens, head); });
    }
    void row(std::span<const float> hidden, std::span<float> out) const requires requires(const M& m) {
        m.row(hidden, out);
    }
    {
        this->by_.call("row", [&] { this->sound().row(hidden, out); });
    }
};
template <class M>
concept is_head = requires(const M& m, typename M::workspace_type& workspace, std::span<const float> state,
                           std::span<const token> tokens, std::size_t head) {
    m.row(workspace, state, tokens, head);
}
|| requires(const M& m, std::span<const float> hidden, std::span<float> out) {
    m.row(hidden, out);
};

}  // namespace failing_parts

/// `M` (a Model, a FusedModel, DraftHeads or an ExitHead; a class that can be derived from), each call of which is a
/// place of `faults`: make_sequence, extend, extend_tree, run, truncate, keep, hidden, row. It offers what M offers.
template <class M>
class failing_model : public failing_parts::rows_of_heads<M, failing_parts::is_head<M>> {
 public:
    using failing_parts::rows_of_heads<M, failing_parts::is_head<M>>::rows_of_heads;
};

/// The model, with its calls among the places.
template <class M>
auto failing(M model, const faults& by) {
    return failing_model<M>(std::move(model), by);
}

}  // namespace augur::testing
