#include "augur/backend/host/instruction_set.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <vector>

namespace {

using namespace augur::backend::host;
using enum instruction_set;

BOOST_AUTO_TEST_SUITE(backend_instruction_set)

instruction_set fastest_of(const std::vector<instruction_set>& there_are, bool by_intel) {
    return fastest(
        [&](instruction_set set) { return std::find(there_are.begin(), there_are.end(), set) != there_are.end(); },
        by_intel);
}

BOOST_AUTO_TEST_CASE(tiles_come_first_and_portable_code_last) {
    for (const bool by_intel : {false, true}) {
        BOOST_TEST((fastest_of({portable, avx2, avx512, avx512_bf16, amx}, by_intel) == amx));
        BOOST_TEST((fastest_of({portable, avx2, avx512}, by_intel) == avx512));
        BOOST_TEST((fastest_of({portable, avx2}, by_intel) == avx2));
        BOOST_TEST((fastest_of({portable, neon, neon_dot}, by_intel) == neon_dot));
        BOOST_TEST((fastest_of({portable, neon}, by_intel) == neon));
        BOOST_TEST((fastest_of({portable}, by_intel) == portable));
    }
}

BOOST_AUTO_TEST_CASE(dot_products_of_pairs_are_left_out_where_they_are_slow) {
    BOOST_TEST((fastest_of({portable, avx2, avx512, avx512_bf16}, false) == avx512_bf16));
    BOOST_TEST((fastest_of({portable, avx2, avx512, avx512_bf16}, true) == avx512));
}

BOOST_AUTO_TEST_CASE(the_automatic_set_is_supported_and_others_are_as_asked) {
    BOOST_TEST((resolve(automatic) != automatic));
    BOOST_TEST(is_supported(resolve(automatic)));
    BOOST_TEST((resolve(portable) == portable));
    for (const auto set : all_instruction_sets) {
        if (!is_supported(set)) BOOST_CHECK_THROW(resolve(set), augur::error);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
