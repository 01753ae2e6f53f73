#include "augur/backend/device/row_weights.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "augur/transform/pipeline.hpp"
#include "transform/rows.hpp"

namespace device = augur::backend::device;
using augur::detail::row_scan;
using device::emulated_system;
using device::row_cut;
using device::row_weights;

BOOST_AUTO_TEST_SUITE(backend_row_weights)

BOOST_AUTO_TEST_CASE(without_a_cut_they_are_the_pipelines) {
    std::mt19937 random(1);
    for (const std::size_t vocabulary : {1u, 255u, 257u, 5000u}) {
        const std::size_t count = 3, chunks = augur::detail::chunks_in(vocabulary);
        for (const float temperature : {1.0f, 0.3f, 7.0f}) {
            std::vector<float> logits;
            for (std::size_t i = 0; i < count; ++i) {
                const auto row = i == 0 ? rows::coarse(random, vocabulary) : rows::normal(random, vocabulary);
                logits.insert(logits.end(), row.begin(), row.end());
            }
            const device::rows_view of{logits.data(), count, vocabulary};
            const augur::transform::pipeline transform({.temperature = {temperature}}, vocabulary);
            for (const bool backwards : {false, true}) {
                std::vector<row_scan> scans(count * chunks);
                std::vector<row_scan> whole(count);
                std::vector<double> sums(count * chunks), totals(count);
                std::vector<std::uint32_t> arrivals(count);
                const device::scan_rows scan{of, scans.data(), nullptr, whole.data(), arrivals.data()};
                const device::weigh_rows weigh{
                    of, whole.data(), temperature, sums.data(), totals.data(), arrivals.data(), nullptr};
                emulated_system{backwards}.launch(scan.blocks(), scan);
                emulated_system{backwards}.launch(weigh.blocks(), weigh);
                for (std::size_t i = 0; i < count; ++i) {
                    const augur::distribution expected = transform({of.row(i), vocabulary}, {});
                    const float largest = augur::detail::scan_row({of.row(i), vocabulary}).largest;
                    const row_weights weights(of.row(i), largest, temperature);
                    for (std::size_t t = 0; t < vocabulary; ++t)
                        BOOST_TEST(static_cast<double>(weights[t]) == expected[t]);
                    for (std::size_t c = 0; c < chunks; ++c) BOOST_TEST(sums[i * chunks + c] == expected.sums()[c]);
                    BOOST_TEST(whole[i].largest == largest);
                    BOOST_TEST(totals[i] == expected.total());
                    BOOST_TEST(arrivals[i] == 0u);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(what_is_cut_weighs_nothing) {
    const std::vector<float> logits{2, 0, 1, 2, 1, -1, 1};
    const auto kept = [&](const row_cut& cut) {
        const row_weights weights(logits.data(), 2, 0.5f, &cut), all(logits.data(), 2, 0.5f);
        std::vector<int> left;
        for (std::size_t i = 0; i < logits.size(); ++i) {
            BOOST_TEST((weights[i] == 0 || weights[i] == all[i]));
            left.push_back(weights[i] > 0);
        }
        return left;
    };
    const float second = row_weights(logits.data(), 2, 0.5f)[2];
    BOOST_TEST(kept({}) == std::vector<int>({1, 1, 1, 1, 1, 1, 1}), boost::test_tools::per_element());
    BOOST_TEST(kept({.floor = -4}) == std::vector<int>({1, 1, 1, 1, 1, 0, 1}), boost::test_tools::per_element());
    BOOST_TEST(kept({.floor = -3.9f}) == std::vector<int>({1, 0, 1, 1, 1, 0, 1}), boost::test_tools::per_element());
    BOOST_TEST(kept({.last_weight = second, .last_index = 4}) == std::vector<int>({1, 0, 1, 1, 1, 0, 0}),
               boost::test_tools::per_element());
    BOOST_TEST(kept({.floor = -1, .last_weight = second, .last_index = 4}) == std::vector<int>({1, 0, 0, 1, 0, 0, 0}),
               boost::test_tools::per_element());
}

/// Each row by its own cut.
BOOST_AUTO_TEST_CASE(sums_are_of_what_stays) {
    const std::vector<float> logits{0, 0, 0, 0, 0, 0};
    const std::vector<row_cut> cuts{{.last_weight = 1, .last_index = 0}, {.floor = 1}};
    const device::rows_view of{logits.data(), 2, 3};
    const std::vector<row_scan> whole(2, augur::detail::scan_row(std::span(logits).first(3)));
    std::vector<double> sums(2), totals(2);
    std::vector<std::uint32_t> arrivals(2);
    emulated_system{}.launch(
        2, device::weigh_rows{of, whole.data(), 1, sums.data(), totals.data(), arrivals.data(), cuts.data()});
    BOOST_TEST(sums[0] == 1);
    BOOST_TEST(sums[1] == 0);
    BOOST_TEST(totals[0] == 1);
    BOOST_TEST(totals[1] == 0);
}

BOOST_AUTO_TEST_SUITE_END()
