#pragma once
// A model whose sequences a thread of their own runs ahead of what is asked for.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "augur/detail/owned_or_borrowed.hpp"
#include "augur/model/concepts.hpp"
#include "augur/model/limits.hpp"
#include "augur/model/same_vocabulary.hpp"
#include "augur/types/error.hpp"
#include "augur/types/scores.hpp"
#include "augur/types/token.hpp"

namespace augur::model {

/// Of tokens that were run before they were asked for.
struct ahead_counts {
    std::size_t run = 0;   ///< by the thread
    std::size_t used = 0;  ///< of these, whose rows were asked for, or whose place in the sequence was
};

/// One owner calls its members. Between begin() and the next of them but length() and counts() the thread extends the
/// sequence and keeps the rows; what is asked for then and is there is not computed again, and what is there and not
/// asked for is taken back. Where the model throws in the thread, it is asked again when the rows are.
/// The model must outlive it, and be able to extend this sequence while others do with others what they do.
template <Model M>
class ahead_lane {
 public:
    explicit ahead_lane(const M& model)
        : model_(&model), sequence_(model.make_sequence()), row_size_(model.vocabulary_size()) {}
    ahead_lane(const ahead_lane&) = delete;
    ahead_lane& operator=(const ahead_lane&) = delete;
    ~ahead_lane() {
        stopping_ = true;
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
        }
        changed_.notify_all();
        if (thread_.joinable()) thread_.join();
    }

    /// Tokens that were asked for.
    std::size_t length() const { return length_; }
    ahead_counts counts() const { return counts_; }

    /// As the model's; the rows last until it is extended again.
    scores extend(std::span<const token> tokens, std::size_t last) {
        stop();
        const auto there = static_cast<std::size_t>(
            std::mismatch(tokens.begin(), tokens.end(), tokens_.begin(), tokens_.end()).first - tokens.begin());
        if (there < tokens.size()) cut(there);
        const std::size_t lacking = tokens.size() - there, of_lacking = std::min(last, lacking);
        rows_.reserve(last * row_size_);
        computed_.reserve(of_lacking * row_size_);
        last_row_.reserve(row_size_);  // from here on only the model throws
        if (lacking > 0) run(tokens.subspan(there), of_lacking, computed_);
        rows_.clear();
        const std::size_t kept = last - of_lacking;
        const auto first = rows_ahead_.begin() + offset(there - kept);
        rows_.insert(rows_.end(), first, first + offset(kept));
        rows_.insert(rows_.end(), computed_.begin(), computed_.end());
        if (last > 0) last_row_.assign(rows_.end() - offset(1), rows_.end());
        if (last == 0) last_row_.clear();
        tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(there));
        rows_ahead_.erase(rows_ahead_.begin(), rows_ahead_.begin() + offset(there));
        computed_.clear();
        length_ += tokens.size();
        counts_.used += there;
        return scores(rows_.data(), last, row_size_);
    }

    void truncate(std::size_t length) {
        if (length > length_) {
            augur::detail::fail("a sequence of ", length_, " tokens was truncated to ", length, ", which is more");
        }
        if (length == length_) return;
        stop();
        cut(0);
        model_->truncate(sequence_, length);
        length_ = length;
        last_row_.clear();
    }

    /// Begins to run these tokens, and after them the likeliest one by the row before it, `most` tokens in all or as
    /// many as the context holds.
    void begin(std::span<const token> tokens, std::size_t most) {
        stop();
        const std::size_t there = std::min(tokens.size(), tokens_.size());
        const bool goes_on =
            std::equal(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(there), tokens_.begin());
        if (!goes_on) cut(0);
        most_ = std::min(most, model_->context_length() - length_);
        if (most_ < tokens.size() || tokens_.size() >= most_) return;
        asked_.assign(tokens.begin() + static_cast<std::ptrdiff_t>(tokens_.size() == 0 ? 0 : there), tokens.end());
        tokens_.reserve(most_);
        rows_ahead_.reserve(most_ * row_size_);
        if (!has_thread()) return;
        stopping_ = false;
        {
            const std::lock_guard lock(mutex_);
            running_ = true;
        }
        changed_.notify_all();
    }

 private:
    /// Where the system has none left, nothing is run ahead.
    bool has_thread() {
        try {
            if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
        } catch (const std::system_error&) {
        }
        return thread_.joinable();
    }

    std::ptrdiff_t offset(std::size_t rows) const { return static_cast<std::ptrdiff_t>(rows * row_size_); }

    /// Appends `last` rows. Where the model throws the sequence is as before.
    void run(std::span<const token> tokens, std::size_t last, std::vector<float>& rows) {
        const auto add = [&](const auto& made) {
            for (std::size_t i = made.size() - last; i < made.size(); ++i) {
                const logit_row row = made[i];
                rows.insert(rows.end(), row.begin(), row.end());
            }
        };
        const std::size_t before = rows.size(), length = model_->length(sequence_);
        try {
            if constexpr (ScoresLastRows<M>) {
                add(model_->extend(sequence_, tokens, last));
            } else {
                add(model_->extend(sequence_, tokens));
            }
        } catch (...) {
            rows.resize(before);
            if (model_->length(sequence_) != length) model_->truncate(sequence_, length);
            throw;
        }
    }

    /// The thread rests, and what it did is the owner's to see.
    void stop() {
        stopping_ = true;
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return !running_; });
        counts_.run += run_;
        run_ = 0;
    }

    /// Takes back all but the first `kept` tokens that were run ahead.
    void cut(std::size_t kept) {
        if (tokens_.size() <= kept) return;
        tokens_.resize(kept);
        rows_ahead_.resize(kept * row_size_);
        model_->truncate(sequence_, length_ + kept);
    }

    void work() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return running_ || ended_; });
            if (ended_) return;
            lock.unlock();
            try {
                run_ahead();
            } catch (...) {  // as what was not asked for: it is thrown where it is
            }
            lock.lock();
            running_ = false;
            changed_.notify_all();
        }
    }

    void run_ahead() {
        while (!stopping_) {
            if (asked_.empty()) {
                const token next = likeliest();
                if (next == no_token || tokens_.size() >= most_) return;
                asked_.push_back(next);
            }
            run(asked_, asked_.size(), rows_ahead_);
            tokens_.insert(tokens_.end(), asked_.begin(), asked_.end());
            run_ += asked_.size();
            asked_.clear();
        }
    }

    /// By the last row that there is.
    token likeliest() const {
        const std::span<const float> all = tokens_.empty() ? std::span<const float>(last_row_) : rows_ahead_;
        const auto row = all.last(std::min(row_size_, all.size()));
        const auto best = std::max_element(
            row.begin(), row.end(), [](float a, float b) { return std::isnan(b) ? false : std::isnan(a) || a < b; });
        return best == row.end() || std::isnan(*best) ? no_token : static_cast<token>(best - row.begin());
    }

    const M* model_;
    sequence_t<M> sequence_;
    std::size_t row_size_;
    std::size_t length_ = 0;
    std::vector<token> tokens_;      // that the sequence holds behind them
    std::vector<float> rows_ahead_;  // one after each of these
    std::vector<float> last_row_;    // after the tokens that were asked for, where it was
    std::vector<float> rows_;        // of the last extend
    std::vector<float> computed_;    // storage
    std::vector<token> asked_;       // that are run next
    std::size_t most_ = 0;
    std::size_t run_ = 0;  // by the thread since it began
    ahead_counts counts_{};

    std::mutex mutex_;
    std::condition_variable changed_;
    std::atomic<bool> stopping_ = false;
    bool running_ = false, ended_ = false;
    std::thread thread_;
};

/// A model whose sequences can be run ahead of what is asked for, by a thread of each. Its rows are those of `Source`.
/// Refused: a model whose rows end where another of its sequences is run, which those threads would do unseen.
template <class Source>
class running_ahead {
 public:
    using model_type = typename augur::detail::owned_or_borrowed<Source>::type;
    static_assert(Model<model_type>);
    /// Const members of a sequence can be called from one thread at a time only.
    class sequence_type {
     public:
        explicit sequence_type(const model_type& model) : lane_(std::make_unique<ahead_lane<model_type>>(model)) {}
        ahead_lane<model_type>& lane() const { return *lane_; }

     private:
        std::unique_ptr<ahead_lane<model_type>> lane_;
    };
    static constexpr bool bitwise_rows = has_bitwise_rows<model_type>;

    explicit running_ahead(Source&& source) : model_(std::forward<Source>(source)) {
        if (!limits_of(model_.get()).rows_end_with_next_run) return;
        augur::detail::fail(
            "running_ahead: the model's rows end where another of its sequences is run (limits()), so that none "
            "can be run in a thread beside");
    }

    const model_type& model() const { return model_.get(); }
    std::size_t vocabulary_size() const { return model().vocabulary_size(); }
    std::size_t context_length() const { return model().context_length(); }
    std::string vocabulary_fingerprint() const { return augur::detail::vocabulary_fingerprint_of(model()); }
    pass_limits limits() const { return limits_of(model()); }

    sequence_type make_sequence() const { return sequence_type(model()); }
    std::size_t length(const sequence_type& sequence) const { return sequence.lane().length(); }
    scores extend(sequence_type& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens, tokens.size());
    }
    scores extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        return sequence.lane().extend(tokens, last);
    }
    void truncate(sequence_type& sequence, std::size_t length) const { sequence.lane().truncate(length); }

 private:
    augur::detail::owned_or_borrowed<Source> model_;
};

}  // namespace augur::model
