#include "augur/testing/model_laws.hpp"

#include <augur/testing/counting_model.hpp>
#include <augur/testing/faulty_model.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "every_law.hpp"
#include "sanitized.hpp"
#include "wrong_rounds.hpp"

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

/// A mock whose passes are spoiled on their way in, or their rows on their way out.
template <class Mock>
struct spoiled : Mock {
    using typename Mock::sequence_type;
    using asked_type = std::vector<pass<sequence_type>>;
    using Mock::extend;

    spoiled() : Mock(sound) {}
    scattered_scores run(std::span<const pass<sequence_type>> of) const {
        asked_type asked(of.begin(), of.end());
        before(asked);
        const scattered_scores rows = Mock::run(asked);
        after(asked);
        return rows;
    }
    virtual ~spoiled() = default;
    virtual void before(asked_type&) const {}
    virtual void after(const asked_type&) const {}
};

/// Scores a node as if it followed the one before it, not its parent.
struct wrong_ancestors : spoiled<testing::tree_mock> {
    mutable std::vector<std::int32_t> chain;
    void before(asked_type& asked) const override {
        if (asked[0].parents.empty()) return;
        chain.resize(asked[0].tokens.size());
        std::iota(chain.begin(), chain.end(), -1);
        asked[0].parents = chain;
    }
};

/// Appends the tokens of a tree at once.
struct appends_a_tree : spoiled<testing::tree_mock> {
    void after(const asked_type& asked) const override {
        if (asked[0].parents.empty()) return;
        asked[0].sequence->tokens.insert(asked[0].sequence->tokens.end(), asked[0].tokens.begin(),
                                         asked[0].tokens.end());
    }
};

/// Keeps the first nodes in memory instead of those of the path.
struct wrong_keep : testing::tree_mock {
    wrong_keep() : testing::tree_mock(sound) {}
    void keep(sequence_type& s, std::span<const std::size_t> path) const {
        for (std::size_t i = 0; i < path.size(); ++i) s.tokens.push_back(s.nodes[i]);
    }
};

/// Keeps whatever nodes it is told, of the first tree or the last; `checks_end`: unless the sequence has changed.
struct trusting_keep : testing::tree_mock {
    bool checks_end;
    explicit trusting_keep(bool checks) : testing::tree_mock(sound), checks_end(checks) {}
    void keep(sequence_type& s, std::span<const std::size_t> path) const {
        if (checks_end) model::check_tree_end(s.scored_at, s.tokens.size());
        std::vector<token> kept;
        for (const std::size_t node : path) kept.push_back(s.nodes.at(node));
        s.tokens.insert(s.tokens.end(), kept.begin(), kept.end());
    }
};

/// Right paths, also of a tree that another has replaced: it appends a tree's nodes to those that wait.
struct waits_for_both : spoiled<testing::tree_mock> {
    mutable std::vector<token> nodes;
    mutable std::vector<std::int32_t> parents;
    void after(const asked_type& asked) const override {
        if (asked[0].parents.empty()) return;
        nodes.insert(nodes.end(), asked[0].tokens.begin(), asked[0].tokens.end());
        parents.insert(parents.end(), asked[0].parents.begin(), asked[0].parents.end());
        asked[0].sequence->nodes = nodes;
        asked[0].sequence->parents = parents;
    }
    void keep(sequence_type& s, std::span<const std::size_t> path) const {
        nodes.clear();
        parents.clear();
        testing::tree_mock::keep(s, path);
    }
};

/// Its cache ends before the context that it states.
struct small_cache : testing::function_model {
    small_cache() : testing::function_model(sound) {}
    scores extend(testing::mock_sequence& s, std::span<const token> tokens) const {
        if (s.tokens.size() + tokens.size() >= context_length()) detail::fail("the cache is full");
        return testing::function_model::extend(s, tokens);
    }
};

/// Makes rows of the first tokens where those of the last are wanted.
struct wrong_rows : testing::tree_mock {
    wrong_rows() : testing::tree_mock(sound) {}
    scores run(std::span<const pass<sequence_type>> of) const {
        pass<sequence_type> whole = of[0];
        whole.rows = all_rows;
        testing::tree_mock::run(std::span(&whole, 1));
        return {whole.sequence->rows.data(), of[0].wanted(), 5};
    }
};

/// Shows the states of wanted rows only.
struct states_of_rows_only : spoiled<testing::hidden_state_mock> {
    void before(asked_type& asked) const override { asked[0].states = false; }
};

/// The same of trees alone.
struct states_of_rows_of_trees : spoiled<testing::full_mock> {
    void before(asked_type& asked) const override {
        for (auto& each : asked) each.states = each.states && each.parents.empty();
    }
};

/// Does the first pass of a run, though another one is wrong.
struct does_some : testing::batch_mock {
    does_some() : testing::batch_mock(sound) {}
    scattered_scores run(std::span<const pass<sequence_type>> of) const {
        try {
            return testing::batch_mock::run(of);
        } catch (...) {
            testing::batch_mock::run(of.first(1));
            throw;
        }
    }
};

/// Hands out the hidden states of the last extend's first row for all.
struct stale_hidden : testing::hidden_state_mock {
    stale_hidden() : testing::hidden_state_mock(sound) {}
    testing::row_copies hidden(const sequence_type& s) const {
        const auto rows = testing::copy_of(testing::hidden_state_mock::hidden(s));
        return testing::row_copies(rows.size(), rows.empty() ? std::vector<float>() : rows.front());
    }
};

/// Finishes the states, but leaves out one layer.
struct skips_a_layer : spoiled<testing::split_mock> {
    void before(asked_type& asked) const override {
        if (asked[0].from_layer == 0) return;
        asked[0].sequence->split = ++asked[0].from_layer;
    }
};

/// All members of a batch get the mask of the first.
struct shares_a_batch : spoiled<testing::batch_mock> {
    void before(asked_type& asked) const override {
        for (const auto& each : asked) each.sequence->tokens = asked[0].sequence->tokens;
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
    all.holds(model_laws(testing::split_mock(sound)));
    all.holds(model_laws(testing::hidden_state_mock(sound)));
    all.holds(model_laws(testing::full_mock(sound)));
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
    all.breaks(model_laws(wrong_rows{}), "a pass equals extend");
    all.breaks(model_laws(wrong_ancestors{}), "a row of a tree equals its path's alone");
    all.breaks(model_laws(appends_a_tree{}), "a row of a tree equals its path's alone");
    all.breaks(model_laws(wrong_keep{}), "keep leaves the sequence as if the path had been extended");
    all.breaks(model_laws(trusting_keep(true)), "keep of a wrong path throws and changes nothing");
    all.breaks(model_laws(trusting_keep(false)), "keep of a wrong path throws and changes nothing");
    all.breaks(model_laws(waits_for_both{}), "keep of a wrong path throws and changes nothing");
    all.breaks(model_laws(small_cache{}), "a sequence can have all tokens of the context");
    all.breaks(model_laws(stale_hidden{}), "hidden rows equal recomputation");
    all.breaks(model_laws(states_of_rows_only{}), "states of a pass equal those of extend");
    all.breaks(model_laws(states_of_rows_of_trees{}), "states of a tree equal those of its paths");
    all.breaks(model_laws(skips_a_layer{}), "shallow then deep equals extend");
    all.breaks(model_laws(wrong_rounds::second_tree(sound)), "several rounds equal a fresh sequence");
    all.breaks(model_laws(wrong_rounds::appends_while_waiting(sound)),
               "appending while positions wait throws and changes nothing");
    all.breaks(model_laws(shares_a_batch{}), "passes run together equal each alone");
    all.breaks(model_laws(does_some{}), "a run with a wrong pass throws and changes nothing");
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

/// A rewind that leaves the token behind the rewound end in the cache, where `stale(length before, length after)` says
/// so: what is appended there is scored as if that one stood there still.
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
    if (testing::sanitized) return;
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
struct wide_tree : spoiled<testing::tree_mock> {
    std::size_t most;
    explicit wide_tree(std::size_t n) : most(n) {}
    void after(const asked_type& asked) const override {
        auto& rows = asked[0].sequence->rows;
        if (asked[0].parents.size() > most && !rows.empty()) rows.back() += 1e-6f;
    }
};
/// Looks no further back than so many nodes.
struct shallow_tree : spoiled<testing::tree_mock> {
    std::size_t deepest;
    explicit shallow_tree(std::size_t n) : deepest(n) {}
    void after(const asked_type& asked) const override {
        const std::size_t first = asked[0].parents.size() - asked[0].wanted();
        for (std::size_t i = first; i < asked[0].parents.size(); ++i) {
            std::size_t depth = 0;
            for (auto node = static_cast<std::int32_t>(i); node >= 0; ++depth) {
                node = asked[0].parents[static_cast<std::size_t>(node)];
            }
            if (depth > deepest) asked[0].sequence->rows[(i - first) * 5] += 1e-6f;
        }
    }
};
struct wide_split : spoiled<testing::split_mock> {
    std::size_t most;
    explicit wide_split(std::size_t n) : most(n) {}
    void after(const asked_type& asked) const override {
        auto& rows = asked[0].sequence->rows;
        if (asked[0].from_layer > 0 && rows.size() / 5 > most) rows.back() += 1e-6f;
    }
};
struct wide_batch : spoiled<testing::batch_mock> {
    std::size_t most;
    explicit wide_batch(std::size_t n) : most(n) {}
    void after(const asked_type& asked) const override {
        std::size_t rows = 0;
        for (const auto& each : asked) rows += each.wanted();
        auto& last = asked.back().sequence->rows;
        if (asked.size() > 1 && rows > most && !last.empty()) last.back() += 1e-6f;
    }
};
struct wide_states : spoiled<testing::hidden_state_mock> {
    std::size_t most;
    explicit wide_states(std::size_t n) : most(n) {}
    void after(const asked_type& asked) const override {
        if (asked[0].states && asked[0].tokens.size() > most) asked[0].sequence->states.back() += 1e-6f;
    }
};

BOOST_AUTO_TEST_CASE(refinements_that_change_when_much_is_done_at_once_are_found) {
    is_found(wide_tree(12), "a row of a tree equals its path's alone", "a tree of more than 12");
    if (testing::sanitized) return;
    is_found(shallow_tree(6), "a row of a tree equals its path's alone", "a tree deeper than 6");
    is_found(wide_split(12), "shallow then deep equals extend", "more than 12");
    is_found(wide_batch(12), "passes run together equal each alone", "more than 12 rows");
    is_found(wide_states(12), "states of a pass equal those of extend", "more than 12");
    is_found(shallow_tree(12), "a row of a tree equals its path's alone", "a tree deeper than 12");
    is_found(wide_split(32), "shallow then deep equals extend", "more than 32");
    is_found(wide_batch(32), "passes run together equal each alone", "more than 32 rows");
    is_found(wide_states(32), "states of a pass equal those of extend", "more than 32");
}

BOOST_AUTO_TEST_CASE(a_context_of_16_tokens_is_enough) {
    const auto keeps = [](const auto& model) {
        const auto r = model_laws(model, {.cases = testing::unless_sanitized<std::size_t>(500, 10)});
        BOOST_TEST(r.kept(), r);
    };
    for (const std::size_t context : {16u, 17u, 30u, 50u}) {
        const auto model = testing::hashed_model(5, 1, 2, context);
        keeps(testing::tree_mock(model));
        keeps(testing::split_mock(model));
        keeps(testing::batch_mock(model));
        keeps(testing::hidden_state_mock(model));
        keeps(testing::full_mock(model));
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
    BOOST_TEST(model_laws(within_numerics(1)).breaks("extending in parts equals extending at once"));
    const auto wider = model_laws(within_numerics(1), {}, 2);
    BOOST_TEST(wider.kept(), wider);
}

/// As of activations in fewer bits: too much for the tolerance, and far less than to another text's row.
BOOST_AUTO_TEST_CASE(rounding_beyond_the_tolerance_is_told_from_mistakes) {
    const auto r = model_laws(within_numerics(0.01f));
    BOOST_TEST(!r.kept());
    BOOST_TEST(r.kept_but_for_rounding(), r);
    BOOST_TEST(r.rounded.size() > 1u);
    BOOST_TEST(r.largest_error > 2e-3);
    BOOST_TEST(r.largest_error < 0.011);
    std::ostringstream out;
    out << r;
    BOOST_TEST(out.str().find(", 0 broken, ") != std::string::npos, out.str());
    BOOST_TEST(
        out.str().find("rounding only: extending in parts equals extending at once\n    the largest error is 0.0") !=
            std::string::npos,
        out.str());
    /// Rounded, and now and then another row: the mistake is found behind the rounding.
    struct swaps_rows : within_numerics {
        swaps_rows() : within_numerics(0.01f) {}
        scores extend(testing::mock_sequence& s, std::span<const token> tokens) const {
            const scores rows = within_numerics::extend(s, tokens);
            if (tokens.size() == 3) std::swap_ranges(s.rows.begin(), s.rows.begin() + 5, s.rows.begin() + 5);
            return rows;
        }
    };
    const auto wrong = model_laws(swaps_rows());
    BOOST_TEST(wrong.breaks("extending in parts equals extending at once"));
    BOOST_TEST(!wrong.kept_but_for_rounding());
    BOOST_TEST(model_laws(sound).largest_error == 0);
}

/// A row of a real vocabulary is 200 kB: a model that can leave rows out is asked for none that nobody reads.
BOOST_AUTO_TEST_CASE(no_rows_are_asked_for_that_nobody_reads) {
    const testing::counting_model counted(testing::hashed_model(5, 1, 2, 1 << 13));
    const auto r = model_laws(counted, {.cases = 1});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(counted.counts().tokens > std::size_t{1} << 13);
    BOOST_TEST(counted.counts().rows < std::size_t{1} << 12);
}

BOOST_AUTO_TEST_SUITE_END()
