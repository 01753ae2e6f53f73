#pragma once
// Trainable Medusa and Hydra heads. See docs/train/draft_heads.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/train/heads_options.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/trainable.hpp"
#include "augur/train/weight_matrix.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// Head i: z = Base (h + silu(W_i x + b_i)), h being the target's last hidden state and x the same, for Hydra's
/// followed by embeddings. W_i and b_i are learned, and start as 0: each head then says what the target's own says of
/// h. Models augur::DraftHeads and Trainable. Copies share the base. The parameters change through assign and swap
/// alone; nobody may be in row() then.
/// Effect on what is decoded: none; a criterion judges what is drafted.
/// Cost: row(), a product of W_i and one of the base with one state, and their storage; forward() with as many;
/// backward() two more of that kind.
/// Source: Cai et al. 2024, Medusa; Ankner et al. 2024, Hydra.
template <WeightMatrix Base>
class draft_heads : public head_on_weight_matrix<Base> {
    using base_class = head_on_weight_matrix<Base>;

 public:
    using typename base_class::batch_type;
    using typename base_class::parameter_vector;
    using typename base_class::scalar;
    using options_type = heads_options;
    /// Fills the embedding of a token: as many numbers as a state has.
    using embedding_type = std::function<void(token, std::span<scalar>)>;
    struct workspace_type {
        std::vector<float> logits;
    };

    /// What backward needs of a forward.
    struct pass {
        struct part {
            std::vector<std::size_t> rows;  ///< of the batch, that one head guesses
            batch_type inputs, before;      ///< x, and W x + b
        };
        std::vector<part> parts;
        batch_type out, logits;
    };

    /// Throws where the base's rows are not those of the tokens, there is no head or a norm, or Hydra's have no
    /// embedding.
    draft_heads(Base base, const head_place& place, const heads_options& chosen = {}, embedding_type embedding = {})
        : base_class("draft_heads", std::move(base), place),
          options_(chosen),
          embedding_(std::move(embedding)),
          layout_(chosen, weight_matrix_.width()) {
        if (!place.norm_weight.empty()) {
            detail::fail("draft_heads: a norm of ", place.norm_weight.size(), " weights; their states are normed");
        }
        values_ = parameter_vector::Zero(detail::index(layout_.size));
        if (chosen.see_tokens && !embedding_) detail::fail("draft_heads: they see tokens, but there is no embedding");
    }

    std::size_t head_count() const { return options_.heads; }
    bool see_tokens() const { return options_.see_tokens; }
    std::size_t context_size() const { return options_.see_tokens ? options_.heads : 0; }
    const heads_options& options() const { return options_; }
    const heads_layout& layout() const { return layout_; }
    const std::vector<head_block>& blocks() const { return layout_.all; }
    workspace_type make_workspace() const { return {}; }

    void assign(const parameter_vector& values) {
        if (values.size() != values_.size()) {
            detail::fail("draft_heads: they have ", values_.size(), " parameters, not ", values.size());
        }
        values_ = values;
    }
    /// Swaps the parameters of two of one kind, at no cost.
    void swap(draft_heads& other) {
        if (other.options_ != options_ || other.values_.size() != values_.size()) {
            detail::fail("draft_heads: cannot swap ", options_.heads, " heads with ", values_.size(),
                         " parameters and ", other.options_.heads, " with ", other.values_.size());
        }
        values_.swap(other.values_);
    }

    /// Logits of the whole vocabulary of what follows `after`, by this head; -infinity for a token without a class.
    logit_row row(workspace_type& workspace, std::span<const float> state, std::span<const token> after,
                  std::size_t head) const {
        if (state.size() != weight_matrix_.width() || after.size() != head + 1) {
            detail::fail("draft_heads: head ", head, " reads a state of ", weight_matrix_.width(), " numbers and ",
                         head + 1, " tokens, not ", state.size(), " and ", after.size());
        }
        asked_rows asked{{head}, std::vector<token>(context_size(), no_token)};
        std::copy_n(after.begin(), std::min(after.size(), context_size()), asked.after.begin());
        workspace.logits.resize(vocabulary_);
        this->write_row(forward(base_class::column_of(state), asked).logits, workspace.logits);
        return {workspace.logits.data(), vocabulary_, this->possible()};
    }

    /// Of states, a column each, by the heads asked: logits of the classes, a column each.
    pass forward(const batch_type& states, const asked_rows& asked) const {
        check(states, asked);
        pass activations;
        activations.out = states;
        activations.parts.resize(options_.heads);
        for (std::size_t row = 0; row < asked.heads.size(); ++row)
            activations.parts[asked.heads[row]].rows.push_back(row);
        for (std::size_t head = 0; head < options_.heads; ++head) {
            auto& part = activations.parts[head];
            if (part.rows.empty()) continue;
            part.inputs = inputs_of(head, states, asked, part.rows);
            part.before = matrix_of(values_, layout_.weights[head]) * part.inputs;
            part.before.colwise() += block(values_, layout_.biases[head]);
            for (std::size_t i = 0; i < part.rows.size(); ++i) {
                const auto x = part.before.col(detail::index(i)).array();
                activations.out.col(detail::index(part.rows[i])).array() += x / (1 + (-x).exp());
            }
        }
        activations.logits = weight_matrix_.product(activations.out);
        return activations;
    }

    /// The gradient of a loss by each parameter, given that by each logit.
    parameter_vector backward(const pass& activations, const batch_type& grad_logits) const {
        parameter_vector gradient = parameter_vector::Zero(values_.size());
        const batch_type grad_output = weight_matrix_.transposed(grad_logits);
        for (std::size_t head = 0; head < options_.heads; ++head) {
            const auto& part = activations.parts[head];
            if (part.rows.empty()) continue;
            batch_type grad_before(grad_output.rows(), part.before.cols());
            for (std::size_t i = 0; i < part.rows.size(); ++i) {
                const auto x = part.before.col(detail::index(i)).array();
                const auto gate = (1 / (1 + (-x).exp())).eval();
                grad_before.col(detail::index(i)) =
                    grad_output.col(detail::index(part.rows[i])).array() * gate * (1 + x * (1 - gate));
            }
            train::matrix_of(gradient, layout_.weights[head]).noalias() = grad_before * part.inputs.transpose();
            train::block(gradient, layout_.biases[head]) = grad_before.rowwise().sum();
        }
        return gradient;
    }

 private:
    using base_class::values_;
    using base_class::vocabulary_;
    using base_class::weight_matrix_;

    void check(const batch_type& states, const asked_rows& asked) const {
        const auto rows = static_cast<std::size_t>(states.cols());
        if (static_cast<std::size_t>(states.rows()) != weight_matrix_.width() || asked.heads.size() != rows ||
            asked.after.size() != rows * context_size()) {
            detail::fail("draft_heads: ", rows, " states of ", states.rows(), " numbers, ", asked.heads.size(),
                         " heads and ", asked.after.size(), " tokens; a row has a state of ", weight_matrix_.width(),
                         ", a head and ", context_size(), " tokens");
        }
        for (const std::size_t head : asked.heads) {
            if (head >= options_.heads) detail::fail("draft_heads: there is no head ", head, " of ", options_.heads);
        }
    }

    /// States of these rows, with the embeddings of the tokens after them that the head reads.
    batch_type inputs_of(std::size_t head, const batch_type& states, const asked_rows& asked,
                         const std::vector<std::size_t>& rows) const {
        const std::size_t width = weight_matrix_.width();
        batch_type in(detail::index(options_.inputs_of(head) * width), detail::index(rows.size()));
        for (std::size_t i = 0; i < rows.size(); ++i) {
            scalar* const column = in.col(detail::index(i)).data();
            std::copy_n(states.col(detail::index(rows[i])).data(), width, column);
            for (std::size_t k = 1; k < options_.inputs_of(head); ++k) {
                const token id = asked.after[rows[i] * context_size() + k - 1];
                if (id < 0 || static_cast<std::size_t>(id) >= vocabulary_) {
                    detail::fail("draft_heads: head ", head, " reads token ", id, ", but the vocabulary has ",
                                 vocabulary_);
                }
                embedding_(id, {column + k * width, width});
            }
        }
        return in;
    }

    heads_options options_;
    embedding_type embedding_;
    heads_layout layout_;
};

}  // namespace augur::train
