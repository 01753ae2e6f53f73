#include "augur/types/scores.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>

BOOST_AUTO_TEST_SUITE(types_scores)

BOOST_AUTO_TEST_CASE(rows_are_views_of_the_models_memory) {
    const float logits[] = {1, 2, 3, 4, 5, 6};
    const augur::scores made(logits, 2, 3);
    BOOST_TEST(made.size() == 2u);
    BOOST_TEST(made.vocabulary_size() == 3u);
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST(made[i].data() == logits + 3 * i);
        BOOST_TEST(made[i].size() == 3u);
    }
    BOOST_TEST(made.back().data() == logits + 3);
    BOOST_TEST(augur::scores().size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
