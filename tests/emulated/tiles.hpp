#pragma once
// The tile instructions of AMX, emulated, in place of the intrinsics: to be included before the kernels, in a program
// of its own. Intel's manual, volume 2, chapter 3 ("Intel AMX instruction set reference").

#include <immintrin.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "augur/types/error.hpp"

#define AUGUR_EMULATED_TILES

namespace augur::testing {

/// What one thread's eight tiles hold: up to 16 rows of up to 64 bytes.
class tiles {
 public:
    struct shapes {
        std::uint8_t palette, start_row, reserved[14];
        std::uint16_t row_bytes[16];
        std::uint8_t rows[16];
    };
    static_assert(sizeof(shapes) == 64);

    void configure(const void* from) {
        std::memcpy(&shapes_, from, sizeof shapes_);
        if (shapes_.palette != 1) detail::fail("tiles of palette ", int{shapes_.palette});
        for (int tile = 0; tile < 8; ++tile) {
            if (shapes_.rows[tile] > 16 || shapes_.row_bytes[tile] > 64) detail::fail("tile ", tile, " is too large");
        }
        data_ = {};
        configured_ = true;
    }
    void release() { configured_ = false; }

    void zero(int tile) { of(tile) = {}; }
    void load(int tile, const void* from, std::size_t stride) {
        zero(tile);
        for (std::size_t row = 0; row < shapes_.rows[tile]; ++row) {
            std::memcpy(of(tile)[row].data(), static_cast<const std::byte*>(from) + row * stride,
                        shapes_.row_bytes[tile]);
        }
    }
    void store(int tile, void* to, std::size_t stride) {
        for (std::size_t row = 0; row < shapes_.rows[tile]; ++row) {
            std::memcpy(static_cast<std::byte*>(to) + row * stride, of(tile)[row].data(), shapes_.row_bytes[tile]);
        }
    }

    /// Sums of four products of bytes each, of types A and B.
    template <class A, class B>
    void multiply_bytes(int sums, int a, int b) {
        check(sums, a, b);
        each(sums, [&](std::size_t m, std::size_t n) {
            auto sum = at<std::int32_t>(sums, m, n);
            for (std::size_t k = 0; k < shapes_.row_bytes[a]; ++k) {
                sum += std::int32_t{at<A>(a, m, k)} * std::int32_t{at<B>(b, k / 4, 4 * n + k % 4)};
            }
            put(sums, m, n, sum);
        });
    }

    /// Even and odd products apart, then both, then what was there.
    void multiply_bfloat16(int sums, int a, int b) {
        check(sums, a, b);
        each(sums, [&](std::size_t m, std::size_t n) {
            float part[2] = {};
            for (std::size_t k = 0; k < shapes_.row_bytes[a] / 2u; ++k) {
                part[k % 2] = std::fma(number(a, m, k), number(b, k / 2, 2 * n + k % 2), part[k % 2]);
            }
            put(sums, m, n, at<float>(sums, m, n) + (part[0] + part[1]));
        });
    }

 private:
    using tile_data = std::array<std::array<std::byte, 64>, 16>;

    tile_data& of(int which) {
        if (!configured_) detail::fail("tile ", which, " is used and not configured");
        return data_[static_cast<std::size_t>(which)];
    }
    /// What the processor refuses.
    void check(int sums, int a, int b) {
        if (shapes_.rows[sums] != shapes_.rows[a] || shapes_.row_bytes[sums] != shapes_.row_bytes[b] ||
            shapes_.rows[b] * 4 != shapes_.row_bytes[a]) {
            detail::fail("tiles ", sums, ", ", a, " and ", b, " do not fit each other");
        }
    }
    void each(int sums, const auto& visit) {
        for (std::size_t m = 0; m < shapes_.rows[sums]; ++m) {
            for (std::size_t n = 0; n < shapes_.row_bytes[sums] / 4u; ++n) visit(m, n);
        }
    }
    template <class Number>
    Number at(int which, std::size_t row, std::size_t column) {
        Number out;
        std::memcpy(&out, of(which)[row].data() + column * sizeof out, sizeof out);
        return out;
    }
    float number(int which, std::size_t row, std::size_t column) {
        const std::uint32_t bits = std::uint32_t{at<std::uint16_t>(which, row, column)} << 16;
        float out;
        std::memcpy(&out, &bits, sizeof out);
        return out;
    }
    template <class Number>
    void put(int which, std::size_t row, std::size_t column, Number value) {
        std::memcpy(of(which)[row].data() + column * sizeof value, &value, sizeof value);
    }

    shapes shapes_{};
    std::array<tile_data, 8> data_{};
    bool configured_ = false;
};

inline thread_local tiles emulated_tiles;

}  // namespace augur::testing

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbssd
#undef _tile_dpbsud
#undef _tile_dpbuud
#undef _tile_dpbf16ps
#define _tile_loadconfig(from) ::augur::testing::emulated_tiles.configure(from)
#define _tile_release() ::augur::testing::emulated_tiles.release()
#define _tile_zero(tile) ::augur::testing::emulated_tiles.zero(tile)
#define _tile_loadd(tile, from, stride) ::augur::testing::emulated_tiles.load(tile, from, stride)
#define _tile_stored(tile, to, stride) ::augur::testing::emulated_tiles.store(tile, to, stride)
#define _tile_dpbssd(sums, a, b) ::augur::testing::emulated_tiles.multiply_bytes<std::int8_t, std::int8_t>(sums, a, b)
#define _tile_dpbsud(sums, a, b) ::augur::testing::emulated_tiles.multiply_bytes<std::int8_t, std::uint8_t>(sums, a, b)
#define _tile_dpbuud(sums, a, b) ::augur::testing::emulated_tiles.multiply_bytes<std::uint8_t, std::uint8_t>(sums, a, b)
#define _tile_dpbf16ps(sums, a, b) ::augur::testing::emulated_tiles.multiply_bfloat16(sums, a, b)
