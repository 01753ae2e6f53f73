#include "augur/tune/verify_curve.hpp"

#include <algorithm>
#include <augur/testing/models.hpp>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <map>
#include <thread>

BOOST_AUTO_TEST_SUITE(tune_verify_curve)

using namespace augur;

namespace {

/// A model that notes the rows of each pass.
struct noting_model {
    struct sequence_type {
        std::size_t tokens = 0;
    };
    struct rows_type {
        std::size_t count;
        std::size_t size() const { return count; }
        logit_row operator[](std::size_t) const { return {}; }
    };
    std::size_t context = 64;
    mutable std::vector<std::pair<std::size_t, std::size_t>> passes{};  ///< length before, rows
    std::size_t disturbed = 0;                                          ///< rows of the passes that something delays

    std::size_t vocabulary_size() const { return 3; }
    std::size_t context_length() const { return context; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.tokens; }
    rows_type extend(sequence_type& s, std::span<const token> tokens) const {
        for (const token id : tokens) BOOST_REQUIRE(id >= 0 && id < 3);
        passes.emplace_back(s.tokens, tokens.size());
        if (tokens.size() == disturbed) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        s.tokens += tokens.size();
        BOOST_REQUIRE(s.tokens <= context);
        return {tokens.size()};
    }
    void truncate(sequence_type& s, std::size_t length) const { s.tokens = length; }
};
static_assert(Model<noting_model>);

using pairs = std::vector<std::pair<std::size_t, std::size_t>>;

}  // namespace

BOOST_AUTO_TEST_CASE(row_counts_take_turns_behind_the_context_each_after_one_of_as_many) {
    const noting_model model;
    const std::vector<std::size_t> rows{1, 4, 2};
    const auto medians = tune::pass_seconds(model, rows, 5, {.repetitions = 2});
    BOOST_TEST(medians.size() == 3u);
    for (const double seconds : medians) BOOST_TEST(seconds > 0);
    pairs expected{{0, 5}, {5, 1}, {5, 4}, {5, 2}};
    for (int round = 0; round < 2; ++round) {
        for (const std::size_t count : rows) expected.insert(expected.end(), 2, {5, count});
    }
    BOOST_CHECK(model.passes == expected);
}

struct blank_model : noting_model {
    sequence_type make_blank_sequence(std::size_t tokens) const { return {tokens}; }
};

BOOST_AUTO_TEST_CASE(a_model_with_blank_sequences_is_not_prefilled) {
    const blank_model model;
    const std::vector<std::size_t> rows{1, 4};
    BOOST_TEST(tune::pass_seconds(model, rows, 5, {.repetitions = 1}).size() == 2u);
    BOOST_CHECK(model.passes == (pairs{{5, 1}, {5, 4}, {5, 1}, {5, 1}, {5, 4}, {5, 4}}));
}

BOOST_AUTO_TEST_CASE(without_patience_one_round_is_all) {
    const noting_model model;
    const std::vector<std::size_t> rows{1, 2};
    const auto medians = tune::pass_seconds(model, rows, 0, {.repetitions = 9, .seconds = 0});
    BOOST_CHECK((model.passes == pairs{{0, 1}, {0, 2}}));
    BOOST_TEST(medians[0] > 0);
    BOOST_TEST(medians[1] > 0);
}

BOOST_AUTO_TEST_CASE(a_curve_has_every_number_of_rows) {
    for (const std::size_t most : {1u, 2u, 3u, 8u, 11u}) {
        const noting_model model;
        const auto curve = tune::verify_curve(model, most, {.repetitions = 1});
        BOOST_TEST(curve.size() == most);
        std::map<std::size_t, std::size_t> timed;
        for (const auto& [before, rows] : model.passes) {
            BOOST_TEST(before == 0u);
            ++timed[rows];
        }
        for (const auto& [rows, times] : timed) {
            BOOST_TEST((rows == most || (rows & (rows - 1)) == 0));
            if (rows > 1) BOOST_TEST(times == 3u);  // the first round warms up, passes over one row did before
            if (rows == 1) BOOST_TEST(times >= 6u);
        }
        BOOST_TEST(timed.rbegin()->first == most);
    }
    noting_model model;
    model.context = 5;
    BOOST_TEST(tune::verify_curve(model, 11).size() == 5u);
}

BOOST_AUTO_TEST_CASE(a_curve_can_lie_behind_a_text) {
    noting_model model;
    model.context = 20;
    BOOST_TEST(tune::verify_curve(model, 11, {.repetitions = 1}, 12).size() == 8u);
    std::size_t behind = 0;
    for (const auto& [before, rows] : model.passes) {
        BOOST_TEST((before == 12u || rows == 1u || rows == 12u));  // or those that warm up, and the prefill
        behind += before == 12 ? 1 : 0;
    }
    BOOST_TEST(behind == 12u);  // 1, 2, 4 and 8 rows, three times
    BOOST_CHECK_EXCEPTION(tune::verify_curve(model, 1, {}, 20), error, [](const error& e) {
        return std::string(e.what()).find("behind 20 tokens") != std::string::npos;
    });
}

BOOST_AUTO_TEST_CASE(between_measurements_lies_a_line) {
    const noting_model model;
    const auto curve = tune::verify_curve(model, 4, {.repetitions = 1});
    BOOST_TEST(curve[2] == (curve[1] + curve[3]) / 2, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(what_cannot_be_timed_is_refused) {
    const noting_model model;
    const auto refused = [&](std::vector<std::size_t> rows, std::size_t context, tune::patience until,
                             const std::string& part) {
        BOOST_CHECK_EXCEPTION(tune::pass_seconds(model, rows, context, until), error,
                              [&](const error& e) { return std::string(e.what()).find(part) != std::string::npos; });
        BOOST_TEST(model.passes.empty());
    };
    refused({1, 0}, 5, {}, "0 rows after 5 tokens");
    refused({1, 60}, 5, {}, "60 rows after 5 tokens");
    refused({1}, 65, {}, "the context is 64");
    refused({1}, 5, {.repetitions = 0}, "repetitions are 0");
}

BOOST_AUTO_TEST_CASE(a_pass_costs_no_more_than_one_over_more_rows) {
    for (const std::size_t disturbed : {1u, 2u, 4u}) {
        noting_model model;
        model.disturbed = disturbed;
        const auto curve = tune::verify_curve(model, 8, {.repetitions = 1});
        BOOST_TEST(curve.size() == 8u);
        BOOST_CHECK_MESSAGE(std::is_sorted(curve.begin(), curve.end()),
                            "passes over " << disturbed << " rows are slow");
    }
}

BOOST_AUTO_TEST_SUITE_END()
