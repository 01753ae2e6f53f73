#include "augur/backend/device/ranking.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "augur/backend/device/system.hpp"

namespace device = augur::backend::device;
using device::emulated_system;
using device::last_ranked;

namespace {

struct held_key {
    std::uint32_t key;
    std::uint64_t holds;
};

/// One digit of what lies in memory, which the blocks share.
struct rank_digit {
    static constexpr unsigned threads = 256;
    static constexpr std::size_t of_block = 700;

    const held_key* keys;
    std::size_t count;
    std::uint64_t percent;  ///< of all, that is needed
    unsigned open, bits;
    std::uint64_t* counts;
    std::uint32_t* arrivals;
    last_ranked* found;

    std::size_t blocks() const { return (count + of_block - 1) / of_block; }
    static constexpr std::size_t shared_bytes() { return device::ranking_shared_bytes; }

    template <class Team>
    void operator()(const Team& team) const {
        const device::ranking<Team> ranked(team, open, bits, counts);
        const last_ranked so_far = *found;
        ranked.add(so_far.key, [&](unsigned thread, const auto& take) {
            const std::size_t begin = team.block() * of_block, end = std::min(count, begin + of_block);
            for (std::size_t i = begin + thread; i < end; i += threads) take(keys[i].key, keys[i].holds);
        });
        if (!device::is_last_block(team, arrivals, blocks(), team.template shared<std::uint32_t>())) return;
        const last_ranked now = ranked.next(
            so_far.key, [&](std::uint64_t total) { return open == 32 ? (total * percent + 99) / 100 : so_far.needed; });
        team.each([&](unsigned thread) {
            if (thread == 0) *found = now;
        });
    }
};

last_ranked ranked_by_blocks(emulated_system on, const std::vector<held_key>& keys, std::uint64_t percent) {
    std::vector<std::uint64_t> counts(device::most_digits);
    std::uint32_t arrivals = 0;
    last_ranked found;
    unsigned open = 32;
    for (const unsigned bits : {11u, 11u, 10u}) {
        const rank_digit digit{keys.data(), keys.size(), percent, open, bits, counts.data(), &arrivals, &found};
        on.launch(digit.blocks(), digit);
        open -= bits;
    }
    BOOST_TEST(counts == std::vector<std::uint64_t>(device::most_digits), boost::test_tools::per_element());
    return found;
}

last_ranked ranked(std::vector<held_key> keys, std::uint64_t percent) {
    std::sort(keys.begin(), keys.end(), [](const held_key& a, const held_key& b) { return a.key > b.key; });
    std::uint64_t total = 0;
    for (const held_key& k : keys) total += k.holds;
    std::uint64_t needed = (total * percent + 99) / 100;
    for (std::size_t i = 0; i < keys.size();) {
        last_ranked last{keys[i].key, needed, 0};
        for (; i < keys.size() && keys[i].key == last.key; ++i) last.held += keys[i].holds;
        if (last.held >= needed) return last;
        needed -= last.held;
    }
    return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backend_ranking)

BOOST_AUTO_TEST_CASE(keys_are_in_the_order_of_their_numbers) {
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> rising{-infinity, -3e38f, -1.5f, -1e-45f, -0.0f, 0.0f, 1e-45f, 1.0f, 1.0000001f, infinity};
    for (std::size_t i = 0; i < rising.size(); ++i) {
        BOOST_TEST(device::value_of(device::key_of(rising[i])) == rising[i]);
        if (i > 0) BOOST_TEST(device::key_of(rising[i - 1]) < device::key_of(rising[i]));
    }
}

BOOST_AUTO_TEST_CASE(the_last_is_that_of_a_sort) {
    std::mt19937 random(1);
    for (const std::size_t count : {1u, 2u, 17u, 256u, 3000u, 33'000u, 140'000u}) {
        for (int repeat = 0; repeat < (count > 3000 ? 3 : 60); ++repeat) {
            const std::uint32_t different = repeat % 3 == 0 ? 5 : 0xffffffff;
            std::vector<held_key> keys(count);
            for (held_key& k : keys) {
                k.key = static_cast<std::uint32_t>(random()) % different << random() % 4;
                k.holds = repeat % 2 == 0 ? 1 : random() % 4 * (std::uint64_t{1} << random() % 45);
            }
            keys[random() % count].holds = 1;  // all together hold something
            const std::uint64_t percent = 1 + random() % 100;
            const last_ranked expected = ranked(keys, percent);
            for (const bool backwards : {false, true}) {
                const last_ranked found = ranked_by_blocks({backwards}, keys, percent);
                BOOST_TEST(found.key == expected.key);
                BOOST_TEST(found.needed == expected.needed);
                BOOST_TEST(found.held == expected.held);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_held_has_the_key_0) {
    const std::vector<held_key> keys{{7, 2}, {9, 3}};
    const last_ranked found = ranked_by_blocks({}, keys, 200);
    BOOST_TEST(found.key == 0u);
    BOOST_TEST(found.needed == 5u);
    BOOST_TEST(found.held == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
