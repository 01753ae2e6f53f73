#include "augur/types/observation.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

using namespace augur;

BOOST_AUTO_TEST_SUITE(types_observation)

constexpr signals both = signals::draft_entropy | signals::draft_confidence;
static_assert(includes(both, signals::draft_entropy) && includes(both, signals::draft_confidence));
static_assert(!includes(both, signals::target_entropy));
static_assert(!includes(signals::none, signals::draft_entropy) && !includes(both, signals::none));
static_assert((both & signals::draft_entropy) == signals::draft_entropy && without(both, both) == signals::none);
static_assert(without(both, signals::draft_entropy) == signals::draft_confidence);
static_assert((both | both) == both && (signals::none | both) == both);

BOOST_AUTO_TEST_CASE(what_was_not_measured_is_not_a_number) {
    const observation fresh;
    for (const double signal : {fresh.draft_entropy_nats, fresh.first_draft_entropy_nats, fresh.target_entropy_nats,
                                fresh.draft_confidence, fresh.path_value}) {
        BOOST_TEST(std::isnan(signal));
    }
    BOOST_TEST(fresh.round + fresh.prefix_length + fresh.drafted + fresh.last_drafted + fresh.last_accepted == 0u);
    BOOST_TEST(fresh.source == 0u);
    BOOST_TEST((fresh.pending == signals::none));
    BOOST_TEST(outcome{}.drafted + outcome{}.accepted == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
