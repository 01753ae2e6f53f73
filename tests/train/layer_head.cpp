#include "augur/train/layer_head.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "augur/accept/block.hpp"
#include "augur/accept/coupled.hpp"
#include "augur/accept/exact.hpp"
#include "augur/accept/rejection_sampling.hpp"
#include "augur/draft/self_speculation.hpp"
#include "augur/policy/fixed_length.hpp"
#include "augur/scheme/speculator.hpp"
#include "augur/testing/refined_models.hpp"
#include "augur/train/checkpoint.hpp"
#include "augur/train/head_clamp.hpp"
#include "augur/train/watcher.hpp"
#include "train/files.hpp"
#include "train/gradients.hpp"
#include "train/layer_parameters.hpp"
#include "train/refuses.hpp"
#include "train/while_learning.hpp"

BOOST_AUTO_TEST_SUITE(train_layer_head)
using namespace augur;
using namespace augur::train;
using testing::few_tokens;
using testing::layer_of_waves;
using testing::some_numbers;

constexpr std::size_t classes = 9, width = 5, attended = 4, inner = 6, samples = 3;
const std::vector<float> norm_weight{1.25F, 0.5F, -0.75F, 2.0F, 1.0F};
const columns<double> layer_inputs = 2 * some_numbers(attended + width, samples, 0.1);

template <class Scalar>
using head_of_scalar = layer_head<dense_weight_matrix<Scalar>>;
template <class Scalar>
head_of_scalar<Scalar> head_of(head_options chosen = {}) {
    if (chosen.layer_rank == 0) chosen.layer_rank = 2;
    chosen.rank = 2;
    return {layer_of_waves<Scalar>(width, attended, inner, norm_weight),
            testing::base_of_waves<Scalar>(classes, width, 0),
            {.layer = 4, .vocabulary_size = classes, .norm_weight = norm_weight},
            chosen};
}
using head = head_of_scalar<double>;
static_assert(Trainable<head> && draft::ExitHead<head> && CanBeClamped<head> && draft::reads_layer_input<head>);
static_assert(!draft::reads_layer_input<state_head<dense_weight_matrix<double>>>);

template <class Head>
void move(Head& of, double by = 0.3) {
    auto values = of.values();
    values += (by * some_numbers(values.size(), 1, 0.7)).template cast<typename Head::scalar>();
    of.assign(values);
}

std::vector<head_options> every_head() {
    std::vector<head_options> all;
    for (const auto norm : {norm_kind::rms, norm_kind::layer, norm_kind::none}) {
        for (const bool learn_norm : {true, false}) {
            for (const auto update : {update_kind::state, update_kind::output, update_kind::full, update_kind::none}) {
                for (const bool weight_norm : {false, true}) {
                    all.push_back({.norm = norm,
                                   .learn_norm = learn_norm,
                                   .scale = weight_norm ? scale_kind::per_class : scale_kind::global,
                                   .update = update,
                                   .rank = 2,
                                   .weight_norm = weight_norm,
                                   .bias = learn_norm});
                }
            }
        }
    }
    return all;
}

BOOST_AUTO_TEST_CASE(every_number_has_the_gradient_of_what_it_changes) {
    const columns<double> wanted = some_numbers(classes, samples, 0.9);
    std::size_t blocks = 0;
    for (const auto& chosen : every_head()) {
        head learned = head_of<double>(chosen);
        move(learned);
        const auto activations = learned.forward(layer_inputs);
        const auto gradient = learned.backward(activations, 2 * activations.logits.cwiseProduct(wanted));
        const auto expected = testing::differences(
            [&](const Eigen::VectorXd& at) {
                learned.assign(at);
                return (learned.forward(layer_inputs).logits.array().square() * wanted.array()).sum();
            },
            learned.values());
        std::size_t covered = 0;
        for (const head_block& part : learned.blocks()) {
            if (part.size() == 0) continue;
            ++blocks;
            BOOST_TEST(part.offset == covered);
            covered += part.size();
            const auto at = detail::index(part.offset), size = detail::index(part.size());
            BOOST_TEST(expected.segment(at, size).cwiseAbs().maxCoeff() > 1e-3);
            BOOST_TEST(testing::relative_difference(gradient.segment(at, size), expected.segment(at, size)) < 1e-6,
                       part.name << ", " << name_of(chosen.norm) << ", " << name_of(chosen.update));
        }
        BOOST_TEST(covered == static_cast<std::size_t>(learned.values().size()));
    }
    BOOST_TEST(blocks > 400U);
}

BOOST_AUTO_TEST_CASE(it_starts_as_the_exit_after_the_layer_of_the_model) {
    const auto parts = layer_of_waves<double>(width, attended, inner, norm_weight);
    for (const auto& chosen : every_head()) {
        const state_head<dense_weight_matrix<double>> exit(
            testing::base_of_waves<double>(classes, width, 0),
            {.layer = 4, .vocabulary_size = classes, .norm_weight = norm_weight}, chosen);
        columns<double> states(width, samples);
        for (Eigen::Index i = 0; i < layer_inputs.cols(); ++i) {
            const auto state = testing::layer_by_hand(
                parts, std::span<const double>(layer_inputs.col(i).data(), attended + width), chosen.epsilon);
            states.col(i) = Eigen::Map<const Eigen::VectorXd>(state.data(), width);
        }
        const head learned = head_of<double>(chosen);
        BOOST_TEST((learned.forward(layer_inputs).logits - exit.forward(states).logits).isZero(1e-12));
        BOOST_TEST(learned.alpha() == exit.alpha());
        BOOST_TEST(learned.layer() == 4U);
        BOOST_TEST(learned.hidden_size() == attended + width);
    }
}

BOOST_AUTO_TEST_CASE(rows_are_those_of_a_forward) {
    auto learned = head_of<float>();
    move(learned);
    const auto together = learned.forward(layer_inputs.cast<float>()).logits;
    for (Eigen::Index i = 0; i < together.cols(); ++i) {
        const Eigen::VectorXf own = layer_inputs.col(i).cast<float>();
        std::vector<float> row(classes);
        learned.row({own.data(), attended + width}, row);
        for (std::size_t k = 0; k < classes; ++k) {
            BOOST_TEST(std::abs(row[k] - together(detail::index(k), i)) < 1e-5F);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_pruned_vocabulary_leaves_tokens_out) {
    const std::vector<token> kept{7, 1, 4};
    const auto base = testing::base_of_waves<float>(classes, width, 0);
    const layer_head<dense_weight_matrix<float>> pruned(
        layer_of_waves<float>(width, attended, inner, norm_weight), base.selected(kept),
        {.layer = 4, .vocabulary_size = classes, .tokens = kept}, {.rank = 2, .layer_rank = 2});
    BOOST_TEST(pruned.tokens().size() == 3U);
    BOOST_TEST(pruned.classes() == 3U);
    const Eigen::VectorXf layer_input = layer_inputs.col(0).cast<float>();
    std::vector<float> row(classes);
    pruned.row({layer_input.data(), attended + width}, row);
    for (std::size_t i = 0; i < classes; ++i) {
        const bool is_kept = i == 7 || i == 1 || i == 4;
        BOOST_TEST(std::isfinite(row[i]) == is_kept);
    }
}

BOOST_AUTO_TEST_CASE(heads_of_one_kind_change_places) {
    head a = head_of<double>(), b = a;
    const auto before = a.forward(layer_inputs).logits;
    move(b);
    const auto moved = b.forward(layer_inputs).logits;
    a.swap(b);
    BOOST_TEST((a.forward(layer_inputs).logits - moved).isZero(0));
    BOOST_TEST((b.forward(layer_inputs).logits - before).isZero(0));
    BOOST_TEST(!(moved - before).isZero(1e-3));
    head other = head_of<double>({.layer_rank = 3});
    const auto kept = a.values();
    BOOST_TEST(testing::refuses([&] { a.swap(other); }, "layer_head: cannot swap heads with"));
    BOOST_TEST(testing::refuses([&] { a.assign(other.values()); }, "layer_head: it has"));
    BOOST_TEST((a.values() == kept));
}

BOOST_AUTO_TEST_CASE(a_clamp_bounds_the_exits_matrix_alone) {
    head learned = head_of<double>({.clamp = 1.5});
    move(learned, 3);
    const double base = learned.weight_matrix().row_squares().sum();
    const auto before = learned.values();
    BOOST_TEST(clamp(learned, base));
    BOOST_TEST(norms_of(learned, base).square() <= 1.5 * 1.5 * base * (1 + 1e-9));
    const auto of_layer = learned.values().size() - detail::index(learned.layout().size);
    BOOST_TEST((learned.values().tail(of_layer) - before.tail(of_layer)).isZero(0));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_layer_rank_is_refused_with_both_values) {
    const testing::scratch_folder folder;
    const state_identity here{.model = "m", .layer = 4, .width = attended + width, .vocabulary_size = classes};
    auto learned = head_of<float>({.layer_rank = 3});
    move(learned);
    checkpoint_file::save(trainer(learned, testing::small_steps()).state(), folder / "adapter", here);
    const auto kept = checkpoint_file::load<float>(folder / "adapter", here);
    BOOST_TEST(kept.options.layer_rank == 3U);
    auto other = head_of<float>({.layer_rank = 2}), same = head_of<float>({.layer_rank = 3});
    trainer restored(same, testing::small_steps());
    restored.restore(kept);
    BOOST_TEST((same.values() - learned.values()).isZero(0));
    trainer online(other, testing::small_steps());
    BOOST_TEST(testing::refuses([&] { online.restore(kept); }, "layer_rank 3, but here it is 2"));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_with_both_values) {
    const auto base = testing::base_of_waves<float>(classes, 4, 0);
    const head_place place{.layer = 4, .vocabulary_size = classes};
    const auto layer = layer_of_waves<float>(width, attended, inner);
    using head_type = layer_head<dense_weight_matrix<float>>;
    BOOST_TEST(testing::refuses([&] { head_type(layer, base, place, {.rank = 2, .layer_rank = 2}); },
                                "states of 5 numbers, but the head reads 4"));
    const auto whole = testing::base_of_waves<float>(classes, width, 0);
    BOOST_TEST(testing::refuses([&] { head_type(layer, whole, place, {.rank = 2}); }, "layer_rank is 0"));
    BOOST_TEST(testing::refuses([&] { state_head(whole, place, {.rank = 2, .layer_rank = 2}); }, "layer_rank is 2"));
    const auto learned = head_of<float>();
    std::vector<float> layer_input(attended + width), row(classes);
    learned.row(layer_input, row);
    BOOST_CHECK_THROW(learned.row(std::span<const float>(layer_input).first(width), row), error);
    BOOST_CHECK_THROW(learned.row(layer_input, std::span(row).first(8)), error);
}

/// Its states, taken for layer inputs: the first number is what the layer attended to.
struct layer_input_mock : testing::split_mock {
    using testing::split_mock::split_mock;
    std::size_t layer_input_size() const { return hidden_size(); }
    logit_row layer_input(const sequence_type& sequence) const {
        const auto states = hidden(sequence);
        return states[states.size() - 1];
    }
};
static_assert(LayerInputModel<layer_input_mock> && !LayerInputModel<testing::split_mock>);

constexpr std::size_t vocabulary = 3;
const std::vector<token> prompt{2, 0, 1};
using small_head = layer_head<dense_weight_matrix<float>>;

small_head new_head() {
    return {layer_of_waves<float>(2, 1, 2),
            testing::base_of_waves<float>(vocabulary, 2, 0.3),
            {.layer = 2, .vocabulary_size = vocabulary},
            {.rank = 1, .layer_rank = 1}};
}
template <class Criterion>
testing::seen_while_learning learned_law(const layer_input_mock& target, Criterion criterion,
                                         const decode::options& chosen) {
    return testing::law_while_an_exit_learns(prompt, chosen, new_head, target, criterion);
}

template <class Criterion>
void keeps_the_distribution(const Criterion& criterion, const decode::options& chosen) {
    const layer_input_mock target(testing::hashed_model(vocabulary, 5));
    const auto found = learned_law(target, criterion, chosen);
    BOOST_TEST(found.changed > found.rounds / 2);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(testing::plain_sampling(target), prompt, chosen),
                                        found.texts) < 1e-12);
    BOOST_TEST(found.texts.total() == 1, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_targets_distribution_is_kept_with_a_layer_that_changes_after_every_round) {
    keeps_the_distribution(accept::rejection_sampling{}, few_tokens());
    keeps_the_distribution(accept::rejection_sampling{}, few_tokens({.temperature = {0.7F}, .top_k = {2}}));
    keeps_the_distribution(accept::block{}, few_tokens());
}

BOOST_AUTO_TEST_CASE(the_seeded_and_the_greedy_text_are_kept) {
    const layer_input_mock target(testing::hashed_model(vocabulary, 5));
    const auto chosen = few_tokens();
    const auto coupled = learned_law(target, accept::coupled{}, chosen);
    BOOST_TEST(coupled.changed > coupled.rounds / 2);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(plain(target), prompt, chosen), coupled.texts) <
               1e-12);
    const auto greedy = few_tokens({.temperature = {0}}, 40);
    const auto exact = learned_law(target, accept::exact{}, greedy);
    BOOST_TEST(exact.texts.probability.size() == 1U);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(plain(target), prompt, greedy), exact.texts) <
               1e-12);
}

BOOST_AUTO_TEST_CASE(it_must_fit_the_taps_of_its_target) {
    const layer_input_mock target(testing::hashed_model(4, 5));
    small_head learned = new_head();
    BOOST_TEST(testing::refuses([&] { draft::check_exit(learned, target); },
                                "layer inputs of 3 numbers, but the target's have 4"));
}

BOOST_AUTO_TEST_SUITE_END()
