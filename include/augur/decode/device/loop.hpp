#pragma once
// Whole decodings as launches: draft, verify, accept and commit, round after round, and the host only watches.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "augur/backend/device/round.hpp"
#include "augur/backend/device/send.hpp"
#include "augur/backend/device/shared_buffer.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/weighed_rows.hpp"
#include "augur/cascade/speculator.hpp"
#include "augur/decode/device/loop_draft.hpp"
#include "augur/decode/device/loop_drafter.hpp"
#include "augur/decode/device/loop_edits.hpp"
#include "augur/decode/device/loop_state.hpp"
#include "augur/model/same_vocabulary.hpp"
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
    using state_type = loop_state<Policy>;
    using view_type = loop_view<state_type, system_type>;
    using drafter_type =
        typename drafting_of<Draft, view_type, typename augur::detail::drawing_for<Criterion>::type, Target>::type;
    static_assert(LoopDrafter<drafter_type, view_type>);
    static_assert(shows_all_of(needs_of<Policy>, drafter_type::shown),
                  "augur::decode::device::speculation_loop: this policy needs to see what this drafter does not show: "
                  "rows (use a resident draft model), or matches (use kernel_lookup)");

    /// The models must outlive it. most_drafted: 0 to what the models take in a launch, less one.
    speculation_loop(const Target& target, const Draft& draft, Policy policy, Criterion criterion,
                     const transform::settings& chosen, std::size_t most_drafted)
        : on_(target.system()),
          target_(target),
          policy_(policy),
          criterion_(criterion),
          most_drafted_(most_drafted),
          drafter_(draft, target, {vocabulary_size(), capacity(), most_drafted}),
          weighed_(on_, chosen, vocabulary_size(), most_verified()),
          edits_(on_, chosen, vocabulary_size(), most_verified()) {
        check(draft, chosen);
        take_memory();
    }

    /// Prefills, and makes ready for rounds until the text has `limit` tokens, prompt included, or one of the stop
    /// tokens: at most loop_state::most_stops of them. The prompt is of checked tokens, 1 to limit - 1.
    void start(std::span<const token> prompt, std::size_t limit, std::span<const token> stops, std::uint64_t seed) {
        cancel();  // what was left running
        wait();
        state_type s{.policy = policy_};
        s.seed = seed;
        s.prompt = s.length = static_cast<std::uint32_t>(prompt.size());
        s.limit = static_cast<std::uint32_t>(limit);
        s.draft_limit = static_cast<std::uint32_t>(std::min(drafter_.capacity(), capacity()));
        s.most_drafted = static_cast<std::uint32_t>(most_drafted_);
        s.running = 1;
        s.stop_count = static_cast<std::uint32_t>(std::min(stops.size(), state_type::most_stops));
        std::copy_n(stops.begin(), s.stop_count, s.stops);
        s.held = s.length - 1;
        on_.upload(text_.data(), prompt.data(), prompt.size_bytes());
        edits_.start(prompt);
        target_.fill(text_.data(), prompt.size() - 1);
        drafter_.start(text_.data(), prompt.size());
        on_.upload(state_.data(), &s, sizeof s);
        on_.wait();
        publish(words_.data(), 0);
        publish(words_.data() + 1, 0);
    }

    /// Launches rounds until the text ends: all of them, or one. Where they are recorded nothing is waited for. Where
    /// the system fails to record them, which refusal() then says, they are launched one by one from then on.
    void launch(loop_as how) {
        if (how == loop_as::launches || !on_.records() || !on_.controls() || !refusal_.empty()) return run(how);
        auto& kept = how == loop_as::whole ? whole_ : one_;
        if (kept.empty()) {
            try {
                kept.push_back(on_.record([this, how] { run(how); }));
            } catch (const error& refused) {
                refusal_ = std::string("rounds are not recorded, but launched one by one: ") + refused.what();
                return run(how);
            }
        }
        on_.replay(kept.front());
    }
    /// Why rounds that were asked for as recordings are launched one by one; empty where they are not.
    const std::string& refusal() const { return refusal_; }

    /// Rounds that the host can read about, also while others run.
    std::size_t rounds() const { return published(words_.data()); }
    const round_note& note(std::size_t round) const { return notes_.data()[round]; }
    /// Generated tokens, as many as the rounds' notes say.
    const token* tokens() const { return tokens_.data(); }
    /// No round after the one that runs.
    void cancel() { publish(words_.data() + 1, 1); }
    void wait() const { on_.wait(); }
    /// Whether nothing runs.
    bool idle() const { return on_.idle(); }

    std::size_t vocabulary_size() const { return target_.vocabulary_size(); }
    std::size_t capacity() const { return target_.capacity(); }
    const Criterion& criterion() const { return criterion_; }
    const Policy& initial_policy() const { return policy_; }
    /// With what it learned since start(); after wait().
    Policy policy() const {
        state_type s{.policy = policy_};
        on_.download(&s, state_.data(), sizeof s);
        return s.policy;
    }
    /// Row `i` of the round that ran last, on the host; after wait().
    std::vector<float> target_row(std::size_t i) const {
        std::vector<float> row(vocabulary_size());
        on_.download(row.data(), target_.logits() + i * row.size(), row.size() * sizeof(float));
        return row;
    }

 private:
    void run(loop_as how) {
        if (how != loop_as::whole) return round();
        on_.repeat_while(&state_.data()->running, [this] { round(); });
    }

    static constexpr bool sees_target =
        includes(signals_of<Policy>, signals::target_entropy | signals::target_confidence);

    void check(const Draft& draft, const transform::settings& chosen) const {
        accept::check(criterion_, chosen);
        augur::detail::check_same_vocabulary("draft and target", "the draft", draft, "the target", target_);
        if (target_.most_rows() < most_verified()) {
            augur::detail::fail("drafts of ", most_drafted_, " tokens need launches of ", most_verified(),
                                " rows of the target, but they take ", target_.most_rows());
        }
    }

    void take_memory() {
        text_ = buffer<token, system_type>(on_, capacity() + most_verified());
        on_.clear(text_.data(), text_.memory_bytes());  // rows beyond the text's end are of some token, too
        state_ = buffer<state_type, system_type>(on_, 1);
        decided_ = buffer<chain_verdict, system_type>(on_, 1);
        if (sees_target) target_signals_.emplace(on_, vocabulary_size(), most_verified());
        words_ = shared_buffer<std::uint32_t, system_type>(on_, 2);
        notes_ = shared_buffer<round_note, system_type>(on_, capacity());
        tokens_ = shared_buffer<token, system_type>(on_, capacity());
        words_.data()[0] = words_.data()[1] = 0;
    }

    /// Rows of the longest launch of the target.
    std::size_t most_verified() const { return std::bit_ceil(most_drafted_ + 1); }

    void round() const {
        const view_type in{on_, state_.data(), text_.data(), weighed_, edits_};
        in.change(begin_round{drafter_type::shown});
        drafter_.launch(in);
        in.change(begin_verification{});
        const auto buckets = static_cast<std::uint32_t>(std::bit_width(most_verified()));
        on_.choose(&in.state->bucket, buckets, [&](std::uint32_t bucket) { verify(in, std::size_t{1} << bucket); });
        in.change(commit_round{decided_.data(),
                               target_signals_ ? target_signals_->rows() : nullptr,
                               text_.data(),
                               edits_.counts(),
                               {words_.data(), words_.data() + 1, notes_.data(), tokens_.data()}});
    }

    void verify(const view_type& in, std::size_t rows) const {
        state_type* const s = in.state;
        if constexpr (requires { drafter_.launch_rows(in, rows); }) {
            drafter_.launch_rows(in, rows);
        } else {
            target_.launch(in.text, &s->verify_from, rows, rows);
        }
        const rows_view made{target_.logits(), rows, vocabulary_size()};
        if (target_signals_) target_signals_->scan(made.logits, rows);
        const rows_view of = edits_.edited(made, text_.data(), s, false);
        const auto proposed = drafter_.chain(text_.data());
        const judge_round<state_type, Criterion, std::remove_cv_t<decltype(proposed)>> judge{
            {criterion_, proposed, weighed_.prepare(of), 0, 0, 0, decided_.data()}, s};
        on_.launch(judge.blocks(), judge);
    }

    system_type on_;
    const Target& target_;
    Policy policy_;
    Criterion criterion_;
    std::size_t most_drafted_;
    drafter_type drafter_;
    weighed_rows<system_type> weighed_;
    loop_edits<system_type> edits_;
    std::optional<row_scanner<system_type>> target_signals_;  ///< where the policy looks at them
    buffer<token, system_type> text_;                         ///< committed tokens, then drafted ones
    buffer<state_type, system_type> state_;
    buffer<chain_verdict, system_type> decided_;
    shared_buffer<std::uint32_t, system_type> words_;
    shared_buffer<round_note, system_type> notes_;
    shared_buffer<token, system_type> tokens_;
    std::vector<typename system_type::recording> whole_, one_;  ///< made when first needed
    std::string refusal_;
};

}  // namespace augur::decode::device
