#!/usr/bin/env python3
"""Writes include/augur/io/text/unicode_classes.hpp's table anew: pip install unicodedata2==16.0.0, then run this.

The version is the one that Hugging Face's tokenizers cut by (0.23.3: patterns by Unicode 16.0, `Digits` by 17.0). To move on, compare
all code points with theirs first (tests/program/unicode_tables.py).
"""

import pathlib

import unicodedata2

VERSION = "16.0.0"
END = 0x110000
SPACES = [(0x9, 0xD), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)]
LATER_NUMBERS = [(0x11DE0, 0x11DE9), (0x16FF4, 0x16FF6)]  # in Unicode 17.0
KINDS = {"Lm": 1, "Lo": 1, "N": 2, "M": 3, "Lu": 6, "Lt": 6, "Ll": 7}
SPACE, LATER_NUMBER, UPPER, LOWER = 4, 5, 6, 7
EVEN_IS_UPPER, ODD_IS_UPPER = 8, 9  # of a run of two or more letters: upper and lower case in turns
HEADER = pathlib.Path(__file__).resolve().parent.parent / "include/augur/io/text/unicode_classes.hpp"
BEGIN, FINISH = "    // clang-format off\n", "    // clang-format on\n"


def kind_of(point):
    for ranges, kind in ((SPACES, SPACE), (LATER_NUMBERS, LATER_NUMBER)):
        if any(first <= point <= last for first, last in ranges):
            return kind
    category = unicodedata2.category(chr(point))
    return KINDS.get(category, KINDS.get(category[0], 0))


def turn_of(point):
    """The kind of a run of letters in turns, for one of them."""
    return EVEN_IS_UPPER if (kind_of(point) == UPPER) == (point % 2 == 0) else ODD_IS_UPPER


def takes_turns(point):
    """Whether a code point and the next are letters of different case."""
    return {kind_of(point), kind_of(point + 1)} == {UPPER, LOWER}


def runs():
    last = None
    for point in range(END):
        kind = kind_of(point)
        if kind in (UPPER, LOWER) and (last == turn_of(point) or (kind != last and takes_turns(point))):
            kind = turn_of(point)
        if kind != last:
            yield point << 4 | kind
        last = kind


def main():
    if unicodedata2.unidata_version != VERSION:
        raise SystemExit(f"unicodedata2 knows Unicode {unicodedata2.unidata_version}; {VERSION} is wanted")
    entries, lines = [f"0x{run:X}," for run in runs()], []
    for entry in entries:
        if lines and len(lines[-1]) + 1 + len(entry) <= 120:
            lines[-1] += " " + entry
        else:
            lines.append("    " + entry)
    before, rest = HEADER.read_text().split(BEGIN)
    _, after = rest.split(FINISH)
    head, _ = before.rsplit("std::array<std::uint32_t, ", 1)
    count = f"std::array<std::uint32_t, {len(entries)}> unicode_runs = {{{{\n"
    HEADER.write_text(head + count + BEGIN + "\n".join(lines) + "\n" + FINISH + after)


if __name__ == "__main__":
    main()
