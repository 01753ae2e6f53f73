#include "augur/accept/multipath_block.hpp"

#include <augur/decode/generate.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/speculator.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "accept/bush.hpp"
#include "sanitized.hpp"

namespace augur::accept {
static_assert(JudgesTrees<multipath_block, distribution>);
static_assert(AcceptanceCriterion<multipath_block> && !AcceptanceCriterionFor<multipath_block, point_mass>);
static_assert(Lossless<multipath_block>);
static_assert(draft::with_replacement<multipath_block::token_selector> && !draft::with_replacement<draft::sampled>);
}  // namespace augur::accept

using namespace augur;
using again = draft::sampled_with_replacement;
using testing::expected_accepted;
using testing::hashed_model;
using testing::tree_round;

BOOST_AUTO_TEST_SUITE(accept_multipath_block)

constexpr double exactly = 1e-12;

/// Independent paths, as in the paper: two or three of one to three tokens.
const topology independent_paths[] = {{-1, -1},       {-1, -1, -1},          {-1, 0, -1, 2},
                                      {-1, -1, 0, 1}, {-1, -1, -1, 0, 1, 2}, {-1, 0, 1, -1, 3, 4}};

BOOST_AUTO_TEST_CASE(laws) {
    const auto r = testing::criterion_laws(accept::multipath_block{},
                                           {.cases = testing::unless_sanitized<std::size_t>(150, 10),
                                            .widest = testing::unless_sanitized<std::size_t>(33'000, 300)});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
}

void check_law(const tree_round& round) {
    testing::keeps_its_promise<again>(accept::multipath_block{}, round);
}

BOOST_AUTO_TEST_CASE(keeps_the_law_of_independent_paths) {
    for (const topology& shape : independent_paths) {
        for (std::uint64_t seed = 1; seed < testing::unless_sanitized<std::uint64_t>(4, 2); ++seed) {
            check_law({hashed_model(3, seed), hashed_model(3, seed + 10), shape});
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_law_of_trees_that_branch_anywhere) {
    for (const topology& shape : testing::small_shapes) {
        for (std::uint64_t seed = 1; seed < testing::unless_sanitized<std::uint64_t>(4, 2); ++seed) {
            check_law({hashed_model(3, seed), hashed_model(3, seed + 10), shape});
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_law_under_transforms_zeros_and_ties) {
    // Target and draft have one ratio for two tokens: which of them is greater is settled by their ids.
    const auto target = testing::markov_model({{2, 2, 1}, {0, 1, 3}, {1, 1, 1}});
    for (const auto& draft : {testing::markov_model({{0, 1, 1}, {1, 0, 1}, {2, 0, 1}}),
                              testing::markov_model({{1, 1, 2}, {1, 1, 1}, {1, 1, 1}})}) {
        for (const topology& shape : independent_paths) {
            tree_round round{target, draft, shape};
            if (!testing::sanitized) check_law(round);
            round.sampling.temperature.value = 1.4f;
            round.sampling.penalties = {1.3f, 0.4f, 0.1f};
            check_law(round);
            round.sampling.top_k.k = 2;
            check_law(round);
        }
    }
}

BOOST_AUTO_TEST_CASE(one_path_is_judged_as_by_block) {
    for (std::uint64_t seed = 1; seed < 8; ++seed) {
        const tree_round round{hashed_model(3, seed), hashed_model(3, seed + 10), topology::chain(3)};
        BOOST_TEST(expected_accepted(accept::multipath_block{}, again{}, round) ==
                       expected_accepted(accept::block{}, draft::sampled{}, round),
                   boost::test_tools::tolerance(exactly));
        for (std::uint64_t noise = 0; noise < 50; ++noise) {  // by the same random numbers
            const random::philox_chooser chooser(noise);
            BOOST_TEST((testing::judged(accept::multipath_block{}, again{}, round, chooser) ==
                        testing::judged(accept::block{}, draft::sampled{}, round, chooser)));
        }
    }
}

/// Accepted tokens where `paths` of them, of `length` tokens each, are drawn.
double accepted(const testing::function_model& target, const testing::function_model& draft, std::size_t paths,
                std::size_t length) {
    std::vector<std::int32_t> parents;
    for (std::size_t i = 0; i < paths * length; ++i) {
        parents.push_back(i % length == 0 ? after_prefix : static_cast<std::int32_t>(i) - 1);
    }
    return expected_accepted(accept::multipath_block{}, again{}, tree_round{target, draft, topology(parents)});
}

BOOST_AUTO_TEST_CASE(more_paths_accept_more_where_the_draft_is_far_and_less_where_it_is_near,
                     *boost::unit_test::enable_if<!testing::sanitized>()) {
    const auto target = hashed_model(3, 1);
    for (const std::size_t length : {1u, 2u}) {
        double far[4] = {}, near[4] = {};
        for (std::uint64_t seed = 1; seed < 8; ++seed) {
            for (std::size_t paths = 1; paths < 4; ++paths) {
                far[paths] += accepted(hashed_model(3, seed), hashed_model(3, seed + 10), paths, length) / 7;
            }
        }
        for (std::size_t paths = 1; paths < 4; ++paths) near[paths] = accepted(target, target, paths, length);
        BOOST_TEST(far[2] > 1.05 * far[1]);
        BOOST_TEST(far[3] > far[2]);
        BOOST_TEST(near[1] == static_cast<double>(length), boost::test_tools::tolerance(exactly));
        BOOST_TEST(near[2] < 0.95 * near[1]);
        BOOST_TEST(near[3] < near[2]);
    }
}

/// Of one token, the greatest of k draws has the law F^k, and is accepted where the target's overlaps with it.
BOOST_AUTO_TEST_CASE(the_greatest_token_has_the_law_of_a_maximum) {
    // By target / draft the order is 2, 1, 0 from the lowest: 7/16, 7/8, 21/8. The target's favourite is 1.
    const std::vector<double> wanted{3, 4, 1}, drawn{1, 4, 2};
    const auto target = testing::markov_model({wanted, wanted, wanted}),
               draft = testing::markov_model({drawn, drawn, drawn});
    const double p[] = {3.0 / 8, 4.0 / 8, 1.0 / 8}, up_to[] = {2.0 / 7, 6.0 / 7, 1};
    for (const int k : {1, 2, 3}) {
        const double picked[] = {1 - std::pow(up_to[1], k), std::pow(up_to[1], k) - std::pow(up_to[0], k),
                                 std::pow(up_to[0], k)};
        double overlap = 0;
        for (std::size_t t = 0; t < 3; ++t) overlap += std::min(p[t], picked[t]);
        BOOST_TEST(accepted(target, draft, static_cast<std::size_t>(k), 1) == overlap,
                   boost::test_tools::tolerance(1e-6));
    }
}

BOOST_AUTO_TEST_CASE(what_is_left_counts_every_token_of_a_large_vocabulary) {
    const std::size_t size = 3 * detail::chunk_size + 5;
    std::vector<float> wanted(size, 1.0f);
    accept::picked_row picked{std::vector<double>(size, 0.0)};
    picked.chances[7] = 0.25;
    picked.chances[size - 1] = 0.75;
    const auto target = distribution::weighted(wanted);
    const drafted_token<accept::picked_row> drafted{7, &picked};
    const double left = accept::residual_weights<accept::picked_row>(target, drafted).total();
    BOOST_TEST(left == static_cast<double>(size - 2) / static_cast<double>(size), boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(siblings_drawn_without_replacement_are_refused) {
    const tree_round round{hashed_model(3, 1), hashed_model(3, 2), {-1, -1}};
    BOOST_CHECK_EXCEPTION(
        testing::judged(accept::multipath_block{}, draft::sampled{}, round, random::philox_chooser(1)), error,
        [](const error& e) {
            return std::string(e.what()) ==
                   "accept::multipath_block needs siblings that are drawn with replacement, from one row, but that of "
                   "node 1 is not that of its sibling 0; draw by draft::sampled_with_replacement";
        });
}

BOOST_AUTO_TEST_CASE(at_temperature_0_it_is_greedy_on_any_tree) {
    const auto target = hashed_model(8, 1);
    const auto near = testing::noisy_model(target, 0.3);
    const topology shape{-1, -1, -1, 0, 0, 1, 3};
    const auto scheme =
        speculate(draft::draft_model(near), target, policy::tree_static(shape), accept::multipath_block{});
    decode::options options;
    options.sampling.temperature.value = 0;
    options.stop.max_tokens = 60;
    std::size_t accepted = 0;
    for (token first = 0; first < 8; ++first) {
        const std::vector<token> prompt{first, 1};
        const auto decoded = decode::generate(scheme, prompt, options);
        BOOST_TEST(decoded.tokens == decode::generate(plain(target), prompt, options).tokens,
                   boost::test_tools::per_element());
        accepted += decoded.counts.stages.back().accepted;
    }
    BOOST_TEST(accepted > 8 * 60 / 3);
}

BOOST_AUTO_TEST_CASE(a_row_without_numbers_ends_the_path_there) {
    proposal<distribution> proposed;
    const auto row = distribution::weighted({1, 1, 1});
    proposed.push(0, row, after_prefix);
    proposed.push(0, row, after_prefix);
    proposed.push(1, row, 0);
    proposed.push(2, row, 1);
    const std::vector<float> even{0, 0, 0}, bad{0, NAN, 0};
    prefix before(std::vector<token>{0});
    const auto judged = [&](const std::vector<std::vector<float>>& rows) {
        random::philox_chooser chooser(1);
        return accept::walk(accept::multipath_block{}, proposed, rows, transform::pipeline({}, 3), before, chooser, 0);
    };
    BOOST_TEST(
        (judged({even, bad, bad, even, even}) == verdict{.drafted = 4, .accepted = 1, .next = no_token, .path = {0}}));
    BOOST_TEST((judged({bad, even, even, even, even}) == verdict{.drafted = 4, .next = no_token}));
    // Both first nodes are on the path so far; the greater of what follows is the second's.
    BOOST_TEST((judged({even, {0, -9, 0}, {0, -9, 0}, even, even}).path == std::vector<std::size_t>{1, 3}));
}

BOOST_AUTO_TEST_CASE(at_temperature_0_a_row_without_numbers_ends_the_path_there) {
    proposal<distribution> proposed;  // children are the best, the second, ...: not of one row
    proposed.push(1, distribution::point(1, 3), after_prefix);
    proposed.push(0, distribution::point(0, 3), after_prefix);
    proposed.push(2, distribution::point(2, 3), 0);
    proposed.push(0, distribution::point(0, 3), 0);
    const std::vector<float> best{0, 1, 0}, bad{0, NAN, 0};
    transform::settings greedy;
    greedy.temperature.value = 0;
    prefix before(std::vector<token>{0});
    const auto judged = [&](const std::vector<std::vector<float>>& rows) {
        random::philox_chooser chooser(1);
        return accept::walk(accept::multipath_block{}, proposed, rows, transform::pipeline(greedy, 3), before, chooser,
                            0);
    };
    BOOST_TEST((judged({bad, best, best, best, best}) == verdict{.drafted = 4, .next = no_token}));
    BOOST_TEST(
        (judged({best, bad, best, best, best}) == verdict{.drafted = 4, .accepted = 1, .next = no_token, .path = {0}}));
}

BOOST_AUTO_TEST_CASE(what_was_judged_before_is_forgotten) {
    const auto row = distribution::weighted({1, 2, 3});
    const auto tree = [&](const std::vector<std::int32_t>& parents) {
        proposal<distribution> proposed;
        for (std::size_t i = 0; i < parents.size(); ++i) proposed.push(static_cast<token>(i % 3), row, parents[i]);
        return proposed;
    };
    const auto one = tree({-1, -1, 0, 1}), other = tree({-1, 0, 1, -1});
    const std::vector<std::vector<float>> rows{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 1, 1}, {0, 0, 0}};
    const transform::pipeline transform({}, 3);
    prefix before(std::vector<token>{0});
    accept::walk_storage<transform::pipeline, accept::multipath_block> kept;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        for (const auto* each : {&one, &other}) {
            random::philox_chooser chooser(seed);
            const verdict fresh = accept::walk(accept::multipath_block{}, *each, rows, transform, before, chooser, 0);
            verdict again;
            accept::walk(accept::multipath_block{}, *each, rows, transform, before, chooser, 0, kept, again);
            BOOST_TEST((again == fresh));
        }
    }
}

BOOST_AUTO_TEST_CASE(what_was_picked_from_other_rows_before_is_forgotten) {
    const auto tree = [](const distribution& row) {
        proposal<distribution> proposed;
        for (const auto& [t, parent] : {std::pair{0, -1}, {2, -1}, {1, 0}, {2, 0}, {0, 1}, {1, 1}}) {
            proposed.push(t, row, parent);
        }
        return proposed;
    };
    const auto one = tree(distribution::weighted({1, 2, 3})), other = tree(distribution::weighted({5, 1, 1}));
    const std::vector<std::vector<float>> rows(7, {0, 0, 1});
    const transform::pipeline transform({}, 3);
    prefix before(std::vector<token>{0});
    accept::greatest_path_storage kept, fresh;
    const auto chances = [&](const proposal<distribution>& proposed, accept::greatest_path_storage& storage) {
        const std::vector<distribution> targets(7, transform(rows[0], before));
        const accept::picked_path path(targets, proposed, storage);
        BOOST_TEST_REQUIRE(path.size() == 2u);
        return storage.rows[1].chances;
    };
    chances(one, kept);
    BOOST_TEST(chances(other, kept) == chances(other, fresh), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(siblings_that_are_certain_and_differ_are_refused_where_the_target_is_not) {
    for (const token second : {0, 1}) {
        proposal<distribution> proposed;
        proposed.push(0, distribution::point(0, 3), after_prefix);
        proposed.push(second, distribution::point(second, 3), after_prefix);
        const std::vector<std::vector<float>> rows(3, {0, 0, 0});
        prefix before(std::vector<token>{0});
        random::philox_chooser chooser(1);
        const auto walk = [&] {
            accept::walk(accept::multipath_block{}, proposed, rows, transform::pipeline({}, 3), before, chooser, 0);
        };
        if (second == 0) {
            BOOST_CHECK_NO_THROW(walk());
        } else {
            BOOST_CHECK_THROW(walk(), error);
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_law_of_whole_texts) {
    const auto target = hashed_model(3, 1), small = hashed_model(3, 2);
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const policy::tree_static two_paths(topology{-1, -1, 0, 1});
    const auto scheme = speculate(draft::draft_model(small), target, two_paths, accept::multipath_block{});
    BOOST_TEST(testing::broken_promise(scheme, std::vector<token>{0, 1}, chosen) == "");
    const auto chains = speculate(small, target, policy::fixed_length{2}, accept::multipath_block{});
    BOOST_TEST(testing::broken_promise(chains, std::vector<token>{0, 1}, chosen) == "");
}

BOOST_AUTO_TEST_SUITE_END()
