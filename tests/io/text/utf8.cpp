#include <augur/io/text/utf8.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

#include "io/files.hpp"
#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_utf8)

using namespace augur::io;
using namespace std::string_literals;

static_assert(first_code_point("a").length == 1);
static_assert(first_code_point("\xC3\xA9").length == 2);
static_assert(!find_invalid_utf8(""));

BOOST_AUTO_TEST_CASE(every_code_point_is_complete_and_every_proper_start_incomplete) {
    for (unsigned point = 0; point < 0x110000; ++point) {
        if (point >= 0xD800 && point <= 0xDFFF) continue;
        std::string text;
        augur::testing::append_code_point(text, point);
        const auto whole = first_code_point(text);
        BOOST_REQUIRE(whole.state == utf8_state::complete);
        BOOST_REQUIRE(whole.length == text.size());
        for (std::size_t cut = 1; cut < text.size(); ++cut) {
            const auto start = first_code_point(std::string_view(text).substr(0, cut));
            BOOST_REQUIRE(start.state == utf8_state::incomplete);
            BOOST_REQUIRE(start.length == cut);
        }
    }
}

BOOST_AUTO_TEST_CASE(what_no_continuation_can_save_is_invalid) {
    for (const auto* text : {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                             "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xE4z"}) {
        const auto start = first_code_point(text);
        BOOST_TEST((start.state == utf8_state::invalid), "0x" << std::hex << static_cast<unsigned char>(text[0]));
        BOOST_TEST(start.length == 1u);
    }
    BOOST_TEST(first_code_point("\xE4\xBDz").length == 2u);
}

BOOST_AUTO_TEST_CASE(errors_name_offset_and_byte) {
    BOOST_CHECK_NO_THROW(check_utf8("caf\xC3\xA9 \xF0\x9F\xA6\x99", "the text"));
    BOOST_CHECK_EXCEPTION(check_utf8("ab\xFF", "the prompt"), augur::error,
                          augur::testing::says({"the prompt", "0xff", "offset 2 of 3"}));
    BOOST_CHECK_EXCEPTION(check_utf8("ab\xE4\xBD", "the text"), augur::error,
                          augur::testing::says({"0xe4", "offset 2 of 4"}));
    BOOST_CHECK_EXCEPTION(check_utf8("\xED\xA0\x80", "the text"), augur::error,
                          augur::testing::says({"0xed", "offset 0 of 3"}));
}

BOOST_AUTO_TEST_CASE(repair_replaces_each_broken_start_once) {
    BOOST_TEST(repair_utf8("") == "");
    BOOST_TEST(repair_utf8("a\0b"s) == "a\0b"s);
    BOOST_TEST(repair_utf8("a\xE4\xBDz") == "a\xEF\xBF\xBDz");
    BOOST_TEST(repair_utf8("\xFF\xFE") == "\xEF\xBF\xBD\xEF\xBF\xBD");
    // The example of the Unicode standard, table 3-8.
    BOOST_TEST(repair_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64") ==
               "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\x62\xEF\xBF\xBD\x63\xEF\xBF\xBD\xEF\xBF\xBD\x64");
}

BOOST_AUTO_TEST_CASE(repaired_bytes_are_utf8_and_utf8_is_left_alone) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            std::mt19937 random(seed);
            std::string bytes(random() % 64, '\0');
            for (auto& byte : bytes) byte = static_cast<char>(random());
            const auto repaired = repair_utf8(bytes);
            BOOST_TEST(!find_invalid_utf8(repaired).has_value());
            BOOST_TEST((repaired == bytes) == !find_invalid_utf8(bytes).has_value());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
