#include "augur/io/files/policy_state.hpp"

#include <augur/policy/cost_aware.hpp>
#include <boost/test/unit_test.hpp>
#include <string>

#include "io/files.hpp"

using namespace augur;
using augur::testing::says;

BOOST_AUTO_TEST_SUITE(io_policy_state)
using json = nlohmann::ordered_json;

const json here = {{"target", "0123"}, {"threads", 2}};

io::policy_state some_state() {
    policy::cost_aware chains;
    for (int i = 0; i < 7; ++i) chains.learn({{.source = 1, .match_length = 3}, 4, 2, 0.1 / 3, 1.7});
    return {.about = here,
            .texts = 3,
            .verify_seconds = {0.1, 1.0 / 3},
            .policies = {{"chains", chains.learned()}, {"trees", policy::cost_aware<draft_shape::tree>().learned()}}};
}

io::policy_state read(const std::string& text, const json& with = here) {
    return io::parse_policy_state(text, with, "state.json");
}

/// The state's text with a change, under the checksum that it should have.
template <class Change>
std::string changed(const Change& change) {
    json content = json::parse(some_state().text());
    content.erase("checksum");
    change(content);
    return io::sealed(content);
}

BOOST_AUTO_TEST_CASE(what_is_written_is_read_bit_for_bit) {
    const io::policy_state state = some_state(), found = read(state.text());
    BOOST_TEST(found.text() == state.text());
    BOOST_TEST(found.texts == 3u);
    BOOST_TEST(found.verify_seconds == state.verify_seconds, boost::test_tools::per_element());
    const policy::cost_aware chains({}, found.policies.at("chains"));
    BOOST_TEST((chains.learned() == policy::cost_aware({}, state.policies.at("chains")).learned()));
    BOOST_TEST((policy::cost_aware<draft_shape::tree>({}, found.policies.at("trees")).learned() ==
                state.policies.at("trees")));
    BOOST_TEST(state.text().size() < 3000u);  // what was never tried takes no room
}

BOOST_AUTO_TEST_CASE(whoever_else_reads_it_is_told_both_values) {
    const std::string text = some_state().text();
    const auto refuses = [&](const json& with, const char* expected) {
        BOOST_CHECK_EXCEPTION(read(text, with), error, says({expected}));
    };
    refuses({{"target", "4567"}, {"threads", 2}}, "state.json: target was '\"0123\"' and is '\"4567\"'");
    refuses({{"target", "0123"}, {"threads", 4}}, "state.json: threads was '2' and is '4'");
    refuses({{"target", "0123"}}, "state.json: threads was '2' and is not said");
    refuses({{"target", "0123"}, {"threads", 2}, {"shape", "1b"}}, "state.json: shape was not said and is '\"1b\"'");
}

BOOST_AUTO_TEST_CASE(damage_is_told_from_another_version) {
    std::string text = some_state().text();
    text[text.find("1.7")] = '2';
    BOOST_CHECK_EXCEPTION(read(text), error, says({"state.json: it is damaged: its checksum is "}));
    BOOST_CHECK_EXCEPTION(read(some_state().text().substr(0, 200)), error, says({"state.json: "}));
    BOOST_CHECK_EXCEPTION(read("{}"), error, says({"state.json: the key augur.state is missing"}));
    BOOST_CHECK_EXCEPTION(read(changed([](json& j) { j["augur.state"] = 1; })), error,
                          says({"state.json: its version is 1; this program knows 3"}));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_is_refused_with_its_value) {
    const auto refuses = [](const auto& change, const char* expected) {
        BOOST_CHECK_EXCEPTION(read(changed(change)), error, says({expected}));
    };
    refuses([](json& j) { j["verify_seconds"][1] = -1; },
            "verify_seconds[1] must be a number within 1e-09..10000, but is '-1'");
    refuses([](json& j) { j["verify_seconds"][0] = nullptr; },
            "verify_seconds[0] must be a number");  // NaN is dumped so
    refuses([](json& j) { j["texts"] = -3; }, "texts must be a whole number");
    refuses([](json& j) { j["texts"] = std::uint64_t{1} << 51; }, "texts must be a whole number");
    refuses([](json& j) { j.erase("about"); }, "the key about is missing");
    refuses([](json& j) { j.erase("policies"); }, "the key policies is missing");
    refuses([](json& j) { j["policies"]["chains"].erase("looks"); }, "'chains': the key looks is missing");
    refuses(
        [](json& j) {
            j["policies"]["chains"]["passes"][2] = {1, 2, 3};
        },
        "passes[2] has 3 numbers; it must have 2");
    refuses([](json& j) { j["policies"]["chains"]["drafting"] = 5; }, "drafting must be an array, but is '5'");
    refuses([](json& j) { j["policies"]["chains"]["accepted"][1] = "x"; }, "accepted[1] must be an array, but is ");
    const auto negative = read(changed([](json& j) { j["policies"]["chains"]["passes"][4][0] = -2; }));
    BOOST_CHECK_EXCEPTION(policy::cost_aware({}, negative.policies.at("chains")), error,
                          says({"a pass of -2 seconds"}));
}

BOOST_AUTO_TEST_SUITE_END()
