#pragma once
// A chooser for long texts that refuses a random number that is asked for twice.

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "augur/random/chooser.hpp"
#include "augur/testing/asked_name.hpp"

namespace augur::testing {

/// Answers as `C` does, and throws augur::error where a name is asked for twice in one text, with both questions.
/// Copies share what was asked, so a decoding can be given one and the caller can look at the other.
/// Cost: O(log names) a question. enumerating_chooser checks the same on every path.
template <Chooser C = random::philox_chooser>
class named_once {
 public:
    explicit named_once(C chooser) : chooser_(std::move(chooser)) {}

    std::size_t choose(const Weights auto& weights, draw_key key) {
        note(asked_name::choice(key, weights.size()));
        return chooser_.choose(weights, key);
    }
    bool flip(double probability, draw_key key) {
        note(asked_name::coin(key, probability));
        return chooser_.flip(probability, key);
    }
    std::size_t exponential_race(const Weights auto& weights, std::size_t position) {
        note(asked_name::exponential_race(position, weights.size()));
        return chooser_.exponential_race(weights, position);
    }

    /// Names asked for so far.
    std::size_t names() const { return asked_->size(); }

 private:
    void note(const asked_name& asked) {
        const auto [first, is_new] = asked_->try_emplace(random::counter_of(asked.key, 0), asked);
        if (!is_new && asked.shares_number_with(first->second)) refuse_second_question(first->second, asked);
    }

    C chooser_;
    std::shared_ptr<std::map<random::philox_counter, asked_name>> asked_ =
        std::make_shared<std::map<random::philox_counter, asked_name>>();
};

}  // namespace augur::testing
