#include "augur/io/files/quantize.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "augur/io/files/dequantize.hpp"
#include "io/files.hpp"

using namespace augur::io;

namespace {

std::vector<std::byte> read_vector(const std::string& file) {
    return augur::testing::read_file(std::filesystem::path(AUGUR_TEST_DATA) / "io" / file);
}

std::string refusal(tensor_type type, const std::vector<float>& in, std::size_t bytes) {
    std::vector<std::byte> out(bytes);
    try {
        quantize(type, in, out);
    } catch (const augur::error& caught) {
        return caught.what();
    }
    return "accepted";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_quantize)

BOOST_AUTO_TEST_CASE(every_format_is_bit_exact_with_the_gguf_package) {
    const auto stored = read_vector("quantize.floats");
    std::vector<float> numbers(stored.size() / sizeof(float));
    std::memcpy(numbers.data(), stored.data(), stored.size());
    BOOST_TEST_REQUIRE(numbers.size() == 9 * 32u);
    for (const auto type :
         {tensor_type::f16, tensor_type::bf16, tensor_type::q8_0, tensor_type::q4_0, tensor_type::q4_1}) {
        const auto wanted = read_vector(std::string(name_of(type)) + ".quantized");
        std::vector<std::byte> found(wanted.size());
        quantize(type, numbers, found);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            BOOST_TEST(std::to_integer<int>(found[i]) == std::to_integer<int>(wanted[i]), name_of(type)
                                                                                              << " byte " << i);
        }
    }
}

BOOST_AUTO_TEST_CASE(halves_of_eight_bits_round_away_from_zero) {
    std::vector<float> in(32, 0.0f);
    const std::vector<std::pair<float, int>> cases{{127, 127},  {0.5f, 1},   {1.5f, 2},   {2.5f, 3},
                                                   {-0.5f, -1}, {-1.5f, -2}, {-2.5f, -3}, {0.25f, 0}};
    for (std::size_t i = 0; i < cases.size(); ++i) in[i] = cases[i].first;  // of a scale of 1
    std::vector<std::byte> out(34);
    quantize(tensor_type::q8_0, in, out);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        BOOST_TEST(static_cast<int>(std::to_integer<std::int8_t>(out[2 + i])) == cases[i].second, cases[i].first);
    }
}

BOOST_AUTO_TEST_CASE(halves_round_to_nearest_even_and_keep_what_is_no_number) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const float value = augur::detail::half_to_float(static_cast<std::uint16_t>(bits));
        if (value == value) BOOST_TEST(augur::detail::float_to_half(value) == bits);
    }
    BOOST_TEST(augur::detail::float_to_half(1.0f + 0x1p-11f) == 0x3c00);
    BOOST_TEST(augur::detail::float_to_half(1.0f + 3 * 0x1p-11f) == 0x3c02);
    BOOST_TEST(augur::detail::float_to_half(65519.0f) == 0x7bff);
    BOOST_TEST(augur::detail::float_to_half(-65520.0f) == 0xfc00);
    BOOST_TEST(augur::detail::float_to_half(0x1p-25f) == 0);
    BOOST_TEST(augur::detail::float_to_half(0x1.8p-25f) == 1);
    BOOST_TEST((augur::detail::float_to_half(std::numeric_limits<float>::quiet_NaN()) & 0x7fff) > 0x7c00);
    BOOST_TEST(augur::detail::float_to_bfloat16(1.0f + 0x1p-8f) == 0x3f80);
    BOOST_TEST(augur::detail::float_to_bfloat16(1.0f + 3 * 0x1p-8f) == 0x3f82);
    BOOST_TEST((augur::detail::float_to_bfloat16(std::numeric_limits<float>::quiet_NaN()) & 0x7fff) > 0x7f80);
}

BOOST_AUTO_TEST_CASE(five_bits_fit_eight_exactly) {
    const auto blocks = read_vector("q5_0.blocks");
    const std::size_t count = blocks.size() / block_bytes(tensor_type::q5_0);
    std::vector<std::byte> wide(count * block_bytes(tensor_type::q8_0));
    widen_q5_0(blocks, wide);
    std::vector<float> wanted(count * 32), found(count * 32);
    dequantize(tensor_type::q5_0, blocks, wanted);
    dequantize(tensor_type::q8_0, wide, found);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        BOOST_TEST((found[i] == wanted[i] || (found[i] != found[i] && wanted[i] != wanted[i])), i);
    }
}

BOOST_AUTO_TEST_CASE(four_bits_fit_eight_exactly) {
    const auto blocks = read_vector("q4_0.blocks");
    const std::size_t count = blocks.size() / block_bytes(tensor_type::q4_0);
    std::vector<std::byte> wide(count * block_bytes(tensor_type::q8_0));
    widen_q4_0(blocks, wide);
    std::vector<float> wanted(count * 32), found(count * 32);
    dequantize(tensor_type::q4_0, blocks, wanted);
    dequantize(tensor_type::q8_0, wide, found);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        BOOST_TEST((found[i] == wanted[i] || (found[i] != found[i] && wanted[i] != wanted[i])), i);
    }
}

BOOST_AUTO_TEST_CASE(three_bits_fit_six_exactly) {
    const auto blocks = read_vector("q3_k.blocks");
    const std::size_t count = blocks.size() / block_bytes(tensor_type::q3_k);
    std::vector<std::byte> wide(count * block_bytes(tensor_type::q6_k));
    BOOST_TEST(widen_exactly(tensor_type::q3_k, tensor_type::q6_k, blocks, wide));
    std::vector<float> wanted(count * 256), found(count * 256);
    dequantize(tensor_type::q3_k, blocks, wanted);
    dequantize(tensor_type::q6_k, wide, found);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        BOOST_TEST((found[i] == wanted[i] || (found[i] != found[i] && wanted[i] != wanted[i])), i);
    }
    BOOST_TEST(!widen_exactly(tensor_type::q3_k, tensor_type::q8_0, blocks, wide));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_stored_is_refused_with_its_numbers) {
    BOOST_TEST(refusal(tensor_type::q8_0, std::vector<float>(33), 34) ==
               "quantize: 33 numbers do not make 34 bytes of q8_0, 32 numbers in 34 bytes");
    BOOST_TEST(refusal(tensor_type::q8_0, std::vector<float>(32), 33) ==
               "quantize: 32 numbers do not make 33 bytes of q8_0, 32 numbers in 34 bytes");
    std::vector<float> broken(32);
    broken[5] = std::numeric_limits<float>::infinity();
    BOOST_TEST(refusal(tensor_type::q4_0, broken, 18) == "quantize: inf has no place in a block of q4_0");
    BOOST_TEST(refusal(tensor_type::f16, {broken[5]}, 2) == "accepted");
    BOOST_TEST(refusal(tensor_type::q4_k, std::vector<float>(256), 144) == "quantize: to q4_k is not supported");
}

BOOST_AUTO_TEST_SUITE_END()
