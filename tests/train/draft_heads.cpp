#include "augur/train/draft_heads.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "augur/draft/heads.hpp"
#include "augur/train/learner.hpp"
#include "train/gradients.hpp"
#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_draft_heads)
using namespace augur;
using namespace augur::train;
using testing::refuses;

using heads = draft_heads<dense_weight_matrix<double>>;
using light = draft_heads<dense_weight_matrix<float>>;
static_assert(Trainable<heads> && DraftHeads<heads> && SaysWhatHeadsSee<heads> && Trainable<light>);
static_assert(!CanBeClamped<heads>);

constexpr std::size_t vocabulary = 7, width = 4, count = 3;

void embed(token id, std::span<double> out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::cos(3.0 * id + 1.7 * static_cast<double>(i));
}
heads new_heads(bool see_tokens, std::vector<token> tokens = {}) {
    const std::size_t classes = tokens.empty() ? vocabulary : tokens.size();
    const matrix<double> W = testing::some_numbers(detail::index(classes), width, 0.2);
    heads learned(dense_weight_matrix<double>(std::vector<double>(W.data(), W.data() + W.size()), classes, width),
                  {.vocabulary_size = vocabulary, .tokens = tokens}, {.heads = count, .see_tokens = see_tokens}, embed);
    learned.assign(testing::some_numbers(learned.values().size(), 1, 0.9));
    return learned;
}

/// Two rows of head 0, one of 1, three of 2, mixed.
const Eigen::MatrixXd states = testing::some_numbers(width, 6, 0.5);
asked_rows some_rows(const heads& of) {
    asked_rows asked{{2, 0, 2, 1, 0, 2}, {}};
    for (std::size_t i = 0; i < 6 * of.context_size(); ++i)
        asked.after.push_back(static_cast<token>(5 * i % vocabulary));
    return asked;
}

BOOST_AUTO_TEST_CASE(rows_are_those_of_the_definition) {
    for (const bool see_tokens : {false, true}) {
        const heads learned = new_heads(see_tokens, {5, 1, 2});
        auto workspace = learned.make_workspace();
        const std::vector<token> after{4, 0, 6};
        const std::vector<float> state{0.5F, -1, 2, 0.25F};
        for (std::size_t head = 0; head < count; ++head) {
            const auto& at = learned.layout().weights[head];
            BOOST_TEST(at.columns == (see_tokens ? head + 2 : 1) * width);
            std::vector<double> x(state.begin(), state.end());
            for (std::size_t k = 0; see_tokens && k <= head; ++k) {
                x.resize(x.size() + width);
                embed(after[k], std::span(x).last(width));
            }
            std::vector<double> out(state.begin(), state.end());
            for (std::size_t i = 0; i < width; ++i) {
                double sum = learned.values()[detail::index(learned.layout().biases[head].offset + i)];
                for (std::size_t j = 0; j < x.size(); ++j) {
                    sum += learned.values()[detail::index(at.offset + i * at.columns + j)] * x[j];
                }
                out[i] += sum / (1 + std::exp(-sum));
            }
            const auto row = learned.row(workspace, state, std::span(after).first(head + 1), head);
            BOOST_REQUIRE(row.size() == vocabulary);
            const matrix<double> W = learned.weight_matrix().dense();
            for (std::size_t id = 0; id < vocabulary; ++id) {
                const auto place = std::find(learned.tokens().begin(), learned.tokens().end(), static_cast<token>(id));
                if (place == learned.tokens().end()) {
                    BOOST_TEST(row[id] == -std::numeric_limits<float>::infinity());
                    continue;
                }
                double expected = 0;
                for (std::size_t i = 0; i < width; ++i) {
                    expected += W(place - learned.tokens().begin(), detail::index(i)) * out[i];
                }
                BOOST_TEST(static_cast<double>(row[id]) == expected, boost::test_tools::tolerance(1e-6));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(they_start_as_the_models_own_head) {
    const std::vector<float> W(vocabulary * width, 0.5F), state{1, 2, 3, 4};
    const light learned(dense_weight_matrix<float>(W, vocabulary, width), {.vocabulary_size = vocabulary},
                        {.heads = 2});
    auto workspace = learned.make_workspace();
    const std::vector<token> after{3, 4};
    for (std::size_t head = 0; head < 2; ++head) {
        for (const float logit : learned.row(workspace, state, std::span(after).first(head + 1), head)) {
            BOOST_TEST(logit == 5.0F);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_number_has_the_gradient_of_what_it_changes) {
    for (const bool see_tokens : {false, true}) {
        for (const std::vector<token>& tokens : {std::vector<token>{}, std::vector<token>{5, 1, 2}}) {
            heads learned = new_heads(see_tokens, tokens);
            const asked_rows asked = some_rows(learned);
            const auto first = learned.forward(states, asked);
            const Eigen::MatrixXd weights = testing::some_numbers(first.logits.rows(), first.logits.cols(), 0.1);
            // a loss that is curved in every logit
            const auto loss = [&](const Eigen::VectorXd& at) {
                heads moved = learned;
                moved.assign(at);
                return moved.forward(states, asked).logits.array().sin().matrix().cwiseProduct(weights).sum();
            };
            const Eigen::MatrixXd grad_logits = first.logits.array().cos().matrix().cwiseProduct(weights);
            const auto gradient = learned.backward(first, grad_logits);
            const auto expected = testing::differences(loss, learned.values());
            BOOST_TEST(testing::relative_difference(gradient, expected) < 1e-6);
            for (const auto& part : learned.blocks()) {
                const auto of = expected.segment(detail::index(part.offset), detail::index(part.size()));
                BOOST_TEST(of.cwiseAbs().minCoeff() > 0, part.name);
                BOOST_TEST(testing::relative_difference(train::block(gradient, part), of) < 1e-6, part.name);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_head_that_was_not_asked_does_not_move) {
    const heads learned = new_heads(true);
    const asked_rows asked{{1, 1}, std::vector<token>(2 * count, 3)};
    const auto pass = learned.forward(states.leftCols(2), asked);
    const auto gradient = learned.backward(pass, Eigen::MatrixXd::Ones(vocabulary, 2));
    for (std::size_t head = 0; head < count; ++head) {
        BOOST_TEST((train::block(gradient, learned.layout().weights[head]).norm() > 0) == (head == 1));
        BOOST_TEST((train::block(gradient, learned.layout().biases[head]).norm() > 0) == (head == 1));
    }
}

BOOST_AUTO_TEST_CASE(an_update_goes_against_the_gradient_of_the_mean_loss) {
    heads learned = new_heads(true);
    batch<double> training_batch{.states = states, .examples = {}, .spread = 1, .asked = some_rows(learned)};
    for (std::size_t i = 0; i < 6; ++i) {
        training_example<double> each;
        each.probabilities = {0.05, 0.1, 0.05, 0.2, 0.4, 0.1, 0.1};
        each.top = 4;
        training_batch.examples.push_back(each);
    }
    const auto total = [&](const Eigen::VectorXd& at) {
        heads moved = learned;
        moved.assign(at);
        losses<double> judge({}, progress{});
        vector<double> gradient(vocabulary);
        const auto logits = moved.forward(training_batch.states, training_batch.asked).logits;
        double sum = 0;
        for (std::size_t i = 0; i < 6; ++i)
            sum += judge(logits.col(detail::index(i)), training_batch.examples[i], gradient).total;
        return sum / 6;
    };
    const auto gradient = testing::differences(total, learned.values());
    const adam_w_options steps{
        .rate = 0.1, .first_decay = 0, .second_decay = 0, .epsilon = 1, .weight_decay = 0, .warm_up = 0, .clip = 0};
    learner learns(learned, {}, steps);
    BOOST_TEST(learns.update(training_batch, 0));
    const Eigen::VectorXd expected = learned.values().array() - 0.1 * gradient.array() / (gradient.array().abs() + 1);
    BOOST_TEST((learns.head().values() - expected).cwiseAbs().maxCoeff() < 1e-8);
    BOOST_TEST(learns.last().exit_norm == 1);
    BOOST_TEST(learns.last().alpha == 1);
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_refused_with_both_values) {
    const auto base = [](std::size_t classes) {
        return dense_weight_matrix<double>(std::vector<double>(classes * width, 1), classes, width);
    };
    const auto make = [&](std::size_t classes, const heads_options& chosen, heads::embedding_type embedding = {},
                          std::vector<token> tokens = {}) {
        return heads(base(classes), {.vocabulary_size = vocabulary, .tokens = tokens}, chosen, embedding);
    };
    BOOST_TEST(refuses([&] { make(6, {}); }, "the base has 6 rows, but there are 7 tokens"));
    BOOST_TEST(refuses([&] { make(2, {}, {}, {1, 9}); }, "token 9 is outside a vocabulary of 7"));
    BOOST_TEST(refuses([&] { make(2, {}, {}, {1, 1}); }, "token 1 is listed twice"));
    BOOST_TEST(refuses([&] { make(7, {.heads = 0}); }, "heads is 0; it must be between 1 and 64"));
    BOOST_TEST(refuses([&] { make(7, {.heads = 65}); }, "heads is 65"));
    BOOST_TEST(refuses([&] { make(7, {.see_tokens = true}); }, "there is no embedding"));
    const std::vector<float> norm(width, 1);
    BOOST_TEST(refuses([&] { heads(base(7), {.vocabulary_size = vocabulary, .norm_weight = norm}); },
                       "draft_heads: a norm of 4 weights"));
    heads other = new_heads(true), fewer = make(7, {.heads = 2});
    BOOST_TEST(refuses([&] { other.assign(vector<double>::Zero(3)); }, "not 3"));
    BOOST_TEST(refuses([&] { other.swap(fewer); }, "cannot swap"));
    // As many numbers, but not of as many heads.
    const auto of_width = [](std::size_t size, std::size_t several) {
        return heads(dense_weight_matrix<double>(std::vector<double>(size * size, 1.0), size, size),
                     {.vocabulary_size = size}, {.heads = several});
    };
    heads narrow = of_width(1, 3), wide = of_width(2, 1);
    BOOST_TEST_REQUIRE(narrow.values().size() == wide.values().size());
    BOOST_TEST(refuses([&] { narrow.swap(wide); }, "cannot swap 3 heads with 6 parameters and 1 with 6"));
    auto workspace = other.make_workspace();
    const std::vector<float> state(width), small(width - 1);
    const std::vector<token> two{1, 2}, odd{1, -1};
    BOOST_TEST(refuses([&] { other.row(workspace, state, two, 0); }, "1 tokens, not 4 and 2"));
    BOOST_TEST(refuses([&] { other.row(workspace, small, two, 1); }, "a state of 4 numbers and 2 tokens, not 3 and 2"));
    BOOST_TEST(refuses([&] { other.row(workspace, state, odd, 1); }, "reads token -1, but the vocabulary has 7"));
    BOOST_TEST(refuses([&] { other.forward(states, {{0}, {}}); }, "6 states of 4 numbers, 1 heads"));
    BOOST_TEST(refuses([&] { fewer.forward(states.leftCols(1), {{2}, {}}); }, "there is no head 2 of 2"));
}

BOOST_AUTO_TEST_SUITE_END()
