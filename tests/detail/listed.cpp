#include "augur/detail/listed.hpp"

#include <augur/detail/largest.hpp>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "listed_rows.hpp"

BOOST_AUTO_TEST_SUITE(detail_listed)

using namespace augur;
using augur::detail::listed_part;

BOOST_AUTO_TEST_CASE(a_scan_of_what_is_listed_is_one_of_the_row) {
    testing::for_listed_rows([](const testing::listed_row& row) {
        const auto found = augur::detail::scan_listed(row.logits, row.possible);
        const auto expected = augur::detail::scan_row(row.logits);
        BOOST_TEST(found.largest == expected.largest);
        BOOST_TEST(found.valid == expected.valid);
        BOOST_TEST(found.possible() == expected.possible());
        BOOST_TEST(found.first == expected.first);
    });
}

BOOST_AUTO_TEST_CASE(the_largest_of_what_is_listed_are_those_of_the_row) {
    testing::for_listed_rows([](const testing::listed_row& row) {
        for (const std::size_t count : {0u, 1u, 4u, 300u}) {
            std::vector<std::int32_t> got{7}, expected;
            const bool valid = augur::detail::largest_of(row.logits, count, got, row.possible);
            BOOST_TEST(valid == augur::detail::largest_of(row.logits, count, expected));
            BOOST_TEST(got == expected, boost::test_tools::per_element());
        }
    });
}

BOOST_AUTO_TEST_CASE(groups_hold_every_entry_once_in_whole_chunks) {
    testing::for_listed_rows([](const testing::listed_row& row) {
        std::vector<token> seen;
        std::size_t chunks = 0, groups = 0;
        std::size_t last = row.logits.size();  // chunk
        augur::detail::for_listed_groups(row.possible, row.logits.size(), [&](const auto& places, const auto& parts) {
            BOOST_TEST(places.size() <= augur::detail::chunk_size);
            std::size_t at = 0;
            for (const listed_part& part : parts) {
                BOOST_TEST(part.first == at);
                at = part.last;
                BOOST_TEST(part.first < part.last);
                BOOST_TEST(part.begin % augur::detail::chunk_size == 0u);
                BOOST_TEST(part.end == augur::detail::end_of_chunk(part.begin, row.logits.size()));
                BOOST_TEST(part.begin != last);
                last = part.begin;
                for (std::size_t i = part.first; i < part.last; ++i) {
                    const auto place = static_cast<std::size_t>(places[i]);
                    BOOST_TEST((part.begin <= place && place < part.end));
                }
            }
            BOOST_TEST(at == places.size());
            chunks += parts.size();
            ++groups;
            seen.insert(seen.end(), places.begin(), places.end());
        });
        BOOST_TEST(seen == row.possible, boost::test_tools::per_element());
        BOOST_TEST(groups <= 2 * (row.possible.size() / augur::detail::chunk_size) + 1);
        BOOST_TEST(chunks <= augur::detail::chunks_in(row.logits.size()));
    });
}

BOOST_AUTO_TEST_CASE(sums_of_what_is_listed_are_those_of_chunks_bit_for_bit) {
    std::mt19937 random(3);
    testing::for_listed_rows([&](const testing::listed_row& row) {
        std::vector<float> weights(row.logits.size()), others(row.logits.size());
        for (const token id : row.possible) {
            weights[static_cast<std::size_t>(id)] = static_cast<float>(random()) * 0x1p-30f;
            others[static_cast<std::size_t>(id)] = -static_cast<float>(random());
        }
        augur::detail::for_listed_groups(row.possible, weights.size(), [&](const auto& places, const auto& parts) {
            float few[augur::detail::chunk_size], other[augur::detail::chunk_size];
            augur::detail::gather(weights, places, few);
            augur::detail::gather(others, places, other);
            for (const listed_part& part : parts) {
                const auto sums = augur::detail::sums_of_part<2>({few, other}, places, part);
                BOOST_TEST(std::bit_cast<std::uint64_t>(sums[0]) ==
                           std::bit_cast<std::uint64_t>(augur::detail::sum_of_chunk(weights, part.begin, part.end)));
                BOOST_TEST(std::bit_cast<std::uint64_t>(sums[1]) ==
                           std::bit_cast<std::uint64_t>(augur::detail::sum_of_chunk(others, part.begin, part.end)));
            }
        });
    });
}

BOOST_AUTO_TEST_CASE(a_list_of_most_of_the_row_is_not_worth_it) {
    const std::vector<std::int32_t> ids{0, 2};
    BOOST_TEST(augur::detail::if_short(ids, 8).size() == 2u);
    BOOST_TEST(augur::detail::if_short(ids, 7).empty());
}

BOOST_AUTO_TEST_SUITE_END()
