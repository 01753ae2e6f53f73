#pragma once
// A model that saves and loads states as one that rewinds: recurrent and hybrid memory, which cannot forget tokens.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/model/check_passes.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/pass.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur {

namespace model {

/// The last so many of other rows.
template <LogitRows Rows>
class last_rows {
 public:
    last_rows(Rows all, std::size_t count)
        : first_(all.size() - std::min<std::size_t>(all.size(), count)), all_(std::move(all)) {}
    std::size_t size() const { return all_.size() - first_; }
    logit_row operator[](std::size_t i) const { return all_[first_ + i]; }

 private:
    std::size_t first_;
    Rows all_;
};

/// `Source` (a model by value, or `M&` by reference) with states in place of rewinds: before each pass the sequence is
/// saved; `truncate` loads the newest state that is not beyond the length, and the tokens between are put in front of
/// the next pass, so that no pass is run for them alone: a decoding has as many as it has rounds. Each sequence keeps
/// its last `states`, and the empty one: where more is taken back than they reach, the text is run again from its
/// start, which is right, and slow. So let them be as many as a round has passes of this model, and one more: two for a
/// target, tokens drafted and two for a draft. Where the tokens between have become more than `most_between`, as they
/// do while no round is accepted whole, a pass of their own runs them, and a state is saved behind them.
/// Models: Model, ScoresLastRows; BatchModel where the source runs batches. Trees go path by path (model::run), states
/// and layers are not shown. Limits are the source's; what goes in front may take passes of its own then.
/// Cost: a `save` per pass, a `load` per rewind, and `rerun_tokens`. Memory: `states` + 1 per sequence.
template <class Source>
class checkpointed {
 public:
    using model_type = typename augur::detail::owned_or_borrowed<Source>::type;
    static_assert(SavesSequences<model_type>);
    using state_type = saved_state_t<model_type>;
    static constexpr bool bitwise_rows = has_bitwise_rows<model_type>;

 private:
    using own_pass = pass<sequence_t<model_type>>;
    static constexpr bool runs_batches =
        SaysPassFeatures<model_type> && requires(const model_type& model, std::span<const own_pass> passes) {
        { model.run(passes) } -> LogitRows;
        requires includes(model_type::passes, pass_features::batches);
    };
    static constexpr bool scores_last = requires(const model_type& model, sequence_t<model_type>& sequence,
                                                 std::span<const token> tokens, std::size_t last) {
        { model.extend(sequence, tokens, last) } -> LogitRows;
    };
    struct saved_state {
        std::size_t length;
        state_type state;
    };

 public:
    static constexpr pass_features passes = runs_batches ? pass_features::batches : pass_features::none;

    /// The source's sequence, and the text, of which that holds the beginning.
    class sequence_type {
     public:
        explicit sequence_type(sequence_t<model_type> own) : own_(std::move(own)) {}

        /// Tokens that were run more than once, for they were taken back with others.
        std::size_t rerun_tokens() const { return rerun_; }

     private:
        friend class checkpointed;

        void append(std::span<const token> tokens) { text_.insert(text_.end(), tokens.begin(), tokens.end()); }

        sequence_t<model_type> own_;
        std::vector<token> text_{};
        std::vector<saved_state> saved_{};  // by length: the empty one, then the last ones
        std::vector<token> input_{};        // of the pass that is run
        std::size_t rerun_ = 0;
        bool is_loaded_ = true;  // else the newest state that is not beyond the text has to be
    };

    explicit checkpointed(Source&& source, std::size_t states = 8, std::size_t most_between = no_limit)
        : model_(std::forward<Source>(source)), states_(states), most_between_(most_between) {
        if (states == 0) augur::detail::fail("checkpointed: 0 states; at least one is needed");
    }

    const model_type& model() const { return model_.get(); }
    std::size_t vocabulary_size() const { return static_cast<std::size_t>(model().vocabulary_size()); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model()); }
    std::size_t context_length() const { return static_cast<std::size_t>(model().context_length()); }
    pass_limits limits() const {
        if constexpr (HasPassLimits<model_type>) return model().limits();
        return {};
    }

    sequence_type make_sequence() const { return sequence_type(model().make_sequence()); }
    std::size_t length(const sequence_type& s) const { return s.text_.size(); }

    auto extend(sequence_type& s, std::span<const token> tokens) const { return extend(s, tokens, tokens.size()); }
    auto extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        const pass<sequence_type> one{.sequence = &s, .tokens = tokens, .rows = last};
        return run(std::span(&one, 1));
    }
    /// Where it throws no sequence has changed: what it holds is loaded again before its next pass.
    auto run(std::span<const pass<sequence_type>> asked) const {
        check(asked);
        try {
            std::size_t total = 0;
            for (const auto& each : asked) total += begin(*each.sequence, each.tokens);
            for (const auto& each : asked) total -= run_ahead(*each.sequence, each.tokens.size(), total);
            auto rows = run_inputs(asked);
            for (const auto& each : asked) each.sequence->append(each.tokens);
            return rows;
        } catch (...) {
            for (const auto& each : asked) each.sequence->is_loaded_ = false;
            throw;
        }
    }

    /// The state is loaded before the next pass, which begins with the tokens after it.
    void truncate(sequence_type& s, std::size_t length) const {
        check_cut(s.text_.size(), length);
        if (length < held(s)) s.is_loaded_ = false;
        s.text_.resize(length);
    }

 private:
    std::size_t held(const sequence_type& s) const { return static_cast<std::size_t>(model().length(s.own_)); }

    void check(std::span<const pass<sequence_type>> asked) const {
        check_passes(asked);
        if (asked.size() != 1 && !runs_batches)
            augur::detail::fail("run: ", asked.size(), " passes, but one at a time");
        for (const auto& each : asked) {
            check_room(length(*each.sequence), each.tokens.size(), context_length());
            if (each.needs() == pass_features::none) continue;
            augur::detail::fail("run: a pass of ", each.tokens.size(),
                                " tokens with parents, states or a part of the layers, which states do not know");
        }
    }

    /// Loads and saves; the input is what the source lacks of the text, and the tokens. Returns how many these are.
    /// From here on nothing but the source fails.
    std::size_t begin(sequence_type& s, std::span<const token> tokens) const {
        auto& saved = s.saved_;
        if (!s.is_loaded_) {
            while (saved.back().length > s.text_.size()) saved.pop_back();
            model().load(s.own_, std::as_const(saved.back().state));
            s.is_loaded_ = true;
        }
        save(s);
        const std::size_t first = held(s);
        s.rerun_ += s.text_.size() - first;
        s.input_.assign(s.text_.begin() + static_cast<std::ptrdiff_t>(first), s.text_.end());
        s.input_.insert(s.input_.end(), tokens.begin(), tokens.end());
        if (const std::size_t size = s.text_.size() + tokens.size(); size > s.text_.capacity()) {
            s.text_.reserve(std::max(size, 2 * s.text_.capacity()));
        }
        return s.input_.size();
    }

    void save(sequence_type& s) const {
        const std::size_t length = held(s);
        if (!s.saved_.empty() && s.saved_.back().length == length) return;
        if (s.saved_.size() > states_) s.saved_.erase(s.saved_.begin() + 1);
        s.saved_.push_back({length, model().save(std::as_const(s.own_))});
    }

    /// Where inputs of `total` tokens do not fit in one pass, or too many come before the last `tokens` of one, runs
    /// these before; returns how many they were.
    std::size_t run_ahead(sequence_type& s, std::size_t tokens, std::size_t total) const {
        const std::size_t most = limits().most_tokens_of_a_pass, before = s.input_.size() - tokens;
        if ((total <= most || most == 0) && before <= most_between_) return 0;
        for (std::size_t done = 0; done < before; done += std::min(most, before - done)) {
            extend_own(s.own_, std::span(s.input_).subspan(done, std::min(most, before - done)), 0);
        }
        s.input_.erase(s.input_.begin(), s.input_.begin() + static_cast<std::ptrdiff_t>(before));
        save(s);
        return before;
    }

    auto run_inputs(std::span<const pass<sequence_type>> asked) const {
        if constexpr (runs_batches) {
            std::vector<own_pass> own;
            for (const auto& each : asked) {
                sequence_type& s = *each.sequence;
                own.push_back({.sequence = &s.own_, .tokens = s.input_, .rows = each.wanted()});
            }
            return model().run(std::span<const own_pass>(own));
        } else {
            return extend_own(asked[0].sequence->own_, asked[0].sequence->input_, asked[0].wanted());
        }
    }
    auto extend_own(sequence_t<model_type>& own, std::span<const token> input, std::size_t last) const {
        if constexpr (scores_last) {
            return model().extend(own, input, last);
        } else {
            return last_rows(model().extend(own, input), last);
        }
    }

    augur::detail::owned_or_borrowed<Source> model_;
    std::size_t states_, most_between_;
};

template <class Source>
checkpointed(Source&&) -> checkpointed<Source>;
template <class Source>
checkpointed(Source&&, std::size_t) -> checkpointed<Source>;
template <class Source>
checkpointed(Source&&, std::size_t, std::size_t) -> checkpointed<Source>;

}  // namespace model
}  // namespace augur
