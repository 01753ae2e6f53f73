#pragma once
// generate for on-device decoding: the host polls, streams tokens and stops the loop.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>

#include "augur/commit/apply.hpp"
#include "augur/commit/stop_conditions.hpp"
#include "augur/decode/device/loop.hpp"
#include "augur/decode/generate.hpp"
#include "augur/decode/session.hpp"
#include "augur/detail/stopwatch.hpp"
#include "augur/types/prefix.hpp"
#include "augur/types/statistics.hpp"

namespace augur::decode::device {

/// The host's view of a decoding that runs on the device.
class watched_text {
 public:
    watched_text(std::span<const token> prompt, const commit::stop_conditions& conditions, std::size_t vocabulary,
                 std::size_t context)
        : committed(prompt), stops(conditions, vocabulary, context) {
        if (stops.budget(0, committed.size()) == 0) finished = finish_reason::max_tokens;
    }

    /// Commits one more round, as far as nothing ends the text.
    void see(const round_note& round, const token* tokens, const commit::token_sink& sink) {
        const verdict decided{.drafted = round.drafted, .accepted = round.accepted};
        std::size_t accepted = 0;
        for (std::size_t i = 0; i < round.committed && finished == finish_reason::running; ++i) {
            commit::committed_token t{tokens[i], i < round.accepted ? origin::accepted : decided.next_origin()};
            commit::admit(*this, t, sink);
            if (t.from == origin::accepted) ++accepted;
        }
        if (finished == finish_reason::running && round.valid == 0) finished = finish_reason::invalid_logits;
        counts.stages.back().add(round.drafted, accepted);
    }

    prefix committed;
    commit::stop_watcher stops;
    statistics counts;
    finish_reason finished = finish_reason::running;
};

/// Polls the device's progress and updates the host's view.
template <class Loop>
class loop_follower {
 public:
    loop_follower(const Loop& loop, watched_text& text, const commit::token_sink& sink)
        : loop_(loop), text_(text), sink_(sink) {}

    /// Waits for a round, if the loop was launched whole, for so many seconds at most.
    void await(double patience) const {
        const augur::detail::stopwatch watch;
        while (loop_.rounds() == seen_) {
            if (loop_.idle() && loop_.rounds() == seen_) {
                augur::detail::fail("a loop on a device ended after ", seen_, " rounds, but its text had not");
            }
            if (watch.seconds() > patience) {
                augur::detail::fail("a loop on a device showed no round for ", patience, " s, after ", seen_,
                                    " rounds; waited for the next one");
            }
            std::this_thread::yield();
        }
    }
    void catch_up() {
        for (const std::size_t rounds = loop_.rounds(); seen_ < rounds && running(); ++seen_) {
            text_.see(loop_.note(seen_), loop_.tokens() + tokens_, sink_);
            tokens_ += loop_.note(seen_).committed;
        }
    }
    bool running() const { return text_.finished == finish_reason::running; }
    std::size_t seen() const { return seen_; }

 private:
    const Loop& loop_;
    watched_text& text_;
    const commit::token_sink& sink_;
    std::size_t seen_ = 0, tokens_ = 0;
};

/// decode::generate by a speculation_loop: the same tokens, text, finish, counts and faults. Times are prefill, and all
/// the rest as `verify`, for the device does not say. `chosen.sampling` is the loop's own: what it was made for.
/// Log-probabilities are not known. What ends a text for the host alone (a stop string, the sink, more than a few stop
/// tokens) ends it there: the device stops a round or so later, and the policy may have learned from these.
/// `patience`: seconds that the host waits for a round before it says that there was none.
template <class Demanded = lossless, class Loop>
auto generate(Loop& loop, std::span<const token> prompt, const decode::options& chosen, loop_as how = loop_as::whole,
              double patience = 60) {
    static_assert(decode::detail::keeps_the_guarantee<Loop, Demanded>::value);
    if (chosen.log_probabilities)
        augur::detail::fail("a loop on a device returns no log-probabilities; use decode::generate");
    watched_text text(checked_prompt(prompt, loop.vocabulary_size(), loop.capacity()), chosen.stop,
                      loop.vocabulary_size(), loop.capacity());
    loop_follower follower(loop, text, chosen.on_token);
    decode::generation<typename Loop::policy_type> decoded{.policy = loop.initial_policy(), .seed = chosen.seed};
    if (follower.running()) {
        augur::detail::stopwatch watch(chosen.timed);
        loop.start(prompt, prompt.size() + text.stops.budget(0, prompt.size()), chosen.stop.stop_tokens, chosen.seed);
        text.counts.seconds.prefill = watch.lap();
        const bool whole = how == loop_as::whole;
        if (whole) loop.launch(how);
        for (; follower.running(); follower.catch_up()) {
            if (!whole) {
                loop.launch(how);
                loop.wait();
            }
            follower.await(patience);
        }
        loop.cancel();
        loop.wait();
        text.counts.seconds.verify = watch.lap();
        decoded.policy = loop.policy();
    }
    if (text.finished == finish_reason::invalid_logits) {
        const std::size_t row = loop.note(follower.seen() - 1).accepted;
        decoded.detail = decode::detail::describe_fault(loop.target_row(row), text.committed.size());
    }
    decode::detail::finish(decoded, text);
    return decoded;
}

}  // namespace augur::decode::device
