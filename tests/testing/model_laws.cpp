#include "augur/testing/model_laws.hpp"

#include <augur/testing/counting_model.hpp>
#include <augur/testing/faulty_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>

#include "every_law.hpp"

using namespace augur;
using testing::model_laws;

BOOST_AUTO_TEST_SUITE(testing_model_laws)

const testing::function_model sound = testing::hashed_model(5, 1, 2, 64);

/// Rows that are off by what `error` says: a wrong model in one line.
template <class Wrong>
struct wrong_extend : testing::function_model {
    Wrong error;
    wrong_extend(Wrong wrong) : testing::function_model(sound), error(wrong) {}
    scores extend(testing::mock_sequence& s, std::span<const token> tokens) const {
        const std::size_t before = s.tokens.size();
        const scores rows = testing::function_model::extend(s, tokens);
        error(s, before, tokens.size());
        return rows;
    }
};

struct wrong_truncate : testing::function_model {
    std::size_t too_far;
    explicit wrong_truncate(std::size_t n) : testing::function_model(sound), too_far(n) {}
    void truncate(testing::mock_sequence& s, std::size_t length) const { s.tokens.resize(length + too_far); }
};

struct grows_before_it_throws : testing::function_model {
    grows_before_it_throws() : testing::function_model(sound) {}
    scores extend(testing::mock_sequence& s, std::span<const token> tokens) const {
        s.tokens.push_back(0);
        const auto rows = testing::function_model::extend(s, tokens);
        s.tokens.erase(s.tokens.end() - static_cast<std::ptrdiff_t>(tokens.size()) - 1);
        return rows;
    }
};

/// All sequences write their rows into one buffer of the model.
struct one_buffer : testing::function_model {
    mutable std::vector<float> rows = std::vector<float>(64 * 5);
    one_buffer() : testing::function_model(sound) {}
    scores extend(testing::mock_sequence& s, std::span<const token> tokens) const {
        testing::function_model::extend(s, tokens);
        std::copy(s.rows.begin(), s.rows.end(), rows.begin());
        return {rows.data(), tokens.size(), 5};
    }
};

struct wrong_last : testing::function_model {
    wrong_last() : testing::function_model(sound) {}
    using testing::function_model::extend;
    scores extend(testing::mock_sequence& s, std::span<const token> tokens, std::size_t last) const {
        const scores all = testing::function_model::extend(s, tokens);
        return {all[0].data(), last, all.vocabulary_size()};  // the first ones
    }
};

/// Scores a node as if it followed the one before it, not its parent.
struct wrong_ancestors : testing::tree_mock {
    wrong_ancestors() : tree_mock(sound) {}
    scores extend_tree(sequence_type& s, std::span<const token> tokens, std::span<const std::int32_t>) const {
        std::vector<std::int32_t> chain;
        for (std::size_t i = 0; i < tokens.size(); ++i) chain.push_back(static_cast<std::int32_t>(i) - 1);
        return tree_mock::extend_tree(s, tokens, chain);
    }
};

/// Keeps the first nodes in memory instead of those of the path.
struct wrong_keep : testing::tree_mock {
    wrong_keep() : tree_mock(sound) {}
    void keep(sequence_type& s, std::span<const std::size_t> path) const {
        for (std::size_t i = 0; i < path.size(); ++i) s.tokens.push_back(s.nodes[i]);
    }
};

/// Makes too few states where it makes no rows.
struct prefills_the_last_state_only : testing::hidden_state_mock {
    prefills_the_last_state_only() : hidden_state_mock(sound) {}
    scores extend_states(testing::mock_sequence& sequence, std::span<const token> tokens) const {
        extend(sequence, tokens, 1);
        return hidden(sequence);
    }
};

/// Hands out the hidden states of the last extend's first row for all.
struct stale_hidden : testing::hidden_state_mock {
    stale_hidden() : hidden_state_mock(sound) {}
    testing::row_copies hidden(const testing::mock_sequence& s) const {
        const auto rows = testing::copy_of(hidden_state_mock::hidden(s));
        return testing::row_copies(rows.size(), rows.front());
    }
};

/// Finishes the states, but leaves out one layer.
struct skips_a_layer : testing::split_mock {
    skips_a_layer() : split_mock(sound, 4) {}
    scores extend_deep(sequence_type& s, std::size_t split) const {
        s.split = split + 1;
        return split_mock::extend_deep(s, split + 1);
    }
};

/// All members of a batch get the mask of the first.
struct shares_a_batch : testing::batch_mock {
    shares_a_batch() : batch_mock(sound) {}
    batch_rows extend_batch(std::span<const batch_item<testing::mock_sequence>> items) const {
        for (const auto& item : items) item.sequence->tokens = items[0].sequence->tokens;
        return batch_mock::extend_batch(items);
    }
};

BOOST_AUTO_TEST_CASE(sound_models_keep_them) {
    BOOST_TEST(model_laws(sound).kept());
    for (const auto& model : {testing::markov_model({{1, 2}, {0, 1}}, 32), testing::scripted_model(3, {1, 2, 1}),
                              testing::noisy_model(sound, 0.3)}) {
        const auto r = model_laws(model);
        BOOST_TEST(r.kept(), r);
    }
    const auto counted = model_laws(testing::counting_model(sound));
    BOOST_TEST(counted.kept(), counted);
    for (const auto what : {testing::fault::not_a_number, testing::fault::all_minus_infinity, testing::fault::ties}) {
        const auto r = model_laws(testing::faulty_model(sound, what, 3));
        BOOST_TEST(r.kept(), r);  // a wrong row is a row
    }
}

BOOST_AUTO_TEST_CASE(every_law_is_broken_by_a_wrong_model) {
    every_law::watch all;
    all.holds(model_laws(testing::tree_mock(sound)));
    all.holds(model_laws(testing::split_mock(sound, 4)));
    all.holds(model_laws(testing::hidden_state_mock(sound)));
    all.holds(model_laws(testing::batch_mock(sound)));

    all.breaks(model_laws(testing::faulty_model(sound, testing::fault::missing_row, 7)),
               "one row per new token, as long as the vocabulary");
    all.breaks(model_laws(wrong_extend([](auto& s, std::size_t, std::size_t added) {
                   if (added > 1) s.rows[0] += 1e-6f;  // sums in another order when there are more rows
               })),
               "extending in parts equals extending at once");
    all.breaks(model_laws(wrong_truncate(1)), "truncating and extending equals a fresh sequence");
    std::size_t positions = 0;
    all.breaks(model_laws(wrong_extend([&](auto& s, std::size_t before, std::size_t added) {
                   if (before == 0) positions = 0;  // a counter of the model where the sequence needs one
                   positions += added;
                   s.rows[0] += static_cast<float>(positions - s.tokens.size());
               })),
               "sequences do not interfere");
    all.breaks(model_laws(one_buffer{}), "rows stay valid while other sequences are extended");
    all.breaks(model_laws(wrong_truncate(0)), "truncating beyond the length throws and changes nothing");
    all.breaks(model_laws(grows_before_it_throws{}), "extending past the context throws and changes nothing");
    all.breaks(model_laws(wrong_last{}), "the last rows equal those of the full extend");
    all.breaks(model_laws(wrong_ancestors{}), "a row of a tree equals its path's alone");
    all.breaks(model_laws(wrong_keep{}), "keep leaves the sequence as if the path had been extended");
    all.breaks(model_laws(stale_hidden{}), "hidden rows equal recomputation");
    all.breaks(model_laws(prefills_the_last_state_only{}), "states made without rows equal those with");
    all.breaks(model_laws(skips_a_layer{}), "shallow then deep equals extend");
    all.breaks(model_laws(shares_a_batch{}), "batch mates do not matter");
}

BOOST_AUTO_TEST_CASE(a_failing_case_is_small) {
    const auto r = model_laws(wrong_extend([](auto& s, std::size_t before, std::size_t) {
        if (s.tokens.size() >= 3 && before > 0) s.rows[0] += 1;
    }));
    BOOST_TEST(r.breaks("extending in parts equals extending at once"));
    for (const auto& v : r.broken) {
        if (v.law != "extending in parts equals extending at once") continue;
        BOOST_TEST(v.what.find(": tokens {0, 0, 0} in parts of {1, 1, 1}: row 2, token 0") != std::string::npos,
                   v.what);
    }
}

/// A rewind that leaves the token behind the rewound end in the cache, where `stale(length before, length after)` says so: what is
/// appended there is scored as if that one stood there still.
template <class Stale>
struct stale_rewind : testing::function_model {
    struct sequence_type : testing::mock_sequence {
        std::size_t at = 1000;
        token left = 0;
    };
    Stale stale;
    explicit stale_rewind(Stale when) : testing::function_model(sound), stale(when) {}
    sequence_type make_sequence() const { return {}; }
    scores extend(sequence_type& s, std::span<const token> tokens) const {
        const scores right = testing::function_model::extend(s, tokens);
        if (s.at >= s.tokens.size()) return right;
        testing::mock_sequence wrong{s.tokens, {}};
        wrong.tokens[s.at] = s.left;
        wrong.tokens.resize(s.tokens.size() - tokens.size());
        std::vector<token> seen(tokens.begin(), tokens.end());
        if (s.at >= wrong.tokens.size()) seen[s.at - wrong.tokens.size()] = s.left;
        testing::function_model::extend(wrong, seen);
        s.rows = wrong.rows;
        return {s.rows.data(), tokens.size(), 5};
    }
    void truncate(sequence_type& s, std::size_t length) const {
        const std::vector<token> before = s.tokens;
        testing::function_model::truncate(s, length);
        if (length <= s.at) s.at = 1000;
        if (length < before.size() && stale(before.size(), length)) {
            s.at = length;
            s.left = before[length];
        }
    }
};

/// A mistake must show in the inputs that are always taken, however slow the machine is, and not by a lucky seed.
template <class Wrong>
void is_found(const Wrong& model, const std::string& law, const std::string& what) {
    std::size_t found = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        const bool here = model_laws(model, {.seed = seed, .shrinks = 0}).breaks(law);
        found += here ? 1 : 0;
        if (seed == 1) BOOST_TEST(here, what);
    }
    BOOST_TEST(found >= 4u, what << ": by " << found << " seeds of 5");
}

BOOST_AUTO_TEST_CASE(a_rewind_that_is_stale_by_one_is_found) {
    const auto found = [](const std::string& what, auto stale) {
        is_found(stale_rewind(stale), "truncating and extending equals a fresh sequence", what);
    };
    found("always", [](std::size_t, std::size_t) { return true; });
    found("by one token", [](std::size_t from, std::size_t to) { return from - to == 1; });
    found("by one of few tokens", [](std::size_t from, std::size_t to) { return from - to == 1 && from < 6; });
    found("by many tokens", [](std::size_t from, std::size_t to) { return from - to > 8; });
    found("to nothing", [](std::size_t, std::size_t to) { return to == 0; });
    found("in a long text", [](std::size_t from, std::size_t) { return from > 16; });
    found("across blocks of 16", [](std::size_t from, std::size_t to) { return from / 16 != to / 16; });
}

BOOST_AUTO_TEST_CASE(rows_that_change_when_many_are_made_at_once_are_found) {
    for (const std::size_t most : {8u, 12u, 16u, 32u}) {
        const std::string what = "above " + std::to_string(most);
        const auto extend = wrong_extend([most](auto& s, std::size_t, std::size_t added) {
            if (added > most) s.rows.back() += 1e-6f;
        });
        is_found(extend, "extending in parts equals extending at once", what);
        const auto after = wrong_extend([most](auto& s, std::size_t before, std::size_t added) {
            if (before > 0 && added > most) s.rows.back() += 1e-6f;
        });
        is_found(after, "extending in parts equals extending at once", what + " after others");
        const auto far = wrong_extend([most](auto& s, std::size_t before, std::size_t added) {
            if (added == 1 && before > most) s.rows.back() += 1e-6f;
        });
        is_found(far, "extending in parts equals extending at once", "one behind more than " + std::to_string(most));
    }
}

/// Refinements whose rows change when more than so many are made at once.
struct wide_tree : testing::tree_mock {
    std::size_t most;
    explicit wide_tree(std::size_t n) : tree_mock(sound), most(n) {}
    scores extend_tree(sequence_type& s, std::span<const token> tokens, std::span<const std::int32_t> parents) const {
        const scores rows = tree_mock::extend_tree(s, tokens, parents);
        if (tokens.size() > most) s.rows.back() += 1e-6f;
        return rows;
    }
};
/// Looks no further back than so many nodes.
struct shallow_tree : testing::tree_mock {
    std::size_t deepest;
    explicit shallow_tree(std::size_t n) : tree_mock(sound), deepest(n) {}
    scores extend_tree(sequence_type& s, std::span<const token> tokens, std::span<const std::int32_t> parents) const {
        const scores rows = tree_mock::extend_tree(s, tokens, parents);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            std::size_t depth = 0;
            for (auto node = static_cast<std::int32_t>(i); node >= 0; node = parents[static_cast<std::size_t>(node)])
                ++depth;
            if (depth > deepest) s.rows[i * 5] += 1e-6f;
        }
        return rows;
    }
};
struct wide_split : testing::split_mock {
    std::size_t most;
    explicit wide_split(std::size_t n) : split_mock(sound, 4), most(n) {}
    scores extend_deep(sequence_type& s, std::size_t split) const {
        const scores rows = split_mock::extend_deep(s, split);
        if (rows.size() > most) s.rows.back() += 1e-6f;
        return rows;
    }
};
struct wide_batch : testing::batch_mock {
    std::size_t most;
    explicit wide_batch(std::size_t n) : batch_mock(sound), most(n) {}
    batch_rows extend_batch(std::span<const batch_item<testing::mock_sequence>> items) const {
        const batch_rows rows = batch_mock::extend_batch(items);
        if (rows.size() <= most) return rows;
        std::vector<float> changed;
        for (std::size_t i = 0; i < rows.size(); ++i) changed.insert(changed.end(), rows[i].begin(), rows[i].end());
        changed.back() += 1e-6f;
        return {changed, 5};
    }
};
struct wide_states : testing::hidden_state_mock {
    std::size_t most;
    explicit wide_states(std::size_t n) : hidden_state_mock(sound), most(n) {}
    scores extend_states(testing::mock_sequence& s, std::span<const token> tokens) const {
        const scores states = hidden_state_mock::extend_states(s, tokens);
        if (tokens.size() > most) s.rows.back() += 1e-6f;
        return states;
    }
};

BOOST_AUTO_TEST_CASE(refinements_that_change_when_much_is_done_at_once_are_found) {
    is_found(wide_tree(12), "a row of a tree equals its path's alone", "a tree of more than 12");
    is_found(shallow_tree(6), "a row of a tree equals its path's alone", "a tree deeper than 6");
    is_found(shallow_tree(12), "a row of a tree equals its path's alone", "a tree deeper than 12");
    is_found(wide_split(12), "shallow then deep equals extend", "more than 12");
    is_found(wide_split(32), "shallow then deep equals extend", "more than 32");
    is_found(wide_batch(12), "batch mates do not matter", "more than 12 rows");
    is_found(wide_batch(32), "batch mates do not matter", "more than 32 rows");
    is_found(wide_states(12), "states made without rows equal those with", "more than 12");
    is_found(wide_states(32), "states made without rows equal those with", "more than 32");
}

BOOST_AUTO_TEST_CASE(a_context_of_16_tokens_is_enough) {
    const auto keeps = [](const auto& model) {
        const auto r = model_laws(model, {.cases = 500});
        BOOST_TEST(r.kept(), r);
    };
    for (const std::size_t context : {16u, 17u, 30u, 50u}) {
        const auto model = testing::hashed_model(5, 1, 2, context);
        keeps(testing::tree_mock(model));
        keeps(testing::split_mock(model, 4));
        keeps(testing::batch_mock(model));
        keeps(testing::hidden_state_mock(model));
    }
}

/// Rows of a matrix product differ in the last bits with the number of rows; the type says so.
struct within_numerics : testing::function_model {
    static constexpr bool bitwise_rows = false;
    float error;
    explicit within_numerics(float by) : testing::function_model(sound), error(by) {}
    scores extend(testing::mock_sequence& s, std::span<const token> tokens) const {
        const scores rows = testing::function_model::extend(s, tokens);
        if (tokens.size() > 1) s.rows[0] += error;
        return rows;
    }
};

BOOST_AUTO_TEST_CASE(rows_that_are_not_bitwise_have_a_tolerance) {
    const auto r = model_laws(within_numerics(1e-5f));
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(model_laws(within_numerics(0.1f)).breaks("extending in parts equals extending at once"));
    const auto wider = model_laws(within_numerics(0.1f), {}, 0.2);
    BOOST_TEST(wider.kept(), wider);
}

BOOST_AUTO_TEST_SUITE_END()
