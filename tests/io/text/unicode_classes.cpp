#include "augur/io/text/unicode_classes.hpp"

#include <array>
#include <augur/io/text/pre_tokenizer.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <string>

#include "io/vocabularies.hpp"

BOOST_AUTO_TEST_SUITE(io_unicode_classes)

using namespace augur::io;

namespace {

std::string utf8(unsigned point) {
    std::string text;
    augur::testing::append_code_point(text, point);
    return text;
}

}  // namespace

/// Counts of Unicode 16.0 (unicodedata2 16.0.0, and Hugging Face's tokenizers 0.23.3).
BOOST_AUTO_TEST_CASE(the_table_has_as_many_as_the_standard) {
    std::array<std::size_t, 8> counts{};
    for (std::uint32_t point = 0; point < 0x110000; ++point) ++counts[static_cast<std::size_t>(class_of(point))];
    BOOST_TEST(counts[1] + counts[6] + counts[7] == 141028u);
    BOOST_TEST(counts[6] == 1889u);
    BOOST_TEST(counts[7] == 2258u);
    BOOST_TEST(counts[2] == 1911u);
    BOOST_TEST(counts[3] == 2501u);
    BOOST_TEST(counts[4] == 25u);  // White_Space
    BOOST_TEST(counts[5] == 13u);
}

BOOST_AUTO_TEST_CASE(characters_of_each_class) {
    BOOST_TEST((class_of(0) == unicode_class::other));
    BOOST_TEST((class_of('7') == unicode_class::number));
    BOOST_TEST((class_of(0x250) == unicode_class::lower));
    BOOST_TEST((class_of(0x1E00) == unicode_class::upper));  // in turns, even ones first
    BOOST_TEST((class_of(0x1E01) == unicode_class::lower));
    BOOST_TEST((class_of(0x139) == unicode_class::upper));  // and odd ones
    BOOST_TEST((class_of(0x13A) == unicode_class::lower));
    BOOST_TEST((class_of(0x1C5) == unicode_class::upper));  // a title letter
    BOOST_TEST((class_of(0x2B0) == unicode_class::letter));
    BOOST_TEST((class_of(0x10FFFF) == unicode_class::other));
    BOOST_TEST((class_of(0x4E00) == unicode_class::letter));
    BOOST_TEST((class_of(0x0966) == unicode_class::number));
    BOOST_TEST((class_of(0x0301) == unicode_class::mark));
    BOOST_TEST((class_of(0x3000) == unicode_class::space));
    BOOST_TEST((class_of(0x180E) == unicode_class::other));
    BOOST_TEST((class_of(0x11DE0) == unicode_class::later_number));
    // New in 15.0, 15.1 and 16.0.
    BOOST_TEST((class_of(0x11F02) == unicode_class::letter));
    BOOST_TEST((class_of(0x1E4F0) == unicode_class::number));
    BOOST_TEST((class_of(0x1E4EC) == unicode_class::mark));
    BOOST_TEST((class_of(0x2EBF0) == unicode_class::letter));
    BOOST_TEST((class_of(0x10D40) == unicode_class::number));
    BOOST_TEST((class_of(0x0897) == unicode_class::mark));
    // New in 17.0.
    BOOST_TEST((class_of(0x323B0) == unicode_class::other));
}

BOOST_AUTO_TEST_CASE(stand_ins_keep_lengths_and_leave_what_is_old) {
    BOOST_TEST(with_stand_ins("") == "");
    BOOST_TEST(with_stand_ins("caf\u00e9 \u017f \u024f\u3000!") == "");
    for (std::uint32_t point = 0x250; point < 0x110000; ++point) {
        if (point >= 0xD800 && point <= 0xDFFF) continue;
        const std::string text = "a" + utf8(point) + "b";
        const std::string seen = with_stand_ins(text);
        const bool is_space = class_of(point) == unicode_class::space;
        BOOST_REQUIRE_MESSAGE(seen.empty() == is_space, point);
        if (!is_space) BOOST_REQUIRE_MESSAGE(seen.size() == text.size() && seen.front() == 'a', point);
        if (!is_space) BOOST_REQUIRE_MESSAGE(seen.back() == 'b' && seen.substr(1, seen.size() - 2) != "", point);
    }
}

/// What PCRE2 says of a stand-in is what the table says of the character: at both ends of each run, and here and there.
BOOST_AUTO_TEST_CASE(text_is_cut_by_the_table) {
    const pre_tokenizer words(find_split_rules("gpt-2")), digits(find_split_rules("smollm"));
    const pre_tokenizer cases(find_split_rules("tekken"));
    for (std::uint32_t point = 0x250; point < 0x110000; ++point) {
        if (point >= 0xD800 && point <= 0xDFFF) continue;
        const auto kind = class_of(point);
        if (point % 61 != 0 && class_of(point - 1) == kind && class_of(point + 1) == kind) continue;
        const std::string text = "a" + utf8(point) + "1";
        const auto pieces = words.split(text);
        const bool is_letter =
            kind == unicode_class::letter || kind == unicode_class::upper || kind == unicode_class::lower;
        const std::string second = is_letter ? "1" : kind == unicode_class::number ? utf8(point) + "1" : utf8(point);
        BOOST_REQUIRE_MESSAGE(pieces.at(1) == second, point);
        // An upper letter begins a word behind a lower one and goes on behind an upper one.
        BOOST_REQUIRE_MESSAGE(
            (cases.split("a" + utf8(point) + "a").size() == 1) ==
                (kind == unicode_class::letter || kind == unicode_class::lower || kind == unicode_class::mark),
            point);
        const std::string twice = utf8(point) + utf8(point);
        const bool is_digit = kind == unicode_class::number || kind == unicode_class::later_number;
        const bool is_apart = is_digit || kind == unicode_class::space;  // "\s+(?!\S)" needs none behind
        if (kind != unicode_class::space) BOOST_REQUIRE_MESSAGE((digits.split(twice).size() == 2) == is_apart, point);
    }
}

BOOST_AUTO_TEST_SUITE_END()
