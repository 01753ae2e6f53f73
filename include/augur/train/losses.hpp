#pragma once
// The losses of a draft head, with exact gradients. See docs/train/losses.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "augur/train/matrix.hpp"
#include "augur/train/schedule.hpp"
#include "augur/train/training_example.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// L_policy, v being the verifier's most probable token and t the drafted one, pi the draft's distribution.
enum class policy_kind {
    log_probability,  ///< -log pi(v)
    reinforce,        ///< -(r - b) log pi'(t), where t was judged: r is 1 for accepted, b the mean of r
    probability,      ///< -pi(v)
    margin,           ///< max(0, margin - (z_v - z_u)), u being the draft's strongest other token
    reward_masked,    ///< -r log pi(t), where t was judged: cross-entropy on what was accepted, nothing elsewhere
    none              ///< 0: what lambda leaves is nobody's, and the anchor alone is with lambda 0
};
enum class divergence_kind {
    forward,  ///< KL(verifier || draft): covers what the verifier may say
    reverse   ///< KL(draft || verifier): seeks one of its modes
};

struct loss_options {
    policy_kind policy = policy_kind::log_probability;
    divergence_kind divergence = divergence_kind::forward;
    double margin = 1;             ///< in logits
    double baseline_decay = 0.99;  ///< of b, a moving average of r
    double drawn_at = 1;           ///< the temperature of pi', which REINFORCE's tokens were drawn from
    train::schedule schedule{};

    void check() const {
        schedule.check();
        if (!(margin >= 0 && std::isfinite(margin))) {
            detail::fail("losses: margin is ", margin, "; it must be finite, and 0 or more");
        }
        if (!(baseline_decay >= 0 && baseline_decay < 1)) {
            detail::fail("losses: baseline_decay is ", baseline_decay, "; it must be 0 or more, and less than 1");
        }
        if (!(drawn_at > 0 && std::isfinite(drawn_at))) {
            detail::fail("losses: drawn_at is ", drawn_at, "; it must be finite, and more than 0");
        }
    }
    friend bool operator==(const loss_options&, const loss_options&) = default;
};

/// Of one sample, or the mean of many. Logarithms are natural.
struct loss_values {
    double total = 0;  ///< (1 - lambda) policy + lambda divergence + anchor weight * anchor - entropy weight * entropy
    double policy = 0, divergence = 0, anchor = 0, entropy_nats = 0;
    double top_probability = 0;  ///< pi(v); 0 where the head has no class for v
};

/// The losses at one update.
template <class Scalar>
class losses {
 public:
    using logits = Eigen::Ref<const vector<Scalar>>;
    using gradient_ref = Eigen::Ref<vector<Scalar>>;

    /// `now`: before this update. `baseline`: b of REINFORCE.
    losses(const loss_options& chosen, const progress& now, double baseline = 0)
        : chosen_(chosen),
          lambda_(static_cast<Scalar>(chosen.schedule.lambda_at(now))),
          anchor_(static_cast<Scalar>(chosen.schedule.anchor_at(now))),
          entropy_(static_cast<Scalar>(chosen.schedule.entropy)),
          baseline_(static_cast<Scalar>(baseline)) {}

    /// Writes the total's gradient by each logit.
    loss_values operator()(const logits& z, const training_example<Scalar>& example, gradient_ref gradient) {
        const Scalar largest = z.maxCoeff();
        log_draft_ = z.array() - largest;
        log_draft_.array() -= std::log(log_draft_.array().exp().sum());
        draft_ = log_draft_.array().exp();
        loss_values found;
        gradient.setZero();
        const Scalar kl =
            chosen_.divergence == divergence_kind::forward ? forward(example, gradient) : reverse(example, gradient);
        found.divergence = static_cast<double>(kl);
        const Scalar policy = add_policy(z, example, gradient);
        found.policy = static_cast<double>(policy);
        Scalar total = (1 - lambda_) * policy + lambda_ * kl;
        if (example.top != training_example<Scalar>::none) {
            const auto v = detail::index(example.top);
            add_logarithm(v, anchor_, gradient);
            found.anchor = static_cast<double>(-log_draft_[v]);
            found.top_probability = static_cast<double>(draft_[v]);
            total -= anchor_ * log_draft_[v];
        }
        const Scalar entropy = -draft_.dot(log_draft_);
        gradient.array() += entropy_ * draft_.array() * (log_draft_.array() + entropy);
        found.entropy_nats = static_cast<double>(entropy);
        found.total = static_cast<double>(total - entropy_ * entropy);
        return found;
    }

 private:
    static constexpr Scalar least =
        static_cast<Scalar>(1e-30);  ///< what a probability of 0 counts as under a logarithm

    /// The gradient of -weight log pi(of).
    void add_logarithm(Eigen::Index of, Scalar weight, gradient_ref& gradient) const {
        gradient += weight * draft_;
        gradient[of] -= weight;
    }

    /// The draft's mass on the classes that are not listed, which become marked in `listed_`.
    Scalar mark(const training_example<Scalar>& example) {
        if (example.whole) return 0;
        listed_.setConstant(draft_.size(), false);
        for (const std::size_t of : example.classes) listed_[detail::index(of)] = true;
        return listed_.select(Scalar(0), draft_.array()).sum();
    }
    static Eigen::Index place(const training_example<Scalar>& example, std::size_t i) {
        return detail::index(example.whole ? i : example.classes[i]);
    }

    Scalar forward(const training_example<Scalar>& example, gradient_ref& gradient) {
        const Scalar tail = mark(example);
        Scalar value = 0, mass = 0;
        for (std::size_t i = 0; i < example.probabilities.size(); ++i) {
            const Scalar p = example.probabilities[i];
            if (!(p > 0)) continue;
            const auto at = place(example, i);
            value += p * (std::log(p) - log_draft_[at]);
            mass += p;
            gradient[at] -= lambda_ * p;
        }
        if (tail > 0 && example.tail > 0) {
            value += example.tail * (std::log(example.tail) - std::log(tail));
            mass += example.tail;
            gradient.array() -= listed_.select(Scalar(0), lambda_ * example.tail / tail * draft_.array());
        }
        gradient += lambda_ * mass * draft_;
        return value;
    }

    /// Each class's log(draft / verifier), of the classes that are not listed that of all of them; their mean is the
    /// divergence.
    Scalar reverse(const training_example<Scalar>& example, gradient_ref& gradient) {
        const Scalar tail = mark(example);
        ratio_.setConstant(draft_.size(), std::log(std::max(tail, least)) - std::log(std::max(example.tail, least)));
        for (std::size_t i = 0; i < example.probabilities.size(); ++i) {
            const auto at = place(example, i);
            ratio_[at] = log_draft_[at] - std::log(std::max(example.probabilities[i], least));
        }
        const Scalar value = draft_.dot(ratio_);
        gradient.array() += lambda_ * draft_.array() * (ratio_.array() - value);
        return value;
    }

    Scalar add_policy(const logits& z, const training_example<Scalar>& example, gradient_ref& gradient) const {
        if (chosen_.policy == policy_kind::none) return 0;
        const Scalar share = 1 - lambda_;
        if (chosen_.policy == policy_kind::reinforce) {
            if (example.drafted == training_example<Scalar>::none || example.bit == accept_bit::unknown) return 0;
            const Scalar advantage = (example.bit == accept_bit::accepted ? Scalar(1) : Scalar(0)) - baseline_;
            return advantage * add_drawn(z, detail::index(example.drafted), share * advantage, gradient);
        }
        if (chosen_.policy == policy_kind::reward_masked) {
            if (example.drafted == training_example<Scalar>::none || example.bit != accept_bit::accepted) return 0;
            add_logarithm(detail::index(example.drafted), share, gradient);
            return -log_draft_[detail::index(example.drafted)];
        }
        if (example.top == training_example<Scalar>::none) return 0;
        const auto v = detail::index(example.top);
        if (chosen_.policy == policy_kind::probability) {
            gradient += share * draft_[v] * draft_;
            gradient[v] -= share * draft_[v];
            return -draft_[v];
        }
        if (chosen_.policy == policy_kind::log_probability) {
            add_logarithm(v, share, gradient);
            return -log_draft_[v];
        }
        return add_margin(z, v, share, gradient);
    }

    /// The same at the temperature that tokens were drawn at; returns -log pi'(of).
    Scalar add_drawn(const logits& z, Eigen::Index of, Scalar weight, gradient_ref& gradient) const {
        const auto temperature = static_cast<Scalar>(chosen_.drawn_at);
        if (temperature == 1) {
            add_logarithm(of, weight, gradient);
            return -log_draft_[of];
        }
        vector<Scalar> drawn = (z.array() - z.maxCoeff()) / temperature;
        drawn.array() -= std::log(drawn.array().exp().sum());
        gradient.array() += weight / temperature * drawn.array().exp();
        gradient[of] -= weight / temperature;
        return -drawn[of];
    }

    Scalar add_margin(const logits& z, Eigen::Index v, Scalar share, gradient_ref& gradient) const {
        Eigen::Index other = v == 0 ? 1 : 0;
        if (z.size() < 2) return 0;
        for (Eigen::Index i = 0; i < z.size(); ++i) {
            if (i != v && z[i] > z[other]) other = i;
        }
        const Scalar lacking = static_cast<Scalar>(chosen_.margin) - (z[v] - z[other]);
        if (!(lacking > 0)) return 0;
        gradient[v] -= share;
        gradient[other] += share;
        return lacking;
    }

    loss_options chosen_;
    Scalar lambda_, anchor_, entropy_, baseline_;
    vector<Scalar> draft_, log_draft_, ratio_;
    Eigen::Array<bool, Eigen::Dynamic, 1> listed_;
};

}  // namespace augur::train
