#include "augur/testing/row_errors.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

using namespace augur;
using testing::row_copies;

BOOST_AUTO_TEST_SUITE(testing_row_errors)

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

std::string wrong_of(testing::row_errors& errors, const row_copies& expected, const row_copies& got) {
    return errors.wrong(expected, got, [] { return std::string("here"); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(errors_are_relative_to_the_logit_and_to_the_row) {
    const auto error = testing::error_of(row_copies{{1, 3, -1, -3}}, row_copies{{1, 3, -1, -2}});
    BOOST_TEST(error.largest == 0.25);  // of 1 + 3
    BOOST_TEST(error.share == 0.5 / std::sqrt(5.0), boost::test_tools::tolerance(1e-12));
    const auto none = testing::error_of(row_copies{{1, -inf, 2}}, row_copies{{1, -inf, 2}});
    BOOST_TEST(none.largest == 0);
    BOOST_TEST(none.share == 0);
    BOOST_TEST(std::isinf(testing::error_of(row_copies{{1, -inf, 2}}, row_copies{{1, 0, 2}}).share));
    BOOST_TEST(std::isinf(testing::error_of(row_copies{{1, 2}}, row_copies{{1, NAN}}).share));
    BOOST_TEST(std::isinf(testing::error_of(row_copies{{0, 0}}, row_copies{{0, 1e-6f}}).share));
}

BOOST_AUTO_TEST_CASE(rounding_is_noted_and_mistakes_are_named) {
    testing::row_errors errors(1e-3);
    const row_copies row{{1, 3, -1, -3}};
    BOOST_TEST(wrong_of(errors, row, {{1, 3, -1, -3.0001f}}).empty());
    BOOST_TEST(errors.rounding().empty());
    BOOST_TEST(errors.largest() > 0);
    BOOST_TEST(wrong_of(errors, row, {{1, 3, -1, -3.1f}}).empty());
    BOOST_TEST(errors.rounding().find("here: row 0, token 3: -3.1 instead of -3") != std::string::npos);
    BOOST_TEST(wrong_of(errors, row, {{1, 3, -1, -2}}) == "here: row 0, token 3: -2 instead of -3");
    BOOST_TEST(wrong_of(errors, row, {}) == "here: 0 rows instead of 1");
    BOOST_TEST(wrong_of(errors, row, {{1, 3}}) == "here: row 0 has 2 logits instead of 4");
    BOOST_TEST(errors.largest() < 0.1);  // mistakes are none of rounding
    errors.begin();
    BOOST_TEST(errors.rounding().empty());
}

BOOST_AUTO_TEST_CASE(bitwise_rows_have_no_rounding) {
    testing::row_errors errors(0);
    BOOST_TEST(wrong_of(errors, {{1, 2}}, {{1, 2.000001f}}) == "here: row 0, token 1: 2 instead of 2");
    BOOST_TEST(errors.rounding().empty());
    BOOST_TEST(errors.largest() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
