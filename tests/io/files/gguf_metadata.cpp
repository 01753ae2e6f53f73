#include "augur/io/files/gguf_metadata.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "io/files.hpp"
#include "io/gguf_writer.hpp"

using namespace augur::io;
using augur::testing::gguf_writer;
using augur::testing::says;

static_assert(MetadataType<bool> && MetadataType<std::int8_t> && MetadataType<std::uint64_t> && MetadataType<float>);
static_assert(MetadataType<std::string> && !MetadataType<const char*> && !MetadataType<long double>);

namespace {

/// Every type once, each under its own name.
struct sample {
    std::vector<std::byte> image = gguf_writer()
                                       .set("u8", std::uint8_t{255})
                                       .set("i8", std::int8_t{-128})
                                       .set("u16", std::uint16_t{65535})
                                       .set("i16", std::int16_t{-32768})
                                       .set("u32", std::uint32_t{4294967295})
                                       .set("i32", std::int32_t{-2147483647 - 1})
                                       .set("u64", std::uint64_t{18446744073709551615u})
                                       .set("i64", std::numeric_limits<std::int64_t>::min())
                                       .set("f32", 0.1f)
                                       .set("f64", 1e300)
                                       .set("yes", true)
                                       .set("no", false)
                                       .set("text", "tokens \xc3\xa9")
                                       .set("nothing", "")
                                       .set("flags", std::vector<bool>{true, false})
                                       .set("bytes", std::vector<std::uint8_t>{1, 200})
                                       .set("words", std::vector<std::string>{"a", "", "b"})
                                       .set("none", std::vector<float>{})
                                       .bytes();
    gguf_view file{image, "sample.gguf"};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(io_gguf_metadata, sample)

BOOST_AUTO_TEST_CASE(every_type_comes_back) {
    BOOST_TEST(file.get<std::uint8_t>("u8") == 255);
    BOOST_TEST(file.get<std::int8_t>("i8") == -128);
    BOOST_TEST(file.get<std::uint16_t>("u16") == 65535);
    BOOST_TEST(file.get<std::int16_t>("i16") == -32768);
    BOOST_TEST(file.get<std::uint32_t>("u32") == 4294967295u);
    BOOST_TEST(file.get<std::int32_t>("i32") == std::numeric_limits<std::int32_t>::min());
    BOOST_TEST(file.get<std::uint64_t>("u64") == 18446744073709551615u);
    BOOST_TEST(file.get<std::int64_t>("i64") == std::numeric_limits<std::int64_t>::min());
    BOOST_TEST(file.get<float>("f32") == 0.1f);
    BOOST_TEST(file.get<double>("f64") == 1e300);
    BOOST_TEST(file.get<bool>("yes"));
    BOOST_TEST(!file.get<bool>("no"));
    BOOST_TEST(file.get<std::string>("text") == "tokens \xc3\xa9");
    BOOST_TEST(file.get<std::string>("nothing").empty());
    BOOST_TEST(file.array<bool>("flags") == std::vector<bool>({true, false}));
    BOOST_TEST(file.array<std::string>("words") == std::vector<std::string>({"a", "", "b"}));
    BOOST_TEST(file.array<double>("none").empty());
}

BOOST_AUTO_TEST_CASE(integers_convert_when_in_range) {
    BOOST_TEST(file.get<std::int64_t>("u32") == 4294967295);
    BOOST_TEST(file.get<std::int16_t>("i8") == -128);
    BOOST_TEST(file.array<std::int64_t>("bytes") == std::vector<std::int64_t>({1, 200}));
    BOOST_CHECK_EXCEPTION(file.get<std::int64_t>("u64"), augur::error,
                          says({"sample.gguf", "'u64'", "wanted as i64", "u64 18446744073709551615"}));
    BOOST_CHECK_EXCEPTION(file.get<std::uint64_t>("i8"), augur::error, says({"'i8'", "wanted as u64", "i8 -128"}));
    BOOST_CHECK_EXCEPTION(file.array<std::int8_t>("bytes"), augur::error, says({"'bytes'", "wanted as i8", "u8 200"}));
}

BOOST_AUTO_TEST_CASE(floating_point_converts_when_nothing_is_lost) {
    BOOST_TEST(file.get<double>("f32") == double{0.1f});
    BOOST_TEST(file.get<double>("u32") == 4294967295.0);
    BOOST_CHECK_EXCEPTION(file.get<float>("f64"), augur::error, says({"'f64'", "wanted as f32", "f64 1e+300"}));
    BOOST_CHECK_EXCEPTION(file.get<float>("u32"), augur::error, says({"'u32'", "u32 4294967295"}));
    BOOST_CHECK_EXCEPTION(file.get<double>("u64"), augur::error, says({"'u64'"}));
    const auto below =
        gguf_writer().set("exact", -(std::int64_t{1} << 53)).set("inexact", -(std::int64_t{1} << 53) - 1).bytes();
    BOOST_TEST(gguf_view(below).get<double>("exact") == -9007199254740992.0);
    BOOST_CHECK_EXCEPTION(gguf_view(below).get<double>("inexact"), augur::error, says({"'inexact'", "wanted as f64"}));
    BOOST_CHECK_EXCEPTION(file.get<int>("f32"), augur::error, says({"'f32'", "wanted as i32", "f32 0.1"}));
    const auto limits = gguf_writer().set("inf", -INFINITY).set("nan", std::nan("")).bytes();
    BOOST_TEST(gguf_view(limits).get<double>("inf") == -std::numeric_limits<double>::infinity());
    BOOST_TEST(std::isnan(gguf_view(limits).get<float>("nan")));
}

BOOST_AUTO_TEST_CASE(booleans_and_strings_are_only_themselves) {
    BOOST_CHECK_EXCEPTION(file.get<bool>("u8"), augur::error, says({"wanted as bool", "u8 255"}));
    BOOST_CHECK_EXCEPTION(file.get<int>("yes"), augur::error, says({"wanted as i32", "bool 1"}));
    BOOST_CHECK_EXCEPTION(file.get<int>("text"), augur::error, says({"wanted as i32", "string 'tokens \\xc3\\xa9'"}));
    BOOST_CHECK_EXCEPTION(file.get<std::string>("u8"), augur::error, says({"wanted as string", "u8 255"}));
    const std::byte two[] = {std::byte{2}};
    const auto odd = gguf_writer().raw_value("odd", 7, two).bytes();
    BOOST_CHECK_EXCEPTION(gguf_view(odd).get<bool>("odd"), augur::error, says({"boolean is stored as 2"}));
}

BOOST_AUTO_TEST_CASE(one_value_is_not_an_array) {
    BOOST_CHECK_EXCEPTION(file.array<std::uint8_t>("u8"), augur::error, says({"'u8'", "an array of u8", "one u8"}));
    BOOST_CHECK_EXCEPTION(file.get<std::string>("words"), augur::error,
                          says({"'words'", "one string", "array of string"}));
}

BOOST_AUTO_TEST_CASE(a_fallback_stands_in_only_for_an_absent_key) {
    BOOST_TEST(file.get_or<int>("absent", 3) == 3);
    BOOST_TEST(file.get_or<std::string>("text", "x") == "tokens \xc3\xa9");
    BOOST_CHECK_EXCEPTION(file.get_or<int>("text", 3), augur::error, says({"'text'"}));
}

BOOST_AUTO_TEST_SUITE_END()
