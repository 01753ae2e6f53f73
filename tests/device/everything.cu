// What nvcc must be able to compile: every template of augur/backend/device, with every criterion (compiles.py).
#include "augur/accept/block.hpp"
#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/fuzzy.hpp"
#include "augur/accept/walk.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/accept/rejection_then_fuzzy.hpp"
#include "augur/backend/device/chooser.hpp"
#include "augur/backend/device/divergence.hpp"
#include "augur/backend/device/measure.hpp"
#include "augur/backend/device/pipeline.hpp"
#include "augur/backend/device/residual.hpp"

namespace device = augur::backend::device;

template <class Criterion, class Proposal>
augur::verdict judge(const Criterion& criterion, const Proposal& proposed, const device::rows& rows,
                     augur::prefix& before) {
    const device::pipeline transform(augur::transform::settings{}, 1000);
    const device::chooser chooser(1);
    return augur::accept::walk(criterion, proposed, rows, transform, before, chooser, 0);
}

template <class Proposal>
std::size_t judge_by_all(const Proposal& proposed, const device::rows& rows, augur::prefix& before) {
    return judge(augur::accept::exact{}, proposed, rows, before).accepted +
           judge(augur::accept::rejection_sampling{}, proposed, rows, before).accepted +
           judge(augur::accept::block{}, proposed, rows, before).accepted +
           judge(augur::accept::coupled{}, proposed, rows, before).accepted +
           judge(augur::accept::fuzzy<augur::measure::kl>{0.4}, proposed, rows, before).accepted +
           judge(augur::accept::fuzzy<augur::measure::jensen_shannon>{0.4}, proposed, rows, before).accepted +
           judge(augur::accept::rejection_then_fuzzy<augur::measure::total_variation>{0.4}, proposed, rows, before)
               .accepted +
           judge(augur::accept::rejection_then_fuzzy<augur::measure::hellinger>{0.4}, proposed, rows, before).accepted;
}

double measure(device::row of, const device::distribution<>& made) {
    return device::entropy_bits(thrust::device, of) + device::entropy_nats(made) + on_host(made).total();
}

std::size_t judge_claims(const augur::proposal<augur::point_mass>& certain,
                         const augur::proposal<device::distribution<>>& drawn, const device::rows& rows,
                         const std::uint32_t* allowed, float* logits) {
    augur::prefix before;
    device::for_each(thrust::device, 1000, device::keep_allowed{allowed, logits});
    return judge_by_all(certain, rows, before) + judge_by_all(drawn, rows, before);
}
