#pragma once
// Slow updates: trains the verifier's own head within a bound. See docs/train/slow_updates.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "augur/train/adam_w.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/replay.hpp"
#include "augur/train/trainable.hpp"
#include "augur/train/training_example.hpp"
#include "augur/train/verifier_loss.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

struct slow_options {
    slow_target target = slow_target::soft;
    double beta = 0.1;  ///< weight of KL(pi || pi_old)
    adam_w_options steps{.rate = 1e-3};
    replay_options replay{};
    std::size_t batch = 32;         ///< samples of an update
    std::size_t least = 256;        ///< samples before the first
    std::size_t updates = 16;       ///< of a period
    std::size_t period = 4096;      ///< tokens between two
    std::size_t refresh = 4;        ///< after so many kept periods pi_old becomes pi; 0: never
    std::size_t held_back = 8;      ///< every such position is judged by, and never learned from
    double most_kl = 0.05;          ///< nats: KL(frozen || pi), mean over held-back positions
    double most_perplexity = 1.05;  ///< of the committed tokens held back, as a multiple of the frozen verifier's
};

struct slow_report {
    std::size_t periods = 0, kept = 0, rolled_back = 0;
    std::size_t dropped = 0;  ///< updates, for a NaN or an infinity in the gradient or after the step
    std::size_t samples = 0, held_back = 0;
    double cross_entropy = 0, to_old = 0;          ///< nats, of the last update's batch
    double kl = 0;                                 ///< of the last period, from the frozen verifier
    double perplexity = 1, frozen_perplexity = 1;  ///< of what was held back
};

/// Updates of the head of an updated_verifier, between texts: a period of steps against CE + beta KL to the verifier as
/// it was, then a look at positions that were held back; where these say that it drifted too far from the frozen
/// verifier, the head that the first was made with or the numbers that it is given, the period is undone.
/// No thread, no clock: a pure function of options and what it was shown.
/// Memory: the ring and an eighth of it (`held_back`); the learned parameters thirteen times; two products of the base
/// for each held-back position, a batch at a time.
template <Trainable Head>
class slow_updates {
 public:
    using scalar = typename Head::scalar;

    /// Refers to the head, which must outlive it. Throws where an option is out of its range.
    slow_updates(Head& head, const slow_options& chosen)
        : head_(head),
          frozen_(head),
          old_(head),
          chosen_(chosen),
          index_(head.tokens(), head.vocabulary_size()),
          ring_(head.hidden_size(), head.vocabulary_size(), chosen.replay),
          held_(head.hidden_size(), head.vocabulary_size(), of_held_back(chosen)),
          optimizer_(static_cast<std::size_t>(head.values().size()), chosen.steps) {
        check();
    }
    /// Goes on with a head that moved in an earlier run: drift is measured from the numbers that were frozen there.
    slow_updates(Head& head, const vector<scalar>& frozen, const slow_options& chosen) : slow_updates(head, chosen) {
        if (!frozen.allFinite()) detail::fail("slow_updates: the frozen parameters hold a NaN or an infinity");
        frozen_.assign(frozen);
    }

    const slow_options& options() const { return chosen_; }
    /// pi_old, and the verifier that drift is measured from.
    const Head& old() const { return old_; }
    const Head& frozen() const { return frozen_; }
    slow_report report() const {
        slow_report now = last_;
        now.samples = ring_.size();
        now.held_back = held_.size();
        return now;
    }

    /// A position of a text: `of.drafted` is the token that was committed there.
    void add(const sample& of) {
        const bool learns = seen_++ % chosen_.held_back != 0;
        (learns ? ring_ : held_).add(of);
        ++waiting_;
    }
    /// Every token that a round committed. The target's rows are those of the updated verifier: its own outputs.
    void watch(const auto& view) {
        for (std::size_t i = 0; i < view.committed.size(); ++i) {
            const std::size_t at = view.length_before - 1 + i, first = view.states.first();
            if (at < first || at - first >= view.states.size()) continue;
            add({.hidden = view.states[at - first],
                 .logits = view.rows[i == 0 ? 0 : 1 + view.decided.node(i - 1)],
                 .drafted = view.committed[i].id,
                 .position = view.length_before + i});
        }
    }

    /// Between two texts: a period, if one is due. Returns whether the head is another now.
    bool between_texts() {
        if (waiting_ < chosen_.period || ring_.size() < chosen_.least || held_.size() == 0) return false;
        waiting_ = 0;
        return period();
    }

    /// A period now. The head is another after it where it was kept.
    bool period() {
        if (ring_.size() == 0 || held_.size() == 0) return false;
        const auto before = head_.values();
        const auto first = optimizer_.first(), second = optimizer_.second();
        const std::size_t steps = optimizer_.steps();
        for (std::size_t i = 0; i < chosen_.updates; ++i) update();
        ++last_.periods;
        measure();
        const bool close =
            last_.kl <= chosen_.most_kl && last_.perplexity <= chosen_.most_perplexity * last_.frozen_perplexity;
        if (!close) {  // and where one of them is no number
            head_.assign(before);
            optimizer_.restore(first, second, steps, optimizer_.dropped());
            ++last_.rolled_back;
            return false;
        }
        ++last_.kept;
        if (chosen_.refresh != 0 && last_.kept % chosen_.refresh == 0) old_.assign(head_.values());
        return true;
    }

 private:
    struct drawn_batch {
        columns<scalar> states;
        std::vector<training_example<scalar>> examples;
    };

    static replay_options of_held_back(const slow_options& chosen) {
        replay_options options = chosen.replay;
        if (chosen.held_back != 0) options.capacity = (options.capacity + chosen.held_back - 1) / chosen.held_back;
        options.least_accepted = std::min(options.least_accepted, options.capacity);
        return options;
    }
    void check() const {
        const auto within = [](const char* what, double value, bool fits, const char* bounds) {
            if (!fits) detail::fail("slow_updates: ", what, " is ", value, "; it must be ", bounds);
        };
        const auto count = [&](const char* what, std::size_t value, std::size_t least) {
            if (value < least) detail::fail("slow_updates: ", what, " is ", value, "; it must be ", least, " or more");
        };
        within("beta", chosen_.beta, chosen_.beta >= 0 && std::isfinite(chosen_.beta), "finite, and 0 or more");
        within("most_kl", chosen_.most_kl, chosen_.most_kl >= 0, "0 or more");
        within("most_perplexity", chosen_.most_perplexity, chosen_.most_perplexity >= 1, "1 or more");
        count("batch", chosen_.batch, 1);
        count("least", chosen_.least, 1);
        count("updates", chosen_.updates, 1);
        count("period", chosen_.period, 1);
        count("held_back", chosen_.held_back, 2);
        if (chosen_.least > chosen_.replay.capacity) {
            detail::fail("slow_updates: least is ", chosen_.least, ", but the ring holds ", chosen_.replay.capacity);
        }
        if (head_.context_size() != 0) {
            detail::fail("slow_updates: the head reads ", head_.context_size(),
                         " tokens after its state; a verifier's reads none");
        }
    }

    drawn_batch of(const replay& from, std::span<const std::size_t> slots) const {
        drawn_batch drawn;
        drawn.states.resize(detail::index(head_.hidden_size()), detail::index(slots.size()));
        drawn.examples.resize(slots.size());
        for (std::size_t i = 0; i < slots.size(); ++i) {
            const kept_sample kept = from[slots[i]];
            for (std::size_t j = 0; j < kept.hidden.size(); ++j) {
                drawn.states(detail::index(j), detail::index(i)) = static_cast<scalar>(kept.hidden[j]);
            }
            fill_example(kept.row, index_, 1, drawn.examples[i]);
            drawn.examples[i].drafted = index_(kept.drafted);
        }
        return drawn;
    }

    void update() {
        const drawn_batch drawn = of(ring_, ring_.draw(chosen_.batch, drawn_++, 0));
        const asked_rows asked{std::vector<std::size_t>(drawn.examples.size()), {}};
        const auto activations = head_.forward(drawn.states, asked);
        const columns<scalar> old = old_.forward(drawn.states, asked).logits;
        columns<scalar> gradients(activations.logits.rows(), activations.logits.cols());
        verifier_loss<scalar> judge(chosen_.target, chosen_.beta);
        const double share = 1 / static_cast<double>(drawn.examples.size());
        last_.cross_entropy = last_.to_old = 0;
        for (std::size_t i = 0; i < drawn.examples.size(); ++i) {
            const auto at = detail::index(i);
            const auto found = judge(activations.logits.col(at), old.col(at), drawn.examples[i], gradients.col(at));
            last_.cross_entropy += share * found.cross_entropy;
            last_.to_old += share * found.to_old;
        }
        gradients *= static_cast<scalar>(share);
        auto values = head_.values();
        if (optimizer_.step(values, head_.backward(activations, gradients), head_.blocks())) head_.assign(values);
        last_.dropped = optimizer_.dropped();
    }

    /// Drift, by what was held back.
    void measure() {
        double kl = 0, now = 0, then = 0;
        std::size_t tokens = 0;
        for (std::size_t first = 0; first < held_.size(); first += chosen_.batch) {
            std::vector<std::size_t> slots;
            for (std::size_t i = first; i < std::min(held_.size(), first + chosen_.batch); ++i) slots.push_back(i);
            const drawn_batch drawn = of(held_, slots);
            const asked_rows asked{std::vector<std::size_t>(slots.size()), {}};
            const columns<scalar> is = head_.forward(drawn.states, asked).logits;
            const columns<scalar> was = frozen_.forward(drawn.states, asked).logits;
            for (std::size_t i = 0; i < slots.size(); ++i) {
                const auto at = detail::index(i);
                const vector<scalar> log_is = verifier_loss<scalar>::log_softmax(is.col(at));
                const vector<scalar> log_was = verifier_loss<scalar>::log_softmax(was.col(at));
                kl += static_cast<double>((log_was.array().exp() * (log_was - log_is).array()).sum());
                const std::size_t t = drawn.examples[i].drafted;
                if (t == training_example<scalar>::none) continue;
                now -= static_cast<double>(log_is[detail::index(t)]);
                then -= static_cast<double>(log_was[detail::index(t)]);
                ++tokens;
            }
        }
        const double each = 1 / static_cast<double>(std::max<std::size_t>(tokens, 1));
        last_.kl = kl / static_cast<double>(held_.size());
        last_.perplexity = std::exp(now * each);
        last_.frozen_perplexity = std::exp(then * each);
    }

    Head& head_;
    Head frozen_, old_;
    slow_options chosen_;
    class_index index_;
    replay ring_, held_;
    adam_w<scalar> optimizer_;
    slow_report last_{};
    std::size_t seen_ = 0, waiting_ = 0, drawn_ = 0;
};

}  // namespace augur::train
