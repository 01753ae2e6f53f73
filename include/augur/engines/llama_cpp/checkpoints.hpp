#pragma once
// The engine for models whose memory cannot be taken back. See docs/engines/llama_cpp.md.

#include <llama.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/engines/llama_cpp/context.hpp"
#include "augur/engines/llama_cpp/pass_checks.hpp"
#include "augur/engines/llama_cpp/shown_rows.hpp"
#include "augur/engines/llama_cpp/weights.hpp"
#include "augur/model/check_passes.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::engines::llama_cpp {

/// A recurrent or hybrid model in llama.cpp (Mamba, RWKV, LFM2, ...), whose state each token changes. Before each pass
/// the state is saved; `truncate` goes back to the newest that is not too long, and the tokens between are run with
/// the next pass, in front of its own: no pass more. Where they have become more than `most_owed`, they are run first,
/// by a call of their own. What goes back behind all states kept begins anew: right, but as slow as the prompt was.
/// Batches; trees are run path by path (model/run.hpp). It promises no bitwise rows. Const and safe to share: threads
/// take turns. Cost of a pass beside llama.cpp's: a copy of the state, and where there are several sequences, of rows.
class checkpoints {
    struct state {
        std::size_t length = 0;  ///< tokens that it is made of
        std::vector<std::uint8_t> bytes;
    };

 public:
    static constexpr pass_features passes = pass_features::batches;
    static constexpr std::size_t most_owed = 8;

    /// Belongs to the engine that made it, or a copy of that; keeps what it needs alive.
    class sequence_type {
        friend class checkpoints;

        explicit sequence_type(std::shared_ptr<context> of) : id(std::move(of), context::use::sequence) {}

        sequence_id id;
        std::vector<token> text;
        std::size_t held = 0;       // tokens that llama.cpp's memory is made of; the others are owed
        std::vector<state> states;  // ascending
        shown_rows rows;
    };

    /// Throws where an option is out of range.
    explicit checkpoints(const weights& of, const context_options& options = {})
        : length_((check_options(options), context_length_of(of, options))),
          states_(options.states),
          context_(std::make_shared<context>(of, options, length_,
                                             context::sizes{.leaves = 1, .cells = length_, .unified = false})) {}

    std::size_t vocabulary_size() const { return context_->of().vocabulary_size(); }
    const std::string& vocabulary_fingerprint() const { return context_->of().vocabulary_fingerprint(); }
    std::size_t context_length() const { return length_; }
    /// Of llama.cpp's llama_decode, so far.
    std::size_t calls() const { return context_->calls(); }

    /// For settings of llama.cpp's own, as adapters and a callback that aborts. Its memory is the engine's.
    llama_context* context_handle() const { return context_->get(); }

    /// Throws where there are as many as the options say already.
    sequence_type make_sequence() const {
        const auto turn = context_->turn();
        return sequence_type(context_);
    }
    std::size_t length(const sequence_type& s) const { return s.text.size(); }

    /// Rows stay until the sequence runs again. Throws, and changes nothing, where tokens are none of the vocabulary, a
    /// sequence has no room, or llama.cpp fails.
    scattered_scores run(std::span<const pass<sequence_type>> asked) const {
        const auto turn = context_->turn();
        model::check_passes(asked);
        for (const auto& each : asked) check(each);
        if (asked.empty()) return {};
        try {
            return decoded(asked);
        } catch (...) {
            for (const auto& each : asked) restore(*each.sequence, each.sequence->held);
            throw;
        }
    }
    scattered_scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        const pass<sequence_type> one{.sequence = &s, .tokens = tokens, .rows = last};
        return run(std::span(&one, 1));
    }
    scattered_scores extend(sequence_type& s, std::span<const token> tokens) const {
        return extend(s, tokens, tokens.size());
    }

    void truncate(sequence_type& s, std::size_t length) const {
        const auto turn = context_->turn();
        s.id.of(*context_);
        check_truncation(s.text.size(), length);
        s.text.resize(length);
        if (length < s.held) restore(s, length);
    }

 private:
    static constexpr llama_state_seq_flags flags = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;

    void check(const pass<sequence_type>& asked) const {
        asked.sequence->id.of(*context_);
        check_pass(asked, vocabulary_size(), asked.sequence->text.size(), length_);
        if (asked.parents.empty()) return;
        augur::detail::fail("run: a tree of ", asked.tokens.size(), " tokens, by an engine that runs chains");
    }

    scattered_scores decoded(std::span<const pass<sequence_type>> asked) const {
        batch& all = context_->tokens();
        all.clear();
        for (const auto& each : asked) {
            sequence_type& s = *each.sequence;
            if (!each.tokens.empty() && s.text.size() - s.held > most_owed) add_owed(all, s);
        }
        if (all.size() > 0) {
            context_->decode(all, {});
            for (const auto& each : asked) {
                sequence_type& s = *each.sequence;
                if (!each.tokens.empty() && s.text.size() - s.held > most_owed) s.held = s.text.size();
            }
        }
        all.clear();
        for (const auto& each : asked) {
            if (!each.tokens.empty()) add(all, each);
        }
        const scattered_scores shown =
            decode_shown(*context_, all, asked, [](sequence_type& s) -> shown_rows& { return s.rows; });
        for (const auto& each : asked) {
            sequence_type& s = *each.sequence;
            s.text.insert(s.text.end(), each.tokens.begin(), each.tokens.end());
            if (!each.tokens.empty()) s.held = s.text.size();
        }
        return shown;
    }

    void add_owed(batch& all, sequence_type& s) const {
        save(s);
        const llama_seq_id id = s.id.of(*context_);
        for (std::size_t i = s.held; i < s.text.size(); ++i) all.add(s.text[i], i, {&id, 1}, false);
    }
    void add(batch& all, const pass<sequence_type>& asked) const {
        sequence_type& s = *asked.sequence;
        const std::size_t count = asked.tokens.size();
        s.text.reserve(s.text.size() + count);  // or there is no memory, while nothing has happened
        add_owed(all, s);
        const llama_seq_id id = s.id.of(*context_);
        for (std::size_t i = 0; i < count; ++i) {
            all.add(asked.tokens[i], s.text.size() + i, {&id, 1}, count - i <= asked.wanted());
        }
    }

    /// Keeps the state of what llama.cpp holds, in place of the oldest where there are as many as the options say.
    void save(sequence_type& s) const {
        if (s.held == 0 || (!s.states.empty() && s.states.back().length == s.held)) return;
        if (s.states.size() < states_) {
            s.states.emplace_back();
        } else {
            std::rotate(s.states.begin(), s.states.begin() + 1, s.states.end());
        }
        state& kept = s.states.back();
        const llama_seq_id id = s.id.of(*context_);
        kept.length = 0;  // until it is whole: then going back to it begins anew
        kept.bytes.resize(llama_state_seq_get_size_ext(context_->get(), id, flags));
        const std::size_t got =
            llama_state_seq_get_data_ext(context_->get(), kept.bytes.data(), kept.bytes.size(), id, flags);
        if (got != kept.bytes.size() || got == 0) {
            augur::detail::fail("llama.cpp saved ", got, " of ", kept.bytes.size(), " bytes of a state after ", s.held,
                                " tokens");
        }
        kept.length = s.held;
    }

    /// Goes back to the newest state of at most `length` tokens, or to none at all.
    void restore(sequence_type& s, std::size_t length) const {
        while (!s.states.empty() && s.states.back().length > length) s.states.pop_back();
        const llama_seq_id id = s.id.of(*context_);
        const complaints unheard;
        if (!s.states.empty() && s.states.back().length > 0) {
            const state& kept = s.states.back();
            const std::size_t got =
                llama_state_seq_set_data_ext(context_->get(), kept.bytes.data(), kept.bytes.size(), id, flags);
            s.held = kept.length;
            if (got > 0 && context_->forget(id, kept.length)) return;
        }
        s.states.clear();
        context_->forget(id, 0);
        s.held = 0;
    }

    std::size_t length_, states_;
    std::shared_ptr<context> context_;
};

}  // namespace augur::engines::llama_cpp
