#include "augur/train/with_exit.hpp"

#include <array>
#include <boost/test/unit_test.hpp>
#include <vector>

#include "train/refuses.hpp"

BOOST_AUTO_TEST_SUITE(train_with_exit)
using namespace augur;
using namespace augur::train;

/// As many numbers of its own after the exit's as it is told.
struct some_head : with_exit<dense_weight_matrix<double>, head_options> {
    using base_type = with_exit<dense_weight_matrix<double>, head_options>;
    explicit some_head(std::size_t more, double own = 0)
        : base_type(dense_weight_matrix<double>(std::vector<double>{1, 2, 3, 4, 5, 6}, 3, 2),
                    {.layer = 1, .vocabulary_size = 3}, {.rank = 1}) {
        begin_values(more).tail(detail::index(more)).setConstant(own);
    }
    void assign(const parameter_vector& from) { assign_parameters(from, "some_head"); }
    void swap(some_head& other) { swap_parameters(other, "some_head"); }
    const parameter_vector& of_exit() const { return exit().values(); }
    std::size_t first_own() const { return exit_parameters(); }
    using base_type::joined;
};

BOOST_AUTO_TEST_CASE(the_exits_numbers_come_first_and_are_the_exits) {
    some_head head(2, 7);
    const auto first = static_cast<Eigen::Index>(head.first_own());
    BOOST_TEST(head.values().size() == first + 2);
    BOOST_TEST((head.values().head(first) == head.of_exit()));
    BOOST_TEST(head.values()[first] == 7);
    auto other = head.values();
    other.setConstant(0.5);
    head.assign(other);
    BOOST_TEST((head.values() == other));
    BOOST_TEST((head.of_exit() == other.head(first)));
    BOOST_TEST(head.layer() == 1U);
    BOOST_TEST(head.classes() == 3U);
}

BOOST_AUTO_TEST_CASE(numbers_of_two_heads_change_places) {
    some_head a(1, 2), b(1, 3);
    auto changed = a.values();
    changed.setConstant(4);
    a.assign(changed);
    const auto before = b.values();
    a.swap(b);
    BOOST_TEST((a.values() == before));
    BOOST_TEST((a.of_exit() == before.head(a.of_exit().size())));
    BOOST_TEST((b.values() == changed));
    BOOST_TEST((b.of_exit() == changed.head(b.of_exit().size())));
}

BOOST_AUTO_TEST_CASE(numbers_of_another_size_are_refused_and_change_nothing) {
    some_head a(1), b(2);
    const auto before = a.values();
    BOOST_TEST(testing::refuses([&] { a.assign(b.values()); }, "some_head: it has"));
    BOOST_TEST(testing::refuses([&] { a.swap(b); }, "cannot swap heads with"));
    BOOST_TEST((a.values() == before));
}

BOOST_AUTO_TEST_CASE(blocks_are_joined_in_order) {
    const std::array<head_block, 1> one{head_block{"a", 0, 1, 1}};
    const std::array<head_block, 2> two{head_block{"b", 1, 1, 1}, head_block{"c", 2, 1, 1}};
    const auto all = some_head::joined(one, two);
    BOOST_TEST(all.size() == 3U);
    BOOST_TEST(all[0].name == "a");
    BOOST_TEST(all[2].name == "c");
}

BOOST_AUTO_TEST_SUITE_END()
