#include "augur/io/files/tensor_rows.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <random>
#include <span>
#include <vector>

#include "io/files.hpp"

using namespace augur::io;
using augur::testing::says;

BOOST_AUTO_TEST_SUITE(io_tensor_rows)

namespace {

std::vector<float> floats_of(std::span<const std::byte> bytes) {
    std::vector<float> out(bytes.size() / sizeof(float));
    std::memcpy(out.data(), bytes.data(), bytes.size());
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_come_in_any_order) {
    for (const std::uint64_t columns : {1u, 3u, 1000u, 100'000u}) {  // the last: a row is more than is read together
        const std::uint64_t rows = 700'000 / columns;
        std::vector<float> numbers(rows * columns);
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
        const auto bytes = std::as_bytes(std::span(numbers));
        const tensor_view tensor{"t", tensor_type::f32, {rows, columns}, bytes};
        tensor_rows read(tensor);
        std::mt19937 random(3);
        for (int i = 0; i < 50; ++i) {
            const std::size_t row = i == 0 ? rows - 1 : random() % rows;
            const std::vector<float> expected(numbers.data() + row * columns, numbers.data() + (row + 1) * columns);
            BOOST_TEST((floats_of(read.row(row)) == expected), row);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_file_that_is_cut_is_an_error) {
    const augur::testing::temporary_directory folder;
    const auto path = augur::testing::write_file(folder / "a", std::vector<std::byte>(1'000'000));
    const mapped_file file(path);
    const tensor_view tensor{"t", tensor_type::f32, {250'000, 1}, file.bytes(), &file};
    tensor_rows read(tensor);
    BOOST_TEST(read.row(0).size() == 4u);
    std::filesystem::resize_file(path, 300'000);
    BOOST_TEST(read.row(1).size() == 4u);
    BOOST_CHECK_EXCEPTION(read.row(100'000), augur::error, says({path.string(), "cut short"}));
}

BOOST_AUTO_TEST_SUITE_END()
