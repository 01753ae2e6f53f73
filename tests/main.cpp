#define BOOST_TEST_MODULE augur
#include <boost/test/unit_test.hpp>
