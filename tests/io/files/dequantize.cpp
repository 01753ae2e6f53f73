#include "augur/io/files/dequantize.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "io/files.hpp"

using namespace augur::io;

namespace augur::io {
static std::ostream& operator<<(std::ostream& out, tensor_type type) {
    return out << name_of(type);
}
}  // namespace augur::io

namespace {

const tensor_type every_type[] = {tensor_type::f32,  tensor_type::f16,    tensor_type::bf16,   tensor_type::q8_0,
                                  tensor_type::q4_0, tensor_type::q4_1,   tensor_type::q5_0,   tensor_type::q5_1,
                                  tensor_type::q2_k, tensor_type::q3_k,   tensor_type::q4_k,   tensor_type::q5_k,
                                  tensor_type::q6_k, tensor_type::iq4_nl, tensor_type::iq4_xs, tensor_type::mxfp4};

std::vector<std::byte> read_vector(tensor_type type, const char* extension) {
    const auto file = std::string(name_of(type)) + extension;
    return augur::testing::read_file(std::filesystem::path(AUGUR_TEST_DATA) / "io" / file);
}

bool same_bits_or_both_nan(float a, float b) {
    return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

float half_by_definition(std::uint16_t bits) {
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    const float sign = bits & 0x8000 ? -1.0f : 1.0f;
    if (exponent == 31) return fraction ? std::nanf("") : sign * std::numeric_limits<float>::infinity();
    return sign * (exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                 : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_dequantize)

BOOST_AUTO_TEST_CASE(every_format_is_bit_exact_with_the_gguf_package) {
    for (const auto type : every_type) {
        const auto blocks = read_vector(type, ".blocks");
        const auto stored = read_vector(type, ".floats");
        std::vector<float> expected(stored.size() / sizeof(float));
        std::memcpy(expected.data(), stored.data(), stored.size());
        BOOST_TEST_REQUIRE(expected.size() >= 11u);
        std::vector<float> found(expected.size(), -1.0f);
        dequantize(type, blocks, found);
        for (std::size_t i = 0; i < expected.size(); ++i) {
            BOOST_TEST_CONTEXT(type << " element " << i << ": " << found[i] << " against " << expected[i]) {
                BOOST_TEST(same_bits_or_both_nan(found[i], expected[i]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(blocks_need_no_alignment) {
    for (const auto type : every_type) {
        const auto blocks = read_vector(type, ".blocks");
        std::vector<float> expected(blocks.size() / block_bytes(type) * block_size(type));
        dequantize(type, blocks, expected);
        std::vector<std::byte> shifted(1);
        shifted.insert(shifted.end(), blocks.begin(), blocks.end());
        std::vector<float> found(expected.size());
        dequantize(type, std::span(shifted).subspan(1), found);
        BOOST_TEST(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)) == 0, type);
    }
}

BOOST_AUTO_TEST_CASE(every_half_is_the_number_it_denotes) {
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        BOOST_TEST_REQUIRE(same_bits_or_both_nan(augur::detail::half_to_float(half), half_by_definition(half)), bits);
    }
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_match_are_refused_with_both) {
    const std::vector<std::byte> blocks(36);
    std::vector<float> out(64);
    dequantize(tensor_type::q4_0, blocks, out);
    const auto names = [](const char* a, const char* b) {
        return [=](const augur::error& e) {
            return std::string(e.what()).find(a) != std::string::npos &&
                   std::string(e.what()).find(b) != std::string::npos;
        };
    };
    BOOST_CHECK_EXCEPTION(dequantize(tensor_type::q4_0, blocks, std::span(out).first(32)), augur::error,
                          names("36 bytes of q4_0", "32 floats"));
    BOOST_CHECK_EXCEPTION(dequantize(tensor_type::q4_0, std::span(blocks).first(35), out), augur::error,
                          names("35 bytes", "64 floats"));
    BOOST_CHECK_EXCEPTION(dequantize(tensor_type::q4_0, blocks, std::span(out).first(63)), augur::error,
                          names("36 bytes", "63 floats"));
    BOOST_CHECK_EXCEPTION(dequantize(tensor_type::i32, std::span(blocks).first(4), std::span(out).first(1)),
                          augur::error, names("i32", "weights"));
    BOOST_CHECK_EXCEPTION(dequantize(static_cast<tensor_type>(99), blocks, out), augur::error, names("99", "type"));
}

BOOST_AUTO_TEST_CASE(nothing_is_dequantized_to_nothing) {
    for (const auto type : every_type) BOOST_CHECK_NO_THROW(dequantize(type, {}, {}));
}

BOOST_AUTO_TEST_SUITE_END()
