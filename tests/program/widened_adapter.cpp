#include "../../examples/augur/widened_adapter.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "augur/train/learner.hpp"
#include "augur/train/state_head.hpp"
#include "train/gradients.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(program_widened_adapter)
using namespace augur;
using namespace augur::train;
using program::widened, program::widened_adapter;
using testing::refuses;
using testing::some_numbers;

using head = state_head<dense_weight_matrix<double>>;
constexpr std::size_t classes = 7, narrow = 4, wide = 11, samples = 5;
constexpr double epsilon = 0.01;  // large enough to be seen
const state_identity whose{"0123456789abcdef", 2, narrow, classes};

/// Columns of `width`, the first those of the narrow matrix, the others noise.
dense_weight_matrix<double> base_of(std::size_t width) {
    const matrix<double> first = some_numbers(classes, narrow, 0.2);
    matrix<double> all = 3 * some_numbers(classes, detail::index(width), 0.9);
    all.leftCols(narrow) = first;
    return {std::vector<double>(all.data(), all.data() + all.size()), classes, width};
}
/// As program::widening makes it of the model's norm.
std::vector<float> norm_of(std::size_t width) {
    std::vector<float> norm(width);
    const double scale = std::sqrt(static_cast<double>(narrow) / static_cast<double>(width));
    for (std::size_t i = 0; i < narrow; ++i) norm[i] = static_cast<float>((0.5 + static_cast<double>(i)) * scale);
    return norm;
}
head head_of(head_options chosen, std::size_t width) {
    chosen.epsilon = epsilon * static_cast<double>(narrow) / static_cast<double>(width);
    const auto norm = norm_of(width);
    return {base_of(width), {.layer = 2, .vocabulary_size = classes, .norm_weight = norm}, chosen};
}
columns<double> states_of(std::size_t width, std::size_t count = samples) {
    columns<double> states = columns<double>::Zero(detail::index(width), detail::index(count));
    states.topRows(narrow) = some_numbers(narrow, detail::index(count), 0.4);
    return states;
}
checkpoint<double> checkpoint_of(const head& of) {
    checkpoint<double> kept;
    kept.options = of.options();
    kept.values = of.values() + 0.3 * some_numbers(of.values().size(), 1, 0.6);
    kept.first = some_numbers(of.values().size(), 1, 0.1);
    kept.second = kept.first.cwiseAbs2();
    kept.steps = 12;
    return kept;
}
checkpoint<double> grown(const checkpoint<double>& from, std::size_t width = wide) {
    return widened(from, whose, width, epsilon * static_cast<double>(narrow) / static_cast<double>(width));
}

std::vector<head_options> heads_that_follow() {
    std::vector<head_options> all;
    for (const auto norm : {norm_kind::rms, norm_kind::none}) {
        for (const auto update : {update_kind::state, update_kind::output, update_kind::full, update_kind::none}) {
            for (const auto scale : {scale_kind::global, scale_kind::per_class}) {
                for (const bool more : {false, true}) {
                    all.push_back(
                        {.norm = norm, .learn_norm = more, .scale = scale, .update = update, .rank = 3, .bias = more});
                }
            }
        }
    }
    return all;
}

BOOST_AUTO_TEST_CASE(the_wide_head_makes_the_same_logits) {
    for (const head_options& chosen : heads_that_follow()) {
        head small = head_of(chosen, narrow);
        const auto kept = checkpoint_of(small);
        small.assign(kept.values);
        for (const std::size_t width : {narrow, narrow + 1, wide}) {
            head large = head_of(chosen, width);
            const auto wider = grown(kept, width);
            wider.check(large);
            large.assign(wider.values);
            const columns<double> expected = small.forward(states_of(narrow)).logits;
            const double off = (large.forward(states_of(width)).logits - expected).cwiseAbs().maxCoeff();
            BOOST_TEST(off < 1e-6);  // the fixed norm is in single precision
            if (chosen.learn_norm || chosen.norm == norm_kind::none) BOOST_TEST(off < 1e-12);
            BOOST_TEST(wider.steps == 12U);
        }
    }
}

BOOST_AUTO_TEST_CASE(gradients_are_those_of_the_narrow_head_and_moments_grow_with_them) {
    for (const head_options& chosen : heads_that_follow()) {
        head small = head_of(chosen, narrow), large = head_of(chosen, wide);
        auto kept = checkpoint_of(small);
        small.assign(kept.values);
        large.assign(grown(kept).values);
        const columns<double> grad_logits = some_numbers(classes, samples, 0.7);
        kept.first = small.backward(small.forward(states_of(narrow)), grad_logits);
        kept.second = kept.first.cwiseAbs2();
        const auto expected = grown(kept);
        vector<double> gradient = large.backward(large.forward(states_of(wide)), grad_logits);
        if (chosen.update == update_kind::state) {  // noise of the matrix is read by what `up` may come to write
            const auto up = large.layout().up;
            const auto learned = matrix_of(gradient, up).bottomRows(wide - narrow);
            BOOST_TEST(learned.cwiseAbs().maxCoeff() > 1e-3);
            matrix_of(gradient, up).bottomRows(wide - narrow).setZero();
        }
        BOOST_TEST(testing::relative_difference(gradient, expected.first) < 1e-6);
        BOOST_TEST(testing::relative_difference(gradient.cwiseAbs2(), expected.second) < 1e-6);
    }
}

BOOST_AUTO_TEST_CASE(learning_goes_on_as_it_would_have) {
    const head_options chosen{.learn_norm = false, .update = update_kind::output, .rank = 3, .bias = true};
    head small = head_of(chosen, narrow), large = head_of(chosen, wide);
    const auto kept = checkpoint_of(small), wider = grown(kept);
    learner<head> first(small, {}, {}), second(large, {}, {});
    first.restore(kept.values, kept.first, kept.second, kept.steps, 0);
    second.restore(wider.values, wider.first, wider.second, wider.steps, 0);
    const auto training_batch = [](std::size_t width) {
        batch<double> of{.states = states_of(width), .examples = {}};
        for (std::size_t i = 0; i < samples; ++i) {
            training_example<double> each;
            each.probabilities = {0.1, 0.1, 0.05, 0.2, 0.4, 0.1, 0.05};
            each.top = 4;
            of.examples.push_back(each);
        }
        return of;
    };
    const double before = (first.head().values() - kept.values).cwiseAbs().maxCoeff();
    for (int step = 0; step < 20; ++step) {
        BOOST_TEST(first.update(training_batch(narrow), 0));
        BOOST_TEST(second.update(training_batch(wide), 0));
    }
    const columns<double> expected = first.head().forward(states_of(narrow)).logits;
    BOOST_TEST(before == 0);
    BOOST_TEST((first.head().values() - kept.values).cwiseAbs().maxCoeff() > 1e-3);
    BOOST_TEST((second.head().forward(states_of(wide)).logits - expected).cwiseAbs().maxCoeff() < 1e-5);
}

BOOST_AUTO_TEST_CASE(a_pruned_head_follows) {
    const std::vector<token> tokens{1, 4, 6};
    const auto pruned = [&](std::size_t width) {
        const auto norm = norm_of(width);
        head_options chosen{.rank = 2, .bias = true};
        chosen.epsilon = epsilon * static_cast<double>(narrow) / static_cast<double>(width);
        return head(base_of(width).selected(tokens),
                    {.layer = 2, .vocabulary_size = classes, .norm_weight = norm, .tokens = tokens}, chosen);
    };
    head small = pruned(narrow), large = pruned(wide);
    auto kept = checkpoint_of(small);
    kept.tokens = tokens;
    small.assign(kept.values);
    const auto wider = grown(kept);
    wider.check(large);
    large.assign(wider.values);
    BOOST_TEST((large.forward(states_of(wide)).logits - small.forward(states_of(narrow)).logits).cwiseAbs().maxCoeff() <
               1e-12);
}

BOOST_AUTO_TEST_CASE(heads_for_which_it_cannot_hold_are_refused) {
    const auto kept = checkpoint_of(head_of({.rank = 3}, narrow));
    const auto refused = [&](auto change, const std::string& what) {
        auto other = kept;
        change(other);
        BOOST_TEST(refuses([&] { grown(other); }, what));
    };
    refused([](auto& of) { of.options.norm = norm_kind::layer; }, "the norm is layer");
    refused([](auto& of) { of.options.weight_norm = true; }, "weight_norm is on");
    refused([](auto& of) { of.options.layer_rank = 4; }, "layer_rank is 4");
    refused([](auto& of) { of.options.epsilon = 0.02; }, "its epsilon 0.02 becomes");
    refused([](auto& of) { of.values.conservativeResize(5); }, "it has 5 parameters");
    refused([](auto& of) { of.second.conservativeResize(6); }, "it has 6 parameters");
    BOOST_TEST(refuses([&] { widened(kept, whose, 3, epsilon); }, "of 4 numbers do not fit into 3"));
}

BOOST_AUTO_TEST_SUITE_END()
