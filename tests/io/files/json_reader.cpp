#include "augur/io/files/json_reader.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "io/files.hpp"

using augur::io::json_reader;
using augur::testing::says;
using nlohmann::json;

namespace {

/// The value of the key `length` read as a T.
template <class T>
T read(const json& value, const augur::io::json_range<T>& range = {}) {
    const json object{{"length", value}};
    return json_reader<>(object, "file.json").required<T>("length", range);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_json_reader)

BOOST_AUTO_TEST_CASE(values_are_what_they_are) {
    BOOST_TEST(read<bool>(true));
    BOOST_TEST(read<std::string>("a") == "a");
    BOOST_TEST(read<std::uint64_t>(18446744073709551615u) == 18446744073709551615u);
    BOOST_TEST(read<std::int64_t>(-5) == -5);
    BOOST_TEST(read<std::int8_t>(-128) == -128);
    BOOST_TEST(read<double>(3) == 3.0);
    BOOST_TEST(read<float>(-1e30) == -1e30f);
    BOOST_TEST((read<std::vector<int>>({1, 2}) == std::vector<int>{1, 2}));
    BOOST_TEST((read<std::vector<std::string>>(json::array()) == std::vector<std::string>{}));
}

BOOST_AUTO_TEST_CASE(a_count_is_a_whole_number_in_range) {
    for (const auto* number :
         {"1e30", "-1", "1.5", "64.0", "65", "0", "18446744073709551616", "-9223372036854775808"}) {
        BOOST_CHECK_EXCEPTION(read<std::size_t>(json::parse(number), {1, 64}), augur::error,
                              says({"file.json: length must be a whole number within 1..64, but is"}));
    }
    BOOST_CHECK_EXCEPTION(read<std::size_t>(1e30), augur::error, says({"'1e+30'"}));
    BOOST_CHECK_EXCEPTION(read<std::size_t>(-1), augur::error, says({"0..18446744073709551615", "'-1'"}));
    BOOST_CHECK_EXCEPTION(read<std::uint8_t>(256), augur::error, says({"0..255", "'256'"}));
    BOOST_CHECK_EXCEPTION(read<std::int8_t>(-129), augur::error, says({"-128..127"}));
    BOOST_TEST(read<std::size_t>(1, {1, 64}) == 1u);
    BOOST_TEST(read<std::size_t>(64, {1, 64}) == 64u);
    BOOST_CHECK_EXCEPTION(read<std::vector<int>>({4, 3, 9}, {1, 8}), augur::error,
                          says({"length[2] must be a whole number within 1..8, but is '9'"}));
}

BOOST_AUTO_TEST_CASE(a_number_is_in_range) {
    BOOST_TEST(read<double>(1e300) == 1e300);
    BOOST_TEST(read<double>(0.0, {0.0, 2.0}) == 0.0);
    BOOST_TEST(read<double>(2.0, {0.0, 2.0}) == 2.0);
    BOOST_CHECK_EXCEPTION(read<double>(1e300, {0.0, 2.0}), augur::error,
                          says({"length must be a number within 0..2, but is '1e+300'"}));
    BOOST_CHECK_EXCEPTION(read<double>(-0.5, {0.0, 2.0}), augur::error, says({"'-0.5'"}));
    BOOST_CHECK_EXCEPTION(read<float>(1e39), augur::error, says({"1e+39"}));
    BOOST_TEST(read<float>(0.0) == 0.0F);
    BOOST_TEST(read<float>(-1e-45) < 0);
    BOOST_TEST(read<double>(1e-46) > 0);
    BOOST_CHECK_EXCEPTION(read<std::vector<float>>({1, 1e-46}), augur::error,
                          says({"length[1] must be a number that 32 bits can tell from 0, but is '1e-46'"}));
}

BOOST_AUTO_TEST_CASE(a_wrong_type_is_an_error) {
    const json wrong{{"a", json::array({"x"})}};
    for (const json& value : {json("5"), json(true), wrong, json::array({1})}) {
        BOOST_CHECK_EXCEPTION(read<int>(value), augur::error, says({"length must be a whole number"}));
        BOOST_CHECK_EXCEPTION(read<double>(value), augur::error, says({"length must be a number, but is"}));
    }
    BOOST_CHECK_EXCEPTION(read<bool>(1), augur::error, says({"true or false, but is '1'"}));
    BOOST_CHECK_EXCEPTION(read<std::string>(wrong), augur::error, says({"a string, but is '{\"a\":[\"x\"]}'"}));
    BOOST_CHECK_EXCEPTION(read<std::vector<int>>(wrong), augur::error, says({"an array, but is"}));
    BOOST_CHECK_EXCEPTION(read<std::vector<int>>(json::array({1, "a"})), augur::error, says({"length[1]", "'\"a\"'"}));
    BOOST_CHECK_EXCEPTION(json_reader(json(5), "file.json"), augur::error, says({"file.json: a JSON object", "'5'"}));
}

BOOST_AUTO_TEST_CASE(an_absent_key_is_absent_and_so_is_null) {
    const json object{{"none", nullptr}, {"text", "a"}, {"inner", {{"n", -1}}}, {"list", {1}}};
    const json_reader in(object, "file.json");
    BOOST_CHECK_EXCEPTION(in.required<int>("n"), augur::error, says({"file.json: the key n is missing"}));
    BOOST_CHECK_EXCEPTION(in.required<int>("none"), augur::error, says({"the key none is missing"}));
    BOOST_TEST(!in.optional<int>("n").has_value());
    BOOST_TEST(in.value_or<int>("none", 7) == 7);
    BOOST_TEST(in.optional<std::string>("text").value() == "a");
    BOOST_CHECK_EXCEPTION(in.value_or<int>("text", 7), augur::error, says({"text must be a whole number"}));
    BOOST_TEST(!in.object("none").has_value());
    BOOST_CHECK_EXCEPTION(in.object("inner")->required<unsigned>("n"), augur::error, says({"file.json: inner: n"}));
    BOOST_CHECK_EXCEPTION(in.object("text"), augur::error, says({"file.json: text: a JSON object"}));
    BOOST_TEST(in.array("none") == nullptr);
    BOOST_TEST(in.array("list")->size() == 1u);
    BOOST_CHECK_EXCEPTION(in.array("text"), augur::error, says({"text must be an array, but is '\"a\"'"}));
    BOOST_TEST(in.required_array("list").size() == 1u);
    BOOST_CHECK_EXCEPTION(in.required_array("none"), augur::error, says({"the key none is missing"}));
    BOOST_CHECK_EXCEPTION(in.required_array("text"), augur::error, says({"text must be an array, but is '\"a\"'"}));
}

BOOST_AUTO_TEST_CASE(what_is_shown_is_cut_and_escaped) {
    BOOST_CHECK_EXCEPTION(read<int>("\x1b[2J\xc2\x9b" + std::string(5000000, 'x')), augur::error,
                          [](const augur::error& caught) {
                              const std::string text = caught.what();
                              return text.size() < 200 && text.find('\x1b') == text.npos &&
                                     text.find("\\xc2\\x9bxx") != text.npos && text.find("bytes)") != text.npos;
                          });
    BOOST_CHECK_EXCEPTION(read<int>(json(std::vector<int>(100000))), augur::error, says({"is an array of 100000"}));
}

BOOST_AUTO_TEST_SUITE_END()
