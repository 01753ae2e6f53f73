#pragma once
// The online trainer: trains a head on the rounds that it drafts in. See docs/train/trainer.md.

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>

#include "augur/detail/stopwatch.hpp"
#include "augur/draft/own_sequence.hpp"
#include "augur/train/checkpoint.hpp"
#include "augur/train/learner.hpp"
#include "augur/train/replay.hpp"
#include "augur/train/replay_file.hpp"
#include "augur/train/sequence_states.hpp"
#include "augur/train/trainable.hpp"
#include "augur/train/trainer_options.hpp"
#include "augur/types/error.hpp"

namespace augur::train {

/// Keeps training examples from rounds, and updates the head that drafts: a state_head& of draft::self_speculation,
/// draft_heads& of draft::heads, or another Trainable. It is told by a watcher, heads by a heads_watcher.
/// The head changes in show(), committed() and publish() only, which are called between rounds: inside a round weights
/// are constant, so that whatever law the scheme promises, it keeps (tests/train/watcher.cpp). With `background`, a
/// thread makes updates on a copy, and publish() swaps parameters: O(1). One thread decodes; no other but the
/// trainer's own may use it. With `idle`, updates wait for catch_up(), which is called between texts; the share then
/// bounds what keeping takes. The share is kept by not learning: an update is due only where, with what one is expected
/// to take, learning stays within it, so that it is exceeded by one update at most. Keeping samples counts, too; show()
/// passes over whole rounds where that would take more than half of the share.
/// Memory: the ring's; the learned parameters ten times (three heads, moments, gradient, a step's old ones and new, and
/// its new moments); per update the batch's logits four times. Of a head that attends also the states of
/// replay_options::past positions, text by text, and per update a copy of up to four texts and their keys and values.
template <Trainable Head>
class trainer {
 public:
    using head_type = Head;
    using scalar = typename Head::scalar;
    using checkpoint_type = checkpoint<scalar, typename Head::options_type>;

    /// Refers to the head, which must outlive it.
    trainer(head_type& head, trainer_options chosen)
        : head_(head),
          options_(with_context(std::move(chosen), head)),
          index_(head.tokens(), head.vocabulary_size()),
          replay_(head.hidden_size(), head.vocabulary_size(), options_.replay, head.tokens()),
          sequences_(head.hidden_size(), options_.replay.past),
          learner_(head, options_.losses, options_.steps),
          ready_(head) {
        check(options_);
        if (!options_.clock) options_.clock = [watch = detail::stopwatch()] { return watch.seconds(); };
        if (options_.background) worker_ = std::thread([this] { work(); });
    }
    trainer(const trainer&) = delete;
    trainer& operator=(const trainer&) = delete;
    ~trainer() {
        if (!worker_.joinable()) return;
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        wakes_.notify_one();
        worker_.join();
    }

    const trainer_options& options() const { return options_; }
    const head_type& drafts() const { return head_; }  ///< the head that drafts

    /// One position of the round that is over.
    void add(const sample& of) {
        const double start = options_.clock();
        const std::lock_guard lock(mutex_);
        if (replay_.add(of)) rewards_.see(of.bit, options_.losses.baseline_decay);
        const double took = options_.clock() - start;
        keeping_ += took;
        training_ += took;
    }

    /// The round committed so many tokens in so many seconds: updates, or lets the thread do so, if one is due, and
    /// publishes. Throws what ended the thread.
    void committed(std::size_t tokens, double seconds) {
        bool due = false;
        {
            const std::lock_guard lock(mutex_);
            tokens_ += tokens;
            waiting_ += tokens;
            decoding_ += seconds;
            due = is_due();
        }
        if (due && options_.background) wakes_.notify_one();
        if (due && !options_.background) update();
        publish();
    }

    /// A round of a chain, and the states that its rows were guessed from: hidden_size() numbers for each drafted
    /// token, in order, and perhaps for the row after them. Of a head that attends also its text, with all positions
    /// that the round began with or accepted; what was drafted after a rejection trains nothing then, for its text
    /// does not go on.
    template <class View>
    void show(const View& view, std::span<const float> states, const draft::shown_sequence& text = {}) {
        const std::size_t width = head_.hidden_size(), drafted = view.decided.drafted;
        if (!view.proposed.is_chain()) detail::fail("trainer: it learns from chains, but was shown a tree");
        const auto tokens = view.proposed.tokens();
        const auto& took = view.seconds;
        const double seconds = took.draft + took.verify + took.accept + took.other;
        const std::size_t most = attends ? view.decided.accepted + 1 : drafted + 1;
        const std::size_t shown = affords(seconds) ? std::min(states.size() / width, most) : 0;
        if (attends && shown > 0) keep(text, view.length_before - 1, view.length_before - 1 + shown);
        for (std::size_t i = 0; i < shown; ++i) {
            const accept_bit bit = i < view.decided.accepted                   ? accept_bit::accepted
                                   : i == view.decided.accepted && i < drafted ? accept_bit::rejected
                                                                               : accept_bit::unknown;
            add({states.subspan(i * width, width),
                 view.rows[i],
                 i < drafted ? tokens[i] : no_token,
                 bit,
                 view.length_before + i,
                 0,
                 {},
                 false,
                 text.number});
        }
        committed(view.committed.size(), seconds);
    }

    /// One update now, whatever time it takes; published by publish(). False where there are too few samples, or the
    /// gradient was dropped. Refused while a thread makes updates.
    bool update() {
        if (options_.background) detail::fail("trainer: a background thread makes the updates");
        std::unique_lock lock(mutex_);
        return replay_.size() >= options_.least && learn(lock);
    }

    /// With `idle`: the updates that waited, one for every `every` tokens since the last, whatever time they take.
    /// `stop`, if there is one, is asked before each. Publishes; returns how many were made, dropped ones among them.
    std::size_t catch_up(const std::function<bool()>& stop = {}) {
        if (!options_.idle) detail::fail("trainer: updates are made during rounds, none is pending");
        std::size_t updates = 0;
        for (std::unique_lock lock(mutex_); waiting_ >= options_.every && replay_.size() >= options_.least; ++updates) {
            if (stop && stop()) break;
            learn(lock, waiting_ - options_.every);
        }
        publish();
        return updates;
    }

    /// The numbers of the last update become the head's. Returns whether there were new ones.
    bool publish() {
        const std::lock_guard lock(mutex_);
        if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
        if (!is_ready_) return false;
        head_.swap(ready_);
        is_ready_ = false;
        rewards_.drawn = 0;
        return true;
    }

    diagnostics report() const {
        const std::lock_guard lock(mutex_);
        diagnostics now = last_;
        now.samples = replay_.size();
        now.accepted = replay_.accepted();
        now.refused = replay_.refused();
        now.replay_bytes = replay_.memory_bytes();
        now.tokens = tokens_;
        now.acceptance = rewards_.acceptance;
        now.training_seconds = training_;
        now.decoding_seconds = decoding_;
        return now;
    }

    /// All that is needed to go on; waits for an update that is being made.
    checkpoint_type state() {
        const std::lock_guard pause(learning_);
        const std::lock_guard lock(mutex_);
        const auto& optimizer = learner_.optimizer();
        const auto tokens = head_.tokens();
        reward_average rewards = rewards_;
        rewards.drawn = drawn_by_learner();
        return {head_.options(),
                {tokens.begin(), tokens.end()},
                learner_.head().values(),
                optimizer.first(),
                optimizer.second(),
                optimizer.steps(),
                optimizer.dropped(),
                waiting_,
                tokens_,
                rewards};
    }
    /// Goes on from there; the head follows at once. Throws, with both values and where it is from, and changes
    /// nothing, where it was of a head of other options or tokens.
    void restore(const checkpoint_type& from, const std::string& origin = "checkpoint") {
        const std::lock_guard pause(learning_);
        const std::lock_guard lock(mutex_);
        from.check(head_, origin);
        learner_.restore(from.values, from.first, from.second, from.steps, from.dropped, from.then());
        head_.assign(from.values);
        is_ready_ = false;
        rewards_ = from.rewards;
        waiting_ = from.waiting;
        tokens_ = from.served;
        last_ = learner_.last();
        drawn_ = from.steps + from.dropped;
    }

    void save_replay(const std::filesystem::path& path, const state_identity& whose,
                     unfinished_files* seen = nullptr) const {
        const std::lock_guard lock(mutex_);
        replay_file::save(replay_, path, whose, seen);
    }
    void restore_replay(const std::filesystem::path& path, const state_identity& here) {
        const std::lock_guard lock(mutex_);
        replay_file::restore(replay_, path, here, heads());
    }

    /// Whether the positions of a round that took so long may be kept: not where keeping them takes more than half of
    /// the share.
    bool affords(double seconds) const {
        const std::lock_guard lock(mutex_);
        return within(keeping_, options_.share / 2, decoding_ + seconds);
    }

 private:
    static constexpr bool attends = draft::AttendingHead<Head>;
    static constexpr std::size_t default_past = 16384;

    static trainer_options with_context(trainer_options chosen, const head_type& head) {
        chosen.replay.context = head.context_size();
        if (!attends) chosen.replay.past = 0;
        if (attends && chosen.replay.past == 0) chosen.replay.past = default_past;
        return chosen;
    }
    void keep(const draft::shown_sequence& text, std::size_t sure, std::size_t count) {
        const double start = options_.clock();
        const std::lock_guard lock(mutex_);
        sequences_.show(text, sure, count);
        const double took = options_.clock() - start;
        keeping_ += took;
        training_ += took;
    }
    std::size_t heads() const {
        if constexpr (requires { head_.head_count(); }) return head_.head_count();
        return replay::most_heads + 1;
    }
    /// An unbounded share allows what it takes in no time, too: infinity times 0 is no number.
    static bool within(double spent, double share, double time) { return std::isinf(share) || spent <= share * time; }
    bool is_due() const {
        return !options_.idle && waiting_ >= options_.every && replay_.size() >= options_.least &&
               within(training_ + expected_, options_.share, decoding_);
    }

    /// The lock is held when it is called and when it returns, not while it computes. `left`: tokens that still wait.
    bool learn(std::unique_lock<std::mutex>& lock, std::size_t left = 0) {
        const double start = options_.clock();
        const std::size_t waited = std::exchange(waiting_, left) - left, drawn_before = drawn_;
        const progress now{last_.updates, tokens_ - left, rewards_.acceptance};
        const double baseline_before = rewards_.baseline;
        bool applied = false;
        try {
            const batch<scalar> drawn = draw(now);
            if (drawn.examples.empty()) return false;
            const double baseline = rewards_.begin_update();
            lock.unlock();
            const std::lock_guard busy(learning_);
            std::optional<head_type> next;
            applied = learner_.update(drawn, baseline, now, &next);
            lock.lock();
            last_ = learner_.last();
            if (applied) ready_.swap(*next);
        } catch (...) {  // nothing was learned: the update is due again
            if (!lock.owns_lock()) lock.lock();
            waiting_ += waited;
            drawn_ = drawn_before;
            rewards_.baseline = baseline_before;
            throw;
        }
        is_ready_ = is_ready_ || applied;
        last_.update_seconds = options_.clock() - start;
        training_ += last_.update_seconds;
        expected_ = expected_ == 0 ? last_.update_seconds : std::lerp(expected_, last_.update_seconds, 0.25);
        return applied;
    }

    batch<scalar> draw(const progress& now) {
        const schedule& plan = options_.losses.schedule;
        rewards_.above = plan.band.above(now.acceptance, rewards_.above);
        const std::size_t update = drawn_++, warm_up = plan.accepted_after(rewards_.above);
        std::vector<std::size_t> slots;
        if constexpr (attends) {
            slots = draw_with_sequences(replay_, sequences_, options_.batch, update, warm_up);
        } else {
            slots = replay_.draw(options_.batch, update, warm_up);
        }
        auto drawn = batch_of<scalar>(replay_, slots, index_, plan.temperature_at(now));
        if constexpr (attends) ask_with_sequences(replay_, slots, sequences_, drawn.asked);
        if (options_.losses.policy == policy_kind::reinforce) forget_bits(replay_, slots, drawn_by_learner(), drawn);
        return drawn;
    }

    /// Positions that the present numbers drew: none while the head drafts by those before.
    std::size_t drawn_by_learner() const { return is_ready_ ? 0 : rewards_.drawn; }

    void work() {
        std::unique_lock lock(mutex_);
        while (!ends_) {
            wakes_.wait(lock, [this] { return ends_ || is_due(); });
            if (ends_) return;
            try {
                learn(lock);
            } catch (...) {
                if (!lock.owns_lock()) lock.lock();
                problem_ = std::current_exception();
                return;
            }
        }
    }

    head_type& head_;
    trainer_options options_;
    class_index index_;
    std::mutex learning_;       ///< held by who uses learner_; taken before mutex_
    mutable std::mutex mutex_;  ///< of everything below
    replay replay_;
    sequence_states sequences_;
    learner<Head> learner_;
    head_type ready_;
    diagnostics last_;
    reward_average rewards_;
    double keeping_ = 0, training_ = 0, decoding_ = 0;
    double expected_ = 0;  ///< seconds of an update
    std::size_t tokens_ = 0, waiting_ = 0, drawn_ = 0;
    bool is_ready_ = false, ends_ = false;
    std::exception_ptr problem_;
    std::condition_variable wakes_;
    std::thread worker_;
};

}  // namespace augur::train
