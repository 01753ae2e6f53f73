#include "augur/decode/step.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/eagle.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/enumerate.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/named_once.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/trace.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <limits>

using namespace augur;

BOOST_AUTO_TEST_SUITE(decode_step)

/// A draft that agrees with a target's script for some positions.
struct fixture {
    std::vector<token> wanted{1, 2, 3, 4, 5, 6, 7, 1, 2, 3, 4, 5};
    testing::function_model target = testing::scripted_model(8, wanted, 3);
    transform::settings greedy{.temperature = {0}};
    std::vector<token> prompt{1};

    testing::function_model agrees_except_at(std::vector<std::size_t> positions) const {
        auto script = wanted;
        for (std::size_t p : positions) script[p] = 0;
        return testing::scripted_model(8, script);
    }
};

BOOST_FIXTURE_TEST_CASE(reads_like_the_drawing, fixture) {
    const auto draft_model = agrees_except_at({3, 8});
    const auto scheme = speculate(draft_model, target, policy::fixed_length{4}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    BOOST_TEST(testing::trace(decode::step(scheme, session)) == "draft 4 | verify 5 | accept 2 | correct 4 | commit 3");
    BOOST_TEST(testing::trace(decode::step(scheme, session)) == "draft 4 | verify 5 | accept 4 | bonus 2 | commit 5");
    BOOST_TEST(testing::trace(decode::step(scheme, session)) == "draft 2 | verify 3 | accept 2 | bonus 5 | commit 3");
    BOOST_TEST((session.finished == finish_reason::max_tokens));
    BOOST_TEST(session.committed.tokens() == std::span<const token>(wanted), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(afterwards_every_cache_is_one_rebuilt_from_the_prefix, fixture) {
    const auto draft_model = agrees_except_at({2, 3, 6});
    const auto scheme = speculate(draft_model, target, policy::fixed_length{3}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    while (session.finished == finish_reason::running) {
        decode::step(scheme, session);
        const auto tokens = session.committed.tokens();
        for (const auto held : {session.target.tokens(), session.drafter_state.tokens()}) {
            BOOST_REQUIRE(held.size() <= tokens.size());
            BOOST_TEST(std::equal(held.begin(), held.end(), tokens.begin()));
        }
        BOOST_TEST(target.length(session.target.sequence()) == session.target.tokens().size());
    }
}

BOOST_FIXTURE_TEST_CASE(log_probabilities_are_the_targets, fixture) {
    const auto draft_model = agrees_except_at({3});
    const auto scheme = speculate(draft_model, target, policy::fixed_length{4}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    const auto record = decode::step(scheme, session, {.log_probabilities = true});
    BOOST_TEST(decode::step(scheme, session).log_probabilities.empty());
    BOOST_TEST(record.log_probabilities.size() == record.committed.size());
    const double expected = -std::log(1 + 7 * std::exp(-3.0));
    for (double got : record.log_probabilities) BOOST_TEST(std::abs(got - expected) < 1e-6);
}

/// Drafts three, and writes down what it was shown and told.
struct diary {
    static constexpr signals_read reads{.required = signals::target_entropy | signals::target_confidence};
    std::vector<observation>* seen;
    std::vector<outcome>* told;
    std::size_t length(const observation& now) const {
        seen->push_back(now);
        return 3;
    }
    void learn(const outcome& happened) { told->push_back(happened); }
};

BOOST_FIXTURE_TEST_CASE(a_policy_is_shown_what_became_of_the_round_before, fixture) {
    std::vector<observation> seen;
    std::vector<outcome> told;
    const auto draft_model = agrees_except_at({2});
    // The rows that end the two rounds are of different certainty.
    const testing::function_model uneven(8, 64, [this](std::span<const token> before, std::span<float> row) {
        std::fill(row.begin(), row.end(), 0.0f);
        row[static_cast<std::size_t>(wanted[before.size()])] = static_cast<float>(before.size());
    });
    const auto scheme = speculate(draft_model, uneven, diary{&seen, &told}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    BOOST_TEST(testing::trace(decode::step(scheme, session)) == "draft 3 | verify 4 | accept 1 | correct 3 | commit 2");
    BOOST_TEST(testing::trace(decode::step(scheme, session)) == "draft 3 | verify 4 | accept 3 | bonus 7 | commit 4");
    BOOST_TEST(testing::trace(decode::step(scheme, session)) == "draft 3 | verify 4 | accept 3 | bonus 4 | commit 4");
    BOOST_REQUIRE(seen.size() == 3u);
    BOOST_REQUIRE(told.size() == 3u);
    const std::size_t prefix_lengths[] = {1, 3, 7}, accepted[] = {1, 3, 3}, last_rows[] = {2, 6};
    for (std::size_t round = 0; round < 3; ++round) {
        BOOST_TEST(seen[round].round == round);
        BOOST_TEST(seen[round].prefix_length == prefix_lengths[round]);
        BOOST_TEST(seen[round].last_drafted == (round == 0 ? 0u : 3u));
        BOOST_TEST(seen[round].last_accepted == (round == 0 ? 0u : accepted[round - 1]));
        BOOST_TEST(told[round].decided_on.round == round);
        BOOST_TEST(told[round].drafted == 3u);
        BOOST_TEST(told[round].accepted == accepted[round]);
    }
    BOOST_TEST(std::isnan(seen[0].target_entropy_nats));
    BOOST_TEST(std::isnan(seen[0].target_confidence));
    for (std::size_t round : {0u, 1u}) {
        std::vector<float> row(8, 0.0f);
        row[static_cast<std::size_t>(wanted[last_rows[round]])] = static_cast<float>(last_rows[round]);
        BOOST_TEST(seen[round + 1].target_entropy_nats == measure::entropy_nats(row));
        BOOST_TEST(seen[round + 1].target_confidence == measure::confidence(measure::moments(row)));
    }
}

/// Drafts two tokens where the draft's row is certain; sees that row's entropy only after a look.
struct looks_first : diary {
    static constexpr signals_read reads{.available = signals::draft_entropy};
    std::size_t length(const observation& now) const {
        if (includes(now.pending, signals::draft_entropy)) return 2;
        seen->push_back(now);
        return 2;
    }
};

BOOST_FIXTURE_TEST_CASE(a_policy_learns_from_what_it_decided_on, fixture) {
    std::vector<observation> seen;
    std::vector<outcome> told;
    const auto scheme = speculate(target, target, looks_first{{&seen, &told}}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    for (std::size_t round = 0; round < 3; ++round) {
        decode::step(scheme, session);
        BOOST_TEST_REQUIRE(told.size() == round + 1);
        const observation& on = told[round].decided_on;
        BOOST_TEST(on.first_draft_entropy_nats > 0);
        BOOST_TEST(on.first_draft_entropy_nats == seen.back().first_draft_entropy_nats);
        BOOST_TEST(on.draft_entropy_nats == seen.back().draft_entropy_nats);
        BOOST_TEST((on.pending == signals::none));
        BOOST_TEST(on.round == round);
        BOOST_TEST(std::isnan(session.seen.first_draft_entropy_nats));  // of the next round, which has seen no row yet
    }
}

/// What it uses of the target is shown as if it needed it: there is always a target.
struct uses_it : diary {
    static constexpr signals_read reads{.available = signals::target_entropy};
};

BOOST_FIXTURE_TEST_CASE(a_policy_that_uses_the_targets_entropy_is_shown_it, fixture) {
    std::vector<observation> seen;
    std::vector<outcome> told;
    const auto scheme = speculate(target, target, uses_it{{&seen, &told}}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    decode::step(scheme, session);
    decode::step(scheme, session);
    BOOST_TEST(std::isnan(seen[0].target_entropy_nats));
    BOOST_TEST(std::isfinite(seen[1].target_entropy_nats));
}

/// Measures in its own way.
struct own_measure : diary {
    static constexpr signals_read reads{.required = signals::target_entropy,
                                        .entropy_nats = [](logit_row row) { return static_cast<double>(row.size()); }};
};

BOOST_FIXTURE_TEST_CASE(a_policy_measures_the_targets_row_in_its_own_way, fixture) {
    std::vector<observation> seen;
    std::vector<outcome> told;
    const auto scheme = speculate(target, target, own_measure{{&seen, &told}}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    decode::step(scheme, session);
    BOOST_TEST(session.seen.target_entropy_nats == 8.0);
}

BOOST_FIXTURE_TEST_CASE(seconds_are_counted_and_told_where_they_were_spent, fixture) {
    std::vector<observation> seen;
    std::vector<outcome> told;
    // A row that takes until the clock has moved, so that no pass is free.
    const testing::function_model slow(8, 64, [this](std::span<const token> before, std::span<float> row) {
        const auto start = std::chrono::steady_clock::now();
        while (std::chrono::steady_clock::now() == start) continue;
        std::fill(row.begin(), row.end(), 0.0f);
        row[static_cast<std::size_t>(wanted[before.size()])] = 9;
    });
    const auto scheme = speculate(slow, slow, diary{&seen, &told}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    const double prefill = session.counts.seconds.prefill;
    BOOST_TEST(prefill > 0);
    const time_spent spent = decode::step(scheme, session).seconds;
    BOOST_TEST(spent.draft > 0);
    BOOST_TEST(spent.verify > 0);
    BOOST_TEST(told.at(0).draft_seconds == spent.draft);
    BOOST_TEST(told.at(0).verify_seconds == spent.verify);
    BOOST_TEST(session.counts.seconds.draft == spent.draft);
    BOOST_TEST(session.counts.seconds.verify == spent.verify);
    BOOST_TEST(session.counts.seconds.accept == spent.accept);
    BOOST_TEST(session.counts.seconds.other == spent.other);
    const time_spent more = decode::step(scheme, session).seconds;
    BOOST_TEST(session.counts.seconds.prefill == prefill);
    BOOST_TEST(session.counts.seconds.verify == spent.verify + more.verify);
}

BOOST_FIXTURE_TEST_CASE(an_invalid_row_ends_after_what_was_accepted, fixture) {
    const testing::function_model broken(8, 64, [this](std::span<const token> before, std::span<float> row) {
        std::fill(row.begin(), row.end(), 0.0f);
        row[static_cast<std::size_t>(wanted[before.size()])] = 9;
        if (before.size() == 3) row[5] = NAN;
    });
    const auto scheme = speculate(target, broken, policy::fixed_length{4}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    BOOST_TEST(testing::trace(decode::step(scheme, session)) == "draft 4 | verify 5 | accept 2 | none | commit 2");
    BOOST_TEST((session.finished == finish_reason::invalid_logits));
    BOOST_TEST(session.fault == "the target's logit of token 5 at position 3 is nan");
}

BOOST_FIXTURE_TEST_CASE(the_fault_is_the_first_value_that_is_no_logit, fixture) {
    const float infinity = std::numeric_limits<float>::infinity();
    const auto fault_of = [&](std::vector<float> made_of, transform::settings sampling) {
        const testing::function_model broken(8, 64, [&](std::span<const token>, std::span<float> row) {
            std::copy(made_of.begin(), made_of.end(), row.begin());
        });
        const auto scheme = plain(broken);
        decode::session session(scheme, prompt, std::move(sampling), {}, random::philox_chooser(0));
        decode::step(scheme, session);
        BOOST_TEST((session.finished == finish_reason::invalid_logits));
        return session.fault;
    };
    BOOST_TEST(fault_of({-infinity, 0, 0, infinity, 0, NAN, 0, 0}, greedy) ==
               "the target's logit of token 3 at position 1 is inf");
    BOOST_TEST(fault_of({-infinity, 0, 0, 0, 0, NAN, 0, 0}, {}) ==
               "the target's logit of token 5 at position 1 is nan");
    transform::settings nothing_left;
    nothing_left.mask = [&](std::span<float> row, const prefix&) { std::fill(row.begin(), row.end(), -infinity); };
    BOOST_TEST(fault_of(std::vector<float>(8), nothing_left) ==
               "no token can follow at position 1: none of the target's 8 logits is left after the transforms");
}

BOOST_FIXTURE_TEST_CASE(a_model_that_throws_loses_nothing_committed, fixture) {
    int calls = 0;
    const testing::function_model flaky(8, 64, [&](std::span<const token> before, std::span<float> row) {
        if (++calls == 9) throw std::runtime_error("transient");
        std::fill(row.begin(), row.end(), 0.0f);
        row[static_cast<std::size_t>(wanted[before.size()])] = 9;
    });
    const auto scheme = speculate(target, flaky, policy::fixed_length{3}, accept::exact{});
    decode::session session(scheme, prompt, greedy, {.max_tokens = 11}, random::philox_chooser(0));
    std::size_t thrown = 0;
    while (session.finished == finish_reason::running) {
        const std::size_t before = session.committed.size();
        try {
            decode::step(scheme, session);
        } catch (const std::runtime_error&) {
            ++thrown;
            BOOST_TEST(session.committed.size() == before);
        }
    }
    BOOST_TEST(thrown == 1u);
    BOOST_TEST(session.committed.tokens() == std::span<const token>(wanted), boost::test_tools::per_element());
}

struct text {
    std::vector<token> committed{}, shown{};
    std::string drafted{};
    bool threw = false;
};

/// Twelve tokens; the sink throws at one of them, once.
text text_of(const auto& scheme, std::size_t throws_at, std::uint64_t seed) {
    const std::vector<token> prompt{2, 0, 1};
    decode::session s(scheme, prompt, {}, {.max_tokens = 12}, testing::named_once(random::philox_chooser(seed)));
    text written;
    decode::step_options chosen;
    chosen.on_token = [&](const commit::committed_token& t) {
        written.shown.push_back(t.id);
        if (written.shown.size() == throws_at) throw std::runtime_error("sink");
        return true;
    };
    while (s.finished == finish_reason::running) {
        const std::size_t rounds = s.counts.rounds();
        try {
            decode::step(scheme, s, chosen);
        } catch (const std::runtime_error&) {
            written.threw = true;
        }
        BOOST_TEST(s.counts.rounds() == rounds + 1);
        BOOST_TEST(s.seen.round == s.counts.rounds());
        BOOST_TEST(s.counts.count(origin::accepted) == s.counts.stages.back().accepted);
        written.drafted += std::to_string(s.last.proposed.size()) + ' ';
    }
    BOOST_TEST(s.counts.committed() == s.committed.generated().size());
    written.committed.assign(s.committed.generated().begin(), s.committed.generated().end());
    return written;
}

BOOST_AUTO_TEST_CASE(what_on_token_throws_comes_when_the_round_is_complete) {
    const auto target = testing::hashed_model(3, 1), near = testing::noisy_model(target, 0.1);
    const auto checked = [](const auto& scheme, bool keeps_text) {
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            const text undisturbed = text_of(scheme, 0, seed);
            for (std::size_t at = 1; at <= 12; ++at) {
                const text written = text_of(scheme, at, seed);
                BOOST_TEST(written.threw);
                BOOST_TEST(written.shown == written.committed, boost::test_tools::per_element());
                BOOST_TEST(written.committed.size() == 12u);
                if (keeps_text)
                    BOOST_TEST(written.committed == undisturbed.committed, boost::test_tools::per_element());
            }
        }
    };
    checked(speculate(near, target, policy::fixed_length{4}, accept::coupled{}), true);
    checked(speculate(near, target, policy::fixed_length{4}, accept::rejection_sampling{}), false);
    checked(speculate(near, target, policy::fixed_length{4}, accept::block{}), false);
}

BOOST_AUTO_TEST_CASE(after_a_sink_threw_the_text_has_the_law_of_plain_sampling) {
    const auto target = testing::markov_model({{1, 1}, {1, 1}}), draft = testing::markov_model({{3, 1}, {1, 3}});
    const auto scheme = speculate(draft, target, policy::fixed_length{2}, accept::block{});
    const auto law = testing::enumerate([&](const auto& chooser) {
        decode::session s(scheme, std::vector<token>{0}, {}, {.max_tokens = 3}, chooser);
        bool threw = false;
        decode::step_options chosen;
        chosen.on_token = [&](const commit::committed_token&) {
            if (!std::exchange(threw, true)) throw std::runtime_error("sink");
            return true;
        };
        while (s.finished == finish_reason::running) {
            try {
                decode::step(scheme, s, chosen);
            } catch (const std::runtime_error&) {
            }
        }
        return std::vector<token>(s.committed.generated().begin(), s.committed.generated().end());
    });
    BOOST_TEST(law.probability.size() == 8u);
    for (const auto& [text, probability] : law.probability)
        BOOST_TEST(probability == 0.125, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_drafter_that_reads_states_goes_on_after_a_sink_threw) {
    const testing::hidden_state_mock target(testing::hashed_model(5, 1));
    const testing::fused_mock layer(testing::hashed_model(5, 1), target.hidden_size());
    const auto scheme = speculate(draft::eagle(layer), target, policy::fixed_length{3}, accept::coupled{});
    for (std::size_t at = 1; at <= 11; ++at) {
        const text written = text_of(scheme, at, 7);
        BOOST_TEST(written.drafted.find("0 0") == std::string::npos, written.drafted);
        BOOST_TEST(written.committed == text_of(scheme, 0, 7).committed, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
