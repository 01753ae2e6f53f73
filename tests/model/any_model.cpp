#include "augur/model/any_model.hpp"

#include <augur/testing/model_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(model_any_model)

using namespace augur;

namespace {

/// A mock with last rows, as any_model asks for them.
struct whole_mock : testing::hidden_state_mock {
    using hidden_state_mock::extend;
    using hidden_state_mock::hidden_state_mock;

    scores extend(testing::mock_sequence& s, std::span<const token> tokens, std::size_t last) const {
        const scores all = hidden_state_mock::extend(s, tokens);
        const std::size_t size = vocabulary_size();
        return {last == 0 ? nullptr : all[all.size() - last].data(), last, size};
    }
};

whole_mock some_model() {
    return whole_mock(testing::hashed_model(5, 3));
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_what_it_holds) {
    const model::any_model held(some_model());
    const auto r = testing::model_laws(held, {.cases = 50});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(held.vocabulary_size() == some_model().vocabulary_size());
    BOOST_TEST(held.context_length() == some_model().context_length());
    BOOST_TEST(held.hidden_size() == some_model().hidden_size());
}

BOOST_AUTO_TEST_CASE(rows_are_those_of_what_it_holds) {
    const auto own = some_model();
    const model::any_model held(some_model());
    auto a = own.make_sequence();
    auto b = held.make_sequence();
    const std::vector<token> tokens = {1, 4, 0, 2};
    const auto expected = own.extend(a, tokens, 2), got = held.extend(b, tokens, 2);
    BOOST_TEST(got.size() == 2u);
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST((std::vector(got[i].begin(), got[i].end()) == std::vector(expected[i].begin(), expected[i].end())));
    }
    BOOST_TEST(held.length(b) == 4u);
    held.truncate(b, 1);
    BOOST_TEST(held.length(b) == 1u);
}

BOOST_AUTO_TEST_CASE(it_moves_and_its_sequences_stay) {
    model::any_model first(some_model());
    auto sequence = first.make_sequence();
    const model::any_model moved = std::move(first);
    moved.extend(sequence, std::vector<token>{1, 2});
    BOOST_TEST(moved.length(sequence) == 2u);
}

BOOST_AUTO_TEST_CASE(it_refers_to_what_it_is_not_given) {
    const auto own = some_model();
    const model::any_model held(own);
    auto sequence = held.make_sequence();
    BOOST_TEST(held.extend(sequence, std::vector<token>{1}, 1)[0].size() == own.vocabulary_size());
}

BOOST_AUTO_TEST_CASE(sequences_of_others_are_refused) {
    const model::any_model one(some_model()), other(some_model());
    auto sequence = one.make_sequence();
    BOOST_CHECK_EXCEPTION(other.extend(sequence, std::vector<token>{1}), augur::error, [](const augur::error& e) {
        return std::string(e.what()) == "any_model: a sequence of another model";
    });
}

BOOST_AUTO_TEST_SUITE_END()
