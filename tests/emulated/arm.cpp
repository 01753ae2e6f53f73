// The host kernels of an Arm processor, under an emulator: what tests/backend/host says of every instruction set.
// arm.py compiles this for AArch64, where there need not be any library but the standard one: Boost.Test is included
// whole.
#define BOOST_TEST_MODULE arm
#include <boost/test/included/unit_test.hpp>

// clang-format off
#include "backend/host/instruction_set.cpp"
#include "backend/host/packed_matrix.cpp"
#include "backend/host/product.cpp"
#include "backend/host/rows.cpp"
// clang-format on

BOOST_AUTO_TEST_SUITE(emulated_arm)

BOOST_AUTO_TEST_CASE(there_are_the_kernels_that_this_is_about) {
    BOOST_TEST(augur::backend::host::is_supported(augur::backend::host::instruction_set::neon));
    BOOST_TEST(augur::backend::host::is_supported(augur::backend::host::instruction_set::neon_dot));
}

BOOST_AUTO_TEST_SUITE_END()
