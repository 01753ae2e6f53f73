#include "augur/round/ask.hpp"

#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

#include "model/smallest.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(round_ask)

template <class M>
void check_rows(const M& model) {
    model::cached_sequence target(model);
    prefix before(std::vector<token>{1, 2, 3});
    for (std::size_t drafted = 0; drafted <= 4; ++drafted) {
        proposal<point_mass> proposed;
        for (std::size_t i = 0; i < drafted; ++i) proposed.push(static_cast<token>((i * 3) % 4));
        const auto rows = rounds::chain(target, before, proposed);
        BOOST_TEST(rows.size() == drafted + 1);
        BOOST_TEST(before.size() == 3u);
        std::vector<token> tokens{1, 2, 3};
        for (std::size_t i = 0; i <= drafted; ++i) {
            const M fresh_model = model;  // the smallest model keeps its rows in itself
            auto fresh = fresh_model.make_sequence();
            const auto expected = fresh_model.extend(fresh, tokens);
            const logit_row row = expected[expected.size() - 1];
            BOOST_TEST(std::equal(row.begin(), row.end(), rows[i].begin()));
            if (i < drafted) tokens.push_back(proposed.tokens()[i]);
        }
        target.rewind(before.tokens());
    }
}

BOOST_AUTO_TEST_CASE(row_i_follows_the_first_i_drafted_tokens) {
    check_rows(testing::hashed_model(4, 9));
}

BOOST_AUTO_TEST_CASE(a_model_that_returns_every_row_is_read_from_the_right_one) {
    check_rows(smallest::model{});
}

BOOST_AUTO_TEST_SUITE_END()
