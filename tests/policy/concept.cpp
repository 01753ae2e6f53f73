#include "augur/policy/concept.hpp"

#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>

using namespace augur;

BOOST_AUTO_TEST_SUITE(policy_concept)

/// The smallest policy: one more than was accepted last time.
struct one_more {
    std::size_t length(const observation& seen) const { return seen.last_accepted + 1; }
};

static_assert(SpeculationPolicy<one_more>);
static_assert(!LearnsFromOutcomes<one_more> && !reads_of<one_more>.measures_entropy());
static_assert(required_signals<one_more> == signals::none);

struct without_length {
    std::size_t budget(const observation&) const;
};
static_assert(!DecidesLength<without_length> && !SpeculationPolicy<without_length>);

struct length_in_words {
    std::string length(const observation&) const;
};
static_assert(!DecidesLength<length_in_words> && !SpeculationPolicy<length_in_words>);

/// Equal observations could give different lengths.
struct changes_while_asked {
    std::size_t length(const observation&) { return asked++; }
    std::size_t asked = 0;
};
static_assert(!DecidesLength<changes_while_asked> && !SpeculationPolicy<changes_while_asked>);

/// Every session has a policy of its own.
struct not_copyable {
    std::size_t length(const observation&) const { return *tokens; }
    std::unique_ptr<std::size_t> tokens;
};
static_assert(DecidesLength<not_copyable> && !SpeculationPolicy<not_copyable>);

/// Everything that is optional.
struct complete : one_more {
    static constexpr signals_read reads{.required = signals::draft_entropy | signals::target_entropy,
                                        .entropy_nats = [](logit_row row) { return static_cast<double>(row.size()); }};
    void learn(const outcome& happened) { drafted += happened.drafted; }
    std::size_t drafted = 0;
};
static_assert(SpeculationPolicy<complete> && LearnsFromOutcomes<complete> && reads_of<complete>.measures_entropy());
static_assert(includes(required_signals<complete>, signals::draft_entropy) &&
              signals_of<complete> == required_signals<complete>);
static_assert(!includes(required_signals<complete>, signals::draft_confidence));

/// Looks at matches where there are any.
struct optional_matches : one_more {
    static constexpr signals_read reads{.required = signals::target_entropy, .available = signals::match_length};
};
static_assert(required_signals<optional_matches> == signals::target_entropy);
static_assert(signals_of<optional_matches> == (signals::target_entropy | signals::match_length));

const std::vector<token> prompt{1};

decode::options greedy(std::size_t max_tokens) {
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = max_tokens;
    return chosen;
}

BOOST_AUTO_TEST_CASE(the_smallest_policy_decodes) {
    const auto target = testing::hashed_model(12, 1);
    const auto scheme = speculate(target, target, one_more{}, accept::exact{});
    const auto decoded = decode::generate(scheme, prompt, greedy(20));
    BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, greedy(20)).tokens);
    // Everything is accepted, so the rounds commit 2, 3, 4, 5 and 6 tokens.
    BOOST_TEST(decoded.counts.rounds() == 5u);
    BOOST_TEST(decoded.counts.stages[0].drafted == 15u);
    BOOST_TEST(decoded.counts.stages[0].accepted == 15u);
}

BOOST_AUTO_TEST_CASE(what_a_policy_learned_comes_back_and_the_scheme_stays_as_it_was) {
    const auto target = testing::hashed_model(12, 1);
    const auto scheme = speculate(target, target, complete{}, accept::exact{});
    const auto decoded = decode::generate(scheme, prompt, greedy(20));
    BOOST_TEST(decoded.policy.drafted == 15u);
    BOOST_TEST(scheme.policy().drafted == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
