#include "augur/train/packed_weight_matrix.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "augur/train/state_head.hpp"
#include "augur/train/trainer.hpp"
#include "train/gradients.hpp"

BOOST_AUTO_TEST_SUITE(train_packed_weight_matrix)
using namespace augur;
using namespace augur::train;
using backend::host::packed_matrix;
using backend::host::storage;
static_assert(WeightMatrix<packed_weight_matrix>);

constexpr std::size_t classes = 600, width = 64;

const std::vector<float>& weights() {
    static const std::vector<float> numbers = [] {
        std::vector<float> all(classes *
                               width);  // what q8_0 holds exactly: whole numbers, the largest of them 127, over 16
        for (std::size_t i = 0; i < all.size(); ++i) {
            all[i] =
                static_cast<float>(i % 32 == 0 ? 127 : std::lround(100 * std::sin(0.7 * static_cast<double>(i)))) / 16;
        }
        return all;
    }();
    return numbers;
}
packed_matrix packed(storage format) {
    packed_matrix rows(format, classes, width);
    for (std::size_t row = 0; row < classes; ++row) {
        const std::span<const float> of(weights().data() + row * width, width);
        if (format == storage::f32) {
            rows.set_row(row, std::as_bytes(of));
            continue;
        }
        std::vector<std::byte> blocks;
        for (std::size_t k = 0; k < width; ++k) {
            if (k % 32 == 0) {  // 1 / 16 as a binary16
                blocks.push_back(std::byte{0x00});
                blocks.push_back(std::byte{0x2C});
            }
            blocks.push_back(static_cast<std::byte>(static_cast<std::int8_t>(std::lround(16 * of[k]))));
        }
        rows.set_row(row, blocks);
    }
    return rows;
}
const dense_weight_matrix<float> plain(std::span<const float>(weights()), classes, width);
const columns<float> states = testing::some_numbers(width, 5, 0.4).cast<float>();
const columns<float> gradients = testing::some_numbers(classes, 5, 0.8).cast<float>();

double apart(const Eigen::MatrixXf& got, const Eigen::MatrixXf& expected) {
    return static_cast<double>((got - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff());
}

BOOST_AUTO_TEST_CASE(products_are_those_of_the_numbers) {
    for (const storage format : {storage::f32, storage::q8_0}) {
        const packed_matrix stored = packed(format);
        for (const std::size_t threads : {1u, 3u}) {
            const packed_weight_matrix base(stored, threads);
            BOOST_TEST(base.classes() == classes);
            BOOST_TEST(base.width() == width);
            BOOST_TEST(apart(base.product(states), plain.product(states)) < (format == storage::f32 ? 1e-5 : 1e-2));
            BOOST_TEST(apart(base.transposed(gradients), plain.transposed(gradients)) < 1e-3);
            BOOST_TEST(apart(base.row_squares(), plain.row_squares()) < 1e-5);
            BOOST_TEST(apart(base.dense(), plain.dense()) == 0);
            const std::vector<token> some{500, 3, 77};
            const auto few = base.selected(some);
            BOOST_TEST(apart(few.dense(), plain.selected(some).dense()) == 0);
            BOOST_TEST(apart(few.transposed(gradients.topRows(3)),
                             plain.selected(some).transposed(gradients.topRows(3))) < 1e-3);
            BOOST_CHECK_THROW(base.selected(std::vector<token>{600}), error);
        }
    }
    BOOST_CHECK_THROW(packed_weight_matrix(packed_matrix{}), error);
}

BOOST_AUTO_TEST_CASE(several_threads_have_the_same_products) {
    const packed_matrix stored = packed(storage::q8_0);
    const packed_weight_matrix base(stored, 2);
    const columns<float> expected = packed_weight_matrix(stored).product(states);
    std::vector<int> equal(4);
    std::vector<std::thread> threads;
    for (int& each : equal) {
        threads.emplace_back([&] {
            for (int i = 0; i < 50; ++i) each += base.product(states) == expected ? 1 : 0;
        });
    }
    for (auto& each : threads) each.join();
    BOOST_TEST(std::accumulate(equal.begin(), equal.end(), 0) == 200);
}

BOOST_AUTO_TEST_CASE(products_do_not_wait_for_others_on_the_pool) {
    const packed_matrix stored = packed(storage::q8_0);
    const auto pool = std::make_shared<backend::host::thread_pool>(2);
    const packed_weight_matrix base(stored, pool);
    const columns<float> expected = packed_weight_matrix(stored).product(states);
    BOOST_TEST((base.product(states) == expected));
    const std::lock_guard lock(*pool);
    bool equal = false;
    std::thread([&] { equal = base.product(states) == expected; }).join();
    BOOST_TEST(equal);
}

BOOST_AUTO_TEST_CASE(a_head_on_it_learns) {
    const packed_matrix stored = packed(storage::q8_0);
    state_head head(packed_weight_matrix(stored), {.layer = 1, .vocabulary_size = classes}, {.rank = 8});
    trainer_options chosen;
    chosen.replay = {.capacity = 64, .top = 0};
    chosen.steps.rate = 0.03;
    trainer online(head, chosen);
    std::vector<float> row(classes);
    for (std::size_t n = 0; n < 64; ++n) {  // what its own row says, turned
        const Eigen::VectorXf h = testing::some_numbers(width, 1, static_cast<double>(n)).cast<float>();
        const std::span<const float> hidden(h.data(), width);
        head.row(hidden, row);
        std::rotate(row.begin(), row.begin() + 7, row.end());
        for (float& z : row) z *= 0.1F;
        online.add({hidden, row, 0, accept_bit::rejected, n});
    }
    online.update();
    const double before = online.report().losses.divergence;
    for (int i = 0; i < 100; ++i) online.update();
    BOOST_TEST(online.report().losses.divergence < 0.5 * before);
}

BOOST_AUTO_TEST_SUITE_END()
