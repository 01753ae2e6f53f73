#include "augur/train/state_head.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "train/gradients.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_state_head)
using namespace augur;
using namespace augur::train;
using testing::differences;
using testing::relative_difference;
using testing::some_numbers;

constexpr std::size_t classes = 9, width = 5, samples = 3;
const std::vector<float> norm_weight{1.25F, 0.5F, -0.75F, 2.0F, 1.0F};

template <class Scalar>
std::vector<Scalar> weights_of_base() {
    std::vector<Scalar> weights;
    for (std::size_t i = 0; i < classes * width; ++i)
        weights.push_back(static_cast<Scalar>(std::sin(1.7 * static_cast<double>(i))));
    return weights;
}
template <class Scalar>
state_head<dense_weight_matrix<Scalar>> head_of(const head_options& chosen = {}) {
    return {dense_weight_matrix<Scalar>(weights_of_base<Scalar>(), classes, width),
            {.layer = 4, .vocabulary_size = classes, .norm_weight = norm_weight},
            chosen};
}
using head = state_head<dense_weight_matrix<double>>;

/// Numbers as they may be after some learning.
template <class Head>
void move(Head& of, double by = 0.3) {
    auto values = of.values();
    values += (by * some_numbers(values.size(), 1, 0.7)).template cast<typename Head::scalar>();
    of.assign(values);
}

const columns<double> states = 2 * some_numbers(width, samples, 0.1);
const columns<double> wanted = some_numbers(classes, samples, 0.9);

/// Something of logits whose gradient is not constant.
double value_of(const head& of) {
    return (of.forward(states).logits.array().square() * wanted.array()).sum();
}

/// Options that can be combined, all of them.
std::vector<head_options> every_head() {
    std::vector<head_options> all;
    for (const auto norm : {norm_kind::rms, norm_kind::layer, norm_kind::none}) {
        for (const auto scale : {scale_kind::global, scale_kind::per_class, scale_kind::none}) {
            for (const auto update : {update_kind::state, update_kind::output, update_kind::full, update_kind::none}) {
                for (const bool weight_norm : {false, true}) {
                    for (const bool bias : {false, true}) {
                        all.push_back({.norm = norm,
                                       .learn_norm = norm != norm_kind::layer || bias,
                                       .scale = scale,
                                       .update = update,
                                       .rank = 2,
                                       .weight_norm = weight_norm,
                                       .bias = bias});
                    }
                }
            }
        }
    }
    return all;
}

std::string described(const head_options& of) {
    return std::string(name_of(of.norm)) + ' ' + std::string(name_of(of.scale)) + ' ' +
           std::string(name_of(of.update)) + (of.weight_norm ? " weight_norm" : "") + (of.bias ? " bias" : "");
}

BOOST_AUTO_TEST_CASE(every_number_has_the_gradient_of_what_it_changes) {
    std::size_t blocks = 0;
    for (const auto& chosen : every_head()) {
        head learned = head_of<double>(chosen);
        move(learned);
        if (learned.values().size() == 0) continue;
        const auto activations = learned.forward(states);
        const auto gradient = learned.backward(activations, 2 * activations.logits.cwiseProduct(wanted));
        const auto expected = differences(
            [&](const Eigen::VectorXd& at) {
                learned.assign(at);
                return value_of(learned);
            },
            learned.values());
        for (const auto& part : learned.layout().blocks()) {
            if (part.size() == 0) continue;
            ++blocks;
            const Eigen::VectorXd own = expected.segment(detail::index(part.offset), detail::index(part.size()));
            BOOST_TEST(own.cwiseAbs().maxCoeff() > 1e-3);
            BOOST_TEST(relative_difference(gradient.segment(detail::index(part.offset), detail::index(part.size())),
                                           own) < 1e-6,
                       described(chosen) << ": " << part.name);
        }
    }
    BOOST_TEST(blocks > 300U);
}

BOOST_AUTO_TEST_CASE(it_starts_as_the_models_head_after_its_norm) {
    const auto weights = weights_of_base<double>();
    for (const auto& chosen : every_head()) {
        if (chosen.norm != norm_kind::rms) continue;
        const auto logits = head_of<double>(chosen).forward(states).logits;
        for (std::size_t s = 0; s < samples; ++s) {
            const auto h = states.col(detail::index(s));
            const double root = std::sqrt(h.squaredNorm() / width + 1e-5);
            for (std::size_t i = 0; i < classes; ++i) {
                double sum = 0;
                for (std::size_t k = 0; k < width; ++k) {
                    sum += weights[i * width + k] * h[detail::index(k)] / root * static_cast<double>(norm_weight[k]);
                }
                BOOST_TEST(std::abs(logits(detail::index(i), detail::index(s)) - sum) < 1e-12, described(chosen));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_layer_norm_has_no_mean) {
    const head learned = head_of<double>({.norm = norm_kind::layer, .update = update_kind::none});
    const auto unit = learned.forward(states).unit.unit;
    for (Eigen::Index s = 0; s < unit.cols(); ++s) {
        BOOST_TEST(std::abs(unit.col(s).sum()) < 1e-12);
        BOOST_TEST(std::abs(unit.col(s).squaredNorm() - width) < 1e-3);
    }
}

BOOST_AUTO_TEST_CASE(rows_are_those_of_a_forward_in_any_company) {
    for (const auto& chosen : every_head()) {
        auto learned = head_of<float>(chosen);
        move(learned);
        const auto together = learned.forward(states.cast<float>()).logits;
        for (Eigen::Index s = 0; s < together.cols(); ++s) {
            const Eigen::VectorXf own = states.col(s).cast<float>();
            std::vector<float> row(classes);
            learned.row({own.data(), width}, row);
            for (std::size_t i = 0; i < classes; ++i)
                BOOST_TEST(std::abs(row[i] - together(detail::index(i), s)) < 1e-4F);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_pruned_head_has_logits_for_its_tokens_only) {
    const dense_weight_matrix<float> base(weights_of_base<float>(), classes, width);
    const std::vector<token> tokens{7, 1, 4};
    const head_place place{.layer = 2, .vocabulary_size = classes, .norm_weight = norm_weight, .tokens = tokens};
    const state_head pruned(base.selected(tokens), place, {.rank = 2});
    const state_head whole(base, {.layer = 2, .vocabulary_size = classes, .norm_weight = norm_weight}, {.rank = 2});
    BOOST_TEST(pruned.classes() == 3U);
    BOOST_TEST(pruned.vocabulary_size() == classes);
    BOOST_TEST(whole.possible().empty());
    BOOST_TEST(pruned.possible().empty());  // they do not ascend
    const std::vector<token> ascending{1, 4, 7};
    head_place sorted = place;
    sorted.tokens = ascending;
    const state_head listed(base.selected(ascending), sorted, {.rank = 2});
    BOOST_TEST(listed.possible() == ascending, boost::test_tools::per_element());
    const std::vector<float> hidden{1, -2, 0.5F, 3, 0};
    std::vector<float> row(classes, 7), all(classes);
    pruned.row(hidden, row);
    whole.row(hidden, all);
    for (std::size_t i = 0; i < classes; ++i) {
        const bool kept = i == 7 || i == 1 || i == 4;
        BOOST_TEST((kept ? std::abs(row[i] - all[i]) < 1e-5F : row[i] == -std::numeric_limits<float>::infinity()));
    }
}

BOOST_AUTO_TEST_CASE(rows_and_states_of_other_sizes_are_refused) {
    const auto learned = head_of<float>({.rank = 2});
    std::vector<float> hidden(width), row(classes);
    learned.row(hidden, row);
    BOOST_CHECK_THROW(learned.row(std::span<const float>(hidden).first(4), row), error);
    BOOST_CHECK_THROW(learned.row(hidden, std::span(row).first(8)), error);
    BOOST_TEST(learned.vocabulary_fingerprint().empty());
}

BOOST_AUTO_TEST_CASE(heads_of_one_kind_change_places) {
    for (const bool weight_norm : {false, true}) {
        const head_options chosen{.update = update_kind::output, .rank = 2, .weight_norm = weight_norm};
        head a = head_of<double>(chosen), b = a;
        const auto before = a.forward(states).logits;
        move(b);
        const auto moved = b.forward(states).logits;
        a.swap(b);
        BOOST_TEST((a.forward(states).logits - moved).isZero(0));
        BOOST_TEST((b.forward(states).logits - before).isZero(0));
        BOOST_TEST(!(moved - before).isZero(1e-3));
    }
    head other = head_of<double>({.rank = 3}), a = head_of<double>({.rank = 2});
    BOOST_CHECK_THROW(a.swap(other), error);
    BOOST_CHECK_THROW(a.assign(other.values()), error);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_with_both_values) {
    const dense_weight_matrix<float> base(weights_of_base<float>(), classes, width);
    const auto refused = [&](const head_place& place, const head_options& chosen, const std::string& said) {
        BOOST_TEST(testing::refuses([&] { state_head(base, place, chosen); }, said), said);
    };
    const std::vector<float> four(4, 1.0F);
    const std::vector<token> few{1, 2};
    const head_place fits{.layer = 1, .vocabulary_size = classes};
    refused({.layer = 1, .vocabulary_size = 8}, {.rank = 2}, "state_head: the base has 9 rows, but there are 8 tokens");
    refused({.layer = 1, .vocabulary_size = classes, .norm_weight = four}, {.rank = 2},
            "4 weights, but hidden states have 5");
    refused({.layer = 1, .vocabulary_size = classes, .tokens = few}, {.rank = 2}, "9 rows, but there are 2 tokens");
    refused(fits, {.rank = 6}, "rank is 6; it must be between 1 and 5");
}

BOOST_AUTO_TEST_SUITE_END()
