#include "augur/train/attending_head.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <thread>
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
#include "augur/train/layer_head.hpp"
#include "augur/train/watcher.hpp"
#include "train/files.hpp"
#include "train/gradients.hpp"
#include "train/layer_parameters.hpp"
#include "train/refuses.hpp"
#include "train/while_learning.hpp"

BOOST_AUTO_TEST_SUITE(train_attending_head)
using namespace augur;
using namespace augur::train;
using testing::attention_of_waves;
using testing::few_tokens;
using testing::layer_of_waves;
using testing::some_numbers;

constexpr std::size_t classes = 9, width = 5, attended = 4, inner = 6;
const std::vector<float> norm_weight{1.25F, 0.5F, -0.75F, 2.0F, 1.0F};
const std::vector<double> frequencies{0.7};

template <class Scalar>
using head_of_scalar = attending_head<dense_weight_matrix<Scalar>>;
template <class Scalar>
head_of_scalar<Scalar> head_of(head_options of_head = {}, std::size_t rank = 2) {
    of_head.layer_rank = of_head.rank = 2;
    attending_options chosen{of_head};
    chosen.attention_rank = rank;
    return {attention_of_waves<Scalar>(width, 2, 1, 2, frequencies, norm_weight),
            layer_of_waves<Scalar>(width, attended, inner, norm_weight),
            testing::base_of_waves<Scalar>(classes, width, 0),
            {.layer = 3, .vocabulary_size = classes, .norm_weight = norm_weight},
            chosen};
}
using head = head_of_scalar<double>;
static_assert(Trainable<head> && draft::AttendingHead<head> && CanBeClamped<head> && !draft::ExitHead<head>);

template <class Head>
void move(Head& of, double by = 0.3) {
    auto values = of.values();
    values += (by * some_numbers(values.size(), 1, 0.7)).template cast<typename Head::scalar>();
    of.assign(values);
}

std::vector<float> text_of(std::size_t count, double from) {
    const Eigen::MatrixXf states = (2 * some_numbers(width, detail::index(count), from)).cast<float>();
    return {states.data(), states.data() + states.size()};
}
/// Rows of two texts, in no order.
asked_rows some_rows() {
    asked_rows asked;
    asked.sequences = {text_of(4, 0.1), text_of(3, 1.1)};
    asked.sequence = {1, 0, 0, 1};
    asked.position = {2, 3, 1, 2};
    return asked;
}
columns<double> logits_of(const head& of, const asked_rows& asked) {
    return of.forward(columns<double>(), asked).logits;
}

std::vector<head_options> some_heads() {
    std::vector<head_options> all;
    for (const auto norm : {norm_kind::rms, norm_kind::layer, norm_kind::none}) {
        for (const auto update : {update_kind::state, update_kind::output, update_kind::full, update_kind::none}) {
            const bool weight_norm = update == update_kind::output;
            all.push_back({.norm = norm,
                           .scale = weight_norm ? scale_kind::per_class : scale_kind::global,
                           .update = update,
                           .weight_norm = weight_norm,
                           .bias = norm == norm_kind::rms});
        }
    }
    return all;
}

BOOST_AUTO_TEST_CASE(every_number_has_the_gradient_of_what_it_changes) {
    const asked_rows asked = some_rows();
    const columns<double> wanted = some_numbers(classes, 4, 0.9);
    for (const auto& chosen : some_heads()) {
        head learned = head_of<double>(chosen);
        move(learned);
        const auto activations = learned.forward(columns<double>(), asked);
        const auto gradient = learned.backward(activations, 2 * activations.logits.cwiseProduct(wanted));
        const auto expected = testing::differences(
            [&](const Eigen::VectorXd& at) {
                learned.assign(at);
                return (logits_of(learned, asked).array().square() * wanted.array()).sum();
            },
            learned.values());
        std::size_t covered = 0;
        for (const head_block& part : learned.blocks()) {
            if (part.size() == 0) continue;
            BOOST_TEST(part.offset == covered);
            covered += part.size();
            const auto at = detail::index(part.offset), size = detail::index(part.size());
            BOOST_TEST(expected.segment(at, size).cwiseAbs().maxCoeff() > 1e-4);
            BOOST_TEST(testing::relative_difference(gradient.segment(at, size), expected.segment(at, size)) < 1e-6,
                       part.name << ", " << name_of(chosen.norm) << ", " << name_of(chosen.update));
        }
        BOOST_TEST(covered == static_cast<std::size_t>(learned.values().size()));
    }
}

BOOST_AUTO_TEST_CASE(without_attention_before_it_is_a_layer_head) {
    head learned = head_of<double>();
    head_options of_layer{.rank = 2, .layer_rank = 2};
    layer_head<dense_weight_matrix<double>> layer(
        layer_of_waves<double>(width, attended, inner, norm_weight), testing::base_of_waves<double>(classes, width, 0),
        {.layer = 4, .vocabulary_size = classes, .norm_weight = norm_weight}, of_layer);
    move(learned);
    layer.assign(learned.values().head(layer.values().size()));
    const columns<double> states = 2 * some_numbers(width, 3, 0.1);
    const auto activations = learned.forward(states);
    columns<double> layer_inputs(attended + width, 3);
    layer_inputs << activations.attention.attended, states;
    BOOST_TEST((activations.logits - layer.forward(layer_inputs).logits).isZero(1e-12));
    BOOST_TEST(learned.layer() == 3U);
    BOOST_TEST(learned.alpha() == layer.alpha());
    BOOST_TEST(learned.hidden_size() == width);
}

BOOST_AUTO_TEST_CASE(rows_of_a_sequence_are_those_of_a_forward_also_after_an_update) {
    head learned = head_of<double>();
    const auto text = text_of(4, 0.1);
    auto sequence = learned.make_sequence();
    for (int update = 0; update < 3; ++update) {
        learned.truncate(sequence, static_cast<std::size_t>(update));  // 0, 1, 2
        const auto states = std::span<const float>(text);
        learned.append(sequence, states.subspan(width * static_cast<std::size_t>(update)));
        for (std::size_t length = 4; length > 1; --length) {
            learned.truncate(sequence, length);
            BOOST_TEST(learned.length(sequence) == length);
            BOOST_TEST(learned.states(sequence).size() == length * width);
            asked_rows asked;
            asked.sequences = {text};
            asked.sequence = {0};
            asked.position = {length - 1};
            const auto expected = logits_of(learned, asked);
            std::vector<float> row(classes);
            learned.row(sequence, row);
            for (std::size_t k = 0; k < classes; ++k) {
                BOOST_TEST(std::abs(static_cast<double>(row[k]) - expected(detail::index(k), 0)) < 1e-5);
            }
        }
        move(learned, 0.2);
    }
}

BOOST_AUTO_TEST_CASE(heads_of_one_kind_change_places_and_their_sequences_follow) {
    head a = head_of<double>(), b = a;
    move(b);
    const auto text = text_of(3, 0.1);
    const auto row_of = [](const head& of, head::sequence_type& sequence) {
        std::vector<float> row(classes);
        of.row(sequence, row);
        return row;
    };
    auto of_a = a.make_sequence(), of_b = b.make_sequence();
    a.append(of_a, text);
    b.append(of_b, text);
    const auto before = row_of(a, of_a), moved = row_of(b, of_b);
    a.swap(b);
    BOOST_TEST(row_of(a, of_a) == moved, boost::test_tools::per_element());
    BOOST_TEST(row_of(b, of_b) == before, boost::test_tools::per_element());
    BOOST_TEST(before != moved);
    head other = head_of<double>({}, 1);
    const auto kept = a.values();
    BOOST_TEST(testing::refuses([&] { a.swap(other); }, "attending_head: cannot swap heads with"));
    BOOST_TEST(testing::refuses([&] { a.assign(other.values()); }, "attending_head: it has"));
    BOOST_TEST((a.values() == kept));
}

BOOST_AUTO_TEST_CASE(a_checkpoint_of_another_rank_or_kind_is_refused) {
    const testing::scratch_folder folder;
    const state_identity here{.model = "m", .layer = 3, .width = width, .vocabulary_size = classes};
    auto learned = head_of<float>({}, 1);
    move(learned);
    checkpoint_file::save(trainer(learned, testing::small_steps()).state(), folder / "adapter", here);
    const auto kept = checkpoint_file::load<float, attending_options>(folder / "adapter", here);
    BOOST_TEST(kept.options.attention_rank == 1U);
    auto other = head_of<float>(), same = head_of<float>({}, 1);
    trainer restored(same, testing::small_steps());
    restored.restore(kept);
    BOOST_TEST((same.values() - learned.values()).isZero(0));
    trainer online(other, testing::small_steps());
    BOOST_TEST(testing::refuses([&] { online.restore(kept); }, "attention_rank 1, but here it is 2"));
    BOOST_TEST(testing::refuses([&] { checkpoint_file::load<float>(folder / "adapter", here); }, "no checkpoint of"));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_with_both_values) {
    const auto base = testing::base_of_waves<float>(classes, width, 0);
    const auto layer = layer_of_waves<float>(width, attended, inner);
    const head_place place{.layer = 3, .vocabulary_size = classes};
    using head_type = head_of_scalar<float>;
    attending_options chosen{head_options{.rank = 2, .layer_rank = 2}};
    chosen.attention_rank = 1;
    const auto refused = [&](const auto& attention, const std::string& said) {
        BOOST_TEST(testing::refuses([&] { head_type(attention, layer, base, place, chosen); }, said), said);
    };
    refused(attention_of_waves<float>(width, 2, 1, 3), "makes 6 numbers of 5, the layer reads 4");
    refused(attention_of_waves<float>(4, 2, 1, 2), "makes 4 numbers of 4, the layer reads 4 and makes 5");
    chosen.attention_rank = 0;
    refused(attention_of_waves<float>(width, 2, 1, 2), "attention_rank is 0");
    const auto learned = head_of<float>();
    auto sequence = learned.make_sequence();
    const std::vector<float> states(width + 1);
    std::vector<float> row(classes - 1);
    BOOST_TEST(testing::refuses([&] { learned.append(sequence, states); }, "6 numbers are no states of 5"));
    BOOST_TEST(testing::refuses([&] { learned.row(sequence, row); }, "9 logits, not 8"));
}

// ---------------------------------------------------------------------------------------------------- while it learns

constexpr std::size_t vocabulary = 3;
const std::vector<token> prompt{2, 0, 1};
using small_head = attending_head<dense_weight_matrix<float>>;

small_head new_head() {
    attending_options chosen{head_options{.rank = 1, .layer_rank = 1}};
    chosen.attention_rank = 1;
    return {attention_of_waves<float>(vocabulary, 2, 1, 2, frequencies),
            layer_of_waves<float>(vocabulary, 4, 2),
            testing::base_of_waves<float>(vocabulary, vocabulary, 0.3),
            {.layer = 2, .vocabulary_size = vocabulary},
            chosen};
}

template <class Criterion>
void keeps(const Criterion& criterion, const decode::options& chosen, const auto& plainly) {
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    const auto found = testing::law_while_an_exit_learns(prompt, chosen, new_head, target, criterion);
    BOOST_TEST(found.changed > found.rounds / 2);
    BOOST_TEST(testing::total_variation(testing::text_distribution_of(plainly(target), prompt, chosen), found.texts) <
               1e-12);
    BOOST_TEST(found.texts.total() == 1, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_targets_distribution_is_kept_with_attention_that_changes_after_every_round) {
    const auto sampled = [](const auto& target) { return testing::plain_sampling(target); };
    const auto seeded = [](const auto& target) { return plain(target); };
    keeps(accept::rejection_sampling{}, few_tokens(), sampled);
    keeps(accept::rejection_sampling{}, few_tokens({.temperature = {0.7F}, .top_k = {2}}), sampled);
    keeps(accept::block{}, few_tokens(), sampled);
    keeps(accept::coupled{}, few_tokens(), seeded);
    keeps(accept::exact{}, few_tokens({.temperature = {0}}, 40), seeded);
}

BOOST_AUTO_TEST_CASE(a_round_teaches_what_lies_on_its_text) {
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    for (const bool background : {false, true}) {
        small_head learned = new_head();
        const auto first = learned.values();
        auto chosen = testing::small_steps();
        chosen.background = background;
        trainer online(learned, chosen);
        BOOST_TEST(online.options().replay.past > 0U);
        const auto scheme = speculate(draft::self_speculation<small_head&, draft::argmax>(learned), target,
                                      policy::fixed_length{3}, accept::exact{});
        decode::session s(scheme, prompt, transform::settings{.temperature = {0}}, {.max_tokens = 40},
                          random::philox_chooser(1));
        watcher learns(online);
        learns.attach(s);
        std::size_t expected = 0, drafted = 0;
        while (s.finished == finish_reason::running) {
            decode::step(scheme, s, {.timed = false}, learns);
            expected += s.last.decided.accepted + 1;
            drafted += s.last.decided.drafted + 1;
            BOOST_TEST(online.report().samples == std::min<std::size_t>(expected, chosen.replay.capacity));
        }
        BOOST_TEST(drafted > expected);
        while (background && online.report().updates < 10) {  // however late its thread is
            std::this_thread::yield();
            online.committed(1, 1);
        }
        online.publish();
        for (const head_block& part : learned.blocks()) {
            if (part.size() > 0) BOOST_TEST(block(learned.values(), part) != block(first, part), part.name);
        }
    }
}

BOOST_AUTO_TEST_CASE(it_learns_what_it_was_shown) {
    const testing::split_mock target(testing::hashed_model(vocabulary, 5));
    small_head learned = new_head();
    trainer online(learned, testing::small_steps());
    const auto scheme = speculate(draft::self_speculation<small_head&, draft::argmax>(learned), target,
                                  policy::fixed_length{2}, accept::exact{});
    const auto accepted = testing::acceptance_of_repeats(scheme, prompt, [&] { return watcher(online); });
    BOOST_TEST_MESSAGE("accepted " << accepted.front() << " -> " << accepted.back());
    BOOST_TEST(accepted.back() > accepted.front() + 0.2);
}

BOOST_AUTO_TEST_SUITE_END()
