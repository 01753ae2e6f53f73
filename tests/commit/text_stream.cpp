#include "augur/commit/text_stream.hpp"

#include <algorithm>
#include <augur/types/error.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using augur::commit::text_stream;
using strings = std::vector<std::string>;

BOOST_AUTO_TEST_SUITE(commit_text_stream)

namespace {

struct outcome {
    std::string text;
    std::string matched;
    friend bool operator==(const outcome&, const outcome&) = default;
};

/// Where the text ends, from all of it: before the stop string that ends first; of those, before the longest.
outcome literal(const std::string& text, const strings& stops) {
    for (std::size_t end = 1; end <= text.size(); ++end) {
        std::string longest;
        for (const std::string& stop : stops) {
            const bool ends_here = std::string_view(text).substr(0, end).ends_with(stop);
            if (ends_here && stop.size() > longest.size()) longest = stop;
        }
        if (!longest.empty()) return {text.substr(0, end - longest.size()), longest};
    }
    return {text, ""};
}

/// How much of a text is certain to stay: up to the first place where a stop string may have begun.
std::size_t certain(const std::string& text, const strings& stops) {
    for (std::size_t begin = 0; begin < text.size(); ++begin) {
        const std::string_view rest = std::string_view(text).substr(begin);
        if (std::any_of(stops.begin(), stops.end(), [&](const auto& stop) { return stop.starts_with(rest); })) {
            return begin;
        }
    }
    return text.size();
}

/// Pushes the pieces; after each the released text is exactly what is certain.
outcome stream(const std::vector<std::string_view>& pieces, const strings& stops) {
    text_stream out(stops);
    std::string released;
    bool stopped = false;
    for (const std::string_view piece : pieces) {
        stopped = out.push(piece);
        released += out.release();
        if (stopped) break;
        BOOST_TEST(released == out.text().substr(0, certain(out.text(), stops)));
        BOOST_TEST(out.release() == "");
    }
    BOOST_TEST(stopped == !out.matched().empty());
    out.finish();
    released += out.release();
    BOOST_TEST(released == out.text());
    return {out.text(), std::string(out.matched())};
}

/// The pieces between the set bits of `cuts`.
std::vector<std::string_view> cut(std::string_view bytes, std::size_t cuts) {
    std::vector<std::string_view> pieces;
    std::size_t begin = 0;
    for (std::size_t at = 1; at < bytes.size(); ++at) {
        if ((cuts >> (at - 1) & 1) == 0) continue;
        pieces.push_back(bytes.substr(begin, at - begin));
        begin = at;
    }
    pieces.push_back(bytes.substr(begin));
    return pieces;
}

struct sample {
    std::string bytes;
    std::string text;  ///< what the bytes say
    strings stops;
};

const std::vector<sample> samples = {
    {"hello world", "hello world", {}},
    {"hello world", "hello world", {"o w"}},
    {"aaaabaaab", "aaaabaaab", {"aab"}},
    {"abcdabce", "abcdabce", {"abce", "zz"}},
    {"xabcdx", "xabcdx", {"abcd", "bc"}},  // begins first, ends last
    {"xabcdx", "xabcdx", {"cd", "abcd", "bcd"}},
    {"one\n\ntwo", "one\n\ntwo", {"\n\n", "\n\nt"}},
    {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z", "ä€😀z", {}},
    {"\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z", "ä€😀z", {"€😀"}},
    {"a\xE2\x82\xAC\xE2\x82\xAC"
     "b",
     "a€€b",
     {"€b", "a€b"}},
    {"a\xC3\xA4o\xC3\xB6", "aäoö", {"ö", "äo"}},
    {"a\xFF\x80z", "a\uFFFD\uFFFDz", {}},
    {"\xE2\x82z\xE2", "\uFFFDz\uFFFD", {}},
    {"\xF0\x9F\x98\xC3\xA4", "\uFFFDä", {"ä"}},
    {"\xED\xA0\x80q", "\uFFFD\uFFFD\uFFFDq", {"q"}},  // a surrogate half
    {"a\xE2z!", "a\uFFFDz!", {"\uFFFDz", "z!"}},
};

}  // namespace

BOOST_AUTO_TEST_CASE(how_the_bytes_are_cut_does_not_matter) {
    for (const sample& given : samples) {
        BOOST_TEST_CONTEXT(given.text) {
            const outcome expected = literal(given.text, given.stops);
            for (std::size_t cuts = 0; cuts < std::size_t{1} << (given.bytes.size() - 1); ++cuts) {
                const outcome streamed = stream(cut(given.bytes, cuts), given.stops);
                BOOST_TEST(streamed.text == expected.text);
                BOOST_TEST(streamed.matched == expected.matched);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(stop_strings_that_repeat_themselves_are_found) {
    std::mt19937 random(5);
    const auto word = [&](std::size_t length) {
        std::string letters;
        while (letters.size() < length) letters += random() % 5 == 0 ? 'b' : 'a';
        return letters;
    };
    for (std::size_t i = 0; i < 400; ++i) {
        const std::string text = word(60);
        const strings stops = {word(3 + random() % 8), word(8 + random() % 8), word(4) + word(4)};
        const outcome expected = literal(text, stops);
        for (std::size_t n = 0; n < 3; ++n) BOOST_TEST((stream(cut(text, random()), stops) == expected));
    }
}

BOOST_AUTO_TEST_CASE(a_long_stop_string_is_found_behind_what_nearly_was_one) {
    const std::string many(5000, 'a');
    text_stream stream({many + "b", "c" + many});
    for (std::size_t i = 0; i < 6000; ++i) BOOST_TEST_REQUIRE(!stream.push("a"));
    BOOST_TEST(stream.release().size() == 1000u);
    BOOST_TEST(!stream.push("c"));
    BOOST_TEST(stream.release().size() == 5000u);
    for (std::size_t i = 0; i < 4999; ++i) BOOST_TEST_REQUIRE(!stream.push("a"));
    BOOST_TEST(stream.push("a"));
    BOOST_TEST(stream.text().size() == 6000u);
    BOOST_TEST(stream.matched() == "c" + many);
}

BOOST_AUTO_TEST_CASE(nor_do_they_for_every_short_text_and_pair_of_stop_strings) {
    const strings alphabet = {"a", "b", "\xC3\xA4"};
    std::mt19937 random(1);
    const auto word = [&](std::size_t longest) {
        std::string letters;
        for (std::size_t n = 1 + random() % longest; n > 0; --n) letters += alphabet[random() % 3];
        return letters;
    };
    for (std::size_t i = 0; i < 1500; ++i) {
        const std::string text = word(20);
        const strings stops = {word(4), word(3)};
        const outcome expected = literal(text, stops);
        for (std::size_t n = 0; n < 4; ++n) BOOST_TEST((stream(cut(text, random()), stops) == expected));
    }
}

BOOST_AUTO_TEST_CASE(the_stop_string_that_is_complete_first_ends_the_text) {
    text_stream stream({"world", "lo"});
    BOOST_TEST(stream.push("hello world"));
    BOOST_TEST(stream.text() == "hel");
    BOOST_TEST(stream.matched() == "lo");
    BOOST_TEST(stream.release() == "hel");
    BOOST_TEST(stream.release() == "");
}

BOOST_AUTO_TEST_CASE(what_may_become_a_stop_string_is_held_back_until_it_does_not) {
    text_stream stream({"stop!"});
    BOOST_TEST(!stream.push("non-stop"));
    BOOST_TEST(stream.release() == "non-");
    BOOST_TEST(stream.text() == "non-stop");
    BOOST_TEST(!stream.push("s"));
    BOOST_TEST(stream.release() == "stop");
    BOOST_TEST(!stream.push("top"));
    BOOST_TEST(stream.release() == "");
    stream.finish();
    BOOST_TEST(stream.release() == "stop");
    BOOST_TEST(stream.matched() == "");
}

BOOST_AUTO_TEST_CASE(half_a_code_point_is_no_text_until_the_end) {
    text_stream stream;
    BOOST_TEST(!stream.push("a\xE2\x82"));
    BOOST_TEST(stream.text() == "a");
    text_stream other = stream;
    BOOST_TEST(!stream.push("\xAC"));
    BOOST_TEST(stream.text() == "a€");
    other.finish();
    BOOST_TEST(other.text() == "a\uFFFD");
    BOOST_TEST(other.release() == "a\uFFFD");
}

BOOST_AUTO_TEST_CASE(bytes_that_never_ended_complete_no_stop_string) {
    text_stream stream({"\uFFFD"});
    BOOST_TEST(!stream.push("a\xE2"));
    stream.finish();
    BOOST_TEST(stream.text() == "a\uFFFD");
    BOOST_TEST(stream.matched() == "");
}

BOOST_AUTO_TEST_CASE(nothing_in_nothing_out) {
    text_stream stream({"x"});
    BOOST_TEST(!stream.push(""));
    BOOST_TEST(stream.release() == "");
    stream.finish();
    BOOST_TEST(stream.text() == "");
}

BOOST_AUTO_TEST_CASE(a_copy_is_on_its_own) {
    auto original = std::make_unique<text_stream>(strings{"b"});
    BOOST_TEST(original->push("ab"));
    const text_stream copy = *original;
    original.reset();
    BOOST_TEST(copy.matched() == "b");
    BOOST_TEST(copy.text() == "a");
}

BOOST_AUTO_TEST_CASE(stop_strings_that_cannot_be_looked_for_are_refused) {
    const auto refusal = [](const strings& stops) -> std::string {
        try {
            const text_stream stream(stops);
        } catch (const augur::error& e) {
            return e.what();
        }
        return "";
    };
    BOOST_TEST(refusal({"a", "€"}) == "");
    BOOST_TEST(refusal({"a", ""}) == "a stop string is empty; it would stop before the first token");
    BOOST_TEST(refusal({"ab\xE2\x82"}) == "stop string is not UTF-8: byte 0xe2 at offset 2 of 4");
}

BOOST_AUTO_TEST_SUITE_END()
