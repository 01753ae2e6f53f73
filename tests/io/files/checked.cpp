#include "augur/io/files/checked.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

using namespace augur::io;

BOOST_AUTO_TEST_SUITE(io_checked)

namespace {

constexpr auto most = std::numeric_limits<std::uint64_t>::max();

constexpr std::optional<std::uint64_t> product(std::array<std::uint64_t, 3> shape) {
    return checked_product(shape);
}

}  // namespace

static_assert(checked_add(most - 1, 1) == most);
static_assert(!checked_add(most, 1) && !checked_add(1, most) && !checked_add(most, most));
static_assert(checked_multiply(most, 1) == most && checked_multiply(most, 0) == 0 && checked_multiply(0, most) == 0);
static_assert(!checked_multiply(most, 2) && !checked_multiply(1ull << 32, 1ull << 32));
static_assert(checked_multiply((1ull << 32) - 1, (1ull << 32) + 1) == most);
static_assert(product({2, 3, 4}) == 24);
static_assert(product({most / 2, 1, 1}) == most / 2 && !product({most / 2 + 1, 1, 1}));
static_assert(!product({4194305, 4194305, 211106198978564}));
static_assert(!product({most / 2, 2, 1}) && !product({most, most, 0}));
static_assert(checked_product({}) == 1);
static_assert(checked_round_up(0, 32) == 0 && checked_round_up(1, 32) == 32 && checked_round_up(32, 32) == 32);
static_assert(checked_round_up(most, 1) == most && !checked_round_up(most, 32) && !checked_round_up(most - 30, 32));
static_assert(checked_round_up(most - 31, 32) == most - 31);

BOOST_AUTO_TEST_CASE(a_slice_is_inside_or_nothing) {
    const std::vector<std::byte> bytes(10);
    for (const std::uint64_t offset : {0u, 1u, 9u, 10u, 11u}) {
        for (const std::uint64_t size : {0u, 1u, 9u, 10u, 11u}) {
            const auto slice = checked_slice(bytes, offset, size);
            BOOST_TEST(slice.has_value() == (offset + size <= 10));
            if (slice) {
                BOOST_TEST(slice->data() == bytes.data() + offset);
                BOOST_TEST(slice->size() == size);
            }
        }
    }
    BOOST_TEST(!checked_slice(bytes, most, 1));
    BOOST_TEST(!checked_slice(bytes, 1, most));
    BOOST_TEST(!checked_slice(bytes, most, most));
    BOOST_TEST(!checked_slice({}, 0, 1));
}

BOOST_AUTO_TEST_SUITE_END()
