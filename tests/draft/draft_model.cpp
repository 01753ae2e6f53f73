#include "augur/draft/draft_model.hpp"

#include <algorithm>
#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/decode/generate.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/testing/drafter_laws.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/refined_models.hpp>
#include <augur/testing/scheme_laws.hpp>
#include <boost/test/unit_test.hpp>
#include <memory>

#include "draft/looking_ahead.hpp"
#include "model/smallest.hpp"
#include "sanitized.hpp"
#include "up_to.hpp"

using namespace augur;

BOOST_AUTO_TEST_SUITE(draft_draft_model)

using model_type = testing::function_model;
static_assert(Drafter<draft::draft_model<const model_type&, draft::argmax>>);
static_assert(Drafter<draft::draft_model<model_type, draft::sampled>>);
static_assert(shows_rows<draft::draft_model<model_type, draft::argmax>>);

struct fixture {
    model_type model = testing::hashed_model(7, 3);
    prefix before{std::vector<token>{1, 2, 3}};
    transform::pipeline transform{{}, 7};
    random::philox_chooser chooser{5};

    template <class Policy>
    draft::context<Policy, random::philox_chooser> context(const Policy& policy, std::size_t budget = 100,
                                                           std::size_t round = 0) {
        return {before, transform, chooser, policy, observation{.round = round}, budget};
    }
};

BOOST_FIXTURE_TEST_CASE(argmax_follows_the_model, fixture) {
    const draft::draft_model<const model_type&, draft::argmax> drafter(model);
    auto state = drafter.make_state();
    const policy::fixed_length four{4};
    auto given = context(four);
    const auto proposed = draft::propose(drafter, state, given);
    BOOST_TEST(proposed.size() == 4u);
    std::vector<token> tokens{1, 2, 3};
    for (token t : proposed.tokens()) {
        auto fresh = model.make_sequence();
        const logit_row row = model.extend(fresh, tokens, 1)[0];
        BOOST_TEST(t == std::max_element(row.begin(), row.end()) - row.begin());
        tokens.push_back(t);
    }
    BOOST_TEST(before.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_model_that_returns_every_row_is_read_from_the_last, fixture) {
    const draft::draft_model<smallest::model, draft::argmax> drafter(smallest::model{});
    auto state = drafter.make_state();
    const policy::fixed_length three{3};
    transform = transform::pipeline({}, 8);
    auto given = context(three);
    const std::vector<token> counted{3, 4, 5};
    BOOST_TEST(draft::propose(drafter, state, given).tokens() == std::span<const token>(counted),
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_sampled_token_keeps_the_row_it_was_drawn_from, fixture) {
    transform::settings settings;
    settings.top_k.k = 3;
    settings.temperature.value = 0.8f;
    settings.penalties.repetition = 1.4f;
    transform = transform::pipeline(settings, 7);
    const draft::draft_model<const model_type&, draft::sampled> drafter(model);
    auto state = drafter.make_state();
    const policy::fixed_length four{4};
    auto given = context(four);
    const auto proposed = draft::propose(drafter, state, given);
    BOOST_TEST(proposed.size() == 4u);
    std::vector<token> tokens{1, 2, 3};
    for (std::size_t i = 0; i < proposed.size(); ++i) {
        auto fresh = model.make_sequence();
        const distribution expected = transform(model.extend(fresh, tokens, 1)[0], prefix(tokens));
        for (token t = 0; t < 7; ++t) BOOST_TEST(proposed[i].probability(t) == expected.probability(t));
        BOOST_TEST(expected.probability(proposed[i].id) > 0);
        tokens.push_back(proposed[i].id);
    }
}

BOOST_FIXTURE_TEST_CASE(what_was_rejected_leaves_no_trace, fixture) {
    const draft::draft_model<const model_type&, draft::argmax> drafter(model);
    const policy::fixed_length five{5};
    // For every number of accepted tokens: what is proposed next equals a fresh state's proposal.
    for (std::size_t accepted = 0; accepted <= 5; ++accepted) {
        before = prefix(std::vector<token>{1, 2, 3});
        auto state = drafter.make_state();
        auto given = context(five);
        const auto proposed = draft::propose(drafter, state, given);
        for (std::size_t i = 0; i < accepted; ++i) before.push(proposed.tokens()[i]);
        before.push(6);
        drafter.on_commit(state, before);
        BOOST_TEST(state.tokens().size() <= before.size());
        auto again = context(five);
        const auto next = draft::propose(drafter, state, again);
        auto fresh = drafter.make_state();
        auto once_more = context(five);
        const auto expected = draft::propose(drafter, fresh, once_more);
        BOOST_TEST(next.tokens() == expected.tokens(), boost::test_tools::per_element());
    }
}

BOOST_FIXTURE_TEST_CASE(never_more_than_the_room, fixture) {
    const draft::draft_model<const model_type&, draft::argmax> drafter(model);
    const policy::fixed_length many{50};
    for (std::size_t budget : {0u, 1u, 3u}) {
        auto state = drafter.make_state();
        auto given = context(many, budget);
        BOOST_TEST(draft::propose(drafter, state, given).size() == budget);
    }
}

BOOST_FIXTURE_TEST_CASE(a_shorter_context_ends_the_draft, fixture) {
    const model_type small = testing::hashed_model(7, 3, 2, 5);
    const draft::draft_model<const model_type&, draft::argmax> drafter(small);
    const policy::fixed_length many{50};
    auto state = drafter.make_state();
    auto given = context(many);
    BOOST_TEST(draft::propose(drafter, state, given).size() == 3u);
    for (int i = 0; i < 4; ++i) before.push(0);
    drafter.on_commit(state, before);
    auto beyond = context(many);
    BOOST_TEST(draft::propose(drafter, state, beyond).empty());
}

BOOST_FIXTURE_TEST_CASE(a_row_without_numbers_ends_the_draft, fixture) {
    const model_type broken(7, 64, [](std::span<const token> tokens, std::span<float> row) {
        std::fill(row.begin(), row.end(), tokens.size() < 5 ? 0.0f : std::numeric_limits<float>::quiet_NaN());
    });
    const draft::draft_model<const model_type&, draft::argmax> drafter(broken);
    const policy::fixed_length many{50};
    auto state = drafter.make_state();
    auto given = context(many);
    BOOST_TEST(draft::propose(drafter, state, given).size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(redrafting_a_position_draws_anew, fixture) {
    // A token that was thrown away must not determine the next one drafted at its position.
    const model_type uniform(
        7, 64, [](std::span<const token>, std::span<float> row) { std::fill(row.begin(), row.end(), 0.0f); });
    const draft::draft_model<const model_type&, draft::sampled> drafter(uniform);
    const policy::fixed_length many{20};
    auto state = drafter.make_state();
    auto first = context(many, 20, 0);
    auto second = context(many, 20, 1);
    const auto a = draft::propose(drafter, state, first);
    const auto b = draft::propose(drafter, state, second);
    BOOST_TEST(!std::equal(a.tokens().begin(), a.tokens().end(), b.tokens().begin()));
}

/// Drafts while rows are uncertain, as a policy that looks at them does.
struct while_uncertain {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    std::size_t length(const observation& seen) const { return seen.draft_confidence < 0.5 ? 100 : seen.drafted; }
};

BOOST_FIXTURE_TEST_CASE(the_prompt_is_prefilled_where_it_fits, fixture) {
    const std::vector<token> prompt{1, 2, 3};
    for (std::size_t context_length : {1u, 2u, 3u, 4u}) {
        const model_type small = testing::hashed_model(7, 3, 2, context_length);
        const auto scheme = speculate(small, model, policy::fixed_length{2}, accept::coupled{});
        const decode::session session(scheme, prompt, {}, {}, random::philox_chooser(0));
        BOOST_TEST(session.drafter_state.tokens().size() == (context_length < 3 ? 0u : 2u));
    }
}

BOOST_FIXTURE_TEST_CASE(one_row_per_drafted_token_and_one_that_ends_the_draft, fixture) {
    std::size_t rows = 0;
    const model_type counting(7, 64, [&](std::span<const token> tokens, std::span<float> row) {
        ++rows;
        std::fill(row.begin(), row.end(), 0.0f);
        if (tokens.size() == 6) row[0] = 20;
    });
    const draft::draft_model<const model_type&, draft::argmax> drafter(counting);
    auto state = drafter.make_state();
    drafter.prepare(state, before);
    BOOST_TEST(rows == 0u);
    const policy::fixed_length four{4};
    auto given = context(four);
    BOOST_TEST(draft::propose(drafter, state, given).size() == 4u);
    BOOST_TEST(rows == 4u);
    drafter.on_commit(state, before);
    rows = 0;
    const while_uncertain looking{};
    auto watched = context(looking);
    BOOST_TEST(draft::propose(drafter, state, watched).size() == 3u);
    BOOST_TEST(rows == 4u);
}

/// Writes down how many tokens were drafted whenever it is asked.
struct counting_policy {
    static constexpr signals_read reads{.required = signals::draft_confidence};
    std::vector<std::size_t>* drafted;
    std::size_t length(const observation& seen) const {
        drafted->push_back(seen.drafted);
        return 3;
    }
};

BOOST_FIXTURE_TEST_CASE(the_policy_is_told_how_many_are_drafted, fixture) {
    std::vector<std::size_t> drafted;
    const counting_policy policy{&drafted};
    const draft::draft_model<const model_type&, draft::argmax> drafter(model);
    auto state = drafter.make_state();
    auto given = context(policy);
    BOOST_TEST(draft::propose(drafter, state, given).size() == 3u);
    BOOST_TEST(drafted == (std::vector<std::size_t>{0, 1, 2}));
}

BOOST_AUTO_TEST_CASE(criteria_of_whole_chains_judge_its_chains) {
    const testing::tree_mock trees(testing::hashed_model(3, 1));
    const auto scheme = speculate(trees, testing::hashed_model(3, 2), policy::fixed_length{2}, accept::block{});
    BOOST_TEST(testing::broken_promise(scheme, std::vector<token>{2, 0}, testing::up_to(3, 1)) == "");
}

BOOST_AUTO_TEST_SUITE(trees)

using testing::function_model;
using testing::tree_mock;
using testing::up_to;

static_assert(Drafter<draft::draft_model<tree_mock, draft::argmax>> &&
              !branches<draft::draft_model<tree_mock, draft::argmax>>);
static_assert(!drafts_trees<draft::draft_model<tree_mock, draft::argmax>, policy::fixed_length>);
static_assert(drafts_trees<draft::draft_model<tree_mock, draft::sampled>, policy::tree_static>);
static_assert(drafts_trees<draft::draft_model<tree_mock, draft::dynamic_tree>, policy::fixed_length>);
static_assert(grows<draft::draft_model<tree_mock, draft::argmax>> &&
              !grows<draft::draft_model<tree_mock, draft::sampled>>);

constexpr std::size_t most = testing::unless_sanitized<std::size_t>(3, 2);  ///< tokens of texts that are enumerated

const topology wide = topology::of_paths({{0}, {1}, {2}, {0, 0}, {0, 1}, {1, 0}, {0, 0, 0}, {1, 0, 0}, {1, 0, 1}});
const topology small = topology{-1, -1, 0, 0, 1};

template <class Scheme>
auto session_of(const Scheme& scheme, std::span<const token> prompt, float temperature = 1, std::uint64_t seed = 0) {
    return decode::session<Scheme>(scheme, prompt, {.temperature = {temperature}}, {.max_tokens = 1000},
                                   random::philox_chooser(seed));
}

BOOST_AUTO_TEST_CASE(it_keeps_the_laws_of_drafters) {
    const auto keeps = [](const auto& drafter, std::size_t laws) {
        const auto r = testing::drafter_laws(drafter, {.cases = 60});
        BOOST_TEST(r.kept(), r);
        BOOST_TEST(r.checked.size() == laws, r);
    };
    const function_model chains = testing::hashed_model(3, 1, 2, 8);  // a context that drafts reach the end of
    const tree_mock trees(chains);
    keeps(draft::draft_model(chains, draft::argmax{}), 8 + 9);
    keeps(draft::draft_model(trees, draft::argmax{}), 8 + 9);
    keeps(draft::draft_model(trees, draft::dynamic_tree{3, 2, 5}), 9);
    keeps(draft::draft_model(chains, draft::dynamic_tree{3, 2, 5}), 9);
    keeps(draft::draft_model(trees, draft::shared_noise{}), 8 + 9);
    keeps(draft::draft_model(chains, draft::sampled{}), 12 + 13);
    keeps(draft::draft_model(trees, draft::sampled{}), 12 + 13);
    keeps(draft::draft_model(trees, draft::sampled_with_replacement{}), 12 + 13);
}

/// Rounds, nodes that were accepted as a second or later sibling, and rounds whose tree branched.
struct tally {
    std::size_t siblings = 0, branching = 0, deep = 0;
    std::vector<token> text{};
    std::vector<std::size_t> accepted{};
};

template <class Scheme>
tally decoded(const Scheme& scheme, float temperature, std::size_t rounds = 60) {
    tally found;
    auto session = session_of(scheme, std::vector<token>{2, 1, 0}, temperature);
    for (std::size_t round = 0; round < rounds; ++round) {
        const auto& record = decode::step(scheme, session);
        found.branching += record.proposed.is_chain() ? 0 : 1;
        found.accepted.push_back(record.decided.accepted);
        found.deep += record.decided.accepted > 1 ? 1 : 0;
        for (std::size_t i = 0; i < record.decided.accepted; ++i) {
            const std::size_t node = record.decided.node(i);
            const auto parent = record.proposed.parent(node);
            for (std::size_t before = 0; before < node; ++before) {
                if (record.proposed.parent(before) != parent) continue;
                ++found.siblings;
                break;
            }
        }
    }
    found.text.assign(session.committed.tokens().begin(), session.committed.tokens().end());
    return found;
}

/// Between two models, so that the one's second choice is at times the other's first.
function_model between(const function_model& a, const function_model& b) {
    return function_model(a.vocabulary_size(), 1024, [a, b](std::span<const token> before, std::span<float> row) {
        std::vector<float> other(row.size());
        a.fill_row(before, row);
        b.fill_row(before, other);
        for (std::size_t i = 0; i < row.size(); ++i) row[i] += other[i];
    });
}

BOOST_AUTO_TEST_CASE(one_pass_a_depth_or_one_a_node_makes_the_same_trees) {
    const function_model chains = testing::hashed_model(6, 1);
    const tree_mock target(between(chains, testing::hashed_model(6, 2)));
    const tree_mock trees(chains);
    const auto same = [&](auto token_selector, auto criterion, float temperature) {
        const auto by = [&](const auto& model) {
            return decoded(
                speculate(draft::draft_model(model, token_selector), target, policy::tree_static(wide), criterion),
                temperature);
        };
        const tally a = by(chains), b = by(trees);
        BOOST_TEST((a.text == b.text && a.accepted == b.accepted));
        BOOST_TEST(a.branching == 60u);
        BOOST_TEST(a.deep > 5u);
        return a.siblings;
    };
    BOOST_TEST(same(draft::argmax{}, accept::exact{}, 0) > 3u);
    BOOST_TEST(same(draft::dynamic_tree{}, accept::exact{}, 0) > 3u);
    BOOST_TEST(same(draft::argmax{}, accept::coupled{}, 1) > 10u);
    BOOST_TEST(same(draft::shared_noise{}, accept::coupled{}, 1) > 3u);
    BOOST_TEST(same(draft::sampled{}, accept::rejection_sampling{}, 1) > 3u);
    BOOST_TEST(same(draft::sampled_with_replacement{}, accept::rejection_sampling{}, 1) > 3u);
}

BOOST_AUTO_TEST_CASE(trees_keep_every_promise) {
    const tree_mock target(testing::hashed_model(3, 1));
    const function_model chains = testing::hashed_model(3, 2);
    const tree_mock trees(chains);
    const auto promised = [&](auto drafter, auto criterion, float temperature) {
        const auto scheme = speculate(std::move(drafter), target, policy::tree_static(small), criterion);
        return testing::broken_promise(scheme, std::vector<token>{2, 0}, up_to(most, temperature));
    };
    const accept::rejection_sampling rejecting{};
    BOOST_TEST(promised(draft::draft_model(trees), rejecting, 1) == "");
    BOOST_TEST(promised(draft::draft_model(chains), rejecting, 1) == "");
    BOOST_TEST(promised(draft::draft_model(trees, draft::sampled_with_replacement{}), rejecting, 1) == "");
    BOOST_TEST(promised(draft::draft_model(trees, draft::argmax{}), rejecting, 1) == "");
    BOOST_TEST(promised(draft::draft_model(trees, draft::shared_noise{}), accept::coupled{}, 1) == "");
    BOOST_TEST(promised(draft::draft_model(trees), accept::coupled{}, 1) == "");
    BOOST_TEST(promised(draft::draft_model(trees), accept::coupled{}, 0) == "");
    BOOST_TEST(promised(draft::draft_model(trees), accept::exact{}, 0) == "");
    BOOST_TEST(promised(draft::draft_model(trees), rejecting, 0) == "");
    const auto scheme =
        speculate(draft::draft_model(trees, draft::dynamic_tree{2, 2, 4}), target, policy::fixed_length{2}, rejecting);
    BOOST_TEST(testing::broken_promise(scheme, std::vector<token>{2, 0}, up_to(most)) == "");
    const auto r = testing::scheme_laws(
        speculate(draft::draft_model(trees), target, policy::tree_static(small), rejecting), up_to(most), {.cases = 4});
    BOOST_TEST(r.kept(), r);
}

BOOST_AUTO_TEST_CASE(trees_keep_the_promise_of_criteria_that_judge_whole_trees) {
    const tree_mock target(testing::hashed_model(3, 1));
    const function_model chains = testing::hashed_model(3, 2);
    const function_model blind(3, 64, [&](std::span<const token> seen, std::span<float> row) {
        const auto known = testing::hashed_model(3, 2);
        auto sequence = known.make_sequence();
        const auto rows = known.extend(sequence, seen, 1);
        for (std::size_t i = 0; i < 3; ++i) row[i] = seen.back() == 1 ? -INFINITY : rows[0][i];
    });
    const auto promised = [&](auto drafter, auto criterion, const topology& shape) {
        const auto scheme = speculate(std::move(drafter), target, policy::tree_static(shape), criterion);
        return testing::broken_promise(scheme, std::vector<token>{2, 0}, up_to(most));
    };
    const draft::sampled_with_replacement replacing{};
    for (const topology& shape : {topology{-1, -1, 0, 1}, topology{-1, -1, 0, 0, 1}}) {
        BOOST_TEST(promised(draft::draft_model(chains), accept::multipath_block{}, shape) == "");
        BOOST_TEST(promised(draft::draft_model(blind), accept::multipath_block{}, shape) == "");
        BOOST_TEST(promised(draft::draft_model(tree_mock(chains)), accept::multipath_block{}, shape) == "");
        BOOST_TEST(promised(draft::draft_model(chains), accept::traversal{}, shape) == "");
        BOOST_TEST(promised(draft::draft_model(chains, replacing), accept::traversal{}, shape) == "");
        BOOST_TEST(promised(draft::draft_model(blind, replacing), accept::traversal{}, shape) == "");
        BOOST_TEST(promised(draft::draft_model(blind, replacing), accept::rejection_sampling{}, shape) == "");
    }
}

BOOST_AUTO_TEST_CASE(at_temperature_0_children_are_the_best_whatever_the_selector) {
    const tree_mock target(testing::hashed_model(6, 1));
    const function_model source = testing::hashed_model(6, 2);
    const auto by = [&](auto token_selector, auto criterion) {
        return decoded(
            speculate(draft::draft_model(source, token_selector), target, policy::tree_static(wide), criterion), 0);
    };
    const tally expected = by(draft::argmax{}, accept::exact{});
    BOOST_TEST(expected.siblings > 3u);
    for (const tally& other :
         {by(draft::shared_noise{}, accept::coupled{}), by(draft::sampled{}, accept::rejection_sampling{}),
          by(draft::sampled_with_replacement{}, accept::rejection_sampling{})}) {
        BOOST_TEST((other.text == expected.text && other.accepted == expected.accepted));
    }
}

BOOST_AUTO_TEST_CASE(a_length_is_the_chain_of_draft_model) {
    const tree_mock target(testing::noisy_model(testing::hashed_model(6, 1), .3));
    const function_model source = testing::hashed_model(6, 1);
    const auto same = [&](auto token_selector, auto policy, auto criterion) {
        for (std::uint64_t seed = 0; seed < 5; ++seed) {
            auto chosen = up_to(40);
            chosen.seed = seed;
            const auto text_by = [&](auto drafter, auto by) {
                const auto decoded = decode::generate(speculate(std::move(drafter), target, by, criterion),
                                                      std::vector<token>{2, 1, 4}, chosen);
                return std::pair(decoded.tokens, decoded.counts.rounds());
            };
            const auto expected = text_by(draft::draft_model(source, token_selector), policy);
            BOOST_CHECK((text_by(draft::draft_model(source, token_selector), policy) == expected));
        }
    };
    const policy::entropy_bins bins{{0.8, 1.2}, {4, 2, 1}};  // asks before each token
    same(draft::sampled{}, policy::fixed_length{3}, accept::rejection_sampling{});
    same(draft::sampled{}, bins, accept::rejection_sampling{});
    same(draft::shared_noise{}, bins, accept::coupled{});
    same(draft::argmax{}, bins, accept::coupled{});
}

/// Counts passes and their tokens.
struct counting_trees : tree_mock {
    using tree_mock::tree_mock;
    std::shared_ptr<std::vector<std::size_t>> passes_run = std::make_shared<std::vector<std::size_t>>();
    scattered_scores run(std::span<const pass_type> asked) const {
        for (const auto& each : asked) passes_run->push_back(each.tokens.size());
        return tree_mock::run(asked);
    }
};

BOOST_AUTO_TEST_CASE(a_policy_that_looks_ahead_sees_the_greedy_chain_before_it_plans) {
    const function_model chains = testing::hashed_model(6, 1);
    const tree_mock target(between(chains, testing::hashed_model(6, 2)));
    const tree_mock trees(chains);
    const topology aside = topology::of_paths({{0}, {1}, {1, 0}, {1, 0, 0}, {1, 0, 1}});
    // Nodes of the chain that are still to be reached have no numbers that others have.
    const topology deep =
        topology::of_paths({{0}, {1}, {2}, {0, 0}, {1, 0}, {2, 0}, {0, 0, 0}, {2, 0, 0}, {0, 0, 0, 0}, {2, 0, 0, 0}});
    const auto row_after = [&](std::vector<token> text, const std::vector<token>& path) {
        text.insert(text.end(), path.begin(), path.end());
        std::vector<float> row(6);
        chains.fill_row(text, row);
        return row;
    };
    const auto shown = [&](const auto& model, auto token_selector, auto criterion, float temperature) {
        const auto scheme_of = [&](auto policy) {
            return speculate(draft::draft_model(model, token_selector), target, policy, criterion);
        };
        for (const topology* shape : {&wide, &aside}) {
            for (const std::size_t rows : {2u, 3u}) {
                testing::is_shown_the_greedy_chain(scheme_of, row_after, *shape, rows, temperature);
            }
        }
        testing::is_shown_the_greedy_chain(scheme_of, row_after, deep, 4, temperature);
    };
    shown(chains, draft::argmax{}, accept::exact{}, 0);
    shown(trees, draft::argmax{}, accept::exact{}, 0);
    shown(trees, draft::sampled{}, accept::rejection_sampling{}, 0);
    shown(chains, draft::sampled{}, accept::rejection_sampling{}, 1);
    shown(trees, draft::sampled{}, accept::rejection_sampling{}, 1);
    shown(trees, draft::shared_noise{}, accept::coupled{}, 1);
}

BOOST_AUTO_TEST_CASE(rows_of_the_chain_are_not_made_again_and_stay_in_the_cache) {
    const counting_trees source(testing::hashed_model(6, 1));
    const tree_mock target(between(source, testing::hashed_model(6, 2)));
    std::vector<observation> asked;
    const auto scheme =
        speculate(draft::draft_model(source), target, testing::looking_ahead{&wide, &asked, 3}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 0}, 0);
    std::size_t missing = 1, kept = 0;
    for (int round = 0; round < 60; ++round) {
        source.passes_run->clear();
        const auto& record = decode::step(scheme, session);
        // The chain: [0], then [0, 0]; beside it [1], then [1, 0]. Each tree comes with the last committed token.
        BOOST_TEST((*source.passes_run == std::vector<std::size_t>{missing, 2, 3, 4, 5}));
        missing = session.committed.size() - session.drafter_state.tokens().size();
        std::size_t inner = 0;
        for (std::size_t i = 0; i < record.decided.accepted; ++i) {
            const auto node = static_cast<std::int32_t>(record.decided.node(i));
            inner += std::count(wide.parents().begin(), wide.parents().end(), node) > 0 ? 1 : 0;
        }
        BOOST_TEST(missing == 1 + record.decided.accepted - inner);
        kept += inner;
    }
    BOOST_TEST(kept > 20u);
}

BOOST_AUTO_TEST_CASE(what_was_committed_of_the_nodes_stays_in_the_cache) {
    const counting_trees source(testing::hashed_model(6, 1));
    const tree_mock target(between(source, testing::hashed_model(6, 2)));
    const auto scheme = speculate(draft::draft_model(source), target, policy::tree_static(wide), accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 0}, 0);
    std::size_t missing = 1, kept = 0, later = 0;
    for (int round = 0; round < 60; ++round) {
        source.passes_run->clear();
        const auto& record = decode::step(scheme, session);
        // Inner nodes: [0], [1]; these and [0, 0], [1, 0]. Each tree comes with the last committed token.
        BOOST_TEST((*source.passes_run == std::vector<std::size_t>{missing, 3, 5}));
        const auto held = session.drafter_state.tokens();
        const auto committed = session.committed.tokens();
        BOOST_TEST((held.size() < committed.size() && std::equal(held.begin(), held.end(), committed.begin())));
        BOOST_TEST(source.length(session.drafter_state.sequence()) == held.size());
        missing = committed.size() - held.size();
        // Of the accepted path the inner nodes: all but a leaf, and the token that followed.
        std::size_t inner = 0;
        for (std::size_t i = 0; i < record.decided.accepted; ++i) {
            const auto node = static_cast<std::int32_t>(record.decided.node(i));
            inner += std::count(wide.parents().begin(), wide.parents().end(), node) > 0 ? 1 : 0;
            later += node == 1 ? 1 : 0;  // the second child of the prefix
        }
        BOOST_TEST(missing == 1 + record.decided.accepted - inner);
        kept += inner;
    }
    BOOST_TEST((kept > 20u && later > 3u), kept << " and " << later);
}

BOOST_AUTO_TEST_CASE(of_a_chain_no_row_is_made_after_its_last_token) {
    const counting_trees source(testing::hashed_model(6, 1));
    const tree_mock target(testing::hashed_model(6, 2));
    const auto scheme = speculate(draft::draft_model(source), target, policy::fixed_length{3}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 0}, 0);
    for (int round = 0; round < 10; ++round) {
        source.passes_run->clear();
        BOOST_TEST(decode::step(scheme, session).proposed.size() == 3u);
        BOOST_TEST(source.passes_run->size() == 3u);
    }
}

/// One of two trees, in turn, their nodes path by path.
struct alternating {
    augur::topology first{-1, 0, 0, -1};
    augur::topology second{-1, 0, -1, 2, 2};
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation& seen) const { return {.tree = &(seen.round % 2 == 0 ? first : second)}; }
};

BOOST_AUTO_TEST_CASE(each_round_has_its_own_plan) {
    using numbers = std::vector<std::int32_t>;
    const tree_mock source(testing::hashed_model(6, 1)), target(testing::hashed_model(6, 2));
    const auto scheme = speculate(draft::draft_model(source), target, alternating{}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 0}, 0);
    for (std::size_t round = 0; round < 10; ++round) {
        const auto& proposed = decode::step(scheme, session).proposed;
        BOOST_TEST(proposed.parents() ==
                       std::span<const std::int32_t>(round % 2 == 0 ? numbers{-1, -1, 0, 0} : numbers{-1, -1, 0, 1, 1}),
                   boost::test_tools::per_element());
    }
}

/// Plans trees, and answers with a length.
struct chain_for_a_tree {
    static constexpr draft_shape plans = draft_shape::tree;
    draft_plan plan(const observation&) const { return {.length = 3}; }
};

BOOST_AUTO_TEST_CASE(a_length_in_place_of_a_tree_is_a_chain) {
    const tree_mock source(testing::hashed_model(6, 1)), target(testing::hashed_model(6, 2));
    const auto scheme = speculate(draft::draft_model(source), target, chain_for_a_tree{}, accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1, 0}, 0);
    const auto& proposed = decode::step(scheme, session).proposed;
    BOOST_TEST(proposed.size() == 3u);
    BOOST_TEST(proposed.is_chain());
}

/// Believes the drafter, and keeps five nodes.
struct keeps_five : growth_budget {
    static constexpr draft_shape plans = draft_shape::grown_tree;
    draft_plan plan(const observation&) const { return {.length = 3, .grow = this}; }
    float worth(float probability) const override { return probability; }
    std::size_t expand(const observation&, std::span<const float> values) const override { return values.size(); }
    std::size_t keep(const observation&, std::span<const float>) const override { return 5; }
};

BOOST_AUTO_TEST_CASE(a_plan_that_grows_needs_no_limits) {
    const tree_mock source(testing::hashed_model(6, 1)), target(testing::hashed_model(6, 2));
    const auto first_of = [&](const auto& drafter) {
        const auto scheme = speculate(drafter, target, keeps_five{}, accept::exact{});
        auto session = session_of(scheme, std::vector<token>{2, 1, 0}, 0);
        return decode::step(scheme, session).proposed;
    };
    const auto grown = first_of(draft::draft_model(source));
    BOOST_TEST(grown.size() == 5u);
    BOOST_TEST(!grown.is_chain());
    BOOST_TEST(testing::difference(first_of(draft::draft_model(source, draft::dynamic_tree{})), grown) == "");
}

/// The rows of nodes, in the order in which a model without trees is asked for them.
BOOST_AUTO_TEST_CASE(a_model_without_trees_is_asked_for_each_inner_node_alone) {
    std::vector<std::vector<token>> asked;
    const function_model source(3, 99, [&](std::span<const token> before, std::span<float> row) {
        asked.push_back({before.begin(), before.end()});
        row[0] = 2, row[1] = 1, row[2] = 0;
    });
    const tree_mock target(testing::hashed_model(3, 1));
    const auto scheme = speculate(draft::draft_model(source), target, policy::tree_static(wide), accept::exact{});
    auto session = session_of(scheme, std::vector<token>{2, 1}, 0);
    decode::step(scheme, session);
    using texts = std::vector<std::vector<token>>;
    BOOST_TEST((asked == texts{{2, 1}, {2, 1, 0}, {2, 1, 1}, {2, 1, 0, 0}, {2, 1, 1, 0}}));
}

BOOST_AUTO_TEST_CASE(in_a_context_that_is_too_short_there_is_what_fits) {
    const tree_mock target(testing::hashed_model(6, 1));
    const auto found_by = [&](const auto& source, auto policy) {
        const auto scheme = speculate(draft::draft_model(source), target, policy, accept::exact{});
        auto session = session_of(scheme, std::vector<token>{2, 1, 0, 3}, 0);
        const auto found = decode::step(scheme, session).proposed.parents();
        return std::vector<std::int32_t>(found.begin(), found.end());
    };
    const auto parents_in = [&](const auto& source) { return found_by(source, policy::tree_static(wide)); };
    using parents = std::vector<std::int32_t>;
    const auto shorter = [](std::size_t context) { return testing::hashed_model(6, 2, 2, context); };
    // Without trees the path counts, in a tree each node that is run.
    BOOST_TEST((parents_in(shorter(3)) == parents{}));
    BOOST_TEST((parents_in(shorter(4)) == parents{-1, -1, -1}));
    BOOST_TEST((parents_in(shorter(5)) == parents{-1, -1, -1, 0, 0, 1}));
    BOOST_TEST((parents_in(shorter(6)) == parents{-1, -1, -1, 0, 0, 1, 3, 5, 5}));
    BOOST_TEST((parents_in(tree_mock(shorter(3))) == parents{}));
    BOOST_TEST((parents_in(tree_mock(shorter(4))) == parents{-1, -1, -1}));
    BOOST_TEST((parents_in(tree_mock(shorter(5))) == parents{-1, -1, -1, 0, 0}));
    BOOST_TEST((parents_in(tree_mock(shorter(6))) == parents{-1, -1, -1, 0, 0, 1}));
    BOOST_TEST((parents_in(tree_mock(shorter(7))) == parents{-1, -1, -1, 0, 0, 1, 3}));
    BOOST_TEST((parents_in(tree_mock(shorter(8))) == parents{-1, -1, -1, 0, 0, 1, 3, 5, 5}));
    // Who looks ahead has the chain run first: with room for two inner nodes, [0] and [0, 0] in the place of [1].
    std::vector<observation> asked;
    const auto ahead_in = [&](const auto& source) { return found_by(source, testing::looking_ahead{&wide, &asked}); };
    for (const std::size_t context : {3u, 4u, 5u, 6u, 7u, 8u}) {
        BOOST_TEST((ahead_in(shorter(context)) == parents_in(shorter(context))));
        const tree_mock trees(shorter(context));
        BOOST_TEST((ahead_in(trees) == (context == 6 ? parents{-1, -1, -1, 0, 0, 3} : parents_in(trees))));
    }
}

BOOST_AUTO_TEST_CASE(a_row_without_numbers_has_no_children) {
    const tree_mock target(testing::hashed_model(3, 1));
    for (const token bad : {0, 1, 2}) {
        const function_model source(3, 64, [&](std::span<const token> before, std::span<float> row) {
            row[0] = 2, row[1] = 1, row[2] = 0;
            if (before.size() > 2 && before.back() == bad) row[1] = NAN;
        });
        const auto nodes = [&](auto drafter, auto criterion, float temperature) {
            const auto scheme = speculate(std::move(drafter), target, policy::tree_static(small), criterion);
            auto session = session_of(scheme, std::vector<token>{2, 1}, temperature);
            const auto& proposed = decode::step(scheme, session).proposed;
            for (std::size_t node = 0; node < proposed.size(); ++node) {
                const auto parent = proposed.parent(node);
                if (parent >= 0) BOOST_TEST(proposed.tokens()[static_cast<std::size_t>(parent)] != bad);
            }
            return proposed.size();
        };
        const std::size_t beneath[] = {2, 1, 0};  // of token 0 two children were planned, of 1 one
        BOOST_TEST(nodes(draft::draft_model(source), accept::exact{}, 0) ==
                   5 - (bad == 2 ? 0 : beneath[static_cast<std::size_t>(bad)]));
        nodes(draft::draft_model(source), accept::rejection_sampling{}, 1);
    }
    const function_model nothing(3, 64, [](std::span<const token>, std::span<float> row) { row[0] = INFINITY; });
    const auto scheme = speculate(draft::draft_model(nothing), target, policy::tree_static(small), accept::coupled{});
    BOOST_TEST(decoded(scheme, 1, 5).branching == 0u);
}

BOOST_AUTO_TEST_CASE(drawn_with_replacement_a_planned_tree_has_its_shape_whatever_is_drawn) {
    const tree_mock target(testing::hashed_model(3, 1));
    const function_model source = testing::hashed_model(3, 2);
    const function_model nothing(3, 64, [](std::span<const token>, std::span<float> row) { row[0] = INFINITY; });
    const auto with_selector = [&](const function_model& model) {
        return speculate(draft::draft_model(model, draft::sampled_with_replacement{}), target,
                         policy::tree_static(topology{-1, -1, 0, 1}), accept::rejection_sampling{});
    };
    const auto scheme = with_selector(source);
    std::size_t repeated = 0;
    auto session = session_of(scheme, std::vector<token>{2, 1});
    for (int round = 0; round < 100; ++round) {
        const auto& proposed = decode::step(scheme, session).proposed;
        repeated += proposed.tokens()[0] == proposed.tokens()[1] ? 1 : 0;
        BOOST_TEST(proposed.size() == 4u);
        BOOST_TEST((proposed.parent(2) == 0 && proposed.parent(3) == 1));
        for (token t = 0; t < 3; ++t) BOOST_TEST(proposed[0].probability(t) == proposed[1].probability(t));
    }
    BOOST_TEST((repeated > 10 && repeated < 90));

    const auto empty = with_selector(nothing);
    auto other = session_of(empty, std::vector<token>{2, 1});
    const auto& proposed = decode::step(empty, other).proposed;
    BOOST_TEST(proposed.size() == 4u);
    for (std::size_t node = 0; node < 4; ++node) BOOST_TEST(proposed[node].probability(0) == 1.0);
}

BOOST_AUTO_TEST_CASE(without_replacement_siblings_differ_and_the_second_row_lacks_the_first) {
    const tree_mock target(testing::hashed_model(5, 1));
    const function_model source = testing::hashed_model(5, 2);
    const auto scheme = speculate(draft::draft_model(source), target, policy::tree_static(topology{-1, -1, -1}),
                                  accept::rejection_sampling{});
    auto session = session_of(scheme, std::vector<token>{2, 1});
    for (int round = 0; round < 50; ++round) {
        const auto& proposed = decode::step(scheme, session).proposed;
        BOOST_TEST(proposed.size() == 3u);
        for (token t = 0; t < 5; ++t) {
            const token first = proposed.tokens()[0];
            const double left = t == first ? 0 : proposed[0].probability(t) / (1 - proposed[0].probability(first));
            BOOST_TEST(proposed[1].probability(t) == left, boost::test_tools::tolerance(1e-6));
        }
        BOOST_TEST(proposed[2].probability(proposed.tokens()[1]) == 0.0);
    }
}

BOOST_AUTO_TEST_CASE(other_vocabularies_and_limits_of_nothing_are_refused) {
    const tree_mock target(testing::hashed_model(5, 1));
    BOOST_CHECK_THROW(speculate(draft::draft_model(testing::hashed_model(4, 1)), target, policy::tree_static(small),
                                accept::rejection_sampling{}),
                      error);
    BOOST_CHECK_THROW(draft::draft_model(target, draft::dynamic_tree{.top_k = 0}), error);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
