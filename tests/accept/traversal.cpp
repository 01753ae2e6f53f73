#include "augur/accept/traversal.hpp"

#include <array>
#include <augur/accept/block.hpp>
#include <augur/accept/multipath_block.hpp>
#include <augur/draft/draft_model.hpp>
#include <augur/policy/tree_static.hpp>
#include <augur/scheme/cascade.hpp>
#include <augur/testing/criterion_laws.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>

#include "accept/bush.hpp"
#include "accept/random_chain.hpp"
#include "sanitized.hpp"

namespace augur::accept {
static_assert(AcceptanceCriterionFor<traversal, point_mass> && AcceptanceCriterionFor<traversal, distribution>);
static_assert(JudgesTrees<traversal, distribution> && !JudgesEach<traversal, distribution>);
static_assert(Lossless<traversal>);
}  // namespace augur::accept

using namespace augur;
using testing::expected_accepted;
using testing::hashed_model;
using testing::tree_round;
using testing::two_paths;

BOOST_AUTO_TEST_SUITE(accept_traversal)

constexpr double exactly = 1e-12;

BOOST_AUTO_TEST_CASE(laws) {
    const auto r =
        testing::criterion_laws(accept::traversal{}, {.cases = testing::unless_sanitized<std::size_t>(150, 10),
                                                      .widest = testing::unless_sanitized<std::size_t>(33'000, 300)});
    BOOST_TEST(r.kept(), r);
    BOOST_TEST(r.skipped.empty(), r);
}

template <class TokenSelector>
void check_law(const tree_round& round) {
    testing::keeps_its_promise<TokenSelector>(accept::traversal{}, round);
}

BOOST_AUTO_TEST_CASE(keeps_the_law_on_trees_with_and_without_replacement) {
    for (const topology& shape : testing::small_shapes) {
        for (std::uint64_t seed = 1; seed < testing::unless_sanitized<std::uint64_t>(4, 2); ++seed) {
            const tree_round round{hashed_model(3, seed), hashed_model(3, seed + 10), shape};
            check_law<draft::sampled>(round);
            check_law<draft::argmax>(round);
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_law_under_transforms_and_zeros) {
    tree_round round{testing::markov_model({{2, 0, 1}, {0, 1, 3}, {1, 1, 1}}),
                     testing::markov_model({{0, 1, 1}, {1, 0, 0}, {0, 0, 1}}),
                     {}};
    for (const topology& shape : testing::small_shapes) {
        round.shape = shape;
        round.sampling = {};
        check_law<draft::sampled>(round);
        round.sampling.temperature.value = 1.4f;
        round.sampling.penalties = {1.3f, 0.4f, 0.1f};
        round.sampling.mask = testing::avoid_repeating;
        check_law<draft::sampled>(round);
        check_law<draft::argmax>(round);
    }
}

template <class DraftDistribution>
void is_judged_as_by_block() {
    std::mt19937 random(1);
    std::size_t accepted = 0, rejected = 0;
    for (std::size_t i = 0; i < 2000; ++i) {
        const testing::random_chain<DraftDistribution> chain(random, 4);
        const transform::pipeline transform({.penalties = {1, 0.5f, 0}}, 4);
        prefix before(std::vector<token>{0, 1});
        random::philox_chooser chooser(random());
        const auto by = [&](const auto& criterion) {
            return accept::walk(criterion, chain.proposed, chain.rows, transform, before, chooser, i);
        };
        const verdict got = by(accept::traversal{});
        BOOST_TEST((got == by(accept::block{})));
        accepted += got.accepted;
        rejected += chain.proposed.size() - got.accepted;
    }
    BOOST_TEST(accepted > 400u);
    BOOST_TEST(rejected > 400u);
}

BOOST_AUTO_TEST_CASE(a_chain_is_judged_as_by_block_token_for_token) {
    is_judged_as_by_block<distribution>();
    is_judged_as_by_block<point_mass>();
}

BOOST_AUTO_TEST_CASE(siblings_without_children_are_accepted_as_by_rejection_sampling) {
    for (std::uint64_t seed = 1; seed < 8; ++seed) {
        tree_round round{hashed_model(3, seed), hashed_model(3, seed + 10), {-1, -1, -1}};
        for (const bool replacement : {false, true}) {
            round.replacement = replacement;
            const double expected = expected_accepted(accept::rejection_sampling{}, draft::sampled{}, round);
            BOOST_TEST(expected_accepted(accept::traversal{}, draft::sampled{}, round) == expected,
                       boost::test_tools::tolerance(exactly));
        }
    }
}

/// Accepted tokens of a round on average over pairs of models that are so far apart.
template <class TokenSelector>
std::array<double, 3> average_accepted(const topology& shape, double apart) {
    std::array<double, 3> sums{};
    constexpr std::size_t models = 2;
    for (std::uint64_t seed = 1; seed <= models; ++seed) {
        const auto target = hashed_model(3, seed);
        const tree_round round{target, testing::noisy_model(target, apart), shape};
        const double by_rejection = expected_accepted(accept::rejection_sampling{}, TokenSelector{}, round);
        const double by_traversal = expected_accepted(accept::traversal{}, TokenSelector{}, round);
        BOOST_TEST(by_traversal > by_rejection - exactly);
        sums[0] += by_rejection / models;
        sums[1] += by_traversal / models;
        if constexpr (draft::with_replacement<TokenSelector>) {
            sums[2] += expected_accepted(accept::multipath_block{}, TokenSelector{}, round) / models;
        }
    }
    return sums;
}

BOOST_AUTO_TEST_CASE(accepts_at_least_as_much_as_rejection_sampling_and_on_paths_more,
                     *boost::unit_test::enable_if<!testing::sanitized>()) {
    std::size_t sure = 0;  // where two of three tokens are all that the target wants
    for (const double apart : {0.1, 0.3, 0.5}) {
        for (const topology& shape :
             {topology::chain(3), topology{-1, -1, 0, 1}, topology{-1, -1, 0, 0, 1, 1}, topology{-1, -1, 0, 1, 2, 3}}) {
            const auto without = average_accepted<draft::sampled>(shape, apart);
            const auto with = average_accepted<draft::sampled_with_replacement>(shape, apart);
            BOOST_TEST_MESSAGE(apart << " apart, parents " << testing::describe(shape.parents())
                                     << ": without replacement " << without[0] << " by rejection_sampling, "
                                     << without[1] << " by traversal; with it " << with[0] << ", " << with[1]
                                     << ", and " << with[2] << " by multipath_block");
            BOOST_TEST(with[1] > with[0] + 0.001);
            const bool all_accepted = without[0] > static_cast<double>(shape.depth()) - 1e-6;
            BOOST_TEST((all_accepted || without[1] > without[0] + 0.001));
            sure += all_accepted ? 1 : 0;
        }
    }
    BOOST_TEST(sure == 3u);
}

/// Its first child is worth 1/2. Where it falls, only token 1 is left of the target, which is what the second child has
/// to be.
BOOST_AUTO_TEST_CASE(what_a_child_leaves_is_what_its_sibling_is_judged_by) {
    const auto target = testing::markov_model({{1, 2}, {1, 2}}), draft = testing::markov_model({{2, 1}, {2, 1}});
    tree_round round{target, draft, {-1, -1}};
    BOOST_TEST(expected_accepted(accept::traversal{}, draft::sampled{}, round) == 1,
               boost::test_tools::tolerance(1e-6));
    // With replacement it is so one time in three: 2/3 (1/2 + 1/2 1/3) + 1/3.
    round.replacement = true;
    BOOST_TEST(expected_accepted(accept::traversal{}, draft::sampled{}, round) == 7.0 / 9,
               boost::test_tools::tolerance(1e-6));
}

verdict judged(const proposal<point_mass>& proposed, const std::vector<std::vector<float>>& rows,
               const transform::settings& chosen, std::uint64_t seed) {
    prefix before(std::vector<token>{0});
    random::philox_chooser chooser(seed);
    return accept::walk(accept::traversal{}, proposed, rows, transform::pipeline(chosen, 5), before, chooser, 0);
}

BOOST_AUTO_TEST_CASE(a_row_without_numbers_ends_the_path_there) {
    const std::vector<float> even{0, 0, 0, 0, 0}, bad{0, NAN, 0, 0, 0};
    std::size_t ended = 0, elsewhere = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const verdict ruled = judged(two_paths(), {even, bad, even, even, even, even}, {}, seed);
        const bool there = ruled.path == std::vector<std::size_t>{0};
        BOOST_TEST(ruled.invalid_row() == there);
        BOOST_TEST((ruled.path.empty() || ruled.path[0] == 1 || there));  // nothing beneath it is judged
        ended += there ? 1 : 0;
        elsewhere += there ? 0 : 1;
    }
    BOOST_TEST(ended > 10u);
    BOOST_TEST(elsewhere > 10u);
    BOOST_TEST(
        (judged(two_paths(), {bad, even, even, even, even, even}, {}, 1) == verdict{.drafted = 5, .next = no_token}));
}

BOOST_AUTO_TEST_CASE(rows_of_what_is_worth_nothing_are_not_asked_for) {
    std::vector<std::vector<token>> asked;
    transform::settings chosen{.temperature = {0}};
    chosen.mask = [&](std::span<float>, const prefix& before) {
        asked.push_back({before.tokens().begin(), before.tokens().end()});
    };
    const std::vector<float> one{0, 9, 0, 0, 0}, two{0, 0, 9, 0, 0};
    judged(two_paths(), {one, two, two, two, two, two}, chosen, 1);
    const std::vector<std::vector<token>> expected{{0}, {0, 1}, {0, 1, 2}};
    BOOST_TEST((asked == expected));
}

/// A chooser whose coins say no, even where they must not: as where rounding leaves a worth just below 1.
struct refuses : random::philox_chooser {
    using philox_chooser::philox_chooser;
    bool flip(double, draw_key) const { return false; }
};

BOOST_AUTO_TEST_CASE(where_rounding_leaves_nothing_over_the_target_is_drawn_from) {
    const std::vector<float> logits{-INFINITY, 1, 0};
    distribution row;
    transform::pipeline({}, 3).apply(logits, prefix{}, row);
    proposal<distribution> proposed;
    proposed.push(1, row, after_prefix);
    proposed.push(2, row, after_prefix);
    prefix before(std::vector<token>{0});
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        refuses chooser(seed);
        const std::vector<std::vector<float>> rows(3, logits);
        const verdict got =
            accept::walk(accept::traversal{}, proposed, rows, transform::pipeline({}, 3), before, chooser, 0);
        BOOST_TEST(got.path.empty());
        BOOST_TEST((got.next == 1 || got.next == 2));
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_law_inside_a_cascade) {
    const auto target = hashed_model(3, 1), between = hashed_model(3, 2), small = hashed_model(3, 3);
    const auto inner = speculate(small, between, policy::fixed_length{2}, accept::traversal{});
    const auto scheme = speculate(inner, target, policy::fixed_length{2}, accept::rejection_sampling{});
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    BOOST_TEST(testing::broken_promise(scheme, std::vector<token>{0, 1}, chosen) == "");
}

BOOST_AUTO_TEST_CASE(a_chain_ends_at_no_leaf_whatever_was_judged_before) {
    proposal<point_mass> chain;
    chain.push(1);
    const std::vector<std::vector<float>> rows(2, {0, 9, 0, 0, 0});
    const transform::pipeline transform({.temperature = {0}}, 5);
    prefix before(std::vector<token>{0});
    random::philox_chooser chooser(1);
    accept::walk_storage<transform::pipeline, accept::traversal> kept;
    verdict out;
    out.at_leaf = true;
    accept::walk(accept::traversal{}, chain, rows, transform, before, chooser, 0, kept, out);
    BOOST_TEST(out.accepted == 1u);
    BOOST_TEST(!out.at_leaf);
}

BOOST_AUTO_TEST_CASE(keeps_the_law_of_whole_texts_of_planned_trees) {
    const auto target = hashed_model(3, 1), small = hashed_model(3, 2);
    decode::options chosen;
    chosen.stop.max_tokens = 3;
    const policy::tree_static two_paths(topology{-1, -1, 0, 1});
    const auto scheme = speculate(draft::draft_model(small), target, two_paths, accept::traversal{});
    BOOST_TEST(testing::broken_promise(scheme, std::vector<token>{0, 1}, chosen) == "");
}

BOOST_AUTO_TEST_SUITE_END()
