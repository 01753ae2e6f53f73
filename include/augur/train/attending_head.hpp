#pragma once
// A head on hidden states with a layer of its own, whose attention learns, too. See docs/train/attending_head.md.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/draft/attending_head.hpp"
#include "augur/train/draft_attention.hpp"
#include "augur/train/draft_layer.hpp"
#include "augur/train/exit_head.hpp"
#include "augur/train/head_base.hpp"
#include "augur/train/head_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// An exit_head on states that it makes itself: the last of the layers that draft is computed on a path of its own from
/// the states that enter it, with low-rank updates of all seven projections (draft_attention, draft_layer) and keys and
/// values of its own. The verifier's cache, and the states it goes on from, are as they are without. Models
/// draft::AttendingHead and Teachable: the exit's numbers come first, then the layer's, then the attention's. Copies
/// share the matrices.
/// `layer()` is the number of layers before its own, so that a draft takes layer() + 1.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: beside the exit's, the products of a whole layer for each row, and attention over all positions; in backward
/// keys and values of whole texts. After an update the keys and values of a text are made anew, by products of the
/// ranks alone.
/// Source: DVI ("low-rank updates of the last shallow layers"); Hu et al. 2021, LoRA (arXiv 2106.09685).
template <HeadBase Base>
class attending_head {
 public:
    using scalar = typename Base::scalar;
    using numbers = vector<scalar>;
    using samples = columns<scalar>;
    using options_type = attending_options;
    using exit_type = exit_head<Base>;
    using layer_type = draft_layer<Base>;
    using attention_type = draft_attention<Base>;
    using sequence_type = typename attention_type::sequence;
    static constexpr bool learns = true;

    /// What backward needs of a forward.
    struct pass : exit_type::pass {
        typename attention_type::pass attention;
        typename layer_type::pass layer;
    };

    /// `place.layer`: of the states that enter the layer. Throws where layer, base, norm or tokens do not fit.
    attending_head(attention_projections<Base> attention, layer_projections<Base> layer, Base base,
                   const head_place& place, const attending_options& chosen)
        : options_(chosen),
          exit_(std::move(base), place, of_exit(chosen)),
          layer_(std::move(layer), chosen.layer_rank, chosen.epsilon, exit_numbers()),
          attention_(std::move(attention), chosen.attention_rank, chosen.epsilon, exit_numbers() + layer_.size()) {
        if (layer_.width() != exit_.hidden_size() || attention_.width() != layer_.width() ||
            attention_.attended() != layer_.attended()) {
            detail::fail("attending_head: the attention makes ", attention_.attended(), " numbers of ",
                         attention_.width(), ", the layer reads ", layer_.attended(), " and makes ", layer_.width(),
                         ", the head reads ", exit_.hidden_size());
        }
        values_.resize(detail::index(exit_numbers() + layer_.size() + attention_.size()));
        values_.head(exit_.values().size()) = exit_.values();
        layer_.begin(values_, chosen.seed);
        attention_.begin(values_, chosen.seed);
    }

    std::size_t layer() const { return exit_.layer(); }
    std::size_t vocabulary_size() const { return exit_.vocabulary_size(); }
    const std::string& vocabulary_fingerprint() const { return exit_.vocabulary_fingerprint(); }
    std::size_t hidden_size() const { return attention_.width(); }
    std::size_t context_size() const { return 0; }
    std::size_t classes() const { return exit_.classes(); }
    std::span<const token> tokens() const { return exit_.tokens(); }
    const attending_options& options() const { return options_; }
    const numbers& values() const { return values_; }
    /// Of the exit: its matrix, and where its numbers lie, which is where they lie among all.
    const Base& base() const { return exit_.base(); }
    const head_layout& layout() const { return exit_.layout(); }
    double alpha() const { return exit_.alpha(); }
    std::array<head_block, 22> blocks() const {
        std::array<head_block, 22> all{};
        auto to = all.begin();
        const auto add = [&](const auto& of) { to = std::copy(of.begin(), of.end(), to); };
        add(exit_.blocks());
        add(layer_.blocks());
        add(attention_.blocks());
        return all;
    }

    void assign(const numbers& values) {
        if (values.size() != values_.size()) {
            detail::fail("attending_head: it has ", values_.size(), " numbers, not ", values.size());
        }
        values_ = values;
        exit_.assign(values.head(exit_.values().size()));
        made_by_ = next_number();
    }
    /// The numbers of two heads of one kind change places, at no cost.
    void swap(attending_head& other) {
        if (other.values_.size() != values_.size()) {
            detail::fail("attending_head: heads of ", values_.size(), " and ", other.values_.size(),
                         " numbers do not change places");
        }
        exit_.swap(other.exit_);
        values_.swap(other.values_);
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
        if (!states.empty()) attention_.append(values_, made_by_, to, states);
    }
    /// -infinity for a token without a class.
    void row(sequence_type& of, std::span<float> out) const {
        if (out.size() != vocabulary_size()) {
            detail::fail("attending_head: it makes ", vocabulary_size(), " logits, not ", out.size());
        }
        const samples made = layer_.forward(values_, attention_.tap(values_, made_by_, of)).state;
        const vector<float> state = made.col(0).template cast<float>();
        exit_.row({state.data(), layer_.width()}, out);
    }

    /// Logits of the classes, a column for each asked position of a text; where no texts are given, for each of
    /// `states`, as the only position of its text.
    pass forward(const samples& states, const asked_rows& asked = {}) const {
        pass made;
        std::vector<attending_row> rows;
        std::vector<std::size_t> positions;
        const samples all = asked.texts.empty() ? alone(states, rows, positions) : together(asked, rows, positions);
        made.attention = attention_.forward(values_, all, positions, rows);
        samples taps(detail::index(layer_.tap_size()), detail::index(rows.size()));
        taps.topRows(made.attention.attended.rows()) = made.attention.attended;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            taps.col(detail::index(i)).tail(all.rows()) = all.col(detail::index(rows[i].own));
        }
        made.layer = layer_.forward(values_, taps);
        static_cast<typename exit_type::pass&>(made) = exit_.forward(made.layer.state);
        return made;
    }

    /// The slope of a loss by each learned number, given that by each logit.
    numbers backward(const pass& made, const samples& by_logit) const {
        numbers slope = numbers::Zero(values_.size());
        samples by_state, by_attended;
        slope.head(exit_.values().size()) = exit_.backward(made, by_logit, &by_state);
        layer_.backward(values_, made.layer, by_state, slope, &by_attended);
        attention_.backward(values_, made.attention, by_attended, slope);
        return slope;
    }

 private:
    static head_options of_exit(head_options chosen) {
        chosen.layer_rank = 0;
        return chosen;
    }
    std::size_t exit_numbers() const { return static_cast<std::size_t>(exit_.values().size()); }
    static std::uint64_t next_number() {
        static std::atomic<std::uint64_t> made{0};
        return ++made;
    }

    samples alone(const samples& states, std::vector<attending_row>& rows, std::vector<std::size_t>& positions) const {
        const auto count = static_cast<std::size_t>(states.cols());
        for (std::size_t i = 0; i < count; ++i) rows.push_back({i, i});
        positions.assign(count, 0);
        return states;
    }
    samples together(const asked_rows& asked, std::vector<attending_row>& rows,
                     std::vector<std::size_t>& positions) const {
        std::vector<std::size_t> starts;
        for (const auto& text : asked.texts) {
            starts.push_back(positions.size());
            for (std::size_t at = 0; at < text.size() / hidden_size(); ++at) positions.push_back(at);
        }
        samples all(detail::index(hidden_size()), detail::index(positions.size()));
        for (std::size_t i = 0; i < starts.size(); ++i) {
            const auto& text = asked.texts[i];
            const Eigen::Map<const columns<float>> from(text.data(), all.rows(),
                                                        detail::index(text.size() / hidden_size()));
            all.middleCols(detail::index(starts[i]), from.cols()) = from.template cast<scalar>();
        }
        for (std::size_t i = 0; i < asked.text.size(); ++i) {
            const std::size_t first = starts.at(asked.text[i]);
            rows.push_back({first, first + asked.position.at(i)});
        }
        return all;
    }

    attending_options options_;
    exit_type exit_;
    layer_type layer_;
    attention_type attention_;
    numbers values_;
    std::uint64_t made_by_ = next_number();  ///< of these numbers: keys and values by others are made anew
};

}  // namespace augur::train
