#include "augur/train/draft_layer.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "train/gradients.hpp"
#include "train/layer_parameters.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_draft_layer)
using namespace augur;
using namespace augur::train;
using testing::layer_of_waves;
using testing::some_numbers;

constexpr std::size_t width = 4, attended = 6, inner = 5, samples = 3, rank = 2, before = 7;
constexpr double epsilon = 1e-3;
const std::vector<float> norm_weight{1.25F, 0.5F, -0.75F, 2.0F};
using layer_type = draft_layer<dense_weight_matrix<double>>;

const columns<double> layer_inputs = 2 * some_numbers(attended + width, samples, 0.1);

layer_type new_layer() {
    return {layer_of_waves<double>(width, attended, inner, norm_weight), rank, epsilon, before};
}
vector<double> first_values(const layer_type& of, std::uint64_t seed = 0) {
    vector<double> values = vector<double>::Constant(detail::index(before + of.size()), 9.0);
    of.begin(values, seed);
    return values;
}

BOOST_AUTO_TEST_CASE(it_starts_as_the_layer_of_the_model) {
    const auto layer = new_layer();
    const auto values = first_values(layer);
    BOOST_TEST((values.head(before).array() == 9.0).all());  // somebody else's
    const auto got = layer.forward(values, layer_inputs).state;
    for (Eigen::Index i = 0; i < layer_inputs.cols(); ++i) {
        const auto expected =
            testing::layer_by_hand(layer_of_waves<double>(width, attended, inner, norm_weight),
                                   std::span<const double>(layer_inputs.col(i).data(), attended + width), epsilon);
        for (std::size_t k = 0; k < width; ++k) BOOST_TEST(std::abs(got(detail::index(k), i) - expected[k]) < 1e-12);
    }
}

BOOST_AUTO_TEST_CASE(updates_are_those_of_the_four_matrices) {
    const auto layer = new_layer();
    vector<double> values = first_values(layer);
    values.tail(detail::index(layer.size())) = 0.4 * some_numbers(detail::index(layer.size()), 1, 0.7);
    auto changed = layer_of_waves<double>(width, attended, inner, norm_weight);
    const auto blocks = layer.blocks();
    std::size_t at = 0;
    for (auto* each : {&changed.attention_output, &changed.gate, &changed.up, &changed.down}) {
        const matrix<double> whole = each->dense() + matrix_of(values, blocks[at]) * matrix_of(values, blocks[at + 1]);
        *each = {std::vector<double>(whole.data(), whole.data() + whole.size()), each->classes(), each->width()};
        at += 2;
    }
    const auto got = layer.forward(values, layer_inputs).state;
    for (Eigen::Index i = 0; i < layer_inputs.cols(); ++i) {
        const auto expected = testing::layer_by_hand(
            changed, std::span<const double>(layer_inputs.col(i).data(), attended + width), epsilon);
        for (std::size_t k = 0; k < width; ++k) BOOST_TEST(std::abs(got(detail::index(k), i) - expected[k]) < 1e-12);
    }
}

BOOST_AUTO_TEST_CASE(every_number_has_the_gradient_of_what_it_changes) {
    const auto layer = new_layer();
    vector<double> values = first_values(layer);
    values.tail(detail::index(layer.size())) += 0.3 * some_numbers(detail::index(layer.size()), 1, 0.7);
    const columns<double> wanted = some_numbers(width, samples, 0.9);
    const auto activations = layer.forward(values, layer_inputs);
    vector<double> gradient = vector<double>::Zero(values.size());
    layer.backward(values, activations, 2 * activations.state.cwiseProduct(wanted), gradient);
    const auto expected = testing::differences(
        [&](const Eigen::VectorXd& at) {
            return (layer.forward(at, layer_inputs).state.array().square() * wanted.array()).sum();
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

BOOST_AUTO_TEST_CASE(equal_seeds_equal_numbers_and_no_two_matrices_the_same) {
    const auto layer = new_layer();
    BOOST_TEST((first_values(layer) - first_values(layer)).isZero(0));
    BOOST_TEST(!(first_values(layer) - first_values(layer, 1)).isZero(1e-3));
    const auto values = first_values(layer);
    const auto blocks = layer.blocks();  // gate's and up's are of one size
    BOOST_TEST(!(block(values, blocks[3]) - block(values, blocks[5])).isZero(1e-3));
    for (const head_block& part : blocks) BOOST_TEST(part.decays);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_with_both_values) {
    const auto refused = [](const auto& change, std::size_t of_rank, const std::string& said) {
        auto parts = layer_of_waves<double>(width, attended, inner);
        change(parts);
        BOOST_TEST(testing::refuses([&] { layer_type(parts, of_rank, epsilon, 0); }, said), said);
    };
    const auto waves = [](std::size_t rows, std::size_t columns) {
        return testing::base_of_waves<double>(rows, columns, 0);
    };
    const std::vector<float> three(3, 1.0F);
    refused([&](auto& of) { of.up = waves(6, width); }, rank, "up is 6 by 4, not 5 by 4");
    refused([&](auto& of) { of.gate = waves(inner, 3); }, rank, "gate is 5 by 3, not 5 by 4");
    refused([&](auto& of) { of.down = waves(width, 6); }, rank, "down is 4 by 6, not 4 by 5");
    refused([&](auto& of) { of.norm_weight = three; }, rank, "3 weights, but states have 4");
    refused([](auto&) {}, 0, "layer_rank is 0; it must be between 1 and 4");
    refused([](auto&) {}, 5, "layer_rank is 5; it must be between 1 and 4");
}

BOOST_AUTO_TEST_SUITE_END()
