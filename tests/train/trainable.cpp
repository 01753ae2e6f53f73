#include "augur/train/trainable.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <vector>

#include "augur/train/draft_heads.hpp"
#include "augur/train/state_head.hpp"
#include "train/gradients.hpp"

BOOST_AUTO_TEST_SUITE(train_trainable)
using namespace augur;
using namespace augur::train;

using exits = state_head<dense_weight_matrix<double>>;
using heads = draft_heads<dense_weight_matrix<double>>;
static_assert(Trainable<exits> && Trainable<heads>);

// What lacks one of the requirements is none.
struct fixed : exits {
    void assign(const parameter_vector&) = delete;
};
struct without_gradients : exits {
    void backward() const = delete;
};
struct without_blocks : exits {
    void blocks() const = delete;
};
struct forward_of_something_else : exits {
    batch_type forward(const batch_type& states, const asked_rows&) const { return states; }
};
static_assert(!Trainable<fixed> && !Trainable<without_gradients> && !Trainable<without_blocks>);
static_assert(!Trainable<forward_of_something_else> && !Trainable<dense_weight_matrix<double>>);

constexpr std::size_t vocabulary = 6, width = 4, rows = 5;

dense_weight_matrix<double> some_base() {
    const matrix<double> W = testing::some_numbers(vocabulary, width, 0.2);
    return {std::vector<double>(W.data(), W.data() + W.size()), vocabulary, width};
}
/// The concept's laws, of a head and what may be asked of it.
template <Trainable Head>
void obeys_the_laws(Head head, const asked_rows& asked) {
    const Eigen::MatrixXd states = testing::some_numbers(width, rows, 0.5),
                          weights = testing::some_numbers(vocabulary, rows, 0.1);
    head.assign(testing::some_numbers(head.values().size(), 1, 0.9));
    std::size_t next = 0;
    for (const head_block& each : head.blocks()) {  // every number has its block, in order
        BOOST_TEST(each.offset == next);
        next += each.size();
    }
    BOOST_TEST(next == static_cast<std::size_t>(head.values().size()));

    const auto pass = head.forward(states, asked);
    BOOST_TEST(pass.logits.cols() == static_cast<Eigen::Index>(rows));
    BOOST_TEST((head.forward(states, asked).logits == pass.logits));  // pure
    const auto value = [&](const Eigen::VectorXd& at) {
        Head moved = head;
        moved.assign(at);
        return moved.forward(states, asked).logits.array().sin().matrix().cwiseProduct(weights).sum();
    };
    const auto gradient = head.backward(pass, pass.logits.array().cos().matrix().cwiseProduct(weights));
    BOOST_TEST(testing::relative_difference(gradient, testing::differences(value, head.values())) < 1e-6);

    Head copy = head;  // copies learn apart
    copy.assign(2 * head.values());
    BOOST_TEST((head.forward(states, asked).logits == pass.logits));
    const auto other = copy.forward(states, asked).logits;
    BOOST_TEST((other != pass.logits));
    head.swap(copy);
    BOOST_TEST((head.forward(states, asked).logits == other));
    BOOST_TEST((copy.forward(states, asked).logits == pass.logits));
}

asked_rows some_rows(std::size_t heads_there, std::size_t context) {
    asked_rows asked;
    for (std::size_t i = 0; i < rows; ++i) asked.heads.push_back(i % heads_there);
    for (std::size_t i = 0; i < rows * context; ++i) asked.after.push_back(static_cast<token>(5 * i % vocabulary));
    return asked;
}

BOOST_AUTO_TEST_CASE(an_exit_head_obeys_them) {
    for (const auto update : {update_kind::state, update_kind::output, update_kind::full}) {
        obeys_the_laws(exits(some_base(), {.layer = 1, .vocabulary_size = vocabulary}, {.update = update, .rank = 2}),
                       some_rows(1, 0));
    }
}

BOOST_AUTO_TEST_CASE(draft_heads_obey_them) {
    const auto embed = [](token id, std::span<double> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::cos(3.0 * id + 1.7 * static_cast<double>(i));
    };
    for (const bool see_tokens : {false, true}) {
        const heads learned(some_base(), {.vocabulary_size = vocabulary}, {.heads = 2, .see_tokens = see_tokens},
                            embed);
        obeys_the_laws(learned, some_rows(2, learned.context_size()));
    }
}

BOOST_AUTO_TEST_SUITE_END()
