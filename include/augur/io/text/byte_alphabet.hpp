#pragma once
// The byte-to-character table of byte-level tokenizers: one printable character for each of 256 bytes (GPT-2).

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace augur::io {

namespace detail {

/// Printable Latin-1 bytes stand for themselves; the other 68 are numbered from U+0100 in order.
constexpr std::array<std::uint16_t, 256> make_byte_alphabet() {
    std::array<std::uint16_t, 256> characters{};
    std::uint16_t next = 256;
    for (std::uint16_t byte = 0; byte < 256; ++byte) {
        const bool printable = (byte > 32 && byte < 127) || (byte > 160 && byte != 173);
        characters[byte] = printable ? byte : next++;
    }
    return characters;
}

inline constexpr std::array<std::uint16_t, 256> byte_alphabet = make_byte_alphabet();
inline constexpr std::size_t byte_alphabet_end = 256 + 68;

constexpr std::array<std::int16_t, byte_alphabet_end> invert_byte_alphabet() {
    std::array<std::int16_t, byte_alphabet_end> bytes{};
    for (auto& byte : bytes) byte = -1;
    for (std::size_t byte = 0; byte < 256; ++byte) bytes[byte_alphabet[byte]] = static_cast<std::int16_t>(byte);
    return bytes;
}

inline constexpr std::array<std::int16_t, byte_alphabet_end> byte_of_character = invert_byte_alphabet();

}  // namespace detail

/// Spells bytes in the alphabet, as UTF-8: a space becomes U+0120.
inline std::string spell_bytes(std::string_view bytes) {
    std::string out;
    for (const char byte : bytes) {
        const unsigned character = detail::byte_alphabet[static_cast<unsigned char>(byte)];
        if (character < 0x80) {
            out += static_cast<char>(character);
        } else {
            out += static_cast<char>(0xC0 | (character >> 6));
            out += static_cast<char>(0x80 | (character & 0x3F));
        }
    }
    return out;
}

/// The bytes that a text spells, or nothing when it has a character outside the alphabet.
inline std::optional<std::string> unspell_bytes(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::size_t character = static_cast<unsigned char>(text[i]);
        if (character >= 0x80) {
            if ((character & 0xE0) != 0xC0 || ++i == text.size()) return std::nullopt;
            const auto second = static_cast<unsigned char>(text[i]);
            if ((second & 0xC0) != 0x80) return std::nullopt;
            character = (character & 0x1F) << 6 | (second & 0x3Fu);
        }
        if (character >= detail::byte_alphabet_end || detail::byte_of_character[character] < 0) return std::nullopt;
        out += static_cast<char>(detail::byte_of_character[character]);
    }
    return out;
}

}  // namespace augur::io
