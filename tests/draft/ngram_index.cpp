#include "augur/draft/ngram_index.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <random>

using namespace augur;
using draft::ngram_index;

namespace {

using ids = std::vector<token>;
using places_type = std::vector<std::size_t>;

/// The definition, read literally: whether the n tokens before `place` are the last n.
bool occurs_before(const ids& tokens, std::size_t n, std::size_t place) {
    return n <= place && std::equal(tokens.end() - static_cast<std::ptrdiff_t>(n), tokens.end(),
                                    tokens.begin() + static_cast<std::ptrdiff_t>(place - n));
}

std::size_t naive(const ids& tokens, std::size_t min_n, std::size_t max_n, std::size_t most, places_type& places) {
    places.clear();
    for (std::size_t n = std::min(max_n, tokens.size()); n >= min_n; --n) {
        for (std::size_t place = tokens.size() - 1; place > 0 && places.size() < most; --place) {
            if (occurs_before(tokens, n, place)) places.push_back(place);
        }
        if (!places.empty()) return n;
    }
    return 0;
}

ids random_text(std::mt19937& random, std::size_t size, std::size_t vocabulary) {
    ids tokens(size);
    for (token& t : tokens) t = static_cast<token>(random() % vocabulary);
    return tokens;
}

void check_like_naive(const ngram_index& index, const ids& text, std::size_t min_n, std::size_t max_n,
                      std::size_t most) {
    places_type expected, got{99};
    const std::size_t length = naive(text, min_n, max_n, most, expected);
    BOOST_TEST(std::ranges::equal(index.tokens(), text));
    BOOST_TEST(index.find(most, got) == length);
    BOOST_TEST(got == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(draft_ngram_index)

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_on_texts_that_grow_and_are_cut) {
    std::mt19937 random(7);
    for (int trial = 0; trial < 300; ++trial) {
        const std::size_t min_n = 1 + random() % 3;
        const std::size_t max_n = min_n + random() % 5;
        const std::size_t most = 1 + random() % 4;
        ngram_index index(min_n, max_n);
        ids text;
        for (int change = 0; change < 12; ++change) {
            text.resize(random() % (text.size() + 1));
            for (token t : random_text(random, 1 + random() % 25, 3)) text.push_back(t);
            index.follow(text);
            check_like_naive(index, text, min_n, max_n, most);
        }
    }
}

BOOST_AUTO_TEST_CASE(long_texts_are_found_in_as_well) {
    std::mt19937 random(8);
    const ids text = random_text(random, 5000, 40);
    ngram_index index(1, 6);
    index.follow(text);
    for (std::size_t size = text.size(); size > 4800; --size) {
        const ids shorter(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
        index.follow(shorter);
        check_like_naive(index, shorter, 1, 6, 16);
    }
}

BOOST_AUTO_TEST_CASE(any_token_may_be_in_it) {
    const ids text{-1, 2147483647, 0, -1, 2147483647};
    ngram_index index(1, 8);
    index.follow(text);
    places_type places;
    BOOST_TEST(index.find(3, places) == 2u);
    BOOST_TEST(places == places_type{2}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(nothing_comes_before_the_first_token) {
    ngram_index index(1, 3);
    places_type places;
    BOOST_TEST(index.find(3, places) == 0u);
    index.follow(ids{5});
    BOOST_TEST(index.find(3, places) == 0u);
    BOOST_TEST(places.empty());
}

BOOST_AUTO_TEST_CASE(copies_are_apart) {
    ngram_index index(1, 3);
    index.follow(ids{1, 2, 1});
    ngram_index copy = index;
    copy.follow(ids{7});
    check_like_naive(index, {1, 2, 1}, 1, 3, 4);
    check_like_naive(copy, {7}, 1, 3, 4);
}

BOOST_AUTO_TEST_SUITE_END()
