#include "augur/train/replay.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(train_replay)
using namespace augur;
using namespace augur::train;

constexpr std::size_t width = 3, vocabulary = 6;

/// The n-th position of a text.
struct seen {
    explicit seen(std::size_t n, accept_bit was = accept_bit::unknown)
        : hidden(width, static_cast<float>(n)), bit(was), position(n) {
        for (std::size_t i = 0; i < vocabulary; ++i) logits.push_back(std::sin(static_cast<float>(3 * n + i)) * 2);
    }
    sample view() const { return {hidden, logits, static_cast<token>(position % vocabulary), bit, position}; }

    std::vector<float> hidden, logits;
    accept_bit bit;
    std::size_t position;
};

BOOST_AUTO_TEST_CASE(a_ring_keeps_the_last_of_what_it_was_shown) {
    replay ring(width, vocabulary, {.capacity = 4, .top = 2});
    for (std::size_t n = 0; n < 10; ++n) {
        const accept_bit bit = n % 3 == 0   ? accept_bit::accepted
                               : n % 3 == 1 ? accept_bit::rejected
                                            : accept_bit::unknown;
        BOOST_TEST(ring.add(seen(n, bit).view()));
        BOOST_TEST(ring.size() == std::min<std::size_t>(n + 1, 4));
        std::set<std::size_t> positions;
        std::size_t accepted = 0;
        for (std::size_t slot = 0; slot < ring.size(); ++slot) {
            const kept_sample kept = ring[slot];
            positions.insert(kept.position);
            accepted += kept.bit == accept_bit::accepted ? 1 : 0;
            BOOST_TEST(kept.hidden[2] == static_cast<float>(kept.position));
            BOOST_TEST(kept.drafted == static_cast<token>(kept.position % vocabulary));
        }
        BOOST_TEST(positions.size() == ring.size());
        BOOST_TEST(*positions.rbegin() == n);
        BOOST_TEST(*positions.begin() == n + 1 - ring.size());
        BOOST_TEST(ring.accepted() == accepted);
    }
}

BOOST_AUTO_TEST_CASE(rows_are_kept_as_probabilities_with_the_mass_of_the_others) {
    for (const std::size_t top : {std::size_t{0}, std::size_t{2}, vocabulary}) {
        replay ring(width, vocabulary, {.capacity = 4, .top = top});
        const seen shown(5);
        ring.add(shown.view());
        const kept_sample kept = ring[0];
        double total = 0, mean = 0, squares = 0, listed = 0;
        for (const float z : shown.logits) total += std::exp(static_cast<double>(z));
        for (const float z : shown.logits) mean += static_cast<double>(z) / vocabulary;
        for (const float z : shown.logits) squares += std::pow(static_cast<double>(z) - mean, 2);
        BOOST_TEST(std::abs(static_cast<double>(kept.spread) - std::sqrt(squares / vocabulary)) < 1e-5);
        BOOST_TEST(kept.row.log_probabilities.size() == (top == 0 ? vocabulary : top));
        for (std::size_t i = 0; i < kept.row.log_probabilities.size(); ++i) {
            const auto id = static_cast<std::size_t>(top == 0 ? static_cast<token>(i) : kept.row.tokens[i]);
            const double expected = std::exp(static_cast<double>(shown.logits[id])) / total;
            listed += expected;
            BOOST_TEST(std::abs(std::exp(static_cast<double>(kept.row.log_probabilities[i])) - expected) < 1e-6);
        }
        BOOST_TEST(std::abs(static_cast<double>(kept.row.tail) - (1 - listed)) < 1e-6);
        BOOST_TEST(kept.row.top() == std::max_element(shown.logits.begin(), shown.logits.end()) - shown.logits.begin());
    }
}

BOOST_AUTO_TEST_CASE(impossible_tokens_are_not_listed) {
    replay ring(width, vocabulary, {.capacity = 4, .top = 3});
    seen shown(1);
    std::fill(shown.logits.begin(), shown.logits.end(), -std::numeric_limits<float>::infinity());
    shown.logits[4] = 7;
    BOOST_TEST(ring.add(shown.view()));
    BOOST_TEST(ring[0].row.tokens.size() == 1U);
    BOOST_TEST(ring[0].row.tail == 0);
    BOOST_TEST(ring[0].spread == 0);
    shown.logits[0] = 9;
    BOOST_TEST(ring.add(shown.view()));
    BOOST_TEST(ring[1].spread == 1);  // of 7 and 9 alone
}

BOOST_AUTO_TEST_CASE(where_every_possible_token_is_listed_nothing_is_left) {
    replay ring(width, vocabulary, {.capacity = 32, .top = 4});
    for (std::size_t n = 0; n < 32; ++n) {
        seen shown(n);
        for (const std::size_t id : {1U, 4U, 5U}) shown.logits[id] = -std::numeric_limits<float>::infinity();
        ring.add(shown.view());
        BOOST_TEST(ring[n].row.tokens.size() == 3U);
        BOOST_TEST(ring[n].row.tail == 0);  // nor what rounding leaves of 1
    }
}

BOOST_AUTO_TEST_CASE(the_spread_is_of_the_tokens_that_are_measured) {
    const std::vector<token> measured{5, 0, 2};
    replay ring(width, vocabulary, {.capacity = 4, .top = 3}, measured);
    seen shown(1);
    shown.logits = {1, 100, 3, -50, 7, 8};
    BOOST_TEST(ring.add(shown.view()));
    BOOST_TEST(ring[0].spread == std::sqrt(26.0f / 3), boost::test_tools::tolerance(1e-6f));  // of 1, 3 and 8
    shown.logits[0] = -std::numeric_limits<float>::infinity();
    BOOST_TEST(ring.add(shown.view()));
    BOOST_TEST(ring[1].spread == 2.5f);  // of 3 and 8
    shown.logits[2] = shown.logits[5] = shown.logits[0];
    BOOST_TEST(ring.add(shown.view()));
    BOOST_TEST(ring[2].spread == 0);  // none of them is possible, though others are
    for (const token outside : {-1, 6}) {
        const std::vector<token> one{outside};
        BOOST_CHECK_EXCEPTION(replay(width, vocabulary, {.top = 3}, one), error, [&](const error& e) {
            return std::string(e.what()).find("of token " + std::to_string(outside)) != std::string::npos;
        });
    }
}

BOOST_AUTO_TEST_CASE(what_is_not_finite_is_refused_and_counted) {
    replay ring(width, vocabulary, {.capacity = 4, .top = 3});
    const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
    for (const float bad : {nan, infinity, -infinity}) {
        seen shown(1);
        shown.hidden[1] = bad;
        BOOST_TEST(!ring.add(shown.view()));
    }
    for (const float bad : {nan, infinity}) {
        seen shown(1);
        shown.logits[3] = bad;
        BOOST_TEST(!ring.add(shown.view()));
    }
    seen nothing(1);
    std::fill(nothing.logits.begin(), nothing.logits.end(), -infinity);
    BOOST_TEST(!ring.add(nothing.view()));
    BOOST_TEST(ring.refused() == 6U);
    BOOST_TEST(ring.size() == 0U);
    BOOST_TEST(ring.draw(8, 0, 0).empty());
    seen narrow(1);
    narrow.hidden.pop_back();
    BOOST_CHECK_THROW(ring.add(narrow.view()), error);
    seen few(1);
    few.logits.pop_back();
    BOOST_CHECK_THROW(ring.add(few.view()), error);
}

BOOST_AUTO_TEST_CASE(accepted_positions_are_sampled_once_there_are_enough) {
    replay ring(width, vocabulary,
                {.capacity = 8, .top = 2, .accepted_only = true, .least_accepted = 3, .whole_every = 4});
    const auto add = [&](std::size_t n, bool accepted) {
        ring.add(seen(n, accepted ? accept_bit::accepted : accept_bit::rejected).view());
    };
    const auto all_accepted = [&](std::size_t update, std::size_t warm_up) {
        const auto slots = ring.draw(64, update, warm_up);
        BOOST_TEST(slots.size() == 64U);
        return std::all_of(slots.begin(), slots.end(), [&](auto s) { return ring[s].bit == accept_bit::accepted; });
    };
    for (std::size_t n = 0; n < 6; ++n) add(n, n < 2);
    BOOST_TEST(!all_accepted(11, 10));  // two are too few
    add(6, true);
    BOOST_TEST(all_accepted(11, 10));
    BOOST_TEST(!all_accepted(9, 10));   // warm-up
    BOOST_TEST(!all_accepted(12, 10));  // a fourth one
    add(7, false);
    add(8, false);  // over the first accepted one
    BOOST_TEST(ring.accepted() == 2U);
    BOOST_TEST(!all_accepted(11, 10));
    ring.clear();
    BOOST_TEST(ring.size() + ring.accepted() == 0U);
}

BOOST_AUTO_TEST_CASE(more_accepted_positions_than_are_sampled_are_refused) {
    const auto made_of = [](std::size_t capacity, std::size_t newest, std::size_t least, bool accepted_only = true) {
        return replay(width, vocabulary,
                      {.capacity = capacity,
                       .top = 2,
                       .accepted_only = accepted_only,
                       .least_accepted = least,
                       .newest = newest});
    };
    const auto refused = [&](std::size_t capacity, std::size_t newest, const std::string& expected) {
        BOOST_CHECK_EXCEPTION(made_of(capacity, newest, 256), error, [&](const error& e) {
            BOOST_TEST(std::string(e.what()).find("least_accepted is 256, but updates sample at most " + expected) !=
                           std::string::npos,
                       e.what());
            return true;
        });
    };
    refused(4096, 64, "64 positions (capacity 4096, newest 64)");
    refused(255, 0, "255 positions (capacity 255, newest 0)");
    refused(200, 300, "200 positions");
    BOOST_CHECK_NO_THROW(made_of(256, 0, 256));
    BOOST_CHECK_NO_THROW(made_of(4096, 256, 256));
    BOOST_CHECK_NO_THROW(made_of(200, 64, 256, false));
    auto ring = made_of(64, 16, 16);
    for (std::size_t n = 0; n < 64; ++n) ring.add(seen(n, accept_bit::accepted).view());
    BOOST_TEST(ring.draws_accepted(1, 0));  // what fits can be reached
}

BOOST_AUTO_TEST_CASE(draws_are_a_function_of_seed_and_update_and_reach_all) {
    replay a(width, vocabulary, {.capacity = 8, .top = 2, .seed = 1}),
        b = a, other(width, vocabulary, {.capacity = 8, .top = 2, .seed = 2});
    for (std::size_t n = 0; n < 8; ++n) {
        for (replay* each : {&a, &b, &other}) each->add(seen(n).view());
    }
    BOOST_TEST(a.draw(16, 3, 0) == b.draw(16, 3, 0), boost::test_tools::per_element());
    BOOST_TEST((a.draw(16, 3, 0) != a.draw(16, 4, 0)));
    BOOST_TEST((a.draw(16, 3, 0) != other.draw(16, 3, 0)));
    const auto many = a.draw(400, 0, 0);
    BOOST_TEST(std::set<std::size_t>(many.begin(), many.end()).size() == 8U);
}

BOOST_AUTO_TEST_CASE(memory_is_as_stated) {
    BOOST_TEST(replay(576, 49152, {.capacity = 1, .top = 64}).bytes_per_sample() == (576 + 2 * 64) * 4 + 32 + 4);
    BOOST_TEST(replay(576, 49152, {.capacity = 2, .top = 0}).memory_bytes() == 2 * ((576 + 49152) * 4 + 32 + 4));
}

BOOST_AUTO_TEST_CASE(what_holds_nothing_is_refused) {
    BOOST_CHECK_THROW(replay(width, vocabulary, {.capacity = 0}), error);
    BOOST_CHECK_THROW(replay(width, vocabulary, {.capacity = 1, .top = 7}), error);
    BOOST_CHECK_THROW(replay(0, vocabulary, {.top = 2}), error);
    BOOST_CHECK_THROW(replay(width, 0, {.top = 0}), error);
    BOOST_CHECK_THROW(replay(1 << 20, vocabulary, {.capacity = 1 << 30, .top = 2}), error);
}

BOOST_AUTO_TEST_CASE(heads_and_the_tokens_they_read_are_kept) {
    replay ring(width, vocabulary, {.capacity = 3, .top = 2, .context = 2});
    BOOST_TEST(ring.bytes_per_sample() == replay(width, vocabulary, {.top = 2}).bytes_per_sample() + 8);
    const std::vector<token> after{4, 5};
    for (std::size_t n = 0; n < 5; ++n) {  // some slots are written twice
        const seen shown(n);
        sample of = shown.view();
        of.head = 7 * n;
        of.after = std::span(after).first(n % 3);
        ring.add(of);
    }
    for (std::size_t slot = 0; slot < 3; ++slot) {
        const kept_sample kept = ring[slot];
        const std::size_t n = kept.position;
        BOOST_TEST(kept.head == 7 * n);
        BOOST_TEST_REQUIRE(kept.after.size() == 2U);
        for (std::size_t i = 0; i < 2; ++i) BOOST_TEST(kept.after[i] == (i < n % 3 ? after[i] : no_token));
    }
    const std::vector<token> many(3, 1);
    const seen shown(1);
    sample wrong = shown.view();
    wrong.after = many;
    BOOST_CHECK_THROW(ring.add(wrong), error);
    wrong.after = {};
    wrong.head = 65536;
    BOOST_CHECK_THROW(ring.add(wrong), error);
}

BOOST_AUTO_TEST_CASE(a_row_that_is_shown_again_is_that_of_the_sample_before) {
    for (const std::size_t top : {std::size_t{0}, std::size_t{2}}) {
        for (const std::size_t capacity : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
            replay read(width, vocabulary, {.capacity = capacity, .top = top}), repeated = read;
            const std::vector<float> unread(vocabulary, 0), broken(width, std::numeric_limits<float>::infinity());
            for (std::size_t n = 0; n < 9; ++n) {
                const seen shown(n), row(n / 3);
                sample of = shown.view();
                of.logits = row.logits;
                BOOST_TEST(read.add(of));
                if (n % 3 != 0) of.logits = unread;  // nobody looks
                of.same_row = n % 3 != 0;
                BOOST_TEST(repeated.add(of));
                sample refused = of;
                refused.hidden = broken;
                refused.same_row = true;
                BOOST_TEST(!repeated.add(refused));
            }
            for (std::size_t slot = 0; slot < capacity; ++slot) {
                const kept_sample a = read[slot], b = repeated[slot];
                BOOST_TEST(a.position == b.position);
                BOOST_TEST(a.spread == b.spread);
                BOOST_TEST(a.row.tail == b.row.tail);
                BOOST_TEST(a.row.tokens == b.row.tokens, boost::test_tools::per_element());
                BOOST_TEST(a.row.log_probabilities == b.row.log_probabilities, boost::test_tools::per_element());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(after_a_row_that_was_refused_the_next_is_read) {
    replay ring(width, vocabulary, {.capacity = 4, .top = 2});
    const seen first(1), second(2);
    ring.add(first.view());
    const std::vector<float> broken(vocabulary, std::numeric_limits<float>::quiet_NaN());
    sample of = second.view();
    of.logits = broken;
    BOOST_TEST(!ring.add(of));
    of.same_row = true;
    BOOST_TEST(!ring.add(of));  // not the first's
    of.logits = second.logits;
    BOOST_TEST(ring.add(of));
    BOOST_TEST(ring[1].row.top() != ring[0].row.top());
    ring.clear();
    of.logits = broken;
    BOOST_TEST(!ring.add(of));
}

BOOST_AUTO_TEST_CASE(the_newest_alone_are_sampled) {
    for (const bool accepted_only : {false, true}) {
        replay ring(width, vocabulary,
                    {.capacity = 64, .top = 2, .accepted_only = accepted_only, .least_accepted = 1, .newest = 8});
        for (std::size_t n = 0; n < 100; ++n) {
            ring.add(seen(n, n % 2 == 0 ? accept_bit::rejected : accept_bit::accepted).view());
            for (std::size_t update = 0; n + 1 >= 8 && update < 4; ++update) {
                std::set<std::size_t> positions;
                for (const std::size_t slot : ring.draw(200, update, 0)) {
                    positions.insert(ring[slot].position);
                    BOOST_TEST(ring.may_draw(slot, update, 0));
                    BOOST_TEST(ring.age(slot) == n - ring[slot].position);
                }
                const bool half = accepted_only && update % 4 != 0;
                BOOST_TEST(positions.size() == (half ? 4U : 8U));
                BOOST_TEST(*positions.begin() + 8 > n);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(of_a_ring_that_holds_fewer_than_the_newest_those_are_sampled) {
    replay ring(width, vocabulary, {.capacity = 64, .top = 2, .newest = 8});
    ring.add(seen(4).view());
    for (const std::size_t slot : ring.draw(200, 0, 0)) BOOST_TEST(slot == 0U);
}

BOOST_AUTO_TEST_CASE(where_none_was_accepted_all_are_sampled) {
    replay ring(width, vocabulary, {.capacity = 4, .top = 2, .accepted_only = true, .least_accepted = 0});
    ring.add(seen(0, accept_bit::rejected).view());
    BOOST_TEST(!ring.draws_accepted(1, 0));
    BOOST_TEST(ring.draw(5, 1, 0).size() == 5U);
    ring.add(seen(1, accept_bit::accepted).view());
    BOOST_TEST(ring.draws_accepted(1, 0));
    for (const std::size_t slot : ring.draw(5, 1, 0)) BOOST_TEST(slot == 1U);
}

BOOST_AUTO_TEST_CASE(a_slot_keeps_nothing_of_what_it_held_before) {
    replay ring(width, vocabulary, {.capacity = 1, .top = 2, .context = 2, .past = 8});
    const seen first(0), second(1);
    const std::vector<token> two{3, 4}, one{5};
    sample shown = first.view();
    shown.after = two;
    shown.sequence = 7;
    ring.add(shown);
    BOOST_TEST(ring[0].after == two, boost::test_tools::per_element());
    BOOST_TEST(ring[0].sequence == 7U);
    shown = second.view();
    shown.after = one;
    shown.sequence = 9;
    ring.add(shown);
    const std::vector<token> after{5, no_token};
    BOOST_TEST(ring[0].after == after, boost::test_tools::per_element());
    BOOST_TEST(ring[0].sequence == 9U);
}

BOOST_AUTO_TEST_SUITE_END()
