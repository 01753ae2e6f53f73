#include "augur/train/head_options.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_head_options)
using namespace augur;
using namespace augur::train;

constexpr std::size_t classes = 9, width = 5;

/// Names of the blocks that are there, and whether they decay.
std::string blocks_of(const head_options& chosen) {
    std::string found;
    for (const auto& each : head_layout(chosen, classes, width).blocks()) {
        if (each.size() == 0) continue;
        found += std::string(each.name) + (each.decays ? "* " : " ") + std::to_string(each.rows) + "x" +
                 std::to_string(each.columns) + ' ';
    }
    return found;
}

BOOST_AUTO_TEST_CASE(blocks_are_what_the_options_ask_for) {
    BOOST_TEST(blocks_of({.rank = 2}) == "norm_weight 5x1 up* 5x2 down* 2x5 scale 1x1 ");
    BOOST_TEST(blocks_of({.norm = norm_kind::layer, .update = update_kind::output, .rank = 2}) ==
               "norm_weight 5x1 norm_bias 5x1 up* 9x2 down* 2x5 scale 1x1 ");
    BOOST_TEST(blocks_of({.learn_norm = false, .scale = scale_kind::per_class, .update = update_kind::full}) ==
               "full* 9x5 scale 9x1 ");
    BOOST_TEST(blocks_of({.norm = norm_kind::none,
                          .scale = scale_kind::none,
                          .update = update_kind::none,
                          .weight_norm = true,
                          .bias = true}) == "gain 9x1 bias 9x1 ");
    BOOST_TEST(blocks_of({.norm = norm_kind::none, .scale = scale_kind::none, .update = update_kind::none}).empty());
}

BOOST_AUTO_TEST_CASE(blocks_lie_one_after_the_other) {
    const head_layout layout({.norm = norm_kind::layer, .rank = 2, .weight_norm = true, .bias = true}, classes, width);
    std::size_t next = 0;
    for (const auto& each : layout.blocks()) {
        BOOST_TEST(each.offset == next, each.name);
        next += each.size();
    }
    BOOST_TEST(layout.size == next);
    BOOST_TEST(layout.full.size() == 0U);
}

BOOST_AUTO_TEST_CASE(each_kind_has_a_name_of_its_own) {
    BOOST_TEST(name_of(norm_kind::rms) == "rms");
    BOOST_TEST(name_of(norm_kind::layer) == "layer");
    BOOST_TEST(name_of(norm_kind::none) == "none");
    BOOST_TEST(name_of(scale_kind::global) == "global");
    BOOST_TEST(name_of(scale_kind::per_class) == "per_class");
    BOOST_TEST(name_of(scale_kind::none) == "none");
    BOOST_TEST(name_of(update_kind::state) == "state");
    BOOST_TEST(name_of(update_kind::output) == "output");
    BOOST_TEST(name_of(update_kind::full) == "full");
    BOOST_TEST(name_of(update_kind::none) == "none");
}

BOOST_AUTO_TEST_CASE(a_rank_fits_the_smaller_side_of_what_it_updates) {
    const auto refused = [](head_options chosen, std::size_t of_classes, const char* what) {
        BOOST_TEST(testing::refuses([&] { head_layout(chosen, of_classes, width); }, what), what);
    };
    head_layout({.update = update_kind::state, .rank = 5}, 3, width);
    refused({.update = update_kind::state, .rank = 6}, 9, "rank is 6; it must be between 1 and 5");
    refused({.update = update_kind::output, .rank = 6}, 9, "rank is 6; it must be between 1 and 5");
    head_layout({.update = update_kind::output, .rank = 3}, 3, width);
    refused({.update = update_kind::output, .rank = 4}, 3, "rank is 4; it must be between 1 and 3");
    refused({.rank = 0}, 9, "rank is 0; it must be between 1 and 5");
    head_layout({.update = update_kind::full, .rank = 0}, 9, width);  // which has no rank
}

BOOST_AUTO_TEST_CASE(numbers_out_of_their_range_are_refused_with_the_value) {
    const auto refused = [](const head_options& chosen, const char* what) {
        BOOST_TEST(testing::refuses([&] { head_layout(chosen, classes, width); }, what), what);
    };
    const double infinity = std::numeric_limits<double>::infinity();
    refused({.epsilon = -1e-9, .rank = 2}, "epsilon is -1e-09; it must be finite, and 0 or more");
    refused({.epsilon = infinity, .rank = 2}, "epsilon is inf");
    refused({.epsilon = std::numeric_limits<double>::quiet_NaN(), .rank = 2}, "epsilon is");
    refused({.rank = 2, .clamp = 0.99}, "clamp is 0.99; it must be 1 or more, or 0 for none");
    refused({.rank = 2, .clamp = -1}, "clamp is -1");
    refused({.rank = 2, .clamp = infinity}, "clamp is inf");
    refused({.rank = 2, .weight_norm = true, .clamp = 2}, "clamp is 2 and weight_norm is on");
    head_layout({.epsilon = 0, .rank = 2, .clamp = 1}, classes, width);
}

BOOST_AUTO_TEST_SUITE_END()
