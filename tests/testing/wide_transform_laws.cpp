// Transforms that are wrong far out only (known bug 78), and the library's, which are not.

#include "augur/testing/wide_transform_laws.hpp"

#include <algorithm>
#include <augur/testing/transform_laws.hpp>
#include <augur/transform/pipeline.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "sanitized.hpp"
#include "wrong_transforms.hpp"

using namespace augur;
using testing::token_numbers;
using testing::transform_laws;

BOOST_AUTO_TEST_SUITE(testing_wide_transform_laws)

constexpr float infinity = std::numeric_limits<float>::infinity();

/// By wide rows alone, first in a vocabulary of so many tokens.
void only_far_out(const testing::report& narrow, const testing::report& r, const std::string& vocabulary) {
    BOOST_TEST(narrow.kept(), narrow);
    BOOST_TEST_REQUIRE(r.broken.size() == 1u, r);
    BOOST_TEST(r.breaks("few tokens of a wide row, as in a narrow one"), r);
    BOOST_TEST(r.broken[0].what.find("in a vocabulary of " + vocabulary + ", token ") != std::string::npos, r);
}
template <class T>
void wrong(const T& transform, const std::string& vocabulary) {
    only_far_out(transform_laws(transform, 5, {.widest = 0}), transform_laws(transform), vocabulary);
}
template <class Make>
void wrong_made(const Make& make, const std::string& vocabulary) {
    only_far_out(transform_laws(make, {.widest = 0}), transform_laws(make), vocabulary);
}

template <class T>
void wrong_in_parts(const T& transform) {
    using namespace wrong_transforms;
    wrong(to_a_part<T>{transform, first<65'535>}, "140000");
    wrong(to_a_part<T>{transform, first<65'536>}, "140000");
    wrong(to_a_part<T>{transform, first<32'768>}, "33000");
    wrong(to_a_part<T>{transform, first<256>}, "300");
    wrong(to_a_part<T>{transform, first<128>}, "300");
    wrong(to_a_part<T>{transform, whole<256>}, "300");
    wrong(to_a_part<T>{transform, whole<64>}, "100");
    wrong(to_a_part<T>{transform, all_but_the_last}, "100");
}

BOOST_AUTO_TEST_CASE(what_a_transform_does_not_see_is_named) {
    wrong_in_parts(transform::temperature{0.5f});
    wrong_in_parts(transform::top_k{2});
    wrong_in_parts(transform::top_p{0.6f});
    wrong_in_parts(transform::min_p{0.3f});
    wrong_in_parts(transform::penalties{1.5f, 0.4f, 0.2f});
}

BOOST_AUTO_TEST_CASE(ids_that_are_cut_are_found) {
    using namespace wrong_transforms;
    wrong(penalties_of_cut_ids<std::uint8_t>{{1.5f, 0.4f, 0.2f}}, "300");
    wrong(penalties_of_cut_ids<std::int8_t>{{1.5f, 0, 0}}, "300");
    wrong(penalties_of_cut_ids<std::uint16_t>{{1, 0, 0.2f}}, "140000");
    wrong(penalties_of_cut_ids<std::int16_t>{{1, 0.4f, 0}}, "33000");
    const auto biased = []<class Id>(Id) {
        return [](const token_numbers& number) {
            return bias_of_cut_ids<Id>{{{{number(1), 2.0f}, {number(3), -infinity}}}};
        };
    };
    wrong_made(biased(std::uint8_t{}), "300");
    wrong_made(biased(std::int8_t{}), "300");
    wrong_made(biased(std::uint16_t{}), "140000");
    wrong_made(biased(std::int16_t{}), "33000");
    wrong(bans_by_a_short_set<64>, "100");
    wrong(bans_by_a_short_set<65'536>, "140000");
}

template <class Made>
void right(const Made& got) {
    const auto r = transform_laws(got);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
}

BOOST_AUTO_TEST_CASE(the_librarys_transforms_are_right_far_out) {
    for (const float value : {0.0f, 0.3f, 1.0f, 2.0f}) right(transform::temperature{value});
    for (const std::size_t k : {0u, 1u, 3u, 4u}) right(transform::top_k{k});
    for (const float p : {0.1f, 0.6f, 1.0f}) right(transform::top_p{p});
    for (const float p : {0.0f, 0.3f, 1.0f}) right(transform::min_p{p});
    right(transform::penalties{1.5f, 0.4f, 0.2f});
    right(transform::penalties{0.5f, -0.4f, -0.2f});
    right([](const token_numbers& number) {
        return transform::bias{{{number(0), 2.0f}, {number(3), -infinity}, {number(4), -1.0f}}};
    });
    right([](const token_numbers& number) {
        return transform::mask([banned = number(2)](std::span<float> logits, const prefix& before) {
            logits[static_cast<std::size_t>(before.tokens().back())] -= 1;
            logits[static_cast<std::size_t>(banned)] = -infinity;
        });
    });
}

BOOST_AUTO_TEST_CASE(a_transform_that_means_some_tokens_is_not_blamed) {
    const auto r = transform_laws(transform::bias{{{3, 2.0f}}});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST_REQUIRE(r.skipped.size() == 1u, r);
    BOOST_TEST(r.skipped[0].what.find("hand the suite a function of token_numbers") != std::string::npos, r);
    BOOST_CHECK_THROW(token_numbers({0, 1})(2), error);
}

BOOST_AUTO_TEST_SUITE_END()
