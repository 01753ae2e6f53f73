#include "augur/train/sequence_states.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <set>
#include <vector>

#include "augur/train/replay_file.hpp"
#include "train/files.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_sequence_states)
using namespace augur;
using namespace augur::train;

constexpr std::size_t width = 2;

/// Positions of a text: its number, and the position.
std::vector<float> text_of(std::uint64_t number, std::size_t count) {
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i) {
        values.push_back(static_cast<float>(number));
        values.push_back(static_cast<float>(i));
    }
    return values;
}
void show(sequence_states& to, std::uint64_t number, std::size_t sure, std::size_t count) {
    const auto states = text_of(number, count);
    to.show({number, states}, sure, count);
}
bool holds(const sequence_states& of, std::uint64_t number, std::size_t position) {
    const auto found = of.until(number, position);
    const auto wanted = text_of(number, position + 1);
    return found.size() == wanted.size() && std::equal(found.begin(), found.end(), wanted.begin());
}

BOOST_AUTO_TEST_CASE(texts_grow_and_the_oldest_gives_way) {
    sequence_states all(width, 10);
    show(all, 1, 0, 3);
    show(all, 2, 0, 2);
    show(all, 1, 3, 5);
    BOOST_TEST(all.positions() == 7U);
    BOOST_TEST(holds(all, 1, 4));
    BOOST_TEST(holds(all, 2, 1));
    BOOST_TEST(!holds(all, 1, 5));
    BOOST_TEST(!holds(all, 3, 0));
    show(all, 3, 0, 4);  // the first is gone
    BOOST_TEST(all.sequences() == 2U);
    BOOST_TEST(all.positions() == 6U);
    BOOST_TEST(!holds(all, 1, 0));
    BOOST_TEST(holds(all, 2, 1));
    show(all, 2, 2, 12);  // it alone, and not whole
    BOOST_TEST(all.sequences() == 1U);
    BOOST_TEST(all.positions() == 10U);
    BOOST_TEST(holds(all, 2, 9));
    BOOST_TEST(!holds(all, 2, 10));
    BOOST_TEST(all.until(2, 10).empty());
    show(all, 2, 12, 14);
    BOOST_TEST(all.positions() == 10U);
}

BOOST_AUTO_TEST_CASE(what_is_no_longer_sure_is_taken_anew) {
    sequence_states all(width, 10);
    show(all, 1, 0, 5);
    std::vector<float> changed = text_of(1, 4);
    changed[5] = 77;
    all.show({1, changed}, 2, 4);
    BOOST_TEST(all.positions() == 4U);
    BOOST_TEST(all.until(1, 3)[5] == 77.0F);
    BOOST_TEST(holds(all, 1, 1));
    BOOST_TEST(testing::refuses([&] { all.show({1, text_of(1, 3)}, 2, 4); }, "4 positions of 2 numbers"));
}

/// Samples of four texts, of which the third is not held.
replay ring_of(sequence_states& texts, replay_options chosen) {
    chosen.capacity = 64;
    chosen.top = 0;
    chosen.past = 40;
    replay ring(width, 3, chosen);
    const std::vector<float> logits{1, 2, 3};
    for (std::uint64_t number = 1; number < 5; ++number) {
        if (number != 3) show(texts, number, 0, 12);
        for (std::size_t at = 4; at < 12; ++at) {
            const std::vector<float> state{static_cast<float>(number), static_cast<float>(at)};
            ring.add({.hidden = state,
                      .logits = logits,
                      .bit = at % 2 == 0 ? accept_bit::accepted : accept_bit::rejected,
                      .position = at + 1,
                      .sequence = number});
        }
    }
    return ring;
}

BOOST_AUTO_TEST_CASE(a_batch_is_of_few_texts_that_are_held) {
    sequence_states texts(width, 40);
    const replay ring = ring_of(texts, {});
    std::set<std::uint64_t> seen;
    for (std::size_t update = 0; update < 20; ++update) {
        const auto slots = draw_with_sequences(ring, texts, 16, update, 0);
        BOOST_TEST(slots.size() == 16U);
        BOOST_TEST(slots == draw_with_sequences(ring, texts, 16, update, 0), boost::test_tools::per_element());
        for (const std::size_t slot : slots) {
            BOOST_TEST(ring[slot].sequence != 3U);
            seen.insert(ring[slot].sequence);
        }
    }
    BOOST_TEST(seen.size() == 3U);
    const auto one = draw_with_sequences(ring, texts, 1, 3, 0);
    BOOST_TEST(one.size() <= 1U);
    BOOST_TEST(draw_with_sequences(ring, sequence_states(width, 40), 16, 0, 0).empty());
}

BOOST_AUTO_TEST_CASE(a_batch_is_of_four_texts_at_most) {
    sequence_states texts(width, 100);
    replay ring(width, 3, {.capacity = 64, .top = 0, .past = 100});
    const std::vector<float> logits{1, 2, 3};
    for (std::uint64_t number = 0; number < 16; ++number) {
        show(texts, number, 0, 4);
        const auto states = text_of(number, 4);
        for (std::size_t at = 0; at < 4; ++at) {
            const auto state = std::span(states).subspan(at * width, width);
            ring.add({.hidden = state, .logits = logits, .position = at + 1, .sequence = number});
        }
    }
    for (std::size_t update = 0; update < 10; ++update) {
        std::set<std::uint64_t> seen;
        for (const std::size_t slot : draw_with_sequences(ring, texts, 64, update, 0)) seen.insert(ring[slot].sequence);
        BOOST_TEST(seen.size() <= 4U);
        BOOST_TEST(seen.size() >= 2U);
    }
}

/// Else the numbers that chose the texts of a batch would choose its positions, too.
BOOST_AUTO_TEST_CASE(positions_are_drawn_by_other_numbers_than_texts) {
    constexpr std::size_t count = 32;
    sequence_states texts(width, 40);
    replay ring(width, 3, {.capacity = count, .top = 0, .past = 40});
    const std::vector<float> logits{1, 2, 3};
    show(texts, 1, 0, count);
    const auto states = text_of(1, count);
    for (std::size_t at = 0; at < count; ++at) {
        const auto state = std::span(states).subspan(at * width, width);
        ring.add({.hidden = state, .logits = logits, .position = at + 1, .sequence = 1});
    }
    const auto of_ring = ring.draw(count, 3, 0), of_text = draw_with_sequences(ring, texts, count, 3, 0);
    std::size_t same = 0;  // the ring counts from the newest, a text from the oldest
    for (std::size_t i = 0; i < count; ++i) same += ring.age(of_ring[i]) == of_text[i] ? 1 : 0;
    BOOST_TEST(same < count / 2);
}

BOOST_AUTO_TEST_CASE(a_batch_is_of_what_the_ring_would_draw) {
    sequence_states texts(width, 40);
    const replay accepted = ring_of(texts, {.accepted_only = true, .least_accepted = 1, .whole_every = 0});
    const replay newest = ring_of(texts, {.newest = 5});
    for (std::size_t update = 0; update < 10; ++update) {
        for (const std::size_t slot : draw_with_sequences(accepted, texts, 16, update, 0)) {
            BOOST_TEST((accepted[slot].bit == accept_bit::accepted));
        }
        for (const std::size_t slot : draw_with_sequences(newest, texts, 16, update, 0)) {
            BOOST_TEST(newest[slot].sequence == 4U);
            BOOST_TEST(newest[slot].position > 8U - 1);
        }
    }
}

BOOST_AUTO_TEST_CASE(rows_are_asked_of_their_texts_at_the_position_of_their_state) {
    sequence_states texts(width, 40);
    const replay ring = ring_of(texts, {});
    const std::vector<std::size_t> slots{0, 9, 2, 9};  // positions 4, 5, 6 and 5
    asked_rows asked;
    ask_with_sequences(ring, slots, texts, asked);
    BOOST_REQUIRE(asked.sequences.size() == 2U);
    BOOST_TEST(asked.sequences[0] == text_of(1, 7), boost::test_tools::per_element());
    BOOST_TEST(asked.sequences[1] == text_of(2, 6), boost::test_tools::per_element());
    BOOST_TEST(asked.sequence == (std::vector<std::size_t>{0, 1, 0, 1}), boost::test_tools::per_element());
    BOOST_TEST(asked.position == (std::vector<std::size_t>{4, 5, 6, 5}), boost::test_tools::per_element());
    for (std::size_t i = 0; i < slots.size(); ++i) {
        const auto state = ring[slots[i]].hidden;
        BOOST_TEST(asked.sequences[asked.sequence[i]][2 * asked.position[i] + 1] == state[1]);
    }
}

BOOST_AUTO_TEST_CASE(a_file_does_not_hold_texts) {
    const testing::scratch_folder folder;
    sequence_states texts(width, 40);
    replay ring = ring_of(texts, {});
    const state_identity whose{.model = "m", .layer = 1, .width = width, .vocabulary_size = 3};
    const std::string said = "kept with the states of their texts (40 positions)";
    BOOST_TEST(testing::refuses([&] { replay_file::save(ring, folder / "ring", whose); }, said));
    BOOST_TEST(testing::refuses([&] { replay_file::restore(ring, folder / "ring", whose); }, said));
    BOOST_TEST(!std::filesystem::exists(folder / "ring"));
}

BOOST_AUTO_TEST_SUITE_END()
