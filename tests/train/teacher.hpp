#pragma once
// A verifier that a small head can learn: linear in normalised random states.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "augur/random/philox.hpp"
#include "augur/train/replay.hpp"
#include "augur/train/state_head.hpp"

namespace augur::testing {

struct linear_teacher {
    static constexpr std::size_t classes = 16, width = 8;

    /// Standard normal, a pure function of its place.
    static float normal(std::size_t stream, std::size_t i) {
        const auto words =
            random::philox4x32({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(stream), 0, 0}, {7, 7});
        const double u = random::unit_interval(words[0], words[1]), v = random::unit_interval(words[2], words[3]);
        return static_cast<float>(std::sqrt(-2 * std::log1p(-u)) * std::cos(6.283185307179586 * v));
    }
    static train::matrix<float> numbers(std::size_t stream, std::size_t rows, std::size_t columns) {
        return train::matrix<float>::NullaryExpr(
            augur::detail::index(rows), augur::detail::index(columns), [&](Eigen::Index i, Eigen::Index j) {
                return normal(stream, static_cast<std::size_t>(i) * columns + static_cast<std::size_t>(j));
            });
    }

    const train::matrix<float> base = numbers(1, classes, width);
    const train::matrix<float> wanted = 0.3F * base * numbers(2, width, width);  ///< what a rank of `width` reaches

    std::vector<float> state(std::size_t n) const {
        std::vector<float> values(width);
        for (std::size_t i = 0; i < width; ++i) values[i] = 3 * normal(3, n * width + i);
        return values;
    }
    std::vector<float> logits(const std::vector<float>& hidden) const {
        const Eigen::Map<const Eigen::VectorXf> h(hidden.data(), width);
        std::vector<float> values(classes);
        Eigen::Map<Eigen::VectorXf>(values.data(), classes) = wanted * h / std::sqrt(h.squaredNorm() / width);
        return values;
    }
    train::state_head<train::dense_weight_matrix<float>> head(const train::head_options& chosen = {
                                                                  .rank = width}) const {
        return {train::dense_weight_matrix<float>(std::vector<float>(base.data(), base.data() + base.size()), classes,
                                                  width),
                {.layer = 1, .vocabulary_size = classes},
                chosen};
    }

    /// Share of states, none of which is trained, on which the head wants the teacher's token.
    template <class Head>
    double agreement(const Head& of) const {
        constexpr std::size_t count = 300;
        std::size_t agreed = 0;
        std::vector<float> row(classes);
        for (std::size_t n = 0; n < count; ++n) {
            const auto hidden = state(100000 + n), expected = logits(hidden);
            of.row(hidden, row);
            agreed += largest(row) == largest(expected) ? 1 : 0;
        }
        return static_cast<double>(agreed) / count;
    }
    static std::size_t largest(const std::vector<float>& of) {
        return static_cast<std::size_t>(std::max_element(of.begin(), of.end()) - of.begin());
    }
};

}  // namespace augur::testing
