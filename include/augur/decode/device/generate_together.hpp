#pragma once
// generate_together for sequences that are decoded together on a device.

#include <algorithm>
#include <cstddef>
#include <list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "augur/commit/apply.hpp"
#include "augur/decode/device/generate.hpp"
#include "augur/decode/device/loop.hpp"
#include "augur/decode/generate.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/types/error.hpp"
#include "augur/types/statistics.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

namespace detail {

/// The host's side of one text of a group.
template <class Text>
struct watched_member {
    watched_text seen;
    loop_follower<Text> follower;

    watched_member(const Text& text, std::span<const token> prompt, const decode::options& chosen,
                   std::size_t vocabulary, std::size_t capacity)
        : seen(checked_prompt(prompt, vocabulary, capacity), chosen.stop, vocabulary, capacity),
          follower(text, seen, chosen.on_token) {}
};

/// Until no text is running.
template <class Group, class Members>
void follow(Group& group, Members& members, loop_as how, double patience) {
    const auto running = [](const auto& each) { return each.follower.running(); };
    const bool whole = how == loop_as::whole;
    const bool any = std::any_of(members.begin(), members.end(), running);
    if (whole && any) group.launch(how);
    while (std::any_of(members.begin(), members.end(), running)) {
        if (!whole) {
            group.launch(how);
            group.wait();
        }
        std::size_t number = 0;
        for (auto& each : members) {
            if (running(each)) {
                each.follower.await(patience);
                each.follower.catch_up();
                if (!running(each)) group.text(number).cancel();
            }
            ++number;
        }
    }
}

}  // namespace detail

/// decode::generate_together by a speculation_group, for at most as many prompts as it has texts: text i has the seed
/// chosen.seed + i, and is what decode::device::generate writes by a speculation_loop. See there; all times are in the
/// first text's counts. Which logit of an invalid row is at fault is not said, for other texts go on.
template <class Demanded = lossless, class Group>
auto generate_together(Group& group, std::span<const std::span<const token>> prompts, const decode::options& chosen,
                       loop_as how = loop_as::whole, double patience = 60) {
    static_assert(decode::detail::keeps_the_guarantee<Group, Demanded>::value);
    if (chosen.log_probabilities)
        augur::detail::fail("a loop on a device returns no log-probabilities; use decode::generate_together");
    if (chosen.on_token || prompts.size() > group.size()) {
        augur::detail::fail("generate_together: ", prompts.size(), " texts in a group of ", group.size(),
                            chosen.on_token ? ", and one on_token, which cannot distinguish them" : "");
    }
    using text_type = typename Group::text_type;
    std::list<detail::watched_member<text_type>> members;  // followers refer to their texts
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        members.emplace_back(group.text(i), prompts[i], chosen, group.vocabulary_size(), group.capacity());
    }
    augur::detail::stopwatch watch(chosen.timed);
    group.rest();
    std::size_t number = 0;
    for (auto& each : members) {
        const std::size_t i = number++;
        if (!each.follower.running()) continue;
        group.start(i, prompts[i], prompts[i].size() + each.seen.stops.budget(0, prompts[i].size()),
                    chosen.stop.stop_tokens, chosen.seed + i);
    }
    const double prefill = watch.lap();
    detail::follow(group, members, how, patience);
    for (std::size_t i = 0; i < group.size(); ++i) group.text(i).cancel();
    group.wait();
    if (!members.empty()) members.front().seen.counts.seconds = time_spent{.prefill = prefill, .verify = watch.lap()};
    std::vector<decode::generation<typename Group::policy_type>> results;
    for (auto& each : members) {
        const std::size_t i = results.size();
        results.push_back({.policy = group.text(i).policy(), .seed = chosen.seed + i});
        if (each.seen.finished == finish_reason::invalid_logits) {
            results.back().detail = augur::detail::message("the target's row at position ", each.seen.committed.size(),
                                                           " cannot be drawn from");
        }
        decode::detail::finish(results.back(), each.seen);
    }
    return results;
}

}  // namespace augur::decode::device
