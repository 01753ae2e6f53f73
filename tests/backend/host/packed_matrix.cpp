#include "augur/backend/host/packed_matrix.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "backend/host/matrices.hpp"

BOOST_AUTO_TEST_SUITE(backend_packed_matrix)

using namespace augur::testing;

BOOST_AUTO_TEST_CASE(rows_come_back_as_dequantisation_gives_them) {
    std::mt19937 random(1);
    for (const auto format : all_formats) {
        for (const std::size_t depth : depths_of(format)) {
            const auto [packed, widened] = random_matrix(format, 37, depth, random);
            std::vector<float> found(depth), wanted(depth);
            for (std::size_t row = 0; row < 37; ++row) {
                packed.unpack_row(row, found);
                widened.unpack_row(row, wanted);
                BOOST_TEST(same_bits(found, wanted), host::name_of(format) << " row " << row);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(selected_rows_are_the_same_bits) {
    std::mt19937 random(2);
    const std::vector<std::size_t> chosen{36, 0, 17, 17, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 31, 32, 1};
    for (const auto format : all_formats) {
        for (const std::size_t depth : depths_of(format)) {
            const auto [packed, widened] = random_matrix(format, 37, depth, random);
            static_cast<void>(widened);
            const auto some = packed.selected(chosen);
            BOOST_TEST(some.rows() == chosen.size());
            BOOST_TEST((some.format() == format));
            std::vector<float> found(depth), wanted(depth);
            for (std::size_t row = 0; row < chosen.size(); ++row) {
                some.unpack_row(row, found);
                packed.unpack_row(chosen[row], wanted);
                BOOST_TEST(same_bits(found, wanted), host::name_of(format) << " row " << row);
            }
            BOOST_CHECK_THROW(packed.selected(std::vector<std::size_t>{37}), augur::error);
        }
    }
}

BOOST_AUTO_TEST_CASE(halves_widen_exactly) {
    BOOST_TEST(augur::detail::half_to_float(0x0001) == 0x1p-24f);
    BOOST_TEST(augur::detail::half_to_float(0x03ff) == 1023 * 0x1p-24f);
    BOOST_TEST(augur::detail::half_to_float(0x0400) == 0x1p-14f);
    BOOST_TEST(augur::detail::half_to_float(0xbc00) == -1.0f);
    BOOST_TEST(augur::detail::half_to_float(0x7bff) == 65504.0f);
    BOOST_TEST(std::isinf(augur::detail::half_to_float(0xfc00)));
    BOOST_TEST(std::isnan(augur::detail::half_to_float(0x7e00)));
    BOOST_TEST(std::signbit(augur::detail::half_to_float(0x8000)));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_packed_is_refused_with_its_numbers) {
    const auto message_of = [](auto&& act) {
        try {
            act();
        } catch (const augur::error& caught) {
            return std::string(caught.what());
        }
        return std::string();
    };
    BOOST_TEST(message_of([] { host::packed_matrix(host::storage::q4_0, 4, 48); }) ==
               "q4_0 packs blocks of 32, which 48 is no multiple of");
    BOOST_TEST(message_of([] { host::packed_matrix(host::storage::f32, 0, 48); }) ==
               "a packed matrix of 0 rows by 48 has no weights");
    host::packed_matrix matrix(host::storage::f32, 4, 48);
    BOOST_TEST(message_of([&] { matrix.set_row(4, std::vector<std::byte>(192)); }) == "row 4 of a matrix of 4 rows");
    BOOST_TEST(message_of([&] { matrix.set_row(3, std::vector<std::byte>(191)); }) ==
               "a row of this matrix has 192 bytes, not 191");
}

BOOST_AUTO_TEST_SUITE_END()
