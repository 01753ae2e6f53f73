#include "augur/train/replay_file.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "train/files.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_replay_file)
using namespace augur;
using namespace augur::train;

constexpr std::size_t width = 3, vocabulary = 6;
const state_identity whose{"0123456789abcdef", 2, width, vocabulary};

replay filled(const replay_options& chosen, std::size_t count) {
    replay ring(width, vocabulary, chosen);
    for (std::size_t n = 0; n < count; ++n) {
        const std::vector<float> hidden(width, static_cast<float>(n));
        std::vector<float> logits(vocabulary);
        for (std::size_t i = 0; i < vocabulary; ++i) logits[i] = static_cast<float>((7 * n + 5 * i) % 11);
        ring.add({hidden, logits, static_cast<token>(n % vocabulary), static_cast<accept_bit>(n % 3), n});
    }
    return ring;
}
bool equal(const replay& a, const replay& b) {
    if (a.size() != b.size() || a.accepted() != b.accepted() || a.refused() != b.refused()) return false;
    const auto same = [](auto x, auto y) { return std::equal(x.begin(), x.end(), y.begin(), y.end()); };
    for (std::size_t i = 0; i < a.size(); ++i) {
        const kept_sample x = a[i], y = b[i];
        if (!same(x.hidden, y.hidden) || !same(x.row.tokens, y.row.tokens) || x.row.tail != y.row.tail ||
            !same(x.row.log_probabilities, y.row.log_probabilities) || x.spread != y.spread || x.bit != y.bit ||
            x.drafted != y.drafted || x.position != y.position)
            return false;
    }
    return true;
}

BOOST_AUTO_TEST_CASE(a_ring_goes_on_where_it_was) {
    const testing::scratch_folder folder;
    for (const std::size_t top : {std::size_t{0}, std::size_t{3}}) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{5}, std::size_t{13}}) {
            const replay_options chosen{.capacity = 5, .top = top, .accepted_only = true, .least_accepted = 1};
            replay ring = filled(chosen, count), read = filled(chosen, 2);
            replay_file::save(ring, folder / "r", whose);
            replay_file::restore(read, folder / "r", whose);
            BOOST_TEST(equal(ring, read));
            for (std::size_t n = 0; n < 4; ++n) {  // the same slots give way
                const std::vector<float> hidden(width, 9), logits(vocabulary, 1);
                ring.add({hidden, logits, 1, accept_bit::rejected, n});
                read.add({hidden, logits, 1, accept_bit::rejected, n});
                BOOST_TEST(equal(ring, read));
                BOOST_TEST(ring.draw(8, 1, 0) == read.draw(8, 1, 0), boost::test_tools::per_element());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_measured_of_rows_stays_what_it_was) {
    const testing::scratch_folder folder;
    const std::vector<token> measured{1, 4};
    replay ring(width, vocabulary, {.capacity = 4, .top = 3}, measured);
    replay read = ring;
    replay_file::save(ring, folder / "r", whose);
    replay_file::restore(read, folder / "r", whose);
    const std::vector<float> hidden(width, 9), logits{0, 1, 0, 0, 5, 0};
    for (replay* each : {&ring, &read}) {
        BOOST_TEST(each->add({hidden, logits, 1, accept_bit::rejected, 0}));
        BOOST_TEST((*each)[0].spread == 2);  // of 1 and 5
    }
}

BOOST_AUTO_TEST_CASE(what_is_sampled_after_a_restore_is_what_would_have_been) {
    const testing::scratch_folder folder;
    for (const std::size_t capacity : {std::size_t{4}, std::size_t{5}, std::size_t{16}}) {
        for (std::size_t count = 0; count < 40; ++count) {
            const replay_options chosen{.capacity = capacity, .top = 3, .accepted_only = true, .least_accepted = 1};
            const replay ring = filled(chosen, count);
            replay read(width, vocabulary, chosen);
            replay_file::save(ring, folder / "r", whose);
            replay_file::restore(read, folder / "r", whose);
            BOOST_TEST_CONTEXT(capacity << " slots, " << count << " samples") {
                BOOST_TEST(equal(ring, read));
                for (std::size_t update = 0; update < 6; ++update) {
                    BOOST_TEST(ring.draw(8, update, 0) == read.draw(8, update, 0), boost::test_tools::per_element());
                }
            }
        }
    }
}

/// The content of a file with a right checksum, whatever else is in it.
std::string with_checksum(std::string content) {
    io::fnv_hash hash;
    const std::size_t size = content.size() - hash.text().size();
    hash.add(std::as_bytes(std::span(content).first(size)));
    return content.replace(size, std::string::npos, hash.text());
}

BOOST_AUTO_TEST_CASE(places_that_are_no_order_are_refused) {
    const testing::scratch_folder folder;
    const replay_options chosen{.capacity = 6, .top = 3};
    replay ring = filled(chosen, 6);  // 2 and 5 are accepted
    replay_file::save(ring, folder / "r", whose);
    const std::string whole = testing::content_of(folder / "r");
    // kind, version, identity, six numbers, the marks' count; then 32 bytes each, the place after 24
    const std::size_t marks = 8 + 6 + 4 + 8 + 16 + 3 * 8 + 6 * 8 + 8;
    testing::write(folder / "r", with_checksum(whole));
    replay_file::restore(ring, folder / "r", whose);
    for (const char place : {'\0', '\2', 'M'}) {
        std::string wrong = whole;
        BOOST_REQUIRE(wrong[marks + 5 * 32 + 24] == 1);
        wrong[marks + 5 * 32 + 24] = place;
        testing::write(folder / "r", with_checksum(wrong));
        const std::string what = "sample 5 has place " + std::to_string(place) + " of 2 accepted ones";
        BOOST_TEST(testing::refuses([&] { replay_file::restore(ring, folder / "r", whose); }, what));
    }
}

BOOST_AUTO_TEST_CASE(numbers_that_no_ring_has_are_refused) {
    const testing::scratch_folder folder;
    const replay_options chosen{.capacity = 6, .top = 3, .context = 1};
    const replay ring = filled(chosen, 4);
    replay read = filled(chosen, 2);
    replay_file::save(ring, folder / "r", whose);
    const std::string whole = testing::content_of(folder / "r");
    const auto refused = [&](std::size_t at, const std::string& bytes, const std::string& what) {
        std::string wrong = whole;
        testing::write(folder / "r", with_checksum(wrong.replace(at, bytes.size(), bytes)));
        BOOST_TEST(testing::refuses([&] { replay_file::restore(read, folder / "r", whose); }, what), what);
        BOOST_TEST(equal(read, filled(chosen, 2)));
    };
    // kind, version and identity; six numbers, of which the fifth is the next slot; the marks' count and the marks, in
    // which the tokens listed come after 12 bytes; and at the end tokens after states and a checksum
    const std::size_t numbers = 8 + 6 + 4 + 8 + 16 + 3 * 8, marks = numbers + 6 * 8 + 8;
    BOOST_REQUIRE(whole[numbers + 4 * 8] == 4);
    BOOST_REQUIRE(whole[marks + 12] == 3);
    refused(numbers + 4 * 8, "\2", "its next slot is 2, but it has 4 samples");
    refused(marks + 12, std::string(1, '\0'), "sample 0 has 0 of 3 tokens");
    refused(marks + 12, "\4", "sample 0 has 4 of 3 tokens");
    const std::size_t last = whole.size() - io::fnv_hash().text().size() - sizeof(token);
    refused(last, "\xFE", "token -2 comes after a state");
    refused(last, std::string("\6\0\0\0", 4), "token 6 comes after a state");
    testing::write(folder / "r", whole);
    replay_file::restore(read, folder / "r", whose);
    BOOST_TEST(equal(read, ring));
}

BOOST_AUTO_TEST_CASE(samples_of_heads_that_are_not_here_are_refused) {
    const testing::scratch_folder folder;
    const replay_options chosen{.capacity = 4, .top = 3};
    replay ring(width, vocabulary, chosen), read = ring;
    const std::vector<float> hidden(width, 1), logits(vocabulary, 1);
    for (std::size_t head = 0; head < 3; ++head) ring.add({.hidden = hidden, .logits = logits, .head = head});
    replay_file::save(ring, folder / "r", whose);
    BOOST_TEST(testing::refuses([&] { replay_file::restore(read, folder / "r", whose, 2); },
                                "sample 2 is of head 2, but here heads are 2"));
    BOOST_TEST(read.size() == 0U);
    replay_file::restore(read, folder / "r", whose, 3);
    BOOST_TEST(read.size() == 3U);
}

BOOST_AUTO_TEST_CASE(others_are_refused_with_both_values_and_change_nothing) {
    const testing::scratch_folder folder;
    const replay_options chosen{.capacity = 5, .top = 3};
    replay_file::save(filled(chosen, 4), folder / "r", whose);
    replay ring = filled(chosen, 2);
    const replay before = ring;
    const auto refused = [&](replay& into, const state_identity& here, const std::string& what) {
        BOOST_CHECK_EXCEPTION(replay_file::restore(into, folder / "r", here), error, [&](const error& e) {
            BOOST_TEST_INFO(e.what());
            return std::string(e.what()).find(what) != std::string::npos;
        });
    };
    refused(ring, {"0123456789abcdef", 2, width, 8}, "a vocabulary of 6, but here it is 8");
    refused(ring, {"0123456789abcdef", 2, 4, vocabulary}, "a size of 3, but here it is 4");
    refused(ring, {"0123456789abcdef", 3, width, vocabulary}, "after layer 2, but here it is 3");
    refused(ring, {"another", 2, width, vocabulary}, "'0123456789abcdef', but here it is 'another'");
    replay larger(width, vocabulary, {.capacity = 6, .top = 3}), deeper(width, vocabulary, {.capacity = 5, .top = 4});
    refused(larger, whose, "the capacity is 5, but here it is 6");
    refused(deeper, whose, "top is 3, but here it is 4");
    const std::string whole = testing::content_of(folder / "r");
    for (std::size_t i = 0; i < whole.size(); ++i) {
        std::string damaged = whole;
        damaged[i] = static_cast<char>(damaged[i] ^ 1);
        testing::write(folder / "r", damaged);
        BOOST_CHECK_THROW(replay_file::restore(ring, folder / "r", whose), error);
        testing::write(folder / "r", whole.substr(0, i));
        BOOST_CHECK_THROW(replay_file::restore(ring, folder / "r", whose), error);
    }
    BOOST_TEST(equal(ring, before));
}

BOOST_AUTO_TEST_CASE(heads_and_their_tokens_go_on_too) {
    const testing::scratch_folder folder;
    const replay_options chosen{.capacity = 4, .top = 3, .context = 2};
    replay ring(width, vocabulary, chosen), read = ring;
    for (std::size_t n = 0; n < 6; ++n) {
        const std::vector<float> hidden(width, 1), logits(vocabulary, static_cast<float>(n));
        const std::vector<token> after(n % 3, static_cast<token>(n % vocabulary));
        ring.add({.hidden = hidden, .logits = logits, .position = n, .head = n % 4, .after = after});
    }
    replay_file::save(ring, folder / "r", whose);
    replay_file::restore(read, folder / "r", whose);
    BOOST_TEST(equal(ring, read));
    for (std::size_t slot = 0; slot < 4; ++slot) {
        BOOST_TEST(read[slot].head == ring[slot].head);
        BOOST_TEST(read[slot].after == ring[slot].after, boost::test_tools::per_element());
    }
    replay other(width, vocabulary, {.capacity = 4, .top = 3, .context = 1});
    BOOST_CHECK_EXCEPTION(replay_file::restore(other, folder / "r", whose), error, [](const error& e) {
        return std::string(e.what()).find("the context is 2, but here it is 1") != std::string::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
