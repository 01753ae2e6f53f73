#pragma once
// What `augur learn` trains, whatever it is.

#include <algorithm>
#include <augur/policy/confidence_stop.hpp>
#include <augur/policy/cost_aware.hpp>
#include <augur/policy/learned_state.hpp>
#include <augur/train/diagnostics.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "learning.hpp"
#include "scheme.hpp"
#include "slow_verifier.hpp"

namespace augur::program {

/// How long drafts are.
struct draft_bounds {
    std::optional<double> threshold{};  ///< of the best token's probability, below which it is the last; unset: as pays
    std::size_t most = policy::confidence_stop_options{}.max_tokens;
    double on_trial = 0.01;  ///< share of the time that drafts may lose that are as long as pays
    /// And judged by rejection sampling: the text has plain sampling's distribution, and is another one.
    bool drawn = false;
};

class learned_drafter {
 public:
    learned_drafter() = default;
    learned_drafter(const learned_drafter&) = delete;
    learned_drafter& operator=(const learned_drafter&) = delete;
    virtual ~learned_drafter() = default;

    /// As those of learned_exit; and the same for the positions to learn from.
    virtual void restore(const std::string& adapter) = 0;
    virtual void save(const std::string& adapter) = 0;
    virtual void restore_replay(const std::string& path) = 0;
    virtual void save_replay(const std::string& path) = 0;
    virtual train::diagnostics report() const = 0;
    /// The updates that waited for the end of a text (train::trainer), unless Ctrl-C ends them.
    virtual void catch_up() = 0;
    /// Layers that draft; 0 where none of the model's do.
    virtual std::size_t exit_layer() const { return 0; }

    /// Decodes by it, greedily or as coupled to plain sampling, while it learns. Drafts without rows know no threshold,
    /// and only the model's layers draft tokens that are drawn. `verifier`: whose target it is, where that learns, too.
    run_result decode(const engine& target, const run_request& request, const draft_bounds& bounds,
                      slow_verifier* verifier = nullptr) {
        run_result result = decode_text(target, request, bounds, slow_watcher{verifier});
        if (result.learned) known_ = *result.learned;
        if (result.allowance)
            credit_ = std::clamp(*result.allowance, -policy::cost_aware_options<>::most_allowance, untrained_credit);
        return result;
    }

 protected:
    /// A length that pays, by the texts before. What they lost on drafts this one cannot lose again.
    policy::cost_aware<> as_pays(const draft_bounds& bounds) const {
        return policy::cost_aware({.max_length = bounds.most,
                                   .memory = memory,
                                   .probe_after = tries_after,
                                   .budget = bounds.on_trial,
                                   .credit = credit_},
                                  known_);
    }

 private:
    virtual run_result decode_text(const engine& target, const run_request& request, const draft_bounds& bounds,
                                   slow_watcher verifier) = 0;

    /// Rounds after which a draft that did not pay is tried again: in fewer, little is learned; and a memory that holds
    /// what such a draft cost until then.
    static constexpr std::size_t tries_after = 64;
    static constexpr double memory = 0.99;

    policy::learned_state known_;
    double credit_ = untrained_credit;
};

/// Of the scheme dvi, medusa, hydra, eagle or ngram, for this model, which must outlive it. Throws for another, and as
/// learned_exit, learned_heads and learned_eagle do.
std::unique_ptr<learned_drafter> make_learned(const llama::host_model& target, const learning_options& chosen,
                                              const llama::load_options& options);

}  // namespace augur::program
