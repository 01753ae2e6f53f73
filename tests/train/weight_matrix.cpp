#include "augur/train/weight_matrix.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "train/gradients.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_weight_matrix)
using namespace augur;
using namespace augur::train;
using testing::refuses;
static_assert(WeightMatrix<dense_weight_matrix<float>> && WeightMatrix<dense_weight_matrix<double>>);

struct without_squares : dense_weight_matrix<double> {
    void row_squares() const = delete;
};
static_assert(!WeightMatrix<without_squares> && !WeightMatrix<matrix<double>>);

const std::vector<double> weights{1, 2, 3, 4, 5, 6};  // three classes of two numbers

BOOST_AUTO_TEST_CASE(its_products_are_those_of_the_rows) {
    const dense_weight_matrix<double> base(std::span<const double>(weights), 3, 2);
    BOOST_TEST(base.classes() == 3U);
    BOOST_TEST(base.width() == 2U);
    columns<double> in(2, 2), back(3, 1);
    in << 1, 10, -1, 0.5;
    back << 1, 10, 100;
    columns<double> product(3, 2), transposed(2, 1);
    product << -1, 11, -1, 32, -1, 53;
    transposed << 531, 642;
    BOOST_TEST((base.product(in) == product));
    BOOST_TEST((base.transposed(back) == transposed));
    BOOST_TEST(base.row_squares() == (vector<double>(3) << 5, 25, 61).finished(), boost::test_tools::per_element());
    BOOST_TEST((base.dense() == (matrix<double>(3, 2) << 1, 2, 3, 4, 5, 6).finished()));
}

BOOST_AUTO_TEST_CASE(transposed_is_the_adjoint_of_product) {
    const Eigen::MatrixXd W = testing::some_numbers(4, 3, 0.1), x = testing::some_numbers(3, 2, 0.4),
                          y = testing::some_numbers(4, 2, 0.8);
    const dense_weight_matrix<double> base(std::vector<double>(W.data(), W.data() + W.size()), 4, 3);
    BOOST_TEST(base.product(x).cwiseProduct(y).sum() == x.cwiseProduct(base.transposed(y)).sum(),
               boost::test_tools::tolerance(1e-12));
    BOOST_TEST(base.row_squares().sum() == base.dense().squaredNorm(), boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(it_refers_to_a_span_and_its_copies_share_what_it_keeps) {
    std::vector<double> own = weights;
    const dense_weight_matrix<double> refers(std::span<const double>(own), 3, 2);
    own[0] = -1;
    BOOST_TEST(refers.dense()(0, 0) == -1);
    const auto copy = [&] {
        const dense_weight_matrix<double> keeps(weights, 3, 2);
        return dense_weight_matrix<double>(keeps);
    }();
    BOOST_TEST(copy.dense()(2, 1) == 6);  // the weights outlive the base that was made with them
}

BOOST_AUTO_TEST_CASE(rows_are_selected_in_the_order_asked_for) {
    const dense_weight_matrix<double> base(std::span<const double>(weights), 3, 2);
    const dense_weight_matrix<double> pruned = base.selected(std::vector<token>{2, 0});
    BOOST_TEST(pruned.classes() == 2U);
    BOOST_TEST((pruned.dense() == (matrix<double>(2, 2) << 5, 6, 1, 2).finished()));
    for (const token outside : {3, -1}) {
        BOOST_TEST(refuses([&] { base.selected(std::vector<token>{outside}); },
                           "token " + std::to_string(outside) + " is none of the 3 that the head has rows for"));
    }
}

BOOST_AUTO_TEST_CASE(weights_of_another_size_are_refused) {
    BOOST_TEST(refuses([] { dense_weight_matrix<double>(weights, 2, 2); }, "2 classes by 2 has 4 weights, not 6"));
    BOOST_TEST(
        refuses([] { dense_weight_matrix<double>(std::vector<double>{}, 0, 2); }, "0 classes by 2 has no weights"));
    BOOST_TEST(
        refuses([] { dense_weight_matrix<double>(std::vector<double>{}, 3, 0); }, "3 classes by 0 has no weights"));
}

BOOST_AUTO_TEST_CASE(each_token_listed_has_a_row_of_its_own) {
    using tokens = std::vector<token>;
    check_classes("a head", tokens{}, 5, 5);
    check_classes("a head", tokens{4, 0}, 5, 2);
    const auto refused = [](const tokens& listed, std::size_t vocabulary, std::size_t rows, const char* what) {
        BOOST_TEST(refuses([&] { check_classes("a head", listed, vocabulary, rows); }, what), what);
    };
    refused({}, 5, 4, "a head: the base has 4 rows, but there are 5 tokens");
    refused({1}, 5, 2, "a head: the base has 2 rows, but there are 1 tokens");
    refused({1, 5}, 5, 2, "a head: token 5 is outside a vocabulary of 5");
    refused({-1}, 5, 1, "a head: token -1 is outside a vocabulary of 5");
    refused({3, 3}, 5, 2, "a head: token 3 is listed twice");
}

BOOST_AUTO_TEST_SUITE_END()
