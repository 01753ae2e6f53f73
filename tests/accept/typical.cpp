#include "augur/accept/typical.hpp"

#include <augur/accept/rejection_sampling.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "accept/bush.hpp"
#include "sanitized.hpp"

namespace augur::accept {
static_assert(JudgesTrees<typical, point_mass> && JudgesTrees<typical, distribution>);
static_assert(!Lossless<typical>);
static_assert(std::is_same_v<guarantee_of<typical>, guarantee::minimum_probability>);
}  // namespace augur::accept

using namespace augur;
using accept::typical;
using accept::typical_next;
using testing::hashed_model;
using testing::tree_round;

BOOST_AUTO_TEST_SUITE(accept_typical)

BOOST_AUTO_TEST_CASE(laws) {
    for (const typical_next next : {typical_next::most_probable, typical_next::drawn}) {
        const auto r = testing::criterion_laws(typical{{.next = next}}, {.cases = 150, .widest = 33'000});
        BOOST_TEST(r.kept(), r);
    }
}

double entropy_nats(const distribution& row) {
    double entropy = 0;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const double p = row.probability(static_cast<token>(i));
        entropy -= p > 0 ? p * std::log(p) : 0;
    }
    return entropy;
}

BOOST_AUTO_TEST_CASE(the_promise_is_the_smaller_of_epsilon_and_a_part_of_exp_minus_entropy) {
    const auto promised = typical{}.promised();
    BOOST_TEST(promised.bound(0) == 0.09);
    BOOST_TEST(promised.bound(std::log(10.0)) == 0.03, boost::test_tools::tolerance(1e-12));
    const typical other({.epsilon = 0.5, .delta = 0.2});
    BOOST_TEST(other.promised().bound(0) == 0.2);
    BOOST_TEST(guarantee::minimum_probability{}.bound(1) == 0);
}

BOOST_AUTO_TEST_CASE(the_threshold_is_the_published_one_and_above_the_promise) {
    const typical rule;
    std::mt19937 random(1);
    for (std::size_t i = 0; i < 200; ++i) {
        std::vector<float> weights(2 + random() % 30);
        for (float& weight : weights) weight = static_cast<float>(random() % 5);
        weights[0] += 1;
        const auto row = distribution::weighted(weights);
        double published = 0;
        for (std::size_t t = 0; t < row.size(); ++t) {
            const double p = row.probability(static_cast<token>(t));
            published -= p * std::log(p + 1e-5);
        }
        BOOST_TEST(rule.threshold(row) == std::min(0.09, 0.3 * std::exp(-published)),
                   boost::test_tools::tolerance(1e-12));
        BOOST_TEST(rule.threshold(row) >= rule.promised().bound(entropy_nats(row)));
    }
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none_are_refused) {
    const auto says = [](const std::string& what) {
        return [what](const error& e) { return std::string(e.what()) == "accept::typical: " + what; };
    };
    BOOST_CHECK_EXCEPTION(typical({.epsilon = -0.1}), error, says("epsilon must be between 0 and 1, but it is -0.1"));
    BOOST_CHECK_EXCEPTION(typical({.epsilon = 1.5}), error, says("epsilon must be between 0 and 1, but it is 1.5"));
    BOOST_CHECK_EXCEPTION(typical({.delta = NAN}), error, says("delta must be between 0 and 1, but it is nan"));
    typical({.epsilon = 0, .delta = 1});
}

/// A tree of point masses and the rows to judge it by.
struct random_tree {
    proposal<point_mass> proposed;
    std::vector<std::vector<float>> rows;

    random_tree(std::mt19937& random, std::size_t vocabulary) {
        for (std::size_t node = 0, nodes = random() % 8; node < nodes; ++node) {
            proposed.push(static_cast<token>(random() % vocabulary),
                          static_cast<std::int32_t>(random() % (node + 1)) - 1);
        }
        for (std::size_t row = 0; row <= proposed.size(); ++row) {
            std::vector<float>& logits = rows.emplace_back(vocabulary);
            for (float& logit : logits) logit = static_cast<float>(random() % 1000) / 300;
        }
    }
    std::vector<std::size_t> path_to(std::size_t node) const {
        std::vector<std::size_t> path{node};
        while (proposed.parent(path.front()) != after_prefix) {
            path.insert(path.begin(), static_cast<std::size_t>(proposed.parent(path.front())));
        }
        return path;
    }
};

/// As Medusa's evaluate_posterior does: every path, the accepted length by a cumulative product, the longest, the most
/// likely.
std::vector<std::size_t> evaluate_posterior(const random_tree& tree, double temperature) {
    std::vector<std::size_t> best;
    double likelihood = 0;
    for (std::size_t leaf = 0; leaf < tree.proposed.size(); ++leaf) {
        std::vector<std::size_t> accepted;
        double sum = 0;
        bool still = true;
        for (const std::size_t node : tree.path_to(leaf)) {
            const auto& logits = tree.rows[static_cast<std::size_t>(tree.proposed.parent(node) + 1)];
            double total = 0, entropy = 0;
            for (const float logit : logits) total += std::exp(logit / temperature);
            for (const float logit : logits) {
                const double p = std::exp(logit / temperature) / total;
                entropy -= p * std::log(p + 1e-5);
            }
            const double p =
                std::exp(logits[static_cast<std::size_t>(tree.proposed.tokens()[node])] / temperature) / total;
            still = still && p > std::min(0.3, std::exp(-entropy) * 0.6);
            if (!still) break;
            accepted.push_back(node);
            sum += std::log(p);
        }
        if (accepted.size() > best.size() || (accepted.size() == best.size() && sum > likelihood + 1e-9)) {
            best = accepted;
            likelihood = sum;
        }
    }
    return best;
}

verdict judged(const typical& rule, const auto& proposed, const std::vector<std::vector<float>>& rows,
               const transform::settings& chosen, std::uint64_t seed = 0) {
    prefix before(std::vector<token>{0});
    random::philox_chooser chooser(seed);
    return accept::walk(rule, proposed, rows, transform::pipeline(chosen, rows[0].size()), before, chooser, 0);
}

BOOST_AUTO_TEST_CASE(the_path_is_that_of_the_published_code) {
    std::mt19937 random(2);
    std::size_t longest = 0, branched = 0;
    for (std::size_t i = 0; i < 3000; ++i) {
        const random_tree tree(random, 4);
        const verdict got =
            judged(typical{{.epsilon = 0.3, .delta = 0.6}}, tree.proposed, tree.rows, {.temperature = {0.7f}});
        const auto expected = evaluate_posterior(tree, 0.7f);
        BOOST_REQUIRE(got.accepted == expected.size());
        for (std::size_t node = 0; node < got.accepted; ++node) BOOST_TEST(got.node(node) == expected[node]);
        const auto& after = tree.rows[expected.empty() ? 0 : expected.back() + 1];
        BOOST_TEST(got.next == std::max_element(after.begin(), after.end()) - after.begin());
        longest = std::max(longest, got.accepted);
        branched += got.path.empty() || got.path[0] == 0 ? 0 : 1;
    }
    BOOST_TEST(longest >= 3u);
    BOOST_TEST(branched > 100u);
}

BOOST_AUTO_TEST_CASE(of_equally_long_paths_the_more_probable_wins_and_of_equal_ones_the_first) {
    proposal<point_mass> proposed;
    proposed.push(0, after_prefix);
    proposed.push(1, after_prefix);
    proposed.push(2, 0);
    proposed.push(2, 1);
    const std::vector<float> even{0, 0, 0}, second{0, 1, 0};
    const typical rule;
    BOOST_TEST((judged(rule, proposed, {second, even, even, even, even}, {}).path == std::vector<std::size_t>{1, 3}));
    BOOST_TEST((judged(rule, proposed, {even, even, even, even, even}, {}).path == std::vector<std::size_t>{0, 2}));
    // The first is that of the eldest children, however nodes are numbered.
    proposal<point_mass> late;
    late.push(0, after_prefix);
    late.push(1, after_prefix);
    late.push(2, 1);
    late.push(2, 0);
    BOOST_TEST((judged(rule, late, {even, even, even, even, even}, {}).path == std::vector<std::size_t>{0, 3}));
    proposal<point_mass> deeper = late;  // its second path is found first
    deeper.push(0, 2);
    deeper.push(0, 3);
    BOOST_TEST((judged(rule, deeper, std::vector(7, even), {}).path == std::vector<std::size_t>{0, 3, 5}));
    // A longer path wins, however improbable.
    const std::vector<float> never{0, 9, -9};
    BOOST_TEST((judged(rule, proposed, {second, even, never, even, even}, {}).path == std::vector<std::size_t>{0, 2}));
}

/// Every text of a round over a tree: of each token, its probability against the bound.
void check_bound(const typical& rule, const auto& token_selector, const tree_round& round, std::size_t& close) {
    const auto law = testing::enumerate(
        [&](const testing::enumerating_chooser& chooser) { return round.text(rule, token_selector, chooser); });
    const transform::pipeline transform(round.sampling, round.target.vocabulary_size());
    for (const auto& [text, probability] : law.probability) {
        prefix before(round.prompt);
        for (const token t : text) {
            const auto row = transform(round.row(round.target, before.tokens()), before);
            const double bound = rule.promised().bound(entropy_nats(row));
            BOOST_TEST(row.probability(t) >= bound);
            close += row.probability(t) < 3 * bound ? 1 : 0;
            before.push(t);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_token_keeps_the_bound, *boost::unit_test::enable_if<!testing::sanitized>()) {
    std::size_t close = 0;
    for (const topology& shape : testing::small_shapes) {
        for (std::uint64_t seed = 1; seed < 6; ++seed) {
            tree_round round{hashed_model(3, seed), hashed_model(3, seed + 10), shape};
            round.sampling.penalties.presence = 0.5f;
            for (const typical_next next : {typical_next::most_probable, typical_next::drawn}) {
                for (const auto& [epsilon, delta] : {std::pair{0.09, 0.3}, {0.35, 0.9}, {1.0, 1.0}}) {
                    const typical rule({epsilon, delta, next});
                    check_bound(rule, draft::sampled{}, round, close);
                    check_bound(rule, draft::argmax{}, round, close);
                }
            }
        }
    }
    BOOST_TEST(close > 1000u);
}

/// Both tokens are likely enough, so that the text is whatever was drafted; and what follows is the most probable
/// token.
BOOST_AUTO_TEST_CASE(it_is_not_lossless) {
    const auto target = testing::markov_model({{3, 1}, {3, 1}}), draft = testing::markov_model({{1, 3}, {1, 3}});
    decode::options chosen;
    chosen.stop.max_tokens = 2;
    const std::vector<token> prompt{0};
    const auto wanted = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
    using drawn_draft = draft::draft_model<const testing::function_model&, draft::sampled>;
    const auto scheme = speculate(drawn_draft(draft), target, policy::fixed_length{1}, typical{});
    const auto got = testing::text_distribution_of(scheme, prompt, chosen);
    BOOST_TEST(std::abs(got.probability.at({1, 0}) - 0.75) < 1e-6);  // the draft's 3/4, then the target's most probable
    BOOST_TEST(got.probability.size() == 2u);
    BOOST_TEST(std::abs(wanted.probability.at({1, 0}) - 3.0 / 16) < 1e-6);
    BOOST_TEST(testing::total_variation(wanted, got) > 0.56);
    // With what is drawn where the rule draws it is lossy, too: nothing improbable ever follows.
    const auto rare = testing::markov_model({{20, 1}, {20, 1}});
    const auto alone =
        speculate(draft::no_draft{}, rare, policy::fixed_length{0}, typical{{.next = typical_next::drawn}});
    BOOST_TEST(testing::text_distribution_of(alone, prompt, chosen).probability.size() == 1u);
}

BOOST_AUTO_TEST_CASE(what_is_drawn_has_the_targets_law_among_likely_tokens) {
    // Entropy 0.9 nats: 0.3 exp(-0.9) is above 1/16, and below 2/16.
    const auto row = distribution::weighted({9, 4, 2, 1});
    const typical rule({.next = typical_next::drawn});
    BOOST_TEST(rule.threshold(row) > 1.0 / 16);
    BOOST_TEST(rule.threshold(row) < 2.0 / 16);
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        position_draws draws(chooser, 0, 0);
        return std::vector<token>{rule.draw(row, draws)};
    });
    BOOST_TEST(law.probability.size() == 3u);
    for (const token t : {0, 1, 2}) {
        BOOST_TEST(law.probability.at({t}) == row[static_cast<std::size_t>(t)] / 15,
                   boost::test_tools::tolerance(1e-12));
    }
}

BOOST_AUTO_TEST_CASE(where_no_token_is_above_the_threshold_the_most_probable_ones_can_be_drawn) {
    const auto row = distribution::weighted({1, 1, 1});
    const typical rule({.epsilon = 1, .delta = 1, .next = typical_next::drawn});
    BOOST_TEST(rule.threshold(row) > row.probability(0));  // by what 1e-5 adds
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        position_draws draws(chooser, 0, 0);
        return std::vector<token>{rule.draw(row, draws)};
    });
    BOOST_TEST(law.probability.size() == 3u);
}

BOOST_AUTO_TEST_CASE(greedy_at_temperature_zero) {
    const auto target = hashed_model(5, 3), small = hashed_model(5, 3, 2);
    decode::options chosen;
    chosen.sampling.temperature.value = 0;
    chosen.stop.max_tokens = 30;
    const std::vector<token> prompt{0, 1};
    const auto greedy = decode::generate(plain(target), prompt, chosen).tokens;
    for (const typical& rule : {typical{}, typical{{.epsilon = 1, .delta = 1, .next = typical_next::drawn}}}) {
        const auto chains = speculate(small, target, policy::fixed_length{3}, rule);
        const auto decoded = decode::generate<any_guarantee>(chains, prompt, chosen);
        BOOST_TEST(decoded.tokens == greedy);
        const auto trees = speculate(testing::bush<draft::argmax>{small}, target, policy::fixed_length{4}, rule);
        BOOST_TEST(decode::generate<any_guarantee>(trees, prompt, chosen).tokens == greedy);
        const policy::tree_static two_paths(topology{-1, -1, 0, 1});
        const auto scheme = speculate(draft::draft_model(small), target, two_paths, rule);
        BOOST_TEST(decode::generate<any_guarantee>(scheme, prompt, chosen).tokens == greedy);
        const auto agreeing = speculate(target, target, policy::fixed_length{3}, rule);
        BOOST_TEST(decode::generate<any_guarantee>(agreeing, prompt, chosen).counts.acceptance() == 1.0);
    }
}

BOOST_AUTO_TEST_CASE(a_row_without_numbers_ends_the_path_there) {
    proposal<point_mass> proposed;
    proposed.push(0, after_prefix);
    proposed.push(1, 0);
    const std::vector<float> even{0, 0, 0}, bad{0, NAN, 0};
    BOOST_TEST(
        (judged(typical{}, proposed, {even, bad, even}, {}) == verdict{.drafted = 2, .accepted = 1, .next = no_token}));
    BOOST_TEST(
        (judged(typical{}, proposed, {bad, even, even}, {}) == verdict{.drafted = 2, .accepted = 0, .next = no_token}));
}

BOOST_AUTO_TEST_CASE(a_lossless_stage_above_it_is_lossless) {
    const auto target = hashed_model(3, 1), between = hashed_model(3, 2), small = hashed_model(3, 3);
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    for (const typical_next next : {typical_next::most_probable, typical_next::drawn}) {
        const auto check = [&](const auto& drafter) {
            const auto inner = speculate(drafter, between, policy::fixed_length{2}, typical{{.next = next}});
            const auto scheme = speculate(inner, target, policy::fixed_length{2}, accept::rejection_sampling{});
            BOOST_TEST(testing::broken_promise(scheme, std::vector<token>{0, 1}, chosen) == "");
        };
        check(small);
        check(draft::draft_model<const testing::function_model&, draft::sampled>(small));
    }
}

BOOST_AUTO_TEST_SUITE_END()
