#include "augur/decode/session.hpp"

#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>

using namespace augur;

BOOST_AUTO_TEST_SUITE(decode_session)

BOOST_AUTO_TEST_CASE(the_prompt_is_prefilled_but_for_its_last_token) {
    const auto target = testing::hashed_model(4, 1);
    const auto scheme = plain(target);
    const std::vector<token> prompt{1, 2, 3};
    const decode::session session(scheme, prompt, {}, {}, random::philox_chooser(0));
    BOOST_TEST(session.target.tokens().size() == 2u);
    BOOST_TEST(session.committed.prompt_length() == 3u);
    BOOST_TEST(session.committed.generated().empty());
}

BOOST_AUTO_TEST_CASE(sessions_of_one_scheme_do_not_disturb_each_other) {
    const auto target = testing::hashed_model(16, 1);
    const auto drafter = testing::hashed_model(16, 2);
    const auto scheme = speculate(drafter, target, policy::fixed_length{3}, accept::coupled{});
    const std::vector<token> prompts[] = {{1}, {2, 3}};
    decode::options chosen;
    chosen.stop.max_tokens = 30;
    decode::session first(scheme, prompts[0], {}, chosen.stop, random::philox_chooser(5));
    decode::session second(scheme, prompts[1], {}, chosen.stop, random::philox_chooser(6));
    while (first.finished == finish_reason::running || second.finished == finish_reason::running) {
        if (first.finished == finish_reason::running) decode::step(scheme, first);
        if (second.finished == finish_reason::running) decode::step(scheme, second);
    }
    chosen.seed = 5;
    BOOST_TEST(
        first.committed.generated() == std::span<const token>(decode::generate(scheme, prompts[0], chosen).tokens),
        boost::test_tools::per_element());
    chosen.seed = 6;
    BOOST_TEST(
        second.committed.generated() == std::span<const token>(decode::generate(scheme, prompts[1], chosen).tokens),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
