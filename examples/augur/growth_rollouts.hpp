#pragma once
// What draft trees are scored and measured by while they grow: decodings of prompts by whoever drafts.

#include <augur/accept/typical.hpp>
#include <augur/decode/generate.hpp>
#include <augur/io/files/bank_file.hpp>
#include <augur/tree/growth.hpp>
#include <augur/tune/tree_rollout.hpp>
#include <augur/types/token.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "draft_checkpoints.hpp"

namespace augur::program {

/// Heads, a layer or a draft model, whichever of them is loaded, in this order; accepted by exact match at temperature
/// 0, above that by coupled; or by typical acceptance.
class growth_rollouts {
 public:
    using texts = std::span<const std::vector<token>>;

    /// Refers to all of them.
    growth_rollouts(const llama::host_model& target, const draft_checkpoints& drafters, const decode::options& options,
                    std::optional<accept::typical> typical)
        : target_(target), drafters_(drafters), options_(options), typical_(typical) {}

    /// All trees of these at once: counts.
    tree::tally joint(const tree::augmentations& trees, texts prompts) const;
    /// This tree every round.
    tune::rollout_result alone(const topology& shape, texts prompts) const;
    /// The bank's pair at a threshold. What the policy saw of the sum is appended to `values`, if that is given.
    tune::rollout_result switched(const io::bank_file& bank, double threshold, texts prompts,
                                  std::vector<double>* values = nullptr) const;

 private:
    auto with(const auto& use) const;

    const llama::host_model& target_;
    const draft_checkpoints& drafters_;
    const decode::options& options_;
    std::optional<accept::typical> typical_;
};

}  // namespace augur::program
