#include "augur/testing/faulty_model.hpp"

#include <augur/accept/exact.hpp>
#include <augur/decode/generate.hpp>
#include <boost/test/unit_test.hpp>

namespace augur::testing {
static_assert(Model<faulty_model> && ScoresLastRows<faulty_model>);
}  // namespace augur::testing

using namespace augur;
using testing::fault;

BOOST_AUTO_TEST_SUITE(testing_faulty_model)

constexpr float infinite = std::numeric_limits<float>::infinity();
const std::vector<token> three{1, 2, 0};

std::vector<float> row_after_two(fault what) {
    const testing::faulty_model model(testing::markov_model({{1, 0, 0}, {0, 1, 0}, {0.2, 0.5, 0.3}}), what, 2);
    auto sequence = model.make_sequence();
    const scores rows = model.extend(sequence, three);
    BOOST_TEST(rows[0][1] == 0.0f);
    BOOST_TEST(rows[2][0] == 0.0f);  // the others are as they were
    return {rows[1].begin(), rows[1].end()};
}

BOOST_AUTO_TEST_CASE(rows_are_spoiled_after_the_chosen_number_of_tokens) {
    BOOST_TEST(std::isnan(row_after_two(fault::not_a_number)[1]));
    BOOST_TEST(row_after_two(fault::infinity)[1] == infinite);
    BOOST_TEST((row_after_two(fault::all_minus_infinity) == std::vector<float>(3, -infinite)));
    BOOST_TEST((row_after_two(fault::ties) == std::vector<float>(3, 0.0f)));
    const auto certain = row_after_two(fault::zero_probabilities);
    BOOST_TEST((certain == std::vector<float>{-infinite, std::log(0.5f), -infinite}));
}

BOOST_AUTO_TEST_CASE(a_spoiled_row_is_spoiled_however_it_is_reached) {
    const testing::faulty_model model(testing::hashed_model(3, 1), fault::ties, 2);
    auto sequence = model.make_sequence();
    model.extend(sequence, std::vector<token>{1});
    BOOST_TEST(model.extend(sequence, std::vector<token>{2})[0][2] == 0.0f);
    model.truncate(sequence, 1);
    BOOST_TEST(model.extend(sequence, std::vector<token>{0, 0}, 2)[0][1] == 0.0f);
}

BOOST_AUTO_TEST_CASE(calls_go_wrong_once_by_number) {
    const testing::faulty_model missing(testing::hashed_model(3, 1), fault::missing_row, 1);
    const testing::faulty_model extra(testing::hashed_model(3, 1), fault::extra_row, 1);
    std::vector<std::size_t> sizes;
    for (const auto* model : {&missing, &extra}) {
        auto sequence = model->make_sequence();
        for (int i = 0; i < 3; ++i) sizes.push_back(model->extend(sequence, three).size());
        BOOST_TEST(model->calls() == 3u);
    }
    BOOST_TEST((sizes == std::vector<std::size_t>{3, 2, 3, 3, 4, 3}));
}

BOOST_AUTO_TEST_CASE(a_call_throws_before_or_after_it_grew_the_sequence) {
    const testing::faulty_model before(testing::hashed_model(3, 1), fault::throws, 0);
    const testing::faulty_model after(testing::hashed_model(3, 1), fault::throws_after_growing, 0);
    auto untouched = before.make_sequence();
    BOOST_CHECK_THROW(before.extend(untouched, three), error);
    BOOST_TEST(before.length(untouched) == 0u);
    auto grown = after.make_sequence();
    BOOST_CHECK_THROW(after.extend(grown, three), error);
    BOOST_TEST(after.length(grown) == 3u);
}

BOOST_AUTO_TEST_CASE(decoding_ends_at_a_row_that_cannot_be_drawn_from) {
    const std::vector<token> prompt{0};
    decode::options chosen;
    chosen.stop.max_tokens = 6;
    for (const fault what : {fault::not_a_number, fault::infinity, fault::all_minus_infinity}) {
        const testing::faulty_model target(testing::hashed_model(3, 1), what, 4);
        const auto decoded = decode::generate(
            speculate(testing::hashed_model(3, 1), target, policy::fixed_length{3}, accept::coupled{}), prompt, chosen);
        BOOST_TEST((decoded.finish == finish_reason::invalid_logits), testing::name_of(what));
        BOOST_TEST(decoded.tokens.size() == 3u);
    }
}

BOOST_AUTO_TEST_CASE(a_step_that_the_model_interrupts_can_be_repeated) {
    const std::vector<token> prompt{0, 1};
    for (const fault what : {fault::throws, fault::throws_after_growing}) {
        const auto sound = testing::hashed_model(3, 1);
        const testing::faulty_model target(sound, what, 2);
        const auto scheme = speculate(testing::hashed_model(3, 2), target, policy::fixed_length{2}, accept::coupled{});
        decode::session s(scheme, prompt, {}, {.max_tokens = 8}, random::philox_chooser(3));
        std::size_t interruptions = 0;
        while (s.finished == finish_reason::running) {
            try {
                decode::step(scheme, s);
            } catch (const error&) {
                ++interruptions;
            }
        }
        BOOST_TEST(interruptions == 1u);
        const auto expected = decode::generate(plain(sound), prompt, {.seed = 3, .stop = {.max_tokens = 8}});
        BOOST_TEST(s.committed.generated() == expected.tokens, boost::test_tools::per_element());
    }
}

BOOST_AUTO_TEST_SUITE_END()
