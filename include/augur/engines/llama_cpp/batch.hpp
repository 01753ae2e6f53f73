#pragma once
// Tokens of a run as llama.cpp takes them.

#include <llama.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "augur/types/token.hpp"

namespace augur::engines::llama_cpp {

/// Tokens with their places, the sequence ids that see them, and whether their rows are wanted. Keeps its storage.
class batch {
 public:
    void clear() {
        tokens_.clear();
        places_.clear();
        counts_.clear();
        ids_.clear();
        wanted_.clear();
        rows_ = 0;
    }
    void add(token t, std::size_t place, std::span<const llama_seq_id> ids, bool wants_row) {
        tokens_.push_back(t);
        places_.push_back(static_cast<llama_pos>(place));
        counts_.push_back(static_cast<std::int32_t>(ids.size()));
        ids_.insert(ids_.end(), ids.begin(), ids.end());
        wanted_.push_back(wants_row ? 1 : 0);
        rows_ += wants_row ? 1 : 0;
    }

    std::size_t size() const { return tokens_.size(); }
    std::size_t rows() const { return rows_; }

    /// From `first` on as many as one call takes: at most so many tokens and rows. `first` starts at 0 and grows.
    struct part {
        llama_batch taken{};
        std::size_t rows = 0;
    };
    part next(std::size_t first, std::size_t most_tokens, std::size_t most_rows) {
        if (first == 0) point_at_ids();
        part out;
        std::size_t end = first;
        for (; end < size() && end - first < most_tokens; ++end) {
            const std::size_t more = wanted_[end] != 0 ? 1 : 0;
            if (out.rows + more > most_rows) break;
            out.rows += more;
        }
        out.taken = llama_batch{.n_tokens = static_cast<std::int32_t>(end - first),
                                .token = tokens_.data() + first,
                                .embd = nullptr,
                                .pos = places_.data() + first,
                                .n_seq_id = counts_.data() + first,
                                .seq_id = pointers_.data() + first,
                                .logits = wanted_.data() + first};
        return out;
    }

 private:
    void point_at_ids() {
        pointers_.clear();
        llama_seq_id* at = ids_.data();
        for (const std::int32_t count : counts_) {
            pointers_.push_back(at);
            at += count;
        }
    }

    std::vector<llama_token> tokens_;
    std::vector<llama_pos> places_;
    std::vector<std::int32_t> counts_;
    std::vector<llama_seq_id> ids_;
    std::vector<llama_seq_id*> pointers_;
    std::vector<std::int8_t> wanted_;
    std::size_t rows_ = 0;
};

}  // namespace augur::engines::llama_cpp
