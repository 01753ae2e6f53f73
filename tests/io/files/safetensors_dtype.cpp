#include "augur/io/files/safetensors_dtype.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "io/files.hpp"

using namespace augur::io;
using augur::testing::says;

namespace {

std::uint64_t bytes_of(std::string_view dtype, const std::vector<std::uint64_t>& shape) {
    return byte_count("t", find_safetensors_dtype(dtype).value(), shape);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_safetensors_dtype)

static_assert(find_safetensors_dtype("F32")->type == tensor_type::f32);
static_assert(find_safetensors_dtype("F16")->type == tensor_type::f16);
static_assert(find_safetensors_dtype("BF16")->type == tensor_type::bf16);
static_assert(find_safetensors_dtype("I64") && !find_safetensors_dtype("I64")->type);
static_assert(!find_safetensors_dtype("") && !find_safetensors_dtype("F3") && !find_safetensors_dtype("f32"));

BOOST_AUTO_TEST_CASE(sizes_are_those_of_the_format) {
    for (const auto* dtype : {"F64", "I64", "U64", "C64"}) BOOST_TEST(bytes_of(dtype, {2, 3}) == 48u, dtype);
    for (const auto* dtype : {"F32", "I32", "U32"}) BOOST_TEST(bytes_of(dtype, {2, 3}) == 24u, dtype);
    for (const auto* dtype : {"F16", "BF16", "I16", "U16"}) BOOST_TEST(bytes_of(dtype, {2, 3}) == 12u, dtype);
    for (const auto* dtype : {"BOOL", "I8", "U8", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "F8_E5M2FNUZ", "F8_E8M0"}) {
        BOOST_TEST(bytes_of(dtype, {2, 3}) == 6u, dtype);
    }
    for (const auto* dtype : {"F6_E2M3", "F6_E3M2"}) BOOST_TEST(bytes_of(dtype, {2, 4}) == 6u, dtype);
    BOOST_TEST(bytes_of("F4", {2, 3}) == 3u);
}

BOOST_AUTO_TEST_CASE(a_dtype_that_is_read_has_its_types_size) {
    for (const auto* dtype : {"F32", "F16", "BF16", "U8"}) {
        const auto type = find_safetensors_dtype(dtype).value().type.value();
        BOOST_TEST(bytes_of(dtype, {3, 5}) == byte_count("t", type, std::vector<std::uint64_t>{3, 5}), dtype);
    }
}

BOOST_AUTO_TEST_CASE(shapes_that_have_no_size) {
    BOOST_CHECK_EXCEPTION(bytes_of("F4", {3}), augur::error, says({"t of shape {3}", "F4 takes 12 bits"}));
    BOOST_CHECK_EXCEPTION(bytes_of("F6_E3M2", {2, 1}), augur::error, says({"{2, 1}", "F6_E3M2 takes 12 bits"}));
    BOOST_CHECK_EXCEPTION(bytes_of("I64", {std::uint64_t{1} << 58}), augur::error,
                          says({"t of shape {288230376151711744}", "I64 exceeds 2^64 bits"}));
    BOOST_CHECK_EXCEPTION(bytes_of("U8", {std::uint64_t{1} << 63}), augur::error, says({"2^63-1"}));
    BOOST_CHECK_EXCEPTION(bytes_of("U8", {4, 0}), augur::error, says({"dimension of 0 in {4, 0}"}));
}

BOOST_AUTO_TEST_SUITE_END()
