#include <Eigen/Core>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <utility>

#include "augur/backend/host/kernels.hpp"
#include "backend/host/matrices.hpp"

BOOST_AUTO_TEST_SUITE(backend_product)

using namespace augur::testing;
using host::input_format;

namespace {

/// `columns` columns at once; every output beyond the matrix's rows must keep its guard value.
std::vector<float> multiply(const host::packed_matrix& matrix, const prepared_columns& x, std::size_t first_column,
                            std::size_t columns, host::instruction_set set) {
    constexpr float guard = 12345.0f;
    const std::size_t stride = matrix.rows() + 3;
    std::vector<float> y(columns * stride, guard), out;
    auto task = host::product_of(matrix, x.column(first_column), columns, y.data());
    task.y_stride = stride;
    kernels_for(set).product(task);
    for (std::size_t c = 0; c < columns; ++c) {
        const auto row = y.begin() + static_cast<std::ptrdiff_t>(c * stride);
        out.insert(out.end(), row, row + static_cast<std::ptrdiff_t>(matrix.rows()));
        for (std::size_t i = matrix.rows(); i < stride; ++i) BOOST_TEST(y[c * stride + i] == guard);
    }
    return out;
}

/// The definitions of a sum, for one row of weights and one column of inputs.
float in_order(std::span<const float> row, const float* x) {
    float sum = 0;
    for (std::size_t k = 0; k < row.size(); ++k) sum = std::fma(row[k], x[k], sum);
    return sum;
}
float in_pairs(std::span<const float> row, const float* x) {
    float sum = 0;
    const auto add = [&](std::size_t k) {
        if (k < row.size())
            sum = std::fma(row[k], augur::detail::bfloat16_to_float(augur::detail::float_to_bfloat16(x[k])), sum);
    };
    for (std::size_t k = 0; k < row.size(); k += 2) add(k + 1), add(k);
    return sum;
}
/// The inputs as the q8 format rounds them, from its documentation.
std::vector<double> rounded_to_bytes(std::span<const float> x) {
    std::vector<double> out(x.size());
    for (std::size_t k = 0; k < x.size(); k += 32) {
        float largest = 0;
        for (std::size_t i = k; i < k + 32; ++i) largest = std::max(largest, std::abs(x[i]));
        const double scale = double{largest / 127.0f};
        for (std::size_t i = k; i < k + 32; ++i) out[i] = scale * std::nearbyint(double{x[i] * (127.0f / largest)});
    }
    return out;
}

std::vector<float> by_definition(const host::packed_matrix& widened, const std::vector<float>& x, std::size_t columns,
                                 input_format inputs) {
    std::vector<float> out(columns * widened.rows()), row(widened.depth());
    for (std::size_t r = 0; r < widened.rows(); ++r) {
        widened.unpack_row(r, row);
        for (std::size_t c = 0; c < columns; ++c) {
            const float* column = x.data() + c * row.size();
            out[c * widened.rows() + r] = inputs == input_format::f32 ? in_order(row, column) : in_pairs(row, column);
        }
    }
    return out;
}

bool has_dot_products(host::instruction_set set) {
    return set == host::instruction_set::avx512_bf16 || set == host::instruction_set::amx;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_bits_of_a_column_depend_on_nothing_but_the_column) {
    std::mt19937 random(1);
    for (const auto format : all_formats) {
        for (const std::size_t depth : depths_of(format)) {
            for (const std::size_t rows : {1u, 16u, 67u}) {
                const auto [packed, widened] = random_matrix(format, rows, depth, random);
                const auto numbers = normal_numbers(40 * depth, random);
                for (const auto set : instruction_sets()) {
                    const prepared_columns x(input_of(format), numbers, depth, set);
                    std::vector<float> wanted;
                    for (std::size_t c = 0; c < 40; ++c) {
                        const auto alone = multiply(packed, x, c, 1, set);
                        wanted.insert(wanted.end(), alone.begin(), alone.end());
                    }
                    for (std::size_t columns = 2; columns <= 40; ++columns) {
                        BOOST_TEST(
                            same_bits(multiply(packed, x, 0, columns, set), std::span(wanted).first(columns * rows)),
                            host::name_of(format) << ", " << host::name_of(set) << ", " << rows << " x " << depth
                                                  << ", " << columns << " columns");
                    }
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(floats_are_summed_in_the_documented_order) {
    std::mt19937 random(2);
    for (const auto format : {host::storage::f32, host::storage::f16, host::storage::bf16}) {
        for (const std::size_t depth : depths_of(format)) {
            const auto [packed, widened] = random_matrix(format, 67, depth, random);
            const auto numbers = normal_numbers(13 * depth, random);
            const auto wanted = by_definition(widened, numbers, 13, input_of(format));
            for (const auto set : instruction_sets()) {
                if (format == host::storage::bf16 && has_dot_products(set)) continue;  // the instruction's own order
                const prepared_columns x(input_of(format), numbers, depth, set);
                BOOST_TEST(same_bits(multiply(packed, x, 0, 13, set), wanted),
                           host::name_of(format) << ", " << host::name_of(set) << ", depth " << depth);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(integers_give_the_same_bits_with_every_instruction_set) {
    std::mt19937 random(3);
    for (const auto format : all_formats) {
        if (input_of(format) != input_format::q8) continue;
        for (const std::size_t depth : depths_of(format)) {
            const auto [packed, widened] = random_matrix(format, 67, depth, random);
            const auto numbers = normal_numbers(13 * depth, random);
            const prepared_columns first(input_format::q8, numbers, depth, host::instruction_set::portable);
            const auto wanted = multiply(packed, first, 0, 13, host::instruction_set::portable);
            for (const auto set : instruction_sets()) {
                const prepared_columns x(input_format::q8, numbers, depth, set);
                BOOST_TEST(std::memcmp(x.memory.data(), first.memory.data(), x.memory.size()) == 0);
                BOOST_TEST(same_bits(multiply(packed, x, 0, 13, set), wanted),
                           host::name_of(format) << ", " << host::name_of(set) << ", depth " << depth);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_sums_are_those_of_linear_algebra_over_the_rounded_inputs) {
    std::mt19937 random(4);
    for (const auto format : all_formats) {
        const std::size_t rows = 100, depth = host::layout_of(format).file_depth == 256 ? 512 : 352, columns = 7;
        const auto [packed, widened] = random_matrix(format, rows, depth, random);
        const auto x = normal_numbers(columns * depth, random);
        Eigen::MatrixXd w(rows, depth), in(depth, columns);
        std::vector<float> row(depth);
        for (std::size_t r = 0; r < rows; ++r) {
            widened.unpack_row(r, row);
            for (std::size_t k = 0; k < depth; ++k) w(Eigen::Index(r), Eigen::Index(k)) = double{row[k]};
        }
        for (std::size_t c = 0; c < columns; ++c) {
            const auto bytes = rounded_to_bytes(std::span(x).subspan(c * depth, depth / 32 * 32));
            for (std::size_t k = 0; k < depth; ++k) {
                const float value = x[c * depth + k];
                const float half = augur::detail::bfloat16_to_float(augur::detail::float_to_bfloat16(value));
                in(Eigen::Index(k), Eigen::Index(c)) = input_of(format) == input_format::f32    ? double{value}
                                                       : input_of(format) == input_format::bf16 ? double{half}
                                                                                                : bytes[k];
            }
        }
        const Eigen::MatrixXd wanted = w * in, scale = w.cwiseAbs() * in.cwiseAbs();
        for (const auto set : instruction_sets()) {
            const auto found = multiply(packed, prepared_columns(input_of(format), x, depth, set), 0, columns, set);
            for (std::size_t c = 0; c < columns; ++c) {
                for (std::size_t r = 0; r < rows; ++r) {
                    const auto i = Eigen::Index(r), j = Eigen::Index(c);
                    const double error = std::abs(double{found[c * rows + r]} - wanted(i, j));
                    BOOST_TEST(error <= scale(i, j) * static_cast<double>(depth) * 0x1p-24,
                               host::name_of(format) << ", " << host::name_of(set));
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_column_does_not_see_its_neighbours) {
    std::mt19937 random(5);
    for (const auto format : all_formats) {
        const std::size_t depth = 256;
        const auto [packed, widened] = random_matrix(format, 48, depth, random);
        auto numbers = normal_numbers(40 * depth, random);
        for (const auto set : instruction_sets()) {
            const auto alone = multiply(packed, prepared_columns(input_of(format), numbers, depth, set), 5, 1, set);
            auto broken = numbers;
            for (std::size_t k = 0; k < depth; ++k) broken[4 * depth + k] = broken[6 * depth + k] = NAN;
            const prepared_columns x(input_of(format), broken, depth, set);
            for (const std::size_t columns : {8u, 20u, 40u}) {
                const auto all = multiply(packed, x, 0, columns, set);
                BOOST_TEST(same_bits(std::span(all).subspan(5 * 48, 48), alone));
                BOOST_TEST(std::isnan(all[4 * 48 + 7]));
                BOOST_TEST(std::isnan(all[6 * 48 + 7]));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(inputs_that_are_no_numbers_zero_or_tiny_behave) {
    std::mt19937 random(6);
    for (const auto format : all_formats) {
        const std::size_t depth = 256;
        const auto packed = std::move(random_matrix(format, 16, depth, random).packed);
        for (const auto set : instruction_sets()) {
            const auto product_with = [&](float value, std::size_t at) {
                std::vector<float> numbers(depth, 0.0f);
                numbers[at] = value;
                return multiply(packed, prepared_columns(input_of(format), numbers, depth, set), 0, 1, set);
            };
            for (const std::size_t at : {0u, 17u, 200u}) {
                for (const float bad : {NAN, INFINITY, -INFINITY}) BOOST_TEST(!std::isfinite(product_with(bad, at)[3]));
                for (const float small : {0.0f, -0.0f, 1e-40f, -1e-38f}) {
                    for (const float value : product_with(small, at)) BOOST_TEST(std::abs(value) < 1e-30f);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_weight_that_is_no_number_spoils_its_row_and_a_row_of_zeros_is_zero) {
    std::mt19937 random(9);
    for (const auto format : all_formats) {
        const std::size_t depth = 256, rows = 48, broken = 21, zero = 22;
        if (format == host::storage::mxfp4) continue;  // whose every weight is a number
        const auto layout = host::layout_of(format);
        const auto bytes = stored_numbers(tensor_type_of(format), rows * depth, random);
        const std::size_t row_bytes = depth / layout.file_depth * layout.file_bytes;
        host::packed_matrix matrix(format, rows, depth);
        for (std::size_t row = 0; row < rows; ++row) {
            std::vector<std::byte> own(bytes.begin() + std::ptrdiff_t(row * row_bytes),
                                       bytes.begin() + std::ptrdiff_t((row + 1) * row_bytes));
            if (row == broken) {  // 0x7fff is no number in any 16-bit format, and on top of 32 bits
                const std::size_t scale = format == host::storage::q6_k   ? 208
                                          : format == host::storage::q2_k ? 80
                                          : format == host::storage::f32  ? 2
                                                                          : 0;
                own[scale] = std::byte{0xff};
                own[scale + 1] = std::byte{0x7f};
            }
            if (row == zero) std::fill(own.begin(), own.end(), std::byte{0});
            matrix.set_row(row, own);
        }
        const auto numbers = normal_numbers(17 * depth, random);
        for (const auto set : instruction_sets()) {
            const prepared_columns x(input_of(format), numbers, depth, set);
            for (const std::size_t columns : {1u, 5u, 17u}) {
                const auto found = multiply(matrix, x, 0, columns, set);
                for (std::size_t i = 0; i < found.size(); ++i) {
                    BOOST_TEST(std::isnan(found[i]) == (i % rows == broken), host::name_of(format) << " output " << i);
                    if (i % rows == zero) BOOST_TEST(found[i] == 0.0f);
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_product_may_continue_sums_and_cover_some_panels_only) {
    std::mt19937 random(7);
    const auto [packed, widened] = random_matrix(host::storage::f32, 80, 50, random);
    const auto x = normal_numbers(15 * 50, random), start = normal_numbers(15 * 80, random);
    for (const auto set : instruction_sets()) {
        for (const std::size_t columns : {1u, 4u, 15u}) {
            auto y = start;
            auto task = host::product_of(packed, reinterpret_cast<const std::byte*>(x.data()), columns, y.data());
            task.first_panel = 1;
            task.last_panel = 4;
            task.accumulate = true;
            kernels_for(set).product(task);
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

BOOST_AUTO_TEST_CASE(integers_of_any_number_of_blocks_cover_the_panels_of_their_task_only) {
    constexpr float guard = 12345.0f;
    constexpr std::size_t rows = 67, first = 1, last = 4;
    std::mt19937 random(10);
    for (const auto format : all_formats) {
        if (input_of(format) != input_format::q8) continue;
        for (const std::size_t blocks : {2u, 7u}) {
            const std::size_t depth = blocks * host::layout_of(format).depth;
            const auto packed = std::move(random_matrix(format, rows, depth, random).packed);
            const prepared_columns x(input_format::q8, normal_numbers(17 * depth, random), depth,
                                     host::instruction_set::portable);
            const auto whole = multiply(packed, x, 0, 17, host::instruction_set::portable);
            for (const auto set : instruction_sets()) {
                for (const std::size_t columns : {1u, 8u, 17u}) {
                    std::vector<float> found(17 * rows, guard), wanted = found;
                    for (std::size_t i = 0; i < columns * rows; ++i) {
                        const std::size_t panel = i % rows / host::panel_rows;
                        if (panel >= first && panel < last) wanted[i] = whole[i];
                    }
                    auto task = host::product_of(packed, x.column(0), columns, found.data());
                    task.first_panel = first;
                    task.last_panel = last;
                    kernels_for(set).product(task);
                    BOOST_TEST(same_bits(found, wanted), host::name_of(format)
                                                             << ", " << host::name_of(set) << ", " << blocks
                                                             << " blocks, " << columns << " columns");
                }
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(parts_of_a_column_can_be_prepared_apart) {
    std::mt19937 random(8);
    const auto x = normal_numbers(170, random);
    for (const auto set : instruction_sets()) {
        const auto prepare = kernels_for(set).prepare;
        for (const auto format : {input_format::f32, input_format::bf16, input_format::q8}) {
            const std::size_t depth = format == input_format::q8 ? 160 : 170, bytes = host::input_bytes(format, depth);
            host::aligned_buffer whole(bytes), parts(bytes);
            std::memset(whole.data(), 1, bytes);
            std::memset(parts.data(), 1, bytes);
            prepare(format, x.data(), 0, depth, whole.data());
            prepare(format, x.data(), 64, depth, parts.data());
            prepare(format, x.data(), 0, 64, parts.data());
            BOOST_TEST(std::memcmp(whole.data(), parts.data(), bytes) == 0);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
