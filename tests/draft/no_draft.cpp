#include "augur/draft/no_draft.hpp"

#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

namespace augur::draft {
static_assert(Drafter<no_draft>);
}  // namespace augur::draft

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_no_draft)

BOOST_AUTO_TEST_CASE(every_round_is_a_plain_step_whatever_the_policy_wants) {
    const auto target = testing::hashed_model(5, 1);
    const auto scheme = speculate(draft::no_draft{}, target, policy::fixed_length{8}, accept::coupled{});
    decode::options chosen;
    chosen.stop.max_tokens = 9;
    const std::vector<token> prompt{1};
    const auto decoded = decode::generate(scheme, prompt, chosen);
    BOOST_TEST(decoded.counts.count(origin::plain) == 9u);
    BOOST_TEST(decoded.counts.rounds() == 9u);
    BOOST_TEST(decoded.counts.stages[0].drafted == 0u);
    BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, chosen).tokens);
}

BOOST_AUTO_TEST_SUITE_END()
