#pragma once
// A head on hidden states whose last layer learns, too, on the draft's path alone. See docs/train/layer_head.md.

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "augur/train/draft_layer.hpp"
#include "augur/train/exit_head.hpp"
#include "augur/train/head_base.hpp"
#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// An exit_head on states that it makes itself: those after the last of the layers that draft, whose output, gate, up
/// and down projections have low-rank updates of `head_options::layer_rank` (draft_layer). It reads taps (TappedModel):
/// keys, values and all earlier layers are the verifier's, nothing is cached here, and what the verifier goes on from
/// is the layer without the updates. Models draft::ExitHead and Teachable; the exit's numbers come first, then the
/// layer's. Copies share the matrices.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: beside the exit's, four products for each row, and in backward three with the transposed: the layer but for
/// its attention runs twice over each drafted token.
/// Source: DVI ("low-rank updates of the last shallow layers"); Hu et al. 2021, LoRA (arXiv 2106.09685).
template <HeadBase Base>
class layer_head {
 public:
    using scalar = typename Base::scalar;
    using numbers = vector<scalar>;
    using samples = columns<scalar>;
    using options_type = head_options;
    using exit_type = exit_head<Base>;
    using layer_type = draft_layer<Base>;
    static constexpr bool reads_tap = true;
    static constexpr bool learns = true;

    /// What backward needs of a forward.
    struct pass : exit_type::pass {
        typename layer_type::pass layer;
    };

    /// Throws where layer, base, norm or tokens do not fit.
    layer_head(layer_projections<Base> layer, Base base, const head_place& place, const head_options& chosen)
        : options_(chosen),
          exit_(std::move(base), place, of_exit(chosen)),
          layer_(std::move(layer), chosen.layer_rank, chosen.epsilon, exit_numbers()) {
        if (layer_.width() != exit_.hidden_size()) {
            detail::fail("layer_head: the layer makes states of ", layer_.width(), " numbers, but the head reads ",
                         exit_.hidden_size());
        }
        values_.resize(detail::index(exit_numbers() + layer_.size()));
        values_.head(exit_.values().size()) = exit_.values();
        layer_.begin(values_, chosen.seed);
    }

    std::size_t layer() const { return exit_.layer(); }
    std::size_t vocabulary_size() const { return exit_.vocabulary_size(); }
    const std::string& vocabulary_fingerprint() const { return exit_.vocabulary_fingerprint(); }
    std::size_t hidden_size() const { return layer_.tap_size(); }
    std::size_t context_size() const { return 0; }
    std::size_t classes() const { return exit_.classes(); }
    std::span<const token> tokens() const { return exit_.tokens(); }
    const head_options& options() const { return options_; }
    const numbers& values() const { return values_; }
    /// Of the exit: its matrix, and where its numbers lie, which is where they lie among all.
    const Base& base() const { return exit_.base(); }
    const head_layout& layout() const { return exit_.layout(); }
    double alpha() const { return exit_.alpha(); }
    std::array<head_block, 16> blocks() const {
        std::array<head_block, 16> all{};
        const auto of_head = exit_.blocks();
        const auto of_layer = layer_.blocks();
        std::copy(of_layer.begin(), of_layer.end(), std::copy(of_head.begin(), of_head.end(), all.begin()));
        return all;
    }

    void assign(const numbers& values) {
        if (values.size() != values_.size()) {
            detail::fail("layer_head: it has ", values_.size(), " numbers, not ", values.size());
        }
        values_ = values;
        exit_.assign(values.head(exit_.values().size()));
    }
    /// The numbers of two heads of one kind change places, at no cost.
    void swap(layer_head& other) {
        if (other.values_.size() != values_.size()) {
            detail::fail("layer_head: heads of ", values_.size(), " and ", other.values_.size(),
                         " numbers do not change places");
        }
        exit_.swap(other.exit_);
        values_.swap(other.values_);
    }

    /// Logits of the whole vocabulary from one tap; -infinity for a token without a class.
    void row(std::span<const float> tap, std::span<float> out) const {
        if (tap.size() != hidden_size() || out.size() != vocabulary_size()) {
            detail::fail("layer_head: it makes ", vocabulary_size(), " logits of a tap of ", hidden_size(),
                         " numbers, not ", out.size(), " of ", tap.size());
        }
        const Eigen::Map<const vector<float>> column(tap.data(), detail::index(tap.size()));
        const vector<float> state =
            layer_.forward(values_, column.template cast<scalar>()).state.template cast<float>();
        exit_.row({state.data(), layer_.width()}, out);
    }

    /// Of taps, a column each: logits of the classes, a column each.
    pass forward(const samples& taps, const asked_rows& asked = {}) const {
        pass made;
        made.layer = layer_.forward(values_, taps);
        static_cast<typename exit_type::pass&>(made) = exit_.forward(made.layer.state, asked);
        return made;
    }

    /// The slope of a loss by each learned number, given that by each logit.
    numbers backward(const pass& made, const samples& by_logit) const {
        numbers slope = numbers::Zero(values_.size());
        samples by_state;
        slope.head(exit_.values().size()) = exit_.backward(made, by_logit, &by_state);
        layer_.backward(values_, made.layer, by_state, slope);
        return slope;
    }

 private:
    static head_options of_exit(head_options chosen) {
        chosen.layer_rank = 0;
        return chosen;
    }
    std::size_t exit_numbers() const { return static_cast<std::size_t>(exit_.values().size()); }

    head_options options_;
    exit_type exit_;
    layer_type layer_;
    numbers values_;
};

}  // namespace augur::train
