#include "augur/train/matrix.hpp"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(train_matrix)
using namespace augur;
using namespace augur::train;

BOOST_AUTO_TEST_CASE(a_block_is_a_part_of_the_array_row_by_row) {
    vector<double> numbers = vector<double>::LinSpaced(12, 0, 11);
    const head_block part{"weight", 3, 2, 4, true};
    BOOST_TEST(part.size() == 8U);
    const auto as_matrix = matrix_of(std::as_const(numbers), part);
    BOOST_TEST(as_matrix.rows() == 2);
    BOOST_TEST(as_matrix.cols() == 4);
    for (Eigen::Index row = 0; row < 2; ++row) {
        for (Eigen::Index column = 0; column < 4; ++column) {
            BOOST_TEST(as_matrix(row, column) == static_cast<double>(3 + 4 * row + column));
        }
    }
    BOOST_TEST(block(std::as_const(numbers), part) == numbers.segment(3, 8));
    matrix_of(numbers, part)(1, 0) = -1;
    block(numbers, part)[0] = -2;
    BOOST_TEST(numbers[7] == -1);
    BOOST_TEST(numbers[3] == -2);
    BOOST_TEST(numbers.head(3) == vector<double>::LinSpaced(3, 0, 2));
    BOOST_TEST(numbers[11] == 11);
}

BOOST_AUTO_TEST_CASE(a_block_that_is_not_there_is_empty) {
    vector<float> numbers(3);
    const head_block absent{"bias", 3, 0, 5};
    BOOST_TEST(absent.size() == 0U);
    BOOST_TEST(!absent.decays);
    BOOST_TEST(block(numbers, absent).size() == 0);
    BOOST_TEST(matrix_of(numbers, absent).rows() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
