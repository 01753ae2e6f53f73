#pragma once
// Random packed matrices of every storage format, and the instruction sets to try them with.

#include <boost/test/unit_test.hpp>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "augur/backend/host/instruction_set.hpp"
#include "augur/backend/host/kernels.hpp"
#include "augur/backend/host/packed_matrix.hpp"
#include "augur/io/files/dequantize.hpp"

namespace augur::testing {

namespace host = augur::backend::host;

inline const std::vector<host::storage> all_formats(std::begin(host::all_storages), std::end(host::all_storages));

/// Those that this machine has; portable is always the first. Where tiles are emulated (tests/emulated), machines have
/// them that have what goes with them.
inline std::vector<host::instruction_set> instruction_sets() {
#if defined(AUGUR_EMULATED_TILES)
    std::vector<host::instruction_set> emulated{host::instruction_set::portable};
    if (host::is_supported(host::instruction_set::avx512_bf16)) emulated.push_back(host::instruction_set::amx);
    return emulated;
#else
    std::vector<host::instruction_set> out;
    for (const auto set : host::all_instruction_sets) {
        if (set != host::instruction_set::automatic && host::is_supported(set)) out.push_back(set);
    }
    return out;
#endif
}

inline const host::kernels& kernels_for(host::instruction_set set) {
#if defined(AUGUR_EMULATED_TILES)
    if (set == host::instruction_set::amx) return host::amx::table;
#endif
    return host::kernels_of(set);
}

inline std::vector<float> normal_numbers(std::size_t count, std::mt19937& random) {
    std::normal_distribution<float> normal;
    std::vector<float> out(count);
    for (float& value : out) value = normal(random);
    return out;
}
inline std::vector<float> normal_numbers(std::size_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    return normal_numbers(count, random);
}

inline io::tensor_type tensor_type_of(host::storage format) {
    using enum io::tensor_type;
    for (const auto type : {f32, f16, bf16, q8_0, q4_0, q4_1, q5_1, q2_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4}) {
        if (io::name_of(type) == host::name_of(format)) return type;
    }
    augur::detail::fail("unknown format");
}

/// `elements` numbers as a model file of this type stores them: finite, some tenths large, every bit pattern of the
/// quants.
inline std::vector<std::byte> stored_numbers(io::tensor_type type, std::size_t elements, std::mt19937& random) {
    const std::size_t size = io::block_bytes(type), blocks = elements / io::block_size(type);
    std::vector<std::byte> out(size * blocks);
    for (auto& byte : out) byte = static_cast<std::byte>(random());
    const auto put_half = [&](std::size_t at, std::uint32_t exponent) {  // with a random mantissa
        const auto half = static_cast<std::uint16_t>(exponent << 10 | (random() & 0x3ff));
        std::memcpy(&out[at], &half, 2);
    };
    for (std::size_t at = 0; at < out.size(); at += size) {
        switch (type) {
            case io::tensor_type::f32: {
                const float value = std::normal_distribution<float>()(random) / 8;
                std::memcpy(&out[at], &value, 4);
                break;
            }
            case io::tensor_type::f16:
                put_half(at, (random() & 32) | 11);
                break;
            case io::tensor_type::bf16: {
                const auto bits = static_cast<std::uint16_t>((random() & 0x807f) | 124 << 7);
                std::memcpy(&out[at], &bits, 2);
                break;
            }
            case io::tensor_type::q8_0:
                put_half(at, 4);
                break;
            case io::tensor_type::q4_0:
            case io::tensor_type::q5_0:
                put_half(at, 8);
                break;
            case io::tensor_type::q4_1:
            case io::tensor_type::q5_1:
                put_half(at, 8);
                put_half(at + 2, 32 | 11);
                break;
            case io::tensor_type::q2_k:
                put_half(at + 80, 6);
                put_half(at + 82, 6);
                break;
            case io::tensor_type::q3_k:
                put_half(at + 108, 3);
                break;
            case io::tensor_type::q4_k:
            case io::tensor_type::q5_k:
                put_half(at, 2);
                put_half(at + 2, 2);
                break;
            case io::tensor_type::q6_k:
                put_half(at + size - 2, 0);
                break;
            case io::tensor_type::iq4_nl:
                put_half(at, 4);
                break;
            case io::tensor_type::iq4_xs:
                put_half(at, 0);
                break;
            case io::tensor_type::mxfp4:
                out[at] = static_cast<std::byte>(116 + random() % 6);
                break;
            case io::tensor_type::i32:
            case io::tensor_type::u8:  // no numbers of a matrix
                break;
        }
    }
    return out;
}

/// A matrix of the format, and the same numbers in f32.
struct matrix_pair {
    host::packed_matrix packed, widened;
};
inline matrix_pair random_matrix(host::storage format, std::size_t rows, std::size_t depth, std::mt19937& random) {
    const auto type = tensor_type_of(format);
    const auto bytes = stored_numbers(type, rows * depth, random);
    const std::size_t row_bytes = bytes.size() / rows;
    matrix_pair out{{format, rows, depth}, {host::storage::f32, rows, depth}};
    std::vector<float> values(depth);
    for (std::size_t row = 0; row < rows; ++row) {
        const auto stored = std::span(bytes).subspan(row * row_bytes, row_bytes);
        io::dequantize(type, stored, values);
        out.widened.set_row(row, std::as_bytes(std::span(values)));
        out.packed.set_row(row, stored);
    }
    return out;
}

/// Depths a format can have: odd ones where it allows, beyond one slice of K, and a single block.
inline std::vector<std::size_t> depths_of(host::storage format) {
    const std::size_t block = host::layout_of(format).file_depth;
    if (block == 256) return {256, 768};
    if (block == 32) return {32, 160, 288};
    return {1, 8, 129, 172, 300};
}

/// Columns as the kernels of `set` read them for a format.
struct prepared_columns {
    host::aligned_buffer memory;
    std::size_t stride;

    prepared_columns(host::input_format format, std::span<const float> x, std::size_t depth, host::instruction_set set)
        : memory(x.size() / depth * host::input_bytes(format, (depth + 31) / 32 * 32)),
          stride(format == host::input_format::f32 ? depth * sizeof(float) : host::input_bytes(format, depth)) {
        for (std::size_t c = 0; c < x.size() / depth; ++c) {
            kernels_for(set).prepare(format, x.data() + c * depth, 0, depth, memory.data() + c * stride);
        }
    }
    const std::byte* column(std::size_t c) const { return memory.data() + c * stride; }
};

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace augur::testing
