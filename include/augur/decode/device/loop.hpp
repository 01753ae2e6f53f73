#pragma once
// The on-device decoding loop: launches draft, verify, accept and commit round after round; the host only polls.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/backend/device/round.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/decode/device/loop_draft.hpp"
#include "augur/decode/device/loop_drafter.hpp"
#include "augur/decode/device/loop_state.hpp"
#include "augur/decode/device/loop_text.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

using namespace backend::device;  // what kernels are made of

/// How a loop is launched.
enum class loop_as {
    whole,    ///< all rounds at once; recorded, where the system's recordings can repeat
    rounds,   ///< a round at a time; recorded, where they can repeat
    launches  ///< a launch at a time, the host reading what decides
};

/// The drafter for what a user names, beside such a target.
template <class Draft, class Target, KernelPolicy Policy, KernelCriterion Criterion>
using drafter_in_loop = typename drafting_of<
    Draft, loop_view<loop_state<Policy>, std::remove_cvref_t<decltype(std::declval<const Target&>().system())>>,
    typename augur::detail::token_selector_for<Criterion>::type, Target>::type;

/// Refuses what cannot be decoded with.
template <class Target, class Draft, class Criterion>
void check_loop(const Target& target, const Draft& draft, const Criterion& criterion, const transform::settings& chosen,
                std::size_t most_drafted) {
    accept::check(criterion, chosen);
    augur::detail::check_same_vocabulary("draft and target", "the draft", draft, "the target", target);
    const std::size_t rows = most_verified(most_drafted);
    if (target.most_rows() < rows) {
        augur::detail::fail("drafts of ", most_drafted, " tokens need launches of ", rows,
                            " rows of the target, but they take ", target.most_rows());
    }
}

/// Speculative decoding of one text, on the system that all models are on (the same stream, on CUDA). `Draft` is what a
/// user names (drafting_of): a ResidentModel, or the settings of another LoopDrafter. Each run resets it. Effect: the
/// criterion's; decode::generate's text and rounds with the same models, policy, criterion, settings and seed, and with
/// philox_chooser (docs/decode/device.md). The policy sees rows of at most `most_drafted` tokens,
/// and a millisecond for every time. Memory is taken at construction; a round allocates nothing, waits for nothing and
/// copies 16 bytes and its tokens to the host. Refused: a mask, capacities and vocabularies that differ, and what the
/// criterion's own check refuses.
template <ResidentModel Target, class Draft, KernelPolicy Policy, KernelCriterion Criterion>
class speculation_loop {
 public:
    using system_type = std::remove_cvref_t<decltype(std::declval<const Target&>().system())>;
    using policy_type = Policy;
    using guarantee = guarantee_on_rows_of<Target, typename Criterion::guarantee>;
    using drafter_type = drafter_in_loop<Draft, Target, Policy, Criterion>;

    /// The models must outlive it. most_drafted: 0 to what the models take in a launch, less one.
    speculation_loop(const Target& target, const Draft& draft, Policy policy, Criterion criterion,
                     const transform::settings& chosen, std::size_t most_drafted)
        : target_(target),
          launcher_(target.system()),
          text_(text_of(target, draft, policy, criterion, chosen, most_drafted)) {
        check_loop(target, draft, criterion, chosen, most_drafted);
    }

    /// Prefills, and makes ready for rounds until the text has `limit` tokens, prompt included, or one of the stop
    /// tokens: at most loop_state::most_stops of them. The prompt is of checked tokens, 1 to limit - 1.
    void start(std::span<const token> prompt, std::size_t limit, std::span<const token> stops, std::uint64_t seed) {
        cancel();  // what was left running
        wait();
        text_.start(prompt, limit, stops, seed);
        target_.fill(text_.view().text, prompt.size() - 1);
        wait();
    }

    /// Launches rounds until the text ends: all of them, or one. Where they are recorded nothing is waited for. Where
    /// the system fails to record them, which refusal() then says, they are launched one by one from then on.
    void launch(loop_as how) {
        launcher_.launch(how == loop_as::whole, how != loop_as::launches, &text_.view().state->running,
                         [this] { round(); });
    }
    /// Why rounds that were asked for as recordings are launched one by one; empty where they are not.
    const std::string& refusal() const { return launcher_.refusal(); }

    /// Rounds that the host can read about, also while others run.
    std::size_t rounds() const { return text_.rounds(); }
    const round_note& note(std::size_t round) const { return text_.note(round); }
    /// Generated tokens, as many as the rounds' notes say.
    const token* tokens() const { return text_.tokens(); }
    /// No round after the one that runs.
    void cancel() { text_.cancel(); }
    void wait() const { target_.system().wait(); }
    /// Whether nothing runs.
    bool idle() const { return text_.idle(); }

    std::size_t vocabulary_size() const { return target_.vocabulary_size(); }
    std::size_t capacity() const { return target_.capacity(); }
    const Criterion& criterion() const { return text_.criterion(); }
    const Policy& initial_policy() const { return text_.initial_policy(); }
    /// With what it learned since start(); after wait().
    Policy policy() const { return text_.policy(); }
    /// Row `i` of the round that ran last, on the host; after wait().
    std::vector<float> target_row(std::size_t i) const {
        std::vector<float> row(vocabulary_size());
        target_.system().download(row.data(), target_.logits() + i * row.size(), row.size() * sizeof(float));
        return row;
    }

 private:
    using text_type = loop_text<system_type, drafter_type, Policy, Criterion>;

    static text_type text_of(const Target& target, const Draft& draft, const Policy& policy, const Criterion& criterion,
                             const transform::settings& chosen, std::size_t most_drafted) {
        const loop_sizes sizes{target.vocabulary_size(), target.capacity(), most_drafted};
        return {target.system(), drafter_type(draft, target, sizes), policy, criterion, chosen, sizes};
    }

    /// Launches a round. It is no rounds::judged_round: that is run by the host, which sees the proposal before it asks
    /// for rows, and the rows before it judges. Here nothing comes to the host between draft and commit, so that the
    /// round can be recorded and repeated; its decisions are kernels, which include the policy's, the criterion's and
    /// plan_query's source.
    void round() const {
        text_.launch_draft();
        const auto in = text_.view();
        const auto buckets = static_cast<std::uint32_t>(std::bit_width(text_.most_rows()));
        in.on.choose(&in.state->bucket, buckets, [&](std::uint32_t bucket) {
            const std::size_t rows = std::size_t{1} << bucket;
            if constexpr (requires { text_.drafter().launch_rows(in, rows); }) {
                text_.drafter().launch_rows(in, rows);
            } else {
                target_.launch(in.text, &in.state->verify_from, rows, rows);
            }
            text_.launch_verdict(target_.logits(), rows);
        });
        text_.launch_commit();
    }

    const Target& target_;
    loop_launcher<system_type> launcher_;
    text_type text_;
};

}  // namespace augur::decode::device
