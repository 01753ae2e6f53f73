#pragma once
// FNV hashing, for checksums and content names. Not cryptographic.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace augur::io {

/// FNV-1a of 64 bits.
class fnv_hash {
 public:
    void add(std::span<const std::byte> bytes) {
        for (const std::byte b : bytes) value_ = (value_ ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3u;
    }
    void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
    /// As `bytes` bytes, the lowest first.
    void add(std::uint64_t number, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) {
            const auto b = static_cast<std::byte>(number >> (8 * i));
            add({&b, 1});
        }
    }
    /// Sixteen hexadecimal digits.
    std::string text() const {
        std::string out;
        for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[value_ >> shift & 15];
        return out;
    }

 private:
    std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace augur::io
