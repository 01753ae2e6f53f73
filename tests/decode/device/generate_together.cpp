#include "augur/decode/device/generate_together.hpp"

#include <augur/accept/coupled.hpp>
#include <augur/decode/device/kernel_lookup.hpp>
#include <augur/policy/fixed_length.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "decode/device/group_mock.hpp"

using namespace augur;
using decode::device::generate_together, decode::device::kernel_lookup, decode::device::speculation_group;

BOOST_AUTO_TEST_SUITE(decode_generate_together)

namespace {

const std::vector<std::vector<token>> prompts{{3, 1, 4}, {1}, {2, 2, 5, 0, 6, 2, 2}};
const std::vector<std::span<const token>> views{prompts[0], prompts[1], prompts[2]};

auto group_of(const resident_mock::group& target, std::size_t texts) {
    return speculation_group(target, std::vector(texts, kernel_lookup()), policy::fixed_length{3}, accept::coupled{},
                             transform::settings{}, 3);
}

}  // namespace

/// What was decoded before, and how many texts there were, leaves nothing behind.
BOOST_AUTO_TEST_CASE(a_group_is_used_again_for_fewer_texts) {
    const resident_mock::group target({1, 4, 2}, 3, 7, 60, 8);
    decode::options chosen;
    chosen.timed = false;
    chosen.stop.max_tokens = 20;
    auto used = group_of(target, 3);
    const auto three = generate_together(used, views, chosen);
    const auto two = generate_together(used, std::span(views).first(2), chosen);
    BOOST_TEST_REQUIRE(three.size() == 3u);
    BOOST_TEST_REQUIRE(two.size() == 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST(two[i].tokens.size() == 20u);
        BOOST_TEST(two[i].tokens == three[i].tokens, boost::test_tools::per_element());
        BOOST_TEST(two[i].seed == chosen.seed + i);
    }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused) {
    const resident_mock::group target({}, 2, 7, 40, 4);
    auto group = group_of(target, 2);
    const auto refuses = [&](const auto& texts, const decode::options& chosen, const std::string& text) {
        BOOST_CHECK_EXCEPTION(generate_together(group, texts, chosen), error,
                              [&](const error& e) { return std::string(e.what()) == text; });
    };
    const auto two = std::span(views).first(2);
    refuses(views, {}, "generate_together: 3 texts in a group of 2");
    decode::options chosen;
    chosen.on_token = [](const commit::committed_token&) { return true; };
    refuses(two, chosen, "generate_together: 2 texts in a group of 2, and one on_token, which cannot distinguish them");
    decode::options logs;
    logs.log_probabilities = true;
    refuses(two, logs, "a loop on a device returns no log-probabilities; use decode::generate_together");
    BOOST_TEST(generate_together(group, std::span(views).first(0), {}).empty());
    decode::options none;
    none.stop.max_tokens = 0;
    for (const auto& each : generate_together(group, two, none)) BOOST_TEST(each.tokens.empty());
}

BOOST_AUTO_TEST_SUITE_END()
