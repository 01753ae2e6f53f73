#include "augur/draft/ahead.hpp"

#include <algorithm>
#include <atomic>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/confidence_stop.hpp>
#include <augur/policy/fixed_length.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>
#include <random>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_ahead)

using model_type = testing::function_model;
static_assert(Drafter<draft::ahead<const model_type&, draft::argmax>>);
static_assert(Drafter<draft::ahead<model_type, draft::sampled>>);
static_assert(shows_rows<draft::ahead<const model_type&, draft::argmax>>);
static_assert(!fills_trees<draft::ahead<const model_type&, draft::argmax>>);
static_assert(has_bitwise_rows<model::running_ahead<const model_type&>> == has_bitwise_rows<model_type>);

/// Counts the tokens that other threads than this one run, and throws there where it is told to.
struct watched_model : model_type {
    std::thread::id owner = std::this_thread::get_id();
    std::shared_ptr<std::atomic<std::size_t>> elsewhere = std::make_shared<std::atomic<std::size_t>>(0);
    bool throws_elsewhere = false;

    explicit watched_model(model_type of) : model_type(std::move(of)) {}

    auto extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        const bool here = std::this_thread::get_id() == owner;
        auto rows = model_type::extend(sequence, tokens, last);
        if (!here) *elsewhere += tokens.size();
        if (!here && throws_elsewhere) throw std::runtime_error("no row in this thread");
        return rows;
    }
    auto extend(sequence_type& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens, tokens.size());
    }
};

/// A target that computes for as long as the draft runs ahead: by one token more than were proposed, while the context
/// and the text have room.
struct patient_model : model_type {
    const watched_model* draft;
    mutable std::size_t ahead = 0;

    patient_model(model_type of, const watched_model& small) : model_type(std::move(of)), draft(&small) {}

    auto extend(sequence_type& sequence, std::span<const token> tokens, std::size_t last) const {
        if (last > 1) {
            ahead += last;
            while (*draft->elsewhere < ahead) std::this_thread::yield();
        }
        return model_type::extend(sequence, tokens, last);
    }
    auto extend(sequence_type& sequence, std::span<const token> tokens) const {
        return extend(sequence, tokens, tokens.size());
    }
};

const std::vector<token> prompt{1, 2, 0};

/// The text and its drafted and accepted tokens are those without; says what was run ahead and used.
model::ahead_counts compared(const model_type& large, const watched_model& small, std::size_t length,
                             std::size_t tokens) {
    const patient_model target(large, small);
    const auto scheme = speculate(draft::ahead(small), target, policy::fixed_length{length}, accept::exact{});
    const auto without = speculate(small, large, policy::fixed_length{length}, accept::exact{});
    const decode::options chosen{.sampling = {.temperature = {0}}, .stop = {.max_tokens = tokens}};
    const auto expected = decode::generate(without, prompt, chosen);
    decode::session s(scheme, prompt, chosen.sampling, chosen.stop, random::philox_chooser(0));
    while (s.finished == finish_reason::running) decode::step(scheme, s);
    const auto ids = s.committed.generated();
    BOOST_TEST(ids == std::span<const token>(expected.tokens), boost::test_tools::per_element());
    BOOST_TEST(s.counts.stages.back().drafted == expected.counts.stages.back().drafted);
    BOOST_TEST(s.counts.stages.back().accepted == expected.counts.stages.back().accepted);
    return scheme.drafter().counts(s.drafter_state);
}

BOOST_AUTO_TEST_CASE(what_was_run_ahead_is_used_where_the_outcome_is_the_likeliest) {
    const auto large = testing::hashed_model(9, 4);
    const watched_model same(large);
    const auto counts = compared(large, same, 3, 17);  // four rounds of three and a bonus, and one token more
    BOOST_TEST(counts.run == 12u);                     // of three of the rounds: nobody asked after the last one
    BOOST_TEST(counts.used == 12u);
    BOOST_TEST(*same.elsewhere == 16u);
}

BOOST_AUTO_TEST_CASE(what_was_run_ahead_is_dropped_where_the_outcome_is_another) {
    const auto large = testing::hashed_model(9, 4);
    std::size_t run = 0, used = 0;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        const watched_model other(testing::noisy_model(testing::hashed_model(9, seed), 0.2));
        const auto counts = compared(large, other, 3, 24);
        run += counts.run;
        used += counts.used;
    }
    BOOST_TEST(used < run / 4);
}

BOOST_AUTO_TEST_CASE(a_row_that_ended_a_draft_is_where_the_next_one_begins) {
    const auto large = testing::hashed_model(9, 4);
    const auto never = policy::confidence_stop({.threshold = 0.3f, .max_tokens = 4});
    const decode::options chosen{.sampling = {.temperature = {0}}, .stop = {.max_tokens = 40}};
    const auto expected = decode::generate(speculate(large, large, never, accept::exact{}), prompt, chosen);
    const auto found = decode::generate(speculate(draft::ahead(large), large, never, accept::exact{}), prompt, chosen);
    BOOST_TEST(found.tokens == expected.tokens, boost::test_tools::per_element());
    BOOST_TEST(found.counts.stages.back().drafted == expected.counts.stages.back().drafted);
    BOOST_TEST(expected.counts.stages.back().drafted > 10u);
    BOOST_TEST(expected.counts.stages.back().drafted < 32u);  // some drafts ended at a row
}

BOOST_AUTO_TEST_CASE(the_law_is_kept) {
    const auto large = testing::hashed_model(3, 1), small = testing::noisy_model(large, 0.2);
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const auto expected = testing::text_distribution_of(testing::plain_sampling(large), prompt, chosen);
    const auto with = [&](const auto& criterion) {
        return testing::text_distribution_of(speculate(draft::ahead(small), large, policy::fixed_length{2}, criterion),
                                             prompt, chosen);
    };
    BOOST_TEST(testing::total_variation(with(accept::rejection_sampling{}), expected) < 1e-12);
}

BOOST_AUTO_TEST_CASE(a_text_with_a_seed_is_the_one_without) {
    const auto large = testing::hashed_model(9, 4), small = testing::noisy_model(large, 0.1);
    const auto run = [&](const auto& drafter, const auto& criterion, std::uint64_t seed) {
        const decode::options chosen{.seed = seed, .stop = {.max_tokens = 30}};
        return decode::generate(speculate(drafter, large, policy::fixed_length{3}, criterion), prompt, chosen);
    };
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const auto coupled = run(draft::ahead(small), accept::coupled{}, seed);
        BOOST_TEST(coupled.tokens == run(small, accept::coupled{}, seed).tokens, boost::test_tools::per_element());
        const auto sampled = run(draft::ahead(small), accept::rejection_sampling{}, seed);
        const auto without = run(small, accept::rejection_sampling{}, seed);
        BOOST_TEST(sampled.tokens == without.tokens, boost::test_tools::per_element());
        BOOST_TEST(sampled.counts.stages.back().accepted == without.counts.stages.back().accepted);
    }
}

BOOST_AUTO_TEST_CASE(what_is_thrown_in_its_thread_is_no_error_of_the_text) {
    const auto large = testing::hashed_model(9, 4);
    watched_model breaks(large);
    breaks.throws_elsewhere = true;
    const patient_model target(large, breaks);
    const decode::options chosen{.sampling = {.temperature = {0}}, .stop = {.max_tokens = 9}};
    const auto scheme = speculate(draft::ahead(breaks), large, policy::fixed_length{3}, accept::exact{});
    const auto expected = decode::generate(plain(large), prompt, chosen);
    BOOST_TEST(decode::generate(scheme, prompt, chosen).tokens == expected.tokens, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(rows_are_the_models_whatever_was_run_ahead) {
    const auto model = testing::hashed_model(4, 6, 2, 40);
    model::ahead_lane<model_type> lane(model);
    std::vector<token> text;
    std::mt19937 random(1);
    const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
    for (int i = 0; i < 400; ++i) {
        std::vector<token> more(below(4));
        for (token& each : more) each = static_cast<token>(below(2));  // so that what is run ahead is often right
        if (below(3) == 0) lane.begin(more, below(6));
        if (below(5) == 0) {
            text.resize(below(text.size() + 1));
            lane.truncate(text.size());
        }
        if (more.empty() || text.size() + more.size() > 40) continue;
        text.insert(text.end(), more.begin(), more.end());
        const std::size_t last = below(more.size() + 1);
        const scores found = lane.extend(more, last);
        auto fresh = model.make_sequence();
        const auto expected = model.extend(fresh, text, last);
        BOOST_REQUIRE(found.size() == last && lane.length() == text.size());
        for (std::size_t row = 0; row < last; ++row) {
            const logit_row a = found[row], b = expected[row];
            BOOST_REQUIRE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
        }
    }
    BOOST_TEST(lane.counts().used > 20u);
    BOOST_TEST(lane.counts().used < lane.counts().run);
    BOOST_CHECK_THROW(lane.truncate(text.size() + 1), error);
    BOOST_CHECK_THROW(lane.extend(std::vector<token>(41, 0), 1), error);
    BOOST_TEST(lane.length() == text.size());
}

BOOST_AUTO_TEST_CASE(laws) {
    const auto small = testing::hashed_model(7, 3, 2, 12);  // a context that drafts reach the end of
    const auto each = [&](const auto& drafter) {
        const auto r = testing::drafter_laws(drafter, {.cases = 20, .widest = 0});
        BOOST_TEST(r.kept(), r);
    };
    each(draft::ahead<const model_type&, draft::argmax>(small));
    each(draft::ahead<const model_type&, draft::sampled>(small));
}

/// Its rows end with the next run of any sequence.
struct brief_model : model_type {
    explicit brief_model(model_type of) : model_type(std::move(of)) {}
    pass_limits limits() const { return {.rows_end_with_next_run = true}; }
};

BOOST_AUTO_TEST_CASE(a_model_whose_rows_another_sequence_ends_is_refused) {
    const brief_model small(testing::hashed_model(7, 3));
    BOOST_CHECK_EXCEPTION((draft::ahead<const brief_model&, draft::argmax>(small)), error, [](const error& e) {
        return std::string_view(e.what()).find("rows end where another") != std::string_view::npos;
    });
}

BOOST_AUTO_TEST_SUITE_END()
