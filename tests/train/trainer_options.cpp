#include "augur/train/trainer_options.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(train_trainer_options)

using namespace augur;

BOOST_AUTO_TEST_CASE(learning_is_bounded_and_in_the_foreground_unless_asked_otherwise) {
    const train::trainer_options chosen;
    BOOST_TEST(chosen.share == 0.05);
    BOOST_TEST(chosen.every == 8u);
    BOOST_TEST(chosen.least >= chosen.batch);
    BOOST_TEST(!chosen.background);
    BOOST_TEST(!chosen.idle);
    BOOST_TEST(!chosen.clock);
}

BOOST_AUTO_TEST_SUITE_END()
