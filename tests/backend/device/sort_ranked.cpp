#include "augur/backend/device/sort_ranked.hpp"

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "augur/backend/device/system.hpp"

namespace device = augur::backend::device;
using augur::tree::ranked_token;

BOOST_AUTO_TEST_SUITE(backend_sort_ranked)

/// Kernel: sorts behind a canary, which stays.
struct sort_all {
    static constexpr unsigned threads = device::most_threads;
    static constexpr std::size_t offset = 16;

    ranked_token *values, *other;
    std::size_t size;
    bool* intact;

    static constexpr std::size_t blocks() { return 1; }
    static constexpr std::size_t shared_bytes() { return offset + device::sort_shared_bytes; }

    template <class Team>
    AUGUR_KERNEL void operator()(const Team& team) const {
        auto* const canary = team.template shared<int>();
        team.each([&](unsigned thread) {
            if (thread == 0) *canary = 77;
        });
        device::ranked_sort<Team>(team, offset)(values, other, size);
        team.each([&](unsigned thread) {
            if (thread == 0) *intact = *canary == 77;
        });
    }
};

void check(const std::vector<ranked_token>& given) {
    auto expected = given;
    std::stable_sort(expected.begin(), expected.end(), [](const ranked_token& a, const ranked_token& b) {
        return std::bit_cast<std::uint32_t>(a.ratio) < std::bit_cast<std::uint32_t>(b.ratio);
    });
    for (const bool backwards : {false, true}) {
        const device::emulated_system on{backwards};
        auto values = given;
        std::vector<ranked_token> other(given.size());
        bool intact = false;
        on.launch(1, sort_all{values.data(), other.data(), given.size(), &intact});
        on.wait();
        BOOST_TEST(intact);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < given.size(); ++i) wrong += values[i].id != expected[i].id;
        BOOST_TEST(wrong == 0u, wrong << " of " << given.size() << " are not where they belong");
    }
}

/// Equal ones keep their order; infinity comes before what is last of all.
BOOST_AUTO_TEST_CASE(what_is_sorted_is_in_order) {
    std::mt19937 random(3);
    for (const std::size_t size : {0u, 1u, 2u, 255u, 256u, 257u, 5000u, 33'000u, 140'000u}) {
        for (const unsigned kinds : {2u, 50u, 1u << 31}) {
            std::vector<ranked_token> given;
            for (std::size_t i = 0; i < size; ++i) {
                const unsigned picked = random() % 16;
                const float ratio = picked == 0   ? std::numeric_limits<float>::infinity()
                                    : picked == 1 ? device::ratio_after_all()
                                    : picked == 2 ? std::numeric_limits<float>::denorm_min()
                                                  : static_cast<float>(random() % kinds) / 1e5f;
                given.push_back({ratio, static_cast<augur::token>(size - i)});
            }
            check(given);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
