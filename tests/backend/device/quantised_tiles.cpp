#include "augur/backend/device/quantised_tiles.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "augur/backend/device/skinny_product.hpp"
#include "augur/types/error.hpp"
#include "backend/host/matrices.hpp"

namespace device = augur::backend::device;
namespace host = augur::backend::host;
using augur::io::tensor_type;
using device::bfloat16, device::binary16, device::emulated_system;

namespace {

template <class Element, unsigned Bits>
using matrix_type = device::quantised_matrix<Element, Bits, emulated_system>;

/// What lanes make of the tiles: integers times scales, of all rows and k that fill up too.
template <class Element, unsigned Bits>
std::vector<float> unpacked(const device::quantised_view<Element, Bits>& view) {
    std::vector<float> out(view.panels * 16 * view.padded_depth());
    for (std::size_t tile = 0; tile < view.tiles(); ++tile) {
        for (unsigned lane = 0; lane < device::warp_size; ++lane) {
            const auto part = view.load(tile, lane);
            for (unsigned i = 0; i < 16; ++i) {  // the order of weight_fragment and of tile_layout
                const std::uint32_t word = view.fragment(part, i / 8).words[i % 8 / 2];
                const std::size_t row = tile / view.blocks * 16 + lane / 4 + i / 2 % 2 * 8;
                const std::size_t k = tile % view.blocks * 32 + lane % 4 * 8 + i / 8 * 4 + i % 8 / 4 * 2 + i % 2;
                const float integer = Element::from_bits(static_cast<std::uint16_t>(word >> i % 2 * 16)).value();
                const auto scale = static_cast<std::uint16_t>(part.scales >> i / 2 % 2 * 16);
                out[row * view.padded_depth() + k] = integer * binary16::from_bits(scale).value();
            }
        }
    }
    return out;
}

/// The host's rows, the blocks as they are.
template <class Element, unsigned Bits>
matrix_type<Element, Bits> kept(const emulated_system& on, const host::packed_matrix& from) {
    const std::size_t depth = device::tile_layout::padded(from.depth());
    return {on, from.rows(), depth, [&](std::size_t row, std::span<std::byte> out) {
                device::read_blocks(from, row, device::quantised_layout<Bits>::type, out);
            }};
}

std::vector<float> row_of(const host::packed_matrix& from, std::size_t row) {
    std::vector<float> out(from.depth());
    from.unpack_row(row, out);
    return out;
}

/// Equal to the host's rows, and zero beyond them.
template <class Element, unsigned Bits>
void check_weights(const device::quantised_view<Element, Bits>& view, const host::packed_matrix& expected) {
    const auto got = unpacked(view);
    std::size_t wrong = 0;
    for (std::size_t row = 0; row < view.panels * 16; ++row) {
        auto wanted = row < expected.rows() ? row_of(expected, row) : std::vector<float>();
        wanted.resize(view.padded_depth());
        for (std::size_t k = 0; k < wanted.size(); ++k) wrong += got[row * view.padded_depth() + k] != wanted[k];
    }
    BOOST_TEST(wrong == 0u);
}

template <unsigned Bits>
constexpr host::storage stored = Bits == 8 ? host::storage::q8_0 : host::storage::q4_0;

/// Columns of Elements, of which the first `columns` are given; NaN in the others.
template <class Element>
std::vector<Element> inputs(std::size_t depth, std::size_t columns) {
    std::mt19937 random(2);
    const auto numbers = augur::testing::normal_numbers(device::most_columns * depth, random);
    std::vector<Element> out(numbers.size(), Element::of(std::numeric_limits<float>::quiet_NaN()));
    std::transform(numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(columns * depth), out.begin(),
                   &Element::of);
    return out;
}

template <class View>
std::vector<float> multiplied(const emulated_system& on, const View& view, std::size_t columns) {
    using Element = typename View::element;
    const auto x = inputs<Element>(view.padded_depth(), columns);
    const device::buffer<Element, emulated_system> in(on, std::span<const Element>(x));
    const device::buffer<float, emulated_system> out(on, columns * view.rows);
    device::multiply(on, view, in.data(), columns, device::store_sums{out.data(), view.rows, view.rows});
    return out.on_host();
}

/// For both types of Elements, and for 8 and 4 bits.
template <class Check>
void for_all_types(const Check& check) {
    check.template operator()<bfloat16, 8>();
    check.template operator()<bfloat16, 4>();
    check.template operator()<binary16, 8>();
    check.template operator()<binary16, 4>();
}

std::string refusal(const auto& what) {
    try {
        what();
    } catch (const augur::error& e) {
        return e.what();
    }
    return "accepted";
}

template <class Element, unsigned Bits>
void check_product(std::size_t rows, std::size_t depth) {
    std::mt19937 random(1);
    const auto of = augur::testing::random_matrix(stored<Bits>, rows, depth, random);
    const auto tiles = kept<Element, Bits>({}, of.packed);
    const auto all = multiplied({}, tiles.view(), device::most_columns);
    const auto x = inputs<Element>(depth, device::most_columns);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto weights = row_of(of.widened, i % rows);
        double sum = 0, size = 0;
        for (std::size_t k = 0; k < depth; ++k) {
            const double product =
                static_cast<double>(weights[k]) * static_cast<double>(x[i / rows * depth + k].value());
            sum += product;
            size += std::abs(product);
        }
        if (std::abs(static_cast<double>(all[i]) - sum) > 1e-6 * size) BOOST_ERROR(all[i] << " is not " << sum);
    }
    for (std::size_t columns = 1; columns < device::most_columns; columns += columns < 18 ? 1 : 15) {
        const auto some = multiplied({}, tiles.view(), columns);
        BOOST_TEST((some == std::vector(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(columns * rows))));
    }
    const auto turned = kept<Element, Bits>({.backwards = true}, of.packed);
    BOOST_TEST((multiplied({.backwards = true}, turned.view(), 9) == multiplied({}, tiles.view(), 9)));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(backend_quantised_tiles)

BOOST_AUTO_TEST_CASE(every_integer_has_a_place_of_its_own) {
    const auto check = []<unsigned Bits>() {
        using layout = device::quantised_layout<Bits>;
        std::set<std::tuple<std::size_t, std::size_t, std::size_t>> taken;
        for (std::size_t row = 0; row < 16; ++row) {
            for (std::size_t k = 0; k < 32; ++k) {
                const auto at = layout::place(row, k);
                BOOST_TEST((at.lane == row % 8 * 4 + k / 8 && at.word < Bits / 2 && at.shift % Bits == 0));
                taken.emplace(at.lane, at.word, at.shift);
            }
        }
        BOOST_TEST(taken.size() == 512u);
        BOOST_TEST(sizeof(device::lane_integers<Bits>) == 2 * Bits);
        BOOST_TEST(alignof(device::lane_integers<Bits>) == 2 * Bits);
    };
    check.template operator()<8>();
    check.template operator()<4>();
    BOOST_TEST((sizeof(device::tile_scales) == 32 && alignof(device::tile_scales) == 16));
}

BOOST_AUTO_TEST_CASE(integers_are_exact_as_elements) {
    const auto value = []<class Element>(Element, std::uint32_t word, unsigned shift) {
        return Element::from_bits(static_cast<std::uint16_t>(word >> shift)).value();
    };
    const auto check = [&]<class Element>(Element element) {
        for (std::uint32_t a = 0; a < 256; ++a) {
            const std::uint32_t b = a * 37 % 256, rest = 0xa500c300u;  // what is not asked for
            const auto eight = device::integer_pair<Element, 8>(rest | a | b << 16);
            BOOST_TEST(value(element, eight, 0) == static_cast<float>(static_cast<std::int8_t>(a)));
            BOOST_TEST(value(element, eight, 16) == static_cast<float>(static_cast<std::int8_t>(b)));
            const auto four = device::integer_pair<Element, 4>(rest | a | b << 16);
            BOOST_TEST(value(element, four, 0) == static_cast<float>(a % 16) - 8);
            BOOST_TEST(value(element, four, 16) == static_cast<float>(b % 16) - 8);
        }
    };
    check(bfloat16{});
    check(binary16{});
}

BOOST_AUTO_TEST_CASE(weights_are_those_of_the_host) {
    for_all_types([]<class Element, unsigned Bits>() {
        std::mt19937 random(3);
        for (const auto& [rows, depth] : {std::pair<std::size_t, std::size_t>{1, 32}, {16, 64}, {37, 96}}) {
            const auto of = augur::testing::random_matrix(stored<Bits>, rows, depth, random);
            const auto weights = kept<Element, Bits>({}, of.packed);
            check_weights(weights.view(), of.packed);
            const std::size_t panels = (rows + 15) / 16;
            BOOST_TEST(weights.memory_bytes() == panels * depth / 32 * (64 * Bits + 32));
        }
    });
}

BOOST_AUTO_TEST_CASE(blocks_come_back_as_they_were) {
    std::mt19937 random(5);
    for (const auto type : {tensor_type::q8_0, tensor_type::q4_0}) {
        const std::size_t row_bytes = 3 * augur::io::block_bytes(type);
        const auto bytes = augur::testing::stored_numbers(type, std::size_t{19} * 96, random);
        host::packed_matrix packed(type == tensor_type::q8_0 ? host::storage::q8_0 : host::storage::q4_0, 19, 96);
        std::vector<std::byte> all, row(row_bytes);
        for (std::size_t i = 0; i < 19; ++i) packed.set_row(i, std::span(bytes).subspan(i * row_bytes, row_bytes));
        for (std::size_t i = 0; i < 19; ++i) {
            packed.row_blocks(i, row);
            all.insert(all.end(), row.begin(), row.end());
        }
        BOOST_TEST((all == bytes));
        BOOST_TEST(refusal([&] { packed.row_blocks(19, row); }) == "row 19 of a matrix of 19 rows");
        BOOST_TEST(refusal([&] { packed.row_blocks(0, std::span(row).first(5)); }) ==
                   "a row of this matrix has " + std::to_string(row_bytes) + " bytes, not 5");
    }
    BOOST_TEST(refusal([] { host::packed_matrix(host::storage::q4_1, 1, 32).row_blocks(0, {}); }) ==
               "blocks are given back of q8_0 and q4_0, not of q4_1");
}

/// Not rounded twice: 8 bits hold the integers of 4.
BOOST_AUTO_TEST_CASE(four_bits_are_kept_in_eight) {
    std::mt19937 random(6);
    const auto of = augur::testing::random_matrix(host::storage::q4_0, 18, 64, random);
    check_weights(kept<bfloat16, 8>({}, of.packed).view(), of.packed);
}

/// As the host rounds them, from floats and from a matrix in another format, and a last block that is filled up.
BOOST_AUTO_TEST_CASE(floats_are_rounded_as_in_files) {
    for_all_types([]<class Element, unsigned Bits>() {
        constexpr std::size_t rows = 21, depth = 75, padded = 96;
        std::mt19937 random(7);
        const auto numbers = augur::testing::normal_numbers(rows * depth, random);
        host::packed_matrix expected(stored<Bits>, rows, padded), floats(host::storage::f32, rows, depth);
        const auto type = device::quantised_layout<Bits>::type;
        for (std::size_t row = 0; row < rows; ++row) {
            std::vector<float> filled(padded);
            const auto own = std::span(numbers).subspan(row * depth, depth);
            std::copy(own.begin(), own.end(), filled.begin());
            std::vector<std::byte> blocks(3 * augur::io::block_bytes(type));
            augur::io::quantize(type, filled, blocks);
            expected.set_row(row, blocks);
            floats.set_row(row, std::as_bytes(own));
        }
        const matrix_type<Element, Bits> weights({}, rows, depth, [&](std::size_t row, std::span<float> out) {
            std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(row * depth), depth, out.begin());
        });
        check_weights(weights.view(), expected);
        check_weights(kept<Element, Bits>({}, floats).view(), expected);
    });
}

BOOST_AUTO_TEST_CASE(sums_are_right_and_belong_to_their_column) {
    check_product<bfloat16, 8>(17, 32);
    check_product<bfloat16, 8>(5, 1120);  // more blocks than warps take at once
    check_product<bfloat16, 4>(33, 352);
    check_product<bfloat16, 4>(5, 2144);
    check_product<binary16, 8>(33, 288);
    check_product<binary16, 4>(17, 64);
}

/// One block: its sum times the scale, and nothing rounded before.
BOOST_AUTO_TEST_CASE(scales_come_after_the_sums_of_integers) {
    std::vector<std::byte> row(34);
    const std::uint16_t third = binary16::of(1.0f / 3).bits;
    std::memcpy(row.data(), &third, 2);
    for (std::size_t k = 0; k < 32; ++k) row[2 + k] = static_cast<std::byte>(k % 2 == 0 ? 127 : -128);
    const matrix_type<bfloat16, 8> weights(
        {}, 1, 32, [&](std::size_t, std::span<std::byte> out) { std::copy(row.begin(), row.end(), out.begin()); });
    const std::vector<bfloat16> x(32, bfloat16::of(3));
    const device::buffer<bfloat16, emulated_system> in({}, std::span<const bfloat16>(x));
    const device::buffer<float, emulated_system> out({}, 1);
    device::multiply(emulated_system{}, weights.view(), in.data(), 1, device::store_sums{out.data(), 1, 1});
    BOOST_TEST(out.on_host()[0] == -48 * binary16::from_bits(third).value());
}

BOOST_AUTO_TEST_CASE(impossible_shapes_are_refused) {
    const auto blocks = [](std::size_t, std::span<std::byte>) {};
    BOOST_TEST(refusal([&] { matrix_type<bfloat16, 8>({}, 2, 48, blocks); }) ==
               "q8_0 has blocks of 32, which 48 is no multiple of");
    BOOST_TEST(refusal([&] { matrix_type<bfloat16, 4>({}, 2, 33, blocks); }) ==
               "q4_0 has blocks of 32, which 33 is no multiple of");
    BOOST_TEST(refusal([&] { matrix_type<bfloat16, 8>({}, 0, 32, blocks); }) ==
               "a matrix of 0 rows by 32 has no weights");
    const auto broken = [](std::size_t, std::span<float> out) { out[0] = std::numeric_limits<float>::infinity(); };
    BOOST_TEST(refusal([&] { matrix_type<bfloat16, 8>({}, 1, 5, broken); }) ==
               "quantize: inf has no place in a block of q8_0");
}

BOOST_AUTO_TEST_SUITE_END()
