#include "augur/types/scores.hpp"

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(types_scores)

BOOST_AUTO_TEST_CASE(rows_are_views_of_the_models_memory) {
    const float logits[] = {1, 2, 3, 4, 5, 6};
    const augur::scores rows(logits, 2, 3);
    BOOST_TEST(rows.size() == 2u);
    BOOST_TEST(rows.vocabulary_size() == 3u);
    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST(rows[i].data() == logits + 3 * i);
        BOOST_TEST(rows[i].size() == 3u);
    }
    BOOST_TEST(rows.back().data() == logits + 3);
    BOOST_TEST(augur::scores().size() == 0u);
}

using augur::logit_row;
using augur::token;

static_assert(std::is_trivially_copyable_v<logit_row>);
static_assert(std::is_convertible_v<std::vector<float>&, logit_row>);
static_assert(std::is_convertible_v<const float (&)[3], logit_row>);
static_assert(std::is_convertible_v<std::span<float>, logit_row>);
static_assert(std::is_convertible_v<std::span<const float>, logit_row>);
static_assert(std::is_convertible_v<logit_row, std::span<const float>>);
static_assert(!std::is_convertible_v<std::vector<double>&, logit_row>);

BOOST_AUTO_TEST_CASE(a_row_is_a_span_that_may_name_what_is_possible) {
    std::vector<float> logits{1, 2, 3};
    const std::vector<token> ids{0, 2};
    const logit_row plain = logits;
    BOOST_TEST(plain.data() == logits.data());
    BOOST_TEST(plain.size() == 3u);
    BOOST_TEST(plain.possible().empty());
    BOOST_TEST(logit_row().possible().empty());

    logit_row named(logits.data(), 3, ids);
    logit_row copied = named;  // of one that is not const, which is no span to start from
    const logit_row moved = std::move(named);
    for (const logit_row& each : {copied, moved}) {
        BOOST_TEST(each.data() == logits.data());
        BOOST_TEST(each.possible().data() == ids.data());
        BOOST_TEST(each.possible().size() == 2u);
    }
    copied = plain;
    BOOST_TEST(copied.possible().empty());
    const std::span<const float> forgotten = moved;
    BOOST_TEST(logit_row(forgotten).possible().empty());
}

BOOST_AUTO_TEST_CASE(a_copy_of_a_row_says_what_the_row_did) {
    std::vector<float> logits{1, 2, 3};
    const std::vector<token> ids{0, 2};
    augur::kept_row kept;
    kept.assign({logits.data(), 3, ids});
    logits.assign(3, 0);
    BOOST_TEST(kept.row()[2] == 3);
    BOOST_TEST(kept.row().possible().data() == ids.data());
    kept.assign(logits);
    BOOST_TEST(kept.row().size() == 3u);
    BOOST_TEST(kept.row().possible().empty());
}

BOOST_AUTO_TEST_CASE(who_converts_to_a_row_is_asked_for_it) {
    struct holder {
        std::vector<float> logits{1, 2};
        std::vector<token> ids{1};
        operator logit_row() const { return {logits.data(), logits.size(), ids}; }
    };
    holder held;
    const logit_row copied = held;
    BOOST_TEST(copied.data() == held.logits.data());
    BOOST_TEST(copied.possible().data() == held.ids.data());
    BOOST_TEST(logit_row(std::as_const(held)).possible().data() == held.ids.data());
}

BOOST_AUTO_TEST_CASE(rows_name_what_is_possible_in_all_of_them) {
    const float logits[] = {1, 2, 3, 4, 5, 6};
    const float* const places[] = {logits + 3, logits};
    const std::vector<token> ids{0, 2};
    const auto check = [&](const auto& rows) {
        BOOST_TEST(rows.possible().data() == ids.data());
        BOOST_TEST(rows[0].possible().data() == ids.data());
        BOOST_TEST(rows.back().possible().size() == 2u);
        BOOST_TEST(rows.back().size() == 3u);
    };
    check(augur::scores(logits, 2, 3, ids));
    check(augur::scattered_scores(places, 2, 3, ids));
    BOOST_TEST(augur::scores(logits, 2, 3).back().possible().empty());
    BOOST_TEST(augur::scattered_scores(places, 2, 3)[0].possible().empty());
    BOOST_TEST(augur::scattered_scores(places, 2, 3, ids).back().data() == logits);
}

BOOST_AUTO_TEST_SUITE_END()
