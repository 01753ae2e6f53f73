#pragma once
// One training step of a head: losses of a batch, their gradient, an optimizer step.

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "augur/train/adam_w.hpp"
#include "augur/train/diagnostics.hpp"
#include "augur/train/head_clamp.hpp"
#include "augur/train/losses.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/replay.hpp"
#include "augur/train/trainable.hpp"
#include "augur/train/training_example.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

template <class Scalar>
struct batch {
    columns<Scalar> states;  ///< one a column
    std::vector<training_example<Scalar>> examples;
    double spread = 0;  ///< of the verifier's logits, mean standard deviation
    asked_rows asked{};
};

/// The training examples of these slots at a temperature of the teacher.
template <class Scalar>
batch<Scalar> batch_of(const replay& from, std::span<const std::size_t> slots, const class_index& index,
                       double temperature) {
    batch<Scalar> gathered;
    gathered.states.resize(detail::index(from.width()), detail::index(slots.size()));
    gathered.examples.resize(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const kept_sample of = from[slots[i]];
        gathered.states.col(detail::index(i)) =
            Eigen::Map<const vector<float>>(of.hidden.data(), detail::index(of.hidden.size())).template cast<Scalar>();
        fill_example(of.row, index, temperature, gathered.examples[i]);
        gathered.asked.heads.push_back(of.head);
        gathered.asked.after.insert(gathered.asked.after.end(), of.after.begin(), of.after.end());
        gathered.examples[i].drafted = index(of.drafted);
        gathered.examples[i].bit = of.bit;
        gathered.spread += static_cast<double>(of.spread) / static_cast<double>(slots.size());
    }
    return gathered;
}

/// REINFORCE is unbiased of what the present head has drawn, the newest `drawn` of the ring: others train by their
/// rows.
template <class Scalar>
void forget_bits(const replay& from, std::span<const std::size_t> slots, std::size_t drawn, batch<Scalar>& gathered) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (from.age(slots[i]) >= drawn) gathered.examples[i].bit = accept_bit::unknown;
    }
}

/// A head of its own, which it changes; what it shares with its copies is shared. No clock, no thread, no randomness:
/// equal batches, equal heads. The schedule's updates are the steps that were applied.
/// Cost: of one update, two products of the base with the batch where the norm or the state's update are learned, else
/// one; and an exit norm after every `norm_every` updates.
template <Trainable Head>
class learner {
 public:
    using head_type = Head;
    using scalar = typename Head::scalar;
    static constexpr std::size_t norm_every = 64;

    learner(head_type head, const loss_options& losses, const adam_w_options& steps)
        : head_(std::move(head)), losses_(losses), optimizer_(static_cast<std::size_t>(head_.values().size()), steps) {
        losses.check();
        if (head_.values().size() == 0) detail::fail("learner: this head has no trainable parameter");
        if constexpr (CanBeClamped<Head>)
            base_square_ = head_.weight_matrix().row_squares().template cast<double>().sum();
        // What a base prepares for its first products is prepared here: it is no part of what an update takes.
        const auto first = head_.forward(columns<scalar>::Zero(detail::index(head_.hidden_size()), 1),
                                         {{0}, std::vector<token>(head_.context_size())});
        static_cast<void>(head_.backward(first, columns<scalar>::Zero(first.logits.rows(), 1)));
    }

    const head_type& head() const { return head_; }
    const loss_options& losses() const { return losses_; }
    const adam_w<scalar>& optimizer() const { return optimizer_; }
    std::size_t updates() const { return optimizer_.steps(); }
    /// For what is not of this batch, 0.
    const diagnostics& last() const { return last_; }

    /// `baseline`: b of REINFORCE. `now`: its tokens and acceptance; updates are counted here. Returns false where the
    /// gradient was dropped: head and moments are as before, and so is everything where it throws. `copy`, if there is
    /// one, becomes a copy of the head after it, if it was applied.
    bool update(const batch<scalar>& of, double baseline, progress now = {}, std::optional<head_type>* copy = nullptr) {
        now.updates = updates();
        const std::size_t count = of.examples.size();
        if (count == 0 || of.states.cols() != detail::index(count)) {
            detail::fail("learner: a batch of ", of.states.cols(), " states and ", count, " training examples");
        }
        const auto activations = head_.forward(of.states, of.asked);
        columns<scalar> gradients(activations.logits.rows(), activations.logits.cols());
        train::losses<scalar> judge(losses_, now, baseline);
        diagnostics found;
        for (std::size_t i = 0; i < count; ++i) {
            const auto at = detail::index(i);
            add(found, judge(activations.logits.col(at), of.examples[i], gradients.col(at)), activations.logits.col(at),
                of.examples[i]);
        }
        const double share = 1 / static_cast<double>(count);
        gradients *= static_cast<scalar>(share);
        scale(found, share);
        const bool applied = optimizer_.prepare(head_.values(), head_.backward(activations, gradients), head_.blocks());
        head_type next = head_;
        if (applied) {
            next.assign(optimizer_.prepared());
            if constexpr (CanBeClamped<Head>) clamp(next, base_square_);
            if (copy != nullptr) copy->emplace(next);
        }
        const std::size_t after = now.updates + (applied ? 1 : 0);
        found.std_t = of.spread;
        found.gradient_norm = optimizer_.gradient_norm();
        found.exit_norm = after % norm_every == 0 ? exit_norm(next) : last_.exit_norm;
        optimizer_.take(applied);  // from here on nothing fails
        head_.swap(next);
        describe(found, now);
        last_ = found;
        return applied;
    }

    /// |W_exit| / |W|; 1 of heads that start from no W.
    double exit_norm() const { return exit_norm(head_); }

    /// What a checkpoint kept; last() then says what is known of it without a batch. `then`: at its last update.
    void restore(const vector<scalar>& values, const vector<scalar>& first, const vector<scalar>& second,
                 std::size_t steps, std::size_t dropped, progress then = {}) {
        if (values.size() != head_.values().size()) {
            detail::fail("learner: ", values.size(), " parameters, but the head has ", head_.values().size());
        }
        optimizer_.restore(first, second, steps, dropped);
        head_.assign(values);
        last_ = {};
        then.updates = steps == 0 ? 0 : steps - 1;
        describe(last_, then);
        last_.exit_norm = exit_norm();
    }

 private:
    double exit_norm(const head_type& of) const {
        if constexpr (!CanBeClamped<Head>)
            return 1;
        else
            return std::sqrt(norms_of(of, base_square_).square() / base_square_);
    }

    /// What is known without a batch, the last update having been made then.
    void describe(diagnostics& found, const progress& then) const {
        found.lambda = losses_.schedule.lambda_at(then);
        found.anchor = losses_.schedule.anchor_at(then);
        found.updates = updates();
        found.dropped = optimizer_.dropped();
        if constexpr (requires { head_.alpha(); }) found.alpha = head_.alpha();
    }

    template <class Logits>
    static void add(diagnostics& to, const loss_values& found, const Logits& logits,
                    const training_example<scalar>& example) {
        loss_values& sum = to.losses;
        sum.total += found.total;
        sum.policy += found.policy;
        sum.divergence += found.divergence;
        sum.anchor += found.anchor;
        sum.entropy_nats += found.entropy_nats;
        sum.top_probability += found.top_probability;
        const auto mean = logits.mean();
        to.std_s += std::sqrt(static_cast<double>((logits.array() - mean).square().mean()));
        Eigen::Index largest = 0;
        logits.maxCoeff(&largest);
        to.agreement += example.top == static_cast<std::size_t>(largest) ? 1 : 0;
    }
    static void scale(diagnostics& of, double by) {
        loss_values& sum = of.losses;
        for (double* each : {&sum.total, &sum.policy, &sum.divergence, &sum.anchor, &sum.entropy_nats,
                             &sum.top_probability, &of.std_s, &of.agreement}) {
            *each *= by;
        }
    }

    head_type head_;
    loss_options losses_;
    adam_w<scalar> optimizer_;
    double base_square_ = 0;
    diagnostics last_;
};

}  // namespace augur::train
