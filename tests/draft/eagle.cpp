#include "augur/draft/eagle.hpp"

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>

#include "draft/looking_ahead.hpp"
#include "up_to.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_eagle)

using testing::full_mock;
using testing::fused_mock;
using testing::fused_tree_mock;
using testing::hidden_state_mock;
using testing::up_to;

static_assert(Drafter<draft::eagle<const fused_mock&, draft::argmax>> &&
              ReadsStates<draft::eagle<const fused_mock&, draft::argmax>>);
static_assert(!HearsCommits<draft::eagle<const fused_mock&, draft::argmax>> &&
              shows_rows<draft::eagle<const fused_mock&, draft::argmax>>);
static_assert(FusedTreeModel<fused_tree_mock> && !FusedTreeModel<fused_mock>);
static_assert(!drafts_trees<draft::eagle<fused_mock, draft::argmax>, policy::fixed_length>);
static_assert(drafts_trees<draft::eagle<fused_mock, draft::argmax>, policy::tree_static>);
static_assert(drafts_trees<draft::eagle<fused_mock, draft::dynamic_tree>, policy::fixed_length>);
static_assert(grows<draft::eagle<fused_mock, draft::argmax>> && !grows<draft::eagle<fused_mock, draft::sampled>>);

/// A target of `vocabulary` tokens, whose hidden states are its logits, and a layer on them.
struct models {
    explicit models(std::size_t vocabulary, std::size_t context = 2000, std::size_t own_context = 2000)
        : target(testing::hashed_model(vocabulary, 1, 2, context)),
          layer(testing::hashed_model(vocabulary, 2, 1, own_context), vocabulary) {}
    hidden_state_mock target;
    fused_mock layer;

    /// What is drafted greedily after `text`, computed without any cache: every token runs the layer anew, over the
    /// target's states up to the root, then over the layer's own.
    std::vector<token> drafted(std::vector<token> text, std::size_t count) const {
        auto sequence = target.make_sequence();
        const auto known = target.extend(sequence, std::span(text).first(text.size() - 1));
        std::vector<float> states;
        for (std::size_t i = 0; i < known.size(); ++i) states.insert(states.end(), known[i].begin(), known[i].end());
        std::vector<token> tokens;
        for (; tokens.size() < count; text.push_back(tokens.back())) {
            auto fresh = layer.make_sequence();
            const auto inputs = std::span<const token>(text).subspan(1);
            const auto rows = layer.extend(fresh, inputs, states, 1);
            tokens.push_back(static_cast<token>(std::max_element(rows[0].begin(), rows[0].end()) - rows[0].begin()));
            const auto own = layer.hidden(fresh);
            states.insert(states.end(), own[0].begin(), own[0].end());
        }
        return tokens;
    }
};

template <class Scheme>
auto session_of(const Scheme& scheme, std::span<const token> prompt, std::size_t tokens = 1000) {
    return decode::session<Scheme>(scheme, prompt, {.temperature = {0}}, {.max_tokens = tokens},
                                   random::philox_chooser(0));
}

BOOST_AUTO_TEST_CASE(drafts_run_from_the_targets_states_up_to_the_root_and_from_its_own_after) {
    const models family(5);
    const auto scheme = speculate(draft::eagle(family.layer), family.target, policy::fixed_length{4}, accept::exact{});
    bool accepted = false, rejected = false;
    for (const std::size_t length : {2u, 3u, 127u, 128u, 129u, 130u, 131u, 700u}) {  // some in several parts
        std::vector<token> prompt(length);
        for (std::size_t i = 0; i < length; ++i) prompt[i] = static_cast<token>(i * i % 5);
        auto session = session_of(scheme, prompt);
        for (int round = 0; round < 12; ++round) {
            const auto before = session.committed.tokens();
            const auto expected = family.drafted({before.begin(), before.end()}, 4);
            const auto& record = decode::step(scheme, session);
            BOOST_TEST(record.proposed.tokens() == std::span<const token>(expected), boost::test_tools::per_element());
            (record.decided.accepted > 0 ? accepted : rejected) = true;
        }
    }
    BOOST_TEST((accepted && rejected));
}

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_drafters) {
    const models family(3, 40, 8);  // a context that drafts reach the end of
    const auto r = testing::drafter_laws(draft::eagle(family.layer, draft::argmax{}), family.target);
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.checked.size() == 8u + 9u, r);  // of chains and of trees
    const auto sampling = testing::drafter_laws(draft::eagle(family.layer, draft::sampled{}), family.target);
    BOOST_TEST(sampling.kept(), sampling);
    BOOST_TEST(sampling.checked.size() == 12u + 13u, sampling);
}

BOOST_AUTO_TEST_CASE(schemes_with_it_keep_theirs) {
    const models family(3);
    const policy::fixed_length two{2};
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const auto scheme = speculate(family.layer, family.target, two, accept::rejection_sampling{});
    static_assert(std::is_same_v<decltype(scheme)::drafter_type, draft::eagle<const fused_mock&, draft::sampled>>);
    const auto r = testing::scheme_laws(scheme, chosen, {.cases = 6});
    BOOST_TEST(r.kept(), r);
    const auto promised = [&](const auto& other) {
        return testing::broken_promise(other, std::vector<token>{2, 0, 1}, chosen);
    };
    BOOST_TEST(promised(speculate(family.layer, family.target, two, accept::block{})) == "");
    BOOST_TEST(promised(speculate(draft::eagle(family.layer), family.target, two, accept::rejection_sampling{})) == "");
    BOOST_TEST(promised(speculate(family.layer, family.target, two, accept::coupled{})) == "");
    const policy::entropy_bins uncertain{{0.3, 0.8}, {3, 2, 0}};
    BOOST_TEST(promised(speculate(family.layer, family.target, uncertain, accept::rejection_sampling{})) == "");
    chosen.sampling.temperature.value = 0;
    BOOST_TEST(promised(speculate(family.layer, family.target, two, accept::exact{})) == "");
}

BOOST_AUTO_TEST_CASE(after_one_token_there_is_no_state_to_draft_from) {
    const models family(4);
    const auto scheme = speculate(draft::eagle(family.layer), family.target, policy::fixed_length{3}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2});
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 0u);
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 3u);
}

BOOST_AUTO_TEST_CASE(where_its_context_ends_it_proposes_nothing) {
    const models family(4, 2000, 10);
    const auto scheme = speculate(draft::eagle(family.layer), family.target, policy::fixed_length{5}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 0, 3, 3, 1}, 40);
    while (session.finished == finish_reason::running) {
        const std::size_t inputs = session.committed.size() - 1;  // at the root; every further token is one more
        const std::size_t budget = inputs > 10 ? 0 : 11 - inputs;
        const std::size_t left = 46 - session.committed.size() - 1;
        BOOST_TEST(decode::step(scheme, session).proposed.size() == std::min({budget, std::size_t{5}, left}));
    }
    const std::vector<token> longer(300, 1);
    auto beyond = session_of(scheme, longer, 3);
    BOOST_TEST(decode::step(scheme, beyond).proposed.size() == 0u);
}

/// Wants nothing, but every `period` rounds a draft.
struct now_and_then {
    std::size_t period = 1;
    std::size_t length(const observation& seen) const { return seen.round % period == period - 1 ? 3 : 0; }
};

BOOST_AUTO_TEST_CASE(rounds_without_a_draft_are_caught_up_with) {
    const models family(5);
    for (const std::size_t period : {2u, 7u, 300u}) {
        const auto scheme = speculate(draft::eagle(family.layer), family.target, now_and_then{period}, accept::exact{});
        auto session = session_of(scheme, std::vector<token>{2, 1, 4});
        for (std::size_t round = 0; round < 2 * period; ++round) {
            const auto before = session.committed.tokens();
            const bool drafts = round % period == period - 1;
            const auto expected = drafts ? family.drafted({before.begin(), before.end()}, 3) : std::vector<token>{};
            BOOST_TEST(decode::step(scheme, session).proposed.tokens() == std::span<const token>(expected),
                       boost::test_tools::per_element());
        }
    }
}

/// Counts what the layer is asked for.
struct counting_layer : fused_mock {
    using fused_mock::fused_mock;
    std::shared_ptr<std::vector<std::size_t>> calls = std::make_shared<std::vector<std::size_t>>();
    scores extend(sequence_type& s, std::span<const token> tokens, std::span<const float> states,
                  std::size_t last) const {
        calls->push_back(tokens.size());
        return fused_mock::extend(s, tokens, states, last);
    }
};

BOOST_AUTO_TEST_CASE(one_pass_per_row_and_what_was_committed_goes_with_the_first) {
    const hidden_state_mock target(testing::hashed_model(5, 1));
    const counting_layer layer(testing::hashed_model(5, 2, 1), 5);
    const auto scheme = speculate(draft::eagle(layer), target, policy::fixed_length{3}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
    BOOST_TEST((*layer.calls == std::vector<std::size_t>{3}));  // with the prompt
    std::size_t news = 1;                                       // the root's row again
    for (int round = 0; round < 10; ++round) {
        layer.calls->clear();
        const auto accepted = decode::step(scheme, session).decided.accepted;
        BOOST_TEST((*layer.calls == std::vector<std::size_t>{news, 1, 1}));
        news = accepted + 1;
    }
}

BOOST_AUTO_TEST_CASE(proposing_again_proposes_the_same) {
    const models family(5);
    const draft::eagle drafter(family.layer, draft::argmax{});
    const auto scheme = speculate(drafter, family.target, policy::fixed_length{3}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 4});
    for (int round = 0; round < 5; ++round) {
        const auto once = [&] {
            draft::context context(session.committed, session.transform, session.chooser, session.policy, session.seen,
                                   std::size_t{9});
            const auto proposed = draft::propose(drafter, session.drafter_state, context);
            return std::vector<token>(proposed.tokens().begin(), proposed.tokens().end());
        };
        const auto first = once();
        BOOST_TEST(first.size() == 3u);
        BOOST_TEST(once() == first);
        decode::step(scheme, session);
    }
}

BOOST_AUTO_TEST_CASE(states_of_another_size_are_refused) {
    const models family(5);
    const fused_mock narrow(testing::hashed_model(5, 2), 3);
    BOOST_CHECK_EXCEPTION(
        speculate(draft::eagle(narrow), family.target, policy::fixed_length{3}, accept::exact{}), error,
        [](const error& e) { return std::string(e.what()).find("of 3 numbers, but the target's have 5") < 99; });
}

BOOST_AUTO_TEST_SUITE(trees)

const topology wide = topology::of_paths({{0}, {1}, {2}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}, {1, 0, 0}, {1, 0, 1}});

/// A target whose hidden states are its logits, and a layer on them; in two kinds.
struct models {
    explicit models(std::size_t vocabulary, std::size_t own_context = 2000)
        : target(testing::hashed_model(vocabulary, 1)),
          paths(testing::hashed_model(vocabulary, 2, 1, own_context), vocabulary),
          trees(testing::hashed_model(vocabulary, 2, 1, own_context), vocabulary) {}
    full_mock target;
    fused_mock paths;
    fused_tree_mock trees;

    /// The layer's row after a text and a path beyond it, without any cache: over the target's states up to the root,
    /// then its own.
    std::vector<float> row(std::vector<token> text, const std::vector<token>& path) const {
        auto sequence = target.make_sequence();
        const auto known = target.extend(sequence, std::span(text).first(text.size() - 1));
        std::vector<float> states, row;
        for (std::size_t i = 0; i < known.size(); ++i) states.insert(states.end(), known[i].begin(), known[i].end());
        for (std::size_t i = 0;; ++i) {
            auto fresh = paths.make_sequence();
            const auto rows = paths.extend(fresh, std::span<const token>(text).subspan(1), states, 1);
            row.assign(rows[0].begin(), rows[0].end());
            if (i == path.size()) return row;
            const auto own = paths.hidden(fresh);
            states.insert(states.end(), own[0].begin(), own[0].end());
            text.push_back(path[i]);
        }
    }
};

token ranked(const std::vector<float>& row, std::size_t rank) {
    std::vector<token> order(row.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<token>(i);
    std::stable_sort(order.begin(), order.end(), [&](token a, token b) {
        return row[static_cast<std::size_t>(a)] > row[static_cast<std::size_t>(b)];
    });
    return order[rank];
}

/// Every node is a rank of the row after its path; returns how many accepted nodes were no first children.
template <class Scheme>
std::size_t nodes_are_ranks(const models& family, const Scheme& scheme, int rounds = 25) {
    auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
    std::size_t later = 0;
    for (int round = 0; round < rounds; ++round) {
        const std::vector<token> text(session.committed.tokens().begin(), session.committed.tokens().end());
        const auto& record = decode::step(scheme, session);
        const auto& proposed = record.proposed;
        std::map<std::int32_t, std::size_t> children;
        std::vector<std::size_t> rank;
        for (std::size_t node = 0; node < proposed.size(); ++node) {
            std::vector<token> path;
            for (auto at = proposed.parent(node); at != after_prefix;
                 at = proposed.parent(static_cast<std::size_t>(at))) {
                path.insert(path.begin(), proposed.tokens()[static_cast<std::size_t>(at)]);
            }
            rank.push_back(children[proposed.parent(node)]++);
            BOOST_TEST(proposed.tokens()[node] == ranked(family.row(text, path), rank.back()));
        }
        for (std::size_t i = 0; i < record.decided.accepted; ++i) later += rank[record.decided.node(i)] > 0 ? 1 : 0;
    }
    return later;
}

BOOST_AUTO_TEST_CASE(each_node_is_a_rank_of_the_row_after_its_path) {
    const models family(5);
    const auto by = [&](const auto& layer, const auto& policy) {
        return nodes_are_ranks(family,
                               speculate(draft::eagle(layer, {3, 3, 9}), family.target, policy, accept::exact{}));
    };
    const policy::tree_static planned(wide);
    const policy::fixed_length three{3};
    BOOST_TEST(by(family.paths, planned) > 3u);
    BOOST_TEST(by(family.trees, planned) > 3u);
    BOOST_TEST(by(family.paths, three) > 3u);
    BOOST_TEST(by(family.trees, three) > 3u);
}

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_drafters) {
    const models family(3, 8);  // a context that drafts reach the end of
    const auto keeps = [&](const auto& drafter) {
        const auto r = testing::drafter_laws(drafter, family.target, {.cases = 60});
        BOOST_TEST(r.kept(), r);
        BOOST_TEST(r.checked.size() == 9u, r);
    };
    keeps(draft::eagle(family.paths, {3, 2, 5}));
    keeps(draft::eagle(family.trees, {3, 2, 5}));
    keeps(draft::eagle(family.trees, draft::dynamic_tree{}));
}

BOOST_AUTO_TEST_CASE(schemes_with_it_keep_theirs) {
    const models family(3);
    const auto promised = [&](const auto& layer, const auto& policy, auto criterion, float temperature) {
        return testing::broken_promise(speculate(draft::eagle(layer, {2, 2, 4}), family.target, policy, criterion),
                                       std::vector<token>{2, 0, 1}, up_to(3, temperature));
    };
    const policy::tree_static planned(topology{-1, -1, 0, 0, 1});
    const policy::fixed_length two{2};
    BOOST_TEST(promised(family.trees, planned, accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(family.paths, two, accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(family.trees, two, accept::rejection_sampling{}, 1) == "");
    BOOST_TEST(promised(family.trees, two, accept::coupled{}, 1) == "");
    BOOST_TEST(promised(family.paths, planned, accept::exact{}, 0) == "");
    const auto r = testing::scheme_laws(
        speculate(draft::eagle(family.trees, {2, 2, 4}), family.target, two, accept::rejection_sampling{}), up_to(3),
        {.cases = 4});
    BOOST_TEST(r.kept(), r);
}

/// Writes down how many inputs each pass has.
template <class Layer>
struct counting : Layer {
    using Layer::Layer;
    using sequence_type = typename Layer::sequence_type;
    std::shared_ptr<std::vector<std::size_t>> calls = std::make_shared<std::vector<std::size_t>>();
    scores extend(sequence_type& s, std::span<const token> tokens, std::span<const float> states,
                  std::size_t last) const {
        calls->push_back(tokens.size());
        return fused_mock::extend(s, tokens, states, last);
    }
    scores extend_tree(sequence_type& s, std::span<const token> tokens, std::span<const float> states,
                       std::span<const std::int32_t> parents, std::size_t last) const requires(FusedTreeModel<Layer>) {
        calls->push_back(tokens.size());
        return Layer::extend_tree(s, tokens, states, parents, last);
    }
};

BOOST_AUTO_TEST_CASE(one_pass_a_depth_or_one_an_inner_node) {
    const full_mock target(testing::hashed_model(5, 1));
    const auto calls_of = [&](const auto& layer, const auto& policy) {
        const auto scheme = speculate(draft::eagle(layer, {3, 2, 20}), target, policy, accept::exact{});
        auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
        layer.calls->clear();
        decode::step(scheme, session);
        return *layer.calls;
    };
    const counting<fused_mock> paths(testing::hashed_model(5, 2, 1), 5);
    const counting<fused_tree_mock> trees(testing::hashed_model(5, 2, 1), 5);
    using calls = std::vector<std::size_t>;
    const policy::tree_static planned(wide);
    // Inner nodes: [0], [1]; [0, 0], [1, 0]. A path that shares nothing with the one before is run whole.
    BOOST_TEST((calls_of(trees, planned) == calls{1, 2, 4}));
    BOOST_TEST((calls_of(paths, planned) == calls{1, 1, 1, 2, 2}));
    // What was looked at before, [0] and [0, 0], is not run again.
    std::vector<observation> asked;
    const testing::looking_ahead looking{&wide, &asked};
    BOOST_TEST((calls_of(trees, looking) == calls{1, 1, 2, 3, 4}));
    BOOST_TEST((calls_of(paths, looking) == calls{1, 1, 1, 1, 1}));
    // Two of the second depth, two of the third.
    BOOST_TEST((calls_of(trees, policy::fixed_length{3}) == calls{1, 2, 4}));
    BOOST_TEST(calls_of(paths, policy::fixed_length{3}).size() == 5u);
    BOOST_TEST((calls_of(trees, policy::fixed_length{1}) == calls{1}));
}

BOOST_AUTO_TEST_CASE(a_policy_that_looks_ahead_sees_the_greedy_chain_before_it_plans) {
    const models family(5);
    const topology aside = topology::of_paths({{0}, {1}, {1, 0}, {1, 0, 0}, {1, 0, 1}});
    const auto row_after = [&](const std::vector<token>& text, const std::vector<token>& path) {
        return family.row(text, path);
    };
    const auto shown = [&](const auto& layer) {
        const auto scheme_of = [&](auto policy) {
            return speculate(draft::eagle(layer, draft::dynamic_tree{}), family.target, policy, accept::exact{});
        };
        for (const topology* shape : {&wide, &aside}) {
            for (const std::size_t rows : {2u, 3u}) {
                testing::is_shown_the_greedy_chain(scheme_of, row_after, *shape, rows, 0);
            }
        }
    };
    shown(family.paths);
    shown(family.trees);
}

BOOST_AUTO_TEST_CASE(a_tree_of_one_path_is_eagles_chain) {
    const models family(5);
    const auto text_by = [&](auto drafter, auto policy) {
        const auto result = decode::generate(speculate(std::move(drafter), family.target, policy, accept::exact{}),
                                             std::vector<token>{2, 1, 4}, up_to(60, 0));
        return std::pair(result.tokens, result.counts.rounds());
    };
    const policy::fixed_length three{3};
    const auto expected = text_by(draft::eagle(family.paths), three);
    BOOST_CHECK((text_by(draft::eagle(family.paths, {3, 1, 9}), three) == expected));
    BOOST_CHECK((text_by(draft::eagle(family.trees, {3, 1, 9}), three) == expected));
    BOOST_CHECK((text_by(draft::eagle(family.trees, draft::dynamic_tree{}), policy::tree_static(topology::chain(3))) ==
                 expected));
}

BOOST_AUTO_TEST_CASE(after_one_token_there_is_no_state_to_draft_from) {
    const models family(5);
    const auto scheme = speculate(draft::eagle(family.trees, draft::dynamic_tree{}), family.target,
                                  policy::tree_static(wide), accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2});
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 0u);
    BOOST_TEST(decode::step(scheme, session).proposed.size() == 9u);
}

/// Its states of a round come with the next round's pass.
BOOST_AUTO_TEST_CASE(on_a_target_that_runs_no_trees_it_drafts_every_other_round) {
    const models family(5);
    const testing::hidden_state_mock target(testing::hashed_model(5, 1));
    const auto scheme = speculate(draft::eagle(family.trees, draft::dynamic_tree{}), target, policy::tree_static(wide),
                                  accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 4});
    for (int round = 0; round < 10; ++round) {
        const std::vector<token> text(session.committed.tokens().begin(), session.committed.tokens().end());
        const auto& proposed = decode::step(scheme, session).proposed;
        BOOST_TEST(proposed.size() == (round % 2 == 0 ? 9u : 0u));
        if (!proposed.empty()) BOOST_TEST(proposed.tokens()[0] == ranked(family.row(text, {}), 0));
    }
}

BOOST_AUTO_TEST_CASE(in_a_context_that_is_too_short_there_is_what_fits) {
    const auto found_by = [](const auto& family, const auto& layer, auto policy) {
        const auto scheme =
            speculate(draft::eagle(layer, draft::dynamic_tree{}), family.target, policy, accept::exact{});
        auto session = session_of(scheme, std::vector<token>{2, 1, 0, 3, 3});
        const auto found = decode::step(scheme, session).proposed.parents();
        return std::vector<std::int32_t>(found.begin(), found.end());
    };
    const policy::tree_static planned(wide);
    using parents = std::vector<std::int32_t>;
    const auto paths = [&](std::size_t context) {
        const models family(5, context);
        return found_by(family, family.paths, planned);
    };
    const auto trees = [&](std::size_t context) {
        const models family(5, context);
        return found_by(family, family.trees, planned);
    };
    // Four inputs lead to the root. Without trees the path counts, in a tree each inner node.
    BOOST_TEST((paths(3) == parents{} && trees(3) == parents{}));
    BOOST_TEST((paths(4) == parents{-1, -1, -1} && trees(4) == parents{-1, -1, -1}));
    BOOST_TEST((paths(5) == parents{-1, -1, -1, 0, 0, 1} && trees(5) == parents{-1, -1, -1, 0, 0}));
    BOOST_TEST((paths(6) == parents{-1, -1, -1, 0, 0, 1, 3, 5, 5} && trees(6) == parents{-1, -1, -1, 0, 0, 1}));
    BOOST_TEST((trees(7) == parents{-1, -1, -1, 0, 0, 1, 3}));
    BOOST_TEST((trees(8) == parents{-1, -1, -1, 0, 0, 1, 3, 5, 5}));
    // Who looks ahead has the chain run first: with room for two inner nodes, [0] and [0, 0] in the place of [1].
    std::vector<observation> asked;
    for (const std::size_t context : {3u, 4u, 5u, 6u, 7u, 8u}) {
        const models family(5, context);
        const testing::looking_ahead looking{&wide, &asked};
        BOOST_TEST((found_by(family, family.paths, looking) == paths(context)));
        BOOST_TEST((found_by(family, family.trees, looking) ==
                    (context == 6 ? parents{-1, -1, -1, 0, 0, 3} : trees(context))));
    }
}

BOOST_AUTO_TEST_CASE(a_row_without_numbers_has_no_children) {
    const full_mock target(testing::hashed_model(3, 1));
    const auto layer_of = [](token bad) {
        return testing::function_model(3, 99, [bad](std::span<const token> before, std::span<float> row) {
            row[0] = 9000, row[1] = 5000, row[2] = 0;  // whatever the states say
            if (before.size() > 2 && before.back() == bad) row[1] = NAN;
        });
    };
    const policy::tree_static planned(topology{-1, -1, 0, 0, 1});
    for (const token bad : {0, 1, 2}) {
        const fused_mock paths(layer_of(bad), 0);
        const fused_tree_mock trees(layer_of(bad), 0);
        const std::size_t expected[] = {3, 4, 5};
        const auto nodes = [&](const auto& layer) {
            const draft::eagle drafter(layer, draft::argmax{});
            auto state = drafter.make_state();
            prefix text(std::vector<token>{2, 1, 2});
            const std::vector<float> none(2);
            drafter.on_commit(state, text, hidden_states(0, scores(none.data(), 2, 0), 2));
            const transform::pipeline transform({}, 3);
            random::philox_chooser chooser(0);
            draft::context context(text, transform, chooser, planned, observation{}, 9);
            return draft::propose(drafter, state, context).size();
        };
        BOOST_TEST(nodes(paths) == expected[static_cast<std::size_t>(bad)]);
        BOOST_TEST(nodes(trees) == expected[static_cast<std::size_t>(bad)]);
    }
}

BOOST_AUTO_TEST_CASE(states_of_another_size_other_vocabularies_and_limits_of_nothing_are_refused) {
    const models family(5), other(4);
    const policy::fixed_length three{3};
    const fused_mock narrow(testing::hashed_model(5, 2), 3);
    BOOST_CHECK_EXCEPTION(
        speculate(draft::eagle(narrow, draft::dynamic_tree{}), family.target, three, accept::exact{}), error,
        [](const error& e) { return std::string(e.what()).find("of 3 numbers, but the target's have 5") < 99; });
    BOOST_CHECK_THROW(
        speculate(draft::eagle(other.trees, draft::dynamic_tree{}), family.target, three, accept::exact{}), error);
    BOOST_CHECK_THROW(draft::eagle(family.trees, {.nodes = 0}), error);
}

/// Trees of tokens that are drawn, as the criterion asks.
BOOST_AUTO_TEST_CASE(drawn_trees_keep_the_law) {
    const models family(3, 8);
    const policy::tree_static branching(topology{-1, -1, 0});
    const auto keeps = [&](const auto& layer) {
        const auto scheme = speculate(layer, family.target, branching, accept::rejection_sampling{});
        BOOST_TEST(testing::broken_promise(scheme, std::vector<token>{2, 0, 1}, up_to(3, 1)) == "");
    };
    keeps(family.paths);
    keeps(family.trees);
}

/// Plans a tree that grows, or a length.
struct grown_or_not : growth_budget {
    static constexpr draft_shape plans = draft_shape::grown_tree;
    bool grows = true;
    draft_plan plan(const observation&) const { return {.length = 3, .grow = grows ? this : nullptr}; }
    float worth(float probability) const override { return probability; }
    std::size_t expand(const observation&, std::span<const float> values) const override { return values.size(); }
    std::size_t keep(const observation&, std::span<const float> values) const override { return values.size(); }
};

BOOST_AUTO_TEST_CASE(a_plan_that_asks_for_no_tree_is_a_chain) {
    const models family(5);
    const auto parents_by = [&](const auto& drafter, bool grows) {
        grown_or_not policy;
        policy.grows = grows;
        const auto scheme = speculate(drafter, family.target, policy, accept::exact{});
        auto session = session_of(scheme, std::vector<token>{2, 1, 4, 0});
        return decode::step(scheme, session).proposed.parents().size();
    };
    BOOST_TEST(parents_by(draft::eagle(family.trees), true) == 12u);  // the usual limits
    BOOST_TEST(parents_by(draft::eagle(family.trees), false) == 0u);
    BOOST_TEST(parents_by(draft::eagle(family.trees, {3, 2, 5}), true) == 5u);
    BOOST_TEST(parents_by(draft::eagle(family.trees, {3, 2, 5}), false) == 5u);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
