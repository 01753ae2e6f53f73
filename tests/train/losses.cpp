#include "augur/train/losses.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "train/gradients.hpp"

BOOST_AUTO_TEST_SUITE(train_losses)
using namespace augur;
using namespace augur::train;
using testing::differences;
using testing::relative_difference;

constexpr std::size_t vocabulary = 7;
const vector<double> logits = testing::some_numbers(vocabulary, 1, 0.3) * 2;
const std::vector<float> teacher_logits{0.2F, -1.5F, 1.75F, 0.4F, -0.3F, 1.0F, -2.0F};

std::vector<float> log_probabilities(const std::vector<float>& of) {
    double total = 0;
    for (const float each : of) total += std::exp(static_cast<double>(each));
    std::vector<float> values;
    for (const float each : of) values.push_back(each - static_cast<float>(std::log(total)));
    return values;
}

/// The teacher's row as it is, or its three largest and a tail.
struct row_of_teacher {
    std::vector<float> logarithms = log_probabilities(teacher_logits);
    std::vector<token> tokens{};
    float tail = 0;

    static row_of_teacher top_three() {
        row_of_teacher row;
        const auto all = row.logarithms;
        row.tokens = {2, 5, 3};
        row.logarithms.clear();
        double listed = 0;
        for (const token id : row.tokens) {
            row.logarithms.push_back(all[static_cast<std::size_t>(id)]);
            listed += std::exp(static_cast<double>(row.logarithms.back()));
        }
        row.tail = static_cast<float>(1 - listed);
        return row;
    }
    teacher_row view() const { return {tokens, logarithms, tail}; }
};

training_example<double> example_of(const row_of_teacher& row, const std::vector<token>& head = {},
                                    double temperature = 1) {
    training_example<double> example;
    fill_example(row.view(), class_index(head, vocabulary), temperature, example);
    return example;
}

loss_options constant(double lambda, double anchor = 0) {
    loss_options chosen;
    chosen.schedule.lambda = lambda_kind::constant;
    chosen.schedule.floor = lambda;
    chosen.schedule.anchor = {anchor, anchor, 0};
    return chosen;
}

struct judged_loss {
    loss_values values;
    vector<double> gradient;
};
judged_loss judge(const loss_options& chosen, const training_example<double>& example, const vector<double>& z,
                  double baseline = 0, std::size_t t = 0) {
    judged_loss judged{{}, vector<double>::Constant(z.size(), 99)};
    judged.values = losses<double>(chosen, {t, t, 0}, baseline)(z, example, judged.gradient);
    return judged;
}

void check_gradient(const loss_options& chosen, const training_example<double>& example, const vector<double>& z,
                    double baseline = 0.25) {
    const auto found = judge(chosen, example, z, baseline);
    const auto expected =
        differences([&](const vector<double>& at) { return judge(chosen, example, at, baseline).values.total; }, z);
    BOOST_TEST(expected.cwiseAbs().maxCoeff() > 1e-3);
    BOOST_TEST(relative_difference(found.gradient, expected) < 1e-6);
}

BOOST_AUTO_TEST_CASE(every_switch_has_the_gradient_of_its_value) {
    const std::vector<token> head{5, 2, 0, 6};  // a pruned vocabulary, in an order of its own
    for (const auto& row : {row_of_teacher(), row_of_teacher::top_three()}) {
        for (const bool pruned : {false, true}) {
            training_example<double> example = example_of(row, pruned ? head : std::vector<token>{}, 1.3);
            example.drafted = 3;
            const vector<double> z = pruned ? vector<double>(logits.head(4)) : logits;
            for (const double lambda : {0.0, 0.3, 1.0}) {
                for (const auto policy :
                     {policy_kind::log_probability, policy_kind::reinforce, policy_kind::probability,
                      policy_kind::margin, policy_kind::reward_masked, policy_kind::none}) {
                    for (const auto divergence : {divergence_kind::forward, divergence_kind::reverse}) {
                        for (const auto bit : {accept_bit::accepted, accept_bit::rejected}) {
                            BOOST_TEST_CONTEXT("pruned " << pruned << ", lambda " << lambda << ", policy "
                                                         << static_cast<int>(policy)) {
                                loss_options chosen = constant(lambda, 0.2);
                                chosen.policy = policy;
                                chosen.divergence = divergence;
                                chosen.margin = 6;
                                chosen.schedule.entropy = 0.1;
                                example.bit = bit;
                                check_gradient(chosen, example, z);
                            }
                        }
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(each_part_alone_has_the_gradient_of_its_value) {
    training_example<double> example = example_of(row_of_teacher::top_three());
    example.drafted = 1;
    example.bit = accept_bit::rejected;
    for (const auto policy :
         {policy_kind::log_probability, policy_kind::reinforce, policy_kind::probability, policy_kind::margin}) {
        loss_options chosen = constant(0);
        chosen.policy = policy;
        chosen.margin = 6;
        check_gradient(chosen, example, logits);
    }
    for (const auto divergence : {divergence_kind::forward, divergence_kind::reverse}) {
        loss_options chosen = constant(1);
        chosen.divergence = divergence;
        check_gradient(chosen, example, logits);
    }
}

BOOST_AUTO_TEST_CASE(the_values_are_those_of_their_formulas) {
    const auto example = example_of(row_of_teacher());
    const vector<double> draft = (logits.array() - std::log(logits.array().exp().sum())).exp();
    double forward = 0, reverse = 0, entropy = 0;
    for (std::size_t i = 0; i < vocabulary; ++i) {
        const double p = example.probabilities[i], q = draft[static_cast<Eigen::Index>(i)];
        forward += p * std::log(p / q);
        reverse += q * std::log(q / p);
        entropy -= q * std::log(q);
    }
    const double tolerance = 1e-10;
    loss_options chosen = constant(0.3, 0.2);
    chosen.schedule.entropy = 0.1;
    const auto found = judge(chosen, example, logits).values;
    BOOST_TEST(std::abs(found.divergence - forward) < tolerance);
    BOOST_TEST(std::abs(found.entropy_nats - entropy) < tolerance);
    BOOST_TEST(std::abs(found.policy + std::log(draft[2])) < tolerance);
    BOOST_TEST(found.anchor == found.policy);
    BOOST_TEST(std::abs(found.top_probability - draft[2]) < tolerance);
    BOOST_TEST(std::abs(found.total - (0.7 * found.policy + 0.3 * forward + 0.2 * found.anchor - 0.1 * entropy)) <
               tolerance);
    chosen.divergence = divergence_kind::reverse;
    BOOST_TEST(std::abs(judge(chosen, example, logits).values.divergence - reverse) < tolerance);
    chosen.policy = policy_kind::probability;
    BOOST_TEST(std::abs(judge(chosen, example, logits).values.policy + draft[2]) < tolerance);
    chosen.policy = policy_kind::margin;
    double strongest = -1e9;  // beside token 2, the verifier's
    for (Eigen::Index i = 0; i < logits.size(); ++i) strongest = i == 2 ? strongest : std::max(strongest, logits[i]);
    BOOST_TEST(std::abs(judge(chosen, example, logits).values.policy - std::max(0.0, 1 - logits[2] + strongest)) <
               tolerance);
}

BOOST_AUTO_TEST_CASE(a_margin_that_is_there_teaches_nothing_more) {
    auto example = example_of(row_of_teacher());
    Eigen::Index largest = 0;
    logits.maxCoeff(&largest);
    example.top = static_cast<std::size_t>(largest);
    loss_options chosen = constant(0);
    chosen.policy = policy_kind::margin;
    double second = -1e9;
    for (Eigen::Index i = 0; i < logits.size(); ++i) second = i == largest ? second : std::max(second, logits[i]);
    chosen.margin = (logits[largest] - second) / 2;
    const auto found = judge(chosen, example, logits);
    BOOST_TEST(found.values.total == 0);
    BOOST_TEST(found.gradient.isZero(0));
}

BOOST_AUTO_TEST_CASE(the_first_class_keeps_its_margin_from_the_strongest_other) {
    training_example<double> example;
    example.probabilities = {0.5, 0.25, 0.25};
    example.top = 0;
    loss_options chosen = constant(0);
    chosen.policy = policy_kind::margin;
    vector<double> z(3);
    z << 2, 1.5, 1;
    const auto found = judge(chosen, example, z);
    BOOST_TEST(found.values.policy == 0.5);
    BOOST_TEST(found.gradient[1] == 1);
}

/// Some class beside those that are listed, to which the verifier gives nothing; and none beside them, to which it
/// gives something.
BOOST_AUTO_TEST_CASE(a_tail_that_one_of_both_has_not_is_finite) {
    auto example = example_of(row_of_teacher::top_three());
    example.tail = 0;
    const vector<double> draft = (logits.array() - std::log(logits.array().exp().sum())).exp();
    double reverse = 0, tail = 1;
    for (std::size_t i = 0; i < 3; ++i) {
        const double q = draft[static_cast<Eigen::Index>(example.classes[i])];
        reverse += q * std::log(q / example.probabilities[i]);
        tail -= q;
    }
    reverse += tail * (std::log(tail) - std::log(1e-30));
    loss_options chosen = constant(1);
    chosen.divergence = divergence_kind::reverse;
    BOOST_TEST(judge(chosen, example, logits).values.divergence == reverse, boost::test_tools::tolerance(1e-9));
    check_gradient(chosen, example, logits);
    auto all = example_of(row_of_teacher());
    all.whole = false;
    all.classes.resize(vocabulary);
    std::iota(all.classes.begin(), all.classes.end(), std::size_t{0});
    const double without = judge(constant(1), all, logits).values.divergence;
    all.tail = 0.1;
    BOOST_TEST(judge(constant(1), all, logits).values.divergence == without);
}

BOOST_AUTO_TEST_CASE(the_verifiers_token_is_reported_where_its_anchor_has_no_weight) {
    const vector<double> draft = (logits.array() - std::log(logits.array().exp().sum())).exp();
    const auto found = judge(constant(0.3), example_of(row_of_teacher()), logits).values;
    BOOST_TEST(found.anchor == -std::log(draft[2]), boost::test_tools::tolerance(1e-12));
    BOOST_TEST(found.top_probability == draft[2], boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_head_of_one_class_has_no_other_to_keep_a_margin_from) {
    training_example<double> example;
    example.probabilities = {1};
    example.top = 0;
    loss_options chosen = constant(0);
    chosen.policy = policy_kind::margin;
    const auto found = judge(chosen, example, vector<double>::Constant(1, 2.5));
    BOOST_TEST(found.values.total == 0);
    BOOST_TEST(found.gradient.isZero(0));
}

BOOST_AUTO_TEST_CASE(a_head_with_none_of_the_listed_tokens_has_one_outcome) {
    const auto example = example_of(row_of_teacher::top_three(), {0, 1, 4});
    BOOST_TEST(example.classes.empty());
    BOOST_TEST(!example.whole);
    const vector<double> z = logits.head(3);
    for (const auto divergence : {divergence_kind::forward, divergence_kind::reverse}) {
        loss_options chosen = constant(1);
        chosen.divergence = divergence;
        const auto found = judge(chosen, example, z);
        const double expected =
            divergence == divergence_kind::forward ? example.tail * std::log(example.tail) : -std::log(example.tail);
        BOOST_TEST(found.values.divergence == expected, boost::test_tools::tolerance(1e-9));
        BOOST_TEST(found.gradient.cwiseAbs().maxCoeff() < 1e-12);
    }
}

BOOST_AUTO_TEST_CASE(where_both_agree_divergences_are_zero_and_level) {
    for (const auto& row : {row_of_teacher(), row_of_teacher::top_three()}) {
        const Eigen::Map<const Eigen::VectorXf> same(teacher_logits.data(), vocabulary);
        for (const auto divergence : {divergence_kind::forward, divergence_kind::reverse}) {
            loss_options chosen = constant(1);
            chosen.divergence = divergence;
            const auto found = judge(chosen, example_of(row), same.cast<double>());
            BOOST_TEST(std::abs(found.values.divergence) < 1e-6);
            BOOST_TEST(found.gradient.cwiseAbs().maxCoeff() < 1e-6);
        }
    }
}

BOOST_AUTO_TEST_CASE(the_policy_alone_is_the_anchor_alone) {
    const auto example = example_of(row_of_teacher());
    const auto policy = judge(constant(0), example, logits);
    loss_options chosen = constant(0, 1);
    for (const auto nothing : {policy_kind::none, policy_kind::reinforce}) {  // the latter of a token not judged
        chosen.policy = nothing;
        const auto anchor = judge(chosen, example, logits);
        BOOST_TEST(anchor.values.policy == 0);
        BOOST_TEST((policy.gradient - anchor.gradient).cwiseAbs().maxCoeff() < 1e-15);
        BOOST_TEST(policy.values.total == anchor.values.total);
    }
}

BOOST_AUTO_TEST_CASE(without_a_policy_what_lambda_leaves_is_nobodys) {
    const auto example = example_of(row_of_teacher());
    loss_options chosen = constant(0.3);
    chosen.policy = policy_kind::none;
    const auto found = judge(chosen, example, logits), whole = judge(constant(1), example, logits);
    BOOST_TEST((found.gradient - 0.3 * whole.gradient).cwiseAbs().maxCoeff() < 1e-15);
    BOOST_TEST(std::abs(found.values.total - 0.3 * whole.values.total) < 1e-15);
}

BOOST_AUTO_TEST_CASE(what_was_not_judged_has_no_reward) {
    training_example<double> example = example_of(row_of_teacher());
    example.drafted = 4;
    loss_options chosen = constant(0);
    chosen.policy = policy_kind::reinforce;
    BOOST_TEST(judge(chosen, example, logits, 0.5).gradient.isZero(0));
    example.bit = accept_bit::accepted;
    const auto accepted = judge(chosen, example, logits, 0.5);
    BOOST_TEST(accepted.gradient[4] < 0);  // a step against the gradient makes it more likely
    example.bit = accept_bit::rejected;
    BOOST_TEST((accepted.gradient + judge(chosen, example, logits, 0.5).gradient).isZero(1e-15));
}

BOOST_AUTO_TEST_CASE(reward_masked_cross_entropy_is_that_of_accepted_tokens_and_nothing_of_others) {
    training_example<double> example = example_of(row_of_teacher());
    loss_options chosen = constant(0);
    chosen.policy = policy_kind::reward_masked;
    const auto is_nothing = [&] {
        const auto found = judge(chosen, example, logits, 0.5);
        return found.values.policy == 0 && found.values.total == 0 && found.gradient.isZero(0);
    };
    example.bit = accept_bit::accepted;  // of a token that the head has no class for
    BOOST_TEST(is_nothing());
    example.drafted = 4;
    const vector<double> draft = (logits.array() - std::log(logits.array().exp().sum())).exp();
    BOOST_TEST(judge(chosen, example, logits).values.policy == -std::log(draft[4]),
               boost::test_tools::tolerance(1e-12));
    check_gradient(chosen, example, logits);
    BOOST_TEST(judge(chosen, example, logits, 0.1).gradient == judge(chosen, example, logits, 0.9).gradient);
    for (const auto bit : {accept_bit::rejected, accept_bit::unknown}) {
        example.bit = bit;
        BOOST_TEST(is_nothing());
    }
    example.bit = accept_bit::accepted;
    example.drafted = example.top;  // then it is -log pi(v)
    BOOST_TEST(judge(chosen, example, logits).gradient == judge(constant(0), example, logits).gradient);
}

/// The tail as one outcome hides how the draft shares it out: the divergence of a whole row is larger.
BOOST_AUTO_TEST_CASE(of_a_flat_row_the_largest_tokens_alone_keep_little_of_the_divergence) {
    constexpr std::size_t all = 4096, top = 64;
    const std::vector<float> logarithms(all, -std::log(static_cast<float>(all)));
    std::vector<token> listed(top);
    std::iota(listed.begin(), listed.end(), 0);
    training_example<double> whole, cut;
    fill_example<double>({.log_probabilities = logarithms}, class_index({}, all), 1, whole);
    fill_example<double>({listed, std::span(logarithms).first(top), 1 - 64.0f / 4096}, class_index({}, all), 1, cut);
    const vector<double> z = vector<double>::LinSpaced(all, 0, 16);
    const double expected = std::log(z.array().exp().mean()) - z.mean();
    BOOST_TEST(judge(constant(1), whole, z).values.divergence == expected, boost::test_tools::tolerance(1e-5));
    BOOST_TEST(expected > 5.2);
    BOOST_TEST(judge(constant(1), cut, z).values.divergence < 0.2);
}

/// Over all tokens that can be drawn, the mean of REINFORCE's gradient is minus the gradient of the expected bit, whose
/// chance given the token is a number of its own.
BOOST_AUTO_TEST_CASE(reinforce_is_unbiased_at_the_temperature_that_tokens_are_drawn_at) {
    const vector<double> chance = (testing::some_numbers(vocabulary, 1, 0.6).array() + 1) / 2;
    for (const double temperature : {1.0, 0.5, 1.7}) {
        const auto drawn = [&](const vector<double>& z) -> vector<double> {
            const vector<double> scaled = z / temperature;
            return (scaled.array() - std::log(scaled.array().exp().sum())).exp();
        };
        const vector<double> wanted =
            differences([&](const vector<double>& z) { return -drawn(z).dot(chance); }, logits);
        loss_options chosen = constant(0);
        chosen.policy = policy_kind::reinforce;
        chosen.drawn_at = temperature;
        vector<double> mean = vector<double>::Zero(vocabulary);
        training_example<double> example = example_of(row_of_teacher());
        for (std::size_t t = 0; t < vocabulary; ++t) {
            example.drafted = t;
            const double p = drawn(logits)[detail::index(t)], r = chance[detail::index(t)];
            example.bit = accept_bit::accepted;
            mean += p * r * judge(chosen, example, logits, 0.3).gradient;
            check_gradient(chosen, example, logits);
            example.bit = accept_bit::rejected;
            mean += p * (1 - r) * judge(chosen, example, logits, 0.3).gradient;
        }
        BOOST_TEST(relative_difference(mean, wanted) < 1e-7);
    }
}

BOOST_AUTO_TEST_CASE(of_rejection_sampling_reinforce_has_the_gradient_of_tokens_and_not_that_of_their_chances) {
    const auto example = example_of(row_of_teacher());
    const auto row_of = [](const vector<double>& z) -> vector<double> {
        return (z.array() - std::log(z.array().exp().sum())).exp();
    };
    const Eigen::Map<const vector<double>> p(example.probabilities.data(), vocabulary);
    const vector<double> chance = p.cwiseQuotient(row_of(logits)).cwiseMin(1);
    const auto as_given = [&](const vector<double>& z) { return row_of(z).dot(chance); };
    const auto accepted = [&](const vector<double>& z) { return row_of(z).cwiseMin(p).sum(); };
    BOOST_TEST(std::abs(as_given(logits) - accepted(logits)) < 1e-12);
    BOOST_TEST(relative_difference(differences(as_given, logits), differences(accepted, logits)) > 0.1);
}

BOOST_AUTO_TEST_CASE(a_listed_tail_is_one_outcome) {
    const auto row = row_of_teacher::top_three();
    const auto example = example_of(row);
    BOOST_TEST(example.classes == (std::vector<std::size_t>{2, 5, 3}), boost::test_tools::per_element());
    const vector<double> draft = (logits.array() - std::log(logits.array().exp().sum())).exp();
    double expected = 0, tail = 1;
    for (std::size_t i = 0; i < 3; ++i) {
        const double q = draft[static_cast<Eigen::Index>(example.classes[i])];
        expected += example.probabilities[i] * std::log(example.probabilities[i] / q);
        tail -= q;
    }
    expected += example.tail * std::log(example.tail / tail);
    BOOST_TEST(std::abs(judge(constant(1), example, logits).values.divergence - expected) < 1e-10);
    BOOST_TEST(example.tail > 0.1);
}

BOOST_AUTO_TEST_CASE(a_head_without_the_verifiers_token_is_not_taught_it) {
    const std::vector<token> head{5, 3, 0};
    const auto example = example_of(row_of_teacher(), head);
    BOOST_TEST(example.top == training_example<double>::none);
    const vector<double> z = logits.head(3);
    const auto found = judge(constant(0, 0.2), example, z);
    BOOST_TEST(found.gradient.isZero(0));
    BOOST_TEST(found.values.top_probability == 0);
    const auto divergence = judge(constant(1), example, z);  // of the tokens that it has
    BOOST_TEST(divergence.gradient.sum() == 0, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(!divergence.gradient.isZero(1e-3));
}

BOOST_AUTO_TEST_CASE(impossible_tokens_are_no_fault) {
    row_of_teacher row;
    row.logarithms = log_probabilities({0, -std::numeric_limits<float>::infinity(), 1, 0, 0, 0, 0});
    for (const auto divergence : {divergence_kind::forward, divergence_kind::reverse}) {
        loss_options chosen = constant(1, 0.2);
        chosen.divergence = divergence;
        check_gradient(chosen, example_of(row), logits);
    }
}

BOOST_AUTO_TEST_CASE(a_softer_teacher_is_its_row_to_the_power) {
    const auto soft = example_of(row_of_teacher(), {}, 2), sharp = example_of(row_of_teacher());
    double total = 0;
    for (const double p : sharp.probabilities) total += std::sqrt(p);
    for (std::size_t i = 0; i < vocabulary; ++i) {
        BOOST_TEST(std::abs(soft.probabilities[i] - std::sqrt(sharp.probabilities[i]) / total) < 1e-12);
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_weight_is_refused) {
    const auto refused = [](auto&& change) {
        loss_options chosen;
        change(chosen);
        BOOST_CHECK_THROW(chosen.check(), error);
    };
    loss_options().check();
    const double nan = std::numeric_limits<double>::quiet_NaN();
    refused([&](auto& o) { o.schedule.floor = nan; });
    for (const double bad : {-1.0, nan}) refused([&](auto& o) { o.margin = bad; });
    for (const double bad : {-0.1, 1.0, nan}) refused([&](auto& o) { o.baseline_decay = bad; });
    for (const double bad : {0.0, -1.0, nan}) refused([&](auto& o) { o.drawn_at = bad; });
}

BOOST_AUTO_TEST_SUITE_END()
