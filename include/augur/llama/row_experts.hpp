#pragma once
// The feed-forwards of a pass's rows; of a mixture's experts each that any of them chose is read once.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "augur/backend/host/aligned_buffer.hpp"
#include "augur/backend/host/kernels.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/layer_weights.hpp"
#include "augur/llama/row_products.hpp"
#include "augur/llama/score_rule.hpp"

namespace augur::llama {

/// One feed-forward of all rows; or routes rows to experts, and sums what these answer: see mixture. Rows that chose
/// one expert go through its products together, in places next to each other. A row's bits depend on the row alone: its
/// sum is in the order of its scores.
class row_experts : public row_products {
 protected:
    row_experts(const config& c, const backend::host::kernels& kernels,
                std::shared_ptr<backend::host::thread_pool> pool, std::size_t longest)
        : row_products(kernels, std::move(pool), longest), gates_(c, kernels), mixture_(c.experts), width_(c.width) {
        for (auto* buffer : {&gate_, &up_}) buffer->require(most_rows * widest_feed_forward(c));
        if (!c.gated) std::fill_n(up_.data(), most_rows * c.feed_forward, 1.0f);  // a factor that changes nothing
        if (mixture_.count == 0) return;
        const std::size_t places = most_rows * mixture_.used, wide = mixture_.feed_forward;
        scores_.require(most_rows * mixture_.count);
        for (auto* buffer : {&gathered_, &answers_}) buffer->require(places * width_);
        for (auto* buffer : {&held_, &up_held_}) buffer->require(places * wide);
        for (const auto format : {input_format::bf16, input_format::q8}) {
            const auto at = static_cast<std::size_t>(format);
            gathered_copies_[at] = backend::host::aligned_buffer(places * longest_input(width_));
            held_copies_[at] = backend::host::aligned_buffer(places * longest_input(wide));
        }
        chosen_.resize(places);
        place_of_.resize(places);
        shares_.resize(places);
        groups_.reserve(std::min(mixture_.count, places));
        next_.resize(mixture_.count);
        if (mixture_.shared_feed_forward != 0) shared_.require(most_rows * (width_ + 1));
    }

    /// The most that one of all rows holds.
    static std::size_t widest_feed_forward(const config& c) {
        return std::max(c.feed_forward, c.experts.shared_feed_forward);
    }

    /// gate_ = activation(gate * in) * (up * in), prepared for the way down; without an up the activation alone. `in`
    /// has been prepared for both.
    void feed_forward(const layer_weights& layer, const float* in, std::size_t rows) {
        const std::size_t wide = layer.gate.rows();
        const auto gate = product_of(copies_, layer.gate, in, rows, gate_.data());
        const auto up = product_of(copies_, layer.up, in, rows, up_.data());
        for_panels(layer.gate.panels(), [&](std::size_t first, std::size_t last) {
            multiply_panels(gate, first, last);
            if (layer.up.rows() != 0) multiply_panels(up, first, last);
            add_bias(layer.gate_bias, gate_.data(), rows, first, last);
            add_bias(layer.up_bias, up_.data(), rows, first, last);
            const std::size_t from = first * backend::host::panel_rows;
            const std::size_t to = std::min(last * backend::host::panel_rows, wide);
            for (std::size_t row = 0; row < rows; ++row) {
                const std::size_t at = row * wide + from;
                gates_.apply(gate_.data() + at, up_.data() + at, to - from);
                prepare_part(gate_copies_, layer.down, gate_.data(), row, from, to);
            }
        });
    }

    /// out[row] += sigmoid(score) * what the expert of all rows, if there is one, makes of in[row], which has been
    /// prepared for it.
    void add_shared(const layer_weights& layer, const float* in, std::size_t rows, float* out) {
        if (layer.shared_gate.rows() == 0) return;
        float* const scores = shared_.data() + rows * width_;
        multiply_shared(layer.shared_gate, product_of(copies_, layer.shared_gate, in, rows, scores));
        feed_forward(layer, in, rows);
        multiply_shared(layer.down, product_of(gate_copies_, layer.down, gate_.data(), rows, shared_.data()));
        for_rows(rows, [&](std::size_t row) {
            const float share = 1 / (1 + std::exp(-scores[row]));
            const float* const answer = shared_.data() + row * width_;
            float* const sum = out + row * width_;
            for (std::size_t i = 0; i < width_; ++i) sum[i] = std::fma(share, answer[i], sum[i]);
        });
    }

    /// out[row] = what the layer's experts make of in[row], `width` numbers each.
    void mix(const layer_weights& layer, const float* in, std::size_t rows, float* out) {
        multiply({{&layer.router, scores_.data(), &layer.router_bias}}, in, rows);
        for_rows(rows, [&](std::size_t row) { choose(row); });
        group(rows);
        for_rows(rows, [&](std::size_t row) { gather(layer, in + row * width_, row); });
        hold(layer);
        answer(layer);
        for_rows(rows, [&](std::size_t row) { sum(row, out + row * width_); });
    }

    backend::host::float_buffer gate_;  ///< what the feed-forward of all rows holds

 private:
    /// Rows that chose an expert, in places [first, first + count).
    struct group_of_rows {
        std::size_t expert, first, count;
    };

    /// The row's experts and their shares, best first.
    void choose(std::size_t row) {
        float* const scores = scores_.data() + row * mixture_.count;
        const std::span chosen = std::span(chosen_).subspan(row * mixture_.used, mixture_.used);
        float* const shares = shares_.data() + row * mixture_.used;
        for (std::size_t rank = 0; rank < mixture_.used; ++rank) {
            const auto before = chosen.first(rank);
            std::size_t best = mixture_.count;
            for (std::size_t expert = 0; expert < mixture_.count; ++expert) {
                if (best != mixture_.count && !(scores[expert] > scores[best])) continue;
                if (std::find(before.begin(), before.end(), expert) == before.end()) best = expert;
            }
            chosen[rank] = best;
        }
        if (!mixture_.shares_of_chosen) kernels_.softmax(scores, mixture_.count);
        for (std::size_t rank = 0; rank < mixture_.used; ++rank) shares[rank] = scores[chosen[rank]];
        if (mixture_.shares_of_chosen) kernels_.softmax(shares, mixture_.used);
    }

    /// Gives each row's choices their places: expert by expert, row by row.
    void group(std::size_t rows) {
        const std::span chosen = std::span(chosen_).first(rows * mixture_.used);
        std::fill(next_.begin(), next_.end(), std::size_t{0});
        for (const std::size_t expert : chosen) ++next_[expert];
        groups_.clear();
        std::size_t first = 0;
        for (std::size_t expert = 0; expert < mixture_.count; ++expert) {
            const std::size_t count = std::exchange(next_[expert], first);
            if (count != 0) groups_.push_back({expert, first, count});
            first += count;
        }
        for (std::size_t i = 0; i < chosen.size(); ++i) place_of_[i] = next_[chosen[i]]++;
    }

    void gather(const layer_weights& layer, const float* row, std::size_t index) {
        for (std::size_t i = index * mixture_.used; i < (index + 1) * mixture_.used; ++i) {
            const expert_weights& expert = layer.experts[chosen_[i]];
            std::copy_n(row, width_, gathered_.data() + place_of_[i] * width_);
            prepare_row(gathered_copies_, {&expert.gate, &expert.up}, gathered_.data(), width_, place_of_[i]);
        }
    }

    /// body(group, first, last) for ranges that make up the panels of every group's expert, none of which begins within
    /// what is quantised together.
    void for_experts(std::size_t panels, const auto& body) {
        const std::size_t together = backend::host::scaled_together / backend::host::panel_rows;
        const std::size_t each = (panels + together - 1) / together * together;
        for_panels(groups_.size() * each, [&](std::size_t first, std::size_t last) {
            while (first < last) {
                const std::size_t start = first / each * each, end = std::min(last, start + each);
                body(groups_[first / each], first - start, std::min(end - start, panels));
                first = end;
            }
        });
    }

    /// The product of a group's rows, each of which begins `depth` after the one before it.
    backend::host::product_task product_in(const group_of_rows& of, const input_copies& copies, const matrix& weight,
                                           const float* x, float* y) const {
        auto task = product_of(copies, weight, x, of.count, y + of.first * weight.rows());
        task.x += of.first * task.x_stride;
        return task;
    }

    /// What the feed-forward of each expert holds: activation(gate) * up, prepared for the way down.
    void hold(const layer_weights& layer) {
        const std::size_t wide = mixture_.feed_forward;
        for_experts(layer.experts[0].gate.panels(), [&](const group_of_rows& of, std::size_t first, std::size_t last) {
            const expert_weights& expert = layer.experts[of.expert];
            multiply_panels(product_in(of, gathered_copies_, expert.gate, gathered_.data(), held_.data()), first, last);
            multiply_panels(product_in(of, gathered_copies_, expert.up, gathered_.data(), up_held_.data()), first,
                            last);
            add_bias(expert.gate_bias, held_.data() + of.first * wide, of.count, first, last);
            add_bias(expert.up_bias, up_held_.data() + of.first * wide, of.count, first, last);
            const std::size_t from = first * backend::host::panel_rows;
            const std::size_t to = std::min(last * backend::host::panel_rows, wide);
            for (std::size_t place = of.first; place < of.first + of.count; ++place) {
                gates_.apply(held_.data() + place * wide + from, up_held_.data() + place * wide + from, to - from);
                prepare_part(held_copies_, expert.down, held_.data(), place, from, to);
            }
        });
    }

    void answer(const layer_weights& layer) {
        for_experts(layer.experts[0].down.panels(), [&](const group_of_rows& of, std::size_t first, std::size_t last) {
            const expert_weights& expert = layer.experts[of.expert];
            multiply_panels(product_in(of, held_copies_, expert.down, held_.data(), answers_.data()), first, last);
            add_bias(expert.down_bias, answers_.data() + of.first * width_, of.count, first, last);
        });
    }

    void sum(std::size_t row, float* out) const {
        std::fill_n(out, width_, 0.0f);
        for (std::size_t i = row * mixture_.used; i < (row + 1) * mixture_.used; ++i) {
            const float* const answer = answers_.data() + place_of_[i] * width_;
            for (std::size_t k = 0; k < width_; ++k) out[k] = std::fma(shares_[i], answer[k], out[k]);
        }
    }

    gate_rule gates_;
    const mixture& mixture_;
    std::size_t width_;
    std::vector<std::size_t> chosen_, place_of_, next_;  ///< by row and rank; the next place of each expert
    std::vector<float> shares_;
    std::vector<group_of_rows> groups_;
    backend::host::float_buffer up_, shared_, scores_, gathered_, held_, up_held_, answers_;
    input_copies gathered_copies_, held_copies_;
};

}  // namespace augur::llama
