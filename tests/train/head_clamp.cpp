#include "augur/train/head_clamp.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "augur/train/draft_heads.hpp"
#include "augur/train/state_head.hpp"
#include "train/gradients.hpp"

BOOST_AUTO_TEST_SUITE(train_head_clamp)
using namespace augur;
using namespace augur::train;
using testing::some_numbers;

constexpr std::size_t classes = 9, width = 5;
using head = state_head<dense_weight_matrix<double>>;
static_assert(CanBeClamped<head> && !CanBeClamped<draft_heads<dense_weight_matrix<double>>>);
const auto close = boost::test_tools::tolerance(1e-10);

head head_of(const head_options& chosen) {
    const matrix<double> W = some_numbers(classes, width, 0.4);
    return {dense_weight_matrix<double>(std::vector<double>(W.data(), W.data() + W.size()), classes, width),
            {.layer = 4, .vocabulary_size = classes},
            chosen};
}
double base_square(const head& of) {
    return of.weight_matrix().row_squares().sum();
}
/// Everything but norm and scale changes.
void move(head& of, double by) {
    auto values = of.values();
    for (const auto& each : {of.layout().up, of.layout().down, of.layout().full}) {
        train::block(values, each) += by * some_numbers(detail::index(each.size()), 1, 0.7);
    }
    of.assign(values);
}
Eigen::MatrixXd whole(const head& of) {
    const auto& l = of.layout();
    if (of.options().update == update_kind::full) return matrix_of(of.values(), l.full);
    const Eigen::MatrixXd W = of.weight_matrix().dense();
    if (of.options().update == update_kind::none) return W;
    const Eigen::MatrixXd change = matrix_of(of.values(), l.up) * matrix_of(of.values(), l.down);
    return of.options().update == update_kind::state ? Eigen::MatrixXd(W + W * change) : Eigen::MatrixXd(W + change);
}

BOOST_AUTO_TEST_CASE(the_norms_are_those_of_the_whole_matrix) {
    for (const auto update : {update_kind::state, update_kind::output, update_kind::full, update_kind::none}) {
        head learned = head_of({.update = update, .rank = 2});
        for (const double by : {0.0, 0.3, -2.0}) {
            move(learned, by);
            const head_norms found = norms_of(learned, base_square(learned));
            BOOST_TEST(std::sqrt(found.square()) == whole(learned).norm(), close);
            if (update == update_kind::full) continue;  // which is all update
            const Eigen::MatrixXd W = learned.weight_matrix().dense(), change = whole(learned) - W;
            BOOST_TEST(found.base == W.squaredNorm(), close);
            BOOST_TEST(std::abs(found.mixed - W.cwiseProduct(change).sum()) < 1e-9);
            BOOST_TEST(std::abs(found.update - change.squaredNorm()) < 1e-9);
        }
    }
    BOOST_TEST((head_norms{1, -1, 0.5}.square()) == 0);  // rounding may leave less than nothing
}

BOOST_AUTO_TEST_CASE(a_clamp_bounds_the_whole_matrix) {
    for (const auto update : {update_kind::state, update_kind::output, update_kind::full}) {
        head learned = head_of({.update = update, .rank = 2, .clamp = 1.5});
        const double square = base_square(learned);
        BOOST_TEST(!clamp(learned, square));
        move(learned, 4);
        const Eigen::MatrixXd before = whole(learned), W = learned.weight_matrix().dense();
        BOOST_TEST(before.norm() > 1.5 * W.norm());
        BOOST_TEST(clamp(learned, square));
        const Eigen::MatrixXd after = whole(learned);
        BOOST_TEST(after.norm() == 1.5 * W.norm(), close);
        if (update == update_kind::full) {  // towards 0, else towards W
            BOOST_TEST((after / after.norm() - before / before.norm()).norm() < 1e-12);
        } else {
            const Eigen::MatrixXd was = before - W, is = after - W;
            BOOST_TEST((is / is.norm() - was / was.norm()).norm() < 1e-9);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_within_the_bound_or_has_none_is_left) {
    const auto left = [](const head_options& chosen, double by) {
        head learned = head_of(chosen);
        move(learned, by);
        const auto values = learned.values();
        BOOST_TEST(!clamp(learned, base_square(learned)));
        BOOST_TEST(learned.values() == values);
    };
    left({.update = update_kind::output, .rank = 2}, 40);
    left({.update = update_kind::none, .clamp = 1}, 40);
    left({.update = update_kind::full, .clamp = 1.5}, 0.01);
}

BOOST_AUTO_TEST_SUITE_END()
