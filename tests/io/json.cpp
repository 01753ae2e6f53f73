#include "augur/io/json.hpp"

#include <boost/test/unit_test.hpp>
#include <span>
#include <string>

#include "io/files.hpp"

using augur::io::parse_json;
using augur::io::read_json;
using augur::testing::says;

namespace {

nlohmann::json parse(const std::string& text) {
    return parse_json(std::as_bytes(std::span(text)), "config.json");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_json)

BOOST_AUTO_TEST_CASE(a_document_is_parsed) {
    const auto document = parse(R"({"a":[1,{"a":2},{"a":3}],"b":{"a":true}})");
    BOOST_TEST(document.at("a").at(2).at("a") == 3);
    BOOST_TEST(document.at("b").at("a") == true);
}

BOOST_AUTO_TEST_CASE(what_is_not_json_is_an_error_with_its_place) {
    BOOST_CHECK_EXCEPTION(parse("{\"a\":}"), augur::error, says({"config.json", "column 6"}));
    BOOST_CHECK_EXCEPTION(parse(""), augur::error, says({"config.json", "parse error"}));
    BOOST_CHECK_EXCEPTION(parse("1e999"), augur::error, says({"config.json", "1e999"}));
    BOOST_CHECK_EXCEPTION(parse('"' + std::string(100000, 'x')), augur::error, says({"config.json", "bytes)"}));
}

BOOST_AUTO_TEST_CASE(a_key_stands_once_in_its_object) {
    BOOST_CHECK_EXCEPTION(parse(R"({"a":1,"b":{"c":[{"d":1,"d":2}]}})"), augur::error, says({"duplicate key 'd'"}));
    BOOST_CHECK_EXCEPTION(parse(R"({"a":1,"b":[],"a":1})"), augur::error, says({"duplicate key 'a'"}));
}

BOOST_AUTO_TEST_CASE(nesting_is_bounded) {
    BOOST_TEST(parse(std::string(64, '[') + std::string(64, ']')).is_array());
    BOOST_CHECK_EXCEPTION(parse(std::string(65, '[') + std::string(65, ']')), augur::error,
                          says({"more than 64 levels"}));
    std::string objects;
    for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
    BOOST_CHECK_EXCEPTION(parse(objects), augur::error, says({"more than 64 levels"}));
}

BOOST_AUTO_TEST_CASE(a_file_is_bounded) {
    const augur::testing::temporary_directory folder;
    const auto path = augur::testing::write_file(folder / "a.json", "[1, 2]");
    BOOST_TEST(read_json(path, 6).size() == 2u);
    BOOST_CHECK_EXCEPTION(read_json(path, 5), augur::error, says({"a.json has 6 bytes", "the 5 that"}));
}

BOOST_AUTO_TEST_SUITE_END()
