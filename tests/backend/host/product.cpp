#include <Eigen/Core>
#include <boost/test/unit_test.hpp>

#include "augur/backend/host/kernels.hpp"
#include "backend/host/matrices.hpp"

BOOST_AUTO_TEST_SUITE(backend_product)

using namespace augur::testing;

namespace {

/// `columns` columns at once; every output beyond the matrix's rows must keep its guard value.
std::vector<float> multiply(const host::packed_matrix& matrix, const std::vector<float>& x, std::size_t first_column,
                            std::size_t columns, host::instruction_set set) {
    constexpr float guard = 12345.0f;
    const std::size_t stride = matrix.rows() + 3;
    std::vector<float> y(columns * stride, guard), out;
    auto task = host::product_of(matrix, x.data() + first_column * matrix.depth(), columns, y.data());
    task.y_stride = stride;
    host::kernels_of(set).product(task);
    for (std::size_t c = 0; c < columns; ++c) {
        const auto row = y.begin() + static_cast<std::ptrdiff_t>(c * stride);
        out.insert(out.end(), row, row + static_cast<std::ptrdiff_t>(matrix.rows()));
        for (std::size_t i = matrix.rows(); i < stride; ++i) BOOST_TEST(y[c * stride + i] == guard);
    }
    return out;
}

/// The definition: k in order, one fused multiply-add each.
std::vector<float> by_definition(const host::packed_matrix& widened, const std::vector<float>& x, std::size_t columns) {
    std::vector<float> out(columns * widened.rows()), row(widened.depth());
    for (std::size_t r = 0; r < widened.rows(); ++r) {
        widened.unpack_row(r, row);
        for (std::size_t c = 0; c < columns; ++c) {
            float sum = 0;
            for (std::size_t k = 0; k < row.size(); ++k) sum = std::fma(row[k], x[c * row.size() + k], sum);
            out[c * widened.rows() + r] = sum;
        }
    }
    return out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_format_instruction_set_and_number_of_columns_gives_the_definition_s_bits) {
    std::mt19937 random(1);
    for (const auto format : all_formats) {
        for (const std::size_t depth : depths_of(format)) {
            for (const std::size_t rows : {1u, 16u, 67u}) {
                const auto [packed, widened] = random_matrix(format, rows, depth, random);
                const auto x = normal_numbers(40 * depth, random);
                const auto wanted = by_definition(widened, x, 40);
                for (const auto set : instruction_sets()) {
                    for (std::size_t columns = 1; columns <= 40; ++columns) {
                        const auto found = multiply(packed, x, 0, columns, set);
                        BOOST_TEST(same_bits(found, std::span(wanted).first(columns * rows)),
                                   host::name_of(format) << ", " << host::name_of(set) << ", " << rows << " x " << depth
                                                         << ", " << columns << " columns");
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_sums_are_those_of_linear_algebra) {
    std::mt19937 random(2);
    for (const auto format : all_formats) {
        const std::size_t rows = 100, depth = 352, columns = 7;
        const auto [packed, widened] = random_matrix(format, rows, depth, random);
        const auto x = normal_numbers(columns * depth, random);
        Eigen::MatrixXd w(rows, depth), in(depth, columns);
        std::vector<float> row(depth);
        for (std::size_t r = 0; r < rows; ++r) {
            widened.unpack_row(r, row);
            for (std::size_t k = 0; k < depth; ++k) w(Eigen::Index(r), Eigen::Index(k)) = double{row[k]};
        }
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t k = 0; k < depth; ++k) in(Eigen::Index(k), Eigen::Index(c)) = double{x[c * depth + k]};
        }
        const Eigen::MatrixXd wanted = w * in, scale = w.cwiseAbs() * in.cwiseAbs();
        const auto found = multiply(packed, x, 0, columns, host::instruction_set::automatic);
        for (std::size_t c = 0; c < columns; ++c) {
            for (std::size_t r = 0; r < rows; ++r) {
                const auto i = Eigen::Index(r), j = Eigen::Index(c);
                const double error = std::abs(double{found[c * rows + r]} - wanted(i, j));
                BOOST_TEST(error <= scale(i, j) * static_cast<double>(depth) * 0x1p-24);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_column_does_not_see_its_neighbours) {
    std::mt19937 random(3);
    const auto [packed, widened] = random_matrix(host::storage::q4_1, 48, 64, random);
    auto x = normal_numbers(20 * 64, random);
    const auto alone = multiply(packed, x, 5, 1, host::instruction_set::automatic);
    for (std::size_t k = 0; k < 64; ++k) x[4 * 64 + k] = x[6 * 64 + k] = std::numeric_limits<float>::quiet_NaN();
    for (const auto set : instruction_sets()) {
        for (const std::size_t columns : {8u, 20u}) {
            const auto all = multiply(packed, x, 0, columns, set);
            BOOST_TEST(same_bits(std::span(all).subspan(5 * 48, 48), alone));
        }
    }
}

BOOST_AUTO_TEST_CASE(a_product_may_continue_sums_and_cover_some_panels_only) {
    std::mt19937 random(4);
    const auto [packed, widened] = random_matrix(host::storage::f32, 80, 50, random);
    const auto x = normal_numbers(15 * 50, random), start = normal_numbers(15 * 80, random);
    for (const auto set : instruction_sets()) {
        for (const std::size_t columns : {1u, 4u, 15u}) {
            auto y = start;
            auto task = host::product_of(packed, x.data(), columns, y.data());
            task.first_panel = 1;
            task.last_panel = 4;
            task.accumulate = true;
            host::kernels_of(set).product(task);
            std::vector<float> row(50);
            for (std::size_t c = 0; c < 15; ++c) {
                for (std::size_t r = 0; r < 80; ++r) {
                    float wanted = start[c * 80 + r];
                    packed.unpack_row(r, row);
                    for (std::size_t k = 0; k < 50 && c < columns && r >= 16 && r < 64; ++k) {
                        wanted = std::fma(row[k], x[c * 50 + k], wanted);
                    }
                    BOOST_TEST(y[c * 80 + r] == wanted);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
