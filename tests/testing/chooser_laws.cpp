// Choosers that are wrong far out only (known bug 78), and production's, which is not.

#include "augur/testing/chooser_laws.hpp"

#include <augur/random/chooser.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "every_law.hpp"

using namespace augur;
using testing::chooser_laws;

BOOST_AUTO_TEST_SUITE(testing_chooser_laws)

const std::string possible = "never an index without weight, nor a coin against certainty";
const std::string equal = "equal arguments, equal answers";
const std::string often = "each as often as its weight says";
const std::string fewer = "who wins a race wins it among fewer";

/// Changes the index that is chosen, or that wins, of a row of `size`.
template <std::size_t (*Change)(std::size_t index, std::size_t size)>
struct changes : random::philox_chooser {
    changes() : philox_chooser(7) {}
    std::size_t choose(const Weights auto& weights, draw_key key) const {
        return Change(philox_chooser::choose(weights, key), weights.size());
    }
};
template <class Id>
std::size_t cut(std::size_t index, std::size_t) {
    return static_cast<std::size_t>(static_cast<Id>(index));
}
std::size_t never_the_last(std::size_t index, std::size_t size) {
    return index + 1 == size ? index - 1 : index;
}

/// Never chooses the last of several with weight where the row is wide.
struct rarely_the_last : random::philox_chooser {
    rarely_the_last() : philox_chooser(7) {}
    std::size_t choose(const distribution& weights, draw_key key) const {
        const std::size_t chosen = philox_chooser::choose(weights, key);
        if (weights.size() < 65'536 || chosen + 1 < weights.size()) return chosen;
        for (std::size_t i = 0; i < chosen; ++i) {
            if (weights[i] > 0) return i;
        }
        return chosen;
    }
    std::size_t choose(const Weights auto& weights, draw_key key) const { return philox_chooser::choose(weights, key); }
};

/// Its noise repeats after so many tokens.
struct noise_of_a_byte : random::philox_chooser {
    noise_of_a_byte() : philox_chooser(7) {}
    std::size_t exponential_race(const Weights auto& weights, std::size_t position) const {
        std::size_t best = 0;
        double first = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            if (!(weights[i] > 0)) continue;
            const double at = -std::log1p(-uniform({position, purpose::exponential_race, i % 256})) / weights[i];
            if (first == 0 || at < first) first = at, best = i;
        }
        return best;
    }
};

/// Counts its calls.
struct remembers : random::philox_chooser {
    remembers() : philox_chooser(7) {}
    std::size_t calls = 0;
    bool flip(double probability, draw_key key) {
        key.round += probability > 0 && probability < 1 ? calls++ : 0;
        return philox_chooser::flip(probability, key);
    }
};

/// Races by noise that belongs to the weights, not to the position.
struct races_by_weights : random::philox_chooser {
    races_by_weights() : philox_chooser(7) {}
    std::size_t exponential_race(const Weights auto& weights, std::size_t position) const {
        return choose(weights, {position, purpose::exponential_race, 0});
    }
};

BOOST_AUTO_TEST_CASE(every_law_is_broken_by_a_wrong_chooser) {
    every_law::watch all;
    all.holds(chooser_laws(random::philox_chooser(1)));
    all.breaks(chooser_laws(changes<never_the_last>{}), possible);
    all.breaks(chooser_laws(changes<cut<std::uint8_t>>{}), possible);
    all.breaks(chooser_laws(changes<cut<std::uint16_t>>{}), possible);
    all.breaks(chooser_laws(changes<cut<std::int16_t>>{}), possible);
    all.breaks(chooser_laws(remembers{}), equal);
    all.breaks(chooser_laws(rarely_the_last{}), often);
    all.breaks(chooser_laws(noise_of_a_byte{}), often);
    all.breaks(chooser_laws(races_by_weights{}), fewer);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_far_out_is_named) {
    const auto says = [](const testing::report& r, const std::string& what) {
        BOOST_TEST_REQUIRE(!r.broken.empty(), r);
        BOOST_TEST(r.broken[0].what.find(what) != std::string::npos, r);
    };
    says(chooser_laws(changes<never_the_last>{}), "in a vocabulary of 100, chooses token 98, which has no weight");
    says(chooser_laws(changes<cut<std::uint16_t>>{}), "in a vocabulary of 140000, chooses token ");
    says(chooser_laws(rarely_the_last{}), "in a vocabulary of 140000, token ");
    for (const std::size_t widest : {99u, 33'000u}) {
        const auto r = chooser_laws(changes<cut<std::uint16_t>>{}, {.widest = widest});
        BOOST_TEST(r.broken.empty(), r);
    }
}

BOOST_AUTO_TEST_CASE(the_librarys_choosers_keep_them) {
    for (const std::uint64_t seed : {0u, 1u, 77u}) {
        const auto r = chooser_laws(random::philox_chooser(seed), {.seed = seed + 1});
        BOOST_TEST(r.kept(), r);
    }
}

BOOST_AUTO_TEST_SUITE_END()
