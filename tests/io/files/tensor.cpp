#include "augur/io/files/tensor.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>
#include <span>
#include <vector>

#include "io/files.hpp"

using namespace augur::io;
using augur::testing::says;

BOOST_AUTO_TEST_SUITE(io_tensor)

namespace {

constexpr auto most = std::numeric_limits<std::uint64_t>::max();

std::uint64_t bytes_of(tensor_type type, const std::vector<std::uint64_t>& shape) {
    return byte_count("t", type, shape);
}

}  // namespace

static_assert(name_of(tensor_type::q4_k) == "q4_k" && block_size(tensor_type::q4_k) == 256);
static_assert(block_size(tensor_type::q5_0) == 32 && block_bytes(tensor_type::q5_1) == 24);
static_assert(block_size(tensor_type::i32) == 1 && block_bytes(tensor_type::i32) == 4);
static_assert(block_bytes(tensor_type::q4_k) == 144 && block_bytes(tensor_type::f32) == 4);

BOOST_AUTO_TEST_CASE(rows_and_columns) {
    const tensor_view tensor{"t", tensor_type::f32, {2, 3, 4}, {}};
    BOOST_TEST(tensor.columns() == 4u);
    BOOST_TEST(tensor.rows() == 6u);
    BOOST_TEST(tensor.element_count() == 24u);
    BOOST_TEST(shape_text(tensor.shape) == "{2, 3, 4}");
    BOOST_TEST(shape_text({}) == "{}");
    BOOST_TEST(shape_text(std::vector<std::uint64_t>(8, 1)) == "{1, 1, 1, 1, 1, 1, 1, 1}");
    BOOST_TEST(shape_text(std::vector<std::uint64_t>(1'000'000, 1)) ==
               "{1, 1, 1, 1, 1, 1, 1, 1... (1000000 dimensions)}");
}

BOOST_AUTO_TEST_CASE(bytes_are_copied_out_of_memory) {
    const std::vector<float> numbers{1, 2, 3};
    const tensor_view tensor{"t", tensor_type::f32, {3}, std::as_bytes(std::span(numbers))};
    BOOST_TEST((tensor.read() == std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end())));
    float last = 0;
    tensor.read(8, std::as_writable_bytes(std::span(&last, 1)));
    BOOST_TEST(last == 3.0f);
}

BOOST_AUTO_TEST_CASE(bytes_are_whole_blocks) {
    BOOST_TEST(bytes_of(tensor_type::f16, {3, 5}) == 30u);
    BOOST_TEST(bytes_of(tensor_type::q6_k, {3, 512}) == 3u * 2 * 210);
    BOOST_TEST(bytes_of(tensor_type::bf16, {most / 2}) == most - 1);
    BOOST_CHECK_EXCEPTION(bytes_of(tensor_type::q8_0, {32, 33}), augur::error,
                          says({"t has rows of 33", "q8_0", "32"}));
}

BOOST_AUTO_TEST_CASE(shapes_that_are_none) {
    BOOST_CHECK_EXCEPTION(bytes_of(tensor_type::f32, {}), augur::error, says({"t has no dimensions"}));
    BOOST_CHECK_EXCEPTION(bytes_of(tensor_type::f32, {3, 0}), augur::error, says({"dimension of 0", "{3, 0}"}));
    BOOST_CHECK_EXCEPTION(bytes_of(tensor_type::f32, {most / 2 + 1}), augur::error,
                          says({"2^63-1", "9223372036854775808"}));
    BOOST_CHECK_EXCEPTION(bytes_of(tensor_type::f32, {most / 2}), augur::error,
                          says({"2^64 bytes", "9223372036854775807"}));
}

BOOST_AUTO_TEST_CASE(a_number_that_is_no_type_is_named) {
    BOOST_CHECK_EXCEPTION(name_of(static_cast<tensor_type>(77)), augur::error, says({"77"}));
}

BOOST_AUTO_TEST_SUITE_END()
