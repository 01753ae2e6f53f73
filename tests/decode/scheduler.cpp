#include <augur/decode/scheduler.hpp>
//
#include <atomic>
#include <augur/accept/coupled.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/fallback.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

BOOST_AUTO_TEST_SUITE(decode_scheduler)

using namespace augur;
using decode::request_end;

/// Counts what is run, and calls back in each run.
class watched_model : public testing::pass_mock<pass_features::batches> {
 public:
    using testing::pass_mock<pass_features::batches>::pass_mock;

    auto run(std::span<const pass<sequence_type>> asked) const {
        for (const auto& each : asked) {
            if (each.rows == 0) prefilled += each.tokens.size();
            if (!each.tokens.empty() && each.tokens.back() == throws_at) throw error("unlucky");
        }
        largest = std::max(largest, asked.size());
        if (in_run) in_run();
        return pass_mock::run(asked);
    }
    std::size_t cache_bytes(std::size_t tokens) const { return 10 * tokens; }

    std::function<void()> in_run{};
    token throws_at = no_token;
    mutable std::size_t prefilled = 0, largest = 0;
};

/// A draft and a target, what is asked of them, and what it came to.
struct served_texts {
    watched_model target{testing::hashed_model(40, 1)}, small{testing::hashed_model(40, 2)};
    std::map<decode::request_id, decode::served> ended{};
    std::map<decode::request_id, decode::request> all{};
    std::vector<decode::request_id> order{};  ///< of their ends

    decode::request asked(std::size_t prompt, std::uint64_t seed, std::size_t tokens) {
        decode::request r{.seed = seed};
        for (std::size_t i = 0; i < prompt; ++i) r.prompt.push_back(static_cast<token>((7 * i + seed) % 39));
        r.stop.max_tokens = tokens;
        r.on_end = [this](const decode::served& of) {
            BOOST_TEST(ended.count(of.id) == 0u);
            ended[of.id] = of;
            order.push_back(of.id);
        };
        return r;
    }
    decode::request_id submit(auto& server, const decode::request& r) {
        const auto got = server.submit(r);
        BOOST_TEST_REQUIRE(static_cast<bool>(got));
        all[got.id] = r;
        return got.id;
    }
    static void serve(auto& server) {
        for (std::size_t steps = 0; server.step(); ++steps) BOOST_TEST_REQUIRE(steps < 10000u);
    }
    /// Those that finished.
    void check_texts(const auto& scheme) {
        for (const auto& [id, of] : ended) {
            if (of.how != request_end::finished) continue;
            const auto& r = all.at(id);
            const auto alone = decode::generate(
                scheme, r.prompt,
                {.seed = r.seed, .sampling = r.sampling, .stop = r.stop, .log_probabilities = r.log_probabilities});
            BOOST_TEST(of.tokens == alone.tokens, boost::test_tools::per_element());
            BOOST_TEST(of.log_probabilities == alone.log_probabilities, boost::test_tools::per_element());
            BOOST_TEST((of.finish == alone.finish));
            BOOST_TEST(of.seed == r.seed);
        }
    }
    static void check_empty(const auto& server) {
        const auto counted = server.counters();
        BOOST_TEST(counted.submitted == counted.finished + counted.cancelled + counted.expired + counted.failed);
        BOOST_TEST(counted.waiting + counted.prefilling + counted.running == 0u);
        BOOST_TEST(counted.reserved_tokens == 0u);
        BOOST_TEST(counted.reserved_bytes == 0u);
    }
};

BOOST_FIXTURE_TEST_CASE(each_text_is_what_it_is_alone, served_texts) {
    const auto check = [&](const auto& scheme, bool competes) {
        decode::scheduler server(scheme, {.most_running = 5, .prefill_tokens = 4, .rows = {.competes = competes}});
        for (std::uint64_t i = 0; i < 12; ++i) {
            auto r = asked(1 + 5 * i % 23, i, 10 + i);
            r.log_probabilities = i % 2 == 0;
            r.sampling.temperature.value = i % 3 == 0 ? 0.0f : 0.9f;
            submit(server, r);
            if (i % 3 == 0) server.step();
        }
        serve(server);
        BOOST_TEST(ended.size() == 12u);
        check_texts(scheme);
        check_empty(server);
        BOOST_TEST(server.counters().generated_tokens == 12u * 10 + 66);
        ended.clear();
        all.clear();
    };
    for (const bool competes : {true, false}) {
        check(speculate(small, target, policy::fixed_length{3}, accept::coupled{}), competes);
        check(speculate(draft::fallback(draft::prompt_lookup{}, small), target, policy::fixed_length{4},
                        accept::coupled{}),
              competes);
        check(speculate(draft::draft_model(small), target, policy::tree_static{topology{-1, -1, 0, 1}},
                        accept::coupled{}),
              competes);
        check(plain(target), competes);
    }
}

BOOST_FIXTURE_TEST_CASE(a_model_runs_once_for_all_of_them, served_texts) {
    const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::coupled{});
    decode::scheduler server(scheme, {.rows = {.competes = false}});
    for (std::uint64_t i = 0; i < 6; ++i) submit(server, asked(3, i, 20));
    std::size_t of_target = 0, of_small = 0;
    target.in_run = [&] { ++of_target; };
    small.in_run = [&] { ++of_small; };
    server.step();
    const std::size_t prompts = 6;
    BOOST_TEST(of_target == prompts + 1);
    BOOST_TEST(of_small == prompts + 3);
    BOOST_TEST(target.largest == 6u);
    BOOST_TEST(small.largest == 6u);
    BOOST_TEST(server.counters().rounds == 6u);
}

BOOST_FIXTURE_TEST_CASE(a_request_drafts_no_more_than_it_may, served_texts) {
    const auto scheme = speculate(small, target, policy::fixed_length{4}, accept::coupled{});
    decode::scheduler server(scheme, {.rows = {.competes = false}});
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        auto r = asked(5, seed, 12);
        r.most_drafted = seed == 2 ? no_limit : seed;
        submit(server, r);
    }
    serve(server);
    check_texts(scheme);
    const auto drafted = [&](decode::request_id id) { return ended.at(id).counts.stages.back().drafted; };
    BOOST_TEST(drafted(1) == 0u);
    BOOST_TEST(drafted(2) > 0u);
    BOOST_TEST(drafted(2) <= ended.at(2).counts.stages.back().rounds);
    BOOST_TEST(drafted(3) > ended.at(3).counts.stages.back().rounds);
    BOOST_TEST(server.pass_seconds(1) > 0);
}

BOOST_FIXTURE_TEST_CASE(a_long_prompt_delays_no_token_by_more_than_its_share_of_a_step, served_texts) {
    const auto scheme = speculate(small, target, policy::fixed_length{2}, accept::coupled{});
    decode::scheduler server(scheme, {.prefill_tokens = 8});
    auto first = asked(3, 1, 60);
    std::size_t most = 0;
    first.on_token = [&](const commit::committed_token&) {
        most = std::max({most, target.prefilled, small.prefilled});
        target.prefilled = small.prefilled = 0;
        return true;
    };
    submit(server, first);
    server.step();
    submit(server, asked(200, 2, 5));
    serve(server);
    BOOST_TEST(most == 8u);
    check_texts(scheme);
    BOOST_TEST(server.counters().prefilled_tokens == 2u + 199);
}

BOOST_FIXTURE_TEST_CASE(short_prompts_go_ahead_but_not_for_ever, served_texts) {
    const auto scheme = plain(target);
    decode::scheduler server(scheme, {.most_running = 4, .most_waiting = 2000, .prefill_tokens = 10});
    const auto longest = submit(server, asked(101, 1, 1));
    for (std::uint64_t i = 0; i < 3; ++i) submit(server, asked(11, i, 1));
    std::size_t steps = 0, ahead = 0;
    while (ended.count(longest) == 0) {
        server.step();
        BOOST_TEST_REQUIRE(++steps < 1000u);
        while (server.counters().waiting < 3) submit(server, asked(11, steps, 1));
        ahead = ended.size();
    }
    BOOST_TEST(ahead > 3u);         // short ones
    BOOST_TEST(steps <= 80u + 10);  // 8 * 100 / 10 steps passed over, and its own
    BOOST_TEST(steps > 10u);
}

BOOST_FIXTURE_TEST_CASE(what_is_not_taken_is_said_with_its_reason, served_texts) {
    const auto scheme = speculate(small, target, policy::fixed_length{2}, accept::coupled{});
    decode::scheduler server(scheme, {.most_waiting = 2, .cached_tokens = 50, .cache_bytes = 900});
    const auto refused = [&](const decode::request& r, decode::refusal why, const std::string& detail) {
        const auto got = server.submit(r);
        BOOST_TEST((got.why == why));
        BOOST_TEST(got.detail == detail);
        BOOST_TEST(!got);
    };
    refused(asked(10, 1, 41), decode::refusal::too_large,
            "its cache of 51 tokens and 1020 bytes exceeds the budget of 50 tokens and 900 bytes");
    refused(asked(10, 1, 36), decode::refusal::too_large,
            "its cache of 46 tokens and 920 bytes exceeds the budget of 50 tokens and 900 bytes");
    submit(server, asked(10, 1, 10));
    submit(server, asked(10, 1, 10));
    refused(asked(10, 1, 10), decode::refusal::queue_full, "2 requests wait, and no more may");
    server.drain();
    refused(asked(10, 1, 10), decode::refusal::draining, "no further requests are taken");
    auto outside = asked(2, 1, 10);
    outside.prompt[1] = 40;
    BOOST_CHECK_EXCEPTION(server.submit(outside), error, [](const error& e) {
        return std::string(e.what()) == "prompt token 1 is 40, but the vocabulary has 40 tokens";
    });
    auto dear = asked(2, 1, 10);
    dear.priority = 1001;
    BOOST_CHECK_EXCEPTION(server.submit(dear), error, [](const error& e) {
        return std::string(e.what()) == "a request has priority 1001; it must be within 1000 of 0";
    });
    serve(server);
    BOOST_TEST(ended.size() == 2u);
    BOOST_TEST(server.counters().refused == 4u);
    check_empty(server);
    const auto uncounted = testing::hashed_model(5, 1);
    const auto of_it = plain(uncounted);
    BOOST_CHECK_EXCEPTION((decode::scheduler(of_it, {.cache_bytes = 7})), error, [](const error& e) {
        return std::string(e.what()).starts_with("scheduler: cache_bytes is 7, but the target or the drafter does not");
    });
    BOOST_CHECK_EXCEPTION((decode::scheduler(of_it, {.prefill_tokens = 0})), error, [](const error& e) {
        return std::string(e.what()) == "scheduler: prefill_tokens is 0; it must be at least 1";
    });
}

BOOST_FIXTURE_TEST_CASE(caches_are_reserved_before_they_are_made, served_texts) {
    const auto scheme = plain(target);
    decode::scheduler server(scheme, {.cached_tokens = 40});
    const auto large = submit(server, asked(10, 1, 20));
    const auto larger = submit(server, asked(10, 2, 25));  // does not fit beside the first, and waits
    const auto little = submit(server, asked(2, 3, 2));    // would fit, but does not go ahead
    std::vector<std::size_t> reserved;  // as it changes: 30 of the first alone, then 35 and 4; never 34
    do {
        const std::size_t now = server.counters().reserved_tokens;
        if (reserved.empty() || reserved.back() != now) reserved.push_back(now);
    } while (server.step());
    BOOST_TEST(reserved == (std::vector<std::size_t>{0, 30, 0, 39, 35}), boost::test_tools::per_element());
    BOOST_TEST(order == (std::vector<decode::request_id>{large, little, larger}), boost::test_tools::per_element());
    check_empty(server);
}

BOOST_FIXTURE_TEST_CASE(priority_goes_ahead_of_so_many_and_no_more, served_texts) {
    const auto scheme = plain(target);
    decode::scheduler server(scheme, {.most_running = 1, .head_start = 3});
    for (std::uint64_t i = 0; i < 5; ++i) submit(server, asked(1, i, 1));
    for (std::uint64_t i = 0; i < 8; ++i) {
        auto r = asked(1, i, 1);
        r.priority = 1;
        submit(server, r);
    }
    serve(server);
    // numbers 6, 7, ... rank as 3, 4, ...: each goes ahead of three that came before it
    const std::vector<decode::request_id> expected{1, 2, 3, 6, 4, 7, 5, 8, 9, 10, 11, 12, 13};
    BOOST_TEST(order == expected, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_request_is_cancelled_wherever_it_is, served_texts) {
    const auto scheme = speculate(small, target, policy::fixed_length{3}, accept::coupled{});
    decode::scheduler server(scheme, {.most_running = 3, .prefill_tokens = 16, .rows = {.competes = false}});
    auto stops = asked(2, 1, 20);
    std::size_t seen = 0;
    stops.on_token = [&](const commit::committed_token&) { return ++seen < 3; };
    const auto by_itself = submit(server, stops);
    const auto within = submit(server, asked(2, 2, 20)), prefilling = submit(server, asked(100, 3, 20)),
               waiting = submit(server, asked(2, 4, 20)), goes_on = submit(server, asked(2, 5, 20));
    server.step();
    BOOST_TEST(server.counters().running == 2u);
    BOOST_TEST(server.counters().prefilling == 1u);
    BOOST_TEST(server.cancel(waiting));
    BOOST_TEST(server.cancel(prefilling));
    std::size_t runs = 0;
    small.in_run = [&] {
        if (++runs == 3) server.cancel(within);  // its round is open: it drafts
    };
    serve(server);
    for (const auto id : {by_itself, within, prefilling, waiting}) {
        BOOST_TEST((ended[id].how == request_end::cancelled));
        BOOST_TEST((ended[id].finish == finish_reason::cancelled));
        BOOST_TEST(!server.cancel(id));
    }
    BOOST_TEST(ended[by_itself].tokens.size() == 3u);
    BOOST_TEST(ended[waiting].tokens.empty());
    BOOST_TEST(ended[prefilling].tokens.empty());
    BOOST_TEST(ended[within].tokens.size() < 20u);
    BOOST_TEST((ended[goes_on].how == request_end::finished));
    check_texts(scheme);
    check_empty(server);
}

BOOST_FIXTURE_TEST_CASE(deadlines_are_kept, served_texts) {
    const auto scheme = plain(target);
    decode::deadline_clock::time_point now{};
    decode::scheduler server(scheme, {.most_running = 1, .now = [&] { return now; }});
    const auto in = [](int seconds) { return decode::deadline_clock::time_point{} + std::chrono::seconds(seconds); };
    auto runs = asked(2, 1, 20), waits = asked(2, 2, 20), patient = asked(2, 3, 20);
    runs.deadline = in(5);
    waits.deadline = in(3);
    patient.deadline = in(100);
    const auto first = submit(server, runs), second = submit(server, waits), third = submit(server, patient);
    while (server.step()) now += std::chrono::seconds(1);
    BOOST_TEST((ended[first].how == request_end::expired));
    BOOST_TEST(ended[first].tokens.size() == 5u);
    BOOST_TEST(ended[first].seconds == 5.0);
    BOOST_TEST(ended[first].first_token_seconds == 0.0);
    BOOST_TEST((ended[second].how == request_end::expired));
    BOOST_TEST(ended[second].seconds == 3.0);
    BOOST_TEST(std::isinf(ended[second].admitted_seconds));
    BOOST_TEST((ended[third].how == request_end::finished));
    BOOST_TEST(ended[third].admitted_seconds == 5.0);
    check_texts(scheme);
    check_empty(server);
}

BOOST_FIXTURE_TEST_CASE(what_is_thrown_ends_one_request, served_texts) {
    target.throws_at = 39;
    const auto scheme = speculate(small, target, policy::fixed_length{2}, accept::coupled{});
    decode::scheduler server(scheme, {.most_running = 4});
    for (std::uint64_t i = 0; i < 16; ++i) submit(server, asked(3, i, 12));
    auto rude = asked(3, 99, 12);
    rude.on_token = [](const commit::committed_token&) -> bool { throw error("rude"); };
    const auto thrower = submit(server, rude);
    serve(server);
    BOOST_TEST((ended[thrower].how == request_end::failed));
    BOOST_TEST(ended[thrower].tokens.size() == 1u);
    std::size_t failed = 0;
    for (const auto& [id, of] : ended) {
        if (of.how != request_end::failed || id == thrower) continue;
        ++failed;
        BOOST_CHECK_EXCEPTION(std::rethrow_exception(of.failure), error,
                              [](const error& e) { return std::string(e.what()) == "unlucky"; });
    }
    BOOST_TEST(failed > 0u);
    BOOST_TEST(failed < 16u);
    target.throws_at = no_token;
    check_texts(scheme);
    check_empty(server);
}

BOOST_FIXTURE_TEST_CASE(callbacks_may_submit_and_cancel_but_not_step, served_texts) {
    const auto scheme = plain(target);
    decode::scheduler server(scheme, {.most_running = 2});
    auto first = asked(2, 1, 5);
    std::string heard;
    decode::request_id other = 0;
    first.on_token = [&](const commit::committed_token&) {
        try {
            server.step();
        } catch (const error& e) {
            heard = e.what();
        }
        if (other == 0) other = submit(server, asked(2, 2, 5));
        return true;
    };
    first.on_end = [&](const decode::served& of) {
        ended[of.id] = of;
        BOOST_TEST(server.cancel(other));
        throw error("at the end");
    };
    const auto id = submit(server, first);
    std::size_t thrown = 0;
    for (bool more = true; more;) {
        try {
            more = server.step();
        } catch (const error& e) {
            BOOST_TEST(e.what() == "at the end");
            ++thrown;
        }
    }
    BOOST_TEST(thrown == 1u);
    BOOST_TEST(heard == "a step of a scheduler was begun inside another one");
    BOOST_TEST((ended[id].how == request_end::finished));
    BOOST_TEST((ended[other].how == request_end::cancelled));
    check_empty(server);
}

BOOST_FIXTURE_TEST_CASE(a_text_of_no_tokens_ends_at_once, served_texts) {
    const auto scheme = plain(target);
    decode::scheduler server(scheme);
    const auto none = submit(server, asked(20, 1, 0));
    BOOST_TEST(!server.step());
    BOOST_TEST((ended[none].how == request_end::finished));
    BOOST_TEST((ended[none].finish == finish_reason::max_tokens));
    BOOST_TEST(target.prefilled == 0u);
}

BOOST_FIXTURE_TEST_CASE(other_threads_submit_and_cancel_meanwhile, served_texts) {
    const auto scheme = speculate(small, target, policy::fixed_length{2}, accept::coupled{});
    decode::scheduler server(scheme, {.most_running = 4, .most_waiting = 1000});
    std::atomic<bool> done = false;
    std::vector<std::thread> clients;
    std::mutex mutex;
    for (std::uint64_t c = 0; c < 3; ++c) {
        clients.emplace_back([&, c] {
            for (std::uint64_t i = 0; i < 20; ++i) {
                auto r = asked(1 + i % 5, 100 * c + i, 6);
                const auto got = server.submit(r);
                {
                    const std::lock_guard lock(mutex);
                    all[got.id] = r;
                }
                if (i % 4 == 0) server.cancel(got.id);
            }
        });
    }
    std::thread closes([&] {
        for (auto& each : clients) each.join();
        done = true;
    });
    while (!done || server.step()) {
        if (server.wait_for(std::chrono::milliseconds(1))) server.step();
    }
    closes.join();
    BOOST_TEST(ended.size() == 60u);
    check_texts(scheme);
    check_empty(server);
    BOOST_TEST(server.counters().finished >= 45u);
}

BOOST_AUTO_TEST_SUITE_END()
