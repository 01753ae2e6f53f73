#pragma once
// The engine for models whose memory cannot be taken back. See docs/engines/llama_cpp.md.

#include <llama.h>

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
#include "augur/model/checkpointed.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::engines::llama_cpp {

/// A model in llama.cpp that appends tokens, saves what they made of its state, and goes back to it: what `checkpoints`
/// is made of. Models: SavesSequences, but that a state is for the sequence that it was saved of, while this still
/// holds its tokens: of a hybrid's keys and values, which can be taken back, nothing is copied.
class saving_engine {
 public:
    static constexpr pass_features passes = pass_features::batches;

    class sequence_type {
        friend class saving_engine;

        explicit sequence_type(std::shared_ptr<context> of) : id(std::move(of), context::use::sequence) {}

        sequence_id id;
        std::size_t length = 0;
        shown_rows rows;
    };
    struct state_type {
        std::size_t length = 0;  ///< tokens that it is made of
        std::vector<std::uint8_t> bytes{};
    };

    /// Throws where an option is out of range.
    saving_engine(const weights& of, const context_options& options)
        : length_((check_options(options), context_length_of(of, options))),
          context_(std::make_shared<context>(of, options, length_,
                                             context::sizes{.leaves = 1, .cells = length_, .unified = false})) {}

    std::size_t vocabulary_size() const { return context_->of().vocabulary_size(); }
    const std::string& vocabulary_fingerprint() const { return context_->of().vocabulary_fingerprint(); }
    std::size_t context_length() const { return length_; }
    pass_limits limits() const { return {.rows_end_with_next_run = true}; }
    std::size_t calls() const { return context_->calls(); }
    llama_context* context_handle() const { return context_->get(); }

    /// Throws where there are as many as the options say already.
    sequence_type make_sequence() const {
        const auto turn = context_->turn();
        return sequence_type(context_);
    }
    std::size_t length(const sequence_type& s) const { return s.length; }

    /// Where llama.cpp fails, what the sequences hold is theirs to load.
    scattered_scores run(std::span<const pass<sequence_type>> asked) const {
        const auto turn = context_->turn();
        batch& all = context_->tokens();
        all.clear();
        for (const auto& each : asked) {
            const llama_seq_id id = each.sequence->id.of(*context_);
            const std::size_t count = each.tokens.size();
            check_pass(each, vocabulary_size(), each.sequence->length, length_);
            for (std::size_t i = 0; i < count; ++i) {
                all.add(each.tokens[i], each.sequence->length + i, {&id, 1}, count - i <= each.wanted());
            }
        }
        if (asked.empty()) return {};
        const scattered_scores shown =
            decode_shown(*context_, all, asked, [](sequence_type& s) -> shown_rows& { return s.rows; });
        for (const auto& each : asked) each.sequence->length += each.tokens.size();
        return shown;
    }
    scattered_scores extend(sequence_type& s, std::span<const token> tokens, std::size_t last) const {
        const pass<sequence_type> one{.sequence = &s, .tokens = tokens, .rows = last};
        return run(std::span(&one, 1));
    }
    scattered_scores extend(sequence_type& s, std::span<const token> tokens) const {
        return extend(s, tokens, tokens.size());
    }

    state_type save(const sequence_type& s) const {
        const auto turn = context_->turn();
        const llama_seq_id id = s.id.of(*context_);
        state_type saved{.length = s.length};
        if (s.length == 0) return saved;
        saved.bytes.resize(llama_state_seq_get_size_ext(context_->get(), id, flags));
        const std::size_t got =
            llama_state_seq_get_data_ext(context_->get(), saved.bytes.data(), saved.bytes.size(), id, flags);
        if (got == saved.bytes.size() && got > 0) return saved;
        fail("llama.cpp saved ", got, " of ", saved.bytes.size(), " bytes of a state after ", s.length, " tokens");
    }
    void load(sequence_type& s, const state_type& saved) const {
        const auto turn = context_->turn();
        const complaints said;
        const llama_seq_id id = s.id.of(*context_);
        if (saved.length == 0) {
            context_->forget(id, 0);
        } else {
            const std::size_t got =
                llama_state_seq_set_data_ext(context_->get(), saved.bytes.data(), saved.bytes.size(), id, flags);
            if (got == 0 || !context_->forget(id, saved.length)) {
                said.fail("llama.cpp cannot go back to a state of ", saved.length, " tokens, of ", saved.bytes.size(),
                          " bytes");
            }
        }
        s.length = saved.length;
    }

 private:
    static constexpr llama_state_seq_flags flags = LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY;

    std::size_t length_;
    std::shared_ptr<context> context_;
};

/// A recurrent or hybrid model in llama.cpp (Mamba, RWKV, LFM2, ...), whose state each token changes. Before each pass
/// the state is saved; `truncate` goes back to the newest that is not too long, and the tokens between are run with the
/// next pass (model/checkpointed.hpp), or, where they are more than eight, before it. Batches; trees are run path by
/// path (model/run.hpp). It promises no bitwise rows. Const and safe to share: threads take turns. Cost of a pass
/// beside llama.cpp's: a copy of the state, and of its rows where it is several calls.
class checkpoints : public model::checkpointed<saving_engine> {
 public:
    /// Throws where an option is out of range.
    explicit checkpoints(const weights& of, const context_options& options = {})
        : checkpointed(saving_engine(of, options), options.states, 8) {}

    /// Of llama.cpp's llama_decode, so far.
    std::size_t calls() const { return model().calls(); }
    /// For settings of llama.cpp's own, as adapters and a callback that aborts. Its memory is the engine's.
    llama_context* context_handle() const { return model().context_handle(); }
};

}  // namespace augur::engines::llama_cpp
