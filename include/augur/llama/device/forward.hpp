#pragma once
// The forward pass on a device: new rows of any sequences through some layers, as kernel launches.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>

#include "augur/backend/device/send.hpp"
#include "augur/backend/device/skinny_product.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/llama/config.hpp"
#include "augur/llama/device/attention.hpp"
#include "augur/llama/device/cache.hpp"
#include "augur/llama/device/dense_rows.hpp"
#include "augur/llama/device/place.hpp"
#include "augur/llama/device/products.hpp"
#include "augur/llama/device/rows.hpp"
#include "augur/llama/device/weights.hpp"

namespace augur::llama::device {

/// Runs as many rows at a time as its products take, and holds the memory that they need on their way. Every kernel but
/// wide products computes a row in an order that does not depend on the others.
template <class Element, kernels::System S, device_format F = device_format::elements, class Products = skinny_products>
class forward_pass {
 public:
    forward_pass(const S& on, const config& c, const weights_on_device<Element, S, F>& w, Products products = {})
        : on_(on), config_(c), weights_(w), products_(std::move(products)), is_llama_(beyond_llama(c).empty()) {
        check_attention(layout(), c.heads);
        const std::size_t most_rows = products_.most_rows();
        places_ = kernels::buffer<row_place, S>(on, most_rows);
        state_ = kernels::buffer<float, S>(on, most_rows * c.width);
        squares_ = kernels::buffer<float, S>(on, most_rows * panels_of(c.width));
        queries_size_ = c.heads * c.head_size;
        keys_size_ = c.key_value_heads * c.head_size;
        queries_ = kernels::buffer<float, S>(on, most_rows * queries_size_);
        arrivals_ = kernels::buffer<std::uint32_t, S>(on, attended_rows * c.key_value_heads);
        on.clear(arrivals_.data(), arrivals_.memory_bytes());
        turns_ = kernels::buffer<float, S>(on, most_rows * std::max<std::size_t>(turns_stride(), 1));
        if (!is_llama_) sums_ = kernels::buffer<float, S>(on, most_rows * std::max(c.width, placed_size()));
        for (auto [inputs, size] :
             {std::pair{&normed_, c.width}, {&mixed_, queries_size_}, {&gated_, c.feed_forward}}) {
            *inputs = kernels::buffer<Element, S>(on, most_rows * kernels::tile_layout::padded(size));
            on.clear(inputs->data(), inputs->memory_bytes());  // what fills up stays zero
        }
        products_.prepare(on, std::span(w.layers()).first(std::min(c.layers, w.layers().size())));
    }

    const Products& products() const { return products_; }

    cache_layout layout() const { return {config_.layers, config_.key_value_heads, config_.head_size}; }

    /// Memory for passes of so many rows that see so many positions.
    void reserve(std::size_t rows, std::size_t longest) {
        const std::size_t scratch =
            scratch_floats(std::min(rows, attended_rows), config_.heads, config_.head_size, bounded(longest));
        if (scratch <= scratch_.size()) return;
        scratch_ = kernels::buffer<float, S>(on_, 2 * scratch);
        recordings_.clear();
    }

    /// The rows that the calls below are about; none sees more than `longest` positions.
    void begin(std::span<const row_place> rows, std::size_t longest) {
        reserve(rows.size(), longest);
        kernels::send(on_, begin_there(rows.size(), longest), rows);
    }
    /// The same for rows that a kernel writes where this says. Memory for them is reserved.
    row_place* begin_there(std::size_t rows, std::size_t longest) {
        rows_ = rows;
        longest_ = bounded(longest);
        return places_.data();
    }

    /// Memory of the pass for the rows' states; a caller may have its own.
    float* state() const { return state_.data(); }

    /// The embeddings and all layers, in state(). Launched as a whole where the system records: a recording for each
    /// number of rows and each power of two of positions is made when it is first needed. Not so of very long passes: a
    /// prompt's length is seldom that of another.
    void run_all() {
        const auto run = [this] {
            embed(state());
            run_layers(0, config_.layers, state());
        };
        if constexpr (kernels::RecordingSystem<S>) {
            if (on_.records() && rows_ <= most_recorded_rows) return on_.replay(recorded(run));
        }
        run();
    }

    /// state = embeddings of the rows' tokens.
    void embed(float* state) {
        on_.launch(rows_, device::embed<Element>{places_.data(), weights_.embedding(), config_.width, state});
        if (config_.embedding_scale != 1) {
            on_.launch(rows_, scale_rows{state, config_.width, config_.embedding_scale});
        }
    }

    /// Layers [first, last); `state` is rows x width.
    void run_layers(std::size_t first, std::size_t last, float* state) {
        if (!is_llama_) return run_dense_layers(first, last, state);
        on_.launch(rows_, find_turns{places_.data(), weights_.frequencies(), config_.rotary_size / 2, turns_.data()});
        const auto norm_of = [&](std::size_t i) { return weights_.layers()[i].attention_norm.data(); };
        if (first < last) {
            on_.launch(rows_, prepare_rows<Element>{read_by_next(norm_of(first), state), squares_.data()});
        }
        for (std::size_t i = first; i < last; ++i) run_layer(i, state, i + 1 < last ? norm_of(i + 1) : nullptr);
    }

    /// The last `last` rows of `state`: normalised to `hidden` (last x width), and, unless null, times the head to
    /// `logits` (last x vocabulary). The head is skinny: few rows of a long pass are asked for.
    void run_head(const float* state, std::size_t last, float* hidden, float* logits) {
        if (last == 0) return;
        normalise(weights_.final_norm(), state + (rows_ - last) * config_.width, last, hidden);
        if (logits == nullptr) return;
        multiply_head(on_, weights_.head(), normed_.data(), last, logits, head_rule(config_));
    }

 private:
    /// In steps, so that few recordings serve all.
    static std::size_t bounded(std::size_t longest) {
        return std::bit_ceil(std::max(longest, cache_layout::block_positions));
    }

    /// What products read of the state is made by whoever made that: the sums before, for the layer's second norm, and
    /// for the first one of the next layer; `next` is null after the last.
    void run_layer(std::size_t index, float* state, const float* next) {
        const auto& layer = weights_.layers()[index];
        const float scale = 1.0f / std::sqrt(static_cast<float>(config_.head_size));
        products_.multiply(on_, layer.query_key_value.view(), normed_.data(), rows_,
                           place_sums<Element>{places_.data(), turns_.data(), queries_.data(), layout(), index,
                                               queries_size_, keys_size_, config_.rotary_size / 2, scale},
                           norm_scales());
        attend_layer(index);
        products_.multiply(on_, layer.attention_output.view(), mixed_.data(), rows_,
                           prepared(state, layer.feed_forward_norm.data()));
        const std::size_t hidden = config_.feed_forward;
        products_.multiply(on_, layer.gate_up.view(), normed_.data(), rows_,
                           kernels::gate_sums<Element>{gated_.data(), hidden, kernels::tile_layout::padded(hidden)},
                           norm_scales());
        if (next != nullptr) {
            products_.multiply(on_, layer.down.view(), gated_.data(), rows_, prepared(state, next));
        } else {
            products_.multiply(on_, layer.down.view(), gated_.data(), rows_, kernels::add_sums{state, config_.width});
        }
    }

    // ---- the same for what has more than a Llama: sums are stored, and kernels of rows make of them what is to be.

    void run_dense_layers(std::size_t first, std::size_t last, float* state) {
        const std::size_t pairs = config_.rotary_size / 2;
        on_.launch(rows_, find_all_turns{places_.data(), weights_.frequencies(), pairs, turns_stride() / (2 * pairs),
                                         static_cast<double>(config_.rotary_scale), turns_.data()});
        if (first < last) add(state, nullptr, nullptr, nullptr, weights_.layers()[first].attention_norm.data());
        for (std::size_t i = first; i < last; ++i) {
            run_dense_layer(i, state);
            const auto& layer = weights_.layers()[i];
            const float* const next = i + 1 < last ? weights_.layers()[i + 1].attention_norm.data() : nullptr;
            add(state, sums_.data(), layer.vectors.down_bias.data(), layer.vectors.after_feed_forward_norm.data(),
                next);
        }
    }
    /// All but to add the sums of the last product.
    void run_dense_layer(std::size_t index, float* state) {
        const auto& layer = weights_.layers()[index];
        const auto& more = layer.vectors;
        const std::size_t hidden = config_.feed_forward, width = config_.width;
        products_.multiply(on_, layer.query_key_value.view(), normed_.data(), rows_,
                           kernels::store_sums{sums_.data(), placed_size(), placed_size()});
        place_layer(index);
        attend_layer(index);
        products_.multiply(on_, layer.attention_output.view(), mixed_.data(), rows_,
                           kernels::store_sums{sums_.data(), width, width});
        add(state, sums_.data(), more.attention_output_bias.data(), more.after_attention_norm.data(),
            layer.feed_forward_norm.data());
        products_.multiply(on_, layer.gate_up.view(), normed_.data(), rows_,
                           gate_sums_by<Element>{gated_.data(), hidden, kernels::tile_layout::padded(hidden),
                                                 more.gate_bias.data(), more.up_bias.data(), config_.gate});
        products_.multiply(on_, layer.down.view(), gated_.data(), rows_,
                           kernels::store_sums{sums_.data(), width, width});
    }
    /// A norm that the model has not is null.
    void add(float* state, float* change, const float* bias, const float* after, const float* next) {
        on_.launch(rows_, add_and_normalise<Element>{state, config_.width, config_.norm_epsilon, change, bias, after,
                                                     config_.residual_scale, next, normed_.data(),
                                                     kernels::tile_layout::padded(config_.width)});
    }
    void place_layer(std::size_t index) {
        const auto& more = weights_.layers()[index].vectors;
        const auto turns = config_.positions_of(index).turns;
        const float* const from = turns == layer_positions::rotary::local  ? turns_.data() + config_.rotary_size
                                  : turns == layer_positions::rotary::main ? turns_.data()
                                                                           : nullptr;
        const float scale = config_.attention_scale != 0 ? config_.attention_scale
                                                         : 1.0f / std::sqrt(static_cast<float>(config_.head_size));
        const position_scale scales{scale, config_.attention_temperature,
                                    std::max<std::size_t>(config_.temperature_context, 1)};
        on_.launch(rows_, place_rows<Element>{places_.data(), sums_.data(), more.query_key_value_bias.data(),
                                              more.query_norm.data(), more.key_norm.data(), more.query_norm.size(),
                                              more.key_norm.size(), from, turns_stride(), queries_.data(), layout(),
                                              index, queries_size_, keys_size_, config_.rotary_size / 2, scales,
                                              config_.norm_epsilon});
    }
    /// Of queries, keys and values of a row.
    std::size_t placed_size() const { return queries_size_ + 2 * keys_size_; }
    /// Cosines and sines of a row.
    std::size_t turns_stride() const { return config_.rotary_size * (config_.local_rotary_base == 0 ? 1 : 2); }

    kernels::add_and_prepare<Element> prepared(float* state, const float* norm) const {
        return {state,          config_.width, norm, normed_.data(), kernels::tile_layout::padded(config_.width),
                squares_.data()};
    }
    kernels::column_scales norm_scales() const {
        return {squares_.data(), panels_of(config_.width), config_.width, config_.norm_epsilon};
    }
    static std::size_t panels_of(std::size_t size) {
        return (size + kernels::tile_layout::rows - 1) / kernels::tile_layout::rows;
    }

    /// In pieces of 64 rows: their scratch grows with the positions, too.
    void attend_layer(std::size_t index) {
        const std::size_t window = config_.positions_of(index).window;
        if (window == 0 && config_.attention_cap == 0) return attend_layer(index, every_score{});
        attend_layer(index, scores_by_rule{window, config_.attention_cap});
    }
    template <class Rule>
    void attend_layer(std::size_t index, const Rule& rule) {
        const std::size_t stride = kernels::tile_layout::padded(queries_size_);
        for (std::size_t first = 0; first < rows_; first += attended_rows) {
            attend_all(
                on_,
                attention_task<Element>{places_.data() + first, std::min(rows_ - first, attended_rows), longest_,
                                        layout(), index, config_.heads, queries_.data() + first * queries_size_,
                                        scratch_.data(), mixed_.data() + first * stride, stride, arrivals_.data()},
                rule);
        }
    }

    /// The recording for passes like this one.
    const auto& recorded(const auto& run) {
        const std::pair key(rows_, longest_);
        if (recordings_.size() == most_recordings && !recordings_.contains(key)) recordings_.clear();
        auto found = recordings_.find(key);
        if (found == recordings_.end()) found = recordings_.emplace(key, on_.record(run)).first;
        return found->second;
    }

    /// To the inputs of the next product, and to `unrounded` unless it is null.
    void normalise(const float* weight, const float* state, std::size_t rows, float* unrounded) {
        on_.launch(rows, rms_norm<Element>{read_by_next(weight, state), config_.norm_epsilon, unrounded});
    }
    /// Rows times the weights of a norm, where the next product reads them.
    norm_rows<Element> read_by_next(const float* weight, const float* state) {
        return {state, weight, config_.width, normed_.data(), kernels::tile_layout::padded(config_.width)};
    }

    /// What a system keeps of launches; nothing where it records none.
    template <class System>
    struct recording_of {
        using type = int;
    };
    template <kernels::RecordingSystem System>
    struct recording_of<System> {
        using type = typename System::recording;
    };
    static constexpr std::size_t most_recordings = 64, most_recorded_rows = 256, attended_rows = 64;

    S on_;
    const config& config_;
    const weights_on_device<Element, S, F>& weights_;
    Products products_;
    bool is_llama_;
    std::size_t queries_size_ = 0, keys_size_ = 0, rows_ = 0, longest_ = 0;
    kernels::buffer<row_place, S> places_;
    kernels::buffer<float, S> state_, squares_, queries_, turns_, sums_, scratch_;
    kernels::buffer<std::uint32_t, S> arrivals_;  ///< all zero between launches
    kernels::buffer<Element, S> normed_, mixed_, gated_;
    std::map<std::pair<std::size_t, std::size_t>, typename recording_of<S>::type>
        recordings_;  ///< by rows and positions
};

}  // namespace augur::llama::device
