#include <augur/flow/frames.hpp>
//
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(flow_frames)

using augur::flow::frames;

BOOST_AUTO_TEST_CASE(what_was_taken_last_is_given_back_first_and_nothing_overlaps) {
    std::mt19937 random(1);
    frames from;
    std::vector<std::pair<unsigned char*, std::size_t>> taken;
    for (int turn = 0; turn < 2000; ++turn) {
        if (taken.empty() || random() % 5 < 3) {
            const std::size_t size = 1 + random() % (random() % 10 == 0 ? 9000 : 300);
            auto* const memory = static_cast<unsigned char*>(from.take(size));
            BOOST_TEST_REQUIRE(reinterpret_cast<std::uintptr_t>(memory) % alignof(std::max_align_t) == 0u);
            std::memset(memory, static_cast<int>(taken.size() % 256), size);
            taken.emplace_back(memory, size);
        } else {
            const auto [memory, size] = taken.back();
            for (std::size_t i = 0; i < size; ++i) BOOST_TEST_REQUIRE(memory[i] == (taken.size() - 1) % 256);
            from.give_back(size);
            taken.pop_back();
        }
    }
    while (!taken.empty()) {
        from.give_back(taken.back().second);
        taken.pop_back();
    }
    BOOST_TEST(from.used() == 0u);
}

BOOST_AUTO_TEST_CASE(memory_is_kept) {
    frames from;
    const auto fill = [&] {
        for (std::size_t i = 1; i < 60; ++i) from.take(i * 100);
        for (std::size_t i = 59; i > 0; --i) from.give_back(i * 100);
    };
    fill();
    const std::size_t grown = from.memory_bytes();
    BOOST_TEST(grown >= 59u * 60 / 2 * 100);
    for (int i = 0; i < 20; ++i) fill();
    BOOST_TEST(from.memory_bytes() == grown);
    frames moved = std::move(from);
    BOOST_TEST(moved.memory_bytes() == grown);
    BOOST_TEST(from.memory_bytes() == 0u);
    from.take(10);
    BOOST_TEST(from.used() > 0u);
}

BOOST_AUTO_TEST_SUITE_END()
