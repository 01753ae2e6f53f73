#include "augur/model/limits.hpp"

#include <algorithm>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/decode/batch.hpp>
#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/model/any_model.hpp>
#include <augur/model/run.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/switching/rolling_entropy.hpp>
#include <augur/switching/scheme.hpp>
#include <augur/switching/step.hpp>
#include <augur/testing/compare_rows.hpp>
#include <augur/testing/model_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include "model/limited_mock.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(model_limits)

namespace {

const testing::function_model sound = testing::hashed_model(5, 1, 2, 128);
using rows_type = model::pass_rows<limited_mock>;

std::vector<token> some_text(std::size_t length) {
    std::vector<token> text(length);
    for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<token>(i * i % 5);
    return text;
}

testing::row_copies rows_of(const std::vector<token>& text, std::size_t last) {
    auto sequence = sound.make_sequence();
    return testing::copy_of(sound.extend(sequence, text, last));
}

void refuses(const auto& what, const std::string& said) {
    BOOST_CHECK_EXCEPTION(what(), error, [&](const error& e) {
        BOOST_TEST(std::string(e.what()).find(said) != std::string::npos, e.what());
        return true;
    });
}

pass_limits any_of(std::size_t tokens, std::size_t nodes = no_limit, std::size_t leaves = no_limit,
                   bool rows_end = true) {
    return {.most_tokens_of_a_pass = tokens,
            .most_tree_nodes = nodes,
            .most_leaves = leaves,
            .rows_end_with_next_run = rows_end};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_model_that_says_nothing_is_bound_by_nothing) {
    static_assert(!HasPassLimits<testing::tree_mock> && HasPassLimits<limited_mock>);
    const testing::tree_mock free(sound);
    BOOST_CHECK(model::limits_of(free) == pass_limits{});
    BOOST_TEST(model::supports(free, pass_features::trees));
    BOOST_TEST(!model::supports(free, pass_features::batches));
    BOOST_TEST(model::most_drafted(free, 1000) == 1000u);
    BOOST_TEST(model::room_for_tree(free).nodes == no_limit);
}

BOOST_AUTO_TEST_CASE(a_long_chain_goes_in_parts_and_rows_are_copied_only_where_they_must_be) {
    const limited_mock model(sound, any_of(8));
    const auto text = some_text(29);
    for (const std::size_t rows : {0u, 1u, 8u, 9u, 29u}) {
        auto sequence = model.make_sequence();
        model.reset();
        const auto got = model::run(model, {.sequence = &sequence, .tokens = text, .rows = rows});
        BOOST_TEST(model.counts().runs == 4u);
        BOOST_TEST(model.counts().tokens == text.size());
        BOOST_TEST(model.length(sequence) == text.size());
        BOOST_TEST(testing::difference(rows_of(text, rows), testing::copy_of(got)) == "");
        auto other = model.make_sequence();
        model::run(model, {.sequence = &other, .tokens = some_text(8)});
        const bool copied = testing::difference(rows_of(text, rows), testing::copy_of(got)).empty();
        BOOST_TEST(copied == (rows == 0 || rows > 8));  // else they lie where the next run's do
    }
}

BOOST_AUTO_TEST_CASE(a_part_that_fails_takes_back_those_before) {
    const testing::function_model fails(5, 128, [](std::span<const token> text, std::span<float> row) {
        if (text.size() > 12) throw error("no row after 12 tokens");
        std::fill(row.begin(), row.end(), 0.0f);
    });
    const limited_mock model(fails, any_of(8));
    auto sequence = model.make_sequence();
    model.extend(sequence, some_text(3));
    refuses([&] { model::run(model, {.sequence = &sequence, .tokens = some_text(20)}); }, "no row after 12");
    BOOST_TEST(model.length(sequence) == 3u);
    const limited_mock none(sound, any_of(0));
    auto empty = none.make_sequence();
    refuses([&] { model::run(none, {.sequence = &empty, .tokens = some_text(2)}); }, "at most 0");
}

/// Six leaves, seven nodes.
BOOST_AUTO_TEST_CASE(a_tree_that_is_too_large_goes_path_by_path) {
    const std::vector<token> nodes{3, 4, 0, 1, 2, 3, 1};
    const std::vector<std::int32_t> parents{-1, 0, 0, 0, -1, -1, -1};
    const auto check = [&](pass_limits most, bool waits) {
        const limited_mock model(sound, most);
        const testing::tree_mock free(sound);
        auto sequence = model.make_sequence();
        auto other = free.make_sequence();
        model.extend(sequence, some_text(2));
        free.extend(other, some_text(2));
        model.reset();
        const pass<sequence_t<limited_mock>> asked{.sequence = &sequence, .tokens = nodes, .parents = parents};
        BOOST_TEST(model::runs_tree(model, asked) == waits);
        const auto got = testing::copy_of(model::run(model, asked));
        BOOST_TEST(model.counts().trees == (waits ? 1u : 0u));
        BOOST_TEST(model.counts().tokens == nodes.size());
        BOOST_TEST(model.length(sequence) == 2u);
        const auto expected = model::run(free, {.sequence = &other, .tokens = nodes, .parents = parents});
        BOOST_TEST(testing::difference(testing::copy_of(expected), got) == "");
        const std::vector<std::size_t> path{0, 2};
        const std::size_t kept = model::keep(model, asked, path);
        BOOST_TEST(kept == (waits ? 2u : 0u));
        BOOST_TEST(model.length(sequence) == 2 + kept);
    };
    check(any_of(7, 7, 6), true);
    check(any_of(7, 7, 5), false);
    check(any_of(7, 6, 6), false);
    check(any_of(6, 7, 6), false);
    check({.features = pass_features::batches}, false);  // its file has no trees
}

BOOST_AUTO_TEST_CASE(more_tokens_than_a_pass_has_are_several_runs_and_keep_their_rows) {
    const limited_mock model(sound, any_of(8));
    std::vector<limited_mock::sequence_type> sequences;
    for (int i = 0; i < 5; ++i) sequences.push_back(model.make_sequence());
    const std::vector<std::size_t> lengths{3, 4, 8, 20, 1};  // 3 + 4 together
    std::vector<std::vector<token>> texts;
    std::vector<pass<limited_mock::sequence_type>> passes;
    for (const std::size_t length : lengths) texts.push_back(some_text(length));
    for (std::size_t i = 0; i < 5; ++i) passes.push_back({.sequence = &sequences[i], .tokens = texts[i], .rows = 1});
    std::vector<rows_type> results(5);
    model::run<limited_mock>(model, passes, results);
    BOOST_TEST(model.counts().largest == 8u);
    for (std::size_t i = 0; i < 5; ++i) {
        BOOST_TEST(testing::difference(rows_of(texts[i], 1), testing::copy_of(results[i])) == "");
    }
    model.reset();
    std::vector<pass<limited_mock::sequence_type>> short_ones;
    for (std::size_t i = 0; i < 5; ++i) {
        model.truncate(sequences[i], 0);
        short_ones.push_back({.sequence = &sequences[i], .tokens = std::span(texts[2]).first(3), .rows = 1});
    }
    model::run<limited_mock>(model, short_ones, results);
    BOOST_TEST(model.counts().runs == 3u);  // two, two and one
    const limited_mock alone(sound, {.features = pass_features::trees});
    for (auto& each : sequences) alone.truncate(each, 0);
    model::run<limited_mock>(alone, short_ones, results);
    BOOST_TEST(alone.counts().runs == 5u);
}

BOOST_AUTO_TEST_CASE(limited_models_keep_the_laws) {
    for (const pass_limits& most :
         {any_of(no_limit), any_of(5, 4, 2), any_of(16, 16, 3, false), pass_limits{.features = pass_features::none}}) {
        const auto r = testing::model_laws(limited_mock(sound, most), {.cases = 60});
        BOOST_TEST(r.kept(), r);
        const auto erased = testing::model_laws(model::any_model(limited_mock(sound, most)), {.cases = 60});
        BOOST_TEST(erased.kept(), erased);
    }
}

/// What a model says of its rows or its passes and does not keep is found.
BOOST_AUTO_TEST_CASE(wrong_limits_break_laws) {
    struct says_that_rows_stay : limited_mock {
        says_that_rows_stay() : limited_mock(sound, any_of(no_limit)) {}
        pass_limits limits() const { return {}; }
    };
    BOOST_TEST(testing::model_laws(says_that_rows_stay()).breaks("rows stay valid while other sequences are extended"));
    struct cuts_rows_short : limited_mock {
        cuts_rows_short() : limited_mock(sound, any_of(no_limit)) {}
        void truncate(sequence_type& s, std::size_t length) const {
            limited_mock::truncate(s, length);
            auto other = make_sequence();
            limited_mock::extend(other, std::vector<token>{1});
        }
    };
    BOOST_TEST(testing::model_laws(cuts_rows_short()).breaks("rows stay valid until the next run"));
    struct promises_more : limited_mock {
        promises_more() : limited_mock(sound, any_of(8)) {}
        pass_limits limits() const { return any_of(9); }
    };
    BOOST_TEST(testing::model_laws(promises_more()).breaks("a pass may be as large as the limits say"));
}

/// Lengths and trees that are wanted, and what one pass takes: texts are plain decoding's whatever is cut.
BOOST_AUTO_TEST_CASE(schemes_draft_no_more_than_a_pass_takes) {
    decode::options chosen{.seed = 3};
    chosen.stop.max_tokens = 40;
    const auto prompt = some_text(6);
    const auto expected = decode::generate(plain(sound), prompt, chosen).tokens;
    const testing::function_model draft = testing::noisy_model(sound, 0.2);
    for (const pass_limits& most : {any_of(no_limit), any_of(4, 4, 2), any_of(6, 5, 3), any_of(3, no_limit, 2),
                                    pass_limits{.features = pass_features::batches}}) {
        const limited_mock target(sound, most), drafts(draft, most);
        const auto lengths =
            decode::generate(speculate(drafts, target, policy::fixed_length{9}, accept::coupled{}), prompt, chosen);
        BOOST_TEST(lengths.tokens == expected, boost::test_tools::per_element());
        BOOST_TEST(target.counts().largest <= std::max<std::size_t>(most.most_tokens_of_a_pass, 6));
        for (const auto& shape : {topology{-1, -1, 0, 0, 1, 1, 2, 4}, topology{-1, 0, 0, 0, 0, 0, 0, 0}}) {
            target.reset();
            const auto trees = decode::generate(
                speculate(drafts, target, policy::tree_static{shape}, accept::coupled{}), prompt, chosen);
            BOOST_TEST(trees.tokens == expected, boost::test_tools::per_element());
            const bool has_trees = includes(most.features, pass_features::trees) && most.most_leaves > 2;
            if (has_trees) BOOST_TEST(target.counts().trees > 0u);
            BOOST_TEST(trees.counts.rounds() < expected.size());
        }
    }
}

struct beginner {
    std::function<void()> begin{};
    void watch(const auto&) { begin(); }
};

/// While others are run, rows wait to be read: in a batch, and where a watcher begins another text.
BOOST_AUTO_TEST_CASE(batches_read_rows_that_end_with_the_next_run) {
    const limited_mock target(sound, any_of(7)), drafts(testing::noisy_model(sound, 0.3), any_of(7));
    const auto scheme = speculate(drafts, target, policy::fixed_length{3}, accept::coupled{});
    const auto begun = [&](std::size_t length) {
        commit::stop_conditions stop;
        stop.max_tokens = 20 + length;
        return decode::session(scheme, some_text(length), {}, stop, random::philox_chooser(length));
    };
    using session_type = decltype(begun(1));
    std::vector<std::vector<token>> alone;
    for (std::size_t length = 1; length <= 6; ++length) {
        session_type s = begun(length);
        while (s.finished == finish_reason::running) decode::step(scheme, s);
        alone.emplace_back(s.committed.generated().begin(), s.committed.generated().end());
    }
    std::deque<session_type> sessions;
    beginner begins;
    decode::batch<std::remove_const_t<decltype(scheme)>, random::philox_chooser, beginner> batch(scheme);
    for (std::size_t length = 1; length <= 3; ++length) batch.add(sessions.emplace_back(begun(length)), begins);
    begins.begin = [&] {
        if (sessions.size() < 6) batch.add(sessions.emplace_back(begun(sessions.size() + 1)), begins);
    };
    while (batch.advance()) {
    }
    BOOST_REQUIRE(sessions.size() == 6u);
    for (std::size_t i = 0; i < 6; ++i) {
        BOOST_TEST(sessions[i].committed.generated() == alone[i], boost::test_tools::per_element());
    }
}

/// Looks at a round's rows after its tokens were told, as one that learns does.
struct row_watcher {
    testing::row_copies seen{};
    void watch(const auto& view) {
        for (std::size_t i = 0; i <= view.proposed.size(); ++i) {
            seen.emplace_back(view.rows[i].begin(), view.rows[i].end());
        }
    }
};

BOOST_AUTO_TEST_CASE(watchers_see_the_rows_of_their_round_whatever_on_token_runs) {
    const auto seen = [](const limited_mock& target, const auto& make) {
        const auto scheme = make(target);
        row_watcher watcher;
        decode::options chosen = {.seed = 5};
        chosen.stop.max_tokens = 12;
        chosen.on_token = [&](const auto&) {
            auto other = target.make_sequence();
            target.extend(other, some_text(7));
            return true;
        };
        decode::generate<any_guarantee>(scheme, some_text(4), chosen, watcher);
        BOOST_TEST(watcher.seen.size() >= 12u);
        return watcher.seen;
    };
    const limited_mock brief(sound, any_of(no_limit)), lasting(sound, {});
    const auto same = [&](const auto& make) {
        BOOST_TEST(testing::difference(seen(lasting, make), seen(brief, make)) == "");
    };
    same([](const limited_mock& target) {
        return speculate(draft::prompt_lookup{}, target, policy::fixed_length{3}, accept::coupled{});
    });
    const testing::function_model small = testing::noisy_model(sound, 0.3);
    same([&](const limited_mock& target) { return switched(small, target, switching::rolling_entropy{}); });
}

BOOST_AUTO_TEST_SUITE_END()
