#include "augur/accept/rejection_sampling.hpp"

#include <augur/accept/traversal.hpp>
#include <augur/accept/walk.hpp>
#include <augur/draft/prompt_lookup.hpp>
#include <augur/policy/entropy_bins.hpp>
#include <augur/testing/models.hpp>
#include <augur/testing/text_distribution_of.hpp>
#include <boost/test/unit_test.hpp>

namespace augur::accept {
static_assert(AcceptanceCriterionFor<rejection_sampling, point_mass> &&
              AcceptanceCriterionFor<rejection_sampling, distribution>);
static_assert(LeavesAfterRejection<rejection_sampling, point_mass> &&
              LeavesAfterRejection<rejection_sampling, distribution>);
static_assert(Lossless<rejection_sampling>);
}  // namespace augur::accept

using namespace augur;

BOOST_AUTO_TEST_SUITE(accept_rejection_sampling)

static_assert(AcceptanceCriterionFor<accept::rejection_sampling, point_mass>);
static_assert(AcceptanceCriterionFor<accept::rejection_sampling, distribution>);

constexpr double exactly = 1e-12;
const std::vector<token> prompt{0, 1, 0};

decode::options sampling(std::size_t max_tokens) {
    decode::options chosen;
    chosen.stop.max_tokens = max_tokens;
    return chosen;
}

/// Transforms that change the row in every way there is.
std::vector<transform::settings> transforms() {
    std::vector<transform::settings> all(8);
    all[1].temperature.value = 0.5f;
    all[2].top_k.k = 2;
    all[3].top_p.p = 0.7f;
    all[4].min_p.p = 0.4f;
    all[5].penalties = {1.3f, 0.4f, 0.2f};
    all[6].bias.added = {{0, 1.5f}, {1, -INFINITY}};
    all[7].temperature.value = 1.7f;
    all[7].top_k.k = 3;
    all[7].penalties = {1.5f, 0.0f, 0.7f};
    all[7].bias.added = {{2, -0.8f}};
    return all;
}

template <class Scheme>
void check_law(const Scheme& scheme, const testing::function_model& target, const decode::options& chosen) {
    const auto expected = testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen);
    const auto got = testing::text_distribution_of(scheme, prompt, chosen);
    BOOST_TEST(std::abs(got.total() - 1) < exactly);
    BOOST_TEST(testing::total_variation(expected, got) < exactly);
}

BOOST_AUTO_TEST_CASE(keeps_the_law_with_a_sampling_draft_model) {
    for (std::size_t vocabulary : {2u, 3u, 4u}) {
        const auto target = testing::hashed_model(vocabulary, 1);
        const auto drafter = testing::hashed_model(vocabulary, 2);
        for (std::size_t length = 0; length <= 3; ++length) {
            check_law(speculate(drafter, target, policy::fixed_length{length}, accept::rejection_sampling{}), target,
                      sampling(vocabulary == 4 ? 2 : 3));
        }
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_law_under_every_transform) {
    const auto target = testing::hashed_model(4, 5);
    const auto drafter = testing::hashed_model(4, 6);
    for (const auto& settings : transforms()) {
        auto chosen = sampling(3);
        chosen.sampling = settings;
        check_law(speculate(drafter, target, policy::fixed_length{2}, accept::rejection_sampling{}), target, chosen);
        check_law(speculate(draft::prompt_lookup(1, 2), target, policy::fixed_length{2}, accept::rejection_sampling{}),
                  target, chosen);
    }
}

BOOST_AUTO_TEST_CASE(keeps_the_law_with_point_masses) {
    const auto target = testing::hashed_model(3, 1);
    const auto drafter = testing::hashed_model(3, 2);
    using greedy_draft = draft::draft_model<const testing::function_model&, draft::argmax>;
    using noisy_draft = draft::draft_model<const testing::function_model&, draft::shared_noise>;
    check_law(speculate(greedy_draft(drafter), target, policy::fixed_length{3}, accept::rejection_sampling{}), target,
              sampling(3));
    check_law(speculate(draft::prompt_lookup(1, 3), target, policy::fixed_length{3}, accept::rejection_sampling{}),
              target, sampling(4));
    // Tokens that are random, but independent of everything the criterion draws, are point masses too.
    check_law(speculate(noisy_draft(drafter), target, policy::fixed_length{1}, accept::rejection_sampling{}), target,
              sampling(2));
}

BOOST_AUTO_TEST_CASE(keeps_the_law_with_an_entropy_policy) {
    const auto target = testing::hashed_model(3, 7);
    const auto drafter = testing::hashed_model(3, 8);
    const policy::entropy_bins bins({0.8, 0.95, 1.05}, {3, 2, 1, 0});
    check_law(speculate(drafter, target, bins, accept::rejection_sampling{}), target, sampling(4));
    const policy::target_entropy_bins target_bins({0.8, 0.95}, {3, 1, 2});
    check_law(speculate(drafter, target, target_bins, accept::rejection_sampling{}), target, sampling(4));
}

BOOST_AUTO_TEST_CASE(keeps_the_law_where_rows_have_zeros) {
    const auto target =
        testing::markov_model({{0.5, 0.5, 0, 0}, {0, 0.2, 0.8, 0}, {0.25, 0.25, 0.25, 0.25}, {1, 0, 0, 0}});
    const auto drafter =
        testing::markov_model({{0, 0.1, 0.9, 0}, {0.6, 0, 0.4, 0}, {0, 0, 0, 1}, {0.1, 0.2, 0.3, 0.4}});
    check_law(speculate(drafter, target, policy::fixed_length{3}, accept::rejection_sampling{}), target, sampling(4));
}

BOOST_AUTO_TEST_CASE(greedy_at_temperature_zero) {
    const auto target = testing::hashed_model(5, 3);
    const auto drafter = testing::hashed_model(5, 4);
    auto chosen = sampling(30);
    chosen.sampling.temperature.value = 0;
    const auto scheme = speculate(drafter, target, policy::fixed_length{3}, accept::rejection_sampling{});
    BOOST_TEST(decode::generate(scheme, prompt, chosen).tokens ==
               decode::generate(plain(target), prompt, chosen).tokens);
    const auto agreeing = speculate(target, target, policy::fixed_length{3}, accept::rejection_sampling{});
    BOOST_TEST(decode::generate(agreeing, prompt, chosen).counts.acceptance() == 1.0);
}

BOOST_AUTO_TEST_CASE(equal_models_accept_everything) {
    const auto target = testing::hashed_model(6, 3);
    const auto scheme = speculate(target, target, policy::fixed_length{4}, accept::rejection_sampling{});
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto chosen = sampling(50);
        chosen.seed = seed;
        BOOST_TEST(decode::generate(scheme, prompt, chosen).counts.acceptance() == 1.0);
    }
}

BOOST_AUTO_TEST_CASE(accepts_with_the_overlap_of_the_rows) {
    // The probability that a sampled token is accepted is the sum of min(target, draft), the most any token-wise rule
    // can have.
    const auto target = distribution::weighted({5, 3, 2});
    const auto draft_row = distribution::weighted({2, 2, 6});
    const auto accepted = testing::enumerate([&](testing::enumerating_chooser chooser) {
        position_draws draws(chooser, 0, 0);
        const token drafted = draft::sampled{}.pick(draft_row, draws);
        const drafted_token<distribution> stated{drafted, &draft_row};
        return std::vector<token>{accept::rejection_sampling{}.accepts(target, stated, draws) ? 1 : 0};
    });
    BOOST_TEST(std::abs(accepted.probability.at({1}) - 0.6) < exactly);
}

BOOST_AUTO_TEST_CASE(a_token_the_target_excludes_is_never_accepted) {
    const auto target = distribution::weighted({0, 1, 1});
    const auto draft_row = distribution::weighted({1, 0, 0});
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        position_draws draws(chooser, 0, 0);
        const drafted_token<distribution> drafted{0, &draft_row};
        const token drawn = accept::accept_or_draw(accept::rejection_sampling{}, target, drafted, draws);
        BOOST_TEST(drawn != no_token);
        return std::vector<token>{drawn};
    });
    BOOST_TEST(law.probability.size() == 2u);
    BOOST_TEST(law.probability.at({1}) == 0.5);
}

BOOST_AUTO_TEST_CASE(where_rounding_leaves_nothing_over_the_target_is_drawn_from) {
    // The draft gives token 2 too much, and so little that what token 1 has less by is lost in rounding.
    const auto target = distribution::weighted({0, 1, 0x1p-40f});
    const auto draft_row = distribution::weighted({0, 1, 0x1p-40f + 0x1p-60f});
    const drafted_token<distribution> drafted{2, &draft_row};
    BOOST_TEST(target.probability(2) < draft_row.probability(2));
    BOOST_TEST(accept::residual_weights<distribution>(target, drafted).total() == 0);
    const auto law = testing::enumerate([&](testing::enumerating_chooser chooser) {
        position_draws draws(chooser, 0, 0);
        const token drawn = accept::accept_or_draw(accept::rejection_sampling{}, target, drafted, draws);
        return std::vector<token>{drawn == no_token ? drafted.id : drawn};
    });
    BOOST_TEST(law.probability.size() == 2u);
    BOOST_TEST(std::abs(law.probability.at({1}) + law.probability.at({2}) - 1) < exactly);
}

/// A row that counts how often its weights are looked at.
struct counted_row {
    distribution row;
    std::size_t* looks;

    double operator[](std::size_t i) const {
        ++*looks;
        return row[i] / row.total();
    }
    double probability(token t) const { return row.probability(t); }
};

constexpr std::size_t vocabulary = 600;  // of several chunks

distribution some_row(std::uint64_t seed) {
    std::vector<float> weights(vocabulary);
    for (std::size_t i = 0; i < vocabulary; ++i) {
        const double u = random::philox_chooser(seed).uniform({i, purpose::draft});
        weights[i] = u < 0.2 || (i >= 256 && i < 512 && seed % 3 == 0) ? 0 : static_cast<float>(u * u);
    }
    return distribution::weighted(weights);
}

struct written_weights {
    std::vector<double> all;

    std::size_t size() const { return all.size(); }
    double operator[](std::size_t i) const { return all[i]; }
    double total() const { return augur::detail::sum_in_chunks(all, all.size()); }
};

/// Weights that go through all siblings before, one by one, as the rule is written.
std::vector<double> by_the_rule(std::vector<double> left, const distribution& draft_row) {
    const double scale = 1 / augur::detail::sum_in_chunks(left, left.size()), draft_scale = 1 / draft_row.total();
    for (std::size_t i = 0; i < left.size(); ++i) left[i] = std::max(0.0, scale * left[i] - draft_scale * draft_row[i]);
    return left;
}

template <class Residual>
bool has_weights(const Residual& residual, const std::vector<double>& expected) {
    bool same = residual.total() == augur::detail::sum_in_chunks(expected, expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) same = same && residual[i] == expected[i];
    for (std::size_t chunk = 0; chunk < augur::detail::chunks_in(expected.size()); ++chunk) {
        same = same && residual.sums()[chunk] ==
                           augur::detail::chunk_sums<std::vector<double>>{expected, expected.size()}[chunk];
    }
    return same;
}

BOOST_AUTO_TEST_CASE(what_siblings_leave_has_the_same_bits_with_room_and_without) {
    for (std::uint64_t seed = 1; seed < 40; ++seed) {
        const distribution target = some_row(seed);
        std::vector<distribution> rows;
        for (std::uint64_t i = 1; i < 5; ++i) rows.push_back(some_row(100 * seed + i));
        const auto drafted = [&](std::size_t i) { return drafted_token<distribution>{0, &rows[i]}; };
        std::vector<std::vector<double>> expected{std::vector<double>(vocabulary)};
        for (std::size_t i = 0; i < vocabulary; ++i) expected[0][i] = target[i];
        for (const distribution& row : rows) expected.push_back(by_the_rule(expected.back(), row));
        accept::residual_storage workspace;
        const auto first = accept::residual(target, drafted(0), workspace);
        const auto second = accept::residual(first, drafted(1), workspace);
        BOOST_TEST(has_weights(second, expected[2]));  // while they are in the room
        const auto third = accept::residual(second, drafted(2), workspace);
        const auto last = accept::residual(third, drafted(3), workspace);
        const auto without_workspace =
            accept::residual(accept::residual(accept::residual(first, drafted(1)), drafted(2)), drafted(3));
        BOOST_TEST(has_weights(first, expected[1]));
        BOOST_TEST(has_weights(second, expected[2]));  // and once others are
        BOOST_TEST(has_weights(third, expected[3]));
        BOOST_TEST(has_weights(last, expected[4]));
        BOOST_TEST(last.total() == without_workspace.total());
        const random::philox_chooser chooser(seed);
        for (std::size_t i = 0; i < 20; ++i) {
            const draw_key name{i, purpose::correction};
            BOOST_TEST(chooser.choose(last, name) == chooser.choose(written_weights{expected[4]}, name));
        }
    }
}

BOOST_AUTO_TEST_CASE(where_a_sibling_leaves_nothing_what_was_left_before_stays_in_the_room_too) {
    // The second sibling's row is what the first has left: nothing would be over.
    const auto target = distribution::weighted({2, 1, 1});
    const auto one = distribution::weighted({1, 0, 0}), rest = distribution::weighted({0, 1, 1});
    accept::residual_storage workspace;
    const auto first = accept::residual(target, drafted_token<distribution>{0, &one}, workspace);
    const auto second = accept::residual(first, drafted_token<distribution>{1, &rest}, workspace);
    BOOST_TEST(has_weights(second, {0, 0.25, 0.25}));
    const auto third = accept::residual(second, drafted_token<distribution>{0, &one}, workspace);
    BOOST_TEST(has_weights(third, {0, 0.5, 0.5}));
    BOOST_TEST(has_weights(second, {0, 0.25, 0.25}));
}

/// Nothing that can be rejected is accepted.
struct rejects : random::philox_chooser {
    using philox_chooser::philox_chooser;
    bool flip(double, draw_key) const { return false; }
};

/// How often weights of drafts are looked at where so many siblings are rejected, in passes over the vocabulary.
template <class Criterion>
double passes_of(const Criterion& criterion, std::size_t siblings) {
    std::size_t looks = 0;
    proposal<counted_row> proposed;
    std::vector<float> logits(vocabulary), drafts(vocabulary);
    for (std::size_t i = 0; i < vocabulary; ++i) logits[i] = static_cast<float>(i % 7), drafts[i] = 1;
    for (std::size_t i = 0; i < siblings; ++i) {
        proposed.push(static_cast<token>(7 * i), {distribution::weighted(drafts), &looks}, after_prefix);
        drafts[7 * i] = 0;
    }
    const std::vector<std::vector<float>> rows(siblings + 1, logits);
    prefix before(std::vector<token>{1});
    rejects chooser(1);
    const verdict decided =
        accept::walk(criterion, proposed, rows, transform::pipeline({}, vocabulary), before, chooser, 0);
    BOOST_TEST(decided.accepted == 0u);
    return static_cast<double>(looks) / static_cast<double>(vocabulary);
}

BOOST_AUTO_TEST_CASE(siblings_cost_a_pass_each) {
    for (const std::size_t siblings : {4u, 8u, 16u}) {
        BOOST_TEST(passes_of(accept::rejection_sampling{}, siblings) < static_cast<double>(siblings) + 2);
        BOOST_TEST(passes_of(accept::traversal{}, siblings) < static_cast<double>(siblings) + 2);
    }
}

BOOST_AUTO_TEST_SUITE_END()
