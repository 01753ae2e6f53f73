#pragma once
// A trainable draft head with a layer of its own, attention included. See docs/train/attending_head.md.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "augur/draft/exit_head.hpp"
#include "augur/train/draft_attention.hpp"
#include "augur/train/draft_layer.hpp"
#include "augur/train/head_options.hpp"
#include "augur/train/layer_head.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/weight_matrix.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// A layer_head that attends itself: the last of the layers that draft is computed on a path of its own from the states
/// that enter it, with low-rank updates of all seven projections (draft_attention, draft_layer) and keys and values of
/// its own. The verifier's cache, and the states it goes on from, are as they are without. Models draft::AttendingHead
/// and Trainable: the layer_head's numbers come first, then the attention's. Copies share the matrices.
/// `layer()` is the number of layers before its own, so that a draft takes layer() + 1.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: beside the state_head's, the products of a whole layer for each row, and attention over all positions; in
/// backward keys and values of whole texts. After an update the keys and values of a text are made anew, by products of
/// the ranks alone.
/// Source: DVI ("low-rank updates of the last shallow layers"); Hu et al. 2021, LoRA (arXiv 2106.09685).
template <WeightMatrix Base>
class attending_head : private layer_head<Base> {
    using base_type = layer_head<Base>;
    using base_type::last_layer;
    using base_type::values_;

 public:
    using base_type::alpha;
    using base_type::classes;
    using base_type::context_size;
    using base_type::layer;
    using base_type::layout;
    using base_type::learns;
    using base_type::possible;
    using base_type::tokens;
    using base_type::values;
    using base_type::vocabulary_fingerprint;
    using base_type::vocabulary_size;
    using base_type::weight_matrix;
    using typename base_type::batch_type;
    using typename base_type::parameter_vector;
    using typename base_type::scalar;
    using options_type = attending_options;
    using attention_type = draft_attention<Base>;
    using sequence_type = typename attention_type::sequence;

    /// What backward needs of a forward.
    struct pass : base_type::pass {
        typename attention_type::pass attention;
    };

    /// `place.layer`: of the states that enter the layer. Throws where layer, base, norm or tokens do not fit.
    attending_head(attention_projections<Base> attention, layer_projections<Base> last, Base base,
                   const head_place& place, const attending_options& chosen)
        : base_type("attending_head", std::move(last), std::move(base), place, chosen),
          options_(chosen),
          attention_(std::move(attention), chosen.attention_rank, chosen.epsilon,
                     static_cast<std::size_t>(values_.size())) {
        if (attention_.width() != last_layer().width() || attention_.attended() != last_layer().attended()) {
            detail::fail("attending_head: the attention makes ", attention_.attended(), " numbers of ",
                         attention_.width(), ", the layer reads ", last_layer().attended(), " and makes ",
                         last_layer().width());
        }
        values_.conservativeResize(values_.size() + detail::index(attention_.size()));
        attention_.begin(values_, chosen.seed);
    }

    const attending_options& options() const { return options_; }
    std::size_t hidden_size() const { return attention_.width(); }
    std::array<head_block, 22> blocks() const {
        std::array<head_block, 22> all{};
        const auto before = base_type::blocks();
        const auto own = attention_.blocks();
        std::copy(own.begin(), own.end(), std::copy(before.begin(), before.end(), all.begin()));
        return all;
    }

    void assign(const parameter_vector& from) {
        base_type::assign(from);
        made_by_ = next_number();
    }
    /// Swaps the parameters of two heads of one kind, at no cost.
    void swap(attending_head& other) {
        base_type::swap(other);
        std::swap(made_by_, other.made_by_);
    }

    /// See draft::AttendingHead.
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& of) const { return attention_.length(of); }
    void truncate(sequence_type& of, std::size_t length) const { attention_.truncate(of, length); }
    std::span<const float> states(const sequence_type& of) const { return of.states; }
    void append(sequence_type& to, std::span<const float> states) const {
        if (states.size() % hidden_size() != 0) {
            detail::fail("attending_head: ", states.size(), " numbers are no states of ", hidden_size());
        }
        if (!states.empty()) attention_.append(values(), made_by_, to, states);
    }
    /// -infinity for a token without a class.
    void row(sequence_type& of, std::span<float> out) const {
        if (out.size() != vocabulary_size()) {
            detail::fail("attending_head: it makes ", vocabulary_size(), " logits, not ", out.size());
        }
        this->row_of_state(last_layer().forward(values(), attention_.layer_input(values(), made_by_, of)).state, out);
    }

    /// Logits of the classes, a column for each asked position of a text; where no texts are given, for each of
    /// `states`, as the only position of its text.
    pass forward(const batch_type& states, const asked_rows& asked = {}) const {
        pass activations;
        std::vector<attending_row> rows;
        std::vector<std::size_t> positions;
        const batch_type all =
            asked.sequences.empty() ? alone(states, rows, positions) : together(asked, rows, positions);
        activations.attention = attention_.forward(values(), all, positions, rows);
        batch_type layer_inputs(detail::index(last_layer().layer_input_size()), detail::index(rows.size()));
        layer_inputs.topRows(activations.attention.attended.rows()) = activations.attention.attended;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            layer_inputs.col(detail::index(i)).tail(all.rows()) = all.col(detail::index(rows[i].own));
        }
        static_cast<typename base_type::pass&>(activations) = base_type::forward(layer_inputs);
        return activations;
    }

    /// The gradient of a loss by each parameter, given that by each logit.
    parameter_vector backward(const pass& activations, const batch_type& grad_logits) const {
        batch_type grad_attended;
        parameter_vector gradient = base_type::backward(activations, grad_logits, &grad_attended);
        attention_.backward(values(), activations.attention, grad_attended, gradient);
        return gradient;
    }

 private:
    static std::uint64_t next_number() {
        static std::atomic<std::uint64_t> last{0};
        return ++last;
    }

    batch_type alone(const batch_type& states, std::vector<attending_row>& rows,
                     std::vector<std::size_t>& positions) const {
        const auto count = static_cast<std::size_t>(states.cols());
        for (std::size_t i = 0; i < count; ++i) rows.push_back({i, i});
        positions.assign(count, 0);
        return states;
    }
    batch_type together(const asked_rows& asked, std::vector<attending_row>& rows,
                        std::vector<std::size_t>& positions) const {
        std::vector<std::size_t> starts;
        for (const auto& text : asked.sequences) {
            starts.push_back(positions.size());
            for (std::size_t at = 0; at < text.size() / hidden_size(); ++at) positions.push_back(at);
        }
        batch_type all(detail::index(hidden_size()), detail::index(positions.size()));
        for (std::size_t i = 0; i < starts.size(); ++i) {
            const auto& text = asked.sequences[i];
            const Eigen::Map<const columns<float>> from(text.data(), all.rows(),
                                                        detail::index(text.size() / hidden_size()));
            all.middleCols(detail::index(starts[i]), from.cols()) = from.template cast<scalar>();
        }
        for (std::size_t i = 0; i < asked.sequence.size(); ++i) {
            const std::size_t first = starts.at(asked.sequence[i]);
            rows.push_back({first, first + asked.position.at(i)});
        }
        return all;
    }

    attending_options options_;
    attention_type attention_;
    std::uint64_t made_by_ = next_number();  ///< of these numbers: keys and values by others are made anew
};

}  // namespace augur::train
