#include "augur/model/cached_sequence.hpp"

#include <augur/testing/counting_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <random>
#include <string>

#include "model/rows_as_states.hpp"
#include "model/smallest.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(model_cached_sequence)

std::vector<float> fresh_row(const testing::function_model& model, std::span<const token> tokens) {
    auto sequence = model.make_sequence();
    const logit_row row = model.extend(sequence, tokens, 1)[0];
    return {row.begin(), row.end()};
}

BOOST_AUTO_TEST_CASE(any_history_gives_the_rows_of_a_fresh_cache) {
    const auto model = testing::hashed_model(4, 1);
    model::cached_sequence cached(model);
    std::mt19937 random(3);
    std::vector<token> tokens{0};
    for (int trial = 0; trial < 500; ++trial) {
        tokens.resize(1 + random() % tokens.size());
        while (random() % 3 != 0) tokens.push_back(static_cast<token>(random() % 4));
        const std::size_t rows = 1 + random() % tokens.size();
        const auto got = cached.score(tokens, rows);
        BOOST_REQUIRE(got.size() >= rows);
        for (std::size_t i = 0; i < rows; ++i) {
            const logit_row row = got[got.size() - rows + i];
            const auto expected = fresh_row(model, std::span(tokens).first(tokens.size() - rows + i + 1));
            BOOST_TEST(std::equal(row.begin(), row.end(), expected.begin()));
        }
        BOOST_TEST(cached.tokens() == std::span<const token>(tokens), boost::test_tools::per_element());
        if (random() % 2) cached.rewind(std::span(tokens).first(random() % (tokens.size() + 1)));
        BOOST_TEST(model.length(cached.sequence()) == cached.tokens().size());
    }
}

BOOST_AUTO_TEST_CASE(states_are_those_of_the_last_pass_that_are_still_held) {
    const testing::hidden_state_mock model(testing::hashed_model(4, 1));
    model::cached_sequence cached(model);
    const std::vector<token> tokens{0, 3, 1, 2, 2};
    cached.fill(std::span(tokens).first(2));
    cached.score(tokens, 3);
    for (const std::size_t held : {5u, 3u, 2u, 1u}) {
        cached.rewind(std::span(tokens).first(held));
        const auto states = cached.states(4);
        BOOST_TEST(states.first() == 2u);
        BOOST_TEST(states.size() == std::clamp<std::size_t>(held, 2, 4) - 2);
        for (std::size_t i = 0; i < states.size(); ++i) {
            const auto expected = fresh_row(model, std::span(tokens).first(3 + i));
            BOOST_TEST(std::equal(expected.begin(), expected.end(), states[i].begin()));
        }
    }
}

template <class M>
void shows_the_states_of_what_was_missing(const M& model) {
    model::cached_sequence cached(model);
    const std::vector<token> tokens(1100, 1);
    cached.fill(std::span(tokens).first(3));
    std::size_t seen = 3;
    cached.fill(tokens, [&](const auto& states) {
        BOOST_TEST(states.first() == seen);
        BOOST_TEST(states.size() <= 512u);
        seen += states.size();
    });
    BOOST_TEST(seen == 1100u);
    BOOST_TEST(cached.tokens().size() == 1100u);
    cached.fill(tokens, [&](const auto&) { BOOST_TEST(false); });
}

BOOST_AUTO_TEST_CASE(filling_shows_the_states_of_what_was_missing) {
    shows_the_states_of_what_was_missing(testing::hidden_state_mock(testing::hashed_model(4, 1, 2, 2000)));
    shows_the_states_of_what_was_missing(smallest::hidden_state_model{});
}

BOOST_AUTO_TEST_CASE(a_model_without_partial_rows_serves_too) {
    const smallest::model model;
    model::cached_sequence cached(model);
    const std::vector<token> tokens{1, 2, 3, 4};
    const auto rows = cached.score(tokens, 1);
    BOOST_TEST(rows[rows.size() - 1][4] == 1.0f);
    BOOST_TEST(cached.score(tokens, 2).size() >= 2u);  // of tokens that it holds, too
}

BOOST_AUTO_TEST_CASE(fill_then_score_computes_only_what_is_missing) {
    std::size_t computed = 0;
    const testing::function_model model(4, 64, [&computed](std::span<const token>, std::span<float>) { ++computed; });
    model::cached_sequence cached(model);
    const std::vector<token> tokens{1, 2, 3};
    cached.fill(std::span(tokens).first(2));
    BOOST_TEST(computed == 0u);
    cached.score(tokens, 1);
    BOOST_TEST(computed == 1u);
    cached.score(tokens, 1);  // the row itself is not kept, the last token is computed again
    BOOST_TEST(computed == 2u);
}

BOOST_AUTO_TEST_CASE(what_is_held_is_not_filled_again) {
    const testing::counting_model model(testing::hashed_model(4, 1));
    model::cached_sequence cached(model);
    const std::vector<token> tokens{1, 2, 3};
    cached.fill(std::span(tokens).first(2));
    cached.fill(tokens);
    cached.fill(tokens);
    BOOST_TEST(model.counts().tokens == 3u);
    BOOST_TEST(model.counts().calls == 2u);
}

BOOST_AUTO_TEST_CASE(a_model_that_throws_leaves_a_usable_cache) {
    bool broken = false;
    const testing::function_model model(4, 64, [&broken](std::span<const token> before, std::span<float> row) {
        if (broken && before.size() == 4) throw std::runtime_error("out of order");
        std::fill(row.begin(), row.end(), static_cast<float>(before.size()));
    });
    model::cached_sequence cached(model);
    const std::vector<token> tokens{1, 2, 3, 0, 1};
    cached.score(std::span(tokens).first(3), 1);
    broken = true;
    BOOST_CHECK_THROW(cached.score(tokens, 2), std::runtime_error);
    broken = false;
    const auto rows = cached.score(tokens, 2);
    BOOST_TEST(rows[0][0] == 4.0f);
    BOOST_TEST(rows[1][0] == 5.0f);
    BOOST_TEST(model.length(cached.sequence()) == 5u);
}

/// The tree's pass begins with tokens that the cache lacked: of these the states are known, too.
BOOST_AUTO_TEST_CASE(states_of_a_kept_path_are_those_of_its_positions) {
    const testing::full_mock model(testing::hashed_model(5, 1));
    model::cached_sequence cached(model);
    const std::vector<token> text{0, 3, 1, 2, 2}, nodes{1, 4, 3, 0};
    const std::vector<std::int32_t> parents{-1, 0, -1, 2};
    cached.score(std::span(text).first(2), 1);
    auto asked = cached.ask_tree(text, nodes, parents);
    asked.run();
    const auto rows = asked.await_resume();
    BOOST_TEST(rows.size() == 5u);
    BOOST_TEST(cached.tokens().size() == 2u);
    const std::vector<std::size_t> path{2, 3};
    cached.keep(path);
    const std::vector<token> whole{0, 3, 1, 2, 2, 3, 0};
    BOOST_TEST(cached.tokens() == std::span<const token>(whole), boost::test_tools::per_element());
    const auto states = cached.states(whole.size());
    BOOST_TEST(states.first() == 2u);
    BOOST_REQUIRE(states.size() == 5u);
    for (std::size_t i = 0; i < states.size(); ++i) {
        const auto expected = fresh_row(testing::hashed_model(5, 1), std::span(whole).first(3 + i));
        BOOST_TEST(std::equal(expected.begin(), expected.end(), states[i].begin()), "position " << 2 + i);
    }
}

/// Runs trees, but shows no states of theirs: only those of the rows it made.
struct tree_with_states : smallest::tree_model {
    std::size_t hidden_size() const { return 8; }
    scores hidden(const sequence_type& s) const { return rows_of(s); }
};
static_assert(TreeModel<tree_with_states> && HiddenStateModel<tree_with_states> && !PrefillsStates<tree_with_states>);

BOOST_AUTO_TEST_CASE(no_states_of_a_kept_path_are_known_where_a_model_shows_none_of_trees) {
    const tree_with_states model;
    model::cached_sequence cached(model);
    const std::vector<token> text{0, 3, 1}, nodes{1, 4}, whole{0, 3, 1, 1, 4};
    const std::vector<std::int32_t> parents{-1, 0};
    auto asked = cached.ask_tree(text, nodes, parents);
    asked.run();
    asked.await_resume();
    cached.keep(std::vector<std::size_t>{0, 1});
    BOOST_TEST(cached.tokens() == std::span<const token>(whole), boost::test_tools::per_element());
    BOOST_TEST(cached.states(whole.size()).size() == 0u);
}

/// Once states have been shown, all that is computed shows them, with rows that nobody wants if need be.
BOOST_AUTO_TEST_CASE(a_model_that_shows_the_states_of_its_rows_is_asked_for_all_of_them) {
    const auto law = testing::hashed_model(5, 1);
    const std::vector<token> text{0, 3, 1, 2, 2}, nodes{1, 4, 3}, whole{0, 3, 1, 2, 2, 3, 1, 4};
    const std::vector<std::int32_t> parents{-1, 0, -1};
    const std::vector<std::size_t> path{2};
    const auto rows_are = [&](const auto& got, std::span<const std::vector<token>> texts) {
        BOOST_TEST_REQUIRE(got.size() == texts.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
            BOOST_TEST(std::equal(got[i].begin(), got[i].end(), fresh_row(law, texts[i]).begin()));
        }
    };
    const auto shows = [&](auto& cached, std::size_t first, std::size_t size) {
        const auto states = cached.states(whole.size());
        BOOST_TEST(states.first() == first);
        BOOST_TEST_REQUIRE(states.size() == size);
        for (std::size_t i = 0; i < size; ++i) {
            const auto expected = fresh_row(law, std::span(whole).first(first + 1 + i));
            BOOST_TEST(std::equal(expected.begin(), expected.end(), states[i].begin()));
        }
    };
    const auto checked = [&](const auto& model) {
        using model_type = std::remove_cvref_t<decltype(model)>;
        model::cached_sequence cached(model);
        cached.fill(std::span(text).first(2), [](const auto&) {});
        auto tree = cached.ask_tree(text, nodes, parents, 2);
        tree.run();
        const std::vector<std::vector<token>> last_nodes{{0, 3, 1, 2, 2, 1, 4}, {0, 3, 1, 2, 2, 3}};
        rows_are(tree.await_resume(), last_nodes);
        cached.keep(path);
        const std::size_t held = TreeModel<model_type> ? 6 : 2;
        BOOST_TEST(cached.tokens().size() == held);
        if (TreeModel<model_type>) shows(cached, 2, 4);
        const std::vector<std::vector<token>> last{whole};
        auto chain = cached.ask(whole, 1);
        chain.run();
        rows_are(chain.await_resume(), last);
        shows(cached, held, whole.size() - held);
        cached.rewind(std::span(whole).first(3));
        rows_are(cached.score(whole, 1), last);
        shows(cached, 3, 5);
    };
    checked(chains_with_rows(law));
    checked(trees_with_rows(law));
    checked(testing::full_mock(law));
}

/// A model is asked for no row that is not wanted while nobody looks at states.
BOOST_AUTO_TEST_CASE(no_states_are_made_where_nobody_has_seen_any) {
    const chains_with_rows model(testing::hashed_model(5, 1));
    model::cached_sequence cached(model);
    const std::vector<token> text{0, 3, 1, 2, 2};
    cached.score(text, 1);
    BOOST_TEST(model.hidden(cached.sequence()).size() == 1u);
}

/// Somebody else judges the drafted tokens: he makes their rows.
BOOST_AUTO_TEST_CASE(what_somebody_else_runs_makes_the_rows_that_are_wanted) {
    const trees_with_rows model(testing::hashed_model(5, 1));
    model::cached_sequence cached(model);
    const std::vector<token> text{0, 3, 1}, nodes{1, 4};
    const std::vector<std::int32_t> parents{-1, 0};
    cached.fill(std::span(text).first(1), [](const auto&) {});
    cached.run_by(text, nodes, parents, [&](const auto& asked) {
        BOOST_TEST(asked.rows == 3u);
        model::run<trees_with_rows>(model, asked);
    });
    cached.keep(std::vector<std::size_t>{0});
    BOOST_TEST(cached.states(4).size() == 0u);
    cached.run_by(std::vector<token>{0, 3, 2}, nodes, {}, [&](const auto& asked) {
        BOOST_TEST(asked.rows == 3u);
        model::run<trees_with_rows>(model, asked);
    });
    BOOST_TEST(cached.states(5).size() == 3u);
}

/// The last token is computed again with the tree.
BOOST_AUTO_TEST_CASE(states_are_of_the_pass_that_was_made_last) {
    const testing::full_mock model(testing::hashed_model(5, 1));
    model::cached_sequence cached(model);
    const std::vector<token> text{0, 3, 1, 2, 2}, nodes{1, 4}, whole{0, 3, 1, 2, 2, 1, 4},
        longer{0, 3, 1, 2, 2, 1, 4, 3};
    const std::vector<std::int32_t> parents{-1, 0};
    const std::vector<std::size_t> path{0, 1};
    const auto check = [&](std::size_t end, std::size_t first, std::size_t size) {
        const auto states = cached.states(end);
        BOOST_TEST(states.first() == first);
        BOOST_TEST_REQUIRE(states.size() == size);
        for (std::size_t i = 0; i < size; ++i) {
            const auto expected = fresh_row(testing::hashed_model(5, 1), std::span(longer).first(first + 1 + i));
            BOOST_TEST(std::equal(expected.begin(), expected.end(), states[i].begin()));
        }
    };
    cached.score(text, 5);
    check(5, 0, 5);
    auto asked = cached.ask_tree(text, nodes, parents);
    asked.run();
    asked.await_resume();
    BOOST_TEST(cached.states(5).size() == 0u);
    cached.keep(path);
    check(7, 4, 3);
    check(6, 4, 2);
    cached.score(longer, 1);
    check(8, 7, 1);
    auto again = cached.ask_tree(text, nodes, parents);  // a second one
    again.run();
    again.await_resume();
    cached.keep(path);
    BOOST_TEST(cached.tokens() == std::span<const token>(whole), boost::test_tools::per_element());
    check(7, 4, 3);
}

BOOST_AUTO_TEST_CASE(of_a_tree_the_rows_of_its_last_nodes_can_be_asked_for) {
    const testing::function_model paths = testing::hashed_model(5, 1);
    const testing::tree_mock trees(paths);
    const std::vector<token> text{0, 3, 1}, nodes{1, 4, 3, 0};
    const std::vector<std::int32_t> parents{-1, 0, -1, 2};
    const auto last_two = [&](const auto& model) {
        model::cached_sequence cached(model);
        auto asked = cached.ask_tree(text, nodes, parents, 2);
        asked.run();
        const auto rows = asked.await_resume();
        BOOST_TEST(rows.size() == 2u);
        const std::vector<token> first{0, 3, 1, 3}, second{0, 3, 1, 3, 0};
        BOOST_TEST(std::equal(rows[0].begin(), rows[0].end(), fresh_row(paths, first).begin()));
        BOOST_TEST(std::equal(rows[1].begin(), rows[1].end(), fresh_row(paths, second).begin()));
    };
    last_two(paths);
    last_two(trees);
}

// ------------------------------------------------------------------------------------------ parts of the layers

/// What an awaitable would do for a coroutine.
auto at_once(auto asked) {
    if (!asked.await_ready()) asked.run();
    return asked.await_resume();
}

template <class M>
void any_history_of_parts(const M& model) {
    model::cached_sequence cached(model);
    std::mt19937 random(5);
    std::vector<token> tokens{0};
    for (int trial = 0; trial < 600; ++trial) {
        tokens.resize(1 + random() % tokens.size());
        while (random() % 3 != 0) tokens.push_back(static_cast<token>(random() % 4));
        switch (random() % 6) {
            case 0:
                cached.fill(std::span(tokens).first(random() % (tokens.size() + 1)));
                BOOST_TEST(cached.waiting() == 0u);
                break;
            case 1:
                cached.rewind(std::span(tokens).first(random() % (tokens.size() + 1)));
                break;
            case 2:
            case 3:  // what waits is of another text
                break;
            default:
                at_once(cached.advance(tokens, 1 + random() % 3));
                BOOST_TEST(cached.waiting() > 0u);
        }
        if (random() % 2 == 0) continue;
        while (random() % 3 != 0) tokens.push_back(static_cast<token>(random() % 4));
        const std::size_t rows = 1 + random() % tokens.size();
        const bool at_last = random() % 2 == 0;
        if (!at_last) at_once(cached.join(tokens));
        const auto got = at_last ? cached.score(tokens, rows) : at_once(cached.ask(tokens, rows));
        BOOST_TEST_REQUIRE(got.size() == rows);
        for (std::size_t i = 0; i < rows; ++i) {
            const auto expected =
                fresh_row(testing::hashed_model(4, 1), std::span(tokens).first(tokens.size() - rows + i + 1));
            BOOST_TEST(std::equal(got[i].begin(), got[i].end(), expected.begin()));
        }
        BOOST_TEST(cached.tokens() == std::span<const token>(tokens), boost::test_tools::per_element());
        BOOST_TEST(cached.waiting() == 0u);
        BOOST_TEST(model.length(cached.sequence()) == tokens.size());
    }
}

BOOST_AUTO_TEST_CASE(any_history_of_parts_of_the_layers_gives_the_rows_of_a_fresh_cache) {
    any_history_of_parts(testing::split_mock(testing::hashed_model(4, 1)));
    any_history_of_parts(testing::full_mock(testing::hashed_model(4, 1)));
}

BOOST_AUTO_TEST_CASE(what_waits_is_finished_from_its_states_and_shown_whole) {
    const testing::split_mock model(testing::hashed_model(4, 1));
    model::cached_sequence cached(model);
    const std::vector<token> tokens{0, 3, 1, 2, 2};
    cached.fill(std::span(tokens).first(2));
    at_once(cached.advance(std::span(tokens).first(4), 2));
    BOOST_TEST(cached.waiting() == 2u);
    BOOST_TEST(cached.states(4).size() == 0u);  // they are not the model's last
    auto joined = cached.join(tokens);
    BOOST_TEST(!joined.await_ready());
    joined.run();
    joined.await_resume();
    auto asked = cached.ask(tokens, 1);
    BOOST_TEST(asked.asked_pass().from_layer == 2u);
    asked.run();
    BOOST_TEST(asked.await_resume().size() == 1u);
    BOOST_TEST(cached.join(tokens).await_ready());
    const auto states = cached.states(tokens.size());
    BOOST_TEST(states.first() == 2u);
    BOOST_REQUIRE(states.size() == 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        const auto expected = fresh_row(testing::hashed_model(4, 1), std::span(tokens).first(3 + i));
        BOOST_TEST(std::equal(expected.begin(), expected.end(), states[i].begin()));
    }
}

/// By an engine of one's own: what is wrong with its answer is told, and the right one can still be given.
BOOST_AUTO_TEST_CASE(parts_of_the_layers_are_answered_by_who_has_run_them) {
    const testing::split_mock model(testing::hashed_model(4, 1));
    model::cached_sequence cached(model);
    const std::vector<token> tokens{0, 3, 1};
    const auto says = [](const char* what) {
        return [what](const error& e) { return std::string(e.what()).find(what) != std::string::npos; };
    };
    using awaited = model::pass_work<testing::split_mock>;
    const auto answer = [&](auto& work) {
        auto* const pass = awaited::of(&work, model);
        BOOST_TEST_REQUIRE(pass != nullptr);
        const auto& asked = pass->asked_pass();
        pass->answer(model.run(std::span(&asked, 1)));
    };
    auto shallow = cached.advance(tokens, 2);
    answer(shallow);
    shallow.await_resume();
    BOOST_TEST(cached.waiting() == 3u);
    auto deep = cached.ask(tokens, 3);
    BOOST_CHECK_EXCEPTION(awaited::of(&deep, model)->answer({}), error, says("3 positions of its sequence wait"));
    answer(deep);
    BOOST_TEST(deep.await_resume().size() == 3u);
    auto again = cached.advance(tokens, 2);
    const auto& whole = again.asked_pass();
    const pass<testing::split_mock::sequence_type> through{
        .sequence = whole.sequence, .tokens = whole.tokens, .rows = 0};
    model.run(std::span(&through, 1));
    BOOST_CHECK_EXCEPTION(awaited::of(&again, model)->answer({}), error, says("0 positions of its sequence wait"));
}

BOOST_AUTO_TEST_CASE(a_chain_that_somebody_else_runs_is_held) {
    const auto model = testing::hashed_model(6, 3);
    model::cached_sequence<testing::function_model> cache(model);
    const std::vector<token> tokens{1, 2}, drafted{3, 4}, all{1, 2, 3, 4};
    cache.run_by(tokens, drafted, {}, [&](const auto& asked) { model::run<testing::function_model>(model, asked); });
    BOOST_TEST(cache.tokens() == all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
