#pragma once
// Runs passes of a Llama on a device: checks them, gathers their rows and stores the results in their sequences.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/device/send.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/llama/checks.hpp"
#include "augur/llama/device/forward.hpp"
#include "augur/llama/device/sequence.hpp"
#include "augur/llama/device/tree_paths.hpp"
#include "augur/llama/device/weights.hpp"
#include "augur/model/check_passes.hpp"
#include "augur/model/pass.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"

namespace augur::llama::device {

/// Runs passes of one model's sequences, one run at a time: sequences of several threads take turns.
template <class Element, kernels::System S, device_format F, class Products>
class device_passes {
 public:
    using sequence_type = sequence<Element, S>;
    using pass_type = pass<sequence_type>;

    device_passes(const S& on, const config& c, const weights_on_device<Element, S, F>& w, std::size_t context,
                  Products products)
        : on_(on), config_(c), context_(context), forward_(on, c, w, std::move(products)) {}

    const auto& forward() const { return forward_; }
    std::size_t context_length() const { return context_; }

    /// Launches kernels; waits for none.
    void run(std::span<const pass_type> asked) {
        model::check_passes(asked, config_.layers);
        for (const pass_type& each : asked) check(each);
        const std::lock_guard lock(busy_);
        paths_used_ = 0;
        for (const pass_type& each : asked) reserve(each);
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto same = [&](const pass_type& other) { return layers_of(other) == layers_of(asked[i]); };
            if (std::none_of(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(i), same)) {
                run_layers(asked, layers_of(asked[i]));
            }
        }
        for (const pass_type& each : asked) commit(each);
    }

    void keep(sequence_type& s, std::span<const std::size_t> path) {
        model::check_tree_end(s.tree_at_, s.length_);
        model::check_path(path, s.tree_);
        std::vector<std::int32_t> slots;
        for (const std::size_t node : path) slots.push_back(static_cast<std::int32_t>(s.length_ + node));
        const std::lock_guard lock(busy_);
        s.cache_.keep(s.length_, sent(kept_, slots), slots.size());
        s.length_ += path.size();
        s.tree_.clear();
    }

    /// Rows brought to the host, if they are not there: while nothing else is launched.
    scores here(const float_rows<S>& rows) {
        const std::lock_guard lock(busy_);
        return rows.on_host(on_);
    }
    void wait() {
        const std::lock_guard lock(busy_);
        on_.wait();
    }

 private:
    using slots_there = kernels::buffer<std::int32_t, S>;

    /// Overwrites the memory, in the order of launches, and takes more where it is too small.
    const std::int32_t* sent(slots_there& memory, std::span<const std::int32_t> slots) const {
        if (memory.size() < slots.size()) {
            on_.wait();  // for who reads what goes
            memory = slots_there(on_, 2 * slots.size());
        }
        kernels::send(on_, memory.data(), slots);
        return memory.data();
    }

    /// Of positions that a pass computes: how many there are, have logits, and show their states.
    struct counts {
        std::size_t all, rows, shown;
    };
    static counts counts_of(const pass_type& asked) {
        const std::size_t waiting = asked.sequence->waiting_.size();
        const std::size_t computed = asked.from_layer > 0 ? waiting : asked.tokens.size();
        const std::size_t rows = asked.wanted(waiting);
        return {computed, rows, asked.states || asked.to_layer != all_layers ? computed : rows};
    }
    static std::pair<std::size_t, std::size_t> layers_of(const pass_type& asked) {
        return {asked.from_layer, asked.to_layer};
    }

    /// Positions of a pass that are treated alike, and where in the rows of a run they are. Those without states come
    /// first, those with logits last: so what is wanted of many passes lies together, and no row comes before one that
    /// it attends to.
    struct piece {
        const pass_type* of;
        std::size_t first, count, place;
    };

    void check(const pass_type& asked) const {
        model::check_waiting(asked, asked.sequence->waiting_.size(), asked.sequence->split_);
        check_extension(asked.tokens, asked.sequence->length_, context_, config_.vocabulary);
    }

    /// All memory that it takes. New tokens take the slots of a tree that was scored before, which cannot be kept any
    /// more.
    void reserve(const pass_type& asked) const {
        sequence_type& s = *asked.sequence;
        s.cache_.reserve(s.length_ + asked.tokens.size());
        s.hidden_.require(on_, counts_of(asked).shown, config_.width);
        s.logits_.require(on_, counts_of(asked).rows, config_.vocabulary);
        if (asked.to_layer != all_layers)
            s.waiting_.reserve(on_, s.waiting_.size() + asked.tokens.size(), config_.width);
    }

    /// Those of the passes that go through these layers. The states and logits of several are made together, and then
    /// copied to their sequences.
    void run_layers(std::span<const pass_type> asked, std::pair<std::size_t, std::size_t> layers) {
        place(asked, layers);
        const std::size_t from = layers.first, to = layers.second;  // clang 14 captures no binding
        const bool is_whole = from == 0 && to == all_layers;
        const bool is_single = std::all_of(pieces_.begin(), pieces_.end(),
                                           [&](const piece& each) { return each.of == pieces_.front().of; });
        sequence_type& only = *pieces_.front().of->sequence;
        outputs out;
        out.states = is_whole ? nullptr : states_.require(on_, rows_.size(), config_.width);
        out.hidden = is_single ? only.hidden_.data() : hidden_.require(on_, shown_, config_.width);
        out.logits = is_single ? only.logits_.data() : logits_.require(on_, scored_, config_.vocabulary);
        for_pieces([&](const piece& each, sequence_type& s, const counts&) {
            if (from > 0) copy_rows(out.states, each.place, s.waiting_.data(), each.first, each.count, config_.width);
        });
        in_passes([&](std::size_t first, std::size_t size) {
            float* const state = is_whole ? forward_.state() : out.states + first * config_.width;
            if (is_whole) {
                forward_.run_all();
            } else {
                if (from == 0) forward_.embed(state);
                forward_.run_layers(from, std::min(to, config_.layers), state);
            }
            if (to == all_layers) run_head(state, first, size, out);
        });
        if (to != all_layers) return hand_out(out.states, nullptr);
        if (!is_single) hand_out(out.hidden, out.logits);
    }

    /// Of all rows of a run; states after layers that are not all or not the last.
    struct outputs {
        float *states, *hidden, *logits;
    };

    void run_head(const float* state, std::size_t first, std::size_t size, const outputs& out) {
        const std::size_t bare = rows_.size() - shown_, mute = rows_.size() - scored_, end = first + size;
        const std::size_t a = std::clamp(bare, first, end), b = std::clamp(mute, first, end);
        if (a < b) forward_.run_head(state, end - a, out.hidden + (a - bare) * config_.width, nullptr);
        if (b == end) return;
        forward_.run_head(state, end - b, out.hidden + (b - bare) * config_.width,
                          out.logits + (b - mute) * config_.vocabulary);
    }

    /// To the sequences: the states that they show, and their logits, of which there are none where `logits` is null.
    void hand_out(const float* hidden, const float* logits) const {
        for_pieces([&](const piece& each, sequence_type& s, const counts& of) {
            const std::size_t bare = rows_.size() - shown_, mute = rows_.size() - scored_;
            if (each.place >= bare) {
                copy_rows(s.hidden_.data(), each.first + of.shown - of.all, hidden, each.place - bare, each.count,
                          config_.width);
            }
            if (logits != nullptr && each.place >= mute) {
                copy_rows(s.logits_.data(), each.first + of.rows - of.all, logits, each.place - mute, each.count,
                          config_.vocabulary);
            }
        });
    }
    void copy_rows(float* to, std::size_t at, const float* from, std::size_t first, std::size_t count,
                   std::size_t width) const {
        on_.copy(to + at * width, from + first * width, count * width * sizeof(float));
    }

    /// Puts the rows of these passes in order.
    void place(std::span<const pass_type> asked, std::pair<std::size_t, std::size_t> layers) {
        pieces_.clear();
        rows_.clear();
        std::array<std::size_t, 3> sizes{};
        for (std::size_t kind = 0; kind < 3; ++kind) {
            for (const pass_type& each : asked) {
                if (layers_of(each) != layers) continue;
                const counts of = counts_of(each);
                const std::array<std::size_t, 4> ends{0, of.all - of.shown, of.all - of.rows, of.all};
                const std::size_t count = ends[kind + 1] - ends[kind];
                if (count > 0 || kind == 2) append({&each, ends[kind], count, rows_.size()});
                sizes[kind] += count;
            }
        }
        scored_ = sizes[2];
        shown_ = sizes[1] + sizes[2];
    }

    void append(const piece& added) {
        const pass_type& asked = *added.of;
        sequence_type& s = *asked.sequence;
        pieces_.push_back(added);
        const std::size_t before = asked.from_layer > 0 ? s.length_ - s.waiting_.size() : s.length_;
        rows_.resize(added.place + added.count);
        for (std::size_t i = 0; i < added.count; ++i) {
            row_place& row = rows_[added.place + i];
            row = {};
            row.blocks = s.cache_.blocks();
            row.position = row.slot = static_cast<std::int32_t>(before + added.first + i);
            row.id = asked.from_layer > 0 ? 0 : asked.tokens[added.first + i];  // embeddings were looked up before
        }
        if (asked.parents.empty() || added.count == 0) return;
        const auto base = static_cast<std::int32_t>(before);
        const tree_paths paths(asked.parents, base);
        if (paths_used_ == paths_.size()) paths_.emplace_back();
        const std::int32_t* const slots = sent(paths_[paths_used_++], paths.slots());
        for (std::size_t i = 0; i < added.count; ++i) {
            row_place& row = rows_[added.place + i];
            row.base = base;
            row.path = slots + paths.begin(added.first + i);
            row.position = base + static_cast<std::int32_t>(paths.length(added.first + i)) - 1;
        }
    }

    void for_pieces(const auto& use) const {
        for (const piece& each : pieces_) {
            if (each.count > 0) use(each, *each.of->sequence, counts_of(*each.of));
        }
    }

    /// `use(first, size)` for passes of as many rows as one takes.
    void in_passes(const auto& use) {
        for (std::size_t first = 0, size = 0; first < rows_.size(); first += size) {
            size = forward_.products().pass_of(rows_.size() - first);
            const auto now = std::span<const row_place>(rows_).subspan(first, size);
            std::int32_t longest = 0;
            for (const row_place& row : now) longest = std::max(longest, row.position + 1);
            forward_.begin(now, static_cast<std::size_t>(longest));
            use(first, size);
        }
    }

    void commit(const pass_type& asked) const {
        sequence_type& s = *asked.sequence;
        const counts of = counts_of(asked);
        s.tree_.assign(asked.parents.begin(), asked.parents.end());
        s.tree_at_ = s.length_;
        if (asked.parents.empty()) s.length_ += asked.tokens.size();
        if (asked.from_layer > 0) s.waiting_.shrink(0);
        if (asked.to_layer == all_layers) return;
        float* const waiting = s.waiting_.append(on_, of.all, config_.width);
        on_.copy(waiting, s.hidden_.data(), of.all * config_.width * sizeof(float));
        s.split_ = asked.to_layer;
    }

    S on_;
    const config& config_;
    std::size_t context_;
    std::mutex busy_;
    forward_pass<Element, S, F, Products> forward_;
    std::vector<row_place> rows_;
    std::vector<piece> pieces_;
    std::size_t shown_ = 0, scored_ = 0;  ///< of these rows
    std::vector<slots_there> paths_;      ///< of the trees of a run
    std::size_t paths_used_ = 0;          ///< by the run that is under way
    slots_there kept_;
    float_rows<S> states_, hidden_, logits_;
};

}  // namespace augur::llama::device
