#pragma once
// The chooser of the law suites.

#include <cstddef>
#include <utility>
#include <variant>

#include "augur/random/chooser.hpp"
#include "augur/testing/enumerate.hpp"
#include "augur/testing/named_once.hpp"

namespace augur::testing {

/// Answers as the chooser that it was made of: production's, the same with each name asked for once, or one that takes
/// every branch. One type for all three, so that what a law suite decodes is compiled once. Copies share what copies of
/// that chooser share.
class law_chooser {
 public:
    law_chooser(random::philox_chooser drawing) : as_(drawing) {}
    law_chooser(named_once<random::philox_chooser> drawing) : as_(std::move(drawing)) {}
    law_chooser(enumerating_chooser path) : as_(std::move(path)) {}

    std::size_t choose(const Weights auto& weights, draw_key key) {
        return answer<std::size_t>([&](auto& chooser) { return chooser.choose(weights, key); });
    }
    bool flip(double probability, draw_key key) {
        return answer<bool>([&](auto& chooser) { return chooser.flip(probability, key); });
    }
    std::size_t exponential_race(const Weights auto& weights, std::size_t position) {
        return answer<std::size_t>([&](auto& chooser) { return chooser.exponential_race(weights, position); });
    }

 private:
    template <class Answer, class Ask>
    Answer answer(const Ask& ask) {
        if (auto* path = std::get_if<enumerating_chooser>(&as_)) return ask(*path);
        if (auto* once = std::get_if<named_once<random::philox_chooser>>(&as_)) return ask(*once);
        return ask(*std::get_if<random::philox_chooser>(&as_));
    }

    std::variant<random::philox_chooser, named_once<random::philox_chooser>, enumerating_chooser> as_;
};

}  // namespace augur::testing
