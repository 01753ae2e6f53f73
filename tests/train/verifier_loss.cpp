#include "augur/train/verifier_loss.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "train/gradients.hpp"

BOOST_AUTO_TEST_SUITE(train_verifier_loss)
using namespace augur;
using namespace augur::train;

const Eigen::VectorXd now = testing::some_numbers(5, 1, 0.3), before = testing::some_numbers(5, 1, 1.9);

training_example<double> whole_row() {
    training_example<double> example;
    example.probabilities = {0.1, 0.2, 0.4, 0.25, 0.05};
    example.top = 2;
    example.drafted = 3;
    return example;
}
training_example<double> cut_row() {
    training_example<double> example = whole_row();
    example.whole = false;
    example.classes = {2, 3};
    example.probabilities = {0.4, 0.25};
    example.tail = 0.35;
    return example;
}

BOOST_AUTO_TEST_CASE(every_choice_has_the_gradient_of_its_value) {
    for (const slow_target target : {slow_target::soft, slow_target::committed}) {
        for (const double beta : {0.0, 0.7}) {
            for (const training_example<double>& example : {whole_row(), cut_row()}) {
                const auto value = [&](const Eigen::VectorXd& z) {
                    vector<double> unused(5);
                    return verifier_loss<double>(target, beta)(z, before, example, unused).total;
                };
                vector<double> gradient(5);
                verifier_loss<double>(target, beta)(now, before, example, gradient);
                BOOST_TEST(testing::relative_difference(gradient, testing::differences(value, now)) < 1e-6);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_values_are_those_of_the_formulas) {
    const Eigen::VectorXd pi = (now.array().exp() / now.array().exp().sum()).matrix();
    const Eigen::VectorXd old = (before.array().exp() / before.array().exp().sum()).matrix();
    const double to_old = (pi.array() * (pi.array() / old.array()).log()).sum();
    vector<double> gradient(5);
    const auto of = verifier_loss<double>(slow_target::committed, 0.5)(now, before, whole_row(), gradient);
    BOOST_TEST(of.cross_entropy == -std::log(pi[3]), boost::test_tools::tolerance(1e-12));
    BOOST_TEST(of.to_old == to_old, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(of.total == of.cross_entropy + 0.5 * to_old, boost::test_tools::tolerance(1e-12));
    double expected = 0;
    const auto row = whole_row().probabilities;
    for (std::size_t i = 0; i < row.size(); ++i) expected += row[i] * std::log(row[i] / pi[detail::index(i)]);
    BOOST_TEST(verifier_loss<double>(slow_target::soft, 0)(now, before, whole_row(), gradient).total == expected,
               boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(a_verifier_that_says_what_it_said_is_not_moved) {
    training_example<double> own;
    for (const double z : now) own.probabilities.push_back(std::exp(z) / now.array().exp().sum());
    vector<double> gradient(5);
    const auto of = verifier_loss<double>(slow_target::soft, 0.5)(now, now, own, gradient);
    BOOST_TEST(std::abs(of.total) < 1e-12);
    BOOST_TEST(gradient.cwiseAbs().maxCoeff() < 1e-12);
    own.drafted = training_example<double>::none;  // a token without a class
    verifier_loss<double>(slow_target::committed, 0.5)(now, now, own, gradient);
    BOOST_TEST(gradient.cwiseAbs().maxCoeff() < 1e-12);
}

BOOST_AUTO_TEST_SUITE_END()
