#include "augur/backend/device/uploaded_draft_rows.hpp"

#include <augur/types/distribution.hpp>
#include <augur/types/proposal.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <vector>

namespace device = augur::backend::device;
using augur::distribution, augur::proposal, augur::token;
using device::emulated_system;

BOOST_AUTO_TEST_SUITE(backend_uploaded_draft_rows)

namespace {

constexpr std::size_t vocabulary = 5;

/// As many drafted tokens as there are rows; an empty row stands for certainty of token 3.
void check(device::uploaded_draft_rows<emulated_system>& uploaded, const std::vector<std::vector<float>>& rows,
           std::size_t room) {
    proposal<distribution> proposed;
    for (const auto& weights : rows) {
        const auto id = static_cast<token>(proposed.size());
        proposed.push(id, weights.empty() ? distribution::point(3, vocabulary) : distribution::weighted(weights));
    }
    uploaded.upload({}, proposed, vocabulary, room);
    const std::vector<token> tokens(proposed.tokens().begin(), proposed.tokens().end());
    const device::drawn_chain there = uploaded.of(tokens.data(), tokens.size());
    BOOST_TEST(there.size == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto stated = there.at(i, vocabulary);
        BOOST_TEST(stated.id == tokens[i]);
        for (token t = 0; t < static_cast<token>(vocabulary); ++t) {
            BOOST_TEST(stated.probability(t) == proposed[i].probability(t));
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_and_certainties_arrive_and_the_next_overwrite_them) {
    device::uploaded_draft_rows<emulated_system> uploaded;
    check(uploaded, {{1, 2, 3, 4, 5}, {}, {0, 0, 7, 0, 1}}, 3);
    check(uploaded, {{}, {5, 4, 3, 2, 1}}, 3);
    check(uploaded, {}, 3);
    check(uploaded, {{1, 1, 1, 1, 1}, {2, 0, 0, 0, 2}, {}, {0, 1, 0, 1, 0}}, 1);  // more than there was room for
}

BOOST_AUTO_TEST_SUITE_END()
