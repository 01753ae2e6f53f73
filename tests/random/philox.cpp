#include "augur/random/philox.hpp"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>

using namespace augur::random;

BOOST_AUTO_TEST_SUITE(random_philox)

// Random123's known answers, kat_vectors, philox4x32 with 10 rounds.
static_assert(philox4x32({0, 0, 0, 0}, {0, 0}) == philox_counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
static_assert(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
              philox_counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
static_assert(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
              philox_counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});

// Uniforms: 53 bits, the high word first, never 1; one word, never 0 or 1, as far from 0 as from 1.
static_assert(unit_interval(0, 0) == 0);
static_assert(unit_interval(0x80000000, 0) == 0.5);
static_assert(unit_interval(0, 1u << 11) == 0x1p-53 && unit_interval(0, (1u << 11) - 1) == 0);
static_assert(unit_interval(0xffffffff, 0xffffffff) == 1 - 0x1p-53);
static_assert(open_unit_interval(0) == 0x1p-33 && open_unit_interval(0xffffffff) == 1 - 0x1p-33);
static_assert(open_unit_interval(0x12345678) + open_unit_interval(~0x12345678u) == 1);

BOOST_AUTO_TEST_CASE(answers_at_run_time_are_those_of_compile_time) {
    volatile std::uint32_t counter = 0x243f6a88;  // keeps the compiler from folding the call
    const auto words = philox4x32({counter, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0});
    constexpr philox_counter expected = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    BOOST_TEST(words == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_bit_of_counter_and_key_changes_about_half_of_the_words_bits) {
    const philox_counter counter = {1, 2, 3, 4};
    const philox_key key = {5, 6};
    const philox_counter words = philox4x32(counter, key);
    for (std::size_t bit = 0; bit < 6 * 32; ++bit) {
        philox_counter other_counter = counter;
        philox_key other_key = key;
        const std::uint32_t flip = 1u << (bit % 32);
        (bit < 128 ? other_counter[bit / 32] : other_key[bit / 32 - 4]) ^= flip;
        const philox_counter other_words = philox4x32(other_counter, other_key);
        int changed = 0;
        for (std::size_t i = 0; i < 4; ++i) changed += std::popcount(words[i] ^ other_words[i]);
        BOOST_TEST(changed >= 38, "bit " << bit << " changed " << changed << " of 128 bits");
        BOOST_TEST(changed <= 90, "bit " << bit << " changed " << changed << " of 128 bits");
    }
}

BOOST_AUTO_TEST_SUITE_END()
