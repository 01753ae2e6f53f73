#include "augur/model/any_model.hpp"

#include <augur/testing/model_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/counted_in.hpp"
#include "model/rows_as_states.hpp"
#include "model/smallest.hpp"

namespace augur::model {
static_assert(ScoresLastRows<any_model> && TreeModel<any_model> && BatchModel<any_model>);
static_assert(!has_bitwise_rows<any_model> && !HiddenStateModel<any_model>);
static_assert(has_bitwise_rows<basic_any_model<>> && PrefillsStates<basic_any_model<>>);
}  // namespace augur::model

BOOST_AUTO_TEST_SUITE(model_any_model)

using namespace augur;

namespace {

testing::full_mock some_model() {
    return testing::full_mock(testing::hashed_model(5, 3, 2, 64));
}
using strict_model = model::basic_any_model<>;

}  // namespace

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_what_it_holds) {
    const strict_model held(some_model());
    const auto r = testing::model_laws(held, {.cases = 50});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(held.vocabulary_size() == some_model().vocabulary_size());
    BOOST_TEST(held.context_length() == some_model().context_length());
    BOOST_TEST(held.hidden_size() == some_model().hidden_size());
}

BOOST_AUTO_TEST_CASE(rows_are_those_of_what_it_holds) {
    const auto own = some_model();
    const strict_model held(some_model());
    auto a = own.make_sequence();
    auto b = held.make_sequence();
    const std::vector<token> tokens = {1, 4, 0, 2};
    const auto expected = own.extend(a, tokens, 2);
    const auto got = held.extend(b, tokens, 2);
    BOOST_TEST(got.size() == 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST((std::vector(got[i].begin(), got[i].end()) == std::vector(expected[i].begin(), expected[i].end())));
    }
    BOOST_TEST(held.length(b) == 4u);
    held.truncate(b, 1);
    BOOST_TEST(held.length(b) == 1u);
}

BOOST_AUTO_TEST_CASE(it_moves_and_its_sequences_stay) {
    strict_model first(some_model());
    auto sequence = first.make_sequence();
    const strict_model moved = std::move(first);
    moved.extend(sequence, std::vector<token>{1, 2});
    BOOST_TEST(moved.length(sequence) == 2u);
}

BOOST_AUTO_TEST_CASE(it_refers_to_what_it_is_not_given) {
    const auto own = some_model();
    const strict_model held(own);
    auto sequence = held.make_sequence();
    BOOST_TEST(held.extend(sequence, std::vector<token>{1}, 1)[0].size() == own.vocabulary_size());
}

/// An engine that stays where it is, and one that moves once.
struct pinned_model : smallest::model {
    pinned_model() = default;
    pinned_model(pinned_model&&) = delete;
};
struct movable_once : smallest::model {
    movable_once() = default;
    movable_once(movable_once&&) = default;
    movable_once& operator=(movable_once&&) = delete;
};
static_assert(std::is_constructible_v<model::any_model, const pinned_model&>);
static_assert(!std::is_constructible_v<model::any_model, pinned_model>);

BOOST_AUTO_TEST_CASE(what_it_refers_to_need_not_move) {
    const pinned_model own;
    const model::any_model refers(own), owns(movable_once{});
    for (const model::any_model* held : {&refers, &owns}) {
        auto sequence = held->make_sequence();
        BOOST_TEST(held->extend(sequence, std::vector<token>{1}, 1)[0][1] == 1.0f);
    }
}

BOOST_AUTO_TEST_CASE(what_it_holds_may_count_in_other_integers) {
    const model::any_model held(counted_in<int>(testing::hashed_model(5, 3, 2, 64)));
    auto sequence = held.make_sequence();
    BOOST_TEST(held.extend(sequence, std::vector<token>{1}, 1)[0].size() == 5u);
}

BOOST_AUTO_TEST_CASE(any_model_holds_models_that_promise_and_show_nothing) {
    const auto keeps = [](const model::any_model& held) {
        const auto r = testing::model_laws(held, {.cases = 50});
        BOOST_TEST(r.kept(), r);
    };
    keeps(model::any_model(testing::hashed_model(5, 3, 2, 64)));
    keeps(model::any_model(smallest::model{}));
    keeps(model::any_model(smallest::batch_model{}));
    keeps(model::any_model(smallest::tree_model{}));
    keeps(model::any_model(some_model()));
}

BOOST_AUTO_TEST_CASE(a_tree_is_kept_on_an_engine_without_trees) {
    const model::any_model held(testing::hashed_model(5, 3, 2, 64));
    auto s = held.make_sequence();
    const std::vector<token> nodes{3, 4, 0};
    const std::vector<std::int32_t> parents{-1, 0, -1};
    model::run(held, {.sequence = &s, .tokens = nodes, .parents = parents});
    BOOST_TEST(held.length(s) == 0u);
    held.keep(s, std::vector<std::size_t>{});
    BOOST_CHECK_THROW(held.keep(s, std::vector<std::size_t>{0}), error);  // none of it was kept, and it is gone
    model::run(held, {.sequence = &s, .tokens = nodes, .parents = parents});
    BOOST_CHECK_THROW(held.keep(s, std::vector<std::size_t>{1}), error);
    BOOST_CHECK_THROW(held.keep(s, std::vector<std::size_t>{0, 2}), error);
    held.keep(s, std::vector<std::size_t>{0, 1});
    BOOST_TEST(held.length(s) == 2u);
    BOOST_CHECK_THROW(held.keep(s, std::vector<std::size_t>{0}), error);  // the tree is gone
}

BOOST_AUTO_TEST_CASE(states_of_trees_are_shown_whatever_engine_makes_them) {
    const auto law = testing::hashed_model(5, 3, 2, 64);
    const auto keeps = [](const strict_model& held) {
        const auto r = testing::model_laws(held, {.cases = 50});
        BOOST_TEST(r.kept(), r);
    };
    keeps(strict_model(testing::hidden_state_mock(law)));
    keeps(strict_model(chains_with_rows(law)));
    keeps(strict_model(trees_with_rows(law)));
    keeps(strict_model(testing::full_mock(law)));
}

/// Until something else is run.
BOOST_AUTO_TEST_CASE(states_of_a_tree_stay_when_a_path_is_kept) {
    const chains_with_rows own(testing::hashed_model(5, 3, 2, 64));
    const strict_model held(own);
    auto s = held.make_sequence();
    const std::vector<token> nodes{3, 4, 0};
    const std::vector<std::int32_t> parents{-1, 0, -1};
    model::run(held, {.sequence = &s, .tokens = nodes, .parents = parents, .rows = 0, .states = true});
    const auto states = testing::copy_of(held.hidden(s));
    BOOST_TEST(states.size() == 3u);
    held.keep(s, std::vector<std::size_t>{2});
    BOOST_TEST(testing::difference(states, testing::copy_of(held.hidden(s))) == "");
    const auto row = testing::copy_of(held.extend(s, std::vector<token>{1}, 1));
    BOOST_TEST(testing::difference(row, testing::copy_of(held.hidden(s))) == "");
}

BOOST_AUTO_TEST_CASE(a_batch_is_one_run_of_the_engine) {
    struct counted : testing::full_mock {
        using testing::full_mock::full_mock;
        mutable std::size_t runs = 0;
        scattered_scores run(std::span<const pass<sequence_type>> asked) const {
            ++runs;
            return testing::full_mock::run(asked);
        }
    };
    const counted own(testing::hashed_model(5, 3, 2, 64));
    const model::any_model held(own);
    std::vector<model::any_model::sequence_type> sequences;
    for (int i = 0; i < 8; ++i) sequences.push_back(held.make_sequence());
    const std::vector<token> tokens{1, 2, 3};
    std::vector<pass<model::any_model::sequence_type>> passes;
    for (auto& s : sequences) passes.push_back({.sequence = &s, .tokens = tokens, .rows = 1});
    std::vector<model::pass_rows<model::any_model>> results(8);
    model::run<model::any_model>(held, passes, results);
    BOOST_TEST(own.runs == 1u);
    for (const auto& rows : results) BOOST_TEST(rows.size() == 1u);
    const model::any_model other(own);
    auto foreign = model::any_model(some_model());
    auto s = foreign.make_sequence();
    passes[5].sequence = &s;
    BOOST_CHECK_EXCEPTION((model::run<model::any_model>(held, passes, results)), error, [](const error& e) {
        return std::string(e.what()) == "any_model: a sequence of another model";
    });
    for (const auto& each : sequences) BOOST_TEST(held.length(each) == 3u);
}

BOOST_AUTO_TEST_CASE(passes_that_no_engine_could_run_are_refused) {
    const strict_model held(some_model());
    auto sequence = held.make_sequence();
    const std::vector<token> tokens{1, 2};
    using asked = pass<strict_model::sequence_type>;
    const auto refuses = [&](const std::vector<asked>& passes, const std::string& said) {
        BOOST_CHECK_EXCEPTION(held.run(passes), error, [&](const error& e) {
            BOOST_TEST(std::string(e.what()).find(said) != std::string::npos, e.what());
            return true;
        });
        BOOST_TEST(held.length(sequence) == 0u);
    };
    refuses({{.sequence = &sequence, .tokens = tokens}, {.tokens = tokens}}, "pass 1 of 2 has no sequence");
    refuses({{.sequence = &sequence, .tokens = tokens, .rows = 3}}, "3 rows of 2 tokens");
}

BOOST_AUTO_TEST_CASE(sequences_of_others_are_refused) {
    const strict_model one(some_model()), other(some_model());
    auto sequence = one.make_sequence();
    BOOST_CHECK_EXCEPTION(other.extend(sequence, std::vector<token>{1}), augur::error, [](const augur::error& e) {
        return std::string(e.what()) == "any_model: a sequence of another model";
    });
}

BOOST_AUTO_TEST_SUITE_END()
