#include "augur/model/run.hpp"

#include <algorithm>
#include <array>
#include <augur/testing/compare_rows.hpp>
#include <augur/testing/counting_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/smallest.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(model_run)

namespace {

const testing::function_model sound = testing::hashed_model(5, 1, 2, 64);
const std::vector<token> before{1, 2};
const std::vector<token> nodes{3, 4, 0, 1, 2};
const std::vector<std::int32_t> parents{-1, 0, -1, 0, 2};  // leaves 1, 3 and 4

testing::row_copies row_after(std::vector<token> text) {
    auto sequence = sound.make_sequence();
    return testing::copy_of(sound.extend(sequence, text, 1));
}

void refuses(const auto& what, const std::string& said) {
    BOOST_CHECK_EXCEPTION(what(), error, [&](const error& e) {
        BOOST_TEST(std::string(e.what()).find(said) != std::string::npos, e.what());
        return true;
    });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_tree_on_a_simple_model_takes_a_pass_for_each_leaf) {
    const testing::counting_model model(sound);
    auto sequence = model.make_sequence();
    model.extend(sequence, before);
    model.reset();
    const auto rows = model::run(model, {.sequence = &sequence, .tokens = nodes, .parents = parents});
    BOOST_TEST(model.counts().calls == 3u);
    BOOST_TEST(model.counts().tokens == nodes.size());  // none is computed twice
    BOOST_TEST(sequence.tokens == before, boost::test_tools::per_element());
    testing::row_copies expected;
    for (const std::vector<token>& path : {std::vector<token>{3}, {3, 4}, {0}, {3, 1}, {0, 2}}) {
        std::vector<token> text = before;
        text.insert(text.end(), path.begin(), path.end());
        testing::append(expected, row_after(text));
    }
    BOOST_TEST(testing::difference(expected, testing::copy_of(rows)) == "");
    const std::vector<std::size_t> path{0, 3};
    BOOST_TEST(model::keep(model, {.sequence = &sequence, .tokens = nodes, .parents = parents}, path) ==
               0u);  // there is nothing to gather
    BOOST_TEST(model.length(sequence) == 2u);
    const auto last = model::run(model, {.sequence = &sequence, .tokens = nodes, .parents = parents, .rows = 2});
    BOOST_TEST(testing::difference({expected[3], expected[4]}, testing::copy_of(last)) == "");
    model.reset();
    const auto none = model::run(model, {.sequence = &sequence, .tokens = nodes, .parents = parents, .rows = 0});
    BOOST_TEST(none.size() == 0u);
    BOOST_TEST(model.counts().rows == 0u);
}

BOOST_AUTO_TEST_CASE(a_tree_on_a_model_with_trees_is_one_pass_and_can_be_kept) {
    const testing::tree_mock model(sound);
    auto sequence = model.make_sequence();
    model.extend(sequence, before);
    model::run(model, {.sequence = &sequence, .tokens = nodes, .parents = parents, .rows = 1});
    BOOST_TEST(sequence.rows.size() == 5u);
    const std::vector<std::size_t> path{0, 3};
    BOOST_TEST(model::keep(model, {.sequence = &sequence, .tokens = nodes, .parents = parents}, path) == 2u);
    BOOST_TEST((sequence.tokens == std::vector<token>{1, 2, 3, 1}));
}

BOOST_AUTO_TEST_CASE(a_tree_that_fails_in_the_middle_leaves_the_sequence_as_it_was) {
    const testing::function_model model(5, 64, [](std::span<const token> text, std::span<float> row) {
        if (text.back() == 2 && text.size() > 2) throw error("no row after 2");
        std::fill(row.begin(), row.end(), 0.0f);
    });
    auto sequence = model.make_sequence();
    model.extend(sequence, before);
    refuses([&] { model::run(model, {.sequence = &sequence, .tokens = nodes, .parents = parents}); }, "no row after 2");
    BOOST_TEST(sequence.tokens == before, boost::test_tools::per_element());
}

/// Beneath the node that it forks from, which the sequence holds.
BOOST_AUTO_TEST_CASE(a_tree_that_fails_at_a_fork_leaves_the_sequence_as_it_was) {
    const testing::function_model model(5, 64, [](std::span<const token> text, std::span<float> row) {
        if (text.back() == 1 && text.size() > 2) throw error("no row after 1");
        std::fill(row.begin(), row.end(), 0.0f);
    });
    auto sequence = model.make_sequence();
    model.extend(sequence, before);
    refuses([&] { model::run(model, {.sequence = &sequence, .tokens = nodes, .parents = parents}); }, "no row after 1");
    BOOST_TEST(sequence.tokens == before, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(passes_one_after_another_are_taken_back_when_one_fails) {
    const auto check = [](const auto& model) {
        using asked = pass<sequence_t<std::remove_cvref_t<decltype(model)>>>;
        auto a = model.make_sequence(), b = model.make_sequence(), c = model.make_sequence();
        model.extend(a, before);
        const std::vector<token> too_many(65);
        const std::vector<asked> passes{{.sequence = &a, .tokens = nodes},
                                        {.sequence = &c, .tokens = nodes, .parents = parents},
                                        {.sequence = &b, .tokens = too_many}};
        std::vector<model::pass_rows<std::remove_cvref_t<decltype(model)>>> results(3);
        refuses([&] { model::run(model, std::span(passes), std::span(results)); }, "cannot grow by 65");
        BOOST_TEST(model.length(a) == 2u);
        BOOST_TEST(model.length(b) == 0u);
        BOOST_TEST(model.length(c) == 0u);
    };
    check(sound);
    check(testing::tree_mock(sound));
    check(testing::full_mock(sound));
}

BOOST_AUTO_TEST_CASE(rows_stay_while_the_sequences_of_other_passes_are_run) {
    const auto check = [](const auto& model) {
        using M = std::remove_cvref_t<decltype(model)>;
        auto a = model.make_sequence(), b = model.make_sequence();
        const std::vector<token> first{1, 2, 3}, second{4, 0};
        const std::vector<pass<sequence_t<M>>> passes{{.sequence = &a, .tokens = first, .rows = 2},
                                                      {.sequence = &b, .tokens = second}};
        std::vector<model::pass_rows<M>> results(2);
        model::run<M>(model, passes, results);
        const auto expected = testing::copy_of(results[1]);
        BOOST_TEST(results[0].size() == 2u);
        for (int i = 0; i < 10; ++i) {
            model::run<M>(model, {.sequence = &a, .tokens = first});
            model.truncate(a, 0);
        }
        BOOST_TEST(testing::difference(expected, testing::copy_of(results[1])) == "");
    };
    check(sound);
    check(testing::batch_mock(sound));  // where its rows lie is noted in the first sequence
    check(testing::full_mock(sound));
    check(smallest::batch_model{});  // its rows own their numbers
    check(smallest::model{});
}

/// Shows the states of the rows that it makes, and makes no more than it is asked for.
struct shows_its_rows : testing::function_model {
    std::size_t hidden_size() const { return vocabulary_size(); }
    scores hidden(const testing::mock_sequence& s) const { return {s.rows.data(), s.rows.size() / 5, 5}; }
};

BOOST_AUTO_TEST_CASE(states_come_with_rows_where_a_model_runs_no_passes_for_them) {
    const smallest::hidden_state_model model;
    auto sequence = model.make_sequence();
    const auto rows = model::run(model, {.sequence = &sequence, .tokens = nodes, .rows = 1, .states = true});
    BOOST_TEST(rows.size() == 1u);
    BOOST_TEST(rows[0][5] == 1.0f);
    BOOST_TEST(model.hidden(sequence).size() == nodes.size());
    const shows_its_rows exact{sound};
    auto own = exact.make_sequence();
    const auto last = model::run(exact, {.sequence = &own, .tokens = nodes, .rows = 1, .states = true});
    BOOST_TEST(testing::difference(row_after(nodes), testing::copy_of(last)) == "");
    BOOST_TEST(exact.hidden(own).size() == nodes.size());
}

BOOST_AUTO_TEST_CASE(what_no_model_can_make_up_is_refused_by_name) {
    auto sequence = sound.make_sequence();
    refuses([&] { model::run(sound, {.sequence = &sequence, .tokens = nodes, .states = true}); },
            "the hidden states of 5 tokens were asked of a model that has no hidden(sequence)");
    refuses([&] { model::run(sound, {.sequence = &sequence, .tokens = nodes, .to_layer = 2}); },
            "a part of the layers (from 0) was asked of a model that runs all of them only");
    refuses([&] { model::run(sound, {.sequence = &sequence, .from_layer = 2}); }, "a part of the layers (from 2)");
    const testing::hidden_state_mock shows(sound);
    auto shown = shows.make_sequence();
    refuses([&] { model::run(shows, {.sequence = &shown, .tokens = nodes, .parents = parents, .states = true}); },
            "the hidden states of a tree of 5 tokens were asked of a model without pass_features::trees");
    std::vector<model::pass_rows<testing::function_model>> results(2);
    const std::vector<pass<testing::mock_sequence>> one{{.sequence = &sequence, .tokens = nodes}};
    refuses([&] { model::run<testing::function_model>(sound, one, results); },
            "1 passes, but places for the rows of 2");
    BOOST_TEST(sequence.tokens.empty());
    BOOST_TEST(shown.tokens.empty());
}

/// Its run makes so many rows of the last pass, whatever is wanted.
struct miscounts : testing::batch_mock {
    std::size_t rows;
    explicit miscounts(std::size_t n) : testing::batch_mock(sound), rows(n) {}
    scattered_scores run(std::span<const pass<sequence_type>> asked) const {
        auto others = std::vector(asked.begin(), asked.end());
        others.back().rows = rows;
        return testing::batch_mock::run(others);
    }
};

BOOST_AUTO_TEST_CASE(rows_that_are_missing_or_too_many_are_not_taken_for_others) {
    for (const auto& [rows, said] : {std::pair{0u, "the model made 5 rows where 6 were wanted"},
                                     {2u, "the model made 7 rows where 6 were wanted"}}) {
        const miscounts model(rows);
        auto a = model.make_sequence(), b = model.make_sequence();
        const std::vector<pass<miscounts::sequence_type>> passes{{.sequence = &a, .tokens = nodes},
                                                                 {.sequence = &b, .tokens = before, .rows = 1}};
        std::vector<model::pass_rows<miscounts>> results(2);
        refuses([&] { model::run<miscounts>(model, passes, results); }, said);
    }
}

/// Says that its rows are longer or shorter than they are.
template <class M>
struct says_another_size : M {
    std::size_t said;
    says_another_size(M of, std::size_t n) : M(std::move(of)), said(n) {}
    std::size_t vocabulary_size() const { return said; }
};

BOOST_AUTO_TEST_CASE(rows_of_another_width_than_the_vocabulary_are_refused) {
    const auto check = [](const auto& model, const std::string& said) {
        using M = std::remove_cvref_t<decltype(model)>;
        auto a = model.make_sequence(), b = model.make_sequence();
        const std::vector<pass<sequence_t<M>>> passes{{.sequence = &a, .tokens = before, .rows = 1},
                                                      {.sequence = &b, .tokens = before}};
        std::vector<model::pass_rows<M>> results(2);
        refuses([&] { model::run<M>(model, passes, results); }, said);
        refuses([&] { model::run<M>(model, passes[0]); }, said);
        refuses([&] { model::run<M>(model, {.sequence = &a, .tokens = nodes, .parents = parents}); }, said);
    };
    for (const std::size_t size : {4u, 6u}) {
        const std::string said = "row 0 has 8 logits, but the vocabulary has " + std::to_string(size) + " tokens";
        check(says_another_size(smallest::model{}, size), said);
        check(says_another_size(smallest::batch_model{}, size), said);
        const std::string shorter = "row 0 has 5 logits, but the vocabulary has " + std::to_string(size) + " tokens";
        check(says_another_size(sound, size), shorter);
    }
}

/// Rows that lie together, of which each names its own possible tokens.
struct listing_rows {
    const float* numbers;
    std::size_t count;
    std::array<std::span<const token>, 3> possible;

    std::size_t size() const { return count; }
    logit_row operator[](std::size_t i) const { return {numbers + 2 * i, 2, possible[i]}; }
};
struct listing_model {
    using sequence_type = smallest::sequence;
    std::array<std::span<const token>, 3> possible;
    std::vector<float> numbers{0, 1, 2, 3, 4, 5};

    std::size_t vocabulary_size() const { return 2; }
    std::size_t context_length() const { return 64; }
    sequence_type make_sequence() const { return {}; }
    std::size_t length(const sequence_type& s) const { return s.tokens.size(); }
    listing_rows extend(sequence_type& s, std::span<const token> tokens) const {
        s.tokens.insert(s.tokens.end(), tokens.begin(), tokens.end());
        return {numbers.data(), tokens.size(), possible};
    }
    void truncate(sequence_type& s, std::size_t length) const { s.tokens.resize(length); }
};

BOOST_AUTO_TEST_CASE(each_row_keeps_its_own_possible_tokens) {
    const std::vector<token> both{0, 1}, again{0, 1}, three{0, 1, 1};
    const std::span<const token> all(both), other(again);
    const std::array<std::span<const token>, 3> lists[] = {
        {all, other, all}, {all, all, all.first(1)}, {all, all, all}, {three, three, std::span(three).first(2)}};
    for (const auto& possible : lists) {
        const listing_model model{possible};
        auto sequence = model.make_sequence();
        const std::vector<token> text{0, 1, 0};
        const auto rows = model::run(model, {.sequence = &sequence, .tokens = text, .rows = 3});
        BOOST_TEST_REQUIRE(rows.size() == 3u);
        for (std::size_t i = 0; i < 3; ++i) {
            BOOST_TEST(rows[i][0] == static_cast<float>(2 * i));
            BOOST_TEST(rows[i].possible().data() == possible[i].data());
            BOOST_TEST(rows[i].possible().size() == possible[i].size());
        }
    }
}

/// Its rows are a small value that holds their numbers.
struct array_rows {
    std::array<std::array<float, 8>, 16> rows{};
    std::size_t count = 0;

    std::size_t size() const { return count; }
    const std::array<float, 8>& operator[](std::size_t i) const { return rows[i]; }
};
static_assert(std::is_trivially_copyable_v<array_rows>);
struct array_model : smallest::model {
    array_rows extend(sequence_type& s, std::span<const token> tokens) const {
        const scores rows = smallest::model::extend(s, tokens);
        array_rows own{.count = rows.size()};
        for (std::size_t i = 0; i < rows.size(); ++i) std::copy(rows[i].begin(), rows[i].end(), own.rows[i].begin());
        return own;
    }
};

BOOST_AUTO_TEST_CASE(rows_inside_of_what_a_model_returns_are_kept_with_it) {
    const array_model model;
    const smallest::model same;
    auto sequence = model.make_sequence(), other = same.make_sequence();
    const auto expected = testing::copy_of(same.extend(other, nodes));
    auto rows = model::run(model, {.sequence = &sequence, .tokens = nodes});
    model::run(model, {.sequence = &sequence, .tokens = nodes});  // whose rows lie where the first ones did
    BOOST_TEST(testing::difference(expected, testing::copy_of(rows)) == "");
    const auto moved = std::move(rows);
    BOOST_TEST(testing::difference(expected, testing::copy_of(moved)) == "");
    const model::pass_rows<array_model> copied = moved;
    BOOST_TEST(copied[0].data() != moved[0].data());
}

BOOST_AUTO_TEST_CASE(rows_are_dropped_from_the_front_and_become_others) {
    const auto check = [](const auto& model, std::size_t width) {
        using M = std::remove_cvref_t<decltype(model)>;
        auto sequence = model.make_sequence();
        const pass<sequence_t<M>> asked{.sequence = &sequence, .tokens = nodes, .rows = 4};
        model::pass_rows<M> rows;
        model::run<M>(model, std::span(&asked, 1), std::span(&rows, 1));
        const auto all = testing::copy_of(rows);
        BOOST_TEST_REQUIRE(all.size() == 4u);
        rows.drop(1);
        BOOST_TEST(rows.size() == 3u);
        BOOST_TEST(testing::difference({all[1], all[2], all[3]}, testing::copy_of(rows)) == "");
        const auto own = rows.own(2, width);
        std::fill(own.begin(), own.end(), 0.0f);
        own[width + 1] = 7;
        BOOST_TEST(rows.size() == 2u);
        BOOST_TEST(rows[0][1] == 0.0f);
        BOOST_TEST(rows[1][1] == 7.0f);
    };
    check(sound, 5);
    check(smallest::batch_model{}, 8);
}

BOOST_AUTO_TEST_SUITE_END()
