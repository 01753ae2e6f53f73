#pragma once
// One sequence of the on-device loop: everything of a round but the target's pass.

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
#include "augur/backend/device/shared_buffer.hpp"
#include "augur/backend/device/system.hpp"
#include "augur/backend/device/weighed_rows.hpp"
#include "augur/decode/device/loop_drafter.hpp"
#include "augur/decode/device/loop_edits.hpp"
#include "augur/decode/device/loop_state.hpp"
#include "augur/policy/concept.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

using namespace backend::device;  // what kernels are made of

/// Rows of the longest launch of a target that verifies drafts of so many tokens.
constexpr std::size_t most_verified(std::size_t most_drafted) {
    return std::bit_ceil(most_drafted + 1);
}

/// Committed and drafted tokens, what is known of them, and the mail to the host. Memory is taken at construction.
/// `launch...` functions launch, and nothing else.
template <ControllingSystem S, class Drafter, KernelPolicy Policy, KernelCriterion Criterion>
class loop_text {
 public:
    using state_type = loop_state<Policy>;
    using view_type = loop_view<state_type, S>;
    static_assert(LoopDrafter<Drafter, view_type>);
    static_assert(
        shows_all_of(required_signals<Policy>, Drafter::shown),
        "augur::decode::device: this policy needs to see what this drafter does not show: rows (use a resident "
        "draft model), or matches (use kernel_lookup)");

    loop_text(const S& on, Drafter drafter, const Policy& policy, const Criterion& criterion,
              const transform::settings& chosen, const loop_sizes& sizes)
        : on_(on),
          sizes_(sizes),
          policy_(policy),
          criterion_(criterion),
          drafter_(std::move(drafter)),
          weighed_(on, chosen, sizes.vocabulary, most_rows()),
          edits_(on, chosen, sizes.vocabulary, most_rows()),
          text_(on, sizes.capacity + most_rows()),
          state_(on, 1),
          decided_(on, 1),
          words_(on, 2),
          notes_(on, sizes.capacity),
          tokens_(on, sizes.capacity) {
        on_.clear(text_.data(), text_.memory_bytes());  // rows beyond the text's end are of some token, too
        if (sees_target) target_signals_.emplace(on, sizes.vocabulary, most_rows());
        words_.data()[0] = words_.data()[1] = 0;
        rest();
    }

    /// There is no round until the next start.
    void rest() const {
        const state_type s{.policy = policy_};
        on_.upload(state_.data(), &s, sizeof s);
        on_.wait();
    }

    /// See speculation_loop::start; the target is filled by others.
    void start(std::span<const token> prompt, std::size_t limit, std::span<const token> stops,
               std::uint64_t seed) const {
        state_type s{.policy = policy_};
        s.seed = seed;
        s.prompt = s.length = static_cast<std::uint32_t>(prompt.size());
        s.limit = static_cast<std::uint32_t>(limit);
        s.draft_limit = static_cast<std::uint32_t>(std::min(drafter_.capacity(), sizes_.capacity));
        s.most_drafted = static_cast<std::uint32_t>(sizes_.most_drafted);
        s.running = 1;
        s.stop_count = static_cast<std::uint32_t>(std::min(stops.size(), state_type::most_stops));
        std::copy_n(stops.begin(), s.stop_count, s.stops);
        s.held = s.length - 1;
        on_.upload(text_.data(), prompt.data(), prompt.size_bytes());
        edits_.start(prompt);
        drafter_.start(text_.data(), prompt.size());
        on_.upload(state_.data(), &s, sizeof s);
        on_.wait();
        publish(words_.data(), 0);
        publish(words_.data() + 1, 0);
    }

    /// What there is to verify.
    void launch_draft() const {
        const view_type in = view();
        in.change(begin_round{Drafter::shown});
        drafter_.launch(in);
        in.change(begin_verification{});
    }

    /// What is kept of it, by the target's rows: after the last committed token, and after each that is drafted. There
    /// may be more of them.
    void launch_verdict(const float* logits, std::size_t rows) const {
        const view_type in = view();
        const rows_view viewed{logits, rows, sizes_.vocabulary};
        if (target_signals_) target_signals_->scan(logits, rows);
        const rows_view of = edits_.edited(viewed, text_.data(), in.state, false);
        const auto proposed = drafter_.chain(text_.data());
        const judge_round<state_type, Criterion, std::remove_cv_t<decltype(proposed)>> judge{
            {criterion_, proposed, weighed_.prepare(of), 0, 0, 0, decided_.data()}, in.state};
        on_.launch(judge.blocks(), judge);
    }
    void launch_commit() const {
        view().change(commit_round{decided_.data(),
                                   target_signals_ ? target_signals_->rows() : nullptr,
                                   text_.data(),
                                   edits_.counts(),
                                   {words_.data(), words_.data() + 1, notes_.data(), tokens_.data()}});
    }

    view_type view() const { return {on_, state_.data(), text_.data(), weighed_, edits_}; }
    const Drafter& drafter() const { return drafter_; }
    const Policy& initial_policy() const { return policy_; }
    const Criterion& criterion() const { return criterion_; }
    /// Of a launch of the target.
    std::size_t most_rows() const { return most_verified(sizes_.most_drafted); }

    /// See speculation_loop.
    std::size_t rounds() const { return published(words_.data()); }
    const round_note& note(std::size_t round) const { return notes_.data()[round]; }
    const token* tokens() const { return tokens_.data(); }
    void cancel() const { publish(words_.data() + 1, 1); }
    bool idle() const { return on_.idle(); }
    Policy policy() const {
        state_type s{.policy = policy_};
        on_.download(&s, state_.data(), sizeof s);
        return s.policy;
    }

 private:
    static constexpr bool sees_target =
        includes(signals_of<Policy>, signals::target_entropy | signals::target_confidence);

    S on_;
    loop_sizes sizes_;
    Policy policy_;
    Criterion criterion_;
    Drafter drafter_;
    weighed_rows<S> weighed_;
    loop_edits<S> edits_;
    std::optional<row_scanner<S>> target_signals_;  ///< where the policy looks at them
    buffer<token, S> text_;                         ///< committed tokens, then drafted ones
    buffer<state_type, S> state_;
    buffer<chain_verdict, S> decided_;
    shared_buffer<std::uint32_t, S> words_;
    shared_buffer<round_note, S> notes_;
    shared_buffer<token, S> tokens_;
};

/// What a loop launches, all rounds at once or one, and its recordings, made when they are first needed.
template <ControllingSystem S>
class loop_launcher {
 public:
    explicit loop_launcher(const S& on) : on_(on) {}

    /// See speculation_loop::launch: `round()` launches one, as long as *running is not 0.
    template <class Round>
    void launch(bool whole, bool recorded, const std::uint32_t* running, const Round& round) {
        const auto run = [&] {
            if (!whole) return round();
            on_.repeat_while(running, round);
        };
        if (!recorded || !on_.records() || !on_.controls() || !refusal_.empty()) return run();
        auto& kept = whole ? whole_ : one_;
        if (kept.empty()) {
            try {
                kept.push_back(on_.record(run));
            } catch (const error& refused) {
                refusal_ = std::string("rounds are not recorded, but launched one by one: ") + refused.what();
                return run();
            }
        }
        on_.replay(kept.front());
    }
    const std::string& refusal() const { return refusal_; }

 private:
    S on_;
    std::vector<typename S::recording> whole_, one_;
    std::string refusal_;
};

}  // namespace augur::decode::device
