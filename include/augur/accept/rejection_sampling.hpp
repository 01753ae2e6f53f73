#pragma once
// Speculative (rejection) sampling: keeps the target's distribution exactly, with the most acceptance of any token-wise
// rule.

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <vector>

#include "augur/accept/concept.hpp"
#include "augur/detail/chunks.hpp"
#include "augur/detail/host_device.hpp"
#include "augur/types/token_selector.hpp"

namespace augur::accept {

/// What the draft distribution says of token i, up to its total.
template <class DraftDistribution>
double draft_weight(const drafted_token<DraftDistribution>& drafted, std::size_t i) {
    if constexpr (DeterministicDistribution<DraftDistribution>) {
        return static_cast<std::size_t>(drafted.id) == i ? 1 : 0;
    } else {
        return (*drafted.row)[i];
    }
}

/// What two weights become: the target's less the draft's, or nothing. Small, so that a loop can have a copy that
/// nothing changes.
struct subtraction {
    double target_factor = 1;
    double draft_factor = 1;

    AUGUR_HOST_DEVICE double operator()(double target, double draft) const {
        const double left = target_factor * target - draft_factor * draft;
        return left > 0 ? left : 0;
    }
};

/// Asks for a residual that is the target where rounding leaves nothing over.
struct or_target {};

/// Workspace for the weights of a residual that several rejected siblings have left: those of the last one that was
/// made in it. One double for each token of the vocabulary, kept from round to round.
struct residual_storage {
    std::vector<double> weights{};
    std::size_t made = 0;  ///< residuals so far; the last is numbered so
};

/// max(0, scale * target - draft) as weights, both normalised: with scale 1 the residual distribution. In place of the
/// target there can be a residual, of the sibling before. What it is made of must outlive it. A draft distribution that
/// is no distribution and not certain is normalised. Nothing is stored: two passes where it is used, over chunks in
/// which the target has weight. A residual of a residual is stored where there is workspace (residual_storage); each
/// costs one pass then, and without workspace as many as siblings were rejected, with the same bits. It goes through
/// them, too, once another was made in its workspace.
template <class DraftDistribution, class Row = distribution>
class residual_weights {
 public:
    residual_weights(const Row& target, drafted_token<DraftDistribution> drafted, double scale = 1,
                     residual_storage* /*workspace*/ = nullptr)
        : target_(target), drafted_(drafted), left_{scale / target.total()} {
        subtract();
    }
    residual_weights(const Row& target, drafted_token<DraftDistribution> drafted, or_target)
        : residual_weights(target, drafted) {
        if (!(total_ > 0)) restore();
    }
    residual_weights(const residual_weights& before, drafted_token<DraftDistribution> drafted, double scale,
                     residual_storage* workspace = nullptr)
        : target_(before.target_),
          drafted_(drafted),
          before_(&before),
          left_{scale / before.total()},
          workspace_(target_.is_point() ? nullptr : workspace) {
        subtract();
    }
    residual_weights(const residual_weights& before, drafted_token<DraftDistribution> drafted, or_target,
                     residual_storage* workspace = nullptr)
        : residual_weights(before, drafted, 1.0, workspace) {
        if (!(total_ > 0)) restore();
    }

    std::size_t size() const { return target_.size(); }
    double operator[](std::size_t i) const {
        if (stored()) return has_weight(i) ? workspace_->weights[i] : 0;
        return left_(before_ == nullptr ? target_[i] : left_before(i), draft_weight(drafted_, i));
    }
    double total() const { return total_; }
    double probability(token of) const { return (*this)[static_cast<std::size_t>(of)] / total_; }

    /// The sum of each chunk, made when it is asked for.
    struct chunk_sums {
        const residual_weights& of;

        double operator[](std::size_t chunk) const { return of.sum_of(chunk * detail::chunk_size); }
    };
    chunk_sums sums() const { return {*this}; }

 private:
    /// Not inline, for it would be within itself, once for each sibling.
    [[gnu::noinline]] double left_before(std::size_t i) const { return (*before_)[i]; }

    void subtract() {
        if constexpr (std::same_as<DraftDistribution, Row>) left_.draft_factor = 1 / drafted_.row->total();
        add_up();
    }
    void restore() {
        left_ = {1, 0};
        add_up();
    }
    void add_up() {
        number_ = 0;
        if (workspace_ != nullptr) workspace_->weights.resize(size());
        total_ = 0;
        for (std::size_t chunk = 0; chunk < detail::chunks_in(size()); ++chunk) total_ += sums()[chunk];
        if (workspace_ != nullptr) number_ = ++workspace_->made;
    }

    /// Whether the weights are those in the workspace: not while they are made, nor after the next ones.
    bool stored() const { return number_ != 0 && workspace_->made == number_; }
    /// Whether any token of this one's chunk has weight in the target.
    bool has_weight(std::size_t i) const {
        if (target_.is_point())
            return i / detail::chunk_size == static_cast<std::size_t>(target_.mode()) / detail::chunk_size;
        return target_.sums()[i / detail::chunk_size] > 0;
    }

    double sum_of(std::size_t begin) const {
        const std::size_t end = detail::end_of_chunk(begin, size());
        if (!has_weight(begin)) return 0;
        if (target_.is_point()) return detail::sum_of_chunk(*this, begin, end);
        if (stored()) return detail::sum_of_chunk(workspace_->weights, begin, end);
        double weights[detail::chunk_size];
        weigh(begin, end, weights);
        if (workspace_ != nullptr && number_ == 0)
            std::copy_n(weights, end - begin, workspace_->weights.data() + begin);
        return detail::sum_of_chunk(weights, 0, end - begin);
    }

    /// The weights of a chunk in which the target, a row, has some.
    void weigh(std::size_t begin, std::size_t end, double* out) const {
        if (stored()) {
            std::copy_n(workspace_->weights.data() + begin, end - begin, out);
        } else if (before_ != nullptr) {
            before_->weigh(begin, end, out);
            subtract_from(out, begin, end, out);
        } else {
            subtract_from(target_.weights().data() + begin, begin, end, out);
        }
    }

    template <class Number>
    void subtract_from(const Number* from, std::size_t begin, std::size_t end, double* out) const {
        const subtraction left = left_;
        const std::size_t count = end - begin;
        if (weight_by_weight(begin, end)) {
            for (std::size_t i = 0; i < count; ++i) out[i] = left(double{from[i]}, draft_weight(drafted_, begin + i));
        } else if constexpr (std::same_as<DraftDistribution, Row>) {
            const float* draft = drafted_.row->weights().data() + begin;
            for (std::size_t i = 0; i < count; ++i) out[i] = left(double{from[i]}, double{draft[i]});
        } else {
            for (std::size_t i = 0; i < count; ++i) out[i] = left(double{from[i]}, 0);
        }
    }

    /// Whether the draft's weights of these are neither those of a stored row nor all 0.
    bool weight_by_weight(std::size_t begin, std::size_t end) const {
        if constexpr (std::same_as<DraftDistribution, Row>) {
            return drafted_.row->is_point();
        } else if constexpr (DeterministicDistribution<DraftDistribution>) {
            return begin <= static_cast<std::size_t>(drafted_.id) && static_cast<std::size_t>(drafted_.id) < end;
        } else {
            return true;
        }
    }

    const Row& target_;
    drafted_token<DraftDistribution> drafted_;
    const residual_weights* before_ = nullptr;
    subtraction left_;
    double total_ = 0;
    residual_storage* workspace_ = nullptr;
    std::size_t number_ = 0;  ///< in the workspace, once its weights are there
};

/// What a rejected token leaves of the target's row, or of what siblings before it have left: the residual
/// distribution; what it is made of, where rounding leaves nothing over.
AUGUR_WHERE_ARGUMENTS_CAN
template <class DraftDistribution, class Row>
AUGUR_HOST_DEVICE residual_weights<DraftDistribution, Row> residual(const Row& target,
                                                                    const drafted_token<DraftDistribution>& drafted) {
    return residual_weights<DraftDistribution, Row>(target, drafted, or_target{});
}
AUGUR_WHERE_ARGUMENTS_CAN
template <class DraftDistribution, class Row>
AUGUR_HOST_DEVICE residual_weights<DraftDistribution, Row> residual(
    const residual_weights<DraftDistribution, Row>& left, const drafted_token<DraftDistribution>& drafted) {
    return residual_weights<DraftDistribution, Row>(left, drafted, or_target{});
}
/// The same with workspace for its weights, if siblings before were rejected.
template <class DraftDistribution, class Row>
residual_weights<DraftDistribution, Row> residual(const residual_weights<DraftDistribution, Row>& left,
                                                  const drafted_token<DraftDistribution>& drafted,
                                                  residual_storage& workspace) {
    return residual_weights<DraftDistribution, Row>(left, drafted, or_target{}, &workspace);
}
template <class DraftDistribution>
residual_weights<DraftDistribution> residual(const distribution& target,
                                             const drafted_token<DraftDistribution>& drafted, residual_storage&) {
    return residual_weights<DraftDistribution>(target, drafted, or_target{});
}

/// Accepts x with probability min(1, target(x) / draft(x)); otherwise draws from the residual distribution. A point
/// mass is accepted with probability target(x), and the residual is the target without x. Siblings are judged in turn,
/// each against the residual that the one before has left.
/// Effect: none, each token has the target's distribution exactly. Randomness: one coin per drafted token, one draw per
/// round, none of it shared with the draft. Cost: O(1) per accepted token, O(vocabulary) per rejection, a pass for each
/// rejected sibling. Keeps a double per token of the vocabulary where two siblings were rejected, and allocates nothing
/// once that is there.
/// Source: Leviathan et al. 2023, section 2.3 and appendix A.1; Chen et al. 2023, algorithm 2. Siblings: Miao et al.
/// 2024, SpecInfer, section 4.3; drawn without replacement: Jeon et al. 2024, "Recursive speculative decoding".
struct rejection_sampling {
    using guarantee = guarantee::same_distribution;
    using token_selector = draft::sampled;
    using storage_type = residual_storage;

    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE bool accepts(const auto& target, const drafted_token<DraftDistribution>& drafted,
                                   auto& draws) const {
        const double target_probability = target.probability(drafted.id);
        const double draft_probability = drafted.probability(drafted.id);
        return target_probability > 0 &&
               draws.flip(std::min(1.0, target_probability / draft_probability), purpose::accept);
    }

    /// Rejection means target(x) < draft(x), so some other token has more; only rounding can leave nothing over.
    AUGUR_WHERE_ARGUMENTS_CAN
    template <class DraftDistribution>
    AUGUR_HOST_DEVICE auto after_rejection(const auto& target, const drafted_token<DraftDistribution>& drafted) const {
        return residual(target, drafted);
    }
    template <class DraftDistribution>
    auto after_rejection(const auto& target, const drafted_token<DraftDistribution>& drafted,
                         residual_storage& workspace) const {
        return residual(target, drafted, workspace);
    }

    AUGUR_WHERE_ARGUMENTS_CAN
    AUGUR_HOST_DEVICE token draw(const auto& target, auto& draws) const {
        return static_cast<token>(draws.choose(target, purpose::correction));
    }

    /// The row that the accepted token was drawn from (scheme/stage.hpp): always the target's.
    template <class DraftDistribution>
    const distribution& drawn_from(const distribution& target, const drafted_token<DraftDistribution>&,
                                   distribution&) const {
        return target;
    }
};

}  // namespace augur::accept
