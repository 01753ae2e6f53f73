#include "augur/detail/identity.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <utility>

using augur::detail::identity;

BOOST_AUTO_TEST_SUITE(detail_identity)

BOOST_AUTO_TEST_CASE(no_two_objects_have_one_number) {
    identity first, second;
    BOOST_TEST(first.value() != 0u);
    BOOST_TEST(first.value() != second.value());
    const identity copy = first;
    BOOST_TEST(copy.value() != first.value());
    const std::uint64_t before = second.value();
    second = first;
    BOOST_TEST(second.value() != first.value());
    BOOST_TEST(second.value() != before);
    first.renew();
    BOOST_TEST(first.value() != copy.value());
}

BOOST_AUTO_TEST_CASE(a_move_takes_the_number_along_and_leaves_another) {
    identity first;
    const std::uint64_t number = first.value();
    identity second = std::move(first);
    BOOST_TEST(second.value() == number);
    BOOST_TEST(first.value() != number);
    identity third;
    third = std::move(second);
    BOOST_TEST(third.value() == number);
    BOOST_TEST(second.value() != number);
    identity& same = third;
    third = std::move(same);
    BOOST_TEST(third.value() == number);
    third = same;
    BOOST_TEST(third.value() == number);
}

BOOST_AUTO_TEST_SUITE_END()
