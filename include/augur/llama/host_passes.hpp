#pragma once
// Runs passes of a Llama on the CPU: checks them, gathers their rows and stores the results in their sequences.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "augur/llama/checks.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/forward.hpp"
#include "augur/llama/memory.hpp"
#include "augur/llama/sequence.hpp"
#include "augur/llama/weights.hpp"
#include "augur/model/check_passes.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"

namespace augur::llama {

/// What a sequence may hold, and how.
struct sequence_limits {
    std::size_t tokens = 0;
    std::size_t cache_bytes = 0;  ///< 0 means what memory is available
    cache_format format = cache_format::f32;
};

/// Runs passes of sequences of one shape, one run at a time: sequences of several threads take turns,
/// also with whoever else has its pool.
class host_passes {
    using pass_type = pass<sequence>;

 public:
    host_passes(const config& c, const weights& w, const backend::host::kernels& kernels,
                std::shared_ptr<backend::host::thread_pool> pool, sequence_limits limits,
                std::function<void()> between_layers, std::vector<std::size_t> taps = {})
        : config_(c),
          weights_(w),
          limits_(limits),
          taps_(std::move(taps)),
          between_layers_(std::move(between_layers)),
          forward_(c, w, kernels, std::move(pool), limits.format) {
        check_cache_format(limits.format, c.head_size);
    }

    std::size_t threads() const { return forward_.threads(); }
    const std::shared_ptr<backend::host::thread_pool>& pool() const { return forward_.pool(); }
    std::size_t context_length() const { return limits_.tokens; }
    std::size_t layer_input_size() const { return config_.heads * config_.head_size + config_.width; }
    const std::vector<std::size_t>& taps() const { return taps_; }
    /// Numbers of what hidden() shows of a position.
    std::size_t hidden_size() const { return config_.width * std::max<std::size_t>(taps_.size(), 1); }
    cache_layout layout() const { return {config_.layers, config_.key_value_heads, config_.head_size, limits_.format}; }

    /// `fused`: hidden states for the inputs of the only pass, one per token, in a model that fuses them.
    scattered_scores run(std::span<const pass_type> asked, const float* fused = nullptr) {
        if (asked.empty()) return {};
        model::check_passes(asked, config_.layers);
        for (const pass_type& each : asked) check(each, fused != nullptr);
        std::size_t rows = 0;
        for (const pass_type& each : asked) {
            reserve(each);
            rows += counts_of(each).rows;
        }
        std::vector<const float*>& places = asked[0].sequence->places_;
        places.reserve(rows);
        {
            const std::lock_guard lock(*forward_.pool());
            for (std::size_t i = 0; i < asked.size(); ++i) {
                const auto same = [&](const pass_type& other) { return layers_of(other) == layers_of(asked[i]); };
                if (std::none_of(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(i), same)) {
                    run_layers(asked.subspan(i), layers_of(asked[i]), fused);
                }
            }
        }
        places.clear();
        for (const pass_type& each : asked) {
            commit(each);
            for (std::size_t row = 0; row < each.sequence->rows_; ++row) {
                places.push_back(each.sequence->logits_.data() + row * config_.vocabulary);
            }
        }
        return {places.data(), places.size(), config_.vocabulary, weights_.head_tokens};
    }

    void keep(sequence& s, std::span<const std::size_t> path) const {
        check(s);
        model::check_tree_end(s.tree_at_, s.length_);
        model::check_path(path, s.tree_);
        for (const std::size_t at : path) {
            for (std::size_t layer = 0; layer < config_.layers; ++layer) {
                const float* kept = s.kept_.data() + at * kept_floats() + 2 * layer * keys();
                for (std::size_t head = 0; head < config_.key_value_heads; ++head) {
                    const float* key = kept + head * config_.head_size;
                    s.cache_.write(layer, head, s.length_, key, key + keys());
                }
            }
            ++s.length_;
        }
        s.tree_.clear();
    }

    /// Throws where a new sequence of so many tokens takes more memory than there is, or than it may.
    void check_room(std::size_t tokens) const { check_cache(tokens, layout().bytes(tokens), 0, limits_.cache_bytes); }

    void check(const sequence& s) const {
        if (s.cache_.layout() != layout())
            augur::detail::fail("the sequence belongs to a model of another shape, or with another cache");
    }

 private:
    /// Of positions that a pass computes: how many there are, have logits, and show their states.
    struct counts {
        std::size_t all, rows, shown;
    };
    counts counts_of(const pass_type& asked) const {
        const std::size_t waiting = asked.sequence->waiting_.size() / config_.width;
        const std::size_t computed = asked.from_layer > 0 ? waiting : asked.tokens.size();
        const std::size_t rows = asked.wanted(waiting);
        return {computed, rows, asked.states || asked.to_layer != all_layers ? computed : rows};
    }
    static std::pair<std::size_t, std::size_t> layers_of(const pass_type& asked) {
        return {asked.from_layer, asked.to_layer};
    }
    std::size_t keys() const { return config_.key_value_heads * config_.head_size; }
    /// Keys and values of a position.
    std::size_t kept_floats() const { return 2 * config_.layers * keys(); }

    void check(const pass_type& asked, bool fused) const {
        const sequence& s = *asked.sequence;
        check(s);
        model::check_waiting(asked, s.waiting_.size() / config_.width, s.split_);
        if (!taps_.empty() && (asked.from_layer > 0 || asked.to_layer != all_layers)) {
            augur::detail::fail("a model that shows the states after ", taps_.size(),
                                " of its layers runs all layers at once, not ", asked.from_layer, " to ",
                                std::min(asked.to_layer, config_.layers));
        }
        check_extension(asked.tokens, s.length_, limits_.tokens, config_.vocabulary);
        const std::size_t length = s.length_ + asked.tokens.size();
        check_cache(length, layout().bytes(length), s.cache_.memory_bytes(), limits_.cache_bytes);
        if (fused != weights_.fuses()) {
            augur::detail::fail("tokens ", fused ? "with" : "without", " hidden states, for a model that ",
                                fused ? "takes none" : "fuses them with its inputs");
        }
    }

    /// All memory that it takes, so that nothing fails once it is under way.
    void reserve(const pass_type& asked) const {
        sequence& s = *asked.sequence;
        const counts of = counts_of(asked);
        s.cache_.reserve(s.length_ + asked.tokens.size());
        s.logits_.require(of.rows * config_.vocabulary);
        s.hidden_.require(of.shown * hidden_size());
        s.tree_.reserve(asked.parents.size());
        s.kept_.require(asked.parents.size() * kept_floats());
        if (asked.to_layer == all_layers) return;
        s.waiting_.reserve(s.waiting_.size() + asked.tokens.size() * config_.width);
        s.layer_input_.require(layer_input_size());
    }

    /// Those of the passes that go through these layers.
    void run_layers(std::span<const pass_type> asked, std::pair<std::size_t, std::size_t> layers, const float* fused) {
        rows_.clear();
        for (const pass_type& each : asked) {
            if (layers_of(each) == layers) append(each, fused);
        }
        const bool is_long = rows_.size() > forward_pass::most_rows;
        const layer_range range{layers.first, std::min(layers.second, config_.layers), layers.second == all_layers,
                                is_long && between_layers_ ? &between_layers_ : nullptr, taps_};
        for (std::span<const forward_row> rest(rows_); !rest.empty();) {
            const std::size_t size = std::min(rest.size(), forward_pass::most_rows);
            forward_.run(rest.first(size), range);
            rest = rest.subspan(size);
        }
    }

    /// A pass's rows; those of a tree depth first.
    void append(const pass_type& asked, const float* fused) {
        sequence& s = *asked.sequence;
        const counts of = counts_of(asked);
        const std::size_t before = asked.from_layer > 0 ? s.length_ - of.all : s.length_, first = rows_.size();
        if (!asked.parents.empty()) order(asked.parents);
        rows_.resize(first + of.all);
        for (std::size_t i = 0; i < of.all; ++i) {
            const bool is_node = !asked.parents.empty();
            forward_row& row = rows_[first + (is_node ? nodes_[i].place : i)];
            row = forward_row{.position = before + (is_node ? nodes_[i].depth : i), .cache = &s.cache_};
            if (asked.from_layer > 0) {
                row.state = s.waiting_.data() + i * config_.width;
            } else {
                row.id = asked.tokens[i];
            }
            if (fused != nullptr) row.fused = fused + i * config_.width;
            if (is_node) row.kept = s.kept_.data() + i * kept_floats();
            if (i + of.shown >= of.all) row.hidden = s.hidden_.data() + (i + of.shown - of.all) * hidden_size();
            if (i + 1 == of.all && asked.to_layer != all_layers) row.layer_input = s.layer_input_.data();
            if (i + of.rows >= of.all) row.logits = s.logits_.data() + (i + of.rows - of.all) * config_.vocabulary;
        }
    }

    /// Of each node its depth, and its place among all of them depth first.
    void order(std::span<const std::int32_t> parents) {
        nodes_.assign(parents.size() + 1, {});
        node& root = nodes_.back();
        const auto parent_of = [&](std::size_t i) -> node& {
            return parents[i] < 0 ? root : nodes_[static_cast<std::size_t>(parents[i])];
        };
        for (std::size_t i = parents.size(); i-- > 0;) parent_of(i).size += ++nodes_[i].size;
        for (std::size_t i = 0; i < parents.size(); ++i) {
            node& parent = parent_of(i);
            nodes_[i].depth = parents[i] < 0 ? 0 : parent.depth + 1;
            nodes_[i].place = parent.next;
            nodes_[i].next = parent.next + 1;
            parent.next += nodes_[i].size;
        }
    }

    void commit(const pass_type& asked) const {
        sequence& s = *asked.sequence;
        const counts of = counts_of(asked);
        s.tree_.assign(asked.parents.begin(), asked.parents.end());
        s.tree_at_ = s.length_;
        if (asked.parents.empty()) s.length_ += asked.tokens.size();
        if (asked.from_layer > 0) s.waiting_.clear();
        if (asked.to_layer != all_layers) {
            s.waiting_.insert(s.waiting_.end(), s.hidden_.data(), s.hidden_.data() + of.shown * config_.width);
            s.split_ = asked.to_layer;
        }
        s.rows_ = of.rows;
        s.shown_ = of.shown;
    }

    struct node {
        std::size_t depth = 0, size = 0, place = 0, next = 0;  ///< `size` with all below it; `next` below it goes there
    };

    const config& config_;
    const weights& weights_;
    sequence_limits limits_;
    std::vector<std::size_t> taps_;
    std::function<void()> between_layers_;
    forward_pass forward_;
    std::vector<forward_row> rows_;
    std::vector<node> nodes_;
};

}  // namespace augur::llama
