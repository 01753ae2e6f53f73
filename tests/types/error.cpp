#include "augur/types/error.hpp"

#include <boost/test/unit_test.hpp>
#include <stdexcept>
#include <string>
#include <type_traits>

BOOST_AUTO_TEST_SUITE(types_error)

static_assert(std::is_base_of_v<std::runtime_error, augur::error>);

BOOST_AUTO_TEST_CASE(a_failure_says_its_values) {
    BOOST_TEST(augur::detail::message("k is ", 3, ", not ", 0.5, " of ", std::string("x")) == "k is 3, not 0.5 of x");
    try {
        augur::detail::fail("vocabularies differ: ", 5u, " and ", -1);
        BOOST_TEST(false, "fail returned");
    } catch (const augur::error& e) {
        BOOST_TEST(e.what() == std::string("vocabularies differ: 5 and -1"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
