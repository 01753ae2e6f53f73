#include "augur/backend/device/row_edits.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "augur/types/error.hpp"
#include "transform/rows.hpp"

namespace device = augur::backend::device;
using augur::prefix;
using augur::token;
using augur::transform::settings;
using device::emulated_system;

namespace {

/// What the host's transforms make of rows, each after one more of the drafted tokens.
std::vector<float> edited_on_host(const settings& chosen, std::vector<float> logits, std::size_t vocabulary,
                                  prefix before, const std::vector<token>& drafted) {
    for (std::size_t row = 0; row * vocabulary < logits.size(); ++row) {
        const auto one = std::span(logits).subspan(row * vocabulary, vocabulary);
        if (row > 0) before.push(drafted[row - 1]);
        chosen.bias(one, before);
        chosen.penalties(one, before);
    }
    return logits;
}

void check_edits(const device::row_edits<emulated_system>& edits, const settings& chosen, std::size_t vocabulary,
                 const prefix& before, std::mt19937& random) {
    const auto drafted = rows::tokens(random, random() % 5, vocabulary);
    std::vector<float> logits;
    for (std::size_t i = 0; i <= drafted.size(); ++i) {
        const auto row = rows::coarse(random, vocabulary);
        logits.insert(logits.end(), row.begin(), row.end());
    }
    const auto given = logits;
    const device::rows_view got =
        edits.edited({logits.data(), drafted.size() + 1, vocabulary}, drafted.data(), before.size());
    BOOST_TEST(got.count == drafted.size() + 1);
    BOOST_TEST(got.vocabulary_size == vocabulary);
    BOOST_TEST(logits == given);
    const auto expected = edited_on_host(chosen, logits, vocabulary, before, drafted);
    std::size_t different = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) different += got.logits[i] != expected[i];
    BOOST_TEST(different == 0u);
}

const settings penalised{.penalties = {.repetition = 1.3f, .presence = 0.5f, .frequency = 0.25f}};

}  // namespace

BOOST_AUTO_TEST_SUITE(backend_row_edits)

BOOST_AUTO_TEST_CASE(rows_are_edited_as_on_the_host_bit_for_bit) {
    std::mt19937 random(1);
    for (const std::size_t vocabulary : {1u, 17u, 257u, 5000u, 33'000u, 140'000u}) {
        for (int kind = 1; kind < 4; ++kind) {
            settings chosen;
            const auto any = [&] { return static_cast<token>(random() % vocabulary); };
            const token twice = any();  // the order of its biases matters to the rounding
            const auto last = static_cast<token>(vocabulary - 1);
            if (kind % 2 == 1)
                chosen.bias.added = {{twice, 1e6f}, {any(), -2.5f}, {twice, 0.3f}, {last, 0.7f}, {twice, -1e6f}};
            if (kind > 1) chosen.penalties = penalised.penalties;
            for (const bool backwards : {false, true}) {
                device::row_edits<emulated_system> edits({backwards}, chosen, vocabulary, 5);
                for (int repeat = 0; repeat < (vocabulary > 5000 ? 1 : 10); ++repeat) {
                    prefix before(rows::tokens(random, random() % 3000, vocabulary + 3));  // some unknown to the model
                    for (const token t : rows::tokens(random, random() % 9, vocabulary + 3)) before.push(t);
                    edits.on_commit(before);
                    check_edits(edits, chosen, vocabulary, before, random);
                }
            }
        }
    }
}

/// Tokens come, and are taken back; the prompt ends elsewhere; another prefix altogether.
BOOST_AUTO_TEST_CASE(what_is_followed_may_change_in_any_way) {
    std::mt19937 random(2);
    const std::size_t vocabulary = 20;
    device::row_edits<emulated_system> edits({}, penalised, vocabulary, 5);
    const std::vector<token> tokens = rows::tokens(random, 30, vocabulary);
    for (int repeat = 0; repeat < 200; ++repeat) {
        const std::size_t prompt = random() % 10, generated = random() % 10;
        auto some = tokens;
        if (random() % 3 == 0) some[random() % 15] = static_cast<token>(random() % vocabulary);
        prefix before(std::span<const token>(some).first(prompt));
        for (std::size_t i = 0; i < generated; ++i) before.push(some[prompt + i]);
        edits.on_commit(before);
        check_edits(edits, penalised, vocabulary, before, random);
    }
}

/// Bias before the mask, which leaves a row invalid that was so.
BOOST_AUTO_TEST_CASE(a_mask_removes_tokens_but_no_row_becomes_valid) {
    settings chosen{.bias = {{{1, 3e38f}, {3, 2.0f}}}};
    chosen.mask = [](std::span<float> logits, const prefix& before) {
        for (const std::size_t i : {1u, 2u}) logits[i + before.size()] = -rows::infinity;
    };
    device::row_edits<emulated_system> edits({}, chosen, 5, 3);
    edits.on_draft(prefix(std::vector<token>{}), std::vector<token>{3, 2});
    const float none = -rows::infinity;
    const std::vector<float> logits{0, 3e38f, 2, 3, 4, 0, 1, rows::infinity, 3, 4, 0, 1, 2, 3, 4};
    const device::rows_view got = edits.edited({logits.data(), 3, 5}, nullptr, 0);
    const std::vector<float> expected{0,    none, none, 5,    4,    0,    3e38f, rows::infinity,
                                      none, 4,    none, none, none, none, none};  // of 2, which was removed before
    BOOST_TEST(std::vector<float>(got.logits, got.logits + 15) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rows_that_the_mask_was_not_asked_about_are_refused) {
    settings chosen;
    chosen.mask = [](std::span<float>, const prefix&) {};
    device::row_edits<emulated_system> edits({}, chosen, 5, 3);
    const std::vector<float> logits(10);
    const auto refusal = [&](std::size_t rows, std::size_t position) {
        try {
            edits.edited({logits.data(), rows, 5}, nullptr, position);
        } catch (const augur::error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    BOOST_TEST(refusal(1, 0) ==
               "settings.mask is asked on the host, and it was about 0 rows from position 0 on, but the "
               "round has 1 from position 0 on; call on_draft(prefix, drafted) before each round");
    edits.on_draft(prefix(std::vector<token>{1, 2}), std::vector<token>{3});
    BOOST_TEST(refusal(2, 2).empty());
    BOOST_TEST(!refusal(1, 2).empty());
    BOOST_TEST(!refusal(2, 3).empty());
}

BOOST_AUTO_TEST_CASE(rows_stay_where_nothing_is_edited) {
    device::row_edits<emulated_system> edits({}, {.top_k = {3}}, 20, 5);
    const std::vector<float> logits(40);
    edits.on_commit(prefix(std::vector<token>{1, 2}));
    BOOST_TEST(edits.edited({logits.data(), 2, 20}, nullptr, 7).logits == logits.data());
    BOOST_TEST(edits.memory_bytes() == 0u);
}

BOOST_AUTO_TEST_CASE(memory_is_for_what_is_edited) {
    const device::row_edits<emulated_system> biased({}, {.bias = {{{3, 1.0f}}}}, 20, 5);
    BOOST_TEST(biased.memory_bytes() == sizeof(device::added_bias) + 100 * sizeof(float));
    const device::row_edits<emulated_system> counted({}, penalised, 20, 5);
    BOOST_TEST(counted.memory_bytes() == 100 * sizeof(float) + 20 * 8 + 1024 * 12);
}

BOOST_AUTO_TEST_CASE(penalties_after_another_prefix_are_refused) {
    const std::vector<float> logits(20);
    const auto refusal = [&](const device::row_edits<emulated_system>& edits, std::size_t position) {
        try {
            edits.edited({logits.data(), 1, 20}, nullptr, position);
        } catch (const augur::error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    device::row_edits<emulated_system> edits({}, penalised, 20, 5);
    BOOST_TEST(refusal(edits, 0) == "");
    edits.on_commit(prefix(std::vector<token>{1, 2}));
    BOOST_TEST(refusal(edits, 2) == "");
    BOOST_TEST(refusal(edits, 3) ==
               "penalties count the tokens of a prefix, and the last that was followed has 2, but the round begins at "
               "position 3; call on_commit(prefix) before each round");
    const device::row_edits<emulated_system> biased({}, {.bias = {{{3, 1.0f}}}}, 20, 5);
    BOOST_TEST(refusal(biased, 3) == "");
}

BOOST_AUTO_TEST_SUITE_END()
