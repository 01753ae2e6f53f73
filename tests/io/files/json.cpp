#include "augur/io/files/json.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <string>

#include "io/files.hpp"

using augur::io::parse_json;
using augur::io::read_json;
using augur::testing::says;
using nlohmann::ordered_json;

namespace {

nlohmann::json parse(const std::string& text, const augur::io::json_limits& limits = {}) {
    return parse_json(text, "config.json", limits);
}

std::string repeated(const std::string& text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_json)

BOOST_AUTO_TEST_CASE(a_document_is_parsed) {
    const auto document = parse(R"({"a":[1,{"a":2},{"a":3}],"b":{"a":true}})");
    BOOST_TEST(document.at("a").at(2).at("a") == 3);
    BOOST_TEST(document.at("b").at("a") == true);
}

BOOST_AUTO_TEST_CASE(every_document_is_what_its_text_says) {
    for (const std::string text :
         {"null", "true", "-3", "18446744073709551615", "1.5", "1e30", "\"\\u00e9\\n\"", "[]", "{}", "[[],{},[[1],2]]",
          R"({"z":{"b":[{"c":null}],"a":""},"y":[{},[false]],"":-0.0})"}) {
        BOOST_TEST(parse(text) == nlohmann::json::parse(text));
        BOOST_TEST(parse_json<ordered_json>(text, "text").dump() == ordered_json::parse(text).dump());
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_json_is_an_error_with_its_place) {
    BOOST_CHECK_EXCEPTION(parse("{\"a\":}"), augur::error, says({"config.json", "column 6"}));
    BOOST_CHECK_EXCEPTION(parse(""), augur::error, says({"config.json: it is empty"}));
    BOOST_CHECK_EXCEPTION(parse(" \n"), augur::error, says({"config.json: it is empty"}));
    BOOST_CHECK_EXCEPTION(parse("text"), augur::error,
                          says({"config.json: it cannot be read as JSON: ", "parse error"}));
    BOOST_CHECK_EXCEPTION(parse("1e999"), augur::error, says({"config.json", "1e999"}));
    BOOST_CHECK_EXCEPTION(parse('"' + std::string(100000, 'x')), augur::error, says({"config.json", "bytes)"}));
    for (const std::size_t zero : {0u, 3u, 4u}) {
        std::string text = "[1] 2";
        text[zero] = '\0';
        BOOST_CHECK_EXCEPTION(parse(text), augur::error,
                              says({"config.json", "byte " + std::to_string(zero) + " of 5 is 0"}));
    }
    BOOST_CHECK_EXCEPTION(parse(std::string("{}\0", 3)), augur::error, says({"byte 2 of 3 is 0"}));
    BOOST_CHECK_EXCEPTION(parse("[1] 2"), augur::error, says({"config.json", "parse error"}));
    BOOST_CHECK_EXCEPTION(parse("\"\xff\""), augur::error, says({"config.json", "UTF-8"}));
    BOOST_CHECK_EXCEPTION(parse("\"\x1b[2J\""), augur::error, says({"config.json", "control character"}));
}

BOOST_AUTO_TEST_CASE(a_key_stands_once_in_its_object) {
    BOOST_CHECK_EXCEPTION(parse(R"({"a":1,"b":{"c":[{"d":1,"d":2}]}})"), augur::error, says({"duplicate key 'd'"}));
    BOOST_CHECK_EXCEPTION(parse(R"({"a":1,"b":[],"a":1})"), augur::error, says({"duplicate key 'a'"}));
    BOOST_CHECK_EXCEPTION(parse_json<ordered_json>(R"({"a":1,"b":[],"a":1})", "text"), augur::error,
                          says({"duplicate key 'a'"}));
    BOOST_CHECK_EXCEPTION(parse(R"({"\u001b[2J":1,"\u001b[2J":1})"), augur::error, says({"'\\x1b[2J'"}));
}

BOOST_AUTO_TEST_CASE(nesting_is_bounded) {
    BOOST_TEST(parse(std::string(64, '[') + std::string(64, ']')).is_array());
    BOOST_CHECK_EXCEPTION(parse(std::string(65, '[') + std::string(65, ']')), augur::error,
                          says({"more than 64 levels"}));
    BOOST_CHECK_EXCEPTION(parse("[[[]]]", {.depth = 2}), augur::error, says({"more than 2 levels"}));
    BOOST_CHECK_EXCEPTION(parse(repeated("{\"a\":", 100000)), augur::error, says({"more than 64 levels"}));
    BOOST_CHECK_EXCEPTION(parse_json<ordered_json>(repeated("[{\"a\":", 75000), "text"), augur::error,
                          says({"more than 64 levels"}));
    BOOST_TEST(parse("[" + repeated("[[]],", 1000) + "0]").size() == 1001u);  // broad is not deep
}

BOOST_AUTO_TEST_CASE(values_are_bounded) {
    BOOST_TEST(parse("[1,[2]]", {.values = 4}).size() == 2u);
    BOOST_CHECK_EXCEPTION(parse("[1,[2,3]]", {.values = 4}), augur::error,
                          says({"config.json", "more than the 4 values"}));
    BOOST_CHECK_EXCEPTION(parse(R"({"a":1,"b":{}})", {.values = 2}), augur::error, says({"more than the 2 values"}));
}

BOOST_AUTO_TEST_CASE(many_keys_take_no_time) {
    std::string text = "{\"0\":0";
    for (int i = 1; i < 60000; ++i) text += ",\"" + std::to_string(i) + "\":0";  // quadratic: minutes
    BOOST_TEST(parse_json<ordered_json>(text + "}", "text").size() == 60000u);
}

BOOST_AUTO_TEST_CASE(a_text_and_a_file_are_bounded) {
    BOOST_CHECK_EXCEPTION(parse("[1, 2]", {.bytes = 5}), augur::error, says({"6 bytes of JSON", "the 5 that"}));
    const augur::testing::temporary_directory folder;
    const auto path = augur::testing::write_file(folder / "a.json", "[1, 2]");
    BOOST_TEST(read_json(path, {.bytes = 6}).size() == 2u);
    BOOST_CHECK_EXCEPTION(read_json(path, {.bytes = 5}), augur::error, says({"a.json has 6 bytes", "the 5 that"}));
    BOOST_CHECK_EXCEPTION(read_json(folder.path()), augur::error, says({"is a directory"}));
    BOOST_CHECK_EXCEPTION(read_json("/dev/zero"), augur::error, says({"/dev/zero is not a regular file"}));
}

BOOST_AUTO_TEST_SUITE_END()
