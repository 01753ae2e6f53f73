#include "augur/train/adam_w.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

BOOST_AUTO_TEST_SUITE(train_adam_w)
using namespace augur;
using namespace augur::train;

const std::array<head_block, 2> blocks{head_block{"matrix", 0, 2, 2, true}, head_block{"bias", 4, 2, 1, false}};
vector<double> numbers(std::vector<double> of) {
    return Eigen::Map<Eigen::VectorXd>(of.data(), detail::index(of.size()));
}
const adam_w_options chosen{.rate = 0.05,
                            .first_decay = 0.9,
                            .second_decay = 0.99,
                            .epsilon = 1e-6,
                            .weight_decay = 0.1,
                            .warm_up = 3,
                            .clip = 1.5};

// PyTorch 2.15, in double: w = [1, -2, .5, 3] and b = [.25, -1]; AdamW([{w, weight_decay .1}, {b, weight_decay 0}],
// lr .05, betas (.9, .99), eps 1e-6); LambdaLR(lambda k: min(1, (k + 1) / 3)); per step t clip_grad_norm_([w, b], 1.5).
BOOST_AUTO_TEST_CASE(steps_are_those_of_pytorch) {
    const std::vector<double> norms{4.645427859734774, 3.75632799419859, 3.074265946711688, 2.6612966764342527,
                                    2.6343879744638983};
    const std::vector<std::vector<double>> expected{
        {0.9816668387178112, -1.9800000516157163, 0.48250002580789814, 2.995, 0.23333340706997313, -1.0166666537627076},
        {0.9470795989012375, -1.9413234631037057, 0.4475763856646878, 3.0097644520309186, 0.2000181854930448,
         -1.0499167713561584},
        {0.896520581306924, -1.884784535412873, 0.39538161945689154, 3.0350104494733228, 0.1500614144866702,
         -1.099155751663083},
        {0.8463890536628893, -1.829595493719477, 0.34335326480701933, 3.0617964215470734, 0.10001007039001233,
         -1.1459118125029992},
        {0.795765829325273, -1.7760441451148008, 0.29135223299606056, 3.0902078615510207, 0.04972590227662382,
         -1.1855215962487664}};
    adam_w<double> optimizer(6, chosen);
    vector<double> values = numbers({1, -2, 0.5, 3, 0.25, -1});
    for (std::size_t t = 0; t < expected.size(); ++t) {
        const double at = static_cast<double>(t);
        const auto gradient = numbers({0.3 * (at + 1), -1 / (at + 1), 2, -0.1 * at, 0.7, 4 - at});
        BOOST_TEST(optimizer.step(values, gradient, blocks));
        BOOST_TEST(optimizer.gradient_norm() == norms[t], boost::test_tools::tolerance(1e-13));
        for (std::size_t i = 0; i < 6; ++i) {
            BOOST_TEST(values[detail::index(i)] == expected[t][i], boost::test_tools::tolerance(1e-12));
        }
    }
    BOOST_TEST(optimizer.steps() == 5U);
}

BOOST_AUTO_TEST_CASE(a_gradient_that_is_no_number_is_dropped_and_counted) {
    const auto gradient = numbers({0.3, -1, 2, 0, 0.7, 4});
    adam_w<double> disturbed(6, chosen), calm(6, chosen);
    vector<double> a = numbers({1, -2, 0.5, 3, 0.25, -1}), b = a;
    for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
        disturbed.step(a, gradient, blocks);
        calm.step(b, gradient, blocks);
        for (Eigen::Index at = 0; at < 6; ++at) {
            auto broken = gradient;
            broken[at] = bad;
            BOOST_TEST(!disturbed.step(a, broken, blocks));
        }
        BOOST_TEST(a == b);
        BOOST_TEST(disturbed.first() == calm.first());
        BOOST_TEST(disturbed.second() == calm.second());
    }
    BOOST_TEST(disturbed.dropped() == 18U);
    BOOST_TEST(disturbed.steps() == 3U);
    BOOST_TEST(calm.dropped() == 0U);
}

BOOST_AUTO_TEST_CASE(a_large_gradient_of_floats_is_clipped_rather_than_dropped) {
    adam_w<float> optimizer(6, chosen);
    vector<float> values = vector<float>::Zero(6);
    BOOST_TEST(optimizer.step(values, vector<float>::Constant(6, 1e30F), blocks));  // its square is no float
    BOOST_TEST(values.allFinite());
    BOOST_TEST(values[0] < 0);
}

BOOST_AUTO_TEST_CASE(a_step_to_what_is_no_number_is_dropped_and_counted) {
    const auto dropped = [](adam_w_options with, float value, float gradient) {
        adam_w<float> optimizer(6, with);
        vector<float> values = vector<float>::Constant(6, value);
        const vector<float> before = values;
        BOOST_TEST(!optimizer.step(values, vector<float>::Constant(6, gradient), blocks));
        BOOST_TEST(values == before);
        BOOST_TEST(optimizer.first() == vector<float>::Zero(6));
        BOOST_TEST(optimizer.second() == vector<float>::Zero(6));
        BOOST_TEST(optimizer.steps() == 0U);
        BOOST_TEST(optimizer.dropped() == 1U);
        values.setZero();
        BOOST_TEST(optimizer.step(values, vector<float>::Constant(6, 0), blocks));  // and it goes on
        BOOST_TEST(values.allFinite());
    };
    adam_w_options far = chosen, unclipped = chosen;
    far.rate = 3e37;
    far.weight_decay = 0;
    far.warm_up = 0;
    unclipped.clip = 0;
    dropped(far, -3.3e38F, 1);         // a weight
    dropped(unclipped, 0.5F, -1e30F);  // a moment: the square is no float
}

BOOST_AUTO_TEST_CASE(it_goes_on_where_it_was) {
    const auto gradient = numbers({0.3, -1, 2, 0, 0.7, 4});
    adam_w<double> whole(6, chosen), later(6, chosen);
    vector<double> a = numbers({1, -2, 0.5, 3, 0.25, -1}), b;
    for (int i = 0; i < 4; ++i) {
        if (i == 2) {
            b = a;
            later.restore(whole.first(), whole.second(), whole.steps(), whole.dropped());
        }
        whole.step(a, gradient, blocks);
        if (i >= 2) later.step(b, gradient, blocks);
    }
    BOOST_TEST(a == b);
    later.restore(whole.first(), whole.second(), 9, 3);
    BOOST_TEST(later.steps() == 9U);
    BOOST_TEST(later.dropped() == 3U);
    BOOST_CHECK_THROW(later.restore(vector<double>::Zero(5), vector<double>::Zero(6), 1, 0), error);
    BOOST_CHECK_THROW(later.restore(vector<double>::Zero(6), vector<double>::Zero(5), 1, 0), error);
}

BOOST_AUTO_TEST_CASE(a_gradient_within_the_clip_is_as_it_is) {
    adam_w_options bounded = chosen, free = chosen;
    bounded.epsilon = free.epsilon = 1;  // a step is then as long as its gradient
    free.clip = 0;
    adam_w<double> one(6, bounded), other(6, free);
    vector<double> a = numbers({1, -2, 0.5, 3, 0.25, -1}), b = a;
    const auto gradient = numbers({0.003, -0.01, 0.02, 0, 0.007, 0.04});
    for (int i = 0; i < 3; ++i) {
        one.step(a, gradient, blocks);
        other.step(b, gradient, blocks);
    }
    BOOST_TEST(a == b);
}

BOOST_AUTO_TEST_CASE(options_that_make_no_step_are_refused) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto refused = [](auto member, double bad) {
        adam_w_options options;
        options.*member = bad;
        BOOST_CHECK_THROW(adam_w<float>(1, options), error);
    };
    for (const double bad : {0.0, -1.0, nan}) {
        refused(&adam_w_options::rate, bad);
        refused(&adam_w_options::epsilon, bad);
    }
    for (const double bad : {-0.1, 1.0, nan}) {
        refused(&adam_w_options::first_decay, bad);
        refused(&adam_w_options::second_decay, bad);
    }
    for (const double bad : {-0.1, 1000.0, nan}) refused(&adam_w_options::weight_decay, bad);
    for (const double bad : {-0.1, nan, std::numeric_limits<double>::infinity()}) refused(&adam_w_options::clip, bad);
}

BOOST_AUTO_TEST_CASE(decays_close_to_one_make_steps_of_the_same_length_in_floats) {
    for (const double decay : {0.9, 0.999, 0.999999, 0.9999999, 0.99999994}) {
        const adam_w_options slow{
            .rate = 0.01, .second_decay = decay, .epsilon = 1e-30, .weight_decay = 0, .warm_up = 0, .clip = 0};
        adam_w<float> single(6, slow);
        adam_w<double> exact(6, slow);
        vector<float> a = vector<float>::Zero(6);
        vector<double> b = vector<double>::Zero(6);
        for (int i = 0; i < 5; ++i) {
            BOOST_TEST(single.step(a, vector<float>::Constant(6, 2), blocks));
            BOOST_TEST(exact.step(b, vector<double>::Constant(6, 2), blocks));
        }
        BOOST_TEST(static_cast<double>(a[0]) == b[0], boost::test_tools::tolerance(1e-4));
    }
}

BOOST_AUTO_TEST_CASE(what_is_no_such_number_as_a_scalar_is_refused) {
    const auto refused = [](auto member, double bad, const std::string& expected) {
        adam_w_options options;
        options.*member = bad;
        BOOST_CHECK_NO_THROW(adam_w<double>(1, options));
        BOOST_CHECK_EXCEPTION(adam_w<float>(1, options), error, [&](const error& e) {
            BOOST_TEST(std::string(e.what()).find(expected) != std::string::npos, e.what());
            return true;
        });
    };
    refused(&adam_w_options::first_decay, 0.99999999, "first_decay is 1 - 1e-08, which is 1 in numbers of 32 bits");
    refused(&adam_w_options::second_decay, 0.99999999, "second_decay is 1 - 1e-08, which is 1 in");
    refused(&adam_w_options::epsilon, 1e-46, "epsilon is 1e-46, which is 0 in numbers of 32 bits");
    refused(&adam_w_options::epsilon, 1e39, "epsilon is 1e+39, which is inf in numbers of 32 bits");
    refused(&adam_w_options::rate, 1e-46, "rate is 1e-46, which is 0 in numbers of 32 bits");
}

BOOST_AUTO_TEST_SUITE_END()
