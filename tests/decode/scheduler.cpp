#include <augur/decode/scheduler.hpp>
//
#include <augur/accept/coupled.hpp>
#include <augur/decode/generate.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

BOOST_AUTO_TEST_SUITE(decode_scheduler)

using namespace augur;
using mock = testing::pass_mock<pass_features::batches>;

/// A draft and a target, and what they serve.
struct served_texts {
    mock target{testing::hashed_model(40, 1)}, small{testing::hashed_model(40, 2)};
    std::map<decode::request_id, decode::served> ended{};

    decode::request asked(std::size_t prompt, std::uint64_t seed, std::size_t tokens) {
        decode::request r{.seed = seed};
        for (std::size_t i = 0; i < prompt; ++i) r.prompt.push_back(static_cast<token>((7 * i + seed) % 40));
        r.stop.max_tokens = tokens;
        r.on_end = [this](const decode::served& of) { ended[of.id] = of; };
        return r;
    }
    template <class Scheme>
    static auto alone(const Scheme& scheme, const decode::request& r) {
        return decode::generate(scheme, r.prompt, {.seed = r.seed, .sampling = r.sampling, .stop = r.stop});
    }
};

BOOST_FIXTURE_TEST_CASE(each_text_is_what_it_is_alone, served_texts) {
    const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::coupled{});
    decode::scheduler server(scheme, {.most_running = 5, .prefill_tokens = 4});
    std::map<decode::request_id, decode::request> all;
    for (std::uint64_t i = 0; i < 12; ++i) {
        auto r = asked(1 + 5 * i % 23, i, 10 + i);
        const auto got = server.submit(r);
        BOOST_TEST_REQUIRE(static_cast<bool>(got));
        all[got.id] = r;
        if (i % 3 == 0) server.step();
    }
    while (server.step()) {
    }
    BOOST_TEST_REQUIRE(ended.size() == all.size());
    for (const auto& [id, r] : all) {
        BOOST_TEST(ended[id].tokens == alone(scheme, r).tokens, boost::test_tools::per_element());
        BOOST_TEST((ended[id].how == decode::request_end::finished));
    }
    const auto counted = server.counters();
    BOOST_TEST(counted.finished == 12u);
    BOOST_TEST(counted.reserved_tokens == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
