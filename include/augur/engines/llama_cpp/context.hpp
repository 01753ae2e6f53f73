#pragma once
// A context of llama.cpp: the memory of an engine's sequences, their ids, and the passes through it.

#include <llama.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "augur/engines/llama_cpp/batch.hpp"
#include "augur/engines/llama_cpp/complaints.hpp"
#include "augur/engines/llama_cpp/weights.hpp"
#include "augur/types/error.hpp"

namespace augur::engines::llama_cpp {

struct context_options {
    std::size_t context_length = 0;  ///< tokens that a sequence can hold; 0: what it was trained for, at most 4096
    std::size_t sequences = 1;       ///< at a time
    std::size_t threads = 0;         ///< 0: as many as the machine has cores that are not busy
    std::size_t pass_tokens = 512;   ///< of one call of llama.cpp; longer passes are several calls
    std::size_t pass_rows = 64;      ///< the same of rows; memory for them is set aside
    ggml_type keys = GGML_TYPE_F16;  ///< format of keys in the cache
    ggml_type values = GGML_TYPE_F16;
    llama_flash_attn_type flash_attention = LLAMA_FLASH_ATTN_TYPE_AUTO;
    std::size_t leaves = 16;      ///< `trees` only: of one tree at most
    std::size_t tree_nodes = 64;  ///< `trees` only: nodes of one tree at most
    std::size_t states = 8;       ///< `checkpoints` only: kept for each sequence
};

/// Threads that find a core: llama.cpp's spin while they wait, so that too many of them stand still for minutes.
inline std::size_t free_cores() {
    const double cores = std::max(1u, std::thread::hardware_concurrency());
    double busy = 0;
    if (getloadavg(&busy, 1) != 1) busy = 0;
    return static_cast<std::size_t>(std::clamp(cores - std::round(busy), 1.0, cores));
}

/// Shared by an engine and its sequences. Everything but `turn` and `take` needs the turn: one thread at a time, others
/// wait. Ids are taken and given back; what is given back is forgotten.
class context {
 public:
    struct sizes {
        std::size_t leaves;  ///< ids of each sequence: its own, and those for leaves of its trees
        std::size_t cells;   ///< of each sequence, those for a tree among them
        bool unified;        ///< one cache for all ids, so that these can share cells
    };
    enum class use : std::size_t { sequence, leaf };

    /// Throws, with both values, where an option is out of range, and with llama.cpp's reason where it has no memory.
    context(const weights& of, const context_options& wanted, std::size_t context_length, sizes size)
        : weights_(of), length_(context_length) {
        complaints said;
        const std::size_t ids = wanted.sequences * size.leaves;
        llama_context_params set = llama_context_default_params();
        const std::size_t threads = wanted.threads != 0 ? wanted.threads : free_cores();
        set.n_ctx = narrow("cells", size.cells * wanted.sequences);
        set.n_batch = set.n_ubatch = narrow("pass_tokens", std::min(wanted.pass_tokens, size.cells * wanted.sequences));
        set.n_seq_max = narrow("ids", ids);
        set.n_outputs_max = narrow("pass_rows", std::max(wanted.pass_rows, ids));
        set.n_outputs_max_per_seq = 0;
        set.n_threads = set.n_threads_batch = static_cast<std::int32_t>(narrow("threads", threads));
        set.type_k = wanted.keys;
        set.type_v = wanted.values;
        set.flash_attn_type = wanted.flash_attention;
        set.swa_full = true;  // of a smaller cache nothing can be taken back, and llama.cpp does not say so
        set.kv_unified = size.unified;
        context_.reset(llama_init_from_model(of.get(), set));
        if (!context_) said.fail("llama.cpp has no context of ", set.n_ctx, " tokens for ", of.description());
        const bool whole =
            llama_n_seq_max(get()) == ids && llama_n_ctx(get()) >= set.n_ctx && llama_n_threads(get()) == set.n_threads;
        if (!whole) {
            augur::detail::fail("llama.cpp's headers and library differ: asked for ", ids, " ids and ", set.n_ctx,
                                " cells, it has ", llama_n_seq_max(get()), " and ", llama_n_ctx(get()));
        }
        if (!llama_get_causal_attn(get())) {
            augur::detail::fail(of.description(), " lets tokens see those that follow, as models for embeddings do");
        }
        most_tokens_ = llama_n_batch(get());
        most_rows_ = std::min<std::size_t>(set.n_outputs_max, most_tokens_);
        sequences_ = wanted.sequences;
        for (std::size_t id = ids; id-- > 0;)
            pool(static_cast<llama_seq_id>(id)).push_back(static_cast<llama_seq_id>(id));
    }

    const weights& of() const { return weights_; }
    std::size_t context_length() const { return length_; }
    llama_context* get() const { return context_.get(); }
    std::unique_lock<std::recursive_mutex> turn() const { return std::unique_lock(mutex_); }

    /// Throws where all are taken.
    llama_seq_id take_id(use of) {
        std::vector<llama_seq_id>& left = free_[static_cast<std::size_t>(of)];
        if (left.empty() && of == use::sequence) {
            augur::detail::fail("all ", sequences_,
                                " sequences of the context are in use (context_options::sequences)");
        }
        if (left.empty()) augur::detail::fail("all sequence ids of the context for leaves of trees are in use");
        const llama_seq_id id = left.back();
        left.pop_back();
        return id;
    }
    void give_back(llama_seq_id id) noexcept {
        llama_memory_seq_rm(memory(), id, -1, -1);
        pool(id).push_back(id);  // there is room: it was there before
    }
    /// Forgets what the id has from place `from` on. Whether it could: not part of a recurrent state.
    bool forget(llama_seq_id id, std::size_t from) {
        return llama_memory_seq_rm(memory(), id, static_cast<llama_pos>(from), -1);
    }
    llama_memory_t memory() const { return llama_get_memory(get()); }

    /// Of llama_decode, so far.
    std::size_t calls() const {
        const auto here = turn();
        return calls_;
    }

    /// Storage of the run that has the turn.
    batch& tokens() { return batch_; }

    /// Whether `decode` of these leaves their rows where llama.cpp made them.
    bool lends(const batch& all) const { return all.size() <= most_tokens_ && all.rows() <= most_rows_; }
    /// Runs them. Rows go to these places, one each; where it lends, nowhere. Returns where the last call's lie: until
    /// the next. Throws where llama.cpp fails: what it has done by then is still to be forgotten.
    const float* decode(batch& all, std::span<float* const> places) {
        complaints said;
        const bool copies = !lends(all);
        const float* rows = nullptr;
        std::size_t copied = 0;
        for (std::size_t first = 0; first < all.size();) {
            const auto [taken, count] = all.next(first, most_tokens_, most_rows_);
            ++calls_;
            const std::int32_t code = llama_decode(get(), taken);
            if (code == 1) said.fail("llama.cpp finds no room for ", taken.n_tokens, " tokens in its cache");
            if (code != 0) said.fail("llama.cpp cannot run ", taken.n_tokens, " tokens: code ", code);
            rows = count > 0 ? llama_get_logits(get()) : nullptr;
            if (count == 0) llama_synchronize(get());
            const std::size_t width = weights_.vocabulary_size();
            for (std::size_t i = 0; copies && i < count; ++i) {
                std::memcpy(places[copied++], rows + i * width, width * sizeof(float));
            }
            first += static_cast<std::size_t>(taken.n_tokens);
        }
        return rows;
    }

 private:
    static std::uint32_t narrow(const char* what, std::size_t value) {
        if (value == 0 || value > 0x7fffffff) augur::detail::fail(what, " of a context: ", value);
        return static_cast<std::uint32_t>(value);
    }
    /// The first ids are the sequences'.
    std::vector<llama_seq_id>& pool(llama_seq_id id) {
        return free_[static_cast<std::size_t>(static_cast<std::size_t>(id) < sequences_ ? use::sequence : use::leaf)];
    }
    struct release {
        void operator()(llama_context* held) const { llama_free(held); }
    };

    weights weights_;
    std::unique_ptr<llama_context, release> context_;
    std::size_t length_, sequences_ = 0, most_tokens_ = 0, most_rows_ = 0, calls_ = 0;
    mutable std::recursive_mutex mutex_;
    std::array<std::vector<llama_seq_id>, 2> free_;
    batch batch_;
};

/// An id of a context, given back when it goes.
class sequence_id {
 public:
    sequence_id() = default;
    /// The caller has the turn.
    sequence_id(std::shared_ptr<context> of, context::use what) : id_(of->take_id(what)), context_(std::move(of)) {}
    sequence_id(sequence_id&& other) noexcept = default;
    sequence_id& operator=(sequence_id&& other) noexcept {
        sequence_id gone(std::move(*this));
        id_ = other.id_;
        context_ = std::move(other.context_);
        return *this;
    }
    ~sequence_id() {
        if (!context_) return;
        const auto turn = context_->turn();
        context_->give_back(id_);
    }

    /// Throws unless it is one of this context's: not another engine's, and not moved away.
    llama_seq_id of(const context& owner) const {
        if (!context_) augur::detail::fail("llama_cpp: a sequence that was moved away");
        if (context_.get() != &owner) augur::detail::fail("llama_cpp: a sequence of another engine");
        return id_;
    }

 private:
    llama_seq_id id_ = 0;
    std::shared_ptr<context> context_;
};

}  // namespace augur::engines::llama_cpp
