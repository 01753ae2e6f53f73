#include "augur/backend/device/row_cut.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "augur/testing/wide_rows.hpp"
#include "augur/transform/pipeline.hpp"
#include "transform/rows.hpp"

namespace device = augur::backend::device;
using augur::detail::row_scan;
using augur::transform::settings;
using device::cut_settings;
using device::emulated_system;
using device::row_cut;

BOOST_AUTO_TEST_SUITE(backend_row_cut)

namespace {

/// Rows cut and weighed by kernels.
struct cut_on_device {
    std::vector<row_scan> scans, whole;
    std::vector<row_cut> cuts;
    std::vector<double> sums, totals;
    std::vector<std::uint32_t> arrivals;

    cut_on_device(emulated_system on, const device::rows_view& of, const settings& chosen)
        : scans(of.count * of.chunks()),
          whole(of.count),
          cuts(of.count),
          sums(scans.size()),
          totals(of.count),
          arrivals(of.count) {
        const device::scan_rows scan{of, scans.data(), nullptr, whole.data(), arrivals.data()};
        on.launch(scan.blocks(), scan);
        const device::row_cutter<emulated_system> cutter(on, cut_settings(chosen, of.vocabulary_size), of.count);
        const row_cut* const cut = cutter.cut(on, of, scans.data(), whole.data(), arrivals.data());
        if (cut != nullptr) std::copy_n(cut, cuts.size(), cuts.begin());
        const device::weigh_rows weigh{
            of, whole.data(), chosen.temperature.value, sums.data(), totals.data(), arrivals.data(), cuts.data()};
        on.launch(weigh.blocks(), weigh);
    }
};

void check_rows(const settings& chosen, const std::vector<float>& logits, std::size_t vocabulary) {
    const device::rows_view of{logits.data(), logits.size() / vocabulary, vocabulary};
    const augur::transform::pipeline transform(chosen, vocabulary);
    for (const bool backwards : {false, true}) {
        const cut_on_device got({backwards}, of, chosen);
        for (std::size_t row = 0; row < of.count; ++row) {
            const augur::distribution expected = transform({of.row(row), vocabulary}, {});
            const row_scan seen = augur::detail::scan_row({of.row(row), vocabulary});
            if (!seen.possible()) {
                BOOST_TEST(got.cuts[row].floor == row_cut{}.floor);
                BOOST_TEST(got.cuts[row].last_weight == row_cut{}.last_weight);
                continue;
            }
            BOOST_TEST_REQUIRE(!expected.empty());
            const device::row_weights weights(of.row(row), seen.largest, chosen.temperature.value, &got.cuts[row]);
            std::size_t different = 0;
            for (std::size_t t = 0; t < vocabulary; ++t) {
                different += static_cast<double>(weights[t]) != static_cast<double>(expected.weights()[t]);
            }
            BOOST_TEST(different == 0u);
            const auto* const sums = got.sums.data() + row * of.chunks();
            BOOST_TEST(std::equal(sums, sums + of.chunks(), expected.sums().begin()));
        }
    }
}

std::vector<float> random_row(std::mt19937& random, std::size_t size) {
    switch (random() % 9) {
        case 0:
            return std::vector<float>(size, -2.5f);
        case 1:
            return std::vector<float>(size, -rows::infinity);
        case 2: {
            auto row = rows::normal(random, size);
            row[random() % size] = rows::not_a_number;
            return row;
        }
        case 3:
            return rows::normal(random, size, 1e-7f);  // weights that nearly all are one
        case 4:
            return rows::normal(random, size, 60);
        case 5:
        case 6:
            return rows::normal(random, size, 2);
        default:
            return rows::coarse(random, size);
    }
}

settings random_cuts(std::mt19937& random, std::size_t size) {
    settings chosen;
    if (random() % 2 == 0) chosen.temperature.value = static_cast<float>(1 + random() % 30) / 10;
    if (random() % 2 == 0) chosen.top_k.k = 1 + random() % (random() % 2 == 0 ? 20 : size + 5);
    if (random() % 2 == 0) chosen.top_p.p = static_cast<float>(1 + random() % 99) / 100;
    if (random() % 8 == 0) chosen.top_p.p = random() % 2 == 0 ? 1e-30f : 0.9999999f;
    if (random() % 3 == 0) chosen.min_p.p = random() % 5 == 0 ? 1 : static_cast<float>(random() % 30) / 100;
    return chosen;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_stays_is_what_stays_on_the_host_bit_for_bit) {
    std::mt19937 random(1);
    for (const std::size_t vocabulary : {1u, 2u, 17u, 255u, 257u, 5000u}) {
        for (int repeat = 0; repeat < 60; ++repeat) {
            std::vector<float> logits;
            for (int i = 0; i < 4; ++i) {
                const auto row = random_row(random, vocabulary);
                logits.insert(logits.end(), row.begin(), row.end());
            }
            const settings chosen = random_cuts(random, vocabulary);
            BOOST_TEST_CONTEXT(vocabulary << " logits, repeat " << repeat << ", top-k " << chosen.top_k.k << ", top-p "
                                          << chosen.top_p.p << ", min-p " << chosen.min_p.p)
            check_rows(chosen, logits, vocabulary);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_large_vocabulary) {
    std::mt19937 random(2);
    auto logits = rows::coarse(random, 70000);
    const auto more = rows::normal(random, 70000);
    logits.insert(logits.end(), more.begin(), more.end());
    check_rows({.top_k = {50}, .top_p = {0.9f}}, logits, 70000);
    check_rows({.top_k = {60000}, .top_p = {0.9f}}, logits, 70000);
    check_rows({.temperature = {0.8f}, .top_p = {0.97f}, .min_p = {0.01f}}, logits, 70000);
}

/// Few tokens of a row, around the numbers at which ids are cut and vectors end; all others impossible, or far below.
BOOST_AUTO_TEST_CASE(few_tokens_far_out) {
    std::mt19937 random(4);
    for (const std::size_t vocabulary : augur::testing::wide_vocabularies) {
        for (const float others : {-rows::infinity, -12.0f}) {
            std::vector<float> logits(vocabulary, others);
            for (const augur::token t : augur::testing::far_places(vocabulary)) {
                logits[static_cast<std::size_t>(t)] = static_cast<float>(random() % 5) / 2;
            }
            for (const std::size_t k : {1u, 3u, 10u}) check_rows({.top_k = {k}}, logits, vocabulary);
            for (const float p : {0.3f, 0.8f, 0.99f}) check_rows({.top_p = {p}}, logits, vocabulary);
            check_rows({.temperature = {0.7f}, .min_p = {0.2f}}, logits, vocabulary);
        }
    }
}

/// Of equals the lower indices stay, in whatever chunk they are.
BOOST_AUTO_TEST_CASE(ties_across_chunks) {
    std::vector<float> logits(1000, -3.0f);
    for (const std::size_t i : {5u, 250u, 256u, 600u, 999u}) logits[i] = 2;
    logits[700] = 4;
    for (int percent = 1; percent < 100; ++percent) {
        check_rows({.top_p = {static_cast<float>(percent) / 100}}, logits, logits.size());
    }
    for (std::size_t k = 1; k < 9; ++k) check_rows({.top_k = {k}}, logits, logits.size());
    const std::vector<float> level(1024, 1.5f);  // shares that are reached, not passed
    for (const float p : {1 / 1024.0f, 256 / 1024.0f, 257 / 1024.0f, 1023 / 1024.0f}) {
        check_rows({.top_p = {p}}, level, level.size());
    }
}

/// Where top-p cuts among equals of the largest weight, min-p compares with the largest logit that is left.
BOOST_AUTO_TEST_CASE(min_p_where_the_largest_logit_is_cut) {
    std::mt19937 random(3);
    for (const std::size_t vocabulary : {2u, 255u, 256u, 257u, 1000u}) {
        std::vector<float> logits(vocabulary);
        for (float& logit : logits) logit = static_cast<float>(random() % 50) * 5e-10f;  // each of weight 1
        logits.back() = 2.9e-8f;
        for (const float temperature : {1.0f, 0.9f, 50.0f}) {
            for (const std::size_t k : {0u, 1u, 20u}) {
                for (int percent = 3; percent < 100; percent += 12) {
                    for (const float fraction : {1.0f, 0.9999999f, 0.5f}) {
                        const settings chosen{.temperature = {temperature},
                                              .top_k = {k},
                                              .top_p = {static_cast<float>(percent) / 100},
                                              .min_p = {fraction}};
                        check_rows(chosen, logits, vocabulary);
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(settings_that_cut_nothing_are_not_active) {
    BOOST_TEST(!cut_settings({}, 10).active());
    BOOST_TEST(!cut_settings({.temperature = {0.5f}, .top_k = {10}}, 10).active());
    BOOST_TEST(cut_settings({.top_k = {9}}, 10).active());
    BOOST_TEST(cut_settings({.top_p = {0.99f}}, 10).active());
    BOOST_TEST(cut_settings({.min_p = {0.01f}}, 10).active());
    BOOST_TEST(!cut_settings({.temperature = {0}, .top_k = {9}, .top_p = {0.5f}, .min_p = {0.5f}}, 10).active());
}

BOOST_AUTO_TEST_SUITE_END()
