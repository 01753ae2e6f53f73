#pragma once
// The distribution of texts while what drafts them learns.

#include <cstddef>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/decode/generate.hpp"
#include "augur/decode/session.hpp"
#include "augur/decode/step.hpp"
#include "augur/draft/self_speculation.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/random/philox.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/text_distribution_of.hpp"
#include "augur/train/trainer.hpp"
#include "augur/train/watcher.hpp"
#include "augur/types/token.hpp"
#include "sanitized.hpp"

namespace augur::testing {

/// Updates after every round, by steps that are far too large.
inline train::trainer_options wild_steps() {
    train::trainer_options chosen;
    chosen.replay = {.capacity = 8, .top = 2};
    chosen.batch = 2;
    chosen.least = chosen.every = 1;
    chosen.share = std::numeric_limits<double>::infinity();
    chosen.steps = {.rate = 0.5, .warm_up = 0, .clip = 0};
    chosen.clock = [] { return 0.0; };
    return chosen;
}

/// All texts of so many tokens are enumerated: of one less where each access is checked.
inline decode::options few_tokens(transform::settings sampling = {}, std::size_t tokens = unless_sanitized(4, 3)) {
    decode::options chosen;
    chosen.stop.max_tokens = tokens;
    chosen.sampling = std::move(sampling);
    chosen.timed = false;
    return chosen;
}

struct seen_while_learning {
    text_distribution texts;
    std::size_t rounds = 0, changed = 0;
};

/// Heads by `make_head()`, made anew for each path, learn from the path's own rounds: `make_scheme(head)` drafts with
/// them, `make_watcher(trainer, head)` shows the rounds. Counts rounds, and those that changed a number.
template <class MakeHead, class MakeScheme, class MakeWatcher>
seen_while_learning law_while_learning(std::span<const token> prompt, const decode::options& chosen,
                                       const MakeHead& make_head, const MakeScheme& make_scheme,
                                       const MakeWatcher& make_watcher) {
    seen_while_learning found;
    found.texts = enumerate([&](const enumerating_chooser& chooser) {
        auto head = make_head();
        train::trainer online(head, wild_steps());
        const auto scheme = make_scheme(head);
        decode::session<std::remove_const_t<decltype(scheme)>, enumerating_chooser> s(scheme, prompt, chosen.sampling,
                                                                                      chosen.stop, chooser);
        auto learns = make_watcher(online, std::as_const(head));
        learns.attach(s);
        while (s.finished == finish_reason::running) {
            const auto before = head.values();
            decode::step(scheme, s, {.timed = false}, learns);
            ++found.rounds;
            found.changed += head.values() != before ? 1 : 0;
        }
        const auto text = s.committed.generated();
        return std::vector<token>(text.begin(), text.end());
    });
    return found;
}

/// The same for heads that draft in the target itself, two tokens at a time, as the criterion asks.
template <class MakeHead, class Target, class Criterion>
seen_while_learning law_while_an_exit_learns(std::span<const token> prompt, const decode::options& chosen,
                                             const MakeHead& make_head, const Target& target,
                                             const Criterion& criterion) {
    using head_type = decltype(make_head());
    using token_selector = typename augur::detail::token_selector_for<Criterion>::type;
    return law_while_learning(
        prompt, chosen, make_head,
        [&](head_type& head) {
            return speculate(draft::self_speculation<head_type&, token_selector>(head), target, policy::fixed_length{2},
                             criterion);
        },
        [](auto& online, const head_type&) { return train::watcher(online); });
}

/// Acceptance of one greedy text after the other, always the same, from which `make_watcher()` learns.
template <class Scheme, class MakeWatcher>
std::vector<double> acceptance_of_repeats(const Scheme& scheme, std::span<const token> prompt,
                                          const MakeWatcher& make_watcher) {
    std::vector<double> accepted;
    for (int text = 0; text < 30; ++text) {
        decode::session s(scheme, prompt, transform::settings{.temperature = {0}}, {.max_tokens = 16},
                          random::philox_chooser(1));
        auto learns = make_watcher();
        learns.attach(s);
        while (s.finished == finish_reason::running) decode::step(scheme, s, {.timed = false}, learns);
        const auto& stage = s.counts.stages.back();
        accepted.push_back(static_cast<double>(stage.accepted) / static_cast<double>(stage.drafted));
    }
    return accepted;
}

/// A ring for all of these positions, and steps that learn them.
inline train::trainer_options small_steps() {
    train::trainer_options chosen = wild_steps();
    chosen.steps.rate = 0.05;
    chosen.replay = {.capacity = 64, .top = 0};
    chosen.batch = 16;
    return chosen;
}

}  // namespace augur::testing
