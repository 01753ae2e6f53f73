#include "augur/io/text/schema_grammar.hpp"

#include <boost/test/unit_test.hpp>
#include <string>

using namespace augur;

BOOST_AUTO_TEST_SUITE(io_schema_grammar)

std::string grammar(const char* schema) {
    return io::schema_grammar(nlohmann::ordered_json::parse(schema));
}
std::string root(const char* schema) {
    const std::string text = grammar(schema);
    return text.substr(9, text.find('\n') - 9);
}
std::string refused(const char* schema) {
    try {
        return "grammar: " + grammar(schema);
    } catch (const error& why) {
        return why.what();
    }
}

BOOST_AUTO_TEST_CASE(values) {
    BOOST_TEST(root(R"({"type": "boolean", "title": "Yes?"})") == R"(("true" | "false"))");
    BOOST_TEST(root(R"({"type": ["null", "integer"]})") == R"(("null" | integer))");
    BOOST_TEST(root(R"({"const": {"a": "\"\n"}})") == R"("{\"a\":\"\\\"\\n\"}")");
    BOOST_TEST(root(R"({"type": "string", "enum": ["a", "b"]})") == R"(("\"a\"" | "\"b\""))");
    BOOST_TEST(root(R"({"anyOf": [{"type": "null"}, {"const": 1}]})") == R"(("null" | "1"))");
    BOOST_TEST(root(R"({"type": "string", "maxLength": 3})") == R"("\"" character{0,3} "\"")");
    BOOST_TEST(grammar(R"({"type": "string"})") ==
               "root ::= string\n"
               "character ::= [^\"\\\\\\x00-\\x1F\\x7F] | \"\\\\\" [\"\\\\bfnrt]\n"
               "string ::= \"\\\"\" character* \"\\\"\"\n");
}

BOOST_AUTO_TEST_CASE(arrays) {
    BOOST_TEST(root(R"({"type": "array", "items": {"const": 1}})") == R"("[" ("1" (", " "1"){0,})? "]")");
    BOOST_TEST(root(R"({"type": "array", "items": {"const": 1}, "minItems": 2, "maxItems": 4})") ==
               R"("[" "1" (", " "1"){1,3} "]")");
    BOOST_TEST(root(R"({"type": "array", "maxItems": 0})") == R"("[]")");
    BOOST_TEST(root(R"({"type": "array"})") == R"("[" (anything (", " anything){0,})? "]")");
}

BOOST_AUTO_TEST_CASE(objects_have_their_members_in_order) {
    BOOST_TEST(grammar(R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}},
                           "required": ["a", "b"]})") ==
               "root ::= \"{\" \"\\\"a\\\": \" \"1\" more0 \"}\"\n"
               "more0 ::= \", \" \"\\\"b\\\": \" \"2\"\n"
               "more1 ::= \", \" \"\\\"a\\\": \" \"1\" more0\n");
    BOOST_TEST(root(R"({"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}})") ==
               R"("{" ("\"a\": " "1" more0 | ("\"b\": " "2")?) "}")");
    BOOST_TEST(root(R"({"type": "object"})") == "anyobject");
    BOOST_TEST(root(R"({"type": "object", "additionalProperties": false})") == R"("{}")");
}

BOOST_AUTO_TEST_CASE(what_is_not_kept_is_refused_by_name_and_place) {
    const auto says = [](const char* schema, const char* what) {
        BOOST_TEST(refused(schema).starts_with("JSON schema, at " + std::string(what)));
    };
    says(R"({"type": "integer", "minimum": 1})", "'#': 'minimum' is not supported here");
    says(R"({"type": "object", "properties": {"a": {"$ref": "#"}}})", "'#/properties/a': '$ref' is not supported");
    says(R"({"type": "string", "minItems": 1})", "'#': 'minItems' is not supported here");
    says(R"({"type": "text"})", "'#': type 'text' is unknown");
    says(R"({"type": "string", "const": 3})", "'#': the value 3 is not of type \"string\"");
    says(R"({"type": "object", "required": ["a"]})", "'#': required names \"a\", which is none of its properties");
    says(R"({"type": "string", "minLength": 3, "maxLength": 2})", "'#': minLength is 3, above maxLength, 2");
    says(R"({"type": "array", "minItems": -1})", "'#': minItems is -1; it must be a whole number from 0 to 1000");
    says(R"({"anyOf": []})", "'#': anyOf is not a list of schemas");
    says(R"({"enum": []})", "'#': enum is not a list of values");
    says("false", "'#': a schema is an object or true, and this is boolean");
}

BOOST_AUTO_TEST_SUITE_END()
