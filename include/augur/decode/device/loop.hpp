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
#include "augur/decode/device/loop_edits.hpp"
#include "augur/decode/device/loop_state.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/transform/pipeline.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::decode::device {

using namespace backend::device;  // what kernels are made of

/// One sequence whose text lies in the memory of a ControllingSystem:
///   `launch(text, first, count, last)`  launches, and nothing else, the last rows of the tokens from *first to
///                                       *first + count - 1;
///   `logits()`                          where these are;
///   `fill(text, count)`                 keys and values of the text's first tokens;
///   `capacity()`, `most_rows()` of a launch, `vocabulary_size()`, `system()`.
/// Law: rows are those of a Model that is extended by the same text; `bitwise_rows` says what it says there. Models:
/// llama::device::resident.
template <class M>
concept ResidentModel = requires(const M& model, const token* text, const std::uint32_t* first, std::size_t count) {
    requires ControllingSystem<std::remove_cvref_t<decltype(model.system())>>;
    { model.vocabulary_size() } -> std::convertible_to<std::size_t>;
    { model.capacity() } -> std::convertible_to<std::size_t>;
    { model.most_rows() } -> std::convertible_to<std::size_t>;
    model.launch(text, first, count, count);
    model.fill(text, count);
    { model.logits() } -> std::same_as<const float*>;
};

/// How a loop is launched.
enum class loop_as {
    whole,    ///< all rounds at once; recorded, where the system's recordings can repeat
    rounds,   ///< a round at a time; recorded, where they can repeat
    launches  ///< a launch at a time, the host reading what decides
};

/// Speculative decoding of one text, on the system that both models are on (the same stream, on CUDA). Each run resets
/// it. Effect: the criterion's; decode::generate's text and rounds with the same models, policy, criterion, settings
/// and seed, and with philox_chooser (docs/decode/device.md). The policy sees rows of at most `most_drafted` tokens,
/// and a millisecond for every time. Memory is taken at construction; a round allocates nothing, waits for nothing and
/// copies 16 bytes and its tokens to the host. Refused: a mask, capacities and vocabularies that differ, and what the
/// criterion's own check refuses.
template <ResidentModel Target, ResidentModel Draft, KernelPolicy Policy, KernelCriterion Criterion>
class speculation_loop {
 public:
    using system_type = std::remove_cvref_t<decltype(std::declval<const Target&>().system())>;
    using policy_type = Policy;
    using guarantee = guarantee_on_rows_of<Target, typename Criterion::guarantee>;
    using state_type = loop_state<Policy>;

    /// The models must outlive it. most_drafted: 0 to what the models take in a launch, less one.
    speculation_loop(const Target& target, const Draft& draft, Policy policy, Criterion criterion,
                     const transform::settings& chosen, std::size_t most_drafted)
        : on_(target.system()),
          target_(target),
          draft_(draft),
          policy_(policy),
          criterion_(criterion),
          most_drafted_(most_drafted),
          weighed_(on_, chosen, vocabulary_size(), most_verified()),
          edits_(on_, chosen, vocabulary_size(), most_verified()) {
        check(chosen);
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
        s.draft_limit = static_cast<std::uint32_t>(draft_.capacity());
        s.most_drafted = static_cast<std::uint32_t>(most_drafted_);
        s.running = 1;
        s.stop_count = static_cast<std::uint32_t>(std::min(stops.size(), state_type::most_stops));
        std::copy_n(stops.begin(), s.stop_count, s.stops);
        s.held = s.length - 1;
        on_.upload(text_.data(), prompt.data(), prompt.size_bytes());
        edits_.start(prompt);
        target_.fill(text_.data(), prompt.size() - 1);
        const bool drafts = most_drafted_ > 0 && prompt.size() <= draft_.capacity();
        if (drafts) draft_.fill(text_.data(), prompt.size() - 1);
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

    using drawing = typename augur::detail::drawing_for<Criterion>::type;
    static constexpr bool claims_rows = std::is_same_v<typename drawing::claim_type, distribution>;
    using chain_type = std::conditional_t<claims_rows, drawn_chain, certain_chain>;
    static constexpr bool sees_draft = policy::length_query<Policy>::looks_at_row(0);
    static constexpr bool sees_target =
        includes(signals_of<Policy>, signals::target_entropy | signals::target_confidence);

    void check(const transform::settings& chosen) const {
        accept::check(criterion_, chosen);
        augur::detail::check_same_vocabulary("draft and target", "the draft", draft_, "the target", target_);
        const std::size_t rows = most_verified();
        if (target_.most_rows() < rows || (most_drafted_ > 0 && draft_.most_rows() < 2)) {
            augur::detail::fail("drafts of ", most_drafted_, " tokens need launches of ", rows,
                                " rows of the target and 2 of the draft, but they take ", target_.most_rows(), " and ",
                                draft_.most_rows());
        }
        if (draft_.capacity() > capacity()) {
            augur::detail::fail("the draft's text has room for ", draft_.capacity(), " tokens, the target's for ",
                                capacity());
        }
    }

    void take_memory() {
        const std::size_t size = vocabulary_size();
        text_ = buffer<token, system_type>(on_, capacity() + most_verified());
        on_.clear(text_.data(), text_.memory_bytes());  // rows beyond the text's end are of some token, too
        state_ = buffer<state_type, system_type>(on_, 1);
        decided_ = buffer<chain_verdict, system_type>(on_, 1);
        if (sees_draft) draft_signals_.emplace(on_, size, 1);
        if (sees_target) target_signals_.emplace(on_, size, most_verified());
        weights_ = buffer<float, system_type>(on_, claims_rows ? most_drafted_ * size : 0);
        totals_ = buffer<double, system_type>(on_, claims_rows ? most_drafted_ : 0);
        words_ = shared_buffer<std::uint32_t, system_type>(on_, 2);
        notes_ = shared_buffer<round_note, system_type>(on_, capacity());
        tokens_ = shared_buffer<token, system_type>(on_, capacity());
        words_.data()[0] = words_.data()[1] = 0;
    }

    /// Rows of the longest launch of the target.
    std::size_t most_verified() const { return std::bit_ceil(most_drafted_ + 1); }

    void round() const {
        state_type* const s = state_.data();
        change(begin_round{});
        if (most_drafted_ > 0) {
            on_.repeat_while(&s->behind, [&] {
                draft_.launch(text_.data(), &s->held, 1, 0);
                change(catch_up{});
            });
            on_.repeat_while(&s->wants_more, [&] { draft(); });
        }
        change(begin_verification{});
        const auto buckets = static_cast<std::uint32_t>(std::bit_width(most_verified()));
        on_.choose(&s->bucket, buckets, [&](std::uint32_t bucket) { verify(std::size_t{1} << bucket); });
        change(commit_round{decided_.data(),
                            target_signals_ ? target_signals_->rows() : nullptr,
                            text_.data(),
                            edits_.counts(),
                            {words_.data(), words_.data() + 1, notes_.data(), tokens_.data()}});
    }

    /// One token more, if the policy still wants it.
    void draft() const {
        state_type* const s = state_.data();
        on_.choose(&s->lag, 2, [&](std::uint32_t lag) { draft_.launch(text_.data(), &s->draft_from, 1 + lag, 1); });
        const rows_view made{draft_.logits(), 1, vocabulary_size()};
        const scanned_row* const seen = draft_signals_ ? draft_signals_->scan(made.logits, 1) : nullptr;
        const rows_view of = edits_.edited(made, text_.data(), s, true);
        const weighed_view row = weighed_.prepare(of);
        const kept_rows kept{weights_.data(), totals_.data()};
        if constexpr (claims_rows) {
            const keep_row<state_type> keep{s, row, kept};
            on_.launch(keep.blocks(), keep);
        }
        const draft_token<state_type, drawing> pick{s, drawing{}, row, seen, text_.data(), kept};
        on_.launch(pick.blocks(), pick);
    }

    void verify(std::size_t rows) const {
        state_type* const s = state_.data();
        target_.launch(text_.data(), &s->verify_from, rows, rows);
        const rows_view made{target_.logits(), rows, vocabulary_size()};
        if (target_signals_) target_signals_->scan(made.logits, rows);
        const rows_view of = edits_.edited(made, text_.data(), s, false);
        chain_type proposed;
        proposed.tokens = text_.data();
        if constexpr (claims_rows) {
            proposed.weights = weights_.data();
            proposed.totals = totals_.data();
        }
        const judge_round<state_type, Criterion, chain_type> judge{
            {criterion_, proposed, weighed_.prepare(of), 0, 0, 0, decided_.data()}, s};
        on_.launch(judge.blocks(), judge);
    }

    template <class Change>
    void change(const Change& by) const {
        on_.launch(1, change_state<state_type, Change>{state_.data(), by});
    }

    system_type on_;
    const Target& target_;
    const Draft& draft_;
    Policy policy_;
    Criterion criterion_;
    std::size_t most_drafted_;
    weighed_rows<system_type> weighed_;
    loop_edits<system_type> edits_;
    std::optional<row_scanner<system_type>> draft_signals_, target_signals_;  ///< where the policy looks at them
    buffer<token, system_type> text_;                                         ///< committed tokens, then drafted ones
    buffer<state_type, system_type> state_;
    buffer<chain_verdict, system_type> decided_;
    buffer<float, system_type> weights_;
    buffer<double, system_type> totals_;
    shared_buffer<std::uint32_t, system_type> words_;
    shared_buffer<round_note, system_type> notes_;
    shared_buffer<token, system_type> tokens_;
    std::vector<typename system_type::recording> whole_, one_;  ///< made when first needed
    std::string refusal_;
};

}  // namespace augur::decode::device
