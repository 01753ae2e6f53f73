#include "augur/train/draft_attention.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <complex>
#include <cstddef>
#include <string>
#include <vector>

#include "train/gradients.hpp"
#include "train/layer_parameters.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_draft_attention)
using namespace augur;
using namespace augur::train;
using testing::attention_of_waves;
using testing::some_numbers;

constexpr std::size_t width = 5, heads = 4, key_heads = 2, head_size = 3, rank = 2, before = 7;
constexpr double epsilon = 1e-3;
const std::vector<float> norm_weight{1.25F, 0.5F, -0.75F, 2.0F, 1.0F};
const std::vector<double> frequencies{0.7};  // the third number of a head does not turn
using base = dense_weight_matrix<double>;
using attention = draft_attention<base>;

/// Two texts, of four positions and of three.
const columns<double> states = 2 * some_numbers(width, 7, 0.1);
const std::vector<std::size_t> positions{0, 1, 2, 3, 0, 1, 2};
const std::vector<attending_row> rows{{0, 3}, {4, 6}, {0, 0}, {0, 2}, {4, 6}};

attention_projections<base> parts() {
    return attention_of_waves<double>(width, heads, key_heads, head_size, frequencies, norm_weight);
}
attention new_attention() {
    return {parts(), rank, epsilon, before};
}
vector<double> first_values(const attention& of, std::uint64_t seed = 0) {
    vector<double> values = vector<double>::Constant(detail::index(before + of.size()), 9.0);
    of.begin(values, seed);
    return values;
}
vector<double> moved_values(const attention& of) {
    vector<double> values = first_values(of);
    values.tail(detail::index(of.size())) += 0.3 * some_numbers(detail::index(of.size()), 1, 0.7);
    return values;
}
std::vector<double> product(const base& by, const std::vector<double>& in) {
    const Eigen::VectorXd out = by.dense() * Eigen::Map<const Eigen::VectorXd>(in.data(), detail::index(in.size()));
    return {out.data(), out.data() + out.size()};
}

/// Head by head and number by number, pairs as complex numbers.
std::vector<double> attended_by_hand(const attention_projections<base>& of, const attending_row& row) {
    std::vector<std::vector<double>> queries, keys, values;
    for (std::size_t at = row.first; at <= row.own; ++at) {
        std::vector<double> in(width);
        double square = 0;
        for (std::size_t i = 0; i < width; ++i) in[i] = states(detail::index(i), detail::index(at));
        for (const double each : in) square += each * each;
        for (std::size_t i = 0; i < width; ++i) {
            in[i] *= static_cast<double>(norm_weight[i]) / std::sqrt(square / width + epsilon);
        }
        const auto turned = [&](std::vector<double> numbers) {
            for (std::size_t head = 0; head < numbers.size() / head_size; ++head) {
                const std::complex<double> pair =
                    std::complex(numbers[head * head_size], numbers[head * head_size + 1]) *
                    std::polar(1.0, 0.7 * static_cast<double>(at - row.first));
                numbers[head * head_size] = pair.real();
                numbers[head * head_size + 1] = pair.imag();
            }
            return numbers;
        };
        queries.push_back(turned(product(of.query, in)));
        keys.push_back(turned(product(of.key, in)));
        values.push_back(product(of.value, in));
    }
    std::vector<double> out(heads * head_size);
    for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t group = head / (heads / key_heads) * head_size;
        double total = 0;
        std::vector<double> weights;
        for (const auto& key : keys) {
            double score = 0;
            for (std::size_t i = 0; i < head_size; ++i) score += key[group + i] * queries.back()[head * head_size + i];
            weights.push_back(std::exp(score / std::sqrt(3.0)));
            total += weights.back();
        }
        for (std::size_t at = 0; at < values.size(); ++at) {
            for (std::size_t i = 0; i < head_size; ++i) {
                out[head * head_size + i] += weights[at] / total * values[at][group + i];
            }
        }
    }
    return out;
}
double largest_difference(const columns<double>& got, const attention_projections<base>& of) {
    double largest = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto expected = attended_by_hand(of, rows[i]);
        for (std::size_t k = 0; k < expected.size(); ++k) {
            largest = std::max(largest, std::abs(got(detail::index(k), detail::index(i)) - expected[k]));
        }
    }
    return largest;
}

BOOST_AUTO_TEST_CASE(it_starts_as_the_attention_of_the_model) {
    const auto layer = new_attention();
    const auto values = first_values(layer);
    BOOST_TEST((values.head(before).array() == 9.0).all());  // somebody else's
    BOOST_TEST(largest_difference(layer.forward(values, states, positions, rows).attended, parts()) < 1e-12);
}

BOOST_AUTO_TEST_CASE(updates_are_those_of_the_three_matrices) {
    const auto layer = new_attention();
    const auto values = moved_values(layer);
    auto changed = parts();
    const auto blocks = layer.blocks();
    std::size_t at = 0;
    for (auto* each : {&changed.query, &changed.key, &changed.value}) {
        const matrix<double> whole = each->dense() + matrix_of(values, blocks[at]) * matrix_of(values, blocks[at + 1]);
        *each = {std::vector<double>(whole.data(), whole.data() + whole.size()), each->classes(), each->width()};
        at += 2;
    }
    const auto got = layer.forward(values, states, positions, rows).attended;
    BOOST_TEST(largest_difference(got, changed) < 1e-12);
    BOOST_TEST(largest_difference(got, parts()) > 1e-2);
}

BOOST_AUTO_TEST_CASE(every_number_has_the_gradient_of_what_it_changes_in_its_own_position_and_in_those_before) {
    const auto layer = new_attention();
    const auto values = moved_values(layer);
    const columns<double> wanted = some_numbers(heads * head_size, detail::index(rows.size()), 0.9);
    const auto activations = layer.forward(values, states, positions, rows);
    vector<double> gradient = vector<double>::Zero(values.size());
    layer.backward(values, activations, 2 * activations.attended.cwiseProduct(wanted), gradient);
    const auto expected = testing::differences(
        [&](const Eigen::VectorXd& at) {
            return (layer.forward(at, states, positions, rows).attended.array().square() * wanted.array()).sum();
        },
        values);
    BOOST_TEST(gradient.head(before).isZero(0));
    for (const head_block& part : layer.blocks()) {
        const auto at = detail::index(part.offset), size = detail::index(part.size());
        BOOST_TEST(expected.segment(at, size).cwiseAbs().maxCoeff() > 1e-3);
        BOOST_TEST(testing::relative_difference(gradient.segment(at, size), expected.segment(at, size)) < 1e-6,
                   part.name);
    }
}

std::vector<float> text_of(std::size_t first, std::size_t count) {
    const Eigen::MatrixXf numbers = states.middleCols(detail::index(first), detail::index(count)).cast<float>();
    return {numbers.data(), numbers.data() + numbers.size()};
}

BOOST_AUTO_TEST_CASE(a_sequence_attends_as_a_forward_does_however_it_was_filled) {
    const auto layer = new_attention();
    const auto values = moved_values(layer);
    const columns<double> rounded = states.cast<float>().cast<double>();
    const auto expected = layer.forward(values, rounded, positions, rows).attended;
    const auto layer_input_of = [&](auto& sequence) { return layer.layer_input(values, 1, sequence); };
    const auto is_row = [&](const columns<double>& layer_input, Eigen::Index row, Eigen::Index state) {
        return (layer_input.topRows(heads * head_size) - expected.col(row)).isZero(1e-12) &&
               (layer_input.bottomRows(width) - rounded.col(state)).isZero(0);
    };
    attention::sequence whole, one_by_one;
    layer.append(values, 1, whole, text_of(0, 4));
    BOOST_TEST(is_row(layer_input_of(whole), 0, 3));
    for (std::size_t at = 0; at < 4; ++at) {
        layer.append(values, 1, one_by_one, text_of(at, 1));
        if (at == 0) BOOST_TEST(is_row(layer_input_of(one_by_one), 2, 0));
        if (at == 2) BOOST_TEST(is_row(layer_input_of(one_by_one), 3, 2));
    }
    BOOST_TEST(is_row(layer_input_of(one_by_one), 0, 3));
    layer.truncate(whole, 1);
    BOOST_TEST(layer.length(whole) == 1U);
    BOOST_TEST(is_row(layer_input_of(whole), 2, 0));
    layer.append(values, 1, whole, text_of(1, 2));
    BOOST_TEST(is_row(layer_input_of(whole), 3, 2));
    layer.truncate(whole, 0);
    BOOST_TEST(testing::refuses([&] { layer_input_of(whole); }, "attends to nothing"));
    layer.append(values, 1, whole, text_of(4, 3));
    BOOST_TEST(is_row(layer_input_of(whole), 1, 6));
}

BOOST_AUTO_TEST_CASE(keys_and_values_follow_the_updates) {
    const auto layer = new_attention();
    const auto first = first_values(layer), then = moved_values(layer);
    attention::sequence kept, fresh;
    layer.append(first, 1, kept, text_of(0, 3));
    layer.append(then, 2, kept, text_of(3, 1));
    layer.append(then, 2, fresh, text_of(0, 4));
    BOOST_TEST((layer.layer_input(then, 2, kept) - layer.layer_input(then, 2, fresh)).isZero(1e-12));
    BOOST_TEST((layer.layer_input(first, 1, fresh) - layer.layer_input(first, 1, kept)).isZero(1e-12));
    BOOST_TEST(!(layer.layer_input(then, 2, kept) - layer.layer_input(first, 1, fresh)).isZero(1e-3));
}

BOOST_AUTO_TEST_CASE(equal_seeds_equal_numbers_and_no_two_matrices_the_same) {
    const auto layer = new_attention();
    BOOST_TEST((first_values(layer) - first_values(layer)).isZero(0));
    BOOST_TEST(!(first_values(layer) - first_values(layer, 1)).isZero(1e-3));
    const auto values = first_values(layer);
    const auto blocks = layer.blocks();
    BOOST_TEST(!(block(values, blocks[1]) - block(values, blocks[3])).isZero(1e-3));
    BOOST_TEST(!(block(values, blocks[3]) - block(values, blocks[5])).isZero(1e-3));
    for (const head_block& part : blocks) BOOST_TEST(part.decays);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_with_both_values) {
    const auto refused = [](const auto& change, std::size_t of_rank, const std::string& said) {
        auto of = parts();
        change(of);
        BOOST_TEST(testing::refuses([&] { attention(of, of_rank, epsilon, 0); }, said), said);
    };
    const auto waves = [](std::size_t outputs, std::size_t inputs) {
        return testing::base_of_waves<double>(outputs, inputs, 0);
    };
    const std::vector<float> three(3, 1.0F);
    const std::vector<double> two(2, 1.0);
    refused([&](auto& of) { of.key = waves(6, 4); }, rank, "states of 5, 4 and 5 numbers");
    refused([&](auto& of) { of.value = waves(6, 3); }, rank, "states of 5, 5 and 3 numbers");
    refused([&](auto& of) { of.value = waves(3, width); }, rank, "6 numbers of keys, but 3 of values");
    refused([&](auto& of) { of.head_size = 0; }, rank, "heads of 0 numbers");
    refused([&](auto& of) { of.head_size = 4; }, rank, "heads of 4 numbers do not divide queries of 12 and keys of 6");
    refused([&](auto& of) { of.query = waves(9, width); }, rank, "queries of 9 and keys of 6");
    refused([&](auto& of) { of.frequencies = two; }, rank, "2 pairs turn, but heads have 3");
    refused([&](auto& of) { of.norm_weight = three; }, rank, "3 weights, but states have 5");
    refused([](auto&) {}, 0, "attention_rank is 0; it must be between 1 and 5");
    refused([](auto&) {}, 6, "attention_rank is 6; it must be between 1 and 5");
}

BOOST_AUTO_TEST_SUITE_END()
