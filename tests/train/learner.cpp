#include "augur/train/learner.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "augur/train/state_head.hpp"
#include "train/gradients.hpp"

BOOST_AUTO_TEST_SUITE(train_learner)
using namespace augur;
using namespace augur::train;

using head = state_head<dense_weight_matrix<double>>;
constexpr std::size_t classes = 6, width = 4, count = 3;

head new_head(const head_options& chosen = {.rank = 2}) {
    const matrix<double> W = testing::some_numbers(classes, width, 0.2);
    return {dense_weight_matrix<double>(std::vector<double>(W.data(), W.data() + W.size()), classes, width),
            {.layer = 1, .vocabulary_size = classes},
            chosen};
}
batch<double> some_batch() {
    batch<double> samples{.states = testing::some_numbers(width, count, 0.5), .examples = {}, .spread = 1.5};
    for (std::size_t i = 0; i < count; ++i) {
        training_example<double> each;
        each.probabilities = {0.05, 0.1, 0.05, 0.2, 0.5, 0.1};
        each.top = 4;
        each.drafted = i;
        each.bit = i == 0 ? accept_bit::accepted : accept_bit::rejected;
        samples.examples.push_back(each);
    }
    return samples;
}
double total_of(const head& of, const batch<double>& training_batch, const loss_options& chosen, std::size_t t = 0) {
    losses<double> judge(chosen, {t, t, 0}, 0.25);
    vector<double> gradient(classes);
    const auto logits = of.forward(training_batch.states).logits;
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i)
        sum += judge(logits.col(detail::index(i)), training_batch.examples[i], gradient).total;
    return sum / count;
}

BOOST_AUTO_TEST_CASE(a_step_goes_against_the_gradient_of_the_mean_loss) {
    for (const auto policy : {policy_kind::log_probability, policy_kind::reinforce}) {
        loss_options chosen;
        chosen.policy = policy;
        chosen.schedule.lambda = lambda_kind::constant;
        chosen.schedule.floor = 0.3;
        head moved = new_head();
        moved.assign(moved.values() + 0.2 * testing::some_numbers(moved.values().size(), 1, 0.4));
        const auto gradient = testing::differences(
            [&](const Eigen::VectorXd& at) {
                head other = moved;
                other.assign(at);
                return total_of(other, some_batch(), chosen);
            },
            moved.values());
        // without moments, decay, clipping and warm-up, a step is rate * gradient / (|gradient| + epsilon)
        const adam_w_options steps{
            .rate = 0.1, .first_decay = 0, .second_decay = 0, .epsilon = 1, .weight_decay = 0, .warm_up = 0, .clip = 0};
        learner learns(moved, chosen, steps);
        BOOST_TEST(learns.update(some_batch(), 0.25));
        const Eigen::VectorXd expected = moved.values().array() - 0.1 * gradient.array() / (gradient.array().abs() + 1);
        BOOST_TEST((learns.head().values() - expected).cwiseAbs().maxCoeff() < 1e-8);
        BOOST_TEST(learns.last().losses.total == total_of(moved, some_batch(), chosen),
                   boost::test_tools::tolerance(1e-12));
        BOOST_TEST(learns.last().gradient_norm == gradient.norm(), boost::test_tools::tolerance(1e-6));
        BOOST_TEST(learns.last().std_t == 1.5);
        BOOST_TEST(learns.last().lambda == 0.3);
        BOOST_TEST(learns.updates() == 1U);
    }
}

BOOST_AUTO_TEST_CASE(the_schedule_counts_updates_that_were_applied) {
    loss_options by_updates;
    by_updates.schedule.lambda = lambda_kind::decay_by_updates;
    learner learns(new_head(), by_updates, {});
    batch<double> broken = some_batch();
    broken.states(1, 1) = std::numeric_limits<double>::quiet_NaN();
    const auto before = learns.head().values();
    for (int i = 0; i < 3; ++i) BOOST_TEST(!learns.update(broken, 0));
    BOOST_TEST(learns.head().values() == before);
    BOOST_TEST(learns.last().dropped == 3U);
    learns.update(some_batch(), 0);
    BOOST_TEST(learns.last().lambda == 1);
    learns.update(some_batch(), 0);
    BOOST_TEST(learns.last().lambda == std::exp(-1 / 1000.0));
}

BOOST_AUTO_TEST_CASE(a_clamped_head_stays_within_its_bound) {
    learner learns(new_head({.update = update_kind::full, .clamp = 1.05}), {}, {.rate = 0.1, .warm_up = 0});
    double largest = 0;
    for (int i = 0; i < 50; ++i) {
        learns.update(some_batch(), 0);
        largest = std::max(largest, learns.exit_norm());
    }
    BOOST_TEST(largest < 1.05 + 1e-9);
    BOOST_TEST(largest > 1.05 - 1e-6);  // it would have been larger
    BOOST_TEST(learns.last().exit_norm == 1, boost::test_tools::tolerance(0.051));
}

BOOST_AUTO_TEST_CASE(the_entropy_that_is_reported_is_the_mean_of_the_drafts) {
    head moved = new_head();
    moved.assign(moved.values() + 0.2 * testing::some_numbers(moved.values().size(), 1, 0.4));
    learner learns(moved, {}, {});
    const auto logits = moved.forward(some_batch().states).logits;
    learns.update(some_batch(), 0);
    double sum = 0;
    for (Eigen::Index i = 0; i < logits.cols(); ++i) {
        const Eigen::ArrayXd odds = logits.col(i).array().exp(), draft = odds / odds.sum();
        sum -= (draft * draft.log()).sum();
    }
    BOOST_TEST(learns.last().losses.entropy_nats == sum / count, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(how_far_logits_spread_and_how_often_they_agree_is_reported) {
    head moved = new_head();
    moved.assign(moved.values() + 0.2 * testing::some_numbers(moved.values().size(), 1, 0.4));
    batch<double> training_batch = some_batch();
    const auto logits = moved.forward(training_batch.states).logits;
    double spread = 0;
    for (Eigen::Index i = 0; i < logits.cols(); ++i) {
        Eigen::Index largest = 0;
        logits.col(i).maxCoeff(&largest);
        training_example<double>& of = training_batch.examples[static_cast<std::size_t>(i)];
        of.top = i == 0 ? (static_cast<std::size_t>(largest) + 1) % classes : static_cast<std::size_t>(largest);
        of.drafted = (of.top + 1) % classes;
        const Eigen::ArrayXd around = logits.col(i).array() - logits.col(i).mean();
        spread += std::sqrt(around.square().mean()) / count;
        BOOST_TEST(std::abs(logits.col(i).mean()) > 1e-3);  // or it would tell nothing
    }
    learner learns(moved, {}, {});
    learns.update(training_batch, 0);
    BOOST_TEST(learns.last().std_s == spread, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(learns.last().agreement == 2.0 / 3, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(an_exit_norm_comes_with_every_sixty_fourth_update) {
    learner learns(new_head({.update = update_kind::full}), {}, {.rate = 0.1, .warm_up = 0});
    double known = diagnostics{}.exit_norm;
    for (std::size_t i = 1; i <= 130; ++i) {
        learns.update(some_batch(), 0);
        if (i % 64 == 0) known = learns.exit_norm();
        BOOST_TEST(learns.last().exit_norm == known, i);
    }
    BOOST_TEST(known != diagnostics{}.exit_norm);
    BOOST_TEST(learns.exit_norm() != known);
}

/// Two samples of a ring, the newest last.
BOOST_AUTO_TEST_CASE(a_training_example_knows_a_drafted_token_by_its_class_and_only_what_this_head_drew_by_its_bit) {
    replay ring(width, classes, {.capacity = 2, .top = 0});
    const std::vector<float> hidden(width, 1), logits(classes, 1);
    ring.add({.hidden = hidden, .logits = logits, .drafted = 5, .bit = accept_bit::accepted});
    ring.add({.hidden = hidden, .logits = logits, .drafted = 3, .bit = accept_bit::rejected});
    const std::vector<token> listed{4, 5};
    const std::vector<std::size_t> slots{0, 1};
    auto drawn = batch_of<double>(ring, slots, class_index(listed, classes), 1);
    BOOST_TEST(drawn.examples[0].drafted == 1U);
    BOOST_TEST(drawn.examples[1].drafted == training_example<double>::none);
    forget_bits(ring, slots, 2, drawn);
    BOOST_TEST((drawn.examples[0].bit == accept_bit::accepted));
    forget_bits(ring, slots, 1, drawn);
    BOOST_TEST((drawn.examples[0].bit == accept_bit::unknown));
    BOOST_TEST((drawn.examples[1].bit == accept_bit::rejected));
}

BOOST_AUTO_TEST_CASE(a_head_that_learns_no_number_is_refused) {
    const head_options chosen{.norm = norm_kind::none, .scale = scale_kind::none, .update = update_kind::none};
    BOOST_CHECK_EXCEPTION(learner(new_head(chosen), {}, {}), error, [](const error& e) {
        return std::string(e.what()) == "learner: this head has no trainable parameter";
    });
}

BOOST_AUTO_TEST_CASE(a_batch_that_does_not_fit_is_refused) {
    learner learns(new_head(), {}, {});
    batch<double> few = some_batch();
    few.examples.pop_back();
    BOOST_CHECK_THROW(learns.update(few, 0), error);
    BOOST_CHECK_THROW(learns.update({}, 0), error);
    BOOST_CHECK_THROW(learns.restore(vector<double>::Zero(1), {}, {}, 0, 0), error);
}

/// Throws when it is given numbers, once.
struct breakable : head {
    explicit breakable(head of) : head(std::move(of)) {}
    void assign(const vector<double>& values) {
        if (breaks && std::exchange(*breaks, false)) throw std::bad_alloc();
        head::assign(values);
    }
    void swap(breakable& other) { head::swap(other); }

    std::shared_ptr<bool> breaks = std::make_shared<bool>(false);
};

BOOST_AUTO_TEST_CASE(an_update_that_throws_changes_nothing) {
    breakable own(new_head());
    learner<breakable> learns(own, {}, {}), undisturbed(breakable(new_head()), {}, {});
    for (std::size_t i = 0; i < 3; ++i) {
        const vector<double> before = learns.head().values(), moments = learns.optimizer().first();
        *own.breaks = true;
        BOOST_CHECK_THROW(learns.update(some_batch(), 0), std::bad_alloc);
        BOOST_TEST(learns.head().values() == before);
        BOOST_TEST(learns.optimizer().first() == moments);
        BOOST_TEST(learns.updates() == i);
        BOOST_TEST(learns.last().updates == i);
        std::optional<breakable> copy;
        BOOST_TEST(learns.update(some_batch(), 0, {}, &copy));
        undisturbed.update(some_batch(), 0);
        BOOST_TEST(learns.head().values() == undisturbed.head().values());
        BOOST_TEST(copy->values() == undisturbed.head().values());
        BOOST_TEST(learns.last().updates == learns.updates());
    }
}

BOOST_AUTO_TEST_SUITE_END()
