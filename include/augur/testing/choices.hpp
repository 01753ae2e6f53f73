#pragma once
// Random test inputs that shrink: whatever is built from choices shrinks with them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "augur/types/token.hpp"

namespace augur::testing {

/// A source of small numbers, either drawn from a seed or replayed. Inputs are built so that smaller numbers make
/// smaller inputs; a replay that is too short goes on with zeros. Equal seeds, equal numbers, on every machine.
class choices {
 public:
    explicit choices(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1), replays_(false) {}
    explicit choices(std::vector<std::size_t> numbers) : recorded_(std::move(numbers)) {}
    /// These numbers first, then those of the seed.
    choices(std::vector<std::size_t> first, std::uint64_t seed) : choices(seed) { recorded_ = std::move(first); }

    /// A number in [0, bound); the bound is at least 1.
    std::size_t below(std::size_t bound) {
        std::size_t number = 0;
        if (made_.size() < recorded_.size()) {
            number = std::min(recorded_[made_.size()], bound - 1);
        } else if (!replays_) {
            number = next() % bound;
        }
        made_.push_back(number);
        return number;
    }
    /// A number in [least, most].
    std::size_t between(std::size_t least, std::size_t most) { return least + below(most - least + 1); }
    /// One of several values, the first being the simplest.
    template <class T>
    T one_of(std::initializer_list<T> values) {
        return *(values.begin() + static_cast<std::ptrdiff_t>(below(values.size())));
    }

    std::vector<token> tokens(std::size_t shortest, std::size_t longest, std::size_t vocabulary) {
        std::vector<token> text(between(shortest, longest));
        for (token& t : text) t = static_cast<token>(below(vocabulary));
        return text;
    }

    /// What is being made of the numbers, in words: kept where somebody asked for notes before.
    template <class Words>
    void note(const Words& words) {
        if (takes_notes_) notes_ += (notes_.empty() ? "" : "; ") + words();
    }
    void take_notes() { takes_notes_ = true; }
    const std::string& notes() const { return notes_; }

    /// How far apart numbers may be that a law wants equal: rounding. More while a gross mistake is made smaller, so
    /// that no mere rounding takes its place.
    double tolerance() const { return tolerance_; }
    void tolerate(double difference) { tolerance_ = difference; }

    /// What was drawn so far: replaying it makes the same input.
    const std::vector<std::size_t>& made() const { return made_; }

 private:
    std::size_t next() {  // splitmix64
        state_ += 0x9E3779B97F4A7C15u;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
        return static_cast<std::size_t>((mixed ^ (mixed >> 31)) >> 16);
    }

    std::vector<std::size_t> recorded_;
    std::vector<std::size_t> made_;
    std::uint64_t state_ = 0;
    bool replays_ = true;
    double tolerance_ = 1e-12;
    bool takes_notes_ = false;
    std::string notes_{};
};

/// The smallest numbers found for which `fails(choices&)` still says true, starting from some that do: shorter first (a
/// half, a quarter, one), then each number lowered (to 0, to its half, by 1), then one dropped with the length that
/// counted it. At most `attempts` calls.
template <class Fails>
std::vector<std::size_t> shrink(std::vector<std::size_t> numbers, std::size_t attempts, const Fails& fails) {
    const auto keeps = [&](std::vector<std::size_t> candidate) {
        if (attempts == 0) return false;
        --attempts;
        choices from(candidate);
        if (!fails(from)) return false;
        numbers = std::move(candidate);
        return true;
    };
    const auto shorter = [&](std::size_t by) {
        return by > 0 && keeps({numbers.begin(), numbers.end() - static_cast<std::ptrdiff_t>(by)});
    };
    /// Without number i, where an earlier one is the length that counted it.
    const auto dropped = [&](std::size_t i) {
        for (std::size_t length = 0; length < i; ++length) {
            if (numbers[length] == 0) continue;
            std::vector<std::size_t> candidate = numbers;
            --candidate[length];
            candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(i));
            if (keeps(std::move(candidate))) return true;
        }
        return false;
    };
    const auto lower = [&](std::size_t at, std::size_t to) {
        std::vector<std::size_t> candidate = numbers;
        candidate[at] = to;
        return keeps(std::move(candidate));
    };
    for (bool progress = true; progress && attempts > 0;) {
        progress = shorter(numbers.size() / 2) || shorter(numbers.size() / 4) ||
                   shorter(std::min<std::size_t>(1, numbers.size()));
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            while (numbers[i] > 0 && (lower(i, 0) || lower(i, numbers[i] / 2) || lower(i, numbers[i] - 1)))
                progress = true;
        }
        for (std::size_t i = numbers.size(); i-- > 0;) progress = dropped(i) || progress;
    }
    return numbers;
}

}  // namespace augur::testing
