#include "growth_rollouts.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/draft/heads.hpp>
#include <augur/policy/tree_hysteresis.hpp>
#include <augur/policy/tree_static.hpp>

namespace augur::program {
namespace {

/// What a policy saw of the sum of path values.
struct path_values {
    std::vector<double>* into;
    void watch(const auto& view) {
        if (into != nullptr) into->push_back(view.decided_on.target_confidence * view.decided_on.path_value_sum);
    }
};

}  // namespace

/// `use(drafter, criterion)`.
auto growth_rollouts::with(const auto& use) const {
    const auto by = [&](const auto& drafter) {
        if (typical_) return use(drafter, *typical_);
        return options_.sampling.temperature.value == 0 ? use(drafter, accept::exact{})
                                                        : use(drafter, accept::coupled{});
    };
    if (drafters_.heads) return by(draft::heads(*drafters_.heads, draft::argmax{}));
    if (drafters_.eagle) return by(draft::eagle(*drafters_.eagle, draft::argmax{}));
    // At temperature 0 the noise decides nothing: the likeliest tokens.
    return by(draft::draft_model(drafters_.draft.value(), draft::shared_noise{}));
}

tree::tally growth_rollouts::joint(const tree::augmentations& trees, texts prompts) const {
    return with([&](const auto& drafter, const auto& criterion) {
        return tune::joint_rollout(drafter, target_, criterion, trees, prompts, options_);
    });
}

tune::rollout_result growth_rollouts::alone(const topology& shape, texts prompts) const {
    return with([&](const auto& drafter, const auto& criterion) {
        const auto scheme = speculate(drafter, target_, policy::tree_static(shape), criterion);
        return tune::own_rollout(scheme, shape.depth(), prompts, options_);
    });
}

tune::rollout_result growth_rollouts::switched(const io::bank_file& bank, double threshold, texts prompts,
                                               std::vector<double>* values) const {
    const policy::tree_hysteresis<> between(
        bank.trees, {.on = threshold},
        {.conservative = bank.conservative, .aggressive = bank.aggressive, .feature = {.depth = bank.depth}});
    return with([&](const auto& drafter, const auto& criterion) {
        path_values seen{values};
        return tune::own_rollout(speculate(drafter, target_, between, criterion), 1, prompts, options_, seen);
    });
}

}  // namespace augur::program
