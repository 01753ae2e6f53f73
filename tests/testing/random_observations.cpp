// Policies that are wrong only far into a text or a draft, or for few values of a signal.

#include "augur/testing/random_observations.hpp"

#include <algorithm>
#include <array>
#include <augur/policy/confidence_stop.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/policy_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

using namespace augur;
using testing::policy_laws;

BOOST_AUTO_TEST_SUITE(testing_random_observations)

BOOST_AUTO_TEST_CASE(counts_are_small_or_now_and_then_large) {
    std::set<std::size_t> seen;
    std::size_t large = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        testing::choices from(seed);
        const std::size_t count = testing::some_count(from, 4);
        seen.insert(count);
        large += count >= 4 ? 1 : 0;
    }
    BOOST_TEST((seen == std::set<std::size_t>{0, 1, 2, 3, 8, 17, 64, 1000, 1048576}));
    BOOST_TEST(large > 25u);
    BOOST_TEST(large < 100u);
}

BOOST_AUTO_TEST_CASE(values_are_usual_or_any) {
    std::set<double> seen;
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        testing::choices from(seed);
        seen.insert(testing::some_value(from));
    }
    BOOST_TEST(seen.contains(20.0));
    BOOST_TEST(seen.size() > 300u);
    BOOST_TEST(*std::next(seen.rbegin()) < 4.0);
}

/// Where extremes are asked for, every second count is large.
BOOST_AUTO_TEST_CASE(extreme_observations_count_high) {
    std::size_t usual = 0, extreme = 0;
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
        testing::choices one(seed), other(seed);
        usual += testing::some_observation(one, signals::none).prefix_length >= 1000 ? 1 : 0;
        extreme += testing::some_observation(other, signals::none, {0.0}).prefix_length >= 1000 ? 1 : 0;
    }
    BOOST_TEST(usual > 0u);
    BOOST_TEST(extreme > 2 * usual);
}

const std::string reads = "undeclared signals change nothing";
const std::string answers = "every observation has an answer";

template <class Policy>
void breaks(const Policy& policy, const std::string& law) {
    const auto r = policy_laws(policy);
    BOOST_TEST(r.breaks(law), "should break \"" << law << "\"\n" << r);
}

/// Warms up, and then reads what it did not declare.
struct reads_after_8_rounds {
    std::size_t length(const observation& seen) const {
        return seen.round < 8 ? 3 : (seen.target_entropy_nats > 1 ? 1 : 5);
    }
};
struct reads_from_the_sixth_token_on {
    std::size_t length(const observation& seen) const {
        return seen.drafted < 6 ? 9 : seen.drafted + (seen.draft_confidence > 0.5 ? 1 : 0);
    }
};
struct reads_a_band {
    std::size_t length(const observation& seen) const {
        return seen.draft_entropy_nats > 1.2 && seen.draft_entropy_nats < 1.8 ? 1 : 4;
    }
};

BOOST_AUTO_TEST_CASE(signals_that_are_read_late_or_seldom_are_found) {
    breaks(reads_after_8_rounds{}, reads);
    breaks(reads_from_the_sixth_token_on{}, reads);
    breaks(reads_a_band{}, reads);
}

/// Has an answer to so many.
template <std::size_t observation::*Count, std::size_t Most>
struct answers_to {
    static constexpr signals_read reads{.required = signals::match_length};
    std::size_t length(const observation& seen) const {
        if (seen.*Count > Most) throw std::out_of_range("too many");
        return 3;
    }
};

BOOST_AUTO_TEST_CASE(counts_without_an_answer_are_found) {
    breaks(answers_to<&observation::round, 7>{}, answers);
    breaks(answers_to<&observation::drafted, 4>{}, answers);
    breaks(answers_to<&observation::last_drafted, 4>{}, answers);
    breaks(answers_to<&observation::last_accepted, 16>{}, answers);
    breaks(answers_to<&observation::match_length, 8>{}, answers);
    breaks(answers_to<&observation::prefix_length, 4096>{}, answers);
}

/// Alternates from the ninth round on.
struct alternates_late {
    mutable std::size_t asked = 0;
    std::size_t length(const observation& seen) const { return seen.round < 8 ? 3 : asked++ % 2; }
};

/// Has room for six lengths.
struct counts_lengths {
    std::array<std::size_t, 6> seen{};
    std::size_t length(const observation&) const { return 8; }
    void learn(const outcome& happened) { ++seen.at(happened.accepted); }
};

/// Shares what it learned with its copies after 25 rounds.
struct shares_late {
    std::shared_ptr<bool> learned = std::make_shared<bool>(false);
    std::size_t mine = 0;
    std::size_t length(const observation&) const { return *learned ? 2 : 1; }
    void learn(const outcome&) { *learned = ++mine > 25 || *learned; }
};

BOOST_AUTO_TEST_CASE(hidden_state_that_shows_late_is_found) {
    breaks(alternates_late{}, "equal observations, equal lengths");
    breaks(counts_lengths{}, "a copy learns apart");
    breaks(shares_late{}, "a copy learns apart");
}

BOOST_AUTO_TEST_CASE(what_was_learned_when_it_threw_is_said) {
    const auto r = policy_laws(counts_lengths{});
    BOOST_TEST_REQUIRE(!r.broken.empty());
    BOOST_TEST(r.broken[0].what.find("; learned 6/8 in 0+0 s") != std::string::npos, r);
}

/// Throws in rounds that only the search for a first draft comes to.
struct throws_in_round_50 {
    std::size_t length(const observation& seen) const {
        if (seen.round == 50) throw std::out_of_range("round 50");
        return 2;
    }
};

BOOST_AUTO_TEST_CASE(what_a_policy_throws_is_reported_wherever_it_is_asked) {
    const auto r = policy_laws(throws_in_round_50{});
    BOOST_TEST(r.breaks(answers), r);
    BOOST_TEST_REQUIRE(r.broken.size() == 1u);
    BOOST_TEST(r.broken[0].what.find("threw: round 50, on observation{round ") != std::string::npos, r);
    BOOST_TEST(std::count(r.checked.begin(), r.checked.end(), answers) == 1);
}

/// Means "one more", and says "this one".
template <signals Needs>
struct this_one {
    static constexpr signals_read reads{.required = Needs};
    std::size_t length(const observation& seen) const {
        return seen.drafted + (Needs == signals::none || seen.draft_confidence > 0.5 ? 1 : 0);
    }
};

/// The same, mended.
struct goes_on {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    std::size_t length(const observation& seen) const { return seen.drafted + (seen.draft_confidence > 0.5 ? 2 : 0); }
};

BOOST_AUTO_TEST_CASE(a_policy_that_never_wants_more_than_one_token_more_is_noted) {
    const auto notes = [](const auto& policy) {
        const auto r = policy_laws(policy);
        BOOST_TEST(r.kept(), r);
        return r.notes.empty() ? "" : r.notes[0].law;
    };
    const std::string note = "never wants more than one token more";
    BOOST_TEST(notes(this_one<signals::draft_confidence>{}) == note);
    BOOST_TEST(notes(this_one<signals::none>{}) == note);
    BOOST_TEST(notes(goes_on{}) == "");
    BOOST_TEST(notes(policy::fixed_length{1}) == "");
    BOOST_TEST(notes(policy::fixed_length{3}) == "");
    BOOST_TEST(notes(policy::confidence_stop{}) == "");
    // What it comes to: one token in each round, however sure the draft is.
    const auto sure = testing::scripted_model(5, {}, 20, 4096);
    const auto most_drafted = [&](const auto& policy) {
        decode::options chosen;
        chosen.stop.max_tokens = 24;
        const auto decoded = decode::generate(speculate(sure, sure, policy, accept::coupled{}), std::vector{0}, chosen);
        return decoded.counts.stages[0].drafted / decoded.counts.stages[0].rounds;
    };
    BOOST_TEST(most_drafted(this_one<signals::draft_confidence>{}) <= 1u);
    BOOST_TEST(most_drafted(goes_on{}) > 3u);
}

BOOST_AUTO_TEST_SUITE_END()
