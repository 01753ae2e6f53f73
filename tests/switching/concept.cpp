#include "augur/switching/concept.hpp"

#include <augur/switching/scheme.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>

#include "switching/codecs.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(switching_concept)

/// The models write by turns.
struct by_turns {
    std::size_t models() const { return 2; }
    std::size_t next_model(std::size_t current, double) { return 1 - current; }
};
static_assert(switching::SwitchingPolicy<by_turns>);

struct says_no_number : by_turns {
    void models() const {}
};
struct is_told_no_entropy : by_turns {
    std::size_t next_model(std::size_t current) { return current; }
};
static_assert(!switching::SwitchingPolicy<says_no_number> && !switching::SwitchingPolicy<is_told_no_entropy>);
static_assert(!switching::TextCodec<by_turns>);

BOOST_AUTO_TEST_CASE(the_smallest_policy_switches) {
    const auto small = testing::hashed_model(8, 1), large = testing::hashed_model(8, 2);
    const auto scheme = switched(small, large, by_turns{});
    BOOST_TEST(scheme.vocabulary_size() == 8u);
}

BOOST_AUTO_TEST_SUITE_END()
