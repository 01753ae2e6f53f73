#include "augur/decode/session.hpp"

#include <algorithm>
#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

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

BOOST_AUTO_TEST_CASE(no_limit_on_the_text_is_no_reason_to_take_all_memory) {
    const std::size_t endless = std::numeric_limits<std::size_t>::max();
    const testing::function_model target(4, endless, [](std::span<const token> before, std::span<float> row) {
        std::fill(row.begin(), row.end(), 0.0f);
        row[before.size() % 4] = 9;
    });
    decode::options chosen;
    chosen.stop.max_tokens = endless;
    chosen.stop.stop_tokens = {3};
    chosen.sampling.temperature.value = 0;
    const std::vector<token> prompt{0, 0};
    for (const auto& tokens :
         {decode::generate(plain(target), prompt, chosen).tokens,
          decode::generate(speculate(draft::prompt_lookup{}, target, policy::fixed_length{2}, accept::exact{}), prompt,
                           chosen)
              .tokens}) {
        BOOST_TEST(tokens.back() == 3);
    }
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
