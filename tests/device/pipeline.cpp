#include "augur/backend/device/pipeline.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "augur/types/error.hpp"
#include "device/parity.hpp"

namespace device = augur::backend::device;
using augur::prefix;
using augur::token;
using augur::transform::settings;

namespace {

settings random_settings(std::mt19937& random, std::size_t size) {
    settings chosen;
    const auto any = [&] { return static_cast<token>(random() % size); };
    const token twice = any();  // named three times, and the order matters to the rounding
    if (random() % 3 == 0) chosen.bias.added = {{twice, 1e6f}, {any(), -2.5f}, {twice, 0.3f}, {twice, -1e6f}};
    if (random() % 5 == 0) chosen.bias.added.emplace_back(any(), -rows::infinity);
    if (random() % 3 == 0) chosen.penalties = {.repetition = 1.2f, .presence = 0.3f, .frequency = 0.1f};
    if (random() % 2 == 0) chosen.temperature.value = static_cast<float>(1 + random() % 30) / 10;
    if (random() % 10 == 0) chosen.temperature.value = 0;
    if (random() % 3 == 0) chosen.top_k.k = 1 + random() % (size + 5);
    if (random() % 3 == 0) chosen.top_p.p = static_cast<float>(1 + random() % 99) / 100;
    if (random() % 3 == 0) chosen.min_p.p = static_cast<float>(random() % 30) / 100;
    return chosen;
}

prefix random_prefix(std::mt19937& random, std::size_t size) {
    prefix made(rows::tokens(random, 10, size + 3));  // some are of another vocabulary
    for (const token t : rows::tokens(random, 20, size + 3)) made.push(t);
    return made;
}

template <class Policy>
void check_equal(const device::distribution<Policy>& made, const augur::distribution& expected) {
    BOOST_TEST_REQUIRE(made.size() == expected.size());
    BOOST_TEST_REQUIRE(made.empty() == expected.empty());
    BOOST_TEST_REQUIRE(made.is_point() == expected.is_point());
    BOOST_TEST(made.total() == expected.total());
    if (made.empty()) return;
    BOOST_TEST(made.mode() == expected.mode());
    const augur::distribution copy = on_host(made);
    std::size_t different = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) different += copy[i] != expected[i];
    BOOST_TEST(different == 0u);
    const std::size_t any = expected.size() / 2;
    BOOST_TEST(made[any] == expected[any]);
    BOOST_TEST(made.probability(static_cast<token>(any)) == expected.probability(static_cast<token>(any)));
}

std::string refusal(const settings& chosen, std::size_t vocabulary_size) {
    try {
        const device::pipeline made(chosen, vocabulary_size);
    } catch (const augur::error& e) {
        return e.what();
    }
    return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(device_pipeline)

BOOST_AUTO_TEST_CASE(distributions_are_those_of_the_host_bit_for_bit) {
    std::mt19937 random(1);
    std::size_t points = 0;
    std::size_t cut = 0;
    for (std::size_t i = 0; i < 1000; ++i) {
        const std::size_t size = parity::random_size(random);
        const auto row = parity::random_row(random, size);
        const settings chosen = random_settings(random, size);
        const prefix before = random_prefix(random, size);
        const auto expected = augur::transform::pipeline(chosen, size)(row, before);
        check_equal(device::pipeline(chosen, size)(parity::row_of(parity::upload(row)), before), expected);
        points += expected.is_point();
        cut += chosen.top_k.active() && chosen.top_p.active() && !expected.is_point();
    }
    BOOST_TEST(points > 30u);
    BOOST_TEST(cut > 30u);
}

BOOST_AUTO_TEST_CASE(each_step_alone_is_that_of_the_host) {
    std::mt19937 random(2);
    for (std::size_t i = 0; i < 100; ++i) {
        const std::size_t size = parity::random_size(random);
        const auto row = parity::random_row(random, size);
        const auto uploaded = parity::upload(row);
        const prefix before = random_prefix(random, size);
        const settings alone[] = {{},
                                  {.bias = {{{1, 2.5f}, {0, -rows::infinity}, {1, 0.1f}}}},
                                  {.penalties = {.repetition = 1.3f}},
                                  {.penalties = {.presence = 0.7f, .frequency = -0.2f}},
                                  {.temperature = {0}},
                                  {.temperature = {0.3f}},
                                  {.temperature = {2.5f}},
                                  {.top_k = {1 + random() % size}},
                                  {.top_p = {0.05f}},
                                  {.top_p = {0.9f}},
                                  {.top_p = {0.9999f}},
                                  {.min_p = {0.1f}},
                                  {.min_p = {1}}};
        for (const settings& chosen : alone) {
            check_equal(device::pipeline(chosen, size)(parity::row_of(uploaded), before),
                        augur::transform::pipeline(chosen, size)(row, before));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_drawn_from_is_empty_as_on_the_host) {
    std::mt19937 random(3);
    for (std::size_t i = 0; i < 400; ++i) {
        const std::size_t size = parity::random_size(random);
        const auto row = parity::invalid_row(random, size);
        const settings chosen = random_settings(random, size);
        const prefix before = random_prefix(random, size);
        const auto made = device::pipeline(chosen, size)(parity::row_of(parity::upload(row)), before);
        BOOST_TEST(made.empty());
        check_equal(made, augur::transform::pipeline(chosen, size)(row, before));
    }
    settings overflow{.bias = {{{1, 3e38f}}}};
    settings banned{.bias = {{{0, -rows::infinity}, {1, -rows::infinity}}}};
    for (const float temperature : {0.0f, 0.5f, 1.0f}) {
        overflow.temperature.value = banned.temperature.value = temperature;
        const auto row = parity::upload({1, 3e38f});
        BOOST_TEST(device::pipeline(overflow, 2)(parity::row_of(row), {}).empty());
        BOOST_TEST(device::pipeline(banned, 2)(parity::row_of(row), {}).empty());
    }
}

BOOST_AUTO_TEST_CASE(a_mask_removes_what_the_hosts_does_even_what_has_no_bit_in_the_last_word) {
    std::mt19937 random(4);
    for (std::size_t i = 0; i < 200; ++i) {
        const std::size_t size = parity::random_size(random);
        const auto row = parity::random_row(random, size);
        std::vector<std::uint32_t> words((size + 31) / 32);
        for (std::uint32_t& word : words) word = static_cast<std::uint32_t>(random()) | (i % 2 ? 1u : 0u);
        const device::memory<std::uint32_t> uploaded(words.begin(), words.end());
        const settings bare = random_settings(random, size);
        settings masked = bare;
        masked.mask = [&](std::span<float> logits, const prefix& before) {
            BOOST_TEST(before.size() == 30u);
            for (std::size_t t = 0; t < size; ++t) {
                if ((words[t / 32] >> t % 32 & 1u) == 0) logits[t] = -rows::infinity;
            }
        };
        const auto remove = [&](float* logits, std::size_t count, const prefix& before) {
            BOOST_TEST(before.size() == 30u);
            device::for_each(thrust::device, count, device::keep_allowed{device::address(uploaded), logits});
        };
        const prefix before = random_prefix(random, size);
        check_equal(device::pipeline(bare, size, remove)(parity::row_of(parity::upload(row)), before),
                    augur::transform::pipeline(masked, size)(row, before));
    }
}

BOOST_AUTO_TEST_CASE(storage_is_used_again_whatever_was_in_it) {
    std::mt19937 random(5);
    device::distribution<> out;
    for (std::size_t i = 0; i < 100; ++i) {
        const std::size_t size = parity::random_size(random);
        const auto row = i % 5 == 4 ? parity::invalid_row(random, size) : parity::random_row(random, size);
        const settings chosen{.temperature = {i % 3 == 0 ? 0.0f : 1.0f}};
        device::pipeline(chosen, size).apply(parity::row_of(parity::upload(row)), {}, out);
        check_equal(out, augur::transform::pipeline(chosen, size)(row, {}));
    }
}

BOOST_AUTO_TEST_CASE(what_the_host_refuses_is_refused_and_so_is_a_mask_of_the_hosts) {
    BOOST_TEST(refusal({.top_p = {1.25f}}, 10) == "top_p is 1.25; it must be in (0, 1]");
    settings masked;
    masked.mask = [](std::span<float>, const prefix&) {};
    BOOST_TEST(refusal(masked, 10) ==
               "settings.mask edits logits on the host, but these rows lie in device memory; give the pipeline a "
               "backend::device::mask instead");
}

BOOST_AUTO_TEST_SUITE_END()
