#pragma once
// The Model concept and its refinements. Each requirement is a concept of its own, so that a compiler's message names
// the one that fails.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "augur/model/pass.hpp"
#include "augur/types/guarantee.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur {

/// Numbers that lie elsewhere: a reference or a view. Of a row that owns them nothing would be left to look at.
template <class Row>
concept LastingRow = std::is_lvalue_reference_v<Row> || std::ranges::borrowed_range<Row> ||
    std::derived_from<std::remove_cvref_t<Row>, logit_row>;

/// Rows know how many they are and how long: a pointer to numbers does not. augur::scores(data, rows, vocabulary_size)
/// is a view of them.
template <class R>
concept RowsAreNoPointer = !std::is_pointer_v<std::remove_cvref_t<R>>;

/// Rows of logits, indexable by row: as a view, or as a reference to what the rows or their model own. Models:
/// augur::scores, std::vector<std::vector<float>>.
template <class R>
concept LogitRows = requires(const R& rows, std::size_t i) {
    { rows.size() } -> std::convertible_to<std::size_t>;
    { rows[i] } -> std::convertible_to<logit_row>;
    requires LastingRow<decltype(rows[i])>;
};

/// `model.vocabulary_size()`: the length of every row.
template <class M>
concept HasVocabularySize = requires(const M& model) {
    { model.vocabulary_size() } -> std::convertible_to<std::size_t>;
};

/// `model.vocabulary_fingerprint()`: a mark by which its tokens, texts and numbers, are known again; empty where it
/// knows of none. Optional for models and drafters: two that both have one must have the same.
template <class M>
concept HasVocabularyFingerprint = requires(const M& model) {
    { model.vocabulary_fingerprint() } -> std::convertible_to<std::string>;
};

/// `model.context_length()`: the most tokens a sequence can hold.
template <class M>
concept HasContextLength = requires(const M& model) {
    { model.context_length() } -> std::convertible_to<std::size_t>;
};

template <class M>
using sequence_t = typename M::sequence_type;

/// A sequence is an object that owns its cache, and releases it where it ends. A number of one (an int) would be
/// copied: let a class own it, which forgets it when it is moved from (examples/own_engine.cpp).
template <class S>
concept SequenceIsAnObject = std::is_class_v<S>;

/// A sequence can be moved: constructed and assigned. One with a reference or a const member cannot be assigned.
template <class S>
concept SequenceCanBeMoved = std::movable<S>;

/// `model.make_sequence()`: an empty sequence (its key-value cache), owned by the caller.
template <class M>
concept MakesSequences = SequenceIsAnObject<sequence_t<M>> && SequenceCanBeMoved<sequence_t<M>> &&
    requires(const M& model) {
    { model.make_sequence() } -> std::same_as<sequence_t<M>>;
};

/// `model.length(sequence)`: tokens the sequence holds.
template <class M>
concept MeasuresSequences = requires(const M& model, const sequence_t<M>& sequence) {
    { model.length(sequence) } -> std::convertible_to<std::size_t>;
};

/// `model.extend(sequence, tokens)`: appends the tokens, returns one row of logits per new token: row i scores what
/// follows tokens[i].
template <class M>
concept ExtendsSequences = requires(const M& model, sequence_t<M>& sequence, std::span<const token> tokens) {
    requires RowsAreNoPointer<decltype(model.extend(sequence, tokens))>;
    { model.extend(sequence, tokens) } -> LogitRows;
};

/// `model.truncate(sequence, length)`: forgets everything after the first `length` tokens.
template <class M>
concept TruncatesSequences = requires(const M& model, sequence_t<M>& sequence, std::size_t length) {
    { model.truncate(sequence, length) } -> std::same_as<void>;
};

/// What changes is the sequence, not the model, which many of them share: its members are const.
template <class M>
concept MembersAreConst = (!requires(M& model) { model.vocabulary_size(); } || HasVocabularySize<M>) &&
    (!requires(M& model) { model.context_length(); } || HasContextLength<M>) &&
    (!requires(M& model) { model.make_sequence(); } || requires(const M& model) { model.make_sequence(); }) &&
    (!requires(M& model, sequence_t<M>& s) { model.length(s); } || MeasuresSequences<M>) &&
    (!requires(M& model, sequence_t<M>& s, std::span<const token> tokens) { model.extend(s, tokens); } ||
     requires(const M& model, sequence_t<M>& s, std::span<const token> tokens) { model.extend(s, tokens); }) &&
    (!requires(M& model, sequence_t<M>& s) { model.truncate(s, 0); } ||
     requires(const M& model, sequence_t<M>& s) { model.truncate(s, 0); });

/// `model.limits()`: what its passes are bound by. Optional.
template <class M>
concept HasPassLimits = requires(const M& model) {
    { model.limits() } -> std::same_as<pass_limits>;
};

/// Scores tokens after a prefix and can take them back. A model is immutable weights; the caller owns its sequences.
/// Define: sequence_type, vocabulary_size(), context_length(), make_sequence(), length(), extend(), truncate().
///         Optional: vocabulary_fingerprint() (HasVocabularyFingerprint), limits() (HasPassLimits).
/// Laws:   extending by a and then by b gives the rows of extending by a and b at once: up to rounding, or bit for bit
///         where the model says `static constexpr bool bitwise_rows = true`. What is decoded from the rows of a model
///         that does not say so is within numerics;
///         truncating and extending equals a fresh sequence; sequences do not influence each other;
///         truncating beyond the length, or extending past the context, throws and changes nothing;
///         rows stay valid until the same sequence is extended again, or until any is where limits() says so.
/// Composes: as the target, as the draft, and as any model of a cascade.
///         speculate(small, large, policy::fixed_length{4}, accept::exact{})
/// Models: llama::host_model, testing::function_model. Smallest: tests/model/smallest.hpp.
template <class M>
concept Model = MembersAreConst<M> && HasVocabularySize<M> && HasContextLength<M> && MakesSequences<M> &&
    MeasuresSequences<M> && ExtendsSequences<M> && TruncatesSequences<M>;

/// `model.extend(sequence, tokens, last)`: as extend, but computes only the last `last` rows (0 <= last <= tokens).
/// Law: they equal the last rows of the full extend.
template <class M>
concept ScoresLastRows = Model<M> &&
    requires(const M& model, sequence_t<M>& sequence, std::span<const token> tokens, std::size_t last) {
    { model.extend(sequence, tokens, last) } -> LogitRows;
};

/// `model.hidden(sequence)`: hidden states of the last extend or run (before the head), one row of hidden_size() per
/// row of logits; per token where the pass asked for states. Law: they follow the same rules of equality as the rows of
/// logits.
template <class M>
concept HiddenStateModel = Model<M> && requires(const M& model, const sequence_t<M>& sequence) {
    { model.hidden_size() } -> std::convertible_to<std::size_t>;
    { model.hidden(sequence) } -> LogitRows;
};

/// `model.run(passes)`: runs passes of several sequences, together where it can; returns their rows one after another,
/// which stay valid until one of these sequences is run or extended again (or any: limits()). What it does beyond
/// chains one at a time is said by `static constexpr pass_features passes`; the rest is done by `model::run` (run.hpp).
/// Laws: the rows of a pass are those of extend, and do not depend on the passes beside it: bit for bit where the model
///       promises bitwise rows; a chain leaves its sequence as extend does; every sequence is there once; a run that
///       throws changes nothing; of several sequences, one may be read while another is run.
/// Models: llama::host_model, testing::pass_mock. Smallest: tests/model/smallest.hpp.
template <class M>
concept RunsPasses = Model<M> && requires(const M& model, std::span<const pass<sequence_t<M>>> passes) {
    { model.run(passes) } -> LogitRows;
};

/// `static constexpr pass_features passes`.
template <class M>
concept SaysPassFeatures = requires {
    { M::passes } -> std::same_as<const pass_features&>;
};

/// What the model's run does by itself.
template <class M>
inline constexpr pass_features pass_features_of = pass_features::none;
template <RunsPasses M>
requires SaysPassFeatures<M>
inline constexpr pass_features pass_features_of<M> = M::passes;

template <class M, pass_features F>
concept RunsPassesWith = RunsPasses<M> && includes(pass_features_of<M>, F);

/// `model.keep(sequence, path)`: appends one path of the tokens that wait after a pass with parents, in order, and
/// forgets the others.
template <class M>
concept KeepsPaths = requires(const M& model, sequence_t<M>& sequence, std::span<const std::size_t> path) {
    { model.keep(sequence, path) } -> std::same_as<void>;
};

/// Runs passes with parents: a tree of tokens in one pass. Its tokens wait; length(sequence) is as before.
/// Laws: row i equals the row after running the path to token i alone, bit for bit; position = length before + depth;
///       keep(path) leaves the sequence as if the path alone had been extended: indices into the tokens of that pass,
///       from one that follows -1 on, each following the one before; another path, or one after the sequence has
///       changed, throws and changes nothing.
template <class M>
concept TreeModel = RunsPassesWith<M, pass_features::trees> && KeepsPaths<M>;

/// Runs passes that want states: hidden(sequence) then has a row for every token. With `rows` 0 the head is left out.
/// Laws: they equal those of extend; the sequence is afterwards as extend leaves it.
template <class M>
concept PrefillsStates = RunsPassesWith<M, pass_features::states> && HiddenStateModel<M>;

/// `model.waiting(sequence)`: the positions at its end that lack layers.
template <class M>
concept CountsWaiting = requires(const M& model, const sequence_t<M>& sequence) {
    { model.layer_count() } -> std::convertible_to<std::size_t>;
    { model.waiting(sequence) } -> std::convertible_to<std::size_t>;
};

/// Runs passes through layers [0, to_layer), after which the new positions wait and hidden(sequence) shows their
/// states; and through layers [from_layer, ...) of all positions that wait, from those very states. Both share one
/// cache. Laws: shallow then deep equals extend, bit for bit; what waits counts in length(sequence) and is
///       truncated like the rest; while positions wait, only passes that end at their layer append others.
template <class M>
concept SplitModel = RunsPassesWith<M, pass_features::layers> && HiddenStateModel<M> && CountsWaiting<M>;

/// Shows what a layer was made of. `model.layer_input(sequence)`, after a pass that ended at a layer and until the next
/// such: of its last token, layer_input_size() numbers: what the last of these layers attended to, before its output
/// projection, and then the state that it entered the layer with. Law: output projection and feed-forward part of that
/// layer make of them the last row of hidden(sequence).
template <class M>
concept LayerInputModel = SplitModel<M> && requires(const M& model, const sequence_t<M>& sequence) {
    { model.layer_input_size() } -> std::convertible_to<std::size_t>;
    { model.layer_input(sequence) } -> std::convertible_to<logit_row>;
};

/// Runs several passes in one go over the weights. Law: every pass's rows are bitwise those it would get alone.
template <class M>
concept BatchModel = RunsPassesWith<M, pass_features::batches>;

/// A model whose inputs are tokens that each come with a hidden state, as layers that draft on a target's states have
/// them. `model.extend(sequence, tokens, states, last)`: as extend with the last rows only; states are tokens.size()
/// times hidden_size() numbers. Its own hidden states may replace the target's where these are not known. Laws: those
/// of Model, of pairs of token and state instead of tokens.
template <class M>
concept FusedModel = HasVocabularySize<M> && HasContextLength<M> && MakesSequences<M> && MeasuresSequences<M> &&
    TruncatesSequences<M> && requires(const M& model, sequence_t<M>& sequence, std::span<const token> tokens,
                                      std::span<const float> states, std::size_t last) {
    { model.hidden_size() } -> std::convertible_to<std::size_t>;
    { model.extend(sequence, tokens, states, last) } -> LogitRows;
    { model.hidden(std::as_const(sequence)) } -> LogitRows;
};

/// `model.target_hidden_size()`: a FusedModel whose own states are of another size than the target's. Its extend takes
/// tokens.size() times so many numbers for states of the target, beside those of its own size.
template <class M>
concept ReducesTargetStates = FusedModel<M> && requires(const M& model) {
    { model.target_hidden_size() } -> std::convertible_to<std::size_t>;
};
/// Numbers of the target's states that a FusedModel takes.
template <FusedModel M>
std::size_t target_hidden_size_of(const M& model) {
    if constexpr (ReducesTargetStates<M>) {
        return model.target_hidden_size();
    } else {
        return model.hidden_size();
    }
}

/// A FusedModel that runs a tree of inputs in one pass. `model.extend_tree(sequence, tokens, states, parents, last)`:
/// each input follows its parent, one before it or -1, the sequence's last; returns the rows of the last `last`, whose
/// states hidden(sequence) shows then. Nothing is appended.
/// Laws: a row equals the one after appending the path to it alone, bit for bit; the sequence is as before.
template <class M>
concept FusedTreeModel = FusedModel<M> &&
    requires(const M& model, sequence_t<M>& sequence, std::span<const token> tokens, std::span<const float> states,
             std::span<const std::int32_t> parents, std::size_t last) {
    { model.extend_tree(sequence, tokens, states, parents, last) } -> LogitRows;
};

template <class M>
using saved_state_t =
    std::remove_cvref_t<decltype(std::declval<const M&>().save(std::declval<const sequence_t<M>&>()))>;

/// `model.save(sequence)`: a state, which can be moved.
template <class M>
concept SavesStates = requires(const M& model, const sequence_t<M>& sequence) {
    model.save(sequence);
    requires std::movable<saved_state_t<M>>;
};

/// `model.load(sequence, state)`: makes the sequence what the saved one was.
template <class M>
concept LoadsStates = requires(const M& model, sequence_t<M>& sequence, const saved_state_t<M>& state) {
    { model.load(sequence, state) } -> std::same_as<void>;
};

/// Appends tokens and cannot forget them, but saves what a sequence holds, and loads it again.
/// Define: what Model asks for but `truncate`; `save(sequence)`; `load(sequence, state)`.
///         Optional: `extend(sequence, tokens, last)`; `run(passes)` with pass_features::batches; limits().
/// Laws:   a sequence that has loaded a state, any of the same model, goes on as the one that was saved: its length
///         and its rows are that one's, bit for bit where the model promises bitwise rows. A state does not change,
///         whatever is run, can be loaded several times, and can be of an empty sequence. What throws in `save` or
///         `load` leaves a sequence that can be loaded.
/// Models: tests/model/recurrent_mock.hpp.
template <class M>
concept SavesSequences = HasVocabularySize<M> && HasContextLength<M> && MakesSequences<M> && MeasuresSequences<M> &&
    ExtendsSequences<M> && SavesStates<M> && LoadsStates<M>;

/// The model promises aloud that its rows do not depend on how many are computed together:
/// `static constexpr bool bitwise_rows = true`. One that says nothing promises nothing.
template <class M>
concept PromisesBitwiseRows = requires {
    { M::bitwise_rows } -> std::same_as<const bool&>;
    requires M::bitwise_rows;
};
template <class M>
inline constexpr bool has_bitwise_rows = PromisesBitwiseRows<M>;

/// What is left of a promise that rests on the rows of `M`.
template <class M, class G>
using guarantee_on_rows_of = std::conditional_t<has_bitwise_rows<M>, G, guarantee::up_to_rounding_t<G>>;

}  // namespace augur
