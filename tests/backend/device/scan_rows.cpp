#include "augur/backend/device/scan_rows.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "augur/testing/wide_rows.hpp"
#include "augur/types/error.hpp"
#include "transform/rows.hpp"

namespace device = augur::backend::device;
using augur::detail::row_scan;
using augur::measure::softmax_moments;
using device::emulated_system;

BOOST_AUTO_TEST_SUITE(backend_scan_rows)

namespace {

/// Of every kind: some have ties, some tokens that are impossible, some no softmax.
std::vector<float> random_row(std::mt19937& random, std::size_t size) {
    auto row = random() % 2 == 0 ? rows::coarse(random, size) : rows::normal(random, size, 5);
    switch (random() % 8) {
        case 0:
            row[random() % size] = rows::not_a_number;
            return row;
        case 1:
            row[random() % size] = rows::infinity;
            return row;
        case 2:
            return std::vector<float>(size, -rows::infinity);
        case 3:
            return std::vector<float>(size, -2.5f);
        default:
            row[random() % size] += 120;  // most weights are 0
            return row;
    }
}

template <class T>
std::vector<T> downloaded(const T* from, std::size_t count) {
    return {from, from + count};  // an emulated system's memory is the host's
}

void check_moments(const softmax_moments& got, const softmax_moments& expected) {
    BOOST_TEST(got.maximum == expected.maximum);
    BOOST_TEST(got.sum == expected.sum);
    BOOST_TEST((got.moment == expected.moment || (std::isnan(got.moment) && std::isnan(expected.moment))));
    BOOST_TEST(got.valid == expected.valid);
}

void check_row(const device::scanned_row& scanned, std::span<const float> row) {
    const row_scan expected = augur::detail::scan_row(row);
    BOOST_TEST(scanned.scan.largest == expected.largest);
    BOOST_TEST(scanned.scan.valid == expected.valid);
    if (expected.possible()) BOOST_TEST(scanned.scan.first == expected.first);
    check_moments(scanned.moments, augur::measure::moments(row));
    BOOST_TEST(scanned.entropy_nats == augur::measure::entropy_nats(row));
}

const std::size_t vocabularies[] = {1, 2, 255, 256, 257, 4096, 4097, 5000, 70000};

}  // namespace

BOOST_AUTO_TEST_CASE(rows_say_what_they_say_on_the_host) {
    std::mt19937 random(1);
    for (const std::size_t vocabulary : vocabularies) {
        const std::size_t count = vocabulary < 70000 ? 24 : 4;
        std::vector<float> logits;
        for (std::size_t i = 0; i < count; ++i) {
            const auto row = random_row(random, vocabulary);
            logits.insert(logits.end(), row.begin(), row.end());
        }
        for (const bool backwards : {false, true}) {
            const device::row_scanner scanner(emulated_system{backwards}, vocabulary, count);
            for (const std::size_t used : {count, std::size_t{3}}) {
                const auto scanned = downloaded(scanner.scan(logits.data(), used), used);
                for (std::size_t i = 0; i < used; ++i) {
                    BOOST_TEST_CONTEXT("row " << i << " of " << vocabulary << " logits")
                    check_row(scanned[i], std::span<const float>(logits).subspan(i * vocabulary, vocabulary));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(chunks_say_what_they_say_on_the_host) {
    std::mt19937 random(2);
    const std::size_t vocabulary = 5000, chunks = augur::detail::chunks_in(vocabulary);
    for (int repeat = 0; repeat < 30; ++repeat) {
        const auto row = random_row(random, vocabulary);
        std::vector<row_scan> scans(chunks), alone(chunks);
        std::vector<softmax_moments> moments(chunks);
        const device::scan_rows kernel{{row.data(), 1, vocabulary}, scans.data(), moments.data()};
        emulated_system{}.launch(kernel.blocks(), kernel);
        const device::scan_rows without_moments{kernel.of, alone.data(), nullptr};
        emulated_system{}.launch(without_moments.blocks(), without_moments);
        for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
            const std::size_t begin = chunk * augur::detail::chunk_size;
            const auto part =
                std::span<const float>(row).subspan(begin, augur::detail::end_of_chunk(begin, vocabulary) - begin);
            const row_scan expected = augur::detail::scan_row(part);
            for (const row_scan& scan : {scans[chunk], alone[chunk]}) {
                BOOST_TEST(scan.largest == expected.largest);
                BOOST_TEST(scan.valid == expected.valid);
                BOOST_TEST(scan.first == begin + expected.first);
            }
            check_moments(moments[chunk], augur::measure::moments_of_chunk(part));
        }
    }
}

BOOST_AUTO_TEST_CASE(of_equal_logits_the_first_is_the_largest) {
    for (const std::size_t other : {1u, 255u, 256u, 4999u}) {
        for (const std::size_t first : {0u, 254u, 300u, 4998u}) {
            if (first >= other) continue;
            std::vector<float> row(5000, 0.0f);
            row[first] = row[other] = 1;
            for (const bool backwards : {false, true}) {
                const device::row_scanner scanner(emulated_system{backwards}, row.size(), 1);
                BOOST_TEST(scanner.scan(row.data(), 1)->scan.first == first);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(few_tokens_far_out) {
    for (const std::size_t vocabulary : augur::testing::wide_vocabularies) {
        const auto places = augur::testing::far_places(vocabulary);
        for (std::size_t i = 0; i < places.size(); ++i) {
            std::vector<float> row(vocabulary, -rows::infinity);
            row[static_cast<std::size_t>(places[i])] = 1.5f;
            row[static_cast<std::size_t>(places[(i + 1) % places.size()])] = i % 2 == 0 ? 1.5f : 1.0f;
            const device::row_scanner scanner(emulated_system{i % 2 == 1}, row.size(), 1);
            BOOST_TEST_CONTEXT("token " << places[i] << " of " << vocabulary)
            check_row(*scanner.scan(row.data(), 1), row);
        }
    }
}

BOOST_AUTO_TEST_CASE(impossible_sizes_are_refused) {
    const auto refusal = [](std::size_t vocabulary, std::size_t most_rows) {
        try {
            const device::row_scanner scanner(emulated_system{}, vocabulary, most_rows);
        } catch (const augur::error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    BOOST_TEST(refusal(0, 5) == "there is nothing to scan in 5 rows of 0 logits");
    BOOST_TEST(refusal(7, 0) == "there is nothing to scan in 0 rows of 7 logits");
    BOOST_TEST(refusal(7, 5).empty());
    const device::row_scanner scanner(emulated_system{}, 7, 5);
    BOOST_TEST(scanner.memory_bytes() ==
               5 * (sizeof(row_scan) + sizeof(softmax_moments) + sizeof(device::scanned_row)));
    const std::vector<float> logits(42);
    BOOST_CHECK_EXCEPTION(scanner.scan(logits.data(), 6), augur::error, [](const augur::error& e) {
        return std::string(e.what()) == "a scanner of 5 rows cannot scan 6";
    });
}

BOOST_AUTO_TEST_SUITE_END()
