#include "augur/io/files/tensor_table.hpp"

#include <boost/test/unit_test.hpp>
#include <string>
#include <utility>
#include <vector>

#include "io/files.hpp"

using namespace augur::io;
using augur::testing::says;

namespace {

tensor_table table_of(const std::vector<std::string>& names) {
    std::vector<tensor_view> tensors;
    for (const auto& name : names) tensors.push_back({name, tensor_type::f32, {1}, {}});
    return {std::move(tensors), "model"};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(io_tensor_table)

BOOST_AUTO_TEST_CASE(order_is_kept_and_every_name_found) {
    const auto table = table_of({"c", "a", "bb", "b"});
    BOOST_TEST_REQUIRE(table.tensors().size() == 4u);
    BOOST_TEST(table.tensors()[0].name == "c");
    for (const auto& tensor : table.tensors()) BOOST_TEST(table.find(tensor.name) == &tensor);
    for (const auto* absent : {"", "0", "ba", "d"}) BOOST_TEST(table.find(absent) == nullptr);
    BOOST_CHECK_EXCEPTION(table.tensor("ba"), augur::error, says({"model", "'ba'", "4 tensors"}));
}

BOOST_AUTO_TEST_CASE(an_unread_tensor_is_neither_found_nor_absent) {
    const tensor_table table({{"b", tensor_type::f32, {1}, {}}}, "model", {{"c", "I64"}, {"a", "BOOL"}});
    BOOST_TEST(table.tensors().size() == 1u);
    BOOST_TEST(table.unread().size() == 2u);
    BOOST_TEST(table.find("b") == &table.tensors()[0]);
    BOOST_TEST(table.find("bb") == nullptr);
    BOOST_CHECK_EXCEPTION(table.find("c"), augur::error, says({"model", "'c' is stored as I64", "not read"}));
    BOOST_CHECK_EXCEPTION(table.tensor("a"), augur::error, says({"model", "'a' is stored as BOOL"}));
    BOOST_CHECK_EXCEPTION(tensor_table({{"b", tensor_type::f32, {1}, {}}}, "model", {{"b", "I64"}}), augur::error,
                          says({"more than one", "'b'"}));
}

BOOST_AUTO_TEST_CASE(a_copy_finds_its_own) {
    const auto table = table_of({"a", "b"});
    const auto copy = table;
    BOOST_TEST(copy.find("b") == &copy.tensors()[1]);
    BOOST_TEST(copy.find("b") != table.find("b"));
}

BOOST_AUTO_TEST_CASE(a_name_stands_for_one_tensor) {
    BOOST_CHECK_EXCEPTION(table_of({"b", "a", "b"}), augur::error, says({"model", "more than one", "'b'"}));
    BOOST_TEST(table_of({}).find("a") == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
