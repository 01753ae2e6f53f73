#include "augur/draft/ngram_table.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <sstream>
#include <string>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_ngram_table)

using ids = std::vector<token>;
using texts = std::vector<ids>;
using draft::ngram_table;

constexpr draft::ngram_orders one_to_three{1, 3, 10};

void finds(const ngram_table& table, const ids& text, token next, std::size_t matched, std::size_t least = 1) {
    const auto found = table.find(text, least);
    BOOST_TEST(found.next == next);
    BOOST_TEST(found.matched == matched);
}

auto says(const std::string& expected) {
    return [expected](const error& e) {
        BOOST_TEST(std::string(e.what()) == expected);
        return true;
    };
}

BOOST_AUTO_TEST_CASE(the_longest_known_context_decides) {
    const auto table = ngram_table::count(texts{{1, 2, 3, 4}, {9, 3, 5, 3, 5}}, one_to_three);
    finds(table, {1, 2, 3}, 4, 3);
    finds(table, {7, 2, 3}, 4, 2);
    finds(table, {7, 7, 3}, 5, 1);
    finds(table, {0, 1, 2, 3}, 4, 3);
    finds(table, {3}, 5, 1);
    finds(table, {4}, no_token, 0);
    finds(table, {}, no_token, 0);
    finds(table, {7, 7, 3}, no_token, 0, 2);
    finds(table, {7, 2, 3}, 4, 2, 2);
}

BOOST_AUTO_TEST_CASE(the_most_frequent_continuation_wins_and_of_several_the_smallest) {
    const draft::ngram_orders single{1, 1, 10};
    finds(ngram_table::count(texts{{1, 2, 1, 7, 1, 7}}, single), {1}, 7, 1);
    finds(ngram_table::count(texts{{1, 7, 1, 2}, {1, 7, 1, 2}}, single), {1}, 2, 1);
}

BOOST_AUTO_TEST_CASE(contexts_do_not_reach_into_the_next_text) {
    const auto table = ngram_table::count(texts{{1, 2}, {3, 4}}, {1, 2, 10});
    finds(table, {2}, no_token, 0);
    finds(table, {1, 2}, no_token, 0);
    BOOST_TEST(table.size() == 2u);
}

BOOST_AUTO_TEST_CASE(contexts_that_are_too_rare_are_left_out) {
    const texts some{{1, 2, 1, 3, 1, 2, 5}};
    finds(ngram_table::count(some, {1, 1, 10}, 3), {1}, 2, 1);
    finds(ngram_table::count(some, {1, 1, 10}, 3), {2}, no_token, 0);
    finds(ngram_table::count(some, {1, 1, 10}, 4), {1}, no_token, 0);
}

BOOST_AUTO_TEST_CASE(only_its_orders_are_known) {
    const auto table = ngram_table::count(texts{{1, 2, 3, 4}}, {2, 2, 10});
    finds(table, {1, 2, 3}, 4, 2);
    finds(table, {3}, no_token, 0);
    BOOST_TEST(table.size() == 2u);
    BOOST_TEST(table.orders().shortest == 2u);
}

/// The definition, read literally.
ngram_table::found naive(const texts& counted, const ids& text, const draft::ngram_orders& orders, std::size_t least) {
    for (std::size_t n = std::min(orders.longest, text.size()); n >= orders.shortest && n > 0; --n) {
        std::map<token, std::size_t> followed;
        std::size_t times = 0;
        for (const ids& each : counted) {
            for (std::size_t i = 0; i + n < each.size(); ++i) {
                const auto at = each.begin() + static_cast<std::ptrdiff_t>(i);
                if (!std::equal(text.end() - static_cast<std::ptrdiff_t>(n), text.end(), at)) continue;
                ++followed[each[i + n]];
                ++times;
            }
        }
        if (times == 0 || times < least) continue;
        token best = no_token;
        for (const auto& [t, count] : followed) {
            if (best == no_token || count > followed[best]) best = t;
        }
        return {best, n};
    }
    return {};
}

BOOST_AUTO_TEST_CASE(agrees_with_the_definition_on_random_texts) {
    std::mt19937 random(1);
    for (int round = 0; round < 200; ++round) {
        const draft::ngram_orders orders{1 + random() % 2, 2 + random() % 3, 4};
        texts counted(1 + random() % 3);
        for (ids& each : counted) {
            each.resize(random() % 60);
            for (token& t : each) t = static_cast<token>(random() % 4);
        }
        const std::size_t least = 1 + random() % 3;
        const auto table = ngram_table::count(counted, orders, least);
        BOOST_TEST(10 * table.size() <= 7 * table.next().size());
        for (int asked = 0; asked < 20; ++asked) {
            ids text(random() % 6);
            for (token& t : text) t = static_cast<token>(random() % 4);
            const auto expected = naive(counted, text, orders, least);
            finds(table, text, expected.next, expected.matched);
        }
    }
}

/// Of contexts whose hashes agree in all that is kept, the first has the slot.
BOOST_AUTO_TEST_CASE(a_context_does_not_take_the_slot_of_another) {
    const ids first{4, 272}, second{12, 0};
    const auto a = ngram_table::key_of(first), b = ngram_table::key_of(second);
    BOOST_TEST_REQUIRE((a >> 32) == (b >> 32));
    BOOST_TEST_REQUIRE((a % 4) == (b % 4));  // of four slots
    const auto table = ngram_table::count(texts{{4, 272, 7}, {12, 0, 9}}, {2, 2, 300});
    BOOST_TEST(table.next().size() == 4u);
    BOOST_TEST(table.size() == 1u);
    BOOST_TEST(table.after(first) == 7);
}

BOOST_AUTO_TEST_CASE(keys_are_those_of_the_file_format) {
    BOOST_TEST(ngram_table::key_of(ids{5}) == 0x22bfe633692f2903u);
    BOOST_TEST(ngram_table::key_of(ids{1, 2}) == 0x76a178b700c96078u);
    BOOST_TEST(ngram_table::key_of(ids{2, 1}) == 0x76b589b70027529au);
    BOOST_TEST(ngram_table::key_of(ids{7, 0, 49151}) == 0x7561bb49169b1027u);
}

std::int32_t mark(const ids& context) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(ngram_table::key_of(context) >> 32));
}

BOOST_AUTO_TEST_CASE(a_search_goes_on_at_the_first_slot_after_the_last) {
    // Contexts of a single token whose keys end in the last of four slots.
    ids last;
    for (token t = 0; last.size() < 3; ++t) {
        if (ngram_table::key_of(ids{t}) % 4 == 3) last.push_back(t);
    }
    const auto [a, b, c] = std::tuple(last[0], last[1], last[2]);
    const ngram_table table({1, 1, 100}, {mark({b}), 0, 0, mark({a})}, {21, no_token, no_token, 20});
    finds(table, {a}, 20, 1);
    finds(table, {b}, 21, 1);
    finds(table, {c}, no_token, 0);
}

BOOST_AUTO_TEST_CASE(what_was_counted_can_be_stored_and_taken_up_again) {
    const auto counted = ngram_table::count(texts{{1, 2, 3, 1, 2, 4, 1, 2, 4}}, one_to_three);
    const ngram_table stored(counted.orders(), {counted.check().begin(), counted.check().end()},
                             {counted.next().begin(), counted.next().end()});
    finds(stored, {1, 2}, 4, 2);
    BOOST_TEST(stored.size() == counted.size());
    const ngram_table copy = counted;
    BOOST_TEST(copy.next().data() == counted.next().data());  // copies share
}

BOOST_AUTO_TEST_CASE(nothing_counted_is_a_table_too) {
    const auto table = ngram_table::count({}, one_to_three);
    BOOST_TEST(table.size() == 0u);
    finds(table, {1}, no_token, 0);
}

BOOST_AUTO_TEST_CASE(impossible_tables_are_refused_with_their_values) {
    const std::vector<std::int32_t> check(4);
    const std::vector<token> next(4, no_token);
    const auto refuses = [](draft::ngram_orders orders, std::vector<std::int32_t> marks, std::vector<token> tokens,
                            const std::string& expected) {
        BOOST_CHECK_EXCEPTION(ngram_table(orders, marks, tokens), error, says(expected));
    };
    refuses({0, 1, 9}, check, next, "ngram_table: the shortest context has 0 tokens; it needs one");
    refuses({3, 2, 9}, check, next, "ngram_table: the shortest context has 3 tokens, the longest 2");
    refuses({1, 17, 9}, check, next, "ngram_table: the longest context has 17 tokens, more than 16");
    refuses({1, 2, 0}, check, next, "ngram_table: the vocabulary size is 0");
    refuses({1, 2, 9}, {1, 2}, next, "ngram_table: 2 check values for 4 slots");
    refuses({1, 2, 9}, {1, 2, 3}, {-1, -1, -1}, "ngram_table: 3 slots are not a power of two");
    refuses({1, 2, 9}, {}, {}, "ngram_table: 0 slots are not a power of two");
    refuses({1, 2, 9}, check, {-1, 8, 9, -1}, "ngram_table: slot 2 holds token 9, but the vocabulary has 9");
    refuses({1, 2, 9}, check, {-1, -2, 1, -1}, "ngram_table: slot 1 holds token -2, but the vocabulary has 9");
    refuses({1, 2, 9}, check, {1, 1, 1, -1}, "ngram_table: 3 of 4 slots are used, more than 70%");
    BOOST_CHECK_EXCEPTION(ngram_table::count(texts{{1, 9}}, {1, 2, 9}), error,
                          says("ngram_table: a text holds token 9, but the vocabulary has 9"));
    BOOST_CHECK_EXCEPTION(ngram_table::count(texts{{-1}}, {1, 2, 9}), error,
                          says("ngram_table: a text holds token -1, but the vocabulary has 9"));
}

BOOST_AUTO_TEST_CASE(the_longest_contexts_have_16_tokens) {
    BOOST_TEST(ngram_table({1, 16, 9}, {0, 0}, {no_token, no_token}).orders().longest == 16u);
}

BOOST_AUTO_TEST_CASE(prints_itself) {
    std::ostringstream out;
    out << ngram_table::count(texts{{1, 2, 3}}, {1, 2, 10});
    BOOST_TEST(out.str() == "ngram_table{.shortest=1, .longest=2, .size=3}");
}

BOOST_AUTO_TEST_SUITE_END()
