#!/usr/bin/env python3
"""Writes include/augur/io/text/nfc_table.hpp's tables anew: pip install unicodedata2==16.0.0 tokenizers, then run this.

The tables are those by which Hugging Face's tokenizers (0.23.3) normalise, of Unicode 9.0: what Unicode 16.0 has and they treat as a
character of no combining class, or as one without a decomposition, is left out.
"""

import pathlib

import tokenizers
import unicodedata2

END = 0x110000
HEADER = pathlib.Path(__file__).resolve().parent.parent / "include/augur/io/text/nfc_table.hpp"
PROBES = ("\u0334", "\u0345", "\u0323")  # of classes 1, 240 and 220
WIDTH = 102
NFC = tokenizers.normalizers.NFC()


def agrees(text):
    return NFC.normalize_str(text) == unicodedata2.normalize("NFC", text)


def combining_class(point):
    of_16 = unicodedata2.combining(chr(point))
    orders = [order for probe in PROBES for order in ("x" + probe + chr(point), "x" + chr(point) + probe)]
    return of_16 if of_16 and all(map(agrees, orders)) else 0


def decomposition(point):
    """One or two code points; none where there is no canonical one. Hangul is arithmetic."""
    listed = unicodedata2.decomposition(chr(point))
    if not listed or listed.startswith("<"):
        return ()
    parts = tuple(int(part, 16) for part in listed.split())
    return parts if agrees("".join(map(chr, parts))) else ()


def composes(point, parts):
    return len(parts) == 2 and unicodedata2.normalize("NFC", chr(point)) == chr(point)


def spelled(value):
    """46 digits from '#' on end a number, the 46 behind them are followed by more."""
    digits = [value % 46]
    while value := value // 46:
        digits.append(value % 46 + 46)
    return "".join(chr(35 + digit) for digit in reversed(digits))


def signed(value):
    return spelled(2 * value if value >= 0 else -2 * value - 1)


def decompositions():
    at = first = second = 0
    for point in range(END):
        parts = decomposition(point)
        if parts:
            kind = 0 if len(parts) == 1 else 2 if composes(point, parts) else 1
            yield spelled((point - at) * 3 + kind) + signed(parts[0] - first)
            at, first = point, parts[0]
            if kind:
                yield signed(parts[1] - second)
                second = parts[1]


def classes():
    """Runs of one class: how far from the end of the last, how many, which."""
    at, runs = 0, []
    for point in range(END):
        found = combining_class(point)
        if found and runs and runs[-1][1] == point and runs[-1][2] == found:
            runs[-1][1] = point + 1
        elif found:
            runs.append([point, point + 1, found])
    for begin, end, found in runs:
        yield spelled(begin - at) + spelled(end - begin) + spelled(found)
        at = end


def lines(numbers):
    text = "".join(numbers)
    return "".join(f'    R"~({text[at:at + WIDTH]})~"\n' for at in range(0, len(text), WIDTH))


def main():
    parts = HEADER.read_text().split("// clang-format ")
    for index, numbers in ((1, decompositions()), (3, classes())):
        head = parts[index].split('R"~(')[0].rstrip(" ")
        parts[index] = head + lines(numbers).rstrip("\n") + ";\n"
    HEADER.write_text("// clang-format ".join(parts))


if __name__ == "__main__":
    main()
