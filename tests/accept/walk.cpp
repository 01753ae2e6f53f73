#include "augur/accept/walk.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/named_once.hpp>
#include <augur/types/scores.hpp>
#include <boost/test/unit_test.hpp>
#include <limits>

using namespace augur;

BOOST_AUTO_TEST_SUITE(accept_walk)

/// Rows that each want one token.
struct wanted_rows {
    std::vector<float> logits;
    wanted_rows(std::size_t vocabulary, const std::vector<token>& wanted) : logits(vocabulary * wanted.size(), 0.0f) {
        for (std::size_t i = 0; i < wanted.size(); ++i)
            logits[i * vocabulary + static_cast<std::size_t>(wanted[i])] = 9;
        rows = scores(logits.data(), wanted.size(), vocabulary);
    }
    scores rows;
};

proposal<point_mass> drafted(const std::vector<token>& tokens) {
    proposal<point_mass> made;
    for (token t : tokens) made.push(t);
    return made;
}

struct fixture {
    transform::settings settings{.temperature = {0}};
    transform::pipeline greedy{settings, 5};
    prefix before{std::vector<token>{1, 2}};
    random::philox_chooser chooser{0};

    verdict judged(const std::vector<token>& guess, const scores& rows) {
        return accept::walk(accept::exact{}, drafted(guess), rows, greedy, before, chooser, 0);
    }
};

BOOST_FIXTURE_TEST_CASE(all_accepted_is_followed_by_a_bonus, fixture) {
    const wanted_rows target(5, {3, 4, 0});
    const verdict ruled = judged({3, 4}, target.rows);
    BOOST_TEST(ruled.accepted == 2u);
    BOOST_TEST(ruled.next == 0);
    BOOST_TEST((ruled.next_origin() == origin::bonus));
    BOOST_TEST(before.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(the_correction_comes_from_the_rejected_row, fixture) {
    const wanted_rows target(5, {3, 4, 0, 1});
    const verdict ruled = judged({3, 2, 0}, target.rows);
    BOOST_TEST(ruled.accepted == 1u);
    BOOST_TEST(ruled.next == 4);
    BOOST_TEST((ruled.next_origin() == origin::correction));
}

BOOST_FIXTURE_TEST_CASE(a_wrong_first_token_is_rejected_even_alone, fixture) {
    const wanted_rows target(5, {3, 4});
    const verdict ruled = judged({2}, target.rows);
    BOOST_TEST(ruled.accepted == 0u);
    BOOST_TEST(ruled.next == 3);
}

BOOST_FIXTURE_TEST_CASE(nothing_drafted_is_plain_decoding, fixture) {
    const wanted_rows target(5, {2});
    const verdict ruled = judged({}, target.rows);
    BOOST_TEST(ruled.next == 2);
    BOOST_TEST((ruled.next_origin() == origin::plain));
}

BOOST_FIXTURE_TEST_CASE(a_row_without_numbers_ends_the_walk_there, fixture) {
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        wanted_rows target(5, {3, 4, 0});
        target.logits[5 + 1] = bad;
        const verdict ruled = judged({3, 4}, target.rows);
        BOOST_TEST(ruled.accepted == 1u);
        BOOST_TEST(ruled.invalid_row());
        BOOST_TEST(before.size() == 2u);
    }
}

BOOST_FIXTURE_TEST_CASE(each_row_is_transformed_with_the_tokens_before_it, fixture) {
    // A presence penalty that makes any token impossible to repeat: the second row must already know the first draft.
    settings.penalties.presence = 100;
    greedy = transform::pipeline(settings, 5);
    const wanted_rows target(5, {3, 3, 3});
    const verdict ruled = judged({3, 3}, target.rows);
    BOOST_TEST(ruled.accepted == 1u);
    BOOST_TEST(ruled.next == 0);
    BOOST_TEST(before.counts().at(1).anywhere == 1u);
    BOOST_TEST(!before.counts().contains(3));
}

BOOST_FIXTURE_TEST_CASE(rows_are_left_as_they_were, fixture) {
    settings.temperature.value = 0.5f;
    settings.top_k.k = 2;
    greedy = transform::pipeline(settings, 5);
    const wanted_rows target(5, {3, 4, 0});
    const std::vector<float> copy = target.logits;
    accept::walk(accept::coupled{}, drafted({3, 4}), target.rows, greedy, before, chooser, 0);
    BOOST_TEST(target.logits == copy, boost::test_tools::per_element());
}

template <class Criterion>
void check_names() {
    const auto target = testing::hashed_model(5, 1);
    const auto scheme = speculate(testing::hashed_model(5, 2), target, policy::fixed_length{4}, Criterion{});
    decode::options chosen;
    chosen.stop.max_tokens = 60;
    const std::vector<token> prompt{1};
    const testing::named_once chooser(random::philox_chooser(3));
    decode::generate_with(chooser, scheme, prompt, chosen);
    BOOST_TEST(chooser.names() > 60u);
}

BOOST_AUTO_TEST_CASE(no_random_number_decides_twice) {
    check_names<accept::rejection_sampling>();
    check_names<accept::block>();
}

BOOST_AUTO_TEST_SUITE_END()
