#pragma once
// Unicode's canonical composition (NFC).

#include <algorithm>
#include <augur/io/text/nfc_table.hpp>
#include <augur/io/text/unicode_classes.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace augur::io {

namespace detail {

/// Where Hangul syllables begin, and the letters that they are made of: counts of leads, vowels and tails.
struct hangul {
    static constexpr std::uint32_t syllables = 0xAC00, leads = 0x1100, vowels = 0x1161, tails = 0x11A7;
    static constexpr std::uint32_t lead_count = 19, vowel_count = 21, tail_count = 28;
    static constexpr std::uint32_t count = lead_count * vowel_count * tail_count;
};

/// A code point and its combining class.
struct nfc_letter {
    std::uint32_t point;
    std::uint32_t kind;
};

inline void append_letter(std::uint32_t point, std::vector<nfc_letter>& out) {
    out.push_back({point, nfc_tables::shared().class_of(point)});
}

/// Appends what a code point is made of, down to what is made of nothing.
inline void append_decomposed(std::uint32_t point, std::vector<nfc_letter>& out) {
    if (const std::uint32_t at = point - hangul::syllables; point >= hangul::syllables && at < hangul::count) {
        append_letter(hangul::leads + at / (hangul::vowel_count * hangul::tail_count), out);
        append_letter(hangul::vowels + at / hangul::tail_count % hangul::vowel_count, out);
        if (at % hangul::tail_count != 0) append_letter(hangul::tails + at % hangul::tail_count, out);
    } else if (const auto* parts = nfc_tables::shared().parts_of(point)) {
        append_decomposed(parts->first, out);
        if (parts->second != 0) append_decomposed(parts->second, out);
    } else {
        append_letter(point, out);
    }
}

/// The code point that two make, or 0.
inline std::uint32_t composed(std::uint32_t first, std::uint32_t second) {
    const std::uint32_t lead = first - hangul::leads, vowel = second - hangul::vowels;
    if (first >= hangul::leads && lead < hangul::lead_count && second >= hangul::vowels &&
        vowel < hangul::vowel_count) {
        return hangul::syllables + (lead * hangul::vowel_count + vowel) * hangul::tail_count;
    }
    const std::uint32_t syllable = first - hangul::syllables, tail = second - hangul::tails;
    if (first >= hangul::syllables && syllable < hangul::count && syllable % hangul::tail_count == 0 &&
        second > hangul::tails && tail < hangul::tail_count) {
        return first + tail;
    }
    return nfc_tables::shared().composed(first, second);
}

/// Marks between two starters into the order of their classes; marks of one class stay in order.
inline void order_marks(std::vector<nfc_letter>& letters) {
    for (auto at = letters.begin(); at != letters.end();) {
        const auto is_starter = [](const nfc_letter& letter) { return letter.kind == 0; };
        const auto begin = std::find_if_not(at, letters.end(), is_starter);
        at = std::find_if(begin, letters.end(), is_starter);
        std::stable_sort(begin, at, [](const nfc_letter& a, const nfc_letter& b) { return a.kind < b.kind; });
    }
}

/// Puts letters together with the starter before them, unless a letter of their class or a starter stands between.
inline void compose(std::vector<nfc_letter>& letters) {
    std::size_t kept = 0, starter = letters.size();  // none yet
    for (const nfc_letter letter : letters) {
        const bool is_near = starter < kept && (starter + 1 == kept || letters[kept - 1].kind < letter.kind);
        const std::uint32_t joint = is_near ? composed(letters[starter].point, letter.point) : 0;
        if (joint != 0) {
            letters[starter].point = joint;
            continue;
        }
        if (letter.kind == 0) starter = kept;
        letters[kept++] = letter;
    }
    letters.resize(kept);
}

inline void append_utf8(std::uint32_t point, std::string& out) {
    const auto byte = [&](std::uint32_t value) { out += static_cast<char>(static_cast<unsigned char>(value)); };
    if (point < 0x80) return byte(point);
    if (point < 0x800) {
        byte(0xC0 | point >> 6);
    } else {
        if (point < 0x10000) {
            byte(0xE0 | point >> 12);
        } else {
            byte(0xF0 | point >> 18);
            byte(0x80 | (point >> 12 & 0x3F));
        }
        byte(0x80 | (point >> 6 & 0x3F));
    }
    byte(0x80 | (point & 0x3F));
}

}  // namespace detail

/// The text in NFC, by the tables of Unicode 9.0, as Hugging Face's tokenizers have it: what came later stays as it is.
/// `text` must be UTF-8. Cost: linear, but for n log n in a run of marks; text below U+0300 is copied.
inline std::string to_nfc(std::string_view text) {
    const auto is_old = [](char byte) { return static_cast<unsigned char>(byte) < 0xCC; };  // all bytes below U+0300
    if (std::all_of(text.begin(), text.end(), is_old)) return std::string(text);
    std::vector<detail::nfc_letter> letters;
    for (std::size_t i = 0; i < text.size();) {
        const auto [point, bytes] = point_at(text.substr(i));
        detail::append_decomposed(point, letters);
        i += bytes;
    }
    detail::order_marks(letters);
    detail::compose(letters);
    std::string out;
    for (const auto& letter : letters) detail::append_utf8(letter.point, out);
    return out;
}

}  // namespace augur::io
