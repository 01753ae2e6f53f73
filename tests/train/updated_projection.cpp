#include "augur/train/updated_projection.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

#include "augur/train/weight_matrix.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_updated_projection)
using namespace augur;
using namespace augur::train;
using projection = updated_projection<dense_weight_matrix<double>>;

projection two_by_three() {
    return {.base = dense_weight_matrix<double>(std::vector<double>{1, 2, 3, 4, 5, 6}, 2, 3)};
}

BOOST_AUTO_TEST_CASE(updates_lie_one_after_the_other_and_change_nothing_at_first) {
    projection a = two_by_three(), b = two_by_three();
    update_layout layout(5);
    layout.place(a, 2, "a.from", "a.to");
    layout.place(b, 1, "b.from", "b.to");
    BOOST_TEST(a.from_rank.offset == 5U);
    BOOST_TEST(a.to_rank.offset == 5U + 2 * 2);
    BOOST_TEST(b.from_rank.offset == a.to_rank.offset + 2 * 3);
    BOOST_TEST(layout.size() == 2U * 2 + 2 * 3 + 2 + 3);
    BOOST_TEST(b.to_rank.name == "b.to");
    for (const projection* each : {&a, &b}) BOOST_TEST((each->from_rank.decays && each->to_rank.decays));
    vector<double> values = vector<double>::Constant(detail::index(5 + layout.size()), 7);
    begin_updates(values, 1, 3, {&a, &b});
    BOOST_TEST(values[4] == 7);
    BOOST_TEST(block(values, a.from_rank).isZero());
    BOOST_TEST(!block(values, a.to_rank).isZero());
    BOOST_TEST((block(values, a.to_rank).head(3) != block(values, b.to_rank)));
    projection::pass unused;
    const columns<double> in = columns<double>::Identity(3, 3);
    BOOST_TEST((a.forward(values, in, unused) == a.base.product(in)));
    block(values, a.from_rank).setOnes();
    BOOST_TEST((a.forward(values, in, unused) != a.base.product(in)));
}

BOOST_AUTO_TEST_CASE(a_norm_has_a_weight_for_each_number_or_none) {
    const std::vector<float> three{1, 2, 3};
    BOOST_TEST((norm_weights<double>({}, 2, "it") == vector<double>::Ones(2)));
    BOOST_TEST(norm_weights<double>(three, 3, "it")[2] == 3);
    BOOST_TEST(testing::refuses([&] { norm_weights<double>(three, 2, "it"); }, "it: the norm has 3 weights"));
}

BOOST_AUTO_TEST_SUITE_END()
