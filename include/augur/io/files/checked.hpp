#pragma once
// Checked arithmetic and slicing. Every size and offset of an untrusted file goes through here.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

namespace augur::io {

/// a + b, or nothing when the sum does not fit.
constexpr std::optional<std::uint64_t> checked_add(std::uint64_t a, std::uint64_t b) {
    if (a > std::numeric_limits<std::uint64_t>::max() - b) return std::nullopt;
    return a + b;
}

/// a * b, or nothing when the product does not fit.
constexpr std::optional<std::uint64_t> checked_multiply(std::uint64_t a, std::uint64_t b) {
    if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
    return a * b;
}

/// The product of all dimensions (1 for none), or nothing when it does not fit in 63 bits, so that it is also a valid
/// signed index.
constexpr std::optional<std::uint64_t> checked_product(std::span<const std::uint64_t> shape) {
    std::optional<std::uint64_t> product = 1;
    for (const auto dimension : shape) {
        product = checked_multiply(*product, dimension);
        if (!product || *product > std::uint64_t{std::numeric_limits<std::int64_t>::max()}) return std::nullopt;
    }
    return product;
}

/// The smallest multiple of `alignment` (not 0) that is at least `value`, or nothing when it does not fit.
constexpr std::optional<std::uint64_t> checked_round_up(std::uint64_t value, std::uint64_t alignment) {
    const auto excess = value % alignment;
    return excess == 0 ? value : checked_add(value, alignment - excess);
}

/// `size` bytes from `offset` on, or nothing unless all of them are inside `bytes`.
constexpr std::optional<std::span<const std::byte>> checked_slice(std::span<const std::byte> bytes,
                                                                  std::uint64_t offset, std::uint64_t size) {
    if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
    return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

}  // namespace augur::io
