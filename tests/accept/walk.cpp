#include "augur/accept/walk.hpp"

#include <augur/accept/block.hpp>
#include <augur/accept/coupled.hpp>
#include <augur/accept/exact.hpp>
#include <augur/accept/fuzzy.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/accept/rejection_sampling.hpp>
#include <augur/accept/rejection_then_fuzzy.hpp>
#include <augur/accept/traversal.hpp>
#include <augur/decode/generate.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/named_once.hpp>
#include <augur/testing/tree_round.hpp>
#include <augur/types/scores.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "accept/bush.hpp"
#include "accept/random_chain.hpp"
#include "sanitized.hpp"

using namespace augur;
using testing::random_chain;
using testing::two_paths;

BOOST_AUTO_TEST_SUITE(accept_walk)

/// Rows that each want one token.
struct wanted_rows {
    std::vector<float> logits;
    wanted_rows(std::size_t vocabulary, const std::vector<token>& wanted) : logits(vocabulary * wanted.size(), 0.0f) {
        for (std::size_t i = 0; i < wanted.size(); ++i)
            logits[i * vocabulary + static_cast<std::size_t>(wanted[i])] = 9;
        rows = scores(logits.data(), wanted.size(), vocabulary);
    }
    scores rows;
};

proposal<point_mass> drafted(const std::vector<token>& tokens) {
    proposal<point_mass> proposed;
    for (token t : tokens) proposed.push(t);
    return proposed;
}

struct fixture {
    transform::settings settings{.temperature = {0}};
    transform::pipeline greedy{settings, 5};
    prefix before{std::vector<token>{1, 2}};
    random::philox_chooser chooser{0};

    verdict judged(const std::vector<token>& guess, const scores& rows) {
        return accept::walk(accept::exact{}, drafted(guess), rows, greedy, before, chooser, 0);
    }
};

BOOST_FIXTURE_TEST_CASE(all_accepted_is_followed_by_a_bonus, fixture) {
    const wanted_rows target(5, {3, 4, 0});
    const verdict ruled = judged({3, 4}, target.rows);
    BOOST_TEST(ruled.accepted == 2u);
    BOOST_TEST(ruled.next == 0);
    BOOST_TEST((ruled.next_origin() == origin::bonus));
    BOOST_TEST(before.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(the_correction_comes_from_the_rejected_row, fixture) {
    const wanted_rows target(5, {3, 4, 0, 1});
    const verdict ruled = judged({3, 2, 0}, target.rows);
    BOOST_TEST(ruled.accepted == 1u);
    BOOST_TEST(ruled.next == 4);
    BOOST_TEST((ruled.next_origin() == origin::correction));
}

BOOST_FIXTURE_TEST_CASE(a_wrong_first_token_is_rejected_even_alone, fixture) {
    const wanted_rows target(5, {3, 4});
    const verdict ruled = judged({2}, target.rows);
    BOOST_TEST(ruled.accepted == 0u);
    BOOST_TEST(ruled.next == 3);
}

BOOST_FIXTURE_TEST_CASE(nothing_drafted_is_plain_decoding, fixture) {
    const wanted_rows target(5, {2});
    const verdict ruled = judged({}, target.rows);
    BOOST_TEST(ruled.next == 2);
    BOOST_TEST((ruled.next_origin() == origin::plain));
}

BOOST_FIXTURE_TEST_CASE(a_row_without_numbers_ends_the_walk_there, fixture) {
    for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        wanted_rows target(5, {3, 4, 0});
        target.logits[5 + 1] = bad;
        const verdict ruled = judged({3, 4}, target.rows);
        BOOST_TEST(ruled.accepted == 1u);
        BOOST_TEST(ruled.invalid_row());
        BOOST_TEST(before.size() == 2u);
    }
}

BOOST_FIXTURE_TEST_CASE(each_row_is_transformed_with_the_tokens_before_it, fixture) {
    // A presence penalty that makes any token impossible to repeat: the second row must already know the first draft.
    settings.penalties.presence = 100;
    greedy = transform::pipeline(settings, 5);
    const wanted_rows target(5, {3, 3, 3});
    const verdict ruled = judged({3, 3}, target.rows);
    BOOST_TEST(ruled.accepted == 1u);
    BOOST_TEST(ruled.next == 0);
    BOOST_TEST(before.counts().at(1).anywhere == 1u);
    BOOST_TEST(!before.counts().contains(3));
}

BOOST_FIXTURE_TEST_CASE(rows_are_left_as_they_were, fixture) {
    settings.temperature.value = 0.5f;
    settings.top_k.k = 2;
    greedy = transform::pipeline(settings, 5);
    const wanted_rows target(5, {3, 4, 0});
    const std::vector<float> copy = target.logits;
    accept::walk(accept::coupled{}, drafted({3, 4}), target.rows, greedy, before, chooser, 0);
    BOOST_TEST(target.logits == copy, boost::test_tools::per_element());
}

template <class Criterion>
void check_names() {
    const auto target = testing::hashed_model(5, 1);
    const auto scheme = speculate(testing::hashed_model(5, 2), target, policy::fixed_length{4}, Criterion{});
    decode::options chosen;
    chosen.stop.max_tokens = 60;
    const std::vector<token> prompt{1};
    const testing::named_once chooser(random::philox_chooser(3));
    decode::generate_with(chooser, scheme, prompt, chosen);
    BOOST_TEST(chooser.names() > 60u);
}

BOOST_AUTO_TEST_CASE(no_random_number_decides_twice) {
    check_names<accept::rejection_sampling>();
    check_names<accept::block>();
}

/// A chain that says the parents of its nodes, as if it were any tree.
template <class DraftDistribution>
struct chain_as_tree {
    using draft_distribution_type = DraftDistribution;
    const proposal<DraftDistribution>& chain;
    topology shape = topology::chain(chain.size());

    explicit chain_as_tree(const proposal<DraftDistribution>& of) : chain(of) {}
    std::size_t size() const { return chain.size(); }
    std::span<const token> tokens() const { return chain.tokens(); }
    std::span<const std::int32_t> parents() const { return shape.parents(); }
    drafted_token<DraftDistribution> operator[](std::size_t i) const { return chain[i]; }
};

template <class DraftDistribution, class Criterion>
void check_chains(const Criterion& criterion, float temperature) {
    std::mt19937 random(1);
    std::size_t accepted = 0, rejected = 0;
    for (std::size_t i = 0; i < 1000; ++i) {
        const std::size_t vocabulary = 2 + random() % 5;
        const random_chain<DraftDistribution> round(random, vocabulary);
        transform::settings settings{.temperature = {temperature}};
        settings.penalties.presence = 0.5f;
        const transform::pipeline transform(settings, vocabulary);
        prefix before(std::vector<token>{0, 1});
        random::philox_chooser chooser(random());
        const verdict chain = accept::walk(criterion, round.proposed, round.rows, transform, before, chooser, i);
        const chain_as_tree tree(round.proposed);
        const verdict got = accept::walk(criterion, tree, round.rows, transform, before, chooser, i);
        BOOST_TEST(chain.path.empty());
        BOOST_TEST(got.accepted == chain.accepted);
        BOOST_TEST(got.next == chain.next);
        BOOST_TEST((got.invalid_row() || got.next_origin() == chain.next_origin()));
        for (std::size_t node = 0; node < got.accepted; ++node) BOOST_TEST(got.node(node) == chain.node(node));
        accepted += got.accepted;
        rejected += got.accepted < round.proposed.size() ? 1 : 0;
    }
    BOOST_TEST(accepted > 100u);
    BOOST_TEST(rejected > 100u);
}

BOOST_AUTO_TEST_CASE(a_chain_given_as_a_tree_is_judged_as_the_chain_bit_for_bit) {
    const auto both = [](const auto& criterion, float temperature) {
        check_chains<point_mass>(criterion, temperature);
        check_chains<distribution>(criterion, temperature);
    };
    both(accept::exact{}, 0);
    both(accept::coupled{}, 0.8f);
    both(accept::rejection_sampling{}, 0.8f);
    both(accept::block{}, 0.8f);
    both(accept::traversal{}, 0.8f);
    both(accept::fuzzy<measure::total_variation>{0.7}, 0.8f);
    both(accept::rejection_then_fuzzy<measure::total_variation>{0.4}, 0.8f);
}

template <class TokenSelector, class Criterion>
void check_trees(const Criterion& criterion, float temperature = 1) {
    for (const topology& shape : testing::small_shapes) {
        for (std::size_t seed = 1; seed < testing::unless_sanitized<std::size_t>(4, 2); ++seed) {
            testing::tree_round round{testing::hashed_model(3, seed), testing::hashed_model(3, seed + 10), shape};
            round.sampling.temperature.value = temperature;
            round.sampling.penalties.presence = 0.5f;
            testing::keeps_its_promise<TokenSelector>(criterion, round);
        }
    }
}

BOOST_AUTO_TEST_CASE(trees_keep_what_is_promised_exactly) {
    check_trees<draft::sampled>(accept::rejection_sampling{});
    check_trees<draft::argmax>(accept::rejection_sampling{});
    check_trees<draft::sampled>(accept::coupled{});
    check_trees<draft::shared_noise>(accept::coupled{});
    check_trees<draft::argmax>(accept::exact{}, 0);
    check_trees<draft::sampled>(accept::exact{}, 0);
    check_trees<draft::sampled>(accept::traversal{});
    check_trees<draft::argmax>(accept::traversal{});
    check_trees<draft::sampled_with_replacement>(accept::multipath_block{});
}

/// Rows with zeros, of which several tokens have none left once their siblings are drawn.
BOOST_AUTO_TEST_CASE(trees_keep_it_where_rows_have_zeros) {
    const auto target = testing::markov_model({{2, 0, 1}, {0, 1, 3}, {1, 1, 1}});
    const auto draft = testing::markov_model({{0, 1, 1}, {1, 0, 0}, {0, 0, 1}});
    for (const topology& shape : testing::small_shapes) {
        const testing::tree_round round{target, draft, shape};
        BOOST_TEST(testing::broken_promise(accept::rejection_sampling{}, round, draft::sampled{}) == "");
        BOOST_TEST(testing::broken_promise(accept::coupled{}, round, draft::sampled{}) == "");
    }
}

/// Judges each sibling with the coin of the first.
struct shares_a_coin : accept::rejection_sampling {
    bool accepts(const auto& target, const auto& drafted, auto& draws) const {
        draws.at_sibling(0);
        return rejection_sampling::accepts(target, drafted, draws);
    }
};

/// Knows nothing of the siblings before: what the first has left is the target.
struct judges_each_alone : accept::rejection_sampling {
    const auto& after_rejection(const auto& target, const auto& /*drafted*/) const { return target; }
};

BOOST_AUTO_TEST_CASE(siblings_that_share_a_coin_are_refused_by_name) {
    const testing::tree_round round{testing::hashed_model(3, 1), testing::hashed_model(3, 2), {-1, 0, 0}};
    const auto named = [](const error& thrown) {
        const std::string said = thrown.what();
        return said.find(
                   "the random number of position 2, node 0, sibling 0, purpose accept, round 0 is asked for "
                   "twice: first by flip(") == 0 &&
               said.find("), then by flip(") != std::string::npos;
    };
    BOOST_CHECK_EXCEPTION(testing::broken_promise(shares_a_coin{}, round, draft::sampled{}), error, named);
    const auto in_one_text = [&] {
        for (std::size_t seed = 0; seed < 50; ++seed) {
            round.text(shares_a_coin{}, draft::sampled{}, testing::named_once(random::philox_chooser(seed)));
        }
    };
    BOOST_CHECK_EXCEPTION(in_one_text(), error, named);
    for (std::size_t seed = 0; seed < 50; ++seed) {
        round.text(accept::rejection_sampling{}, draft::sampled{}, testing::named_once(random::philox_chooser(seed)));
    }
    BOOST_TEST(testing::broken_promise(judges_each_alone{}, round, draft::sampled{}).find("total variation 0.0") == 0u);
}

void check_verdicts(fixture& with, const auto& criterion) {
    const auto walked = [&](const std::vector<token>& wanted) {
        return accept::walk(criterion, two_paths(), wanted_rows(5, wanted).rows, with.greedy, with.before, with.chooser,
                            0);
    };
    // Rows: after the prefix, then after each node.
    const verdict to_a_leaf = walked({1, 4, 0, 4, 4, 2});
    BOOST_TEST((to_a_leaf == verdict{.drafted = 5, .accepted = 2, .next = 2, .path = {1, 4}, .at_leaf = true}));
    BOOST_TEST((to_a_leaf.next_origin() == origin::bonus));
    const verdict half_way = walked({3, 2, 0, 0, 0, 0});
    BOOST_TEST((half_way == verdict{.drafted = 5, .accepted = 1, .next = 2, .path = {0}}));
    BOOST_TEST((half_way.next_origin() == origin::correction));
    const verdict nowhere = walked({4, 0, 0, 0, 0, 0});
    BOOST_TEST((nowhere == verdict{.drafted = 5, .accepted = 0, .next = 4}));
    BOOST_TEST((nowhere.next_origin() == origin::correction));
    BOOST_TEST(with.before.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(the_verdict_is_the_path_of_accepted_nodes, fixture) {
    check_verdicts(*this, accept::exact{});
    check_verdicts(*this, accept::traversal{});
}

BOOST_FIXTURE_TEST_CASE(a_verdict_in_storage_forgets_the_walk_before, fixture) {
    verdict out;
    accept::walk_storage<transform::pipeline, accept::exact> storage;
    const wanted_rows first(5, {1, 4, 0, 4, 4, 2}), second(5, {3, 2});
    accept::walk(accept::exact{}, two_paths(), first.rows, greedy, before, chooser, 0, storage, out);
    BOOST_TEST(out.at_leaf);
    accept::walk(accept::exact{}, drafted({3}), second.rows, greedy, before, chooser, 0, storage, out);
    BOOST_TEST((out == verdict{.drafted = 1, .accepted = 1, .next = 2}));
}

BOOST_FIXTURE_TEST_CASE(a_verdict_in_storage_forgets_the_token_where_no_row_gives_another, fixture) {
    verdict out;
    accept::walk_storage<transform::pipeline, accept::exact> storage;
    wanted_rows sound(5, {3, 2}), broken(5, {3, 2});
    broken.logits[5] = std::numeric_limits<float>::quiet_NaN();
    for (const auto* rows : {&sound, &broken}) {
        accept::walk(accept::exact{}, drafted({3}), rows->rows, greedy, before, chooser, 0, storage, out);
    }
    BOOST_TEST((out == verdict{.drafted = 1, .accepted = 1}));
}

BOOST_FIXTURE_TEST_CASE(in_a_tree_too_a_row_without_numbers_ends_the_walk_there, fixture) {
    wanted_rows target(5, {1, 4, 0, 4, 4, 2});
    target.logits[5 * 2 + 1] = std::numeric_limits<float>::quiet_NaN();  // after node 1
    const verdict ruled = accept::walk(accept::exact{}, two_paths(), target.rows, greedy, before, chooser, 0);
    BOOST_TEST(ruled.path == (std::vector<std::size_t>{1}), boost::test_tools::per_element());
    BOOST_TEST(ruled.invalid_row());
}

BOOST_FIXTURE_TEST_CASE(each_path_has_its_own_history, fixture) {
    settings.penalties.presence = 100;
    greedy = transform::pipeline(settings, 5);
    proposal<point_mass> proposed;
    proposed.push(3, after_prefix);
    proposed.push(4, after_prefix);
    proposed.push(3, 1);  // new on this path
    const wanted_rows target(5, {4, 4, 3, 0});
    const verdict ruled = accept::walk(accept::exact{}, proposed, target.rows, greedy, before, chooser, 0);
    BOOST_TEST(ruled.path == (std::vector<std::size_t>{1, 2}), boost::test_tools::per_element());
    BOOST_TEST(!before.counts().contains(3));
}

BOOST_FIXTURE_TEST_CASE(a_criterion_of_whole_chains_refuses_a_tree_with_node_and_parent, fixture) {
    const wanted_rows target(5, {1, 4, 0, 4, 4, 2});
    BOOST_CHECK_EXCEPTION(accept::walk(accept::block{}, two_paths(), target.rows, greedy, before, chooser, 0), error,
                          [](const error& e) {
                              return std::string(e.what()) ==
                                     "a chain of drafted tokens is wanted here, but of 5 the parent of node 1 is -1";
                          });
    BOOST_TEST(before.size() == 2u);
}

/// Writes down what it is told, and ends the walk before a row.
struct notes {
    std::size_t ends_before;
    std::vector<std::size_t>& rows;
    std::vector<token>& tokens;
    bool wants(std::size_t row) const { return row != ends_before; }
    void took(std::size_t row, const auto& target, token taken) const {
        BOOST_TEST(target.probability(taken) > 0);
        rows.push_back(row);
        tokens.push_back(taken);
    }
};

template <class Criterion>
verdict watched(fixture& with, const Criterion& criterion, const auto& proposed, const wanted_rows& target, notes by) {
    accept::walk_storage<transform::pipeline, Criterion> storage;
    verdict out;
    accept::walk(criterion, proposed, target.rows, with.greedy, with.before, with.chooser, 0, storage, out, by);
    return out;
}

BOOST_FIXTURE_TEST_CASE(whoever_watches_sees_each_token_and_can_end_the_walk, fixture) {
    const wanted_rows target(5, {1, 4, 0, 4, 4, 2});
    std::vector<std::size_t> rows;
    std::vector<token> tokens;
    watched(*this, accept::exact{}, two_paths(), target, {99, rows, tokens});
    BOOST_TEST(rows == (std::vector<std::size_t>{0, 2, 5}), boost::test_tools::per_element());
    BOOST_TEST(tokens == (std::vector<token>{1, 0, 2}), boost::test_tools::per_element());
    const auto check_end = [&](const auto& criterion) {
        rows.clear();
        tokens.clear();
        const verdict ended = watched(*this, criterion, drafted({1, 4, 0}), target, {1, rows, tokens});
        BOOST_TEST((ended == verdict{.drafted = 3, .accepted = 1, .next = no_token}));
        BOOST_TEST(tokens == (std::vector<token>{1}), boost::test_tools::per_element());
    };
    check_end(accept::exact{});
    check_end(accept::block{});
    check_end(accept::traversal{});
    // A tree that is judged at once: the same, and what is left of the path is a path.
    rows.clear();
    tokens.clear();
    watched(*this, accept::traversal{}, two_paths(), target, {99, rows, tokens});
    BOOST_TEST(rows == (std::vector<std::size_t>{0, 2, 5}), boost::test_tools::per_element());
    BOOST_TEST(tokens == (std::vector<token>{1, 0, 2}), boost::test_tools::per_element());
    const verdict ended = watched(*this, accept::traversal{}, two_paths(), target, {5, rows, tokens});
    BOOST_TEST(ended.accepted == 2u);
    BOOST_TEST(ended.path == (std::vector<std::size_t>{1, 4}), boost::test_tools::per_element());
    BOOST_TEST(ended.next == no_token);
    const verdict sooner = watched(*this, accept::traversal{}, two_paths(), target, {2, rows, tokens});
    BOOST_TEST(sooner.path == (std::vector<std::size_t>{1}), boost::test_tools::per_element());
}

/// Asks for every row, and for every random number that a tree has; accepts the path to one node.
struct asks_everything {
    using guarantee = guarantee::none;
    std::size_t leaf = 0;
    std::vector<token>* wanted = nullptr;  ///< after the prefix and each node

    token judge_tree(const auto& targets, const auto& proposed, const auto& draws,
                     std::vector<std::size_t>& path) const {
        for (std::size_t row = proposed.size() + 1; row > 0; --row) wanted->push_back(targets[row - 1].mode());
        std::vector<std::size_t> children(proposed.size() + 1, 0);
        for (std::size_t node = 0; node < proposed.size(); ++node) {
            const std::int32_t parent = parents::of(parents_of(proposed), node);
            auto here = draws(parent, children[static_cast<std::size_t>(parent + 1)]++);
            here.flip(0.5, purpose::accept);
            auto after = draws(static_cast<std::int32_t>(node), 0);
            after.choose(targets[node + 1], purpose::correction);
        }
        for (auto at = static_cast<std::int32_t>(leaf); at != after_prefix;
             at = parents::of(parents_of(proposed), static_cast<std::size_t>(at))) {
            path.insert(path.begin(), static_cast<std::size_t>(at));
        }
        return 1;
    }
    token draw(const auto& target, auto& /*draws*/) const { return target.mode(); }
};
static_assert(JudgesTrees<asks_everything, point_mass> && !ReturnsVerdict<asks_everything, point_mass>);

BOOST_FIXTURE_TEST_CASE(a_criterion_of_whole_trees_has_the_row_after_each_node, fixture) {
    std::vector<token> wanted;
    const wanted_rows target(5, {1, 4, 0, 3, 2, 2});
    const verdict ruled =
        accept::walk(asks_everything{3, &wanted}, two_paths(), target.rows, greedy, before, chooser, 0);
    BOOST_TEST(wanted == (std::vector<token>{2, 2, 3, 0, 4, 1}), boost::test_tools::per_element());
    BOOST_TEST((ruled == verdict{.drafted = 5, .accepted = 2, .next = 1, .path = {1, 3}, .at_leaf = true}));
    wanted.clear();
    const verdict half =
        accept::walk(asks_everything{1, &wanted}, two_paths(), target.rows, greedy, before, chooser, 0);
    BOOST_TEST((half == verdict{.drafted = 5, .accepted = 1, .next = 1, .path = {1}}));
    BOOST_TEST((half.next_origin() == origin::correction));
    const wanted_rows of_chain(5, {1, 4, 0});
    const verdict chain =
        accept::walk(asks_everything{0, &wanted}, drafted({1, 4}), of_chain.rows, greedy, before, chooser, 0);
    BOOST_TEST((chain == verdict{.drafted = 2, .accepted = 1, .next = 1}));
    BOOST_TEST(before.size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(which_is_transformed_with_the_path_to_it_whatever_was_asked_before, fixture) {
    std::vector<std::vector<token>> histories;
    settings.mask = [&](std::span<float>, const prefix& seen) {
        histories.emplace_back(seen.tokens().begin(), seen.tokens().end());
    };
    greedy = transform::pipeline(settings, 5);
    std::vector<token> wanted;
    const wanted_rows target(5, {1, 4, 0, 3, 2, 2});
    accept::walk(asks_everything{3, &wanted}, two_paths(), target.rows, greedy, before, chooser, 0);
    const std::vector<std::vector<token>> expected{{1, 2, 1, 0}, {1, 2, 1, 2}, {1, 2, 3, 4},
                                                   {1, 2, 1},    {1, 2, 3},    {1, 2}};
    BOOST_TEST((histories == expected));  // each once, last first
    BOOST_TEST(before.counts().size() == 2u);
}

BOOST_AUTO_TEST_CASE(every_node_and_sibling_of_a_tree_has_random_numbers_of_its_own) {
    std::mt19937 random(3);
    std::size_t names = 0;
    for (std::size_t i = 0; i < 200; ++i) {
        proposal<point_mass> proposed;
        for (std::size_t node = 0, nodes = 1 + random() % 20; node < nodes; ++node) {
            proposed.push(static_cast<token>(random() % 5), static_cast<std::int32_t>(random() % (node + 1)) - 1);
        }
        const std::vector<std::vector<float>> rows(proposed.size() + 1, std::vector<float>(5, 0.0f));
        testing::named_once chooser{random::philox_chooser(i)};  // refuses a second question
        prefix before(std::vector<token>{0});
        std::vector<token> wanted;
        accept::walk(asks_everything{0, &wanted}, proposed, rows, transform::pipeline({}, 5), before, chooser, 0);
        names += chooser.names();
        BOOST_TEST(chooser.names() == 2 * proposed.size());
    }
    BOOST_TEST(names > 1000u);
}

/// Counts the questions.
struct counted {
    random::philox_chooser chooser;
    std::size_t* asked;
    std::size_t choose(const Weights auto& weights, draw_key key) const {
        return ++*asked, chooser.choose(weights, key);
    }
    bool flip(double probability, draw_key key) const { return ++*asked, chooser.flip(probability, key); }
    std::size_t exponential_race(const Weights auto& weights, std::size_t position) const {
        return ++*asked, chooser.exponential_race(weights, position);
    }
};

BOOST_AUTO_TEST_CASE(one_race_serves_all_siblings_of_a_position) {
    std::size_t younger = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::size_t asked = 0;
        counted chooser{random::philox_chooser(seed), &asked};
        proposal<point_mass> proposed;
        for (token t = 0; t < 4; ++t) proposed.push(t, after_prefix);
        prefix before(std::vector<token>{0});
        const std::vector<std::vector<float>> rows(5, std::vector<float>(5, 0.0f));
        const verdict ruled =
            accept::walk(accept::coupled{}, proposed, rows, transform::pipeline({}, 5), before, chooser, 0);
        BOOST_TEST(asked == 1 + ruled.accepted);  // one for each position
        younger += ruled.path.empty() || ruled.path[0] > 0 ? 1 : 0;
    }
    BOOST_TEST(younger > 10u);  // where more than one sibling was compared
}

BOOST_AUTO_TEST_SUITE_END()
