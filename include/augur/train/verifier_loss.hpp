#pragma once
// The loss of slow updates (cross-entropy plus KL), with exact gradients.

#include <cmath>
#include <cstddef>

#include "augur/train/losses.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/training_example.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// The label that a verifier is trained on. DVI's description names both.
enum class slow_target {
    soft,      ///< its own row, as it was when the position was seen: cross-entropy less the row's entropy
    committed  ///< the token that was committed
};

/// The loss of one position, in nats.
struct verifier_loss_values {
    double total = 0;  ///< cross_entropy + beta * to_old
    double cross_entropy = 0, to_old = 0;
};

/// CE(target, pi) + beta KL(pi || pi_old), pi being the softmax of `logits`. training_example::drafted is the committed
/// token.
template <class Scalar>
class verifier_loss {
 public:
    using logits = Eigen::Ref<const vector<Scalar>>;

    verifier_loss(slow_target target, double beta)
        : target_(target), beta_(static_cast<Scalar>(beta)), to_row_(row_alone(), progress{}) {}

    /// Writes the total's gradient by each logit.
    verifier_loss_values operator()(const logits& z, const logits& old, const training_example<Scalar>& example,
                                    Eigen::Ref<vector<Scalar>> gradient) {
        const vector<Scalar> log_new = log_softmax(z);
        const vector<Scalar> now = log_new.array().exp();
        verifier_loss_values found;
        if (target_ == slow_target::soft) {
            found.cross_entropy = to_row_(z, example, gradient).divergence;
        } else {
            gradient.setZero();
            if (example.drafted != training_example<Scalar>::none) {
                const auto t = detail::index(example.drafted);
                found.cross_entropy = static_cast<double>(-log_new[t]);
                gradient = now;
                gradient[t] -= 1;
            }
        }
        const vector<Scalar> ratio = log_new - log_softmax(old);
        const Scalar to_old = now.dot(ratio);
        gradient.array() += beta_ * now.array() * (ratio.array() - to_old);
        found.to_old = static_cast<double>(to_old);
        found.total = found.cross_entropy + static_cast<double>(beta_) * found.to_old;
        return found;
    }

    static vector<Scalar> log_softmax(const logits& z) {
        vector<Scalar> logarithms = z.array() - z.maxCoeff();
        logarithms.array() -= std::log(logarithms.array().exp().sum());
        return logarithms;
    }

 private:
    static loss_options row_alone() {
        loss_options chosen;
        chosen.schedule.lambda = lambda_kind::constant;
        chosen.schedule.floor = 1;
        chosen.schedule.anchor = {0, 0, 0};
        return chosen;
    }

    slow_target target_;
    Scalar beta_;
    losses<Scalar> to_row_;
};

}  // namespace augur::train
