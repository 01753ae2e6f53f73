#pragma once
// Engines for models whose memory is keys and values: `streams` and `trees`. See docs/engines/llama_cpp.md.

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
#include "augur/tree/leaves.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::engines::llama_cpp {

/// What `streams` and `trees` have in common: a model in llama.cpp that rewinds. It promises no bitwise rows. Const and
/// safe to share: threads take turns. Cost of a pass beside llama.cpp's: a copy of its rows where it is several calls.
class attention_engine {
    /// What a pass with parents leaves until `keep`.
    struct waiting_tree {
        std::vector<std::int32_t> parents;
        std::vector<sequence_id> others;   ///< ids of the leaves behind the first, which has the sequence's own
        std::vector<std::size_t> leaf_of;  ///< of each node, one that is below it
    };

 public:
    /// Belongs to the engine that made it, or a copy of that; keeps what it needs alive.
    class sequence_type {
        friend class attention_engine;

        explicit sequence_type(std::shared_ptr<context> of) : id(std::move(of), context::use::sequence) {}

        sequence_id id;
        std::size_t length = 0;
        waiting_tree tree;
        shown_rows rows;
    };

    std::size_t vocabulary_size() const { return context_->of().vocabulary_size(); }
    const std::string& vocabulary_fingerprint() const { return context_->of().vocabulary_fingerprint(); }
    std::size_t context_length() const { return limits_.length; }
    pass_limits limits() const {
        return {.most_tree_nodes = limits_.nodes, .most_leaves = limits_.leaves, .rows_end_with_next_run = true};
    }

    /// For settings of llama.cpp's own, as adapters and a callback that aborts. Its memory is the engine's.
    llama_context* context_handle() const { return context_->get(); }

    /// Throws where there are as many as the options say already.
    sequence_type make_sequence() const {
        const auto turn = context_->turn();
        return sequence_type(context_);
    }
    std::size_t length(const sequence_type& s) const { return s.length; }
    /// Of llama.cpp's llama_decode, so far.
    std::size_t calls() const { return context_->calls(); }

    /// Rows stay until any sequence runs. Throws, and changes nothing but that a tree no longer waits, where
    /// tokens are none of the vocabulary, a sequence or a tree has no room, or llama.cpp fails.
    scattered_scores run(std::span<const pass<sequence_type>> asked) const {
        const auto turn = context_->turn();
        model::check_passes(asked);
        for (const auto& each : asked) check(each);
        for (const auto& each : asked) forget_tree(*each.sequence);
        if (asked.empty()) return {};
        try {
            return decoded(asked);
        } catch (...) {
            for (const auto& each : asked) {
                context_->forget(each.sequence->id.of(*context_), each.sequence->length);
                each.sequence->tree = {};
            }
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
        const llama_seq_id id = s.id.of(*context_);
        model::check_cut(s.length, length);
        s.tree = {};
        if (!context_->forget(id, length)) augur::detail::fail("llama.cpp cannot take tokens back to ", length);
        s.length = length;
    }

 protected:
    struct bounds {
        std::size_t length;
        std::size_t leaves = 1, nodes = 0;  ///< of a tree
    };
    attention_engine(const weights& of, const context_options& options, const bounds& most, bool unified)
        : limits_(most),
          context_(std::make_shared<context>(
              of, options, most.length,
              context::sizes{.leaves = most.leaves, .cells = most.length + most.nodes, .unified = unified})) {}

    static std::size_t checked_length(const weights& of, const context_options& options) {
        check_options(options);
        if (of.rewinds()) return context_length_of(of, options);
        augur::detail::fail(of.description(), " has a state that each token changes: llama_cpp::checkpoints runs it");
    }

    void keep_path(sequence_type& s, std::span<const std::size_t> path) const {
        const auto turn = context_->turn();
        const llama_seq_id own = s.id.of(*context_);
        model::check_path(path, s.tree.parents);
        const std::size_t leaf = path.empty() ? 0 : s.tree.leaf_of[path.back()];
        if (leaf > 0) {
            context_->forget(own, s.length);
            llama_memory_seq_cp(context_->memory(), s.tree.others[leaf - 1].of(*context_), own,
                                static_cast<llama_pos>(s.length), static_cast<llama_pos>(s.length + path.size()));
        }
        s.length += path.size();
        forget_tree(s);
    }

    bounds limits_;
    std::shared_ptr<context> context_;

 private:
    void check(const pass<sequence_type>& asked) const {
        asked.sequence->id.of(*context_);
        check_pass(asked, vocabulary_size(), asked.sequence->length, limits_.length);
        if (asked.parents.empty()) return;
        if (limits_.nodes == 0) {
            augur::detail::fail("run: a tree of ", asked.tokens.size(), " tokens; llama_cpp::trees runs trees");
        }
        if (asked.tokens.size() > limits_.nodes) {
            augur::detail::fail("run: a tree of ", asked.tokens.size(), " tokens, of at most ", limits_.nodes,
                                " (context_options::tree_nodes)");
        }
    }

    /// A tree that waits goes, with its ids, and what of it the sequence's own id has beyond the sequence's end.
    void forget_tree(sequence_type& s) const {
        if (s.tree.parents.empty()) return;
        s.tree = {};
        context_->forget(s.id.of(*context_), s.length);
    }

    scattered_scores decoded(std::span<const pass<sequence_type>> asked) const {
        batch& all = context_->tokens();
        all.clear();
        for (const auto& each : asked) each.parents.empty() ? add_chain(all, each) : add_tree(all, each);
        const scattered_scores shown =
            decode_shown(*context_, all, asked, [](sequence_type& s) -> shown_rows& { return s.rows; });
        for (const auto& each : asked) {
            if (each.parents.empty()) each.sequence->length += each.tokens.size();
        }
        return shown;
    }

    void add_chain(batch& all, const pass<sequence_type>& asked) const {
        const llama_seq_id id = asked.sequence->id.of(*context_);
        const std::size_t count = asked.tokens.size();
        for (std::size_t i = 0; i < count; ++i) {
            all.add(asked.tokens[i], asked.sequence->length + i, {&id, 1}, count - i <= asked.wanted());
        }
    }

    /// Each leaf's id shares the sequence's cells first, and sees the nodes above the leaf then.
    void add_tree(batch& all, const pass<sequence_type>& asked) const {
        sequence_type& s = *asked.sequence;
        const std::size_t count = asked.tokens.size();
        const tree::leaves seen(count, asked.parents);
        if (seen.size() > limits_.leaves) {
            augur::detail::fail("run: a tree of ", seen.size(), " leaves, of at most ", limits_.leaves,
                                " (context_options::leaves)");
        }
        std::vector<llama_seq_id> ids{s.id.of(*context_)};
        while (ids.size() < seen.size()) {
            s.tree.others.emplace_back(context_, context::use::leaf);
            ids.push_back(s.tree.others.back().of(*context_));
            llama_memory_seq_cp(context_->memory(), ids[0], ids.back(), -1, -1);
        }
        for (std::size_t node = 0; node < count; ++node) {
            const tree::leaf_range below = seen.below(node);
            model::check_room(s.length, seen.depth(node), limits_.length);
            all.add(asked.tokens[node], s.length + seen.depth(node) - 1,
                    std::span(ids).subspan(below.first, below.count), count - node <= asked.wanted());
            s.tree.leaf_of.push_back(below.first);
        }
        s.tree.parents.assign(asked.parents.begin(), asked.parents.end());
    }
};

/// The default, of batches: each sequence has a cache of its own (`kv_unified = false`), so that the rows of several
/// that run together are those of each alone. Trees are run path by path (model/run.hpp).
class streams : public attention_engine {
 public:
    static constexpr pass_features passes = pass_features::batches;

    /// Throws where an option is out of range, and where the model does not rewind.
    explicit streams(const weights& of, const context_options& options = {})
        : attention_engine(of, options, {.length = checked_length(of, options)}, false) {}
};

/// For drafters of trees: all sequences share one cache, in which each leaf of a tree that waits has an id of its own,
/// and an inner node those of the leaves below it. Where its cells lie changes the order of sums: with quantised
/// weights rows differ by more than rounding. Cost of `keep`: two scans of all cells for each leaf.
class trees : public attention_engine {
 public:
    static constexpr pass_features passes = pass_features::batches | pass_features::trees;

    /// Throws where an option is out of range, and where the model does not rewind.
    explicit trees(const weights& of, const context_options& options = {})
        : attention_engine(of, options, checked(of, options), true) {}

    /// Appends a path of the tree that was run last.
    void keep(sequence_type& s, std::span<const std::size_t> path) const { keep_path(s, path); }

 private:
    static bounds checked(const weights& of, const context_options& options) {
        const std::size_t length = checked_length(of, options);
        check_option("leaves", options.leaves, 1, llama_max_parallel_sequences() / options.sequences);
        check_option("tree_nodes", options.tree_nodes, 1, 4096);
        return {length, options.leaves, options.tree_nodes};
    }
};

}  // namespace augur::engines::llama_cpp
