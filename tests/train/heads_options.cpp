#include "augur/train/heads_options.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>

#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_heads_options)
using namespace augur;
using namespace augur::train;

BOOST_AUTO_TEST_CASE(hydras_heads_read_one_token_more_each) {
    for (const bool see_tokens : {false, true}) {
        const heads_options chosen{.heads = 3, .see_tokens = see_tokens};
        const heads_layout layout(chosen, 4);
        BOOST_TEST_REQUIRE(layout.weights.size() == 3U);
        BOOST_TEST_REQUIRE(layout.all.size() == 6U);
        std::size_t next = 0;
        for (std::size_t head = 0; head < 3; ++head) {
            BOOST_TEST(layout.weights[head].offset == next);
            BOOST_TEST(layout.weights[head].rows == 4U);
            BOOST_TEST(layout.weights[head].columns == (see_tokens ? 4 * (head + 2) : 4));
            BOOST_TEST(layout.weights[head].decays);
            next += layout.weights[head].size();
            BOOST_TEST(layout.biases[head].offset == next);
            BOOST_TEST(layout.biases[head].size() == 4U);
            BOOST_TEST(!layout.biases[head].decays);
            next += 4;
            BOOST_TEST(layout.all[2 * head].offset == layout.weights[head].offset);
            BOOST_TEST(layout.all[2 * head + 1].offset == layout.biases[head].offset);
        }
        BOOST_TEST(layout.size == next);
    }
}

BOOST_AUTO_TEST_CASE(there_are_between_1_and_64_heads) {
    for (const std::size_t heads : {std::size_t{0}, heads_options::most_heads + 1}) {
        BOOST_TEST(testing::refuses([&] { heads_layout({.heads = heads}, 4); },
                                    "heads is " + std::to_string(heads) + "; it must be between 1 and 64"));
    }
    BOOST_TEST(heads_layout({.heads = heads_options::most_heads}, 1).size == 128U);
}

BOOST_AUTO_TEST_SUITE_END()
