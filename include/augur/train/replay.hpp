#pragma once
// The experience replay buffer: training examples in a ring of fixed memory. See docs/train/replay.md.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "augur/detail/largest.hpp"
#include "augur/detail/listed.hpp"
#include "augur/measure/entropy.hpp"
#include "augur/random/philox.hpp"
#include "augur/train/matrix.hpp"
#include "augur/train/training_example.hpp"
#include "augur/types/error.hpp"
#include "augur/types/token.hpp"

namespace augur::train {

/// One position of a round, as it is shown.
struct sample {
    std::span<const float> hidden;  ///< after the exit's layers
    std::span<const float> logits;  ///< the verifier's, before any transform
    token drafted = no_token;
    accept_bit bit = accept_bit::unknown;
    std::size_t position = 0;        ///< of the token that is guessed
    std::size_t head = 0;            ///< that guesses it, where there are several
    std::span<const token> after{};  ///< tokens after the state, which the head reads, too
    bool same_row = false;           ///< its logits are those of the sample that was added before
    std::uint64_t sequence = 0;      ///< of which it is (draft::shown_sequence), for heads that attend
};

/// One position, as it is kept.
struct kept_sample {
    std::span<const float> hidden;
    teacher_row row;
    float spread = 0;  ///< standard deviation of the verifier's finite logits, of the tokens that are measured
    token drafted = no_token;
    accept_bit bit = accept_bit::unknown;
    std::size_t position = 0, head = 0;
    std::span<const token> after{};  ///< options().context of them; no_token where there were fewer
    std::uint64_t sequence = 0;
};

struct replay_options {
    std::size_t capacity = 4096;       ///< positions; the oldest gives way
    std::size_t top = 64;              ///< of each row so many tokens are kept, and the mass of the others; 0: all
    bool accepted_only = false;        ///< sample accepted positions
    std::size_t least_accepted = 256;  ///< ... from so many on; of all positions before
    std::size_t whole_every = 4;       ///< ... but for every such update, which samples all; 0: none does
    std::size_t newest = 0;            ///< sample these alone (REINFORCE wants what its own head drew); 0: all
    std::size_t context = 0;           ///< tokens kept after each state
    std::size_t past = 0;  ///< positions whose states are kept text by text, for heads that attend (sequence_states)
    std::uint64_t seed = 0;

    /// Positions that an update can sample, at most.
    std::size_t most_sampled() const { return newest == 0 ? capacity : std::min(newest, capacity); }
    friend bool operator==(const replay_options&, const replay_options&) = default;
};

/// Memory: bytes_per_sample() times capacity, taken when it is made. add() costs four passes over the row; drawing is
/// O(count), with replacement, a pure function of seed, update and contents.
class replay {
 public:
    static constexpr std::size_t most_bytes = std::size_t{1} << 40, most_heads = 65535;

    /// `measured`: the tokens of whose logits the spread is kept, as those of a pruned head; empty: of all.
    replay(std::size_t width, std::size_t vocabulary, const replay_options& chosen,
           std::span<const token> measured = {})
        : options_(chosen), width_(width), vocabulary_(vocabulary), kept_(chosen.top == 0 ? vocabulary : chosen.top) {
        measured_.assign(measured.begin(), measured.end());
        gathered_.resize(measured.size());
        for (const token id : measured) {
            if (id >= 0 && static_cast<std::size_t>(id) < vocabulary) continue;
            detail::fail("replay: the spread of token ", id, " cannot be measured in a vocabulary of ", vocabulary);
        }
        constexpr std::size_t most_slots = std::numeric_limits<std::uint32_t>::max();
        if (chosen.capacity == 0 || chosen.capacity > most_slots) {
            detail::fail("replay: capacity is ", chosen.capacity, "; it must be between 1 and ", most_slots);
        }
        if (chosen.accepted_only && chosen.least_accepted > chosen.most_sampled()) {
            detail::fail("replay: least_accepted is ", chosen.least_accepted, ", but updates sample at most ",
                         chosen.most_sampled(), " positions (capacity ", chosen.capacity, ", newest ", chosen.newest,
                         "): accepted ones alone would never be sampled");
        }
        if (width == 0 || vocabulary == 0) {
            detail::fail("replay: hidden states of ", width, " numbers and a vocabulary of ", vocabulary,
                         "; both must be 1 or more");
        }
        if (kept_ > vocabulary) {
            detail::fail("replay: top is ", chosen.top, ", more than the vocabulary of ", vocabulary);
        }
        if (chosen.capacity > most_bytes / bytes_per_sample()) {
            detail::fail("replay: ", chosen.capacity, " samples of ", bytes_per_sample(), " bytes are more than ",
                         most_bytes);
        }
        try {
            take_memory();
        } catch (const std::bad_alloc&) {
            detail::fail("replay: there is no memory for ", chosen.capacity, " samples of ", bytes_per_sample(),
                         " bytes");
        }
    }

    const replay_options& options() const { return options_; }
    std::size_t width() const { return width_; }
    std::size_t vocabulary_size() const { return vocabulary_; }
    std::size_t size() const { return size_; }
    std::size_t accepted() const { return accepted_.size(); }
    /// Samples that were not finite, and were not kept.
    std::size_t refused() const { return refused_; }
    std::size_t bytes_per_sample() const {
        const std::size_t numbers = width_ + kept_ + (options_.top == 0 ? 0 : kept_) + options_.context;
        const std::size_t of_sequence = options_.past == 0 ? 0 : sizeof(std::uint64_t);
        return numbers * sizeof(float) + sizeof(mark) + sizeof(std::uint32_t) + of_sequence;
    }
    /// Without the states of texts.
    std::size_t memory_bytes() const { return bytes_per_sample() * options_.capacity; }

    /// Copies it over the oldest; with `same_row` the row is not read again. One whose state has a NaN or an infinity,
    /// or whose row is no row, is refused and counted. Throws for sizes that are not the ring's.
    bool add(const sample& of) {
        check(of);
        const auto finite = [](float value) { return std::isfinite(value); };
        mark marked{
            .position = of.position, .drafted = of.drafted, .bit = of.bit, .head = static_cast<std::uint16_t>(of.head)};
        const bool copies = of.same_row && follows_;
        double normalizer = 0;
        if (!std::all_of(of.hidden.begin(), of.hidden.end(), finite) ||
            !(copies || read(of.logits, marked, normalizer))) {
            follows_ = copies;
            ++refused_;
            return false;
        }
        forget(next_);
        std::copy(of.hidden.begin(), of.hidden.end(), hidden_.begin() + at(next_ * width_));
        const auto end = std::copy(of.after.begin(), of.after.end(), after_.begin() + at(next_ * options_.context));
        std::fill(end, after_.begin() + at((next_ + 1) * options_.context), no_token);
        copies ? repeat_row(marked) : keep_row(of.logits, normalizer, marked);
        follows_ = true;
        put(next_, marked);
        if (!sequences_.empty()) sequences_[next_] = of.sequence;
        next_ = (next_ + 1) % options_.capacity;
        size_ = std::min(size_ + 1, options_.capacity);
        return true;
    }

    /// The slot-th, in no order. Valid until the next add().
    kept_sample operator[](std::size_t slot) const {
        const mark& of = marks_[slot];
        const std::size_t from = slot * kept_;
        const auto tokens = tokens_.empty() ? std::span<const token>() : std::span(tokens_).subspan(from, of.listed);
        return {std::span(hidden_).subspan(slot * width_, width_),
                {tokens, std::span(logarithms_).subspan(from, of.listed), of.tail},
                of.spread,
                of.drafted,
                of.bit,
                static_cast<std::size_t>(of.position),
                of.head,
                std::span(after_).subspan(slot * options_.context, options_.context),
                sequences_.empty() ? 0 : sequences_[slot]};
    }

    /// How many were added after the slot-th.
    std::size_t age(std::size_t slot) const { return slot_of_age(slot); }  // which is its own inverse

    /// Whether an update samples accepted positions only.
    bool draws_accepted(std::size_t update, std::size_t warm_up) const {
        if (!options_.accepted_only || update < warm_up) return false;
        if (options_.whole_every != 0 && update % options_.whole_every == 0) return false;
        const auto count =
            options_.newest == 0
                ? accepted_.size()
                : static_cast<std::size_t>(std::ranges::count_if(accepted_, [&](auto slot) { return is_new(slot); }));
        return count != 0 && count >= options_.least_accepted;
    }

    /// Whether that update can sample the slot-th.
    bool may_draw(std::size_t slot, std::size_t update, std::size_t warm_up) const {
        if (!is_new(slot)) return false;
        return marks_[slot].bit == accept_bit::accepted || !draws_accepted(update, warm_up);
    }

    /// `count` slots for an update; none of an empty ring.
    std::vector<std::size_t> draw(std::size_t count, std::size_t update, std::size_t warm_up) const {
        std::vector<std::size_t> slots;
        const bool only = draws_accepted(update, warm_up);
        std::vector<std::uint32_t> new_ones;
        if (only && options_.newest != 0) {
            std::ranges::copy_if(accepted_, std::back_inserter(new_ones), [&](auto slot) { return is_new(slot); });
        }
        const auto& accepted = options_.newest == 0 ? accepted_ : new_ones;
        const std::size_t all = options_.newest == 0 ? size_ : std::min(options_.newest, size_);
        const std::size_t among = only ? accepted.size() : all;
        if (among == 0) return slots;
        const random::philox_key key{static_cast<std::uint32_t>(options_.seed),
                                     static_cast<std::uint32_t>(options_.seed >> 32)};
        for (std::size_t i = 0; i < count; ++i) {
            const auto words = random::philox4x32({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(update),
                                                   static_cast<std::uint32_t>(update >> 32), 1},
                                                  key);
            const auto picked =
                static_cast<std::size_t>(random::unit_interval(words[0], words[1]) * static_cast<double>(among));
            slots.push_back(only ? accepted[picked] : slot_of_age(picked));
        }
        return slots;
    }

    void clear() {
        accepted_.clear();
        size_ = next_ = 0;
        follows_ = false;
    }

 private:
    friend struct replay_file;

    struct mark {
        std::uint64_t position = 0;
        token drafted = no_token;
        std::uint32_t listed = 0;
        float tail = 0, spread = 0;
        std::uint32_t place = 0;  ///< among the accepted
        accept_bit bit = accept_bit::unknown;
        std::uint16_t head = 0;
    };
    static_assert(sizeof(mark) == 32, "it is written to files: no bytes between");

    std::size_t slot_of_age(std::size_t age) const { return (next_ + options_.capacity - 1 - age) % options_.capacity; }
    bool is_new(std::size_t slot) const { return options_.newest == 0 || age(slot) < options_.newest; }

    void take_memory() {
        hidden_.resize(options_.capacity * width_);
        logarithms_.resize(options_.capacity * kept_);
        if (options_.top != 0) tokens_.resize(options_.capacity * kept_);
        after_.resize(options_.capacity * options_.context, no_token);
        marks_.resize(options_.capacity);
        if (options_.past != 0) sequences_.resize(options_.capacity);
        accepted_.reserve(options_.capacity);
    }

    static std::ptrdiff_t at(std::size_t of) { return static_cast<std::ptrdiff_t>(of); }

    void check(const sample& of) const {
        if (of.hidden.size() != width_ || of.logits.size() != vocabulary_) {
            detail::fail("replay: a sample of ", of.hidden.size(), " numbers and ", of.logits.size(),
                         " logits, but it holds those of ", width_, " and ", vocabulary_);
        }
        if (of.after.size() > options_.context) {
            detail::fail("replay: a sample with ", of.after.size(), " tokens after its state, but it holds ",
                         options_.context);
        }
        if (of.head > most_heads) detail::fail("replay: a sample of head ", of.head, ", more than ", most_heads);
    }

    /// The row's spread and the logarithm of its sum; false where it has none.
    bool read(std::span<const float> logits, mark& marked, double& normalizer) {
        const measure::softmax_moments of = measure::moments(logits);
        if (!of.defined()) return false;
        augur::detail::gather(logits, measured_, gathered_.data());
        marked.spread = spread_of(measured_.empty() ? logits : std::span<const float>(gathered_), of.maximum);
        normalizer = of.log_sum();
        return true;
    }

    void keep_row(std::span<const float> logits, double normalizer, mark& marked) {
        float* const out = logarithms_.data() + next_ * kept_;
        const auto logarithm = [&](std::size_t id) {
            return static_cast<float>(static_cast<double>(logits[id]) - normalizer);
        };
        if (options_.top == 0) {
            marked.listed = static_cast<std::uint32_t>(vocabulary_);
            for (std::size_t i = 0; i < vocabulary_; ++i) out[i] = logarithm(i);
            return;
        }
        detail::largest_of(logits, kept_, largest_);
        double mass = 0;
        marked.listed = static_cast<std::uint32_t>(largest_.size());
        for (std::size_t i = 0; i < largest_.size(); ++i) {
            tokens_[next_ * kept_ + i] = largest_[i];
            out[i] = logarithm(static_cast<std::size_t>(largest_[i]));
            mass += std::exp(static_cast<double>(out[i]));
        }
        marked.tail = largest_.size() < kept_ || kept_ == vocabulary_ ? 0 : static_cast<float>(std::max(0.0, 1 - mass));
    }

    /// The row of the sample before, which may lie in this very slot.
    void repeat_row(mark& marked) {
        const std::size_t before = (next_ + options_.capacity - 1) % options_.capacity;
        const mark& of = marks_[before];
        marked.listed = of.listed;
        marked.tail = of.tail;
        marked.spread = of.spread;
        if (before == next_) return;
        std::copy_n(logarithms_.begin() + at(before * kept_), of.listed, logarithms_.begin() + at(next_ * kept_));
        if (tokens_.empty()) return;
        std::copy_n(tokens_.begin() + at(before * kept_), of.listed, tokens_.begin() + at(next_ * kept_));
    }

    void put(std::size_t slot, mark marked) {
        if (marked.bit == accept_bit::accepted) {
            marked.place = static_cast<std::uint32_t>(accepted_.size());
            accepted_.push_back(static_cast<std::uint32_t>(slot));
        }
        marks_[slot] = marked;
    }
    /// Takes a slot that is to be written over out of the accepted ones.
    void forget(std::size_t slot) {
        if (slot >= size_ || marks_[slot].bit != accept_bit::accepted) return;
        const std::uint32_t place = marks_[slot].place, last = accepted_.back();
        accepted_[place] = last;
        marks_[last].place = place;
        accepted_.pop_back();
    }

    replay_options options_;
    std::size_t width_, vocabulary_, kept_;
    std::vector<float> hidden_, logarithms_, gathered_;
    std::vector<token> measured_, tokens_, after_;
    std::vector<mark> marks_;
    std::vector<std::uint64_t> sequences_;  ///< of each slot, where they matter
    std::vector<std::uint32_t> accepted_;
    std::vector<std::int32_t> largest_;
    std::size_t next_ = 0, size_ = 0, refused_ = 0;
    bool follows_ = false;  ///< the sample added last left its row in the slot before
};

}  // namespace augur::train
